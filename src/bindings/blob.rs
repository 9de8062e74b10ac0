//! Blobs for `BlobStore`.

use std::path::PathBuf;

use napi::bindgen_prelude::Buffer;
use napi_derive::napi;

use super::task::{Promised, run_blocking};
use crate::storage::blob::BlobStore;

/// Stores the bytes and gives their hash. They are copied first: the caller may go on changing
/// them.
#[napi(catch_unwind)]
pub fn blob_put(dir: String, bytes: &[u8]) -> napi::Result<Promised<String>> {
    let bytes = bytes.to_vec();
    run_blocking(
        move || BlobStore::new(PathBuf::from(dir)).put(&bytes),
        |_, put| Ok(put.hash),
    )
}

/// The content of a file in the blob directory, `null` when missing.
#[napi(catch_unwind)]
pub fn blob_get(dir: String, hash: String) -> napi::Result<Promised<Option<Buffer>>> {
    run_blocking(
        move || BlobStore::new(PathBuf::from(dir)).read_any(&hash),
        |_, bytes| Ok(bytes.map(Buffer::from)),
    )
}

/// Whether there is a file of that name in the blob directory.
#[napi(catch_unwind)]
pub fn blob_has(dir: String, hash: String) -> napi::Result<Promised<bool>> {
    run_blocking(
        move || Ok(BlobStore::new(PathBuf::from(dir)).has(&hash)),
        |_, has| Ok(has),
    )
}
