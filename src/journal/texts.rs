//! Where the text of each loaded entry is, and reading it back.
//!
//! Texts stay in the file; only offsets and lengths are kept (12 bytes an entry). The descriptor
//! is held open, so a file that another program replaces under its name can still be read.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use memchr::memmem;

use crate::error::IoContext;
use crate::json::Cursor;
use crate::session::record::Marks;
use crate::session::{Slot, Tree};
use crate::storage::disk::{FileIdentity, identity_of, read_at, stat_of_file};
use crate::{Error, Result};

/// Neighbouring texts are read together when the bytes between them are at most this many.
const LARGEST_GAP: u64 = 16 << 10;
/// How much is read at once, unless one text is longer. It fits into a cache, and costs few page faults.
const WINDOW: u64 = 128 << 10;

/// What the offsets of a table refer to.
#[derive(Clone, Default)]
pub enum Source {
    /// Nothing: a new session.
    #[default]
    None,
    /// An open file.
    File {
        /// The descriptor.
        file: Arc<File>,
        /// Its name when it was opened, for messages.
        path: PathBuf,
    },
    /// A file whose descriptor was given back; it is opened again for every read, as long as it is
    /// the same one.
    Closed {
        /// Its name when it was opened.
        path: PathBuf,
        /// Which file it was.
        identity: FileIdentity,
    },
    /// Text in memory, from a storage that has no files.
    Bytes(Arc<[u8]>),
}

impl Source {
    /// The bytes of a span.
    pub fn read(&self, offset: u64, len: usize, out: &mut Vec<u8>) -> Result<()> {
        out.clear();
        match self {
            Self::None => Ok(()),
            Self::Bytes(bytes) => {
                let span = usize::try_from(offset)
                    .ok()
                    .and_then(|start| bytes.get(start..start.checked_add(len)?));
                out.extend_from_slice(span.unwrap_or_default());
                Ok(())
            }
            Self::File { file, path } => read_span(file, path, offset, len, out),
            Self::Closed { path, identity } => {
                let file = File::open(path).during("open", path)?;
                if identity_of(&file, path)? != *identity {
                    // Another file by now: whoever reads finds nothing and says so.
                    return Ok(());
                }
                read_span(&file, path, offset, len, out)
            }
        }
    }

    /// The same source without a descriptor.
    fn closed(&self) -> Result<Self> {
        match self {
            Self::File { file, path } => Ok(Self::Closed {
                identity: identity_of(file, path)?,
                path: path.clone(),
            }),
            other => Ok(other.clone()),
        }
    }

    fn path(&self) -> &Path {
        match self {
            Self::File { path, .. } | Self::Closed { path, .. } => path,
            Self::None | Self::Bytes(_) => Path::new(""),
        }
    }
}

fn read_span(file: &File, path: &Path, offset: u64, len: usize, out: &mut Vec<u8>) -> Result<()> {
    out.resize(len, 0);
    let count = read_at(file, offset, out).during("read", path)?;
    out.truncate(count);
    Ok(())
}

/// Bytes between entries that are no entries: damaged lines and stray values. They stay on disk
/// through every rewrite.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Residue {
    /// The slot before which they stand; `None` for before the header.
    pub before: Option<Slot>,
    /// Offset of the first byte.
    pub offset: u64,
    /// Length in bytes, without a line feed.
    pub len: u64,
}

/// Places of texts, by slot.
#[derive(Clone, Default)]
pub struct TextTable {
    /// Where the texts are.
    pub source: Source,
    offsets: Vec<u64>,
    lens: Vec<u32>,
    /// What else the file holds, in order.
    pub residue: Vec<Residue>,
    /// Offset in the file before which there is nothing but these texts, this residue and a header.
    pub extent: u64,
}

impl TextTable {
    /// An empty table over a source.
    pub fn new(source: Source) -> Self {
        Self {
            source,
            ..Self::default()
        }
    }

    /// How much of a file is known, `None` if it is not the file that the texts are in. Files
    /// without identity are never known.
    pub fn known_part_of(&self, identity: FileIdentity, len: u64) -> Option<u64> {
        let Source::File { file, .. } = &self.source else {
            return None;
        };
        let same = stat_of_file(file).is_ok_and(|stat| stat.identity == identity);
        let is_known = same && identity != FileIdentity::NONE && self.extent <= len;
        is_known.then_some(self.extent)
    }

    /// Number of slots with a text.
    pub fn len(&self) -> usize {
        self.offsets.len()
    }

    /// True when no slot has a text.
    pub fn is_empty(&self) -> bool {
        self.offsets.is_empty()
    }

    /// Bytes of memory that the places take, and the texts where they are in memory.
    pub fn memory(&self) -> usize {
        let text = match &self.source {
            Source::Bytes(bytes) => bytes.len(),
            Source::None | Source::File { .. } | Source::Closed { .. } => 0,
        };
        text + self.offsets.capacity() * size_of::<u64>()
            + self.lens.capacity() * size_of::<u32>()
            + self.residue.capacity() * size_of::<Residue>()
    }

    /// Adds the place of the next slot's text.
    pub fn push(&mut self, offset: u64, len: usize) {
        self.offsets.push(offset);
        self.lens.push(u32::try_from(len).unwrap_or(u32::MAX));
    }

    /// Offset and length of a slot's text.
    pub fn place(&self, slot: Slot) -> Option<(u64, usize)> {
        let at = slot as usize;
        Some((*self.offsets.get(at)?, *self.lens.get(at)? as usize))
    }

    /// How many bytes a JSON array of the texts in these slots has, as far as it fits into `budget`.
    pub fn length_of(&self, slots: &[Slot], budget: usize) -> usize {
        let mut length = "[]".len();
        for &slot in slots {
            let len = self.place(slot).map_or(0, |(_, len)| len);
            length += len + ",".len();
            if length > budget {
                break;
            }
        }
        length
    }

    /// The table of some of the slots, in the order given; without residue. Slots without a text
    /// get an empty place and must not be read.
    pub fn select(&self, slots: &[Slot]) -> Self {
        let mut selected = Self::new(self.source.clone());
        for &slot in slots {
            let (offset, len) = self.place(slot).unwrap_or_default();
            selected.push(offset, len);
        }
        selected
    }

    /// A reader for several texts.
    pub fn reader(&self) -> TextReader<'_> {
        TextReader {
            table: self,
            window: Vec::new(),
            window_offset: 0,
        }
    }
}

/// The current table of a session. Rewrites run on other threads and put a new table in its place.
#[derive(Clone, Default)]
pub struct SharedTexts(Arc<Mutex<Arc<TextTable>>>);

impl SharedTexts {
    /// Shares a table.
    pub fn new(table: TextTable) -> Self {
        Self(Arc::new(Mutex::new(Arc::new(table))))
    }

    /// The table as it is now.
    pub fn snapshot(&self) -> Arc<TextTable> {
        Arc::clone(&self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The same table, to be replaced on its own.
    pub fn fork(&self) -> Self {
        Self(Arc::new(Mutex::new(self.snapshot())))
    }

    /// Gives the descriptor back, for sessions that are hardly read any more. Where other tables hold
    /// it too, it stays open for them.
    pub fn give_back(&self) -> Result<()> {
        let mut current = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if matches!(current.source, Source::File { .. }) {
            let source = current.source.closed()?;
            Arc::make_mut(&mut current).source = source;
        }
        Ok(())
    }

    /// Puts a new table in place, unless the session has moved on to another one since `base`.
    pub fn replace(&self, base: &Arc<TextTable>, table: TextTable) {
        let mut current = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if Arc::ptr_eq(&current, base) {
            *current = Arc::new(table);
        }
    }
}

/// Reads texts; neighbours share system calls.
pub struct TextReader<'a> {
    table: &'a TextTable,
    window: Vec<u8>,
    window_offset: u64,
}

impl TextReader<'_> {
    /// The text in a slot exactly as it is in the file, checked to be the entry that the tree knows.
    /// `upcoming` are the slots that will be asked for next. `None` for slots without a text.
    pub fn read(&mut self, slot: Slot, upcoming: &[Slot], tree: &Tree) -> Result<Option<&[u8]>> {
        let Some((offset, len)) = self.table.place(slot) else {
            return Ok(None);
        };
        if !self.holds(offset, len) {
            let length = self.window_length(offset, len, upcoming);
            self.table.source.read(offset, length, &mut self.window)?;
            self.window_offset = offset;
        }
        let start = (offset - self.window_offset) as usize;
        let text = self.window.get(start..start + len).unwrap_or_default();
        if is_entry(text, slot, tree) {
            return Ok(Some(text));
        }
        let symbol = tree.record(slot).map_or(0, |record| record.id);
        Err(Error::EntryUnreadable {
            id: String::from_utf8_lossy(tree.ids().get(symbol)).into_owned(),
            path: self.table.source.path().to_path_buf(),
        })
    }

    fn holds(&self, offset: u64, len: usize) -> bool {
        offset >= self.window_offset
            && offset + len as u64 <= self.window_offset + self.window.len() as u64
    }

    /// How much to read from `offset` so that upcoming texts close behind are included.
    fn window_length(&self, offset: u64, len: usize, upcoming: &[Slot]) -> usize {
        let mut end = offset + len as u64;
        for &slot in upcoming {
            let Some((next, len)) = self.table.place(slot) else {
                break;
            };
            let next_end = next + len as u64;
            if next < end || next - end > LARGEST_GAP || next_end - offset > WINDOW {
                break;
            }
            end = next_end;
        }
        usize::try_from(end - offset).unwrap_or(len)
    }
}

/// Cheap proof that the bytes are still the entry that was indexed: one object that contains the id.
fn is_entry(text: &[u8], slot: Slot, tree: &Tree) -> bool {
    let Some(record) = tree.record(slot) else {
        return false;
    };
    if !(text.starts_with(b"{") && text.ends_with(b"}")) {
        return false;
    }
    if record.marks.has(Marks::ASSIGNED_ID) || tree.ids().number(record.id).is_some() {
        return true;
    }
    memmem::find(text, tree.ids().get(record.id)).is_some() || has_id(text, slot, tree)
}

/// Slow form of the proof, for ids that are spelled with escapes.
fn has_id(text: &[u8], slot: Slot, tree: &Tree) -> bool {
    let head = super::head::read(&mut Cursor::new(text));
    match (head, tree.record(slot)) {
        (Ok(head), Some(record)) => match head.id {
            super::head::IdValue::Text(id) => {
                super::verdict::id_key(&id).as_ref() == tree.ids().get(record.id)
            }
            _ => false,
        },
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table_of(path: &Path) -> SharedTexts {
        let file = Arc::new(File::open(path).unwrap());
        SharedTexts::new(TextTable::new(Source::File {
            file,
            path: path.to_path_buf(),
        }))
    }

    fn read(texts: &SharedTexts) -> Vec<u8> {
        let mut out = Vec::new();
        texts.snapshot().source.read(2, 3, &mut out).unwrap();
        out
    }

    #[test]
    fn texts_are_read_after_the_descriptor_was_given_back() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s");
        std::fs::write(&path, "a\nbcd\n").unwrap();
        let texts = table_of(&path);
        let other = texts.fork();
        texts.give_back().unwrap();
        assert!(matches!(texts.snapshot().source, Source::Closed { .. }));
        assert!(matches!(other.snapshot().source, Source::File { .. }));
        assert_eq!(read(&texts), b"bcd");
        texts.give_back().unwrap();
        assert_eq!(read(&texts), b"bcd");

        let new = dir.path().join("new");
        std::fs::write(&new, "x\nyyy\n").unwrap();
        std::fs::rename(&new, &path).unwrap();
        assert_eq!(read(&texts), b"", "another file under the name");
        assert_eq!(read(&other), b"bcd", "the descriptor that is held");
    }
}
