//! Artifacts for `ArtifactManager`.

use std::path::{Path, PathBuf};

use napi_derive::napi;

use super::task::{Promised, run_blocking};
use crate::Result;
use crate::storage::artifacts::{Artifact, Artifacts, Reservations, artifacts_dir, names_in};

/// Shared by all environments of the process, workers included.
static RESERVATIONS: Reservations = Reservations::new();

/// A number with the name of its file.
#[napi(object)]
pub struct NativeArtifact {
    /// The number, a safe integer.
    pub id: f64,
    /// Name of the file in the artifact directory.
    pub name: String,
}

impl From<Artifact> for NativeArtifact {
    fn from(artifact: Artifact) -> Self {
        Self {
            id: artifact.id as f64,
            name: artifact.name,
        }
    }
}

/// The artifact directory that belongs to a session file.
#[napi(catch_unwind)]
pub fn artifacts_dir_of(session_file: String) -> String {
    artifacts_dir(&session_file)
}

/// Creates the directory and gives the next number.
#[napi(catch_unwind)]
pub fn artifacts_scan(dir: String) -> napi::Result<Promised<f64>> {
    run_blocking(move || in_dir(dir).scan(), |_, next| Ok(next as f64))
}

/// Reserves the first free number from `candidate` on.
#[napi(catch_unwind)]
pub fn artifacts_reserve(
    dir: String,
    candidate: f64,
    tool: String,
) -> napi::Result<Promised<NativeArtifact>> {
    answer(move || in_dir(dir).reserve(candidate as u64, &tool))
}

/// Writes an artifact under the first free number from `candidate` on.
#[napi(catch_unwind)]
pub fn artifacts_save(
    dir: String,
    candidate: f64,
    tool: String,
    content: String,
) -> napi::Result<Promised<NativeArtifact>> {
    answer(move || in_dir(dir).save(candidate as u64, &tool, &content))
}

/// Sorted names in the directory; none when it cannot be read.
#[napi(catch_unwind)]
pub fn artifacts_list(dir: String) -> napi::Result<Promised<Vec<String>>> {
    run_blocking(
        move || Ok(names_in(Path::new(&dir)).unwrap_or_default()),
        |_, names| Ok(names),
    )
}

fn in_dir(dir: String) -> Artifacts<'static> {
    Artifacts::new(PathBuf::from(dir), &RESERVATIONS)
}

fn answer(
    work: impl FnOnce() -> Result<Artifact> + Send + 'static,
) -> napi::Result<Promised<NativeArtifact>> {
    run_blocking(work, |_, artifact| Ok(artifact.into()))
}
