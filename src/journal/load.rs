//! From a session's text to its index, in one streaming pass.
//!
//! Nothing is written here. What the file holds beside entries is noted as residue; a damaged
//! header costs nothing but itself.

use std::borrow::Cow;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

use super::head::{self, Head, IdValue, ParentValue, Shape};
use super::lines::{Lines, Piece};
use super::texts::{Residue, Source, TextTable};
use crate::Result;
use crate::error::IoContext;
use crate::json::RawStr;
use crate::json::text::{encode, to_utf16};
use crate::session::record::Marks;
use crate::session::snowflake::{self, SnowflakeGenerator};
use crate::session::{CURRENT_VERSION, EntryKind, Interner, Parent, Record, Role, Slot, Tree};
use crate::storage::disk::open_regular;

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
    /// Timestamp of the first entry, for a header that must be made.
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
    let file = match open_regular(path) {
        Err(error) if error.is_not_found() => return Ok(Outcome::Missing),
        outcome => Arc::new(outcome?),
    };
    let source = Source::File {
        file: Arc::clone(&file),
        path: path.to_path_buf(),
    };
    load(file.as_ref(), source, ids).during("read", path)
}

/// Reads a text in memory; `path` is for messages. Fails only when memory runs out.
pub fn load_bytes(bytes: Arc<[u8]>, path: &Path, ids: &IdSource<'_>) -> Result<Outcome> {
    let source = Source::Bytes(Arc::clone(&bytes));
    load(bytes.as_ref(), source, ids).during("read", path)
}

fn load(reader: impl Read, source: Source, ids: &IdSource<'_>) -> io::Result<Outcome> {
    let mut lines = Lines::new(reader);
    let mut loader = Loader {
        loaded: Loaded {
            texts: TextTable::new(source),
            ..Loaded::default()
        },
        ids,
        version: None,
        ordinals: Vec::new(),
        kept_indices: Vec::new(),
        whole_entry_end: None,
    };
    loop {
        let piece = lines.next(
            |cursor| {
                let start = *cursor;
                let head = head::read(cursor)?;
                Ok(loader.judge(&head, start.slice(start.pos()..cursor.pos())))
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
            }) => {
                loader.commit(value, offset, len, glued);
            }
            Some(Piece::Junk { offset, len }) => loader.residue(offset, len),
        }
    }
    Ok(loader.finish(lines.bytes_read(), lines.is_unterminated()))
}

/// What is to be done with a value; made while its bytes are at hand, carried out when the reader
/// has accepted it.
struct Verdict {
    complete: bool,
    action: Action,
}

enum Action {
    Header {
        version: Option<f64>,
        /// Its JSON text, if it identifies a session.
        text: Option<Vec<u8>>,
    },
    Entry(Box<Draft>),
    Stray,
}

/// A record with what belongs to it, ids as keys.
struct Draft {
    id: Option<Vec<u8>>,
    parent: DraftParent,
    kind: EntryKind,
    role: Role,
    marks: Marks,
    timestamp: f64,
    timestamp_text: Option<String>,
    usage: Option<crate::session::Usage>,
    label: Option<(Vec<u8>, Vec<u8>)>,
    first_kept_index: Option<f64>,
}

enum DraftParent {
    Null,
    Absent,
    Id(Vec<u8>),
}

fn draft(head: &Head<'_>, first: bool) -> Draft {
    let label = match (head.kind, head.label_target) {
        (EntryKind::Label, Some(target)) => key_of(target).map(|target| {
            let text = head.label.map(|label| label.decode().into_owned());
            (target, text.unwrap_or_default())
        }),
        _ => None,
    };
    Draft {
        id: key_of(head.id),
        parent: match head.parent {
            ParentValue::Null => DraftParent::Null,
            ParentValue::Absent => DraftParent::Absent,
            ParentValue::Id(id) => key_of(id).map_or(DraftParent::Absent, DraftParent::Id),
        },
        kind: head.kind,
        role: head.role,
        marks: match head.stale_replay {
            true => Marks::STALE_REPLAY,
            false => Marks::default(),
        },
        timestamp: head.timestamp,
        timestamp_text: head
            .timestamp_text
            .filter(|_| first)
            .map(|text| text.to_text()),
        usage: head.usage,
        label,
        first_kept_index: head
            .first_kept_index
            .filter(|_| head.kind == EntryKind::Compaction),
    }
}

/// The interner's key of an id.
pub fn key_of(id: IdValue<'_>) -> Option<Vec<u8>> {
    match id {
        IdValue::None => None,
        IdValue::Text(text) => Some(id_key(&text).into_owned()),
        IdValue::Number(number) => Some(Interner::number_key(number).to_vec()),
    }
}

/// The key of a string id: its text, with bytes that are no text replaced as JavaScript does.
pub fn id_key<'a>(id: &RawStr<'a>) -> Cow<'a, [u8]> {
    let text = id.decode();
    if std::str::from_utf8(&text).is_ok() {
        return text;
    }
    Cow::Owned(crate::json::text::from_utf16(&to_utf16(&text)))
}

struct Loader<'a> {
    loaded: Loaded,
    ids: &'a IdSource<'a>,
    /// Known with the header, or guessed from the first entry.
    version: Option<f64>,
    /// Version 1 only: for each value of the file, header included, the entry it became.
    ordinals: Vec<Option<Slot>>,
    /// Where the last entry ended that began its line.
    whole_entry_end: Option<u64>,
    /// Version 1 only: compactions with the index they refer to.
    kept_indices: Vec<(Slot, f64)>,
}

impl Loader<'_> {
    /// Decides what a value is, while its fields borrow from the line.
    fn judge(&self, head: &Head<'_>, text: &[u8]) -> Verdict {
        let is_header = head.shape == Shape::Header && head.id != IdValue::None;
        let action = match head.shape {
            Shape::Scalar => Action::Stray,
            Shape::Header => Action::Header {
                version: head.version,
                // Copied now: another process may change a header in place at any time.
                text: matches!(head.id, IdValue::Text(_)).then(|| text.to_vec()),
            },
            Shape::Object if self.accepts(head) => {
                Action::Entry(Box::new(draft(head, self.loaded.tree.is_empty())))
            }
            Shape::Object => Action::Stray,
        };
        Verdict {
            complete: is_header || head.is_complete_entry(),
            action,
        }
    }

    /// Version 1 entries are recognised by their type, later ones by their id.
    fn accepts(&self, head: &Head<'_>) -> bool {
        let has_id = head.id != IdValue::None;
        match self.version {
            Some(version) if version < 2.0 => head.typed,
            Some(_) => has_id,
            // Without a header an object must look more like an entry: a header with a damaged
            // type has an id too.
            None if has_id => head.parent != ParentValue::Absent,
            None => head.kind != EntryKind::Unknown && head.typed && head.timestamp_text.is_some(),
        }
    }

    fn commit(&mut self, verdict: Verdict, offset: u64, len: usize, glued: bool) {
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
            Action::Entry(draft) => Some(self.take_entry(*draft, offset, len)),
            Action::Header { .. } | Action::Stray => {
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

    fn take_entry(&mut self, mut draft: Draft, offset: u64, len: usize) -> Slot {
        let version = *self
            .version
            .get_or_insert(if draft.id.is_some() { 3.0 } else { 1.0 });
        let tree = &mut self.loaded.tree;
        if version < 2.0 {
            assign_links(&mut draft, tree, self.ids);
        }
        if version < 3.0 && draft.role == Role::HookMessage {
            draft.marks = draft.marks.with(Marks::HOOK_ROLE);
            draft.role = Role::Other;
        }
        let id = tree.intern(&draft.id.unwrap_or_default());
        let parent = match draft.parent {
            DraftParent::Null => Parent::Null,
            DraftParent::Absent => Parent::Absent,
            DraftParent::Id(key) => Parent::Id(tree.intern(&key)),
        };
        let mut record = Record::new(id, parent, draft.kind, draft.role, draft.timestamp);
        record.marks = draft.marks;
        let slot = tree.push(record);
        if let Some(usage) = draft.usage {
            tree.add_usage(slot, usage);
        }
        if let Some((target, label)) = draft.label {
            let target = tree.intern(&target);
            tree.set_label(target, &label);
        }
        if let (true, Some(index)) = (version < 2.0, draft.first_kept_index) {
            self.kept_indices.push((slot, index));
        }
        if slot == 0 {
            self.loaded.first_timestamp = draft.timestamp_text;
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

    fn finish(mut self, bytes: u64, unterminated: bool) -> Outcome {
        self.resolve_kept_indices();
        let mut loaded = self.loaded;
        if loaded.header.is_none() && loaded.tree.is_empty() {
            let blank = bytes == 0 || loaded.report.skipped_lines == 0;
            return if blank {
                Outcome::Blank
            } else {
                Outcome::NotASession
            };
        }
        loaded.report.entries = loaded.tree.len() as u32;
        loaded.report.header_salvaged |= loaded.header.is_none();
        if loaded.report.header_salvaged {
            // The first rewrite keeps the old bytes as a whole beside the file.
            loaded
                .texts
                .residue
                .retain(|residue| residue.before.is_some());
        }
        loaded.report.torn_tail = unterminated;
        loaded.migrated = self
            .version
            .is_some_and(|version| version < f64::from(CURRENT_VERSION));
        Outcome::Session(Box::new(loaded))
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
fn assign_links(draft: &mut Draft, tree: &Tree, ids: &IdSource<'_>) {
    let id = snowflake::entry_id(
        |id| tree.find(id.as_bytes()).is_some(),
        ids.snowflakes,
        ids.now,
    );
    draft.id = Some(id.into_bytes());
    draft.parent = match tree.leaf() {
        Some(leaf) => DraftParent::Id(tree.ids().get(leaf).to_vec()),
        None => DraftParent::Null,
    };
    draft.marks = draft.marks.with(Marks::ASSIGNED_ID);
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
