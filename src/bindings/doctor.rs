//! Examining session files.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use napi_derive::napi;

use super::SNOWFLAKES;
use super::catalog::{messages, text_of};
use super::task::{Promised, run_blocking};
use crate::doctor::repair::{self, Needs};
use crate::doctor::{self, Options, beside, report};
use crate::journal::load::IdSource;
use crate::storage::disk::{Disk, OsDisk};

/// Session files in a folder, and what was left between them.
#[napi(object, object_from_js = false)]
pub struct FolderContents {
    pub files: Vec<String>,
    /// JSON array of findings with `session`.
    pub leftovers: String,
    /// Directories that could not be read.
    pub failures: Vec<String>,
}

/// JSON is made of text only.
fn json_text(json: Vec<u8>) -> String {
    String::from_utf8_lossy(&json).into_owned()
}

/// What is wrong with a session file, as JSON. Blobs are not looked at without a directory.
#[napi(catch_unwind, ts_return_type = "Promise<string>")]
pub fn examine_session(
    path: String,
    blobs_dir: Option<String>,
    beside: bool,
) -> napi::Result<Promised<String>> {
    run_blocking(
        move || {
            let options = Options {
                blobs: blobs_dir.map(PathBuf::from),
                beside,
            };
            let examination = doctor::examine(Path::new(&path), &options)?;
            Ok(json_text(report::examination(&examination)))
        },
        |_, json| Ok(json),
    )
}

/// The session files in a directory and below.
#[napi(catch_unwind, ts_return_type = "Promise<FolderContents>")]
pub fn examine_folder(dir: String) -> napi::Result<Promised<FolderContents>> {
    run_blocking(
        move || {
            let folder = beside::folder(Path::new(&dir))?;
            Ok(FolderContents {
                files: folder.files.iter().map(|file| text_of(file)).collect(),
                leftovers: json_text(report::leftovers(&folder.leftovers)),
                failures: messages(&folder.failures),
            })
        },
        |_, contents| Ok(contents),
    )
}

/// Writes a repaired copy of a session file to a new path and tells what was done, as JSON. `now` is in
/// milliseconds since 1970, `timestamp` the same as text; they and `cwd` are for made headers.
#[napi(catch_unwind, ts_return_type = "Promise<string>")]
pub fn repair_session(
    path: String,
    output: String,
    cwd: String,
    now: f64,
    timestamp: String,
) -> napi::Result<Promised<String>> {
    run_blocking(
        move || {
            let needs = Needs {
                ids: IdSource {
                    snowflakes: &SNOWFLAKES,
                    now,
                },
                timestamp,
                cwd,
            };
            let disk: Arc<dyn Disk> = Arc::new(OsDisk);
            let done = repair::repair(&disk, Path::new(&path), Path::new(&output), &needs)?;
            Ok(json_text(report::repair(&done)))
        },
        |_, json| Ok(json),
    )
}
