//! Sessions that are in use: which events come next, and repair before that is known.
//!
//! Calls about one session must come one after the other; the caller sees to that. No lock is held
//! during work on the disk.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::closers::EventKind;
use super::failure;
use super::header::Header;
use super::log::{StoredLog, refuse_retired};
use super::scan::Vocabulary;
use super::store::{Cancel, Store};
use super::value::{Members, js_string, number};
use crate::json::number::to_js_text;
use crate::{Error, Result};

/// Sessions that were looked at and cannot be created any more without a look at the disk.
const REMEMBERED: usize = 5;

/// A session that this process appends to.
#[derive(Debug, Clone)]
struct Session {
    header: Header,
    /// Sequence number of the next event.
    cursor: u64,
    materialised: bool,
    /// Length that the file must be cut to before anything else, after a failed append.
    cut_to: Option<u64>,
}

/// A store with the sessions in use.
pub struct Coordinator {
    store: Store,
    vocabulary: Option<Vocabulary>,
    sessions: Mutex<HashMap<Vec<u8>, Session>>,
    inspected: Mutex<VecDeque<Vec<u8>>>,
}

impl Coordinator {
    /// Of a store; with a vocabulary, logs with other events are refused.
    pub fn new(store: Store, vocabulary: Option<Vocabulary>) -> Self {
        Self {
            store,
            vocabulary,
            sessions: Mutex::default(),
            inspected: Mutex::default(),
        }
    }

    /// The store.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Registers a session that must not exist. Writes nothing.
    pub fn create(&self, header: Header) -> Result<()> {
        let id = header.id.clone();
        let text = String::from_utf8_lossy(&id).into_owned();
        if lock(&self.sessions).contains_key(&id) || lock(&self.inspected).contains(&id) {
            let message = format!("session \"{text}\" already exists in this backend");
            return Err(failure::log(failure::EXISTS, message));
        }
        if self.store.read(&id, None, &Cancel::default())?.is_some() {
            let message = format!(
                "session \"{text}\" already has a persisted log on disk; load/resume it instead of creating"
            );
            return Err(failure::log(failure::EXISTS, message));
        }
        let session = Session {
            header,
            cursor: 0,
            materialised: false,
            cut_to: None,
        };
        lock(&self.sessions).insert(id, session);
        Ok(())
    }

    /// Adds events, given as JSON texts. They are on disk when this returns; after a failure none of
    /// them is, and the same events may be given again.
    pub fn append<T: AsRef<[u8]>>(&self, id: &[u8], events: &[T]) -> Result<()> {
        for event in events {
            let event = event.as_ref();
            let seq = seq_of(event).and_then(number).unwrap_or_default();
            refuse_retired(id, EventKind::of_event(event), seq as u64, event)?;
        }
        if events.is_empty() {
            return Ok(());
        }
        let registered = lock(&self.sessions).get(id).cloned();
        let mut session = match registered {
            Some(session) => session,
            None => self.adopt(id)?,
        };
        check_sequence(id, session.cursor, events)?;
        self.cut_what_is_owed(id)?;
        session.cut_to = None;
        let written = if session.materialised {
            self.store.append(&session.header, events)
        } else {
            self.store.materialise(&session.header, events)
        };
        match &written {
            Ok(()) => {
                session.cursor += events.len() as u64;
                session.materialised = true;
            }
            Err(Error::Rollback { len, .. }) => session.cut_to = Some(*len),
            Err(_) => {}
        }
        lock(&self.sessions).insert(id.to_vec(), session);
        lock(&self.inspected).retain(|other| other != id);
        written
    }

    /// Cuts off what a failed append has left because undoing it failed too.
    fn cut_what_is_owed(&self, id: &[u8]) -> Result<()> {
        let registered = lock(&self.sessions).get(id).cloned();
        let Some((session, len)) = registered.and_then(|it| it.cut_to.map(|len| (it, len))) else {
            return Ok(());
        };
        self.store.truncate(&session.header, len)?;
        if let Some(session) = lock(&self.sessions).get_mut(id) {
            session.cut_to = None;
        }
        Ok(())
    }

    /// Registers a session that is on disk, repaired.
    fn adopt(&self, id: &[u8]) -> Result<Session> {
        self.load(id)?;
        let registered = lock(&self.sessions).get(id).cloned();
        registered.ok_or_else(|| not_found(id))
    }

    /// The balanced log of a session, after torn bytes were cut off and an open turn was closed on
    /// disk. Registers the session.
    pub fn load(&self, id: &[u8]) -> Result<StoredLog> {
        let cancel = Cancel::default();
        self.cut_what_is_owed(id)?;
        loop {
            let mut log = self.balanced(id, &cancel)?;
            if log.torn.is_none() && log.closers().is_empty() {
                let session = Session {
                    header: log.header.clone(),
                    cursor: log.events(),
                    materialised: true,
                    cut_to: None,
                };
                lock(&self.sessions).insert(id.to_vec(), session);
                lock(&self.inspected).retain(|other| other != id);
                return Ok(log);
            }
            if self.store.revision(id, &cancel)?.as_deref() != Some(&log.revision) {
                continue;
            }
            let mut events = log.recovered();
            events.extend_from_slice(log.closers());
            let truncate_to = log.torn.take().map(|torn| torn.truncate_to);
            self.store.repair(&log.header, truncate_to, &events)?;
        }
    }

    /// The same view without touching the disk.
    pub fn inspect(&self, id: &[u8], cancel: &Cancel) -> Result<StoredLog> {
        let log = self.balanced(id, cancel)?;
        let mut inspected = lock(&self.inspected);
        inspected.retain(|other| other != id);
        inspected.push_back(id.to_vec());
        while inspected.len() > REMEMBERED {
            inspected.pop_front();
        }
        Ok(log)
    }

    fn balanced(&self, id: &[u8], cancel: &Cancel) -> Result<StoredLog> {
        let mut log = self
            .store
            .read(id, self.vocabulary.as_ref(), cancel)?
            .ok_or_else(|| not_found(id))?;
        log.check_events().map_err(|error| wrapped(id, error))?;
        log.check_vocabulary()?;
        log.close();
        Ok(log)
    }

    /// The stored events as they are.
    pub fn read_from(&self, id: &[u8], cancel: &Cancel) -> Result<StoredLog> {
        let log = self
            .store
            .read(id, self.vocabulary.as_ref(), cancel)?
            .ok_or_else(|| not_found(id))?;
        log.check_events()?;
        log.check_vocabulary()?;
        Ok(log)
    }
}

/// A log that reads well and must not be used.
fn wrapped(id: &[u8], error: Error) -> Error {
    let id = String::from_utf8_lossy(id);
    let message = format!("stored session \"{id}\" failed validation: Error: {error}");
    failure::because(failure::log(failure::INVALID, message), error)
}

fn not_found(id: &[u8]) -> Error {
    let id = String::from_utf8_lossy(id);
    failure::log(failure::NOT_FOUND, format!("session \"{id}\" not found"))
}

fn seq_of(event: &[u8]) -> Option<&[u8]> {
    Members::of(event, &["seq"]).and_then(|Members { values: [seq], .. }| seq)
}

fn check_sequence<T: AsRef<[u8]>>(id: &[u8], cursor: u64, events: &[T]) -> Result<()> {
    for (at, event) in events.iter().enumerate() {
        let expected = cursor as f64 + at as f64;
        let seq = seq_of(event.as_ref());
        if seq.and_then(number) == Some(expected) {
            continue;
        }
        let id = String::from_utf8_lossy(id);
        let (expected, found) = (to_js_text(expected), js_string(seq));
        return Err(failure::log(
            failure::REFUSED,
            format!(
                "append seq mismatch for \"{id}\": expected {expected} at index {at}, got {found}"
            ),
        ));
    }
    Ok(())
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
#[cfg(unix)]
#[path = "coordinator_tests.rs"]
mod tests;
