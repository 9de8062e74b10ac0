//! What interrupted programs left beside session files.

use std::path::{Path, PathBuf};

use super::findings::{Finding, Kind};
use crate::catalog::files::{is_session_name, session_files_below};
use crate::error::IoContext;
use crate::storage::disk::parent_of;
use crate::{Error, Result};

/// Hidden names repeat this much of the name of the file that they stand beside.
const BASE_BYTES: usize = 200;

/// A file that was left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leftover {
    /// What it is.
    pub kind: Kind,
    /// Where it is.
    pub path: PathBuf,
    /// The (beginning of the) name of the session file that it belongs to.
    pub session: String,
}

impl Leftover {
    /// True when it belongs to the session file of this name.
    pub fn belongs_to(&self, name: &str) -> bool {
        name == self.session
            || (name.len() > BASE_BYTES && is_cut(&self.session) && name.starts_with(&self.session))
    }

    /// As a finding.
    pub fn finding(&self) -> Finding {
        Finding {
            path: Some(self.path.clone()),
            ..Finding::new(self.kind)
        }
    }
}

/// Whether a name may be the beginning of a longer one. Characters are not split.
fn is_cut(name: &str) -> bool {
    name.len() <= BASE_BYTES && name.len() + 4 > BASE_BYTES
}

/// What was left beside one session file. Blocking.
pub fn findings_of(path: &Path) -> Result<Vec<Finding>> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let found = leftovers(parent_of(path))?;
    let own = found.iter().filter(|leftover| leftover.belongs_to(&name));
    Ok(own.map(Leftover::finding).collect())
}

/// What a directory and those below it hold.
pub struct Folder {
    /// Session files, in the order of their paths.
    pub files: Vec<PathBuf>,
    /// What was left, with the session file that it belongs to, if that is there.
    pub leftovers: Vec<(Option<PathBuf>, Finding)>,
    /// Directories that cannot be read.
    pub failures: Vec<Error>,
}

/// Looks through a directory and those below it, except artifacts of sessions. Blocking.
pub fn folder(root: &Path) -> Result<Folder> {
    // Listings take a missing directory for an empty one.
    std::fs::read_dir(root).during("scandir", root)?;
    let mut failures = Vec::new();
    let mut files = session_files_below(root, &mut failures)?;
    files.sort();
    let mut dirs: Vec<&Path> = files.iter().map(|file| parent_of(file)).collect();
    dirs.push(root);
    dirs.sort();
    dirs.dedup();
    let mut left = Vec::new();
    for dir in dirs {
        let found = match leftovers(dir) {
            Ok(found) => found,
            Err(error) => {
                failures.push(error);
                continue;
            }
        };
        for leftover in found {
            let is_owner = |file: &&PathBuf| {
                let name = file.file_name().unwrap_or_default().to_string_lossy();
                parent_of(file) == dir && leftover.belongs_to(&name)
            };
            let owner = files.iter().find(is_owner).cloned();
            left.push((owner, leftover.finding()));
        }
    }
    Ok(Folder {
        files,
        leftovers: left,
        failures,
    })
}

/// Finds what was left in a directory, in the order of the names. Blocking.
pub fn leftovers(dir: &Path) -> Result<Vec<Leftover>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).during("scandir", dir)? {
        let entry = entry.during("scandir", dir)?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if let Some((kind, session)) = classify(&name)
            && entry.file_type().is_ok_and(|kind| kind.is_file())
        {
            found.push(Leftover {
                kind,
                path: entry.path(),
                session: session.to_owned(),
            });
        }
    }
    found.sort_by(|left, right| left.path.cmp(&right.path));
    Ok(found)
}

/// Temporary files are called `.<session file>.<suffix>.tmp`, locks `.<session file>.lock` or
/// `<session file>.lock`, files that are being replaced `.<session file>.previous`.
fn classify(name: &str) -> Option<(Kind, &str)> {
    if let Some(session) = name.strip_suffix(".previous") {
        let session = session.strip_prefix('.')?;
        let is_session = is_session_name(session) || is_cut(session);
        return is_session.then_some((Kind::UnfinishedRewrite, session));
    }
    if let Some(session) = name.strip_suffix(".lock") {
        let (session, is_hidden) = match session.strip_prefix('.') {
            Some(session) => (session, true),
            None => (session, false),
        };
        let is_session = is_session_name(session) || (is_hidden && is_cut(session));
        return is_session.then_some((Kind::LockFile, session));
    }
    let (session, suffix) = name
        .strip_prefix('.')?
        .strip_suffix(".tmp")?
        .rsplit_once('.')?;
    let is_suffix = !suffix.is_empty() && suffix.bytes().all(|byte| byte.is_ascii_hexdigit());
    let is_session = is_session_name(session) || is_cut(session);
    (is_suffix && is_session).then_some((Kind::LeftoverTemp, session))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn temporary_files_and_locks_are_told_from_others() {
        let dir = tempfile::tempdir().unwrap();
        for name in [
            ".a.jsonl.15e1be0f427b9866.tmp",
            ".a.jsonl.lock",
            "b.jsonl.lock",
            "a.jsonl",
            ".a.jsonl.lock.os",
            ".a.jsonl.previous",
            "a.jsonl.previous",
            "a.jsonl.bak-15e1be0f427b9866",
            "package.lock",
            ".note.txt.00.tmp",
            ".a.jsonl.word.tmp",
        ] {
            std::fs::write(dir.path().join(name), "").unwrap();
        }
        let found = leftovers(dir.path()).unwrap();
        let seen: Vec<_> = found.iter().map(|l| (l.kind, l.session.as_str())).collect();
        assert_eq!(
            seen,
            [
                (Kind::LeftoverTemp, "a.jsonl"),
                (Kind::LockFile, "a.jsonl"),
                (Kind::UnfinishedRewrite, "a.jsonl"),
                (Kind::LockFile, "b.jsonl"),
            ]
        );
        assert!(found[0].belongs_to("a.jsonl") && !found[0].belongs_to("b.jsonl"));
    }

    #[test]
    fn folders_know_whose_leftovers_they_hold() {
        let dir = tempfile::tempdir().unwrap();
        let below = dir.path().join("p");
        std::fs::create_dir(&below).unwrap();
        for name in [
            ".x.jsonl.00.tmp",
            "p/b.jsonl",
            "p/a.jsonl",
            "p/.a.jsonl.lock",
        ] {
            std::fs::write(dir.path().join(name), "").unwrap();
        }
        let folder = folder(dir.path()).unwrap();
        assert_eq!(folder.files, [below.join("a.jsonl"), below.join("b.jsonl")]);
        let owners: Vec<_> = folder
            .leftovers
            .iter()
            .map(|(owner, finding)| (owner.clone(), finding.kind))
            .collect();
        assert_eq!(
            owners,
            [
                (None, Kind::LeftoverTemp),
                (Some(below.join("a.jsonl")), Kind::LockFile)
            ]
        );
        assert!(super::folder(&dir.path().join("none")).is_err());
    }

    #[test]
    fn long_names_are_cut_in_temporary_ones() {
        let name = format!("{}.jsonl", "n".repeat(230));
        let leftover = Leftover {
            kind: Kind::LeftoverTemp,
            path: PathBuf::new(),
            session: "n".repeat(200),
        };
        assert!(leftover.belongs_to(&name));
        assert_eq!(
            classify(&format!(".{}.0f.tmp", leftover.session)),
            Some((Kind::LeftoverTemp, leftover.session.as_str()))
        );
        assert_eq!(
            classify(&format!(".{}.lock", leftover.session)),
            Some((Kind::LockFile, leftover.session.as_str()))
        );
    }
}
