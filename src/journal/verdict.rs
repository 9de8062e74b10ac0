//! What a value of a session file is to become, made while its bytes are at hand.
//!
//! A verdict depends on nothing but the value, so values can be judged ahead of the order in which
//! they enter the tree, and on other threads.

use std::borrow::Cow;
use std::ops::Range;

use super::head::{Head, IdValue, ParentValue, Shape};
use crate::json::RawStr;
use crate::json::text::to_utf16;
use crate::session::record::Marks;
use crate::session::{EntryKind, Interner, Role, Usage};

/// Keys and labels of the values that were judged since it was last cleared, one behind the other:
/// a few bytes of each, so they are not worth an allocation each.
pub type Arena = Vec<u8>;

/// A part of an [`Arena`].
type Span = Range<usize>;

/// What is to be done with a value.
pub struct Verdict {
    /// It may be trusted even behind damaged bytes: it has all that its kind has.
    pub complete: bool,
    /// What it is.
    pub action: Action,
}

/// What a value is.
pub enum Action {
    /// A header.
    Header {
        /// Its version; `None` when missing.
        version: Option<f64>,
        /// Its JSON text, if it identifies a session.
        text: Option<Vec<u8>>,
    },
    /// An object that may be an entry.
    Object(Draft),
    /// Anything else.
    Stray,
}

/// A record with what belongs to it, ids as keys in the arena.
pub struct Draft {
    /// Its id, if it has one.
    pub id: Option<Span>,
    /// Its parent link.
    pub parent: DraftParent,
    /// True when `type` is a string.
    pub typed: bool,
    /// True when its timestamp is a string.
    pub dated: bool,
    /// Its kind.
    pub kind: EntryKind,
    /// Role of its message.
    pub role: Role,
    /// What must be adapted in its text.
    pub marks: Marks,
    /// Its timestamp in milliseconds since 1970, or NaN.
    pub timestamp: f64,
    /// Usage that counts.
    pub usage: Option<Usage>,
    /// Target and text of a label, the latter empty when it takes the label away.
    pub label: Option<(Span, Span)>,
    /// `firstKeptEntryIndex` of version 1 compactions.
    pub first_kept_index: Option<f64>,
}

/// The parent link of a [`Draft`].
pub enum DraftParent {
    /// JSON `null`.
    Null,
    /// None.
    Absent,
    /// An id.
    Id(Span),
}

impl Draft {
    /// Whether it is an entry of a file of this version, `None` when no header told one. Entries of
    /// version 1 are recognised by their type, later ones by their id.
    pub fn is_entry(&self, version: Option<f64>) -> bool {
        let has_id = self.id.is_some();
        match version {
            Some(version) if version < 2.0 => self.typed,
            Some(_) => has_id,
            // Without a header an object must look more like an entry: a header with a damaged
            // type has an id too.
            None if has_id => !matches!(self.parent, DraftParent::Absent),
            None => self.kind != EntryKind::Unknown && self.typed && self.dated,
        }
    }
}

/// Decides what a value is. `text` are its bytes.
pub fn judge(head: &Head<'_>, text: &[u8], arena: &mut Arena) -> Verdict {
    match head.shape {
        Shape::Scalar => Verdict {
            complete: false,
            action: Action::Stray,
        },
        Shape::Header => Verdict {
            complete: head.id != IdValue::None,
            action: Action::Header {
                version: head.version,
                // Copied now: another process may change a header in place at any time.
                text: matches!(head.id, IdValue::Text(_)).then(|| text.to_vec()),
            },
        },
        Shape::Object => Verdict {
            complete: head.is_complete_entry(),
            action: Action::Object(draft(head, arena)),
        },
    }
}

fn draft(head: &Head<'_>, arena: &mut Arena) -> Draft {
    let label = match (head.kind, head.label_target) {
        (EntryKind::Label, Some(target)) => put_id(target, arena).map(|target| {
            let text = head.label.map(|label| label.decode()).unwrap_or_default();
            (target, put(&text, arena))
        }),
        _ => None,
    };
    Draft {
        id: put_id(head.id, arena),
        parent: match head.parent {
            ParentValue::Null => DraftParent::Null,
            ParentValue::Absent => DraftParent::Absent,
            ParentValue::Id(id) => put_id(id, arena).map_or(DraftParent::Absent, DraftParent::Id),
        },
        typed: head.typed,
        dated: head.timestamp_text.is_some(),
        kind: head.kind,
        role: head.role,
        marks: match head.stale_replay {
            true => Marks::STALE_REPLAY,
            false => Marks::default(),
        },
        timestamp: head.timestamp,
        usage: head.usage,
        label,
        first_kept_index: head
            .first_kept_index
            .filter(|_| head.kind == EntryKind::Compaction),
    }
}

/// Adds bytes to the arena.
pub fn put(bytes: &[u8], arena: &mut Arena) -> Span {
    let start = arena.len();
    arena.extend_from_slice(bytes);
    start..arena.len()
}

/// Adds the interner's key of an id.
fn put_id(id: IdValue<'_>, arena: &mut Arena) -> Option<Span> {
    match id {
        IdValue::None => None,
        IdValue::Text(text) => Some(put(&id_key(&text), arena)),
        IdValue::Number(number) => Some(put(&Interner::number_key(number), arena)),
    }
}

/// The key of a string id: its text, with bytes that are no text replaced as JavaScript does.
pub fn id_key<'a>(id: &RawStr<'a>) -> Cow<'a, [u8]> {
    let text = id.decode();
    if text.is_ascii() || std::str::from_utf8(&text).is_ok() {
        return text;
    }
    Cow::Owned(crate::json::text::from_utf16(&to_utf16(&text)))
}
