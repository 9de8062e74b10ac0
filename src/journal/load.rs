//! From a session's text to its index, in one streaming pass.
//!
//! Nothing is written here. What the file holds beside entries is noted as residue; a damaged
//! header costs nothing but itself.

use std::fs::File;
use std::io::{self, Read};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::ahead::{self, Judged};
use super::head;
use super::lines::{Lines, Piece};
use super::texts::{Residue, Source, TextTable};
use super::verdict::{Action, Arena, Draft, DraftParent, Verdict, judge};
use crate::Result;
use crate::error::IoContext;
use crate::json::Cursor;
use crate::json::text::encode;
use crate::session::record::Marks;
use crate::session::snowflake::{self, SnowflakeGenerator};
use crate::session::{CURRENT_VERSION, Parent, Record, Role, Slot, Symbol, Tree};
use crate::storage::disk::{open_regular, read_at};

/// What reading a file met.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LoadReport {
    /// Entries in the tree.
    pub entries: u32,
    /// Lines, or parts of lines, that are no entries: damaged bytes and stray values.
    pub skipped_lines: u32,
    /// Their length in bytes, line feeds not counted.
    pub skipped_bytes: u64,
    /// Entries that shared their line with other bytes.
    pub recovered_entries: u32,
    /// No usable header was found although entries were.
    pub header_salvaged: bool,
    /// The text does not end with a line feed.
    pub torn_tail: bool,
}

/// A session as read.
#[derive(Default)]
pub struct Loaded {
    /// JSON text of the header; `None` when it was salvaged.
    pub header: Option<Vec<u8>>,
    /// Timestamp of the first entry, if the header was salvaged and must be made.
    pub first_timestamp: Option<String>,
    /// The index.
    pub tree: Tree,
    /// Where the texts are.
    pub texts: TextTable,
    /// What was met.
    pub report: LoadReport,
    /// The file is of an older version; the next persisted change rewrites it.
    pub migrated: bool,
}

/// Outcome of reading a path.
pub enum Outcome {
    /// There is no such file.
    Missing,
    /// Nothing but whitespace.
    Blank,
    /// Bytes, but neither header nor entry.
    NotASession,
    /// A session.
    Session(Box<Loaded>),
}

/// Generators of the ids that entries of version 1 files get.
pub struct IdSource<'a> {
    /// Fallback for colliding short ids.
    pub snowflakes: &'a SnowflakeGenerator,
    /// Milliseconds since 1970.
    pub now: f64,
}

/// Reads a file. Blocking.
pub fn load_file(path: &Path, ids: &IdSource<'_>) -> Result<Outcome> {
    match SessionFile::open(path)? {
        None => Ok(Outcome::Missing),
        Some(file) => load_opened(&file, ids),
    }
}

/// Reads a file that is open. Blocking.
pub(super) fn load_opened(file: &SessionFile, ids: &IdSource<'_>) -> Result<Outcome> {
    let loader = Loader::new(file.source(), ids);
    let outcome = if ahead::is_worth_it(file.length) {
        loader.load_ahead(&file.file, 0..file.length, u64::MAX, ahead::CHUNK)
    } else {
        loader.load(Lines::sized(file.file.as_ref(), file.length))
    };
    outcome.during("read", &file.path)
}

/// An open file.
pub(super) struct SessionFile {
    pub(super) file: Arc<File>,
    pub(super) path: PathBuf,
    /// Its length in bytes when it was opened.
    pub(super) length: u64,
}

impl SessionFile {
    /// Opens a regular file; `None` when there is none.
    pub(super) fn open(path: &Path) -> Result<Option<Self>> {
        let file = match open_regular(path) {
            Err(error) if error.is_not_found() => return Ok(None),
            outcome => Arc::new(outcome?),
        };
        let length = file.metadata().during("fstat", path)?.len();
        Ok(Some(Self {
            file,
            path: path.to_path_buf(),
            length,
        }))
    }

    pub(super) fn source(&self) -> Source {
        Source::File {
            file: Arc::clone(&self.file),
            path: self.path.clone(),
        }
    }
}

/// Reads a file in chunks of so many bytes, on several threads, however short it is. For tests: how
/// a file is cut must not matter. Blocking.
pub fn load_in_chunks(path: &Path, chunk: u64, ids: &IdSource<'_>) -> Result<Outcome> {
    let file = Arc::new(open_regular(path)?);
    let source = Source::File {
        file: Arc::clone(&file),
        path: path.to_path_buf(),
    };
    let length = file.metadata().during("fstat", path)?.len();
    let loader = Loader::new(source, ids);
    loader
        .load_ahead(&file, 0..length, u64::MAX, chunk.max(1))
        .during("read", path)
}

/// Reads a text in memory; `path` is for messages. Fails only when memory runs out.
pub fn load_bytes(bytes: Arc<[u8]>, path: &Path, ids: &IdSource<'_>) -> Result<Outcome> {
    let loader = Loader::new(Source::Bytes(Arc::clone(&bytes)), ids);
    loader.load(Lines::new(bytes.as_ref())).during("read", path)
}

/// A file read from some offset on.
struct Behind<'a> {
    file: &'a File,
    offset: u64,
    /// Where it is taken to end.
    end: u64,
}

impl Read for Behind<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let rest = usize::try_from(self.end.saturating_sub(self.offset)).unwrap_or(usize::MAX);
        let room = rest.min(buffer.len());
        let buffer = buffer.get_mut(..room).unwrap_or_default();
        let count = read_at(self.file, self.offset, buffer)?;
        self.offset += count as u64;
        Ok(count)
    }
}

pub(super) struct Loader<'a> {
    loaded: Loaded,
    ids: &'a IdSource<'a>,
    /// Known with the header, or guessed from the first entry.
    version: Option<f64>,
    /// Version 1 only: for each value of the file, header included, the entry it became.
    ordinals: Vec<Option<Slot>>,
    /// Where the last entry ended that began its line.
    whole_entry_end: Option<u64>,
    /// Set from outside when nobody waits for the outcome any more.
    stop: Option<&'a AtomicBool>,
    /// Version 1 only: compactions with the index they refer to.
    kept_indices: Vec<(Slot, f64)>,
}

impl<'a> Loader<'a> {
    pub(super) fn new(source: Source, ids: &'a IdSource<'a>) -> Self {
        Self {
            loaded: Loaded {
                texts: TextTable::new(source),
                ..Loaded::default()
            },
            ids,
            version: None,
            ordinals: Vec::new(),
            kept_indices: Vec::new(),
            whole_entry_end: None,
            stop: None,
        }
    }

    /// For lines behind a header that is known already.
    pub(super) fn behind_header(
        source: Source,
        ids: &'a IdSource<'a>,
        header: &[u8],
        version: f64,
    ) -> Self {
        let mut loader = Self::new(source, ids);
        loader.loaded.header = Some(header.to_vec());
        loader.version = Some(version);
        loader
    }

    /// Lets the reading end with an error when the flag is set.
    pub(super) fn until(mut self, stop: &'a AtomicBool) -> Self {
        self.stop = Some(stop);
        self
    }

    /// What was read so far.
    pub(super) fn into_loaded(self) -> Loaded {
        self.loaded
    }

    /// Reads everything on this thread.
    fn load(mut self, mut lines: Lines<impl Read>) -> io::Result<Outcome> {
        self.read_lines(&mut lines, u64::MAX)?;
        self.finish(lines.bytes_read(), lines.is_unterminated())
    }

    /// Lets several threads read the usual lines of a span, and reads on this one what they leave.
    /// What stands between the span and `end` was appended meanwhile and is read too.
    pub(super) fn load_ahead(
        mut self,
        file: &File,
        span: Range<u64>,
        end: u64,
        chunk: u64,
    ) -> io::Result<Outcome> {
        let behind = |offset| Behind { file, offset, end };
        let (mut read_to, length) = (span.start, span.end);
        let mut lines = Lines::new(behind(read_to));
        ahead::read_ahead(file, span, chunk, |batch| {
            if self.stop.is_some_and(|stop| stop.load(Ordering::Relaxed)) {
                return Err(io::ErrorKind::Interrupted.into());
            }
            if batch.begin == Some(read_to) {
                for Judged {
                    offset,
                    len,
                    verdict,
                } in batch.values
                {
                    self.commit(verdict, &batch.arena, offset, len, false);
                }
                read_to = batch.end;
            }
            if read_to < batch.limit {
                let offset = read_to;
                lines.restart(behind(offset), offset);
                self.read_lines(&mut lines, batch.limit)?;
                read_to = lines.next_line().unwrap_or(length);
            }
            Ok(())
        })?;
        // What was appended meanwhile.
        if lines.next_line() != Some(read_to) {
            let offset = read_to;
            lines.restart(behind(offset), offset);
        }
        self.read_lines(&mut lines, u64::MAX)?;
        self.finish(lines.bytes_read(), lines.is_unterminated())
    }

    /// Reads lines up to the first one that begins at `limit` or behind.
    fn read_lines(&mut self, lines: &mut Lines<impl Read>, limit: u64) -> io::Result<()> {
        let mut arena = Arena::new();
        while lines.next_line().is_none_or(|offset| offset < limit) {
            arena.clear();
            let piece = lines.next(
                |cursor| {
                    let start = *cursor;
                    let head = head::read(cursor)?;
                    let text = start.slice(start.pos()..cursor.pos());
                    Ok(judge(&head, text, &mut arena))
                },
                |verdict| verdict.complete,
            )?;
            match piece {
                None => break,
                Some(Piece::Value {
                    offset,
                    len,
                    value,
                    glued,
                }) => self.commit(value, &arena, offset, len, glued),
                Some(Piece::Junk { offset, len }) => self.residue(offset, len),
            }
        }
        Ok(())
    }

    /// Puts a value in its place.
    pub(super) fn commit(
        &mut self,
        verdict: Verdict,
        arena: &Arena,
        offset: u64,
        len: usize,
        glued: bool,
    ) {
        let slot = match verdict.action {
            Action::Header {
                version,
                text: Some(text),
            } if self.loaded.header.is_none() => {
                self.loaded.report.header_salvaged = glued;
                self.loaded.header = Some(text);
                self.version.get_or_insert(version.unwrap_or(1.0));
                None
            }
            Action::Object(draft) if draft.is_entry(self.version) => {
                Some(self.take_entry(draft, arena, offset, len))
            }
            Action::Header { .. } | Action::Object(_) | Action::Stray => {
                self.residue(offset, len as u64);
                None
            }
        };
        self.loaded.report.recovered_entries += u32::from(glued && slot.is_some());
        self.whole_entry_end = (slot.is_some() && !glued).then_some(offset + len as u64);
        if self.version.is_some_and(|version| version < 2.0) {
            self.ordinals.push(slot);
        }
    }

    fn take_entry(&mut self, draft: Draft, arena: &Arena, offset: u64, len: usize) -> Slot {
        let version = *self
            .version
            .get_or_insert(if draft.id.is_some() { 3.0 } else { 1.0 });
        let key = |span: Range<usize>| arena.get(span).unwrap_or_default();
        let tree = &mut self.loaded.tree;
        let (id, parent) = if version < 2.0 {
            assigned_links(tree, self.ids)
        } else {
            let id = tree.intern(draft.id.map(key).unwrap_or_default());
            let parent = match draft.parent {
                DraftParent::Null => Parent::Null,
                DraftParent::Absent => Parent::Absent,
                DraftParent::Id(parent) => Parent::Id(tree.intern(key(parent))),
            };
            (id, parent)
        };
        let mut record = Record::new(id, parent, draft.kind, draft.role, draft.timestamp);
        record.marks = draft.marks;
        if version < 2.0 {
            record.marks = record.marks.with(Marks::ASSIGNED_ID);
        }
        if version < 3.0 && draft.role == Role::HookMessage {
            record.marks = record.marks.with(Marks::HOOK_ROLE);
            record.role = Role::Other;
        }
        let slot = tree.push(record);
        if let Some(usage) = draft.usage {
            tree.add_usage(slot, usage);
        }
        if let Some((target, label)) = draft.label {
            let target = tree.intern(key(target));
            tree.set_label(target, key(label));
        }
        if let (true, Some(index)) = (version < 2.0, draft.first_kept_index) {
            self.kept_indices.push((slot, index));
        }
        self.loaded.texts.push(offset, len);
        slot
    }

    fn residue(&mut self, offset: u64, len: u64) {
        let report = &mut self.loaded.report;
        // Bytes behind an entry on its line: the entry was got out of a damaged line.
        report.recovered_entries += u32::from(self.whole_entry_end.take() == Some(offset));
        report.skipped_lines += 1;
        report.skipped_bytes += len;
        let before_header = self.loaded.header.is_none() && self.loaded.tree.is_empty();
        self.loaded.texts.residue.push(Residue {
            before: (!before_header).then_some(self.loaded.tree.len() as Slot),
            offset,
            len,
        });
    }

    fn finish(mut self, bytes: u64, unterminated: bool) -> io::Result<Outcome> {
        self.resolve_kept_indices();
        let mut loaded = self.loaded;
        if loaded.header.is_none() && loaded.tree.is_empty() {
            let blank = bytes == 0 || loaded.report.skipped_lines == 0;
            return Ok(if blank {
                Outcome::Blank
            } else {
                Outcome::NotASession
            });
        }
        loaded.report.entries = loaded.tree.len() as u32;
        if loaded.header.is_none() {
            loaded.report.header_salvaged = true;
            loaded.first_timestamp = first_timestamp(&loaded.texts);
        }
        if loaded.report.header_salvaged {
            // The first rewrite keeps the old bytes as a whole beside the file.
            loaded
                .texts
                .residue
                .retain(|residue| residue.before.is_some());
        }
        loaded.texts.extent = bytes;
        loaded.report.torn_tail = unterminated;
        loaded.migrated = self
            .version
            .is_some_and(|version| version < f64::from(CURRENT_VERSION));
        Ok(Outcome::Session(Box::new(loaded)))
    }

    /// Version 1 compactions refer to a position in the file. The id is known up to the compaction
    /// itself; entries behind it had no id yet when the reference was made.
    fn resolve_kept_indices(&mut self) {
        for &(slot, index) in &self.kept_indices {
            let whole = index >= 0.0 && index.fract() == 0.0;
            let kept = whole
                .then(|| self.ordinals.get(index as usize).copied().flatten())
                .flatten()
                .filter(|&kept| kept <= slot)
                .and_then(|kept| self.loaded.tree.record(kept))
                .map(|record| record.id);
            self.loaded.tree.set_migrated_first_kept(slot, kept);
        }
    }
}

/// Version 1 entries are a list: each gets a new id and the entry before it as parent.
fn assigned_links(tree: &mut Tree, ids: &IdSource<'_>) -> (Symbol, Parent) {
    let id = snowflake::entry_id(
        |id| tree.find(id.as_bytes()).is_some(),
        ids.snowflakes,
        ids.now,
    );
    let parent = tree.leaf().map_or(Parent::Null, Parent::Id);
    (tree.intern(id.as_bytes()), parent)
}

/// The timestamp of the first entry, if it can be read.
fn first_timestamp(texts: &TextTable) -> Option<String> {
    let (offset, len) = texts.place(0)?;
    let mut text = Vec::new();
    texts.source.read(offset, len, &mut text).ok()?;
    let head = head::read(&mut Cursor::new(&text)).ok()?;
    head.timestamp_text.map(|text| text.to_text())
}

/// The session id in a file name of the form `<time>_<id>.jsonl`.
pub fn id_from_name(path: &Path) -> Option<String> {
    let stem = path.file_stem()?.to_str()?;
    let (_, id) = stem.rsplit_once('_')?;
    let is_id = id.len() == 16 && id.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    is_id.then(|| id.to_owned())
}

/// Quotes a text for messages and made headers.
pub fn quoted(text: &str) -> String {
    String::from_utf8(encode(text.as_bytes())).unwrap_or_default()
}

#[cfg(test)]
#[path = "load_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "ahead_tests.rs"]
pub(super) mod ahead_tests;
