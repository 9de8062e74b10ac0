//! `LoadedSession`: a session that was read and waits to be taken over.

use std::cell::{Cell, RefCell};
use std::path::PathBuf;
use std::sync::Arc;

use napi_derive::napi;

use super::SNOWFLAKES;
use super::task::{Promised, run_blocking};
use crate::journal::load::{self, IdSource, LoadReport, Loaded, Outcome};
use crate::journal::succession;
use crate::storage::disk::{Disk, OsDisk};

/// Numbers of a load, as `getLoadReport` gives them.
#[napi(object, object_from_js = false)]
pub struct JsLoadReport {
    /// Entries in the tree.
    pub entries: u32,
    /// Lines or parts of lines that are no entries.
    pub skipped_lines: u32,
    /// Their bytes.
    pub skipped_bytes: f64,
    /// Entries found on damaged lines.
    pub recovered_entries: u32,
    /// The header had to be made.
    pub header_salvaged: bool,
    /// The file does not end with a line feed.
    pub torn_tail: bool,
}

/// The outcome of reading a session.
#[napi]
pub struct LoadedSession {
    session: RefCell<Option<Loaded>>,
    outcome: &'static str,
    header: Option<String>,
    first_timestamp: Option<String>,
    id_from_name: Option<String>,
    report: Cell<LoadReport>,
    migrated: bool,
}

impl LoadedSession {
    pub(super) fn from_file(path: PathBuf, now: f64) -> napi::Result<Promised<Self>> {
        run_blocking(
            move || {
                let ids = IdSource {
                    snowflakes: &SNOWFLAKES,
                    now,
                };
                let disk: Arc<dyn Disk> = Arc::new(OsDisk);
                // What cannot be completed now, because nothing can be written, is for a later time.
                let _ = succession::recover(&disk, &path);
                let outcome = load::load_file(&path, &ids)?;
                Ok((outcome, path))
            },
            |_, (outcome, path)| Ok(Self::new(outcome, &path)),
        )
    }

    /// Reads a file and touches nothing, not even what others left behind.
    pub(super) fn only_read(path: PathBuf, now: f64) -> napi::Result<Promised<Self>> {
        run_blocking(
            move || {
                let ids = IdSource {
                    snowflakes: &SNOWFLAKES,
                    now,
                };
                Ok((load::load_file(&path, &ids)?, path))
            },
            |_, (outcome, path)| Ok(Self::new(outcome, &path)),
        )
    }

    pub(super) fn from_text(text: Vec<u8>, path: PathBuf, now: f64) -> crate::Result<Self> {
        let ids = IdSource {
            snowflakes: &SNOWFLAKES,
            now,
        };
        let outcome = load::load_bytes(text.into(), &path, &ids)?;
        Ok(Self::new(outcome, &path))
    }

    fn new(outcome: Outcome, path: &std::path::Path) -> Self {
        let (name, session) = match outcome {
            Outcome::Missing => ("missing", None),
            Outcome::Blank => ("blank", None),
            Outcome::NotASession => ("invalid", None),
            Outcome::Session(session) => ("session", Some(*session)),
        };
        let lossy = |bytes: &Vec<u8>| String::from_utf8_lossy(bytes).into_owned();
        Self {
            outcome: name,
            header: session
                .as_ref()
                .and_then(|session| session.header.as_ref())
                .map(lossy),
            first_timestamp: session
                .as_ref()
                .and_then(|session| session.first_timestamp.clone()),
            id_from_name: load::id_from_name(path),
            report: Cell::new(
                session
                    .as_ref()
                    .map_or_else(LoadReport::default, |s| s.report),
            ),
            migrated: session.as_ref().is_some_and(|session| session.migrated),
            session: RefCell::new(session),
        }
    }

    pub(super) fn take(&self) -> Option<Loaded> {
        self.session.take()
    }
}

#[napi]
impl LoadedSession {
    /// `missing`, `blank`, `invalid` or `session`.
    #[napi(getter, catch_unwind)]
    pub fn outcome(&self) -> &'static str {
        self.outcome
    }

    /// JSON text of the header; `null` when it is damaged.
    #[napi(getter, catch_unwind)]
    pub fn header(&self) -> Option<String> {
        self.header.clone()
    }

    /// Timestamp of the first entry.
    #[napi(getter, catch_unwind)]
    pub fn first_timestamp(&self) -> Option<String> {
        self.first_timestamp.clone()
    }

    /// The session id that the file's name carries.
    #[napi(getter, catch_unwind)]
    pub fn id_from_name(&self) -> Option<String> {
        self.id_from_name.clone()
    }

    /// The file is of an older version.
    #[napi(getter, catch_unwind)]
    pub fn migrated(&self) -> bool {
        self.migrated
    }

    /// What reading met.
    #[napi(getter, catch_unwind)]
    pub fn report(&self) -> JsLoadReport {
        let report = self.report.get();
        JsLoadReport {
            entries: report.entries,
            skipped_lines: report.skipped_lines,
            skipped_bytes: report.skipped_bytes as f64,
            recovered_entries: report.recovered_entries,
            header_salvaged: report.header_salvaged,
            torn_tail: report.torn_tail,
        }
    }
}
