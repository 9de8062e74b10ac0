//! One ordered writer per session file.
//!
//! Work on a file happens in the order in which it was asked for. Most of it is queued, and served
//! by whoever waits for it, off the JS thread; a small append that finds nothing before it is
//! written at once by the thread that asks, since a `write` into the page cache is cheaper than
//! waking another thread.
//!
//! Lines that could not be written are kept as *backlog*: every later operation begins by writing
//! them, so they reach the file in order as soon as the cause is gone, unless a rewrite that holds
//! them succeeds first.
//!
//! After a sync that failed, nobody knows which bytes are durable, and syncing again may report
//! success for pages that the system has given up. Such a file asks to be rewritten.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

use super::header::{self, Retitled};
use super::outline::Outline;
use super::persist::{may_change, transform};
use super::records::key_in;
use super::rewrite::{Content, rewrite};
use super::succession::{Turn, await_second_look, missing_from};
use super::writer::{Appended, Writer};
use crate::storage::blob::BlobStore;
use crate::storage::disk::Disk;
use crate::{Error, Result};

/// Appends up to this many bytes may be written by the asking thread.
pub const DIRECT_BYTES: usize = 64 << 10;

/// What can be asked of the writer.
pub enum Op {
    /// Append entries; each is one JSON text without line feed.
    Append(Vec<Vec<u8>>),
    /// Append entries whose long strings are still to be put in.
    AppendOutlined(Vec<Outline>),
    /// Replace the whole file.
    Rewrite(Box<Content>),
    /// Replace the header in place, if it fits: JSON text and session id.
    Header {
        /// New JSON text.
        json: Vec<u8>,
        /// Id that the header on disk must have.
        id: Vec<u8>,
    },
    /// Make everything durable.
    Sync,
    /// Give the descriptor back.
    Close,
}

/// How an operation ended, when it did not fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Done {
    /// As asked.
    Done,
    /// The operation cannot be done on what is at the path: the file must be rewritten as a whole.
    /// Lines to be appended are kept as backlog.
    NeedsRewrite,
}

/// The writer of one file. Clones share it.
#[derive(Clone)]
pub struct Journal {
    shared: Arc<Shared>,
}

struct Shared {
    path: PathBuf,
    disk: Arc<dyn Disk>,
    blobs: BlobStore,
    queue: Mutex<VecDeque<Job>>,
    /// Held while an operation runs; jobs are taken from the queue only under this lock, so they
    /// run in order whichever thread serves them.
    state: Mutex<State>,
}

struct Job {
    op: Op,
    answer: Sender<Result<Done>>,
}

struct State {
    writer: Writer,
    disk: Arc<dyn Disk>,
    backlog: Vec<Vec<u8>>,
    /// A sync failed: only a rewrite makes the file durable.
    unsure: bool,
    doubt: Doubt,
}

/// What must be found out before the next line is written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Doubt {
    Nothing,
    /// Whether a rewriter that replaced the file is still at work.
    Unfinished,
    /// Which lines of the backlog are in the file already.
    Displaced,
}

/// A queued operation. It runs when this or a later one is waited for.
pub struct Pending {
    shared: Arc<Shared>,
    answer: Receiver<Result<Done>>,
}

impl Pending {
    /// Serves the queue on this thread until the operation is done. Blocks for as long as the disk
    /// takes.
    pub fn wait(self) -> Result<Done> {
        loop {
            if let Ok(outcome) = self.answer.try_recv() {
                return outcome;
            }
            if !self.shared.serve_one() {
                // Another thread has it.
                let gone = |_| Err(Error::Internal("the operation was dropped".to_owned()));
                return self.answer.recv().unwrap_or_else(gone);
            }
        }
    }
}

impl Journal {
    /// A writer for a path; nothing is opened yet.
    pub fn new(path: PathBuf, disk: Arc<dyn Disk>, blobs: BlobStore) -> Self {
        let state = State {
            writer: Writer::new(Arc::clone(&disk), path.clone()),
            disk: Arc::clone(&disk),
            backlog: Vec::new(),
            unsure: false,
            doubt: Doubt::Nothing,
        };
        let shared = Shared {
            path,
            disk,
            blobs,
            queue: Mutex::default(),
            state: Mutex::new(state),
        };
        Self {
            shared: Arc::new(shared),
        }
    }

    /// The session file.
    pub fn path(&self) -> &Path {
        &self.shared.path
    }

    /// True when the writer holds a descriptor. Waits for a running operation.
    pub fn is_open(&self) -> bool {
        lock(&self.shared.state).writer.is_open()
    }

    /// Gives the descriptor back at once, unless something runs, waits or is left over; tells whether
    /// it did. Never blocks.
    pub fn close_now(&self) -> bool {
        let mut state = match self.shared.state.try_lock() {
            Ok(state) => state,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return false,
        };
        let is_idle = state.backlog.is_empty() && lock(&self.shared.queue).is_empty();
        if is_idle {
            state.writer.close();
        }
        is_idle
    }

    /// Queues an operation. Never blocks.
    pub fn submit(&self, op: Op) -> Pending {
        let (sender, answer) = channel();
        lock(&self.shared.queue).push_back(Job { op, answer: sender });
        Pending {
            shared: Arc::clone(&self.shared),
            answer,
        }
    }

    /// Appends at once if that is quick and in order: small, no transform, nothing before it.
    /// Gives the entries back when they must be queued. May block for one `write`.
    pub fn append_now(&self, entries: Vec<Vec<u8>>) -> Result<Done, (Option<Error>, Vec<Vec<u8>>)> {
        let size: usize = entries.iter().map(|entry| entry.len() + 1).sum();
        if size > DIRECT_BYTES || entries.iter().any(|entry| may_change(entry)) {
            return Err((None, entries));
        }
        let mut state = match self.shared.state.try_lock() {
            Ok(state) => state,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return Err((None, entries)),
        };
        if !state.backlog.is_empty() || !lock(&self.shared.queue).is_empty() {
            return Err((None, entries));
        }
        match state.try_append(entries, &self.shared.blobs) {
            Ok(Some(done)) => Ok(done),
            // What is left to do may take long, and is the backlog's.
            Ok(None) => Err((None, Vec::new())),
            Err(error) => Err((Some(error), Vec::new())),
        }
    }
}

impl Shared {
    /// Runs the next job; false when there is none.
    fn serve_one(&self) -> bool {
        let mut state = lock(&self.state);
        let Some(Job { op, answer }) = lock(&self.queue).pop_front() else {
            return false;
        };
        let outcome = catch_unwind(AssertUnwindSafe(|| self.run(op, &mut state)));
        drop(state);
        let outcome = outcome.unwrap_or_else(|panic| Err(Error::Internal(text_of(&*panic))));
        // Nobody may be waiting any more.
        let _ = answer.send(outcome);
        true
    }

    fn run(&self, op: Op, state: &mut State) -> Result<Done> {
        match op {
            Op::Append(entries) => state.append(entries, &self.blobs),
            Op::AppendOutlined(entries) => {
                let entries = entries.into_iter().map(Outline::into_json).collect();
                state.append(entries, &self.blobs)
            }
            Op::Rewrite(content) => {
                rewrite(&self.disk, &self.path, *content, &self.blobs)?;
                // The new content holds everything that was waiting.
                state.backlog.clear();
                state.unsure = false;
                state.doubt = Doubt::Nothing;
                state.writer.close();
                Ok(Done::Done)
            }
            Op::Header { .. } if state.unsure => Ok(Done::NeedsRewrite),
            Op::Header { json, id } => {
                let json = transform(&json, &self.blobs)?;
                let _turn = Turn::take(&self.disk, &self.disk.resolve_link(&self.path)?)?;
                match header::replace(&self.disk, &self.path, &json, &id)? {
                    Retitled::Done => Ok(Done::Done),
                    Retitled::NeedsRewrite => Ok(Done::NeedsRewrite),
                }
            }
            Op::Sync => {
                let done = state.append(Vec::new(), &self.blobs)?;
                state.sync()?;
                Ok(done)
            }
            Op::Close => {
                let done = state.append(Vec::new(), &self.blobs)?;
                state.writer.close();
                Ok(done)
            }
        }
    }
}

impl State {
    /// Writes the backlog and then these entries; on failure all of them are the backlog. Waits for
    /// a rewriter if it has to know what that has done.
    fn append(&mut self, entries: Vec<Vec<u8>>, blobs: &BlobStore) -> Result<Done> {
        let mut done = self.try_append(entries, blobs)?;
        loop {
            if let Some(done) = done {
                return Ok(done);
            }
            self.settle()?;
            done = self.try_append(Vec::new(), blobs)?;
        }
    }

    /// Like [`append`](State::append); `None` when there is something to be found out first.
    fn try_append(&mut self, entries: Vec<Vec<u8>>, blobs: &BlobStore) -> Result<Option<Done>> {
        self.backlog.extend(entries);
        if self.unsure {
            return Ok(Some(Done::NeedsRewrite));
        }
        if self.backlog.is_empty() {
            return Ok(Some(Done::Done));
        }
        if self.doubt != Doubt::Nothing {
            return Ok(None);
        }
        let mut lines = Vec::with_capacity(self.backlog.iter().map(|entry| entry.len() + 1).sum());
        for entry in &self.backlog {
            lines.extend_from_slice(&transform(entry, blobs)?);
            lines.push(b'\n');
        }
        Ok(match self.writer.append(&lines)? {
            Appended::Written => {
                self.backlog.clear();
                Some(Done::Done)
            }
            Appended::Missing => Some(Done::NeedsRewrite),
            Appended::Displaced => {
                self.doubt = Doubt::Displaced;
                None
            }
            Appended::Unfinished => {
                self.doubt = Doubt::Unfinished;
                None
            }
        })
    }

    /// Finds out what [`Doubt`] is about and completes what a rewriter that died has left.
    fn settle(&mut self) -> Result<()> {
        let path = self.writer.path();
        match self.doubt {
            Doubt::Nothing => {}
            Doubt::Unfinished => await_second_look(&self.disk, path)?,
            Doubt::Displaced => {
                let destination = self.disk.resolve_link(path)?;
                let _turn = Turn::take(&self.disk, &destination)?;
                let keys = self.backlog.iter().filter_map(|entry| key_in(entry));
                let missing = missing_from(&destination, keys.collect())?;
                self.backlog
                    .retain(|entry| key_in(entry).is_none_or(|key| missing.contains(&key)));
            }
        }
        self.doubt = Doubt::Nothing;
        Ok(())
    }

    fn sync(&mut self) -> Result<()> {
        let outcome = self.writer.sync();
        self.unsure |= outcome.is_err();
        outcome
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn text_of(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "panic".to_owned())
}

#[cfg(test)]
#[cfg(unix)]
#[path = "queue_fault_tests.rs"]
mod fault_tests;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::disk::OsDisk;

    fn journal(content: Option<&str>) -> (tempfile::TempDir, Journal) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s.jsonl");
        if let Some(content) = content {
            std::fs::write(&path, content).unwrap();
        }
        let blobs = BlobStore::new(dir.path().join("blobs"));
        let journal = Journal::new(path, Arc::new(OsDisk), blobs);
        (dir, journal)
    }

    fn ask(journal: &Journal, op: Op) -> Result<Done> {
        journal.submit(op).wait()
    }

    fn entry(n: usize) -> Vec<u8> {
        format!("{{\"n\":{n}}}").into_bytes()
    }

    #[test]
    fn order_is_kept_between_direct_and_queued_appends() {
        let (_dir, journal) = journal(Some("h\n"));
        let mut waiting = Vec::new();
        for n in 0..300 {
            let entries = vec![entry(n)];
            let queued = match n % 3 {
                0 => Some(entries),
                _ => match journal.append_now(entries) {
                    Ok(_) => None,
                    Err((_, entries)) => Some(entries),
                },
            };
            if let Some(entries) = queued {
                let pending = journal.submit(Op::Append(entries));
                waiting.push(std::thread::spawn(move || pending.wait().unwrap()));
            }
            if n % 50 == 0 {
                waiting
                    .drain(..)
                    .for_each(|thread| assert_eq!(thread.join().unwrap(), Done::Done));
            }
        }
        ask(&journal, Op::Sync).unwrap();
        let text = std::fs::read_to_string(journal.path()).unwrap();
        let expected: String = (0..300).map(|n| format!("{{\"n\":{n}}}\n")).collect();
        assert_eq!(text, format!("h\n{expected}"));
    }

    #[test]
    fn a_backlog_is_written_when_the_cause_is_gone() {
        let (_dir, journal) = journal(None);
        assert_eq!(
            ask(&journal, Op::Append(vec![entry(1)])).unwrap(),
            Done::NeedsRewrite
        );
        std::fs::create_dir(journal.path()).unwrap();
        assert!(ask(&journal, Op::Append(vec![entry(2)])).is_err());
        std::fs::remove_dir(journal.path()).unwrap();
        std::fs::write(journal.path(), "h\n").unwrap();
        assert!(journal.append_now(vec![entry(3)]).is_err());
        assert_eq!(
            ask(&journal, Op::Append(vec![entry(3)])).unwrap(),
            Done::Done
        );
        let text = std::fs::read_to_string(journal.path()).unwrap();
        assert_eq!(text, "h\n{\"n\":1}\n{\"n\":2}\n{\"n\":3}\n");
    }

    #[test]
    fn closing_at_once_needs_an_idle_writer() {
        let (_dir, journal) = journal(Some("h\n"));
        assert!(journal.append_now(vec![entry(1)]).is_ok());
        assert!(journal.is_open());
        let pending = journal.submit(Op::Append(vec![entry(2)]));
        assert!(!journal.close_now());
        assert!(journal.is_open());
        pending.wait().unwrap();
        assert!(journal.close_now());
        assert!(!journal.is_open());
        assert!(journal.append_now(vec![entry(3)]).is_ok());
    }

    #[test]
    fn waiting_for_a_later_operation_serves_the_earlier_ones() {
        let (_dir, journal) = journal(Some("h\n"));
        let first = journal.submit(Op::Append(vec![entry(1)]));
        ask(&journal, Op::Append(vec![entry(2)])).unwrap();
        assert_eq!(first.wait().unwrap(), Done::Done);
        let text = std::fs::read_to_string(journal.path()).unwrap();
        assert_eq!(text, "h\n{\"n\":1}\n{\"n\":2}\n");
    }
}
