//! Replacing a session file as a whole.
//!
//! Entries that nobody touched are copied byte for byte from where they are; the others come as
//! text from the caller and pass the transforms. Blobs are stored first, then the new file is
//! written beside the old one, synced and renamed over it, so a reader meets the old content or
//! the new one. Damaged bytes that the load passed over are copied too. Behind all that come the
//! records that others appended: [`merge`](super::merge) finds them, and
//! [`succession`](super::succession) says why none is lost while others go on appending.

use std::collections::HashMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::adapt::adapt;
use super::merge::Current;
use super::persist::transform;
use super::succession::{Predecessor, Turn, append_durably};
use super::texts::{Residue, SharedTexts, Source, TextTable};
use crate::error::IoContext;
use crate::session::{Slot, Tree};
use crate::storage::atomic::{AtomicFile, AtomicOptions, Existing};
use crate::storage::blob::BlobStore;
use crate::storage::disk::{Disk, read_at};
use crate::{Error, Result};

/// Header lines are padded with spaces to a multiple of this many bytes, line feed included, so
/// that a new title can be written in place. JSON readers pass over trailing spaces.
pub const HEADER_BLOCK: usize = 512;

/// Everything that a file shall hold.
pub struct Content {
    /// JSON text of the header.
    pub header: Vec<u8>,
    /// The entries, as slots of `tree` and `texts`, in file order.
    pub slots: Vec<Slot>,
    /// JSON texts of entries that may differ from what is on disk, by position in `slots`.
    pub edited: HashMap<u32, Vec<u8>>,
    /// The index that `slots` refers to.
    pub tree: Arc<Tree>,
    /// Where unchanged texts are.
    pub texts: Arc<TextTable>,
    /// Whether to carry over damaged bytes of the loaded file.
    pub with_residue: bool,
    /// Gets the table of the new file when it still describes the same session.
    pub shared: Option<SharedTexts>,
    /// Distinguishing part of the temporary name.
    pub temp_suffix: String,
    /// Before an existing file is replaced, keep it under this name.
    pub backup: Option<PathBuf>,
    /// Fail instead of replacing a file that exists.
    pub no_clobber: bool,
}

/// How often a file that changes its identity all the time is tried to be replaced.
const ATTEMPTS: usize = 100;

/// Writes the content, and behind it what the file that it replaces holds and the content does not.
/// Blocking; waits for others who replace the same file.
pub fn rewrite(
    disk: &Arc<dyn Disk>,
    path: &Path,
    mut content: Content,
    blobs: &BlobStore,
) -> Result<()> {
    transform_edited(&mut content, blobs)?;
    let header = transform(&content.header, blobs)?.into_owned();
    if content.no_clobber {
        let mut output = Output::create(disk, path, &content, Existing::Refuse)?;
        output.write_all(&content, &header, content.texts.residue.len())?;
        let committed = output.file.commit()?;
        return publish(&content, committed.path, output.table);
    }
    let destination = disk.resolve_link(path)?;
    let _turn = Turn::take(disk, &destination)?;
    for _ in 0..ATTEMPTS {
        if replace(disk, &destination, &content, &header)? {
            return Ok(());
        }
    }
    Err(Error::AlreadyExists(destination))
}

/// False when the file at the destination is not the one any more that it was at the start.
fn replace(
    disk: &Arc<dyn Disk>,
    destination: &Path,
    content: &Content,
    header: &[u8],
) -> Result<bool> {
    let mut current = Current::open(disk, destination, content)?;
    let existing = match current {
        Current::Nothing => Existing::Refuse,
        Current::Special | Current::File(_) => Existing::Replace,
    };
    let mut output = Output::create(disk, destination, content, existing)?;
    let residue = match &mut current {
        Current::File(old) => old.residue_count(content)?,
        Current::Nothing | Current::Special => content.texts.residue.len(),
    };
    output.write_all(content, header, residue)?;
    let mut predecessor = None;
    if let Current::File(old) = &mut current {
        old.take_lines(content, &mut |bytes| output.file.write(bytes))?;
        predecessor = Predecessor::name(disk, destination, old.identity())?;
        if predecessor.is_none() {
            return Ok(false);
        }
        if let Some(backup) = &content.backup {
            keep_old(disk, destination, backup)?;
        }
    }
    let placed = match output.file.place() {
        Err(Error::AlreadyExists(_)) if existing == Existing::Refuse => return Ok(false),
        outcome => outcome?,
    };
    if let (Some(predecessor), Current::File(old)) = (predecessor, &mut current) {
        let replaced = predecessor.replaced();
        append_durably(disk, destination, &old.take_late(content)?)?;
        replaced.done()?;
    }
    publish(content, placed.make_durable()?.path, output.table)?;
    Ok(true)
}

/// Lets the session read from the new file.
fn publish(content: &Content, path: PathBuf, mut table: TextTable) -> Result<()> {
    // A session whose entries all came as text reads nothing back; it needs no descriptor.
    let reads_back = content.edited.len() < content.slots.len() || !table.residue.is_empty();
    if let Some(shared) = content.shared.as_ref().filter(|_| reads_back) {
        let file = File::open(&path).during("open", &path)?;
        table.source = Source::File {
            file: Arc::new(file),
            path,
        };
        shared.replace(&content.texts, table);
    }
    Ok(())
}

/// The header with its padding and line feed.
pub fn header_line(json: &[u8]) -> Vec<u8> {
    let mut line = json.to_vec();
    let length = (json.len() + 1).next_multiple_of(HEADER_BLOCK);
    line.resize(length - 1, b' ');
    line.push(b'\n');
    line
}

fn transform_edited(content: &mut Content, blobs: &BlobStore) -> Result<()> {
    for text in content.edited.values_mut() {
        if let std::borrow::Cow::Owned(changed) = transform(text, blobs)? {
            *text = changed;
        }
    }
    Ok(())
}

/// Gives the old file a second name; a copy where the file system has no links. What an attempt that
/// failed later has kept already stays as it is: it may be the very file that is at the path, or the
/// old content of which there is no other copy any more.
fn keep_old(disk: &Arc<dyn Disk>, path: &Path, backup: &Path) -> Result<()> {
    match disk.link(path, backup) {
        Ok(()) | Err(Error::AlreadyExists(_)) => Ok(()),
        Err(error) if error.is_not_found() => Ok(()),
        Err(_) => match copy_old(disk, path, backup) {
            Err(Error::AlreadyExists(_)) => Ok(()),
            outcome => outcome,
        },
    }
}

fn copy_old(disk: &Arc<dyn Disk>, path: &Path, backup: &Path) -> Result<()> {
    const STEP: usize = 1 << 20;
    let old = File::open(path).during("open", path)?;
    let options = AtomicOptions {
        existing: Existing::Refuse,
        suffix: None,
    };
    let mut copy = AtomicFile::create_with(Arc::clone(disk), backup, options)?;
    let mut chunk = vec![0; STEP];
    let mut offset = 0;
    loop {
        let count = read_at(&old, offset, &mut chunk).during("read", path)?;
        let Some(bytes) = chunk.get(..count).filter(|bytes| !bytes.is_empty()) else {
            return copy.commit().map(drop);
        };
        copy.write(bytes)?;
        offset += count as u64;
    }
}

struct Output {
    file: AtomicFile,
    position: u64,
    table: TextTable,
}

impl Output {
    fn create(
        disk: &Arc<dyn Disk>,
        path: &Path,
        content: &Content,
        existing: Existing,
    ) -> Result<Self> {
        let options = AtomicOptions {
            existing,
            suffix: Some(content.temp_suffix.clone()),
        };
        Ok(Self {
            file: AtomicFile::create_with(Arc::clone(disk), path, options)?,
            position: 0,
            table: TextTable::default(),
        })
    }

    /// Writes what the session holds, with the first so many runs of damaged bytes.
    fn write_all(&mut self, content: &Content, header: &[u8], residue: usize) -> Result<()> {
        let mut residue: &[Residue] = match content.with_residue {
            true => content.texts.residue.get(..residue).unwrap_or_default(),
            false => &[],
        };
        self.copy_residue(&mut residue, None, &content.texts.source)?;
        self.line(&header_line(header))?;
        let mut reader = content.texts.reader();
        for (at, &slot) in content.slots.iter().enumerate() {
            self.copy_residue(&mut residue, Some(slot), &content.texts.source)?;
            if let Some(text) = content.edited.get(&(at as u32)) {
                self.entry(text)?;
                continue;
            }
            let upcoming = content.slots.get(at + 1..).unwrap_or_default();
            let text = reader.read(slot, upcoming, &content.tree)?;
            let text = text.ok_or_else(|| Error::Internal(format!("no text for slot {slot}")))?;
            self.entry(&adapt(text, slot, &content.tree))?;
        }
        self.copy_residue(&mut residue, Some(Slot::MAX), &content.texts.source)?;
        self.table.extent = self.position;
        Ok(())
    }

    fn line(&mut self, bytes: &[u8]) -> Result<()> {
        self.file.write(bytes)?;
        self.position += bytes.len() as u64;
        Ok(())
    }

    fn entry(&mut self, text: &[u8]) -> Result<()> {
        self.table.push(self.position, text.len());
        self.line(text)?;
        self.line(b"\n")
    }

    /// Copies the damaged bytes that belong before a slot (`None`: before the header).
    fn copy_residue(
        &mut self,
        residue: &mut &[Residue],
        before: Option<Slot>,
        source: &Source,
    ) -> Result<()> {
        const STEP: u64 = 1 << 20;
        while let Some((first, rest)) = residue.split_first() {
            let due = match (first.before, before) {
                (None, _) => true,
                (Some(_), None) => false,
                (Some(at), Some(limit)) => at <= limit,
            };
            if !due {
                return Ok(());
            }
            let mut moved = *first;
            moved.offset = self.position;
            self.table.residue.push(moved);
            let (mut offset, end) = (first.offset, first.offset + first.len);
            let mut chunk = Vec::new();
            while offset < end {
                source.read(offset, (end - offset).min(STEP) as usize, &mut chunk)?;
                if chunk.is_empty() {
                    break;
                }
                offset += chunk.len() as u64;
                self.line(&chunk)?;
            }
            self.line(b"\n")?;
            *residue = rest;
        }
        Ok(())
    }
}

#[cfg(test)]
#[path = "rewrite_tests.rs"]
mod tests;
