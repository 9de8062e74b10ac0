//! The most recent sessions of a directory, from the beginnings of their files.
//!
//! Files are looked at from the newest on, and only until enough sessions are found.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use super::describe::Header;
use super::files::{open_regular, session_files};
use super::line::{self, Id, Line};
use super::project::Project;
use super::stamp::{Stamp, newest_first};
use crate::Result;
use crate::error::IoContext;
use crate::journal::lines::{Lines, Piece};
use crate::json::Cursor;
use crate::json::text::to_utf16;
use crate::text::is_js_space;

/// Bytes that usually hold the header and the first prompt.
const PREFIX: u64 = 4096;
/// Decoding removes this many bytes from the beginning of some files.
const BYTE_ORDER_MARK: u64 = 3;
/// How much more is read when the header has not ended yet.
const GROWTH: u64 = 16;
/// Up to here damage before the header does not matter, even if entries can be read behind it.
const LONG_PREFIX: u64 = PREFIX * GROWTH;
/// How far the end of a header is looked for at most.
const LONGEST_PREFIX: u64 = LONG_PREFIX * GROWTH * GROWTH;

/// A recent session.
#[derive(Debug, Clone, PartialEq)]
pub struct Recent {
    /// Its file.
    pub path: PathBuf,
    /// When it was last modified.
    pub modified: Stamp,
    /// What to call it, in UTF-16.
    pub name: Vec<u16>,
}

/// The beginning of a session file.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Beginning {
    /// The header, unless its line is damaged.
    header: Option<Header>,
    /// What the name is made of, the first that is not blank: title, prompt, id. All WTF-8.
    title: Option<Vec<u8>>,
    prompt: Option<Vec<u8>>,
    id: Option<Vec<u8>>,
    /// A title that counts as true keeps the prompt from being used.
    is_titled: bool,
    has_entries: bool,
}

/// The newest session of a directory that is the project's own, or `None`.
pub fn most_recent(dir: &Path, project: Option<&Project>) -> Result<Option<PathBuf>> {
    for (_, path) in by_age(dir)? {
        let Some(beginning) = beginning_of(&path) else {
            continue;
        };
        if project.is_none_or(|project| project.owns(beginning.cwd())) {
            return Ok(Some(path));
        }
    }
    Ok(None)
}

/// The sessions of a directory, newest first, at most `count`.
pub fn recent(dir: &Path, count: usize) -> Result<Vec<Recent>> {
    let sessions = by_age(dir)?.into_iter().filter_map(|(modified, path)| {
        let name = beginning_of(&path)?.name(&path);
        Some(Recent {
            path,
            modified,
            name,
        })
    });
    Ok(sessions.take(count).collect())
}

/// The working directory in the header of a session file, if it can be read.
pub fn header_cwd(path: &Path) -> Option<String> {
    beginning_of(path)?.cwd().map(str::to_owned)
}

fn by_age(dir: &Path) -> Result<Vec<(Stamp, PathBuf)>> {
    let mut files: Vec<_> = session_files(dir)?
        .into_iter()
        // What vanishes meanwhile is no session any more.
        .filter_map(|path| Some((Stamp::of(&std::fs::metadata(&path).ok()?), path)))
        .collect();
    files.sort_by(|(left, left_path), (right, right_path)| {
        newest_first(*left, left_path, *right, right_path)
    });
    Ok(files)
}

/// `None` for what is no session or cannot be read.
fn beginning_of(path: &Path) -> Option<Beginning> {
    let mut file = open_regular(path).ok()?;
    let mut bytes = Vec::new();
    let mut wanted = PREFIX;
    loop {
        read_up_to(&mut file, wanted - bytes.len() as u64, path, &mut bytes).ok()?;
        let beginning = read_beginning(&bytes);
        match beginning.longer_prefix(wanted) {
            Some(longer) if bytes.len() as u64 == wanted => wanted = longer,
            _ => return beginning.into_session(),
        }
    }
}

fn read_up_to(file: &mut File, count: u64, path: &Path, bytes: &mut Vec<u8>) -> Result<()> {
    file.take(count)
        .read_to_end(bytes)
        .during("read", path)
        .map(|_| ())
}

/// How many bytes of a text must be read to tell what it is, when its first `wanted` bytes (4096 to
/// begin with) are `prefix`; `None` when these are enough.
pub fn longer_prefix(prefix: &str, wanted: u64) -> Option<u64> {
    let is_cut = prefix.len() as u64 + BYTE_ORDER_MARK >= wanted;
    is_cut
        .then(|| read_beginning(prefix.as_bytes()).longer_prefix(wanted))
        .flatten()
}

/// Reads the beginning of a session's text, which may end anywhere. `None` for what is no session.
pub fn describe_beginning(text: &str) -> Option<Beginning> {
    read_beginning(text.as_bytes()).into_session()
}

fn read_beginning(bytes: &[u8]) -> Beginning {
    let mut beginning = Beginning::default();
    let mut lines = Lines::sized(bytes, bytes.len() as u64);
    let mut is_first = true;
    let mut slot_title = None;
    let parse = |cursor: &mut Cursor<'_>| Ok(Part::new(&line::read(cursor)?));
    let is_complete = |part: &Part| part.is_complete;
    // Reading from memory cannot fail.
    while let Ok(Some(piece)) = lines.next(parse, is_complete) {
        let Piece::Value { value: part, .. } = piece else {
            continue;
        };
        beginning.has_entries |= part.is_evidence;
        match part.kind {
            PartKind::Header {
                header,
                title,
                is_titled,
                id,
            } if beginning.header.is_none() => {
                beginning.header = Some(header);
                beginning.id = id;
                (beginning.title, beginning.is_titled) = (title, is_titled);
            }
            PartKind::Title(title) if is_first => slot_title = Some(title),
            PartKind::Prompt(prompt) => {
                beginning.prompt.get_or_insert(prompt);
            }
            _ => {}
        }
        is_first = false;
    }
    if let Some(title) = slot_title {
        beginning.is_titled = !title.is_empty();
        beginning.title = Some(title);
    }
    beginning
}

/// What is kept of one value.
struct Part {
    kind: PartKind,
    is_complete: bool,
    is_evidence: bool,
}

enum PartKind {
    Header {
        header: Header,
        title: Option<Vec<u8>>,
        is_titled: bool,
        id: Option<Vec<u8>>,
    },
    Title(Vec<u8>),
    Prompt(Vec<u8>),
    Other,
}

impl Part {
    fn new(line: &Line<'_>) -> Self {
        Self {
            kind: PartKind::new(line),
            is_complete: line.is_complete(),
            is_evidence: line.is_evidence(),
        }
    }
}

impl PartKind {
    fn new(line: &Line<'_>) -> Self {
        let title = line.title.map(|title| title.decode().into_owned());
        if line.is("session") {
            return Self::Header {
                header: Header::new(line),
                title,
                is_titled: line.has_title,
                id: match line.id {
                    Id::Text(id) => Some(id.decode().into_owned()),
                    Id::Number(_) | Id::None => None,
                },
            };
        }
        match title {
            Some(title) if line.is("title") => Self::Title(title),
            _ => line
                .message
                .as_ref()
                .filter(|message| line.is("message") && message.is_from_user())
                .and_then(|message| message.first_text())
                .map_or(Self::Other, Self::Prompt),
        }
    }
}

impl Beginning {
    /// The working directory that the header names.
    pub fn cwd(&self) -> Option<&str> {
        self.header.as_ref()?.cwd.as_deref()
    }

    /// How much to read when the header was not in the first `read` bytes, but may follow.
    fn longer_prefix(&self, read: u64) -> Option<u64> {
        let is_expected = self.header.is_none() && (read < LONG_PREFIX || !self.has_entries);
        (is_expected && read < LONGEST_PREFIX).then(|| read.saturating_mul(GROWTH))
    }

    /// A session has a header with a string for an id, or entries that can be read without it.
    fn into_session(self) -> Option<Self> {
        let is_session = self.id.is_some() || self.has_entries;
        is_session.then_some(self)
    }

    /// What to call the session in the file at `path`, in UTF-16: the first of title, prompt and id
    /// that is not blank; the prompt only without title. Else the name of the file.
    pub fn name(&self, path: &Path) -> Vec<u16> {
        let prompt = self.prompt.as_ref().filter(|_| !self.is_titled);
        [self.title.as_ref(), prompt, self.id.as_ref()]
            .into_iter()
            .flatten()
            .map(|text| first_line(text))
            .find(|line| !line.is_empty())
            .unwrap_or_else(|| fallback_name(path))
    }
}

/// The text before the first line break, without control characters and surrounding white space.
fn first_line(text: &[u8]) -> Vec<u16> {
    let line = text.split(|&byte| byte == b'\n').next().unwrap_or_default();
    let mut units = to_utf16(line);
    units.retain(|&unit| unit >= 0x20 && unit != 0x7f);
    let is_space = |unit: &u16| char::from_u32(u32::from(*unit)).is_some_and(is_js_space);
    let start = units.iter().take_while(|unit| is_space(unit)).count();
    let end = units.iter().rposition(|unit| !is_space(unit));
    let end = end.map_or(start, |last| last + 1);
    units.get(start..end).unwrap_or_default().to_vec()
}

fn fallback_name(path: &Path) -> Vec<u16> {
    let path = path.to_string_lossy();
    let name = path.rsplit('/').next().unwrap_or_default();
    let name = name.replacen(".jsonl", "", 1);
    let name = if name.is_empty() { "Unknown" } else { &name };
    name.encode_utf16().collect()
}

#[cfg(test)]
#[path = "recent_tests.rs"]
mod tests;
