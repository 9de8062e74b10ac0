//! Blobs for `BlobStore`.

use std::path::PathBuf;

use napi::bindgen_prelude::{Buffer, Env, PromiseRaw};
use napi_derive::napi;

use super::task::run_blocking;
use crate::storage::blob::BlobStore;

/// Stores the bytes and gives their hash. They are copied first: the caller may go on changing
/// them.
#[napi(catch_unwind)]
pub fn blob_put<'env>(
    env: &'env Env,
    dir: String,
    bytes: &[u8],
) -> napi::Result<PromiseRaw<'env, String>> {
    let bytes = bytes.to_vec();
    run_blocking(
        env,
        move || BlobStore::new(PathBuf::from(dir)).put(&bytes),
        |_, put| Ok(put.hash),
    )
}

/// The content of a file in the blob directory, `null` when missing.
#[napi(catch_unwind)]
pub fn blob_get<'env>(
    env: &'env Env,
    dir: String,
    hash: String,
) -> napi::Result<PromiseRaw<'env, Option<Buffer>>> {
    run_blocking(
        env,
        move || BlobStore::new(PathBuf::from(dir)).read_any(&hash),
        |_, bytes| Ok(bytes.map(Buffer::from)),
    )
}

/// Whether there is a file of that name in the blob directory.
#[napi(catch_unwind)]
pub fn blob_has<'env>(
    env: &'env Env,
    dir: String,
    hash: String,
) -> napi::Result<PromiseRaw<'env, bool>> {
    run_blocking(
        env,
        move || Ok(BlobStore::new(PathBuf::from(dir)).has(&hash)),
        |_, has| Ok(has),
    )
}
