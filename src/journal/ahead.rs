//! Reads a long file ahead of the loader, on several threads.
//!
//! The file is cut into chunks. A line belongs to the chunk in which it begins; its values are judged
//! by whichever thread takes the chunk, and handed over in the order of the file. Only the usual case
//! is treated here, one value on each line: a chunk with anything else is judged up to there, and the
//! loader reads on by itself, with [`Lines`](super::lines::Lines), which knows all cases.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::num::NonZero;
use std::ops::Range;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use memchr::memchr;

use super::head;
use super::verdict::{Arena, Verdict, judge};
use crate::json::Cursor;
use crate::storage::disk::read_at;

/// Bytes of a chunk: what a thread works on fits into its cache, and costs few page faults.
pub const CHUNK: u64 = 128 << 10;
/// Shortest file that is worth starting threads for.
const WORTH_IT: u64 = 512 << 10;
/// How much more is read at first for a line that ends in a later chunk.
const MORE: usize = 8 << 10;
/// Longest part of a line beyond its chunk that is read here.
const LONGEST_TAIL: usize = 16 << 20;
/// How many chunks may wait to be handed over.
const WAITING: u64 = 128;
/// More threads than this would wait for the one that takes the results.
const MOST_THREADS: usize = 8;

/// A value with its place.
pub struct Judged {
    /// Offset in the file of its first byte.
    pub offset: u64,
    /// Length in bytes.
    pub len: usize,
    /// What it is.
    pub verdict: Verdict,
}

/// What a chunk holds.
#[derive(Default)]
pub struct Batch {
    /// Where its first line begins. `None` when it could not be read here.
    pub begin: Option<u64>,
    /// The values of its lines, in order.
    pub values: Vec<Judged>,
    /// What the verdicts refer to.
    pub arena: Arena,
    /// Behind its last line, or behind the lines that were judged.
    pub end: u64,
    /// Lines that begin before this offset and behind `end` are left to the loader.
    pub limit: u64,
}

/// The chunks of a file and who works on them.
struct Queue<'a> {
    file: &'a File,
    /// What is cut into chunks.
    span: Range<u64>,
    /// Bytes of a chunk.
    size: u64,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// The next chunk to be judged.
    next: u64,
    /// The next chunk to be handed over.
    wanted: u64,
    ready: HashMap<u64, io::Result<Batch>>,
    closed: bool,
}

/// Whether a file of this length is worth several threads.
pub fn is_worth_it(length: u64) -> bool {
    length >= WORTH_IT
}

/// Reads the lines in a span of a file, which begins with a line, and calls `take` with chunk after
/// chunk of `size` bytes. Blocking; the threads have ended when it returns. An error of `take` ends
/// the reading.
pub fn read_ahead(
    file: &File,
    span: Range<u64>,
    size: u64,
    mut take: impl FnMut(Batch) -> io::Result<()>,
) -> io::Result<()> {
    let queue = Queue {
        file,
        span,
        size,
        state: Mutex::default(),
        changed: Condvar::new(),
    };
    let threads = thread::available_parallelism()
        .map_or(1, NonZero::get)
        .min(MOST_THREADS);
    thread::scope(|scope| {
        // Also when `take` fails or panics: the scope waits for its threads.
        let _closing = Closing(&queue);
        for _ in 1..threads {
            // Threads that the system refuses are done without.
            let _ = thread::Builder::new().spawn_scoped(scope, || queue.work());
        }
        let mut buffer = Vec::new();
        for wanted in 0..queue.chunks() {
            take(queue.hand_over(wanted, &mut buffer)?)?;
        }
        Ok(())
    })
}

struct Closing<'a, 'b>(&'a Queue<'b>);

impl Drop for Closing<'_, '_> {
    fn drop(&mut self) {
        self.0.lock().closed = true;
        self.0.changed.notify_all();
    }
}

impl Queue<'_> {
    fn chunks(&self) -> u64 {
        let length = self.span.end.saturating_sub(self.span.start);
        length.div_ceil(self.size)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a chunk to be judged, unless too many wait already.
    fn claim(&self, state: &mut State) -> Option<u64> {
        let free = state.next < self.chunks() && state.next < state.wanted + WAITING;
        free.then(|| {
            state.next += 1;
            state.next - 1
        })
    }

    /// What a helping thread does.
    fn work(&self) {
        let mut buffer = Vec::new();
        let mut state = self.lock();
        while !state.closed && state.next < self.chunks() {
            let Some(chunk) = self.claim(&mut state) else {
                state = self.wait(state);
                continue;
            };
            drop(state);
            self.finish(chunk, &mut buffer);
            state = self.lock();
        }
    }

    /// The result of a chunk. The calling thread judges chunks itself as long as it would wait.
    fn hand_over(&self, wanted: u64, buffer: &mut Vec<u8>) -> io::Result<Batch> {
        let mut state = self.lock();
        state.wanted = wanted;
        self.changed.notify_all();
        loop {
            if let Some(batch) = state.ready.remove(&wanted) {
                return batch;
            }
            let Some(chunk) = self.claim(&mut state) else {
                state = self.wait(state);
                continue;
            };
            drop(state);
            if chunk == wanted {
                return self.judge(chunk, buffer);
            }
            self.finish(chunk, buffer);
            state = self.lock();
        }
    }

    fn wait<'s>(&self, state: MutexGuard<'s, State>) -> MutexGuard<'s, State> {
        self.changed
            .wait(state)
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Judges a chunk and lays the result down. If that panics there is one nevertheless, or the
    /// loader would wait for ever.
    fn finish(&self, chunk: u64, buffer: &mut Vec<u8>) {
        let judged =
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| self.judge(chunk, buffer)));
        let batch = judged.unwrap_or_else(|_| Ok(self.unread(chunk)));
        self.lock().ready.insert(chunk, batch);
        self.changed.notify_all();
    }

    /// A chunk that is left to the loader.
    fn unread(&self, chunk: u64) -> Batch {
        Batch {
            limit: self.limit(chunk),
            ..Batch::default()
        }
    }

    fn limit(&self, chunk: u64) -> u64 {
        (self.span.start + (chunk + 1) * self.size).min(self.span.end)
    }

    fn judge(&self, chunk: u64, buffer: &mut Vec<u8>) -> io::Result<Batch> {
        let mut batch = self.unread(chunk);
        // With the byte before, which tells whether a line begins with the chunk.
        let base = self.span.start + (chunk * self.size).saturating_sub(1);
        let mut window = Window {
            file: self.file,
            length: self.span.end,
            base,
            buffer,
            filled: 0,
        };
        window.read((batch.limit - base) as usize)?;
        let mut at = match chunk {
            0 => 0,
            // A chunk in which no line begins belongs to the one before it, however long that line is.
            _ => match memchr(
                b'\n',
                window.buffer.get(..window.filled).unwrap_or_default(),
            ) {
                Some(end) => end + 1,
                None => return Ok(batch),
            },
        };
        batch.begin = Some(base + at as u64);
        batch.end = base + at as u64;
        while base + (at as u64) < batch.limit {
            // An unterminated last line is for the loader.
            let Some(end) = window.line_end(at)? else {
                break;
            };
            let line = window.buffer.get(..end).unwrap_or_default();
            if !judge_line(line, at, base, &mut batch) {
                break;
            }
            at = end + 1;
            batch.end = base + at as u64;
        }
        Ok(batch)
    }
}

/// The part of the file around a chunk.
struct Window<'a> {
    file: &'a File,
    length: u64,
    /// Offset in the file of the first byte.
    base: u64,
    buffer: &'a mut Vec<u8>,
    filled: usize,
}

impl Window<'_> {
    /// Reads up to so many more bytes; how many there were.
    fn read(&mut self, count: usize) -> io::Result<usize> {
        let offset = self.base + self.filled as u64;
        let rest = self.length.saturating_sub(offset);
        let count = usize::try_from(rest).unwrap_or(count).min(count);
        let end = self.filled + count;
        if self.buffer.len() < end {
            self.buffer.try_reserve_exact(end - self.buffer.len())?;
            self.buffer.resize(end, 0);
        }
        let room = self.buffer.get_mut(self.filled..end).unwrap_or_default();
        let count = read_at(self.file, offset, room)?;
        self.filled += count;
        Ok(count)
    }

    /// Where the line that `from` is in ends; `None` when it does not, or only far behind the chunk.
    fn line_end(&mut self, from: usize) -> io::Result<Option<usize>> {
        let chunk = self.filled;
        let mut searched = from;
        let mut more = MORE;
        loop {
            let unread = self.buffer.get(searched..self.filled).unwrap_or_default();
            if let Some(at) = memchr(b'\n', unread) {
                return Ok(Some(searched + at));
            }
            searched = self.filled;
            if self.filled - chunk > LONGEST_TAIL || self.read(more)? == 0 {
                return Ok(None);
            }
            more *= 2;
        }
    }
}

/// Judges the line from `at` to the end of `text`; false when it is neither blank nor one value.
/// `base` is the offset of `text` in its file.
pub fn judge_line(text: &[u8], at: usize, base: u64, batch: &mut Batch) -> bool {
    let mut cursor = Cursor::at(text, at);
    if cursor.at_end() {
        return true;
    }
    let start = cursor.pos();
    let Ok(head) = head::read(&mut cursor) else {
        return false;
    };
    let end = cursor.pos();
    if !cursor.at_end() {
        return false;
    }
    let value = cursor.slice(start..end);
    batch.values.push(Judged {
        offset: base + start as u64,
        len: end - start,
        verdict: judge(&head, value, &mut batch.arena),
    });
    true
}
