//! Everything that is to be said about one file.

use std::fs::File;
use std::path::{Path, PathBuf};

use super::beside;
use super::findings::{Finding, Kind};
use super::images::BlobCheck;
use super::links::Links;
use super::pairs;
use super::survey::{self, Survey};
use crate::Result;
use crate::journal::head::{self, IdValue};
use crate::json::Cursor;
use crate::storage::blob::{BlobState, BlobStore};

/// What is looked at beside the file itself.
#[derive(Default)]
pub struct Options {
    /// Where blobs are; without it they are not looked at.
    pub blobs: Option<PathBuf>,
    /// Whether to look for what was left in the file's directory.
    pub beside: bool,
}

/// What is said about a file.
pub struct Examination {
    /// Length in bytes.
    pub size: u64,
    /// Id in the header.
    pub session_id: Option<String>,
    /// Version of the format.
    pub version: Option<f64>,
    /// Number of entries.
    pub entries: usize,
    /// What is wrong: first what is at a place in the file, in file order.
    pub findings: Vec<Finding>,
}

/// All that was found out about a file, for a repair.
pub(super) struct Found {
    pub(super) survey: Survey,
    pub(super) links: Links,
    pub(super) file: File,
}

/// Examines a file. Blocking; changes nothing.
///
/// Fails when the file, its directory or a blob cannot be read.
pub fn examine(path: &Path, options: &Options) -> Result<Examination> {
    let Found {
        mut survey,
        links,
        file,
    } = find(path)?;
    let mut findings = std::mem::take(&mut survey.findings);
    findings.extend(links.findings(&survey));
    findings.extend(pairs::unpaired(&survey, &links));
    findings.extend(pairs::off_path(&survey, &links));
    if let Some(dir) = &options.blobs {
        findings.extend(blobs(&survey, BlobStore::new(dir.clone()))?);
    }
    // Stable, so that findings at one place keep the order of the checks.
    findings.sort_by_key(|finding| finding.offset);
    survey::number_lines(&file, path, &mut findings)?;
    if options.beside {
        findings.extend(beside::findings_of(path)?);
    }
    Ok(Examination {
        size: survey.size,
        session_id: session_id(&survey),
        version: survey.version,
        entries: survey.entries.len(),
        findings,
    })
}

/// Reads a file and follows its links.
pub(super) fn find(path: &Path) -> Result<Found> {
    let (survey, file) = survey::survey(path)?;
    let links = Links::new(&survey, &file);
    Ok(Found {
        survey,
        links,
        file,
    })
}

fn blobs(survey: &Survey, store: BlobStore) -> Result<Vec<Finding>> {
    let mut check = BlobCheck::new(store);
    let mut findings = Vec::new();
    for (slot, hash) in &survey.blobs {
        let kind = match check.state(hash)? {
            BlobState::Whole => continue,
            BlobState::Missing => Kind::MissingBlob,
            BlobState::Damaged => Kind::DamagedBlob,
            BlobState::NoHash => Kind::InvalidBlobReference,
        };
        let mut finding = survey.at_entry(kind, *slot);
        finding.related = finding.id.replace(hash.clone());
        findings.push(finding);
    }
    Ok(findings)
}

fn session_id(survey: &Survey) -> Option<String> {
    let header = survey.header.as_ref()?;
    match head::read(&mut Cursor::new(&header.text)).ok()?.id {
        IdValue::Text(id) => Some(id.to_text()),
        IdValue::None | IdValue::Number(_) => None,
    }
}

#[cfg(test)]
#[path = "examine_tests.rs"]
mod tests;
