//! Directories and breadcrumbs.
//!
//! The environment comes with every call: it is read in JavaScript, at the moment of the call.

use std::path::{Path, PathBuf};

use napi::bindgen_prelude::Env;
use napi_derive::napi;

use super::error::OrThrow;
use super::task::{Promised, run_blocking};
use crate::catalog::project::{self, SessionDir};
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

/// The path as JavaScript sees it.
pub(super) fn text_of(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// What the facade logs about things that were left out.
pub(super) fn messages(failures: &[Error]) -> Vec<String> {
    failures.iter().map(ToString::to_string).collect()
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
pub fn write_breadcrumb(
    environment: EnvironmentValues,
    cwd: String,
    session_file: String,
) -> napi::Result<Promised<()>> {
    let environment = Environment::from(environment);
    let work = move || match breadcrumb::breadcrumb_path(&environment)? {
        Some(path) => breadcrumb::write(&path, &cwd, &session_file),
        None => Ok(()),
    };
    run_blocking(work, |_, ()| Ok(()))
}

/// The session that this terminal worked on last in `cwd`, or `None` (`null`).
#[napi(catch_unwind, ts_return_type = "Promise<string | null>")]
pub fn read_breadcrumb(
    environment: EnvironmentValues,
    cwd: String,
) -> napi::Result<Promised<Option<String>>> {
    let environment = Environment::from(environment);
    let work = move || match breadcrumb::breadcrumb_path(&environment)? {
        Some(path) => breadcrumb::read(&environment, &path, &cwd),
        None => Ok(None),
    };
    run_blocking(work, |_, session| Ok(session))
}
