//! Blobs: contents kept once, in a file `<dir>/<sha256 in lower-case hex>` without extension.
//! Sessions refer to them as `blob:sha256:<hash>`. Blobs are shared by all sessions and never
//! removed here.

use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sha2::{Digest, Sha256};

use crate::Result;
use crate::error::IoContext;

use super::atomic::AtomicFile;
use super::disk::{Disk, OsDisk, open_regular, read_file};

/// What a reference to a blob begins with.
pub const PREFIX: &str = "blob:sha256:";

/// Hex digits of a SHA-256 hash.
const HASH_DIGITS: usize = 64;

/// The text behind [`PREFIX`] (possibly empty and not checked), or `None` for other strings.
pub fn parse_ref(text: &str) -> Option<&str> {
    text.strip_prefix(PREFIX)
}

/// True for 64 lower-case hex digits, the only names that address a blob.
pub fn is_hash(text: &str) -> bool {
    text.len() == HASH_DIGITS
        && text
            .bytes()
            .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// SHA-256 in lower-case hex.
pub fn hash_of(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

fn hex(digest: &[u8]) -> String {
    const DIGITS: [char; 16] = [
        '0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f',
    ];
    let mut text = String::with_capacity(HASH_DIGITS);
    for byte in digest {
        for nibble in [byte >> 4, byte & 15] {
            text.extend(DIGITS.get(usize::from(nibble)));
        }
    }
    text
}

/// What is there for a reference to a blob.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlobState {
    /// A content with the hash of its name.
    Whole,
    /// No file.
    Missing,
    /// Another content: cut short, or tampered with.
    Damaged,
    /// The reference is no hash.
    NoHash,
}

/// Where a stored content is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlobPut {
    /// SHA-256 of the content, 64 lower-case hex digits.
    pub hash: String,
    /// The blob's file.
    pub path: PathBuf,
}

/// A directory of blobs. All methods block; they may run concurrently, also in several processes.
#[derive(Clone)]
pub struct BlobStore {
    dir: PathBuf,
    disk: Arc<dyn Disk>,
}

impl BlobStore {
    /// Blobs in `dir`, which is created by the first [`put`](BlobStore::put).
    pub fn new(dir: PathBuf) -> Self {
        Self::with_disk(dir, Arc::new(OsDisk))
    }

    /// Like [`new`](BlobStore::new), on another file system.
    pub fn with_disk(dir: PathBuf, disk: Arc<dyn Disk>) -> Self {
        Self { dir, disk }
    }

    /// The directory.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Stores a content durably. A file of that name and length is taken to be the content, since
    /// names only ever appear by renaming a synced file.
    pub fn put(&self, bytes: &[u8]) -> Result<BlobPut> {
        let hash = hash_of(bytes);
        let path = self.dir.join(&hash);
        if !self.is_stored(&path, bytes.len()) {
            let mut file = AtomicFile::create(Arc::clone(&self.disk), &path)?;
            file.write(bytes)?;
            file.commit()?;
        }
        Ok(BlobPut { hash, path })
    }

    fn is_stored(&self, path: &Path, len: usize) -> bool {
        self.disk
            .stat(path)
            .is_ok_and(|stat| stat.is_file && stat.len == len as u64)
    }

    /// The content that a reference in a session means. `None` when it is missing: not a hash, no
    /// such file, or a file whose content has another hash (cut short, tampered with). References
    /// come from files that anybody may have written, so nothing but a hash becomes a path.
    pub fn get(&self, hash: &str) -> Result<Option<Vec<u8>>> {
        if !is_hash(hash) {
            return Ok(None);
        }
        let content = missing_as_none(read_file(&self.dir.join(hash)))?;
        Ok(content.filter(|bytes| hash_of(bytes) == hash))
    }

    /// What is there for a reference, without keeping its content in memory. A blob that cannot be
    /// read is an error.
    pub fn state(&self, hash: &str) -> Result<BlobState> {
        const STEP: usize = 1 << 20;
        if !is_hash(hash) {
            return Ok(BlobState::NoHash);
        }
        let path = self.dir.join(hash);
        let mut file = match open_regular(&path) {
            Err(error) if error.is_not_found() => return Ok(BlobState::Missing),
            outcome => outcome?,
        };
        let mut hasher = Sha256::new();
        let mut chunk = vec![0; STEP];
        loop {
            let count = match file.read(&mut chunk) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                outcome => outcome.during("read", &path)?,
            };
            match chunk.get(..count) {
                Some(bytes) if count > 0 => hasher.update(bytes),
                _ => break,
            }
        }
        Ok(match hex(&hasher.finalize()) == hash {
            true => BlobState::Whole,
            false => BlobState::Damaged,
        })
    }

    /// The bytes of any file in the directory, unverified; the directory itself for an empty name
    /// (an `EISDIR` error). `None` when missing and for names that lead out of the directory.
    pub fn read_any(&self, name: &str) -> Result<Option<Vec<u8>>> {
        match self.path_of(name) {
            Some(path) => missing_as_none(read_file(&path)),
            None => Ok(None),
        }
    }

    /// Whether there is anything of that name in the directory.
    pub fn has(&self, name: &str) -> bool {
        self.path_of(name).is_some_and(|path| path.exists())
    }

    fn path_of(&self, name: &str) -> Option<PathBuf> {
        if name.is_empty() {
            return Some(self.dir.clone());
        }
        let escapes = name.contains(['/', '\\', ':']) || name.contains("..");
        (!escapes).then(|| self.dir.join(name))
    }
}

fn missing_as_none(outcome: Result<Vec<u8>>) -> Result<Option<Vec<u8>>> {
    match outcome {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
#[cfg(unix)]
#[path = "blob_tests.rs"]
mod tests;
