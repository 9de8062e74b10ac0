//! Pure functions of event logs: names, rows, closers. Events cross the boundary as lines of JSON.

use napi::JsString;
use napi::bindgen_prelude::Env;
use napi_derive::napi;

use super::error::OrThrow;
use super::text;
use crate::eventlog::row::{Row, RowKind};
use crate::eventlog::{closers, failure, names, pack};

/// A row that takes the place of some events.
#[napi(object, object_from_js = false)]
pub struct PackedRun {
    /// Position of the first event.
    pub first: u32,
    /// Number of events.
    pub count: u32,
    /// JSON text of the row.
    pub row: String,
}

/// The directory of a session.
#[napi(catch_unwind)]
pub fn event_log_segment(env: &Env, id: JsString<'_>) -> napi::Result<String> {
    names::encode_segment(&text::from_js(id)?)
        .map_err(failure::name)
        .or_throw(env)
}

/// The directory of a project.
#[napi(catch_unwind)]
pub fn event_log_project(env: &Env, cwd: JsString<'_>) -> napi::Result<String> {
    names::project_key(&text::from_js(cwd)?)
        .map_err(failure::name)
        .or_throw(env)
}

/// The runs in a batch of events, one per line.
#[napi(catch_unwind)]
pub fn pack_event_runs(events: String) -> Vec<PackedRun> {
    let runs = pack::runs(&lines(&events));
    runs.into_iter()
        .map(|run| PackedRun {
            first: run.first as u32,
            count: run.count as u32,
            // The parts of valid text.
            row: String::from_utf8_lossy(&run.row).into_owned(),
        })
        .collect()
}

/// Throws if a row of this kind is malformed; `null` if there is no such kind.
#[napi(catch_unwind)]
pub fn check_event_row(env: &Env, tag: String, row: String) -> napi::Result<Option<u32>> {
    let Some(kind) = RowKind::of_tag(&tag) else {
        return Ok(None);
    };
    let row = Row::parse(kind, row.as_bytes())
        .map_err(|fault| failure::malformed_row(&fault))
        .or_throw(env)?;
    Ok(Some(row.count() as u32))
}

/// The events that close an interrupted turn, as lines.
#[napi(catch_unwind)]
pub fn event_closers(events: String) -> String {
    let closers = closers::closers_of(&lines(&events));
    String::from_utf8_lossy(&closers.join(&b'\n')).into_owned()
}

fn lines(events: &str) -> Vec<&str> {
    events.lines().collect()
}
