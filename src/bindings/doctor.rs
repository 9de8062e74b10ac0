//! Examining session files.

use std::path::{Path, PathBuf};

use napi_derive::napi;

use super::catalog::{messages, text_of};
use super::task::{Promised, run_blocking};
use crate::doctor::{self, Options, beside, report};

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
