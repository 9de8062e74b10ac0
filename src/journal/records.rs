//! The records of a part of a session file, told apart only as far as merging needs.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use memchr::memrchr;

use super::head::{self, IdValue, Shape};
use super::lines::{Lines, Piece};
use super::verdict::id_key;
use crate::Result;
use crate::error::IoContext;
use crate::json::Cursor;
use crate::session::Interner;
use crate::storage::disk::read_at;

/// Bytes that are searched at once for the last line feed.
const STEP: usize = 64 << 10;

/// A value or a run of damaged bytes.
pub struct Record {
    /// Offset of its first byte.
    pub offset: u64,
    /// Length in bytes, without a line feed.
    pub len: u64,
    /// What it is.
    pub what: What,
}

/// What a [`Record`] is.
pub enum What {
    /// The header of a session.
    Header,
    /// An object with an id: the id's key as an [`Interner`] takes it.
    Entry(Vec<u8>),
    /// Anything else.
    Other,
}

/// Calls `take` with every record between two offsets. `end` should be behind a line feed. Blocking.
pub fn each_record(
    file: &File,
    path: &Path,
    from: u64,
    end: u64,
    mut take: impl FnMut(Record) -> Result<()>,
) -> Result<()> {
    if from >= end {
        return Ok(());
    }
    let span = |offset| Span { file, offset, end };
    let mut lines = Lines::sized(span(0), end - from);
    if from > 0 {
        lines.restart(span(from), from);
    }
    loop {
        let piece = lines
            .next(
                |cursor| {
                    let head = head::read(cursor)?;
                    Ok((what(&head), head.is_complete_entry()))
                },
                |&(_, complete)| complete,
            )
            .during("read", path)?;
        let record = match piece {
            None => return Ok(()),
            Some(Piece::Value {
                offset, len, value, ..
            }) => Record {
                offset,
                len: len as u64,
                what: value.0,
            },
            Some(Piece::Junk { offset, len }) => Record {
                offset,
                len,
                what: What::Other,
            },
        };
        take(record)?;
    }
}

fn what(head: &head::Head<'_>) -> What {
    match head.shape {
        Shape::Header if head.id != IdValue::None => What::Header,
        Shape::Object => key_of(&head.id).map_or(What::Other, What::Entry),
        Shape::Header | Shape::Scalar => What::Other,
    }
}

/// The key of the id in a JSON text, if it has one.
pub fn key_in(text: &[u8]) -> Option<Vec<u8>> {
    key_of(&head::read(&mut Cursor::new(text)).ok()?.id)
}

fn key_of(id: &IdValue<'_>) -> Option<Vec<u8>> {
    match id {
        IdValue::None => None,
        IdValue::Text(text) => Some(id_key(text).into_owned()),
        IdValue::Number(number) => Some(Interner::number_key(*number).to_vec()),
    }
}

/// Offset behind the last line feed of a file; never before `from`.
pub fn end_of_lines(file: &File, path: &Path, from: u64, len: u64) -> Result<u64> {
    let mut buffer = vec![0; STEP];
    let mut end = len;
    while end > from {
        let start = end.saturating_sub(STEP as u64).max(from);
        let chunk = buffer.get_mut(..(end - start) as usize).unwrap_or_default();
        let count = read_at(file, start, chunk).during("read", path)?;
        if let Some(at) = memrchr(b'\n', chunk.get(..count).unwrap_or_default()) {
            return Ok(start + at as u64 + 1);
        }
        end = start;
    }
    Ok(from)
}

/// A part of a file.
struct Span<'a> {
    file: &'a File,
    offset: u64,
    end: u64,
}

impl Read for Span<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.end.saturating_sub(self.offset)).unwrap_or(usize::MAX);
        let room = buffer.len().min(left);
        let count = read_at(
            self.file,
            self.offset,
            buffer.get_mut(..room).unwrap_or_default(),
        )?;
        self.offset += count as u64;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(content: &str) -> File {
        use std::io::Write;
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(content.as_bytes()).unwrap();
        file
    }

    fn shown(content: &str, from: u64, end: u64) -> Vec<String> {
        let mut shown = Vec::new();
        let take = |record: Record| {
            let text = &content[record.offset as usize..(record.offset + record.len) as usize];
            shown.push(match record.what {
                What::Header => format!("header {text}"),
                What::Entry(key) => format!("{} {text}", String::from_utf8(key).unwrap()),
                What::Other => format!("other {text}"),
            });
            Ok(())
        };
        each_record(&file(content), Path::new(""), from, end, take).unwrap();
        shown
    }

    #[test]
    fn records_are_told_apart() {
        let content = concat!(
            "{\"type\":\"session\",\"id\":\"s\"}   \n",
            "\n",
            "{\"id\":\"a\"}\n",
            "torn {\"x\n",
            "{\"id\":\"\\u0062\"} {\"type\":\"custom\",\"id\":\"c\",\"parentId\":null,\"timestamp\":\"t\"}\n",
            "{\"no\":\"id\"}\n7\n",
        );
        assert_eq!(
            shown(content, 0, content.len() as u64),
            [
                "header {\"type\":\"session\",\"id\":\"s\"}",
                "a {\"id\":\"a\"}",
                "other torn {\"x",
                "b {\"id\":\"\\u0062\"}",
                "c {\"type\":\"custom\",\"id\":\"c\",\"parentId\":null,\"timestamp\":\"t\"}",
                "other {\"no\":\"id\"}",
                "other 7",
            ]
        );
    }

    #[test]
    fn only_the_span_is_read() {
        let content = "{\"id\":\"a\"}\n{\"id\":\"b\"}\n{\"id\":\"c\"}\n";
        assert_eq!(shown(content, 11, 22), ["b {\"id\":\"b\"}"]);
        assert_eq!(shown(content, 22, 22), [] as [&str; 0]);
    }

    #[test]
    fn the_last_whole_line_is_found() {
        let long = "x".repeat(3 * STEP);
        let content = format!("a\n{long}\n{long}");
        let file = file(&content);
        let end = |from| end_of_lines(&file, Path::new(""), from, content.len() as u64).unwrap();
        assert_eq!(end(0), 2 + long.len() as u64 + 1);
        assert_eq!(end(content.len() as u64 - 5), content.len() as u64 - 5);
        assert_eq!(end_of_lines(&file, Path::new(""), 0, 1).unwrap(), 0);
    }
}
