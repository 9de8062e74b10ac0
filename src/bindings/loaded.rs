//! `LoadedSession`: a session that was read and waits to be taken over.

use std::cell::{Cell, RefCell};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use napi_derive::napi;

use super::SNOWFLAKES;
use super::task::{Promised, run_blocking};
use crate::Result;
use crate::background::Background;
use crate::journal::load::{self, IdSource, LoadReport, Loaded, Outcome};
use crate::journal::succession;
use crate::journal::tail::{self, Opened, Reach, Tail};
use crate::journal::texts::TextTable;
use crate::session::Tree;
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

/// When and how far the end of a file is read before the rest, in bytes; what is left out is as usual.
#[napi(object, object_to_js = false)]
pub struct JsReach {
    /// Files shorter than this are read as a whole.
    pub shortest_file: Option<f64>,
    /// What is tried first.
    pub first_window: Option<f64>,
    /// What is tried last.
    pub longest_window: Option<f64>,
}

impl From<JsReach> for Reach {
    fn from(reach: JsReach) -> Self {
        let usual = Self::default();
        let bytes = |given: Option<f64>, usual| given.map_or(usual, |bytes| bytes as u64);
        Self {
            shortest_file: bytes(reach.shortest_file, usual.shortest_file),
            first_window: bytes(reach.first_window, usual.first_window),
            longest_window: bytes(reach.longest_window, usual.longest_window),
        }
    }
}

/// Reads a whole session of which the end is known.
type Rest = Arc<Background<Loaded>>;

/// The outcome of reading a session.
#[napi]
pub struct LoadedSession {
    session: RefCell<Option<Loaded>>,
    /// When only the last entries were read.
    rest: RefCell<Option<Rest>>,
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
                recover(&path);
                let outcome = load::load_file(&path, &ids(now))?;
                Ok((outcome, path))
            },
            |_, (outcome, path)| Ok(Self::new(outcome, &path)),
        )
    }

    /// Reads a file and touches nothing, not even what others left behind.
    pub(super) fn only_read(path: PathBuf, now: f64) -> napi::Result<Promised<Self>> {
        run_blocking(
            move || Ok((load::load_file(&path, &ids(now))?, path)),
            |_, (outcome, path)| Ok(Self::new(outcome, &path)),
        )
    }

    pub(super) fn from_end_of_file(
        path: PathBuf,
        now: f64,
        reach: Reach,
    ) -> napi::Result<Promised<Self>> {
        run_blocking(
            move || {
                recover(&path);
                let opened = tail::open_file(&path, &ids(now), reach)?;
                Ok((opened, path))
            },
            move |_, (opened, path)| {
                Ok(match opened {
                    Opened::Whole(outcome) => Self::new(outcome, &path),
                    Opened::Tail(tail) => Self::from_tail(*tail, &path, now),
                })
            },
        )
    }

    pub(super) fn from_text(text: Vec<u8>, path: PathBuf, now: f64) -> Result<Self> {
        let outcome = load::load_bytes(text.into(), &path, &ids(now))?;
        Ok(Self::new(outcome, &path))
    }

    fn from_tail(tail: Tail, path: &Path, now: f64) -> Self {
        let Tail { loaded, rest } = tail;
        let (tree, texts) = (loaded.tree.clone(), loaded.texts.clone());
        let known = Self::new(Outcome::Session(Box::new(loaded)), path);
        let rest = Background::new(move |stop| {
            let whole = rest.load(&ids(now), stop)?;
            rest.check(&whole, &tree, &texts)?;
            Ok(whole)
        });
        known.rest.replace(Some(Arc::new(rest)));
        known
    }

    fn new(outcome: Outcome, path: &Path) -> Self {
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
            rest: RefCell::default(),
        }
    }

    pub(super) fn take(&self) -> Option<Loaded> {
        self.session.take()
    }

    /// The whole session, once, if so far only its end was read. Waits for it or reads it. Blocking.
    pub(super) fn take_whole(&self) -> Result<Option<(Tree, TextTable)>> {
        let Some(rest) = self.rest.borrow().clone() else {
            return Ok(None);
        };
        let whole = rest.take()?;
        self.rest.take();
        Ok(whole.map(|whole| {
            self.report.set(whole.report);
            (whole.tree, whole.texts)
        }))
    }
}

/// Completes what a killed process had begun with a session.
fn recover(path: &Path) {
    let disk: Arc<dyn Disk> = Arc::new(OsDisk);
    // What cannot be completed now, because nothing can be written, is for a later time.
    let _ = succession::recover(&disk, path);
}

fn ids(now: f64) -> IdSource<'static> {
    IdSource {
        snowflakes: &SNOWFLAKES,
        now,
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

    /// Whether only the last entries are known so far.
    #[napi(getter, catch_unwind)]
    pub fn is_partial(&self) -> bool {
        self.rest.borrow().is_some()
    }

    /// Reads the other entries off-thread, unless that has begun. Settles when somebody has done it,
    /// or is about to; failures are told by `SessionCore.complete`.
    #[napi(catch_unwind, ts_return_type = "Promise<void>")]
    pub fn read_rest(&self) -> napi::Result<Promised<()>> {
        let rest = self.rest.borrow().clone();
        run_blocking(
            move || {
                if let Some(rest) = rest {
                    rest.run();
                }
                Ok(())
            },
            |_, ()| Ok(()),
        )
    }

    /// Ends the reading of the other entries; whoever needs them begins anew.
    #[napi(catch_unwind)]
    pub fn stop_reading(&self) {
        if let Some(rest) = self.rest.borrow().as_ref() {
            rest.stop();
        }
    }

    /// What reading met; of the last entries only while the others are not known.
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
