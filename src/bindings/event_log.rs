//! Logs of events on disk, for `JsonlSessionPersistence`.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use napi::JsString;
use napi::bindgen_prelude::Env;
use napi_derive::napi;

use super::error::OrThrow;
use super::task::{Promised, run_blocking};
use super::text::{self, JsonText};
use crate::Result;
use crate::eventlog::coordinator::Coordinator;
use crate::eventlog::header::Header;
use crate::eventlog::log::StoredLog;
use crate::eventlog::store::{Cancel, Compression, Store};
use crate::storage::disk::OsDisk;

/// Bytes of JSON that are handed over at once: parsing them takes some milliseconds.
const SLICE: usize = 128 * 1024;

/// Bytes of text that are handed over at once.
const PIECE: usize = 1024 * 1024;

/// Ends reading early.
#[napi]
#[derive(Default)]
pub struct EventLogCancel {
    cancel: Cancel,
}

#[napi]
impl EventLogCancel {
    /// Not cancelled.
    #[napi(constructor, catch_unwind)]
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes reading end soon.
    #[napi(catch_unwind)]
    pub fn cancel(&self) {
        self.cancel.cancel();
    }
}

/// A log that was read. Its records are handed over piece by piece.
#[napi]
pub struct EventLogView {
    log: Arc<StoredLog>,
    next: Arc<AtomicUsize>,
}

impl EventLogView {
    fn new(log: StoredLog, from_seq: u64) -> Self {
        let first = log.first_at(from_seq);
        Self {
            log: Arc::new(log),
            next: Arc::new(AtomicUsize::new(first)),
        }
    }
}

#[napi]
impl EventLogView {
    /// JSON text of the header.
    #[napi(getter, catch_unwind)]
    pub fn header<'env>(&self, env: &'env Env) -> napi::Result<JsString<'env>> {
        text::json_to_js(env, self.log.header.json())
    }

    /// Identity and state of the file.
    #[napi(getter, catch_unwind)]
    pub fn revision(&self) -> String {
        self.log.revision.clone()
    }

    /// Length of the file without a torn tail; `null` if there is none.
    #[napi(getter, catch_unwind)]
    pub fn truncate_to(&self) -> Option<f64> {
        self.log.torn.as_ref().map(|torn| torn.truncate_to as f64)
    }

    /// Sequence number of the first event that was recovered from the torn tail.
    #[napi(getter, catch_unwind)]
    pub fn recovered_from(&self) -> Option<f64> {
        self.log
            .torn
            .as_ref()
            .map(|torn| torn.recovered_from as f64)
    }

    /// Whether there are more records.
    #[napi(getter, catch_unwind)]
    pub fn has_more(&self) -> bool {
        self.next.load(Ordering::Relaxed) < self.log.records()
    }

    /// JSON array of the next records. One call at a time.
    #[napi(catch_unwind, ts_return_type = "Promise<string>")]
    pub fn next(&self) -> napi::Result<Promised<JsonText>> {
        let (log, next) = (Arc::clone(&self.log), Arc::clone(&self.next));
        let work = move || {
            let (json, behind) = log.slice(next.load(Ordering::Relaxed), SLICE);
            next.store(behind, Ordering::Relaxed);
            Ok(JsonText::new(json))
        };
        run_blocking(work, |_, json| Ok(json))
    }
}

/// The text of a log, which is handed over piece by piece.
#[napi]
pub struct EventLogText {
    header: String,
    text: Arc<String>,
    next: Arc<AtomicUsize>,
}

impl EventLogText {
    fn new(header: &Header, text: &[u8]) -> Self {
        Self {
            header: text_of(header.json()),
            text: Arc::new(text_of(text)),
            next: Arc::default(),
        }
    }
}

#[napi]
impl EventLogText {
    /// JSON text of the header.
    #[napi(getter, catch_unwind)]
    pub fn header(&self) -> String {
        self.header.clone()
    }

    /// Whether there is more text.
    #[napi(getter, catch_unwind)]
    pub fn has_more(&self) -> bool {
        self.next.load(Ordering::Relaxed) < self.text.len()
    }

    /// The next piece. One call at a time.
    #[napi(catch_unwind, ts_return_type = "Promise<string>")]
    pub fn next(&self) -> napi::Result<Promised<String>> {
        let (text, next) = (Arc::clone(&self.text), Arc::clone(&self.next));
        let work = move || {
            let start = next.load(Ordering::Relaxed);
            let mut end = text.len().min(start + PIECE);
            while !text.is_char_boundary(end) {
                end += 1;
            }
            next.store(end, Ordering::Relaxed);
            Ok(text.get(start..end).unwrap_or_default().to_owned())
        };
        run_blocking(work, |_, piece| Ok(piece))
    }
}

/// All logs below one directory.
#[napi]
pub struct EventLogs {
    coordinator: Arc<Coordinator>,
}

#[napi]
impl EventLogs {
    /// In `root`, an absolute path.
    #[napi(constructor, catch_unwind)]
    pub fn new(
        env: &Env,
        root: String,
        compressed: bool,
        packing: bool,
        known_types: Option<Vec<String>>,
    ) -> napi::Result<Self> {
        let compression = if compressed {
            Compression::Zstd
        } else {
            Compression::None
        };
        let store = Store::open(PathBuf::from(root), compression, packing, Arc::new(OsDisk));
        let vocabulary = known_types.map(|types| types.into_iter().map(Vec::from).collect());
        Ok(Self {
            coordinator: Arc::new(Coordinator::new(store.or_throw(env)?, vocabulary)),
        })
    }

    /// Where the log of a session is.
    #[napi(catch_unwind)]
    pub fn locate(&self, env: &Env, header: String) -> napi::Result<String> {
        let path = Header::of_caller(header.as_bytes())
            .and_then(|header| self.coordinator.store().locate(&header))
            .or_throw(env)?;
        Ok(path.to_string_lossy().into_owned())
    }

    /// Registers a new session.
    #[napi(catch_unwind, ts_return_type = "Promise<void>")]
    pub fn create(&self, header: String) -> napi::Result<Promised<()>> {
        self.run(move |logs| logs.create(Header::of_caller(header.as_bytes())?))
    }

    /// Adds events, one per line, none of them empty.
    #[napi(catch_unwind, ts_return_type = "Promise<void>")]
    pub fn append(&self, id: JsString<'_>, events: String) -> napi::Result<Promised<()>> {
        let id = text::from_js(id)?;
        self.run(move |logs| logs.append(&id, &lines(&events)))
    }

    /// Opens a session, repaired on disk.
    #[napi(catch_unwind, ts_return_type = "Promise<EventLogView>")]
    pub fn load(&self, id: JsString<'_>) -> napi::Result<Promised<EventLogView>> {
        let id = text::from_js(id)?;
        self.run(move |logs| Ok(EventLogView::new(logs.load(&id)?, 0)))
    }

    /// The same without touching the disk.
    #[napi(catch_unwind, ts_return_type = "Promise<EventLogView>")]
    pub fn inspect(
        &self,
        id: JsString<'_>,
        cancel: &EventLogCancel,
    ) -> napi::Result<Promised<EventLogView>> {
        let (id, cancel) = (text::from_js(id)?, cancel.cancel.clone());
        self.run(move |logs| Ok(EventLogView::new(logs.inspect(&id, &cancel)?, 0)))
    }

    /// The stored events from one on; the first record may hold some before it.
    #[napi(catch_unwind, ts_return_type = "Promise<EventLogView>")]
    pub fn read_from(
        &self,
        id: JsString<'_>,
        from_seq: f64,
        cancel: &EventLogCancel,
    ) -> napi::Result<Promised<EventLogView>> {
        let (id, cancel) = (text::from_js(id)?, cancel.cancel.clone());
        self.run(move |logs| {
            let log = logs.read_from(&id, &cancel)?;
            Ok(EventLogView::new(log, from_seq as u64))
        })
    }

    /// The stored events as they are, or `null`.
    #[napi(catch_unwind, ts_return_type = "Promise<EventLogView | null>")]
    pub fn load_stored(
        &self,
        id: JsString<'_>,
        cancel: &EventLogCancel,
    ) -> napi::Result<Promised<Option<EventLogView>>> {
        let (id, cancel) = (text::from_js(id)?, cancel.cancel.clone());
        self.run(move |logs| {
            let log = logs.store().read(&id, None, &cancel)?;
            Ok(log.map(|log| EventLogView::new(log, 0)))
        })
    }

    /// Identity and state of a log, or `null`.
    #[napi(catch_unwind, ts_return_type = "Promise<string | null>")]
    pub fn revision(
        &self,
        id: JsString<'_>,
        cancel: &EventLogCancel,
    ) -> napi::Result<Promised<Option<String>>> {
        let (id, cancel) = (text::from_js(id)?, cancel.cancel.clone());
        self.run(move |logs| logs.store().revision(&id, &cancel))
    }

    /// The text of a log, or `null`.
    #[napi(catch_unwind, ts_return_type = "Promise<EventLogText | null>")]
    pub fn raw(
        &self,
        id: JsString<'_>,
        cancel: &EventLogCancel,
    ) -> napi::Result<Promised<Option<EventLogText>>> {
        let (id, cancel) = (text::from_js(id)?, cancel.cancel.clone());
        self.run(move |logs| {
            let raw = logs.store().raw(&id, &cancel)?;
            Ok(raw.map(|(header, text)| EventLogText::new(&header, &text)))
        })
    }

    /// JSON array of all headers.
    #[napi(catch_unwind, ts_return_type = "Promise<string>")]
    pub fn list(&self, cancel: &EventLogCancel) -> napi::Result<Promised<JsonText>> {
        let cancel = cancel.cancel.clone();
        self.run(move |logs| {
            let all = logs.store().list(&cancel)?;
            let headers: Vec<_> = all.iter().map(|it| it.header.json()).collect();
            Ok(JsonText::new(array_of(&headers)))
        })
    }

    /// JSON array of all headers with their revisions.
    #[napi(catch_unwind, ts_return_type = "Promise<string>")]
    pub fn list_snapshots(&self, cancel: &EventLogCancel) -> napi::Result<Promised<JsonText>> {
        let cancel = cancel.cancel.clone();
        self.run(move |logs| {
            let mut snapshots = Vec::new();
            for listed in logs.store().list(&cancel)? {
                if let Some(revision) = logs.store().revision_of(&listed)? {
                    let end = format!(r#","revision":"{revision}"}}"#);
                    let header = listed.header.json();
                    snapshots.push([br#"{"header":"#, header, end.as_bytes()].concat());
                }
            }
            Ok(JsonText::new(array_of(&snapshots)))
        })
    }

    /// Stores a batch of events, one per line, as the first or a later one.
    #[napi(catch_unwind, ts_return_type = "Promise<void>")]
    pub fn append_batch(
        &self,
        header: String,
        events: String,
        is_materialised: bool,
    ) -> napi::Result<Promised<()>> {
        self.run(move |logs| {
            let header = Header::of_caller(header.as_bytes())?;
            if is_materialised {
                logs.store().append(&header, &lines(&events))
            } else {
                logs.store().materialise(&header, &lines(&events))
            }
        })
    }

    /// Cuts off a torn tail and adds events, one per line.
    #[napi(catch_unwind, ts_return_type = "Promise<void>")]
    pub fn commit_repair(
        &self,
        header: String,
        truncate_to: Option<f64>,
        events: String,
    ) -> napi::Result<Promised<()>> {
        self.run(move |logs| {
            let header = Header::of_caller(header.as_bytes())?;
            let truncate_to = truncate_to.map(|len| len as u64);
            logs.store().repair(&header, truncate_to, &lines(&events))
        })
    }

    fn run<V>(
        &self,
        work: impl FnOnce(&Coordinator) -> Result<V> + Send + 'static,
    ) -> napi::Result<Promised<V>>
    where
        V: napi::bindgen_prelude::ToNapiValue + napi::bindgen_prelude::TypeName + Send + 'static,
    {
        let coordinator = Arc::clone(&self.coordinator);
        run_blocking(move || work(&coordinator), |_, value| Ok(value))
    }
}

fn lines(events: &str) -> Vec<&str> {
    events.lines().collect()
}

fn text_of(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn array_of<T: AsRef<[u8]>>(items: &[T]) -> Vec<u8> {
    let mut json = vec![b'['];
    for (at, item) in items.iter().enumerate() {
        if at > 0 {
            json.push(b',');
        }
        json.extend_from_slice(item.as_ref());
    }
    json.push(b']');
    json
}
