//! Directories, breadcrumbs, listings, recent sessions and resume matching.
//!
//! The environment comes with every call: it is read in JavaScript, at the moment of the call.

use std::path::{Path, PathBuf};

use napi::bindgen_prelude::{Either, Env, PromiseRaw, Utf16String};
use napi_derive::napi;

use super::error::OrThrow;
use super::task::run_blocking;
use crate::catalog::describe::{self, Description};
use crate::catalog::list::{self, Listed, Listing};
use crate::catalog::project::{self, Project, SessionDir};
use crate::catalog::recent::{self, Recent};
use crate::catalog::resume::{self, Candidate};
use crate::catalog::text::Text;
use crate::catalog::{Environment, Place, TerminalVariables, breadcrumb};
use crate::storage::disk::{Disk, OsDisk};
use crate::{Error, Result};

/// What `js/environment.js` reads from the process.
#[napi(object, object_to_js = false)]
pub struct EnvironmentValues {
    pub working_directory: Option<String>,
    pub home: String,
    pub temp: String,
    pub config_dir: Option<String>,
    pub agent_dir: Option<String>,
    pub xdg_data_home: Option<String>,
    pub xdg_state_home: Option<String>,
    pub kitty_window_id: Option<String>,
    pub tmux_pane: Option<String>,
    pub term_session_id: Option<String>,
    pub wt_session: Option<String>,
}

impl From<EnvironmentValues> for Environment {
    fn from(values: EnvironmentValues) -> Self {
        Self {
            working_directory: values.working_directory.map(PathBuf::from),
            home: values.home.into(),
            temp: values.temp.into(),
            config_dir: values.config_dir,
            agent_dir: values.agent_dir,
            xdg_data_home: values.xdg_data_home,
            xdg_state_home: values.xdg_state_home,
            terminal: TerminalVariables {
                kitty_window_id: values.kitty_window_id,
                tmux_pane: values.tmux_pane,
                term_session_id: values.term_session_id,
                wt_session: values.wt_session,
            },
        }
    }
}

/// A session directory, and messages about sessions with earlier directory names that stayed there.
#[napi(object, object_from_js = false)]
pub struct PreparedDir {
    pub path: String,
    pub failures: Vec<String>,
}

impl From<SessionDir> for PreparedDir {
    fn from(dir: SessionDir) -> Self {
        Self {
            path: text_of(&dir.path),
            failures: messages(&dir.failures),
        }
    }
}

/// A text with its halves of surrogate pairs.
type JsText = Either<String, Utf16String>;

/// A session in a listing. The facade makes a `SessionInfo` of it.
#[napi(object, object_from_js = false)]
pub struct SessionSummary {
    pub path: String,
    /// JSON text of the header.
    pub header: Option<JsText>,
    /// For headers without a usable id: the one in the file name.
    pub fallback_id: String,
    /// For sessions without header: when they were created, milliseconds since 1970 or NaN.
    pub fallback_created: f64,
    /// Title in the slot before the header, maybe empty.
    pub slot_title: Option<JsText>,
    pub short_summary: Option<JsText>,
    pub message_count: u32,
    pub first_message: Option<JsText>,
    pub all_messages_text: JsText,
    /// Milliseconds since 1970 with a fraction; absent when the text did not come from a file.
    pub modified: Option<f64>,
}

impl SessionSummary {
    fn new(path: &Path, modified: Option<f64>, description: Description) -> Self {
        let optional = |bytes: Option<Vec<u8>>| bytes.map(js_text);
        let header = description.header.map(|header| header.text);
        let created = describe::time_in_name(path);
        Self {
            path: text_of(path),
            fallback_id: describe::id_in_name(path),
            fallback_created: if created.is_nan() {
                modified.unwrap_or(f64::NAN)
            } else {
                created
            },
            header: optional(header),
            slot_title: optional(description.slot_title),
            short_summary: optional(description.short_summary),
            message_count: description.message_count,
            first_message: optional(description.first_message),
            all_messages_text: js_text(description.text),
            modified,
        }
    }
}

impl From<Listed> for SessionSummary {
    fn from(listed: Listed) -> Self {
        let modified = Some(listed.modified.millis());
        Self::new(&listed.path, modified, listed.description)
    }
}

/// Sessions, newest first, and messages about what could not be read.
#[napi(object, object_from_js = false)]
pub struct SessionSummaries {
    pub sessions: Vec<SessionSummary>,
    pub failures: Vec<String>,
}

impl From<Listing> for SessionSummaries {
    fn from(listing: Listing) -> Self {
        Self {
            sessions: listing.sessions.into_iter().map(Into::into).collect(),
            failures: messages(&listing.failures),
        }
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

fn text_of(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

fn messages(failures: &[Error]) -> Vec<String> {
    failures.iter().map(ToString::to_string).collect()
}

fn js_text(wtf8: Vec<u8>) -> JsText {
    match Text::from_wtf8(wtf8) {
        Text::Utf8(text) => Either::A(text),
        Text::Utf16(units) => Either::B(units.into()),
    }
}

/// The agent directory.
#[napi(catch_unwind)]
pub fn agent_dir(env: &Env, environment: EnvironmentValues) -> napi::Result<String> {
    let environment = Environment::from(environment);
    Ok(text_of(&environment.agent_dir().or_throw(env)?))
}

fn place(
    env: &Env,
    environment: EnvironmentValues,
    place: Place,
    agent_dir: Option<String>,
) -> napi::Result<String> {
    let path = Environment::from(environment).place(place, agent_dir.as_deref());
    Ok(text_of(&path.or_throw(env)?))
}

/// Root of the per-project session directories.
#[napi(catch_unwind)]
pub fn sessions_dir(
    env: &Env,
    environment: EnvironmentValues,
    agent_dir: Option<String>,
) -> napi::Result<String> {
    place(env, environment, Place::Sessions, agent_dir)
}

/// Directory of the blob store.
#[napi(catch_unwind)]
pub fn blobs_dir(
    env: &Env,
    environment: EnvironmentValues,
    agent_dir: Option<String>,
) -> napi::Result<String> {
    place(env, environment, Place::Blobs, agent_dir)
}

/// Directory of the breadcrumbs.
#[napi(catch_unwind)]
pub fn terminal_sessions_dir(
    env: &Env,
    environment: EnvironmentValues,
    agent_dir: Option<String>,
) -> napi::Result<String> {
    place(env, environment, Place::TerminalSessions, agent_dir)
}

/// Path of the prompt history database.
#[napi(catch_unwind)]
pub fn history_db_path(
    env: &Env,
    environment: EnvironmentValues,
    agent_dir: Option<String>,
) -> napi::Result<String> {
    place(env, environment, Place::HistoryDb, agent_dir)
}

/// Id of the terminal, or `None` (`null`).
#[napi(catch_unwind)]
pub fn terminal_id(environment: EnvironmentValues) -> Option<String> {
    breadcrumb::terminal_id(&Environment::from(environment).terminal)
}

/// Session directory of a project; takes sessions from directories with earlier names in. Creates it
/// if `create` says so. Blocking.
#[napi(catch_unwind)]
pub fn prepare_session_dir(
    env: &Env,
    environment: EnvironmentValues,
    cwd: String,
    agent_dir: Option<String>,
    create: bool,
) -> napi::Result<PreparedDir> {
    let environment = environment.into();
    let dir = project::default_session_dir(&environment, &OsDisk, &cwd, agent_dir.as_deref());
    prepared(dir, create).or_throw(env)
}

/// Session directory that a session moves to with its project; see
/// [`project::move_target`]. Creates it if `create` says so. Blocking.
#[napi(catch_unwind)]
pub fn prepare_move_target(
    env: &Env,
    environment: EnvironmentValues,
    session_dir: String,
    old_cwd: String,
    new_cwd: String,
    create: bool,
) -> napi::Result<PreparedDir> {
    let environment = environment.into();
    let dir = project::move_target(&environment, &OsDisk, &session_dir, &old_cwd, &new_cwd);
    prepared(dir, create).or_throw(env)
}

fn prepared(dir: Result<SessionDir>, create: bool) -> Result<PreparedDir> {
    let dir = dir?;
    if create {
        OsDisk.create_dirs(&dir.path)?;
    }
    Ok(dir.into())
}

/// Notes the session that this terminal works on. Does nothing without terminal id.
#[napi(catch_unwind, ts_return_type = "Promise<void>")]
pub fn write_breadcrumb<'env>(
    env: &'env Env,
    environment: EnvironmentValues,
    cwd: String,
    session_file: String,
) -> napi::Result<PromiseRaw<'env, ()>> {
    let environment = Environment::from(environment);
    let work = move || match breadcrumb::breadcrumb_path(&environment)? {
        Some(path) => breadcrumb::write(&path, &cwd, &session_file),
        None => Ok(()),
    };
    run_blocking(env, work, |_, ()| Ok(()))
}

/// The session that this terminal worked on last in `cwd`, or `None` (`null`).
#[napi(catch_unwind, ts_return_type = "Promise<string | null>")]
pub fn read_breadcrumb<'env>(
    env: &'env Env,
    environment: EnvironmentValues,
    cwd: String,
) -> napi::Result<PromiseRaw<'env, Option<String>>> {
    let environment = Environment::from(environment);
    let work = move || match breadcrumb::breadcrumb_path(&environment)? {
        Some(path) => breadcrumb::read(&environment, &path, &cwd),
        None => Ok(None),
    };
    run_blocking(env, work, |_, session| Ok(session))
}

/// The sessions of a project in one directory.
#[napi(catch_unwind, ts_return_type = "Promise<SessionSummaries>")]
pub fn list_sessions<'env>(
    env: &'env Env,
    environment: EnvironmentValues,
    cwd: String,
    session_dir: String,
) -> napi::Result<PromiseRaw<'env, SessionSummaries>> {
    let environment = Environment::from(environment);
    let work = move || {
        let project = Project::of(&environment, &cwd, &session_dir)?;
        list::list(Path::new(&session_dir), project.as_ref()).map(SessionSummaries::from)
    };
    run_blocking(env, work, |_, sessions| Ok(sessions))
}

/// The sessions of all projects.
#[napi(catch_unwind, ts_return_type = "Promise<SessionSummaries>")]
pub fn list_all_sessions<'env>(
    env: &'env Env,
    environment: EnvironmentValues,
) -> napi::Result<PromiseRaw<'env, SessionSummaries>> {
    let environment = Environment::from(environment);
    let work = move || list::list_all(&environment.session_roots()?).map(SessionSummaries::from);
    run_blocking(env, work, |_, sessions| Ok(sessions))
}

/// The session files of all projects, for storages that read them in their own way.
#[napi(catch_unwind, ts_return_type = "Promise<SessionFiles>")]
pub fn find_all_session_files<'env>(
    env: &'env Env,
    environment: EnvironmentValues,
) -> napi::Result<PromiseRaw<'env, SessionFiles>> {
    let environment = Environment::from(environment);
    let work = move || {
        let mut failures = Vec::new();
        let files = list::find_all(&environment.session_roots()?, &mut failures)?;
        Ok(SessionFiles {
            files: files.iter().map(|path| text_of(path)).collect(),
            failures: messages(&failures),
        })
    };
    run_blocking(env, work, |_, files| Ok(files))
}

/// What a listing shows of a session whose text is at hand, or `None` (`null`) when it is none.
#[napi(catch_unwind, ts_return_type = "Promise<SessionSummary | null>")]
pub fn describe_session_text<'env>(
    env: &'env Env,
    path: String,
    text: String,
) -> napi::Result<PromiseRaw<'env, Option<SessionSummary>>> {
    let work = move || {
        // Reading from memory cannot fail.
        let description = describe::describe(text.as_bytes()).unwrap_or_default();
        Ok(description.map(|it| SessionSummary::new(Path::new(&path), None, it)))
    };
    run_blocking(env, work, |_, summary| Ok(summary))
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
pub fn most_recent_session<'env>(
    env: &'env Env,
    environment: EnvironmentValues,
    session_dir: String,
    cwd: Option<String>,
) -> napi::Result<PromiseRaw<'env, Option<String>>> {
    let environment = Environment::from(environment);
    let work = move || {
        let project = match cwd {
            Some(cwd) => Project::of(&environment, &cwd, &session_dir)?,
            None => None,
        };
        let path = recent::most_recent(Path::new(&session_dir), project.as_ref())?;
        Ok(path.map(|path| text_of(&path)))
    };
    run_blocking(env, work, |_, path| Ok(path))
}

/// The newest sessions of a directory, at most `count`.
#[napi(catch_unwind, ts_return_type = "Promise<RecentSummary[]>")]
pub fn recent_sessions<'env>(
    env: &'env Env,
    session_dir: String,
    count: f64,
) -> napi::Result<PromiseRaw<'env, Vec<RecentSummary>>> {
    let work = move || {
        // Saturates: infinity is the largest count, NaN none.
        let recent = recent::recent(Path::new(&session_dir), count as usize)?;
        Ok(recent.into_iter().map(RecentSummary::from).collect())
    };
    run_blocking(env, work, |_, recent| Ok(recent))
}

/// What the beginning of a session's text says.
#[napi(object, object_from_js = false)]
pub struct BeginningSummary {
    pub full_name: Utf16String,
    /// `cwd` in the header.
    pub cwd: Option<String>,
}

/// Whether more than this prefix must be read to tell what the text is.
#[napi(catch_unwind)]
pub fn recent_text_needs_more(prefix: String) -> bool {
    recent::needs_more(&prefix)
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
