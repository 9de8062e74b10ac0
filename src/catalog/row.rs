//! A session in a listing as a JSON text, which costs less to hand over than an object does.
//!
//! A row is an array: path, id, title, working directory, time of creation, time of modification in
//! milliseconds, number of messages, first message, whether that is cut, and the parent, which is
//! left out where the header has none. `null` stands for other things that are missing. Id, title,
//! time of creation and parent are whatever JSON values the header has, copied, not encoded anew.

use std::ops::Range;
use std::path::Path;

use super::describe::{Description, id_in_name, time_in_name};
use super::line::is_true;
use super::stamp::Stamp;
use crate::json::cursor::Step;
use crate::json::text::encode;
use crate::json::{Cursor, Kind};

/// First messages are cut behind this many bytes; the rest is read when somebody asks for it.
const LONGEST_FIRST: usize = 4096;
/// `null` is the time zero where a header has it for a time.
const EPOCH: &[u8] = b"0";
const NULL: &[u8] = b"null";

/// What a listing keeps of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The row.
    pub row: Box<[u8]>,
    /// The working directory in the header.
    pub cwd: Option<Box<str>>,
}

impl Entry {
    /// What is kept of a session: a long first message is cut.
    pub fn new(path: &Path, modified: Stamp, description: &Description) -> Self {
        let first = description.first_message.as_deref().map(cut);
        Self::with_first(path, Some(modified), description, first)
    }

    /// The same with all of the first message, for a text that did not come from a file.
    pub fn whole(path: &Path, description: &Description) -> Self {
        let first = description.first_message.as_deref();
        Self::with_first(path, None, description, first.map(|text| (text, false)))
    }

    fn with_first(
        path: &Path,
        modified: Option<Stamp>,
        description: &Description,
        first: Option<(&[u8], bool)>,
    ) -> Self {
        let cwd = description.cwd().map(Box::from);
        let header = description.header.as_ref().map(|header| &header.text[..]);
        // The line was read before, so it can be read again.
        let fields = header.map(|text| Fields::read(text).unwrap_or_default());
        let fields = fields.unwrap_or_default();
        let of = |span: &Option<Range<usize>>| header.unwrap_or_default().get(span.clone()?);
        let millis = modified.map(Stamp::millis);
        let created = match header {
            Some(_) => of(&fields.timestamp).map(|time| if time == NULL { EPOCH } else { time }),
            None => None,
        };
        let named = || {
            let time = time_in_name(path);
            let time = if time.is_nan() { millis } else { Some(time) };
            time.filter(|_| header.is_none())
                .map_or_else(|| NULL.to_vec(), number)
        };
        let is_cut = first.is_some_and(|(_, is_cut)| is_cut);
        let parts: [Vec<u8>; 9] = [
            encode(path.to_string_lossy().as_bytes()),
            of(&fields.id).map_or_else(|| encode(id_in_name(path).as_bytes()), <[u8]>::to_vec),
            title(description, of(&fields.title)),
            of(&fields.cwd).map_or_else(|| encode(b""), <[u8]>::to_vec),
            created.map_or_else(named, <[u8]>::to_vec),
            millis.map_or_else(|| NULL.to_vec(), number),
            description.message_count.to_string().into_bytes(),
            first.map_or_else(|| NULL.to_vec(), |(text, _)| encode(text)),
            is_cut.to_string().into_bytes(),
        ];
        let mut row = b"[".to_vec();
        row.extend(parts.join(&b','));
        if let Some(parent) = of(&fields.parent) {
            row.push(b',');
            row.extend_from_slice(parent);
        }
        row.push(b']');
        Self {
            row: row.into_boxed_slice(),
            cwd,
        }
    }

    /// Bytes that it takes.
    pub fn size(&self) -> usize {
        size_of::<Self>() + self.row.len() + self.cwd.as_ref().map_or(0, |cwd| cwd.len())
    }
}

/// The rows of sessions as one array.
pub fn join<'a>(rows: impl Iterator<Item = &'a [u8]>) -> Vec<u8> {
    let mut text = b"[".to_vec();
    for row in rows {
        if text.len() > 1 {
            text.push(b',');
        }
        text.extend_from_slice(row);
    }
    text.push(b']');
    text
}

/// A whole number of milliseconds, as far as dates have them.
fn number(millis: f64) -> Vec<u8> {
    (millis as i64).to_string().into_bytes()
}

/// The beginning of a text, without splitting a character, and whether that is not all.
fn cut(text: &[u8]) -> (&[u8], bool) {
    if text.len() <= LONGEST_FIRST {
        return (text, false);
    }
    let is_start = |at: &usize| text.get(*at).is_none_or(|byte| byte & 0xc0 != 0x80);
    let end = (0..=LONGEST_FIRST).rev().find(is_start).unwrap_or_default();
    (text.get(..end).unwrap_or_default(), true)
}

/// The title that a listing shows: the slot's, else the header's, else the last short summary.
fn title(description: &Description, in_header: Option<&[u8]>) -> Vec<u8> {
    let own = match &description.slot_title {
        Some(slot) => (!slot.is_empty()).then(|| encode(slot)),
        None => in_header.filter(|&title| title != NULL).map(<[u8]>::to_vec),
    };
    let summary = || description.short_summary.as_deref().map(encode);
    own.or_else(summary).unwrap_or_else(|| NULL.to_vec())
}

/// Where values stand in a header.
#[derive(Default)]
struct Fields {
    /// Only if JavaScript takes it for true.
    id: Option<Range<usize>>,
    title: Option<Range<usize>>,
    /// Only if it is a string.
    cwd: Option<Range<usize>>,
    timestamp: Option<Range<usize>>,
    parent: Option<Range<usize>>,
}

impl Fields {
    fn read(header: &[u8]) -> Step<Self> {
        let mut fields = Self::default();
        Cursor::new(header).object(|cursor, key| {
            match key.decode().as_ref() {
                b"id" => {
                    let counts = is_true(*cursor)?;
                    fields.id = Some(cursor.skip()?).filter(|_| counts);
                }
                b"cwd" => {
                    let is_string = cursor.kind()? == Kind::String;
                    fields.cwd = Some(cursor.skip()?).filter(|_| is_string);
                }
                b"title" => fields.title = Some(cursor.skip()?),
                b"timestamp" => fields.timestamp = Some(cursor.skip()?),
                b"parentSession" => fields.parent = Some(cursor.skip()?),
                _ => {
                    cursor.skip()?;
                }
            }
            Ok(())
        })?;
        Ok(fields)
    }
}
