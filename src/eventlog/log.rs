//! A log that was read.

use std::ops::Range;
use std::path::{Path, PathBuf};

use super::closers::EventKind;
use super::failure::{self, because, corrupt};
use super::frame::{self, Decoder};
use super::header::{self, Header};
use super::row::{Row, RowKind};
use super::scan::{Record, Scan, Vocabulary};
use super::store::{Cancel, Compression};
use super::value::{member, string};
use crate::Result;

/// Records of about this many events are handed over at once.
const EVENTS: u64 = 4096;

/// Bytes behind the last record that can be vouched for, left by a crash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TornTail {
    /// Length of the file without them.
    pub truncate_to: u64,
    /// Sequence number of the first event that was recovered from them.
    pub recovered_from: u64,
}

/// A header and the events that can be vouched for.
#[derive(Debug)]
pub struct StoredLog {
    /// The header.
    pub header: Header,
    /// Identity and state of the file.
    pub revision: String,
    /// What a crash has left, if anything.
    pub torn: Option<TornTail>,
    path: PathBuf,
    text: Vec<u8>,
    scan: Scan,
    /// Events beyond what is stored.
    closers: Vec<Vec<u8>>,
}

impl StoredLog {
    /// Reads the bytes of a file.
    pub(super) fn decode(
        compression: Compression,
        bytes: Vec<u8>,
        path: &Path,
        revision: String,
        vocabulary: Option<&Vocabulary>,
        cancel: &Cancel,
    ) -> Result<Self> {
        let mut log = match compression {
            Compression::None => raw(bytes, path, vocabulary)?,
            Compression::Zstd => compressed(&bytes, path, vocabulary, cancel)?,
        };
        log.revision = revision;
        Ok(log)
    }

    /// Number of events, closers included.
    pub fn events(&self) -> u64 {
        self.scan.events + self.closers.len() as u64
    }

    /// Fails if the log has events that are no longer supported, or that the caller does not know.
    pub(super) fn check_events(&self) -> Result<()> {
        for record in &self.scan.records {
            if let Some(kind) = record.event {
                let text = self.text.get(record.span.clone()).unwrap_or_default();
                refuse_retired(&self.header.id, kind, record.seq, text)?;
            }
        }
        Ok(())
    }

    /// Fails if the log has events that the caller does not know.
    pub(super) fn check_vocabulary(&self) -> Result<()> {
        let Some((kind, seq)) = &self.scan.foreign else {
            return Ok(());
        };
        let id = String::from_utf8_lossy(&self.header.id);
        let why = format!(
            "session \"{id}\" contains event type \"{kind}\" (seq {seq}) unknown to this harness and not marked ignorable; refusing to interpret the log — it was likely written by a newer harness"
        );
        Err(failure::unsupported(&why, &self.path))
    }

    /// Adds the events that close an open turn. True if there were any.
    pub(super) fn close(&mut self) -> bool {
        let open = self.scan.open_turn(&self.text);
        self.closers = open.closers(self.scan.events, self.scan.last_time);
        !self.closers.is_empty()
    }

    /// The closers that were added.
    pub(super) fn closers(&self) -> &[Vec<u8>] {
        &self.closers
    }

    /// The events that were recovered from a torn tail, as texts.
    pub(super) fn recovered(&self) -> Vec<Vec<u8>> {
        let Some(torn) = &self.torn else {
            return Vec::new();
        };
        let first = self.first_at(torn.recovered_from);
        let records = self.scan.records.get(first..).unwrap_or_default();
        records
            .iter()
            .flat_map(|record| {
                let text = self.text.get(record.span.clone()).unwrap_or_default();
                expanded(record, text)
            })
            .collect()
    }

    /// Number of storage records, each closer counting as one.
    pub fn records(&self) -> usize {
        self.scan.records.len() + self.closers.len()
    }

    /// Position of the record that holds an event.
    pub fn first_at(&self, seq: u64) -> usize {
        let behind = self
            .scan
            .records
            .partition_point(|record| record.seq <= seq);
        if seq < self.scan.events {
            behind.saturating_sub(1)
        } else {
            behind
        }
    }

    /// JSON array of the records from `first` on, of about `size` bytes; and the position of the first
    /// record that is not in it. Rows are as they are stored.
    pub fn slice(&self, first: usize, size: usize) -> (Vec<u8>, usize) {
        let mut json = vec![b'['];
        let mut next = first;
        let begin = self.seq_at(first);
        while next < self.records()
            && json.len() < size
            && self.seq_at(next).saturating_sub(begin) < EVENTS
        {
            if next > first {
                json.push(b',');
            }
            json.extend_from_slice(self.record(next));
            next += 1;
        }
        json.push(b']');
        (json, next)
    }

    /// Sequence number of the first event of a record.
    fn seq_at(&self, at: usize) -> u64 {
        let behind = at.saturating_sub(self.scan.records.len()) as u64;
        let record = self.scan.records.get(at);
        record.map_or(self.scan.events + behind, |record| record.seq)
    }

    fn record(&self, at: usize) -> &[u8] {
        match self.scan.records.get(at) {
            Some(record) => self.text.get(record.span.clone()).unwrap_or_default(),
            None => self
                .closers
                .get(at - self.scan.records.len())
                .map_or(&[], Vec::as_slice),
        }
    }
}

/// Fails for events that are no longer supported.
pub(super) fn refuse_retired(id: &[u8], kind: EventKind, seq: u64, event: &[u8]) -> Result<()> {
    let what = match kind {
        EventKind::HeaderDelta => "request/header-delta event",
        EventKind::ModeSet => "mode/set event",
        EventKind::RequestHeader => {
            let reason = member(event, "data").and_then(|data| member(data, "reason"));
            if !reason.and_then(string).is_some_and(|it| it.is("fallback")) {
                return Ok(());
            }
            "request/header reason \"fallback\""
        }
        _ => return Ok(()),
    };
    let id = String::from_utf8_lossy(id);
    Err(failure::log(
        failure::REFUSED,
        format!("session \"{id}\" contains unsupported legacy {what} at seq {seq}"),
    ))
}

fn expanded(record: &Record, text: &[u8]) -> Vec<Vec<u8>> {
    if record.event.is_some() {
        return vec![text.to_vec()];
    }
    let kind = member(text, "type")
        .and_then(string)
        .and_then(|tag| RowKind::of_tag(&tag.to_text()));
    let row = kind.and_then(|kind| Row::parse(kind, text).ok());
    row.map(|row| row.expand()).unwrap_or_default()
}

fn raw(bytes: Vec<u8>, path: &Path, vocabulary: Option<&Vocabulary>) -> Result<StoredLog> {
    let end = memchr::memchr(b'\n', &bytes).map_or(bytes.len(), |at| at + 1);
    let (line, _) = bytes.split_at(end);
    let header = header::parse(line, path)?;
    let mut scan = Scan::starting_at(end);
    scan.advance(&bytes, vocabulary)?;
    let torn = (scan.committed < bytes.len()).then_some(TornTail {
        truncate_to: scan.committed as u64,
        recovered_from: scan.events,
    });
    Ok(StoredLog {
        header,
        revision: String::new(),
        torn,
        path: path.to_path_buf(),
        text: bytes,
        scan,
        closers: Vec::new(),
    })
}

fn compressed(
    bytes: &[u8],
    path: &Path,
    vocabulary: Option<&Vocabulary>,
    cancel: &Cancel,
) -> Result<StoredLog> {
    let frames = frame::frames(bytes)?;
    let Some((first, rest)) = frames.complete.split_first() else {
        return Err(corrupt("empty or header-less Zstandard session log"));
    };
    let line = decode_frames(bytes, std::slice::from_ref(first), cancel)?;
    check_header_frame(&line)?;
    let header = header::parse(&line, path)?;
    let mut text = decode_frames(bytes, rest, cancel)?;
    let mut scan = Scan::default();
    scan.advance(&text, vocabulary)?;
    if scan.committed != text.len() {
        return Err(corrupt(
            "corrupt Zstandard session log: complete frame contains a torn JSONL record",
        ));
    }
    let mut torn = None;
    if let Some(start) = frames.torn {
        torn = Some(TornTail {
            truncate_to: start as u64,
            recovered_from: scan.events,
        });
        let recovered = Decoder::new()?.recover(bytes.get(start..).unwrap_or_default());
        text.extend_from_slice(&recovered);
        scan.advance(&text, vocabulary)?;
    }
    Ok(StoredLog {
        header,
        revision: String::new(),
        torn,
        path: path.to_path_buf(),
        text,
        scan,
        closers: Vec::new(),
    })
}

/// The text of complete frames.
pub(super) fn decode_frames(
    bytes: &[u8],
    frames: &[Range<usize>],
    cancel: &Cancel,
) -> Result<Vec<u8>> {
    let mut decoder = Decoder::new()?;
    let mut text = Vec::new();
    for frame in frames {
        cancel.check()?;
        let content = bytes.get(frame.clone()).unwrap_or_default();
        decoder.decode(content, &mut text).map_err(|error| {
            let start = frame.start;
            let message =
                format!("corrupt Zstandard session log: frame at byte {start} failed validation");
            because(corrupt(message), error)
        })?;
    }
    Ok(text)
}

/// Fails unless a text is one line.
pub(super) fn check_header_frame(text: &[u8]) -> Result<()> {
    match memchr::memchr(b'\n', text) {
        Some(at) if at + 1 == text.len() => Ok(()),
        _ => Err(corrupt(
            "corrupt Zstandard session log: first frame is not exactly one header line",
        )),
    }
}
