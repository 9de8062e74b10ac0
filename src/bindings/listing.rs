//! Listings, recent sessions and resume matching.

use std::cell::Cell;
use std::path::Path;
use std::sync::Arc;

use napi::JsString;
use napi::bindgen_prelude::{Env, Utf16String};
use napi_derive::napi;

use super::LISTED;
use super::catalog::{EnvironmentValues, messages, text_of};
use super::error::OrThrow;
use super::task::{Promised, run_blocking};
use super::text::{self, AnyText, JsonText};
use crate::Result;
use crate::catalog::Environment;
use crate::catalog::describe::{self, Said};
use crate::catalog::fuzzy::{self, Query};
use crate::catalog::list::{self, Listed};
use crate::catalog::project::Project;
use crate::catalog::recent::{self, Recent};
use crate::catalog::resume::{self, Candidate};
use crate::catalog::row::{self, Entry};
use crate::catalog::scan::{Scan, Scope};
use crate::journal::lines::Lines;

/// What a listing shows of a session whose text is at hand.
#[napi(object, object_from_js = false)]
pub struct TextSummary {
    /// See `SessionListing.rows`.
    pub row: JsonText,
    pub all_messages_text: AnyText,
}

/// Sessions that were found. Holds what is shown of them, and where to read the rest.
#[napi]
pub struct SessionListing {
    sessions: Arc<Vec<Listed>>,
    scores: Vec<f64>,
    failures: Vec<String>,
    /// Rows of the first sessions, made where the sessions were read.
    first: Cell<Option<JsonText>>,
}

impl SessionListing {
    /// Takes at most `limit` sessions from a scan and makes `first` rows.
    fn take(scan: &Scan, limit: f64, first: u32) -> Self {
        // Saturates: infinity is the largest count, NaN none.
        let (scores, listing) = scan.take(limit as usize);
        let first = rows_of(&listing.sessions, 0, first);
        Self {
            sessions: Arc::new(listing.sessions),
            scores,
            failures: messages(&listing.failures),
            first: Cell::new(Some(first)),
        }
    }
}

fn rows_of(sessions: &[Listed], from: u32, count: u32) -> JsonText {
    let chosen = sessions.iter().skip(from as usize).take(count as usize);
    JsonText::new(row::join(chosen.map(|it| &*it.entry.row)))
}

#[napi]
impl SessionListing {
    /// How many there are.
    #[napi(getter, catch_unwind)]
    pub fn count(&self) -> u32 {
        self.sessions.len() as u32
    }

    /// How well they match, lower is better; 0 without a query.
    #[napi(getter, catch_unwind)]
    pub fn scores(&self) -> Vec<f64> {
        self.scores.clone()
    }

    /// Messages about what could not be read.
    #[napi(getter, catch_unwind)]
    pub fn failures(&self) -> Vec<String> {
        self.failures.clone()
    }

    /// JSON text of the first sessions, as many as `take` or `run` was told; see `rows`. `None`
    /// (`null`) when it was taken already.
    #[napi(catch_unwind)]
    pub fn first_rows(&self) -> Option<JsonText> {
        self.first.take()
    }

    /// JSON text of some of the sessions, an array of arrays; `src/catalog/row.rs` tells what is in
    /// them.
    #[napi(catch_unwind, ts_return_type = "Promise<string>")]
    pub fn rows(&self, from: u32, count: u32) -> napi::Result<Promised<JsonText>> {
        let sessions = Arc::clone(&self.sessions);
        run_blocking(
            move || Ok(rows_of(&sessions, from, count)),
            |_, text| Ok(text),
        )
    }

    /// What was said in a session, read from its file. Blocks.
    #[napi(catch_unwind)]
    pub fn text(&self, env: &Env, at: u32) -> napi::Result<Option<AnyText>> {
        self.read(env, at, |session| {
            list::said_in(&session.path, &session.version).map(|said| Some(AnyText(said.0)))
        })
    }

    /// The whole first message of a session, read from its file; `None` (`null`) when it has none any
    /// more. Blocks.
    #[napi(catch_unwind)]
    pub fn first_message(&self, env: &Env, at: u32) -> napi::Result<Option<AnyText>> {
        self.read(env, at, |session| {
            list::first_message_of(&session.path, &session.version).map(|text| text.map(AnyText))
        })
    }

    fn read(
        &self,
        env: &Env,
        at: u32,
        read: impl FnOnce(&Listed) -> Result<Option<AnyText>>,
    ) -> napi::Result<Option<AnyText>> {
        let session = self.sessions.get(at as usize);
        session.map_or(Ok(None), |session| read(session).or_throw(env))
    }
}

/// Paths of session files, and messages about directories that could not be read.
#[napi(object, object_from_js = false)]
pub struct SessionFiles {
    pub files: Vec<String>,
    pub failures: Vec<String>,
}

/// A recent session.
#[napi(object, object_from_js = false)]
pub struct RecentSummary {
    pub path: String,
    /// Milliseconds since 1970 with a fraction.
    pub mtime: f64,
    pub full_name: Utf16String,
}

impl From<Recent> for RecentSummary {
    fn from(recent: Recent) -> Self {
        Self {
            path: text_of(&recent.path),
            mtime: recent.modified.millis(),
            full_name: recent.name.into(),
        }
    }
}

/// Sessions being read, step by step.
#[napi]
pub struct SessionScan {
    scan: Arc<Scan>,
}

impl SessionScan {
    fn new(scope: Scope, query: Option<JsString<'_>>) -> napi::Result<Self> {
        let query = query.map(text::from_js).transpose()?;
        let query = query.map(|query| Query::new(&query));
        Ok(Self {
            scan: Arc::new(Scan::new(scope, query, Arc::clone(&LISTED))),
        })
    }
}

#[napi]
impl SessionScan {
    /// Of the sessions of a project in one directory; with a query only of those that match.
    #[napi(catch_unwind)]
    pub fn of_folder(
        environment: EnvironmentValues,
        cwd: String,
        dir: String,
        query: Option<JsString<'_>>,
    ) -> napi::Result<SessionScan> {
        let environment = environment.into();
        let scope = Scope::Folder {
            environment,
            cwd,
            dir,
        };
        Self::new(scope, query)
    }

    /// Of the sessions of all projects; with a query only of those that match.
    #[napi(catch_unwind)]
    pub fn of_all(
        environment: EnvironmentValues,
        query: Option<JsString<'_>>,
    ) -> napi::Result<SessionScan> {
        Self::new(Scope::All(environment.into()), query)
    }

    /// Finds the files; gives how many there are.
    #[napi(catch_unwind, ts_return_type = "Promise<number>")]
    pub fn find(&self) -> napi::Result<Promised<u32>> {
        let scan = Arc::clone(&self.scan);
        run_blocking(move || scan.find(), |_, count| Ok(count as u32))
    }

    /// Reads the next `count` files; gives how many were read so far. One call at a time.
    #[napi(catch_unwind, ts_return_type = "Promise<number>")]
    pub fn read(&self, count: u32) -> napi::Result<Promised<u32>> {
        let scan = Arc::clone(&self.scan);
        let work = move || Ok(scan.read(count as usize));
        run_blocking(work, |_, done| Ok(done as u32))
    }

    /// Makes reading end soon.
    #[napi(catch_unwind)]
    pub fn cancel(&self) {
        self.scan.cancel();
    }

    /// What was found, at most `limit` sessions: best first, then newest first. Empties the scan.
    /// Makes `first` rows of them at once.
    #[napi(catch_unwind, ts_return_type = "Promise<SessionListing>")]
    pub fn take(&self, limit: f64, first: u32) -> napi::Result<Promised<SessionListing>> {
        let scan = Arc::clone(&self.scan);
        run_blocking(
            move || Ok(SessionListing::take(&scan, limit, first)),
            |_, listing| Ok(listing),
        )
    }

    /// All of it in one step: `find`, `read`, `take`.
    #[napi(catch_unwind, ts_return_type = "Promise<SessionListing>")]
    pub fn run(&self, limit: f64, first: u32) -> napi::Result<Promised<SessionListing>> {
        let scan = Arc::clone(&self.scan);
        let work = move || {
            let total = scan.find()?;
            scan.read(total);
            Ok(SessionListing::take(&scan, limit, first))
        };
        run_blocking(work, |_, listing| Ok(listing))
    }
}

/// The session files of all projects, for storages that read them in their own way.
#[napi(catch_unwind, ts_return_type = "Promise<SessionFiles>")]
pub fn find_all_session_files(
    environment: EnvironmentValues,
) -> napi::Result<Promised<SessionFiles>> {
    let environment = Environment::from(environment);
    let work = move || {
        let mut failures = Vec::new();
        let files = list::find_all(&environment.session_roots()?, &mut failures)?;
        Ok(SessionFiles {
            files: files.iter().map(|path| text_of(path)).collect(),
            failures: messages(&failures),
        })
    };
    run_blocking(work, |_, files| Ok(files))
}

/// What a listing shows of a session whose text is at hand, or `None` (`null`) when it is none.
#[napi(catch_unwind, ts_return_type = "Promise<TextSummary | null>")]
pub fn describe_session_text(
    path: String,
    text: String,
) -> napi::Result<Promised<Option<TextSummary>>> {
    let work = move || {
        let mut said = Said::default();
        let mut lines = Lines::sized(text.as_bytes(), text.len() as u64);
        // Reading from memory cannot fail.
        let description = describe::describe(&mut lines, Some(&mut said)).unwrap_or_default();
        Ok(description.map(|description| TextSummary {
            row: JsonText::new(Entry::whole(Path::new(&path), &description).row.into()),
            all_messages_text: AnyText(said.0),
        }))
    };
    run_blocking(work, |_, summary| Ok(summary))
}

/// For the working directories in the headers of sessions found in `session_dir`: whether the
/// sessions are those of the project at `cwd`.
#[napi(catch_unwind)]
pub fn owned_sessions(
    env: &Env,
    environment: EnvironmentValues,
    cwd: String,
    session_dir: String,
    header_cwds: Vec<Option<String>>,
) -> napi::Result<Vec<bool>> {
    let project = Project::of(&environment.into(), &cwd, &session_dir).or_throw(env)?;
    let owns = |header: &Option<String>| {
        project
            .as_ref()
            .is_none_or(|project| project.owns(header.as_deref()))
    };
    Ok(header_cwds.iter().map(owns).collect())
}

/// The newest session of a directory, or `None` (`null`). With `cwd`, only the project's own.
#[napi(catch_unwind, ts_return_type = "Promise<string | null>")]
pub fn most_recent_session(
    environment: EnvironmentValues,
    session_dir: String,
    cwd: Option<String>,
) -> napi::Result<Promised<Option<String>>> {
    let environment = Environment::from(environment);
    let work = move || {
        let project = match cwd {
            Some(cwd) => Project::of(&environment, &cwd, &session_dir)?,
            None => None,
        };
        let path = recent::most_recent(Path::new(&session_dir), project.as_ref())?;
        Ok(path.map(|path| text_of(&path)))
    };
    run_blocking(work, |_, path| Ok(path))
}

/// The newest sessions of a directory, at most `count`.
#[napi(catch_unwind, ts_return_type = "Promise<RecentSummary[]>")]
pub fn recent_sessions(
    session_dir: String,
    count: f64,
) -> napi::Result<Promised<Vec<RecentSummary>>> {
    let work = move || {
        // Saturates: infinity is the largest count, NaN none.
        let recent = recent::recent(Path::new(&session_dir), count as usize)?;
        Ok(recent.into_iter().map(RecentSummary::from).collect())
    };
    run_blocking(work, |_, recent| Ok(recent))
}

/// What the beginning of a session's text says.
#[napi(object, object_from_js = false)]
pub struct BeginningSummary {
    pub full_name: Utf16String,
    /// `cwd` in the header.
    pub cwd: Option<String>,
}

/// How many bytes of a text must be read to tell what it is, when its first `wanted` bytes are
/// `prefix`; `None` (`null`) when these are enough.
#[napi(catch_unwind)]
pub fn longer_recent_prefix(prefix: String, wanted: f64) -> Option<f64> {
    recent::longer_prefix(&prefix, wanted as u64).map(|longer| longer as f64)
}

/// What the beginning of a text says about a session; `None` (`null`) when it is none.
#[napi(catch_unwind)]
pub fn describe_recent_text(path: String, prefix: String) -> Option<BeginningSummary> {
    let beginning = recent::describe_beginning(&prefix)?;
    Some(BeginningSummary {
        full_name: beginning.name(Path::new(&path)).into(),
        cwd: beginning.cwd().map(str::to_owned),
    })
}

/// Position of the session that `argument` means among sessions given by id (`null` if that is no
/// string) and path, newest first; -1 for none.
#[napi(catch_unwind)]
pub fn match_session(argument: String, ids: Vec<Option<String>>, paths: Vec<String>) -> i32 {
    let candidates: Vec<_> = ids
        .iter()
        .zip(&paths)
        .map(|(id, path)| Candidate {
            id: id.as_deref(),
            path,
        })
        .collect();
    resume::find(&argument, &candidates)
        .and_then(|at| i32::try_from(at).ok())
        .unwrap_or(-1)
}

/// Whether a text matches a fuzzy query, and how well: `None` (`null`) or a score, lower is better.
#[napi(catch_unwind)]
pub fn fuzzy_score(query: JsString<'_>, text: JsString<'_>) -> napi::Result<Option<f64>> {
    let (query, text) = (text::from_js(query)?, text::from_js(text)?);
    Ok(fuzzy::score(&query, &text))
}

/// Positions of the texts that match every word of a query, best first, each followed by its score.
#[napi(catch_unwind)]
pub fn fuzzy_rank(query: JsString<'_>, texts: Vec<JsString<'_>>) -> napi::Result<Vec<f64>> {
    let query = Query::new(&text::from_js(query)?);
    let mut ranked = Vec::new();
    for (at, text) in texts.into_iter().enumerate() {
        if let Some(score) = query.score(&text::from_js(text)?) {
            ranked.push((at as f64, score));
        }
    }
    ranked.sort_by(|left, right| left.1.total_cmp(&right.1));
    Ok(ranked
        .into_iter()
        .flat_map(|(at, score)| [at, score])
        .collect())
}
