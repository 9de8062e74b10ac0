//! The end of a long session file first, the rest behind it.
//!
//! A model is sent what follows the last compaction, and a session is opened to go on with it. So of
//! a long file the last lines are read first: enough for the way from the leaf up to the last
//! compaction and to the first entry that it kept. What is found there is exactly what reading the
//! whole file finds, or nothing is: where anything in those lines is unusual, the whole file is read
//! as ever.
//!
//! Why lines can be read without those before them: a value could only reach into them from an
//! earlier line if it went on behind each of them. Two values on lines that follow each other cannot
//! be inside of another value, for want of a comma. Therefore the first line of a window only serves
//! to prove that the second one stands for itself.

use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use memchr::{memchr, memmem};

use super::ahead::{self, Batch, judge_line};
use super::load::{IdSource, Loaded, Loader, Outcome, SessionFile, load_opened};
use super::texts::TextTable;
use super::verdict::{Action, id_key};
use crate::error::IoContext;
use crate::json::{Cursor, RawStr};
use crate::session::{EntryKind, Slot, Tree};
use crate::storage::disk::read_at;
use crate::{Error, Result};

/// Longest header line that is looked for, in bytes.
const LONGEST_HEADER: u64 = 64 << 10;
/// The version from which on entries need no migration.
const OLDEST_VERSION: f64 = 3.0;

/// When and how far the end of a file is read first. All in bytes.
#[derive(Debug, Clone, Copy)]
pub struct Reach {
    /// Files shorter than this are read as a whole.
    pub shortest_file: u64,
    /// What is tried first. Each window is four times as long as the one before.
    pub first_window: u64,
    /// What is tried last.
    pub longest_window: u64,
}

impl Default for Reach {
    fn default() -> Self {
        Self {
            shortest_file: 8 << 20,
            first_window: 1 << 20,
            longest_window: 16 << 20,
        }
    }
}

/// What opening a path gave.
pub enum Opened {
    /// Everything.
    Whole(Outcome),
    /// The last entries of a session.
    Tail(Box<Tail>),
}

/// The last entries of a session. Their slots count from the first of them.
pub struct Tail {
    /// Header, tree and places of these entries.
    pub loaded: Loaded,
    /// Reads all entries.
    pub rest: Rest,
}

/// What is needed to read the whole session.
pub struct Rest {
    file: SessionFile,
    header: Header,
}

struct Header {
    text: Vec<u8>,
    version: f64,
    /// Where the next line begins.
    end: u64,
}

/// Reads a file, or its end if that is enough to begin with. Blocking.
pub fn open_file(path: &Path, ids: &IdSource<'_>, reach: Reach) -> Result<Opened> {
    let Some(file) = SessionFile::open(path)? else {
        return Ok(Opened::Whole(Outcome::Missing));
    };
    if file.length >= reach.shortest_file
        && let Some((header, loaded)) = read_tail(&file, ids, reach).during("read", path)?
    {
        let rest = Rest { file, header };
        return Ok(Opened::Tail(Box::new(Tail { loaded, rest })));
    }
    load_opened(&file, ids).map(Opened::Whole)
}

impl Rest {
    /// Reads all entries up to where the file ended when it was opened. The header is the one that
    /// was read first: it may be changed in place meanwhile. Fails soon after `stop` was set. Blocking.
    pub fn load(&self, ids: &IdSource<'_>, stop: &AtomicBool) -> Result<Loaded> {
        let Self { file, header } = self;
        let loader = Loader::behind_header(file.source(), ids, &header.text, header.version);
        let lines = header.end..file.length;
        let outcome = loader
            .until(stop)
            .load_ahead(&file.file, lines, file.length, ahead::CHUNK)
            .during("read", &file.path)?;
        match outcome {
            Outcome::Session(loaded) => Ok(*loaded),
            _ => Err(Error::Internal("a session without a header".to_owned())),
        }
    }

    /// Fails unless the last entries of `whole` are those of `tail`: the file was changed otherwise
    /// than by appending to it.
    pub fn check(&self, whole: &Loaded, tail: &Tree, places: &TextTable) -> Result<()> {
        let before = whole.tree.len().checked_sub(tail.len());
        let same = |slot: Slot| {
            let at = slot.checked_add(before? as Slot)?;
            let (old, new) = (tail.record(slot)?, whole.tree.record(at)?);
            let same = tail.ids().get(old.id) == whole.tree.ids().get(new.id)
                && places.place(slot) == whole.texts.place(at);
            Some(same)
        };
        match (0..tail.len() as Slot).find(|&slot| same(slot) != Some(true)) {
            None => Ok(()),
            Some(slot) => {
                let symbol = tail.record(slot).map_or(0, |record| record.id);
                Err(Error::EntryUnreadable {
                    id: String::from_utf8_lossy(tail.ids().get(symbol)).into_owned(),
                    path: self.file.path.clone(),
                })
            }
        }
    }
}

/// What the lines of a window are good for.
enum Window {
    /// They must be read together with all others.
    Unusual,
    /// The context reaches further back.
    TooShort,
    Enough(Box<Loaded>),
}

fn read_tail(
    file: &SessionFile,
    ids: &IdSource<'_>,
    reach: Reach,
) -> io::Result<Option<(Header, Loaded)>> {
    let Some(header) = read_header(file)? else {
        return Ok(None);
    };
    let mut length = reach.first_window.max(1);
    while length <= reach.longest_window && length < file.length - header.end {
        let text = read(file, file.length - length..file.length)?;
        if text.last() != Some(&b'\n') || text.len() as u64 != length {
            return Ok(None);
        }
        // Without these bytes there is no compaction to be found, unless by a very odd writer.
        if memmem::find(&text, b"\"compaction\"").is_some() {
            match judge_window(file, ids, &header, &text) {
                Window::Unusual => return Ok(None),
                Window::TooShort => {}
                Window::Enough(loaded) => return Ok(Some((header, *loaded))),
            }
        }
        length = length.saturating_mul(4);
    }
    Ok(None)
}

fn read(file: &SessionFile, span: Range<u64>) -> io::Result<Vec<u8>> {
    let mut text = vec![0; usize::try_from(span.end - span.start).unwrap_or_default()];
    let count = read_at(&file.file, span.start, &mut text)?;
    text.truncate(count);
    Ok(text)
}

/// The header, if it is the first line, whole, and of a version that needs no migration.
fn read_header(file: &SessionFile) -> io::Result<Option<Header>> {
    let text = read(file, 0..file.length.min(LONGEST_HEADER))?;
    let Some(end) = memchr(b'\n', &text) else {
        return Ok(None);
    };
    let mut batch = Batch::default();
    if !judge_line(text.get(..end).unwrap_or_default(), 0, 0, &mut batch) {
        return Ok(None);
    }
    Ok(
        match batch.values.pop().map(|judged| judged.verdict.action) {
            Some(Action::Header {
                version: Some(version),
                text: Some(text),
            }) if version >= OLDEST_VERSION => Some(Header {
                text,
                version,
                end: end as u64 + 1,
            }),
            _ => None,
        },
    )
}

/// Judges the last bytes of a file, which end with a line feed and do not reach up to its header.
fn judge_window(file: &SessionFile, ids: &IdSource<'_>, header: &Header, text: &[u8]) -> Window {
    let base = file.length - text.len() as u64;
    let mut batch = Batch::default();
    // The line in which the window begins is not looked at.
    let mut at = memchr(b'\n', text).map_or(text.len(), |end| end + 1);
    while let Some(length) = text.get(at..).and_then(|rest| memchr(b'\n', rest)) {
        let line = text.get(..at + length).unwrap_or_default();
        if !judge_line(line, at, base, &mut batch) {
            return Window::Unusual;
        }
        at += length + 1;
    }
    let mut loader = Loader::behind_header(file.source(), ids, &header.text, header.version);
    for judged in batch.values.into_iter().skip(1) {
        match &judged.verdict.action {
            Action::Object(draft) if draft.is_entry(Some(header.version)) => {}
            _ => return Window::Unusual,
        }
        let (offset, len) = (judged.offset, judged.len);
        loader.commit(judged.verdict, &batch.arena, offset, len, false);
    }
    let loaded = loader.into_loaded();
    if holds_context(&loaded, text, base) {
        Window::Enough(Box::new(loaded))
    } else {
        Window::TooShort
    }
}

/// Whether the way from the leaf is here, up to the first entry that the last compaction kept. This
/// decides what is worth while; what is exact is decided where the context is made.
fn holds_context(loaded: &Loaded, text: &[u8], base: u64) -> bool {
    let tree = &loaded.tree;
    let path = tree.leaf().map(|leaf| tree.path(leaf)).unwrap_or_default();
    let Some(&first) = path.first() else {
        return false;
    };
    if !tree.is_orphan(first) {
        return true;
    }
    let is_compaction = |slot: &Slot| {
        let record = tree.record(*slot);
        record.is_some_and(|record| record.kind == EntryKind::Compaction)
    };
    let Some(&compaction) = path.iter().rfind(|slot| is_compaction(slot)) else {
        return false;
    };
    let Some((offset, len)) = loaded.texts.place(compaction) else {
        return false;
    };
    let start = (offset - base) as usize;
    match first_kept(text.get(start..start + len).unwrap_or_default()) {
        None => true,
        Some(id) => tree
            .find(&id_key(&id))
            .is_some_and(|slot| path.contains(&slot)),
    }
}

/// The `firstKeptEntryId` of a compaction.
fn first_kept(text: &[u8]) -> Option<RawStr<'_>> {
    let mut kept = None;
    let read = Cursor::new(text).object(|cursor, key| {
        if key.is("firstKeptEntryId") {
            kept = cursor.string_or_skip()?;
        } else {
            cursor.skip()?;
        }
        Ok(())
    });
    read.ok().and(kept)
}

#[cfg(test)]
#[path = "tail_tests.rs"]
mod tests;
