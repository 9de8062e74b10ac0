//! Reading the events of a log, line by line.
//!
//! A defect is fatal when a decodable `turn/end` stands at it or behind it; otherwise everything from
//! the defect on is a tail that a crash has left.

use std::collections::HashSet;
use std::ops::Range;

use super::closers::{EventKind, OpenTurn};
use super::failure::corrupt;
use super::row::{Row, RowKind};
use super::value::{Members, js_string, number, string};
use crate::Result;
use crate::json::Cursor;

/// A line of the log.
#[derive(Debug, Clone)]
pub(super) struct Record {
    /// Where its text is, without the line feed.
    pub(super) span: Range<usize>,
    /// Sequence number of its first event.
    pub(super) seq: u64,
    /// `None` for rows.
    pub(super) event: Option<EventKind>,
}

/// Types of events that the caller knows.
pub type Vocabulary = HashSet<Vec<u8>>;

/// The state of reading.
#[derive(Debug, Default)]
pub(super) struct Scan {
    pub(super) records: Vec<Record>,
    /// Number of events.
    pub(super) events: u64,
    /// Time of the last event.
    pub(super) last_time: f64,
    /// Offset behind the last good line.
    pub(super) committed: usize,
    /// The first event whose type the caller does not know: the type, and where it is.
    pub(super) foreign: Option<(String, u64)>,
    /// Offset up to which lines have been read.
    position: usize,
    line: u64,
    issue: Option<String>,
}

/// What a line stands for.
enum Decoded<'a> {
    Row(Row<'a>),
    Event {
        kind: EventKind,
        seq: Option<&'a [u8]>,
        time: f64,
        /// The type, unless the caller knows it or may ignore it.
        foreign: Option<String>,
    },
}

impl Scan {
    /// For a text whose first line is the header, which ends at this offset.
    pub(super) fn starting_at(offset: usize) -> Self {
        Self {
            committed: offset,
            position: offset,
            ..Self::default()
        }
    }

    /// Reads the complete lines that `text` has beyond those that were read before.
    pub(super) fn advance(&mut self, text: &[u8], vocabulary: Option<&Vocabulary>) -> Result<()> {
        let begin = self.position;
        let new = text.get(begin..).unwrap_or_default();
        for feed in memchr::memchr_iter(b'\n', new) {
            let span = self.position..begin + feed;
            self.position = span.end + 1;
            self.line += 1;
            let line = text.get(span.clone()).unwrap_or_default();
            self.read(line, span, vocabulary)?;
        }
        Ok(())
    }

    fn read(
        &mut self,
        line: &[u8],
        span: Range<usize>,
        vocabulary: Option<&Vocabulary>,
    ) -> Result<()> {
        let Some(decoded) = decode(line, vocabulary) else {
            let number = self.line;
            self.issue.get_or_insert_with(|| {
                format!("corrupt session log: unparsable committed event at line {number}")
            });
            return Ok(());
        };
        if self.issue.is_none() {
            self.issue = self.misplaced(&decoded);
        }
        if let Some(issue) = &self.issue {
            let ends_turn = matches!(
                decoded,
                Decoded::Event {
                    kind: EventKind::TurnEnd,
                    ..
                }
            );
            return if ends_turn {
                Err(corrupt(issue.clone()))
            } else {
                Ok(())
            };
        }
        self.committed = span.end + 1;
        self.take(decoded, span);
        Ok(())
    }

    /// Why the record cannot follow those before it.
    fn misplaced(&self, decoded: &Decoded<'_>) -> Option<String> {
        let expected = self.events;
        let (found, text) = match decoded {
            Decoded::Row(row) => (Some(row.seq0()), None),
            Decoded::Event { seq, .. } => (seq.and_then(number), *seq),
        };
        if found == Some(expected as f64) {
            return None;
        }
        let found = match (text, found) {
            (None, Some(number)) => crate::json::number::to_js_text(number),
            (text, _) => js_string(text),
        };
        let line = self.line;
        Some(format!(
            "corrupt session log: seq gap in committed region at line {line} (expected {expected}, got {found})"
        ))
    }

    fn take(&mut self, decoded: Decoded<'_>, span: Range<usize>) {
        let seq = self.events;
        let (event, count) = match decoded {
            Decoded::Row(row) => {
                self.last_time = row.last_time();
                (None, row.count() as u64)
            }
            Decoded::Event {
                kind,
                time,
                foreign,
                ..
            } => {
                self.last_time = time;
                if let (None, Some(foreign)) = (&self.foreign, foreign) {
                    self.foreign = Some((foreign, seq));
                }
                (Some(kind), 1)
            }
        };
        self.events += count;
        self.records.push(Record { span, seq, event });
    }

    /// What is open after the last event.
    pub(super) fn open_turn(&self, text: &[u8]) -> OpenTurn {
        let mut open = OpenTurn::default();
        for record in &self.records {
            if let Some(kind) = record.event.filter(|kind| *kind != EventKind::Other) {
                open.see(kind, text.get(record.span.clone()).unwrap_or_default());
            }
        }
        open
    }
}

/// `None` if the line is no JSON, `null`, or a malformed row.
fn decode<'a>(line: &'a [u8], vocabulary: Option<&Vocabulary>) -> Option<Decoded<'a>> {
    let Some(members) = Members::of(line, &["type", "seq", "time", "ignorable"]) else {
        return other_value(line);
    };
    let [kind, seq, time, ignorable] = members.values;
    let name = kind.and_then(string);
    let tag = name.filter(|name| name.raw().ends_with(b"-chunks") || name.is_escaped());
    if let Some(kind) = tag.and_then(|tag| RowKind::of_tag(&tag.to_text())) {
        return Row::parse(kind, line).ok().map(Decoded::Row);
    }
    let known = vocabulary.is_none_or(|known| {
        ignorable == Some(b"true")
            || name.is_some_and(|name| known.contains(name.decode().as_ref()))
    });
    Some(Decoded::Event {
        kind: name.map_or(EventKind::Other, |name| EventKind::of_type(&name)),
        seq,
        time: time.and_then(number).unwrap_or_default(),
        foreign: (!known).then(|| js_string(kind)),
    })
}

/// A value that is no object: an event without a sequence number.
fn other_value(line: &[u8]) -> Option<Decoded<'_>> {
    let mut cursor = Cursor::new(line);
    let span = cursor.skip().ok()?;
    let is_null = cursor.slice(span) == b"null";
    (cursor.at_end() && !is_null).then_some(Decoded::Event {
        kind: EventKind::Other,
        seq: None,
        time: 0.0,
        foreign: None,
    })
}
