//! Functions without state.

use napi::JsString;
use napi::bindgen_prelude::{Env, Uint8Array, Uint32Array};
use napi_derive::napi;

use super::error::OrThrow;
use super::task::{Promised, run_blocking};
use super::{SNOWFLAKES, text};
use crate::error::IoContext;
use crate::journal::persist::{self, transform};
use crate::journal::values::read_values;
use crate::session::snowflake;
use crate::session::{CURRENT_VERSION, context};
use crate::storage::blob::BlobStore;
use crate::storage::disk::open_regular;

/// Session format version of new files.
#[napi(catch_unwind)]
pub fn current_session_version() -> u32 {
    CURRENT_VERSION
}

/// A new session id for a time in milliseconds since 1970.
#[napi(catch_unwind)]
pub fn next_snowflake(now: f64) -> String {
    SNOWFLAKES.next(now)
}

/// A new entry id, not checked against any session.
#[napi(catch_unwind)]
pub fn next_entry_id(now: f64) -> String {
    snowflake::entry_id(|_| false, &SNOWFLAKES, now)
}

/// What decides the settings of a context: positions on a path given as packed kinds. Layout:
/// thinking, tier, context, tools, mode, compaction (each position + 1, or 0), number of models,
/// models, injections.
#[napi(catch_unwind)]
pub fn plan_context_settings(path: &[u8]) -> Uint32Array {
    let found = context::settings(path);
    let plus_one = |at: Option<u32>| at.map_or(0, |at| at + 1);
    let mut plan = vec![
        plus_one(found.thinking),
        plus_one(found.service_tier),
        plus_one(found.context),
        plus_one(found.tool_selection),
        plus_one(found.mode),
        plus_one(found.compaction),
        found.models.len() as u32,
    ];
    plan.extend(found.models);
    plan.extend(found.injections);
    plan.into()
}

/// Positions on the path whose entries become messages. `compaction` and `first_kept` are
/// positions, or negative when there is none.
#[napi(catch_unwind)]
pub fn plan_context_messages(path: &[u8], compaction: i32, first_kept: i32) -> Uint32Array {
    let position = |at: i32| u32::try_from(at).ok();
    context::messages(path, position(compaction), position(first_kept)).into()
}

/// All JSON values of a JSONL text, read leniently, as texts of JSON arrays.
#[napi(catch_unwind)]
pub fn read_text_values<'env>(
    env: &'env Env,
    content: JsString<'_>,
) -> napi::Result<Vec<JsString<'env>>> {
    let content = text::from_js(content)?;
    // Reading from memory cannot fail.
    let groups = read_values(content.as_slice()).unwrap_or_default();
    groups.iter().map(|group| text::to_js(env, group)).collect()
}

/// All JSON values of a file, as [`read_text_values`]; `None` (`null`) when there is no file.
#[napi(catch_unwind, ts_return_type = "Promise<string[] | null>")]
pub fn read_file_values(path: String) -> napi::Result<Promised<Option<Vec<String>>>> {
    run_blocking(
        move || {
            let file = match open_regular(path.as_ref()) {
                Err(error) if error.is_not_found() => return Ok(None),
                outcome => outcome?,
            };
            let groups = read_values(file).during("read", &path)?;
            let lossy = |group: Vec<u8>| {
                String::from_utf8(group)
                    .unwrap_or_else(|bad| String::from_utf8_lossy(bad.as_bytes()).into_owned())
            };
            Ok(Some(groups.into_iter().map(lossy).collect()))
        },
        |_, groups| Ok(groups),
    )
}

/// Applies the transforms before persisting to the JSON text of one entry or header; stores blobs.
#[napi(catch_unwind, ts_return_type = "Promise<string>")]
pub fn persistable_text(json: String, blobs_dir: String) -> napi::Result<Promised<String>> {
    run_blocking(
        move || {
            let blobs = BlobStore::new(blobs_dir.into());
            let text = transform(json.as_bytes(), &blobs)?.into_owned();
            Ok(String::from_utf8(text).unwrap_or(json))
        },
        |_, text| Ok(text),
    )
}

/// Whether the transforms before persisting could change a JSON text. A search, no parsing.
#[napi(catch_unwind)]
pub fn may_change(json: String) -> bool {
    persist::may_change(json.as_bytes())
}

/// Like [`persistable_text`], before the call returns.
#[napi(catch_unwind)]
pub fn persistable_text_now(env: &Env, json: String, blobs_dir: String) -> napi::Result<String> {
    let blobs = BlobStore::new(blobs_dir.into());
    let text = transform(json.as_bytes(), &blobs)
        .or_throw(env)?
        .into_owned();
    Ok(String::from_utf8(text).unwrap_or(json))
}

/// A header line with its padding, without the line feed.
#[napi(catch_unwind)]
pub fn padded_header(json: String) -> String {
    let mut line = crate::journal::rewrite::header_line(json.as_bytes());
    line.pop();
    String::from_utf8(line).unwrap_or(json)
}

/// Packed kinds of a list of slots, for the planning functions.
pub(super) fn packed(codes: impl Iterator<Item = u8>) -> Uint8Array {
    codes.collect::<Vec<u8>>().into()
}
