//! Artifacts for `ArtifactManager`.

use std::path::{Path, PathBuf};

use napi::bindgen_prelude::{Env, PromiseRaw};
use napi_derive::napi;

use super::task::run_blocking;
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
pub fn artifacts_scan<'env>(env: &'env Env, dir: String) -> napi::Result<PromiseRaw<'env, f64>> {
    run_blocking(env, move || in_dir(dir).scan(), |_, next| Ok(next as f64))
}

/// Reserves the first free number from `candidate` on.
#[napi(catch_unwind)]
pub fn artifacts_reserve<'env>(
    env: &'env Env,
    dir: String,
    candidate: f64,
    tool: String,
) -> napi::Result<PromiseRaw<'env, NativeArtifact>> {
    answer(env, move || in_dir(dir).reserve(candidate as u64, &tool))
}

/// Writes an artifact under the first free number from `candidate` on.
#[napi(catch_unwind)]
pub fn artifacts_save<'env>(
    env: &'env Env,
    dir: String,
    candidate: f64,
    tool: String,
    content: String,
) -> napi::Result<PromiseRaw<'env, NativeArtifact>> {
    answer(env, move || {
        in_dir(dir).save(candidate as u64, &tool, &content)
    })
}

/// Sorted names in the directory; none when it cannot be read.
#[napi(catch_unwind)]
pub fn artifacts_list<'env>(
    env: &'env Env,
    dir: String,
) -> napi::Result<PromiseRaw<'env, Vec<String>>> {
    run_blocking(
        env,
        move || Ok(names_in(Path::new(&dir)).unwrap_or_default()),
        |_, names| Ok(names),
    )
}

fn in_dir(dir: String) -> Artifacts<'static> {
    Artifacts::new(PathBuf::from(dir), &RESERVATIONS)
}

fn answer<'env>(
    env: &'env Env,
    work: impl FnOnce() -> Result<Artifact> + Send + 'static,
) -> napi::Result<PromiseRaw<'env, NativeArtifact>> {
    run_blocking(env, work, |_, artifact| Ok(artifact.into()))
}
