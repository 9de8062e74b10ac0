//! One ordered writer per session file.
//!
//! Work on a file happens in the order in which it was asked for. Most of it is queued and served
//! by a worker thread; a small append that finds nothing before it is written at once by the thread
//! that asks, since a `write` into the page cache is cheaper than waking another thread.
//!
//! Lines that could not be written are kept as *backlog*: every later operation begins by writing
//! them, so they reach the file in order as soon as the cause is gone, unless a rewrite that holds
//! them succeeds first.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

use super::header::{self, Retitled};
use super::persist::{may_change, transform};
use super::rewrite::{Content, rewrite};
use super::writer::{Appended, Writer};
use crate::storage::blob::BlobStore;
use crate::storage::disk::Disk;
use crate::{Error, Result};

/// Appends up to this many bytes may be written by the asking thread.
const DIRECT_BYTES: usize = 64 << 10;

/// What can be asked of the writer.
pub enum Op {
    /// Append entries; each is one JSON text without line feed.
    Append(Vec<Vec<u8>>),
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

/// Where the answer goes.
pub type Reply = Box<dyn FnOnce(Result<Done>) + Send>;
/// How to get a worker thread.
pub type Spawn = fn(Box<dyn FnOnce() + Send>);

/// The writer of one file. Clones share it.
#[derive(Clone)]
pub struct Journal {
    shared: Arc<Shared>,
    spawn: Spawn,
}

struct Shared {
    path: PathBuf,
    disk: Arc<dyn Disk>,
    blobs: BlobStore,
    queue: Mutex<Queue>,
    /// Held while an operation runs; jobs are taken from the queue only under this lock, so they
    /// run in order whichever thread serves them.
    state: Mutex<State>,
}

#[derive(Default)]
struct Queue {
    jobs: VecDeque<(Op, Reply)>,
    served: bool,
}

struct State {
    writer: Writer,
    backlog: Vec<Vec<u8>>,
}

impl Journal {
    /// A writer for a path; nothing is opened yet.
    pub fn new(path: PathBuf, disk: Arc<dyn Disk>, blobs: BlobStore, spawn: Spawn) -> Self {
        let state = State {
            writer: Writer::new(Arc::clone(&disk), path.clone()),
            backlog: Vec::new(),
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
            spawn,
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

    /// Queues an operation. Never blocks.
    pub fn submit(&self, op: Op, reply: Reply) {
        let mut queue = lock(&self.shared.queue);
        queue.jobs.push_back((op, reply));
        if !queue.served {
            queue.served = true;
            let shared = Arc::clone(&self.shared);
            drop(queue);
            (self.spawn)(Box::new(move || shared.serve(true)));
        }
    }

    /// Appends at once if that is quick and in order: small, no transform, nothing before it.
    /// Gives the entries back when they must be queued. May block for one `write`.
    pub fn append_now(&self, entries: Vec<Vec<u8>>) -> Result<Done, (Option<Error>, Vec<Vec<u8>>)> {
        let size: usize = entries.iter().map(|entry| entry.len() + 1).sum();
        if size > DIRECT_BYTES || entries.iter().any(|entry| may_change(entry)) {
            return Err((None, entries));
        }
        {
            let queue = lock(&self.shared.queue);
            if queue.served || !queue.jobs.is_empty() {
                return Err((None, entries));
            }
        }
        let mut state = match self.shared.state.try_lock() {
            Ok(state) => state,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return Err((None, entries)),
        };
        if !state.backlog.is_empty() {
            return Err((None, entries));
        }
        state
            .append(entries, &self.shared.blobs)
            .map_err(|error| (Some(error), Vec::new()))
    }

    /// Serves everything that is queued on this thread; for the end of a process, when worker
    /// threads may never run again. Blocks for as long as the disk takes.
    pub fn drain(&self) {
        self.shared.serve(false);
    }
}

impl Shared {
    /// Runs jobs until none is left. `worker` tells that the queue counts on this thread.
    fn serve(&self, worker: bool) {
        loop {
            let mut state = lock(&self.state);
            let mut queue = lock(&self.queue);
            let Some((op, reply)) = queue.jobs.pop_front() else {
                if worker {
                    queue.served = false;
                }
                return;
            };
            drop(queue);
            let outcome = catch_unwind(AssertUnwindSafe(|| self.run(op, &mut state)));
            drop(state);
            let outcome = outcome.unwrap_or_else(|panic| Err(Error::Internal(text_of(&*panic))));
            reply(outcome);
        }
    }

    fn run(&self, op: Op, state: &mut State) -> Result<Done> {
        match op {
            Op::Append(entries) => state.append(entries, &self.blobs),
            Op::Rewrite(content) => {
                rewrite(&self.disk, &self.path, *content, &self.blobs)?;
                // The new content holds everything that was waiting.
                state.backlog.clear();
                state.writer.close();
                Ok(Done::Done)
            }
            Op::Header { json, id } => {
                let json = transform(&json, &self.blobs)?;
                match header::replace(&self.disk, &self.path, &json, &id)? {
                    Retitled::Done => Ok(Done::Done),
                    Retitled::NeedsRewrite => Ok(Done::NeedsRewrite),
                }
            }
            Op::Sync => {
                let done = state.append(Vec::new(), &self.blobs)?;
                state.writer.sync()?;
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
    /// Writes the backlog and then these entries; on failure all of them are the backlog.
    fn append(&mut self, entries: Vec<Vec<u8>>, blobs: &BlobStore) -> Result<Done> {
        self.backlog.extend(entries);
        if self.backlog.is_empty() {
            return Ok(Done::Done);
        }
        let mut lines = Vec::with_capacity(self.backlog.iter().map(|entry| entry.len() + 1).sum());
        for entry in &self.backlog {
            lines.extend_from_slice(&transform(entry, blobs)?);
            lines.push(b'\n');
        }
        match self.writer.append(&lines)? {
            Appended::Written => {
                self.backlog.clear();
                Ok(Done::Done)
            }
            Appended::Missing => Ok(Done::NeedsRewrite),
        }
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
mod tests {
    use super::*;
    use crate::storage::disk::OsDisk;
    use std::sync::mpsc;

    fn journal(content: Option<&str>) -> (tempfile::TempDir, Journal) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s.jsonl");
        if let Some(content) = content {
            std::fs::write(&path, content).unwrap();
        }
        let blobs = BlobStore::new(dir.path().join("blobs"));
        let journal = Journal::new(path, Arc::new(OsDisk), blobs, |work| {
            std::thread::spawn(work);
        });
        (dir, journal)
    }

    fn ask(journal: &Journal, op: Op) -> Result<Done> {
        let (sender, receiver) = mpsc::channel();
        journal.submit(op, Box::new(move |outcome| sender.send(outcome).unwrap()));
        receiver.recv().unwrap()
    }

    fn entry(n: usize) -> Vec<u8> {
        format!("{{\"n\":{n}}}").into_bytes()
    }

    #[test]
    fn order_is_kept_between_direct_and_queued_appends() {
        let (_dir, journal) = journal(Some("h\n"));
        let (sender, receiver) = mpsc::channel();
        for n in 0..300 {
            if n % 3 == 0 {
                let sender = sender.clone();
                let reply: Reply = Box::new(move |outcome| sender.send(outcome.is_ok()).unwrap());
                journal.submit(Op::Append(vec![entry(n)]), reply);
            } else if let Err((None, entries)) = journal.append_now(vec![entry(n)]) {
                journal.submit(
                    Op::Append(entries),
                    Box::new(|outcome| assert!(outcome.is_ok())),
                );
            }
        }
        ask(&journal, Op::Sync).unwrap();
        assert_eq!(receiver.try_iter().filter(|ok| *ok).count(), 100);
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
    fn draining_serves_the_queue_on_this_thread() {
        let (_dir, mut journal) = journal(Some("h\n"));
        journal.spawn = |_| {};
        journal.submit(
            Op::Append(vec![entry(1)]),
            Box::new(|outcome| assert!(outcome.is_ok())),
        );
        journal.drain();
        assert!(
            std::fs::read_to_string(journal.path())
                .unwrap()
                .ends_with("{\"n\":1}\n")
        );
    }
}
