//! What a file that is about to be replaced holds and the new content does not.
//!
//! Entries are known by their ids. Other bytes have none: in a file that this session has read, those
//! behind the end of what was read are new; in any other file, those that are not among the damaged
//! bytes that the session carries along.

use std::collections::HashMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sha2::{Digest, Sha256};

use super::records::{Record, What, each_record, end_of_lines};
use super::rewrite::Content;
use super::texts::Source;
use crate::Result;
use crate::error::IoContext;
use crate::storage::disk::{Disk, FileIdentity, open_regular, read_at, stat_of_file};

/// Bytes that are copied at once.
const STEP: u64 = 1 << 20;

/// What is at the place of the new file.
pub enum Current {
    /// Nothing.
    Nothing,
    /// A directory, a pipe: nothing to read.
    Special,
    /// A file.
    File(Box<OldFile>),
}

/// The file that is to be replaced.
pub struct OldFile {
    file: Arc<File>,
    path: PathBuf,
    identity: FileIdentity,
    /// Everything before this offset is in the new content.
    taken: u64,
    /// The file may begin with anything: nobody read it before.
    is_strange: bool,
    header_seen: bool,
    /// How long it was at the first look.
    len: u64,
    /// Damaged bytes that the session carries along and that have not been met in this file.
    carried: Option<HashMap<[u8; 32], usize>>,
}

impl Current {
    /// Opens what is there. Blocking.
    pub fn open(disk: &Arc<dyn Disk>, path: &Path, content: &Content) -> Result<Self> {
        match disk.stat(path) {
            Err(error) if error.is_not_found() => return Ok(Self::Nothing),
            outcome => {
                if !outcome?.is_file {
                    return Ok(Self::Special);
                }
            }
        }
        let file = match open_regular(path) {
            Err(error) if error.is_not_found() => return Ok(Self::Nothing),
            outcome => outcome?,
        };
        let stat = stat_of_file(&file).during("fstat", path)?;
        let known = content.texts.known_part_of(stat.identity, stat.len);
        Ok(Self::File(Box::new(OldFile {
            path: path.to_path_buf(),
            identity: stat.identity,
            taken: known.unwrap_or(0),
            is_strange: known.is_none(),
            header_seen: false,
            len: stat.len,
            carried: None,
            file: Arc::new(file),
        })))
    }
}

impl OldFile {
    /// Which file it is.
    pub fn identity(&self) -> FileIdentity {
        self.identity
    }

    /// If the last bytes of the file were torn when the session was read and have been completed
    /// since: how many runs of damaged bytes still belong to the session.
    pub fn residue_count(&mut self, content: &Content) -> Result<usize> {
        let residue = &content.texts.residue;
        let Some(last) = residue.last().filter(|_| !self.is_strange) else {
            return Ok(residue.len());
        };
        let mut next = [0];
        let count = read_at(&self.file, self.taken, &mut next).during("read", &self.path)?;
        if last.offset + last.len != self.taken || count == 0 || next == *b"\n" {
            return Ok(residue.len());
        }
        self.taken = last.offset;
        Ok(residue.len() - 1)
    }

    /// Gives everything in whole lines that is not in the content, each with a line feed, piece by
    /// piece. Returns how many records that were.
    pub fn take_lines(
        &mut self,
        content: &Content,
        sink: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<usize> {
        self.len = stat_of_file(&self.file).during("fstat", &self.path)?.len;
        let end = end_of_lines(&self.file, &self.path, self.taken, self.len)?;
        let from = std::mem::replace(&mut self.taken, end);
        let (file, path) = (Arc::clone(&self.file), self.path.clone());
        let mut count = 0;
        each_record(&file, &path, from, end, |record| {
            if self.is_new(&record, content)? {
                count += 1;
                copy(&file, &path, record.offset, record.len, sink)?;
            }
            Ok(())
        })?;
        Ok(count)
    }

    /// The second look, after the file was replaced. A torn last line that has not changed since the
    /// first look is nobody's any more and is taken over as it is.
    pub fn take_late(&mut self, content: &Content) -> Result<Vec<u8>> {
        let seen = self.len;
        let mut lines = Vec::new();
        let mut sink = |bytes: &[u8]| {
            lines.extend_from_slice(bytes);
            Ok(())
        };
        self.take_lines(content, &mut sink)?;
        if content.with_residue && self.len == seen && self.taken < self.len {
            let (from, len) = (self.taken, self.len - self.taken);
            let torn = Record {
                offset: from,
                len,
                what: What::Other,
            };
            if self.is_new(&torn, content)? {
                copy(&self.file, &self.path, from, len, &mut sink)?;
            }
        }
        Ok(lines)
    }

    fn is_new(&mut self, record: &Record, content: &Content) -> Result<bool> {
        match &record.what {
            What::Entry(key) => return Ok(content.tree.find(key).is_none()),
            What::Header if self.is_strange && !self.header_seen => {
                self.header_seen = true;
                return Ok(false);
            }
            What::Header | What::Other => {}
        }
        if !content.with_residue || !self.is_strange {
            return Ok(content.with_residue);
        }
        let source = Source::File {
            file: Arc::clone(&self.file),
            path: self.path.clone(),
        };
        let digest = digest(&source, record.offset, record.len)?;
        if self.carried.is_none() {
            self.carried = Some(carried(content)?);
        }
        match self.carried.iter_mut().find_map(|all| all.get_mut(&digest)) {
            Some(count) if *count > 0 => {
                *count -= 1;
                Ok(false)
            }
            _ => Ok(true),
        }
    }
}

/// How often the session carries which damaged bytes along.
fn carried(content: &Content) -> Result<HashMap<[u8; 32], usize>> {
    let mut all = HashMap::new();
    for residue in &content.texts.residue {
        let digest = digest(&content.texts.source, residue.offset, residue.len)?;
        *all.entry(digest).or_insert(0) += 1;
    }
    Ok(all)
}

fn digest(source: &Source, mut offset: u64, len: u64) -> Result<[u8; 32]> {
    let mut hash = Sha256::new();
    let end = offset + len;
    let mut chunk = Vec::new();
    while offset < end {
        source.read(offset, (end - offset).min(STEP) as usize, &mut chunk)?;
        if chunk.is_empty() {
            break;
        }
        hash.update(&chunk);
        offset += chunk.len() as u64;
    }
    Ok(hash.finalize().into())
}

fn copy(
    file: &File,
    path: &Path,
    mut offset: u64,
    len: u64,
    sink: &mut dyn FnMut(&[u8]) -> Result<()>,
) -> Result<()> {
    let end = offset + len;
    let mut chunk = vec![0; len.min(STEP) as usize];
    while offset < end {
        let room = (end - offset).min(STEP) as usize;
        let part = chunk.get_mut(..room).unwrap_or_default();
        let count = read_at(file, offset, part).during("read", path)?;
        if count == 0 {
            break;
        }
        sink(part.get(..count).unwrap_or_default())?;
        offset += count as u64;
    }
    sink(b"\n")
}
