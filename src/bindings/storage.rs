//! Text files for `FileSessionStorage`.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use napi::bindgen_prelude::{Env, ToNapiValue, TypeName};
use napi_derive::napi;

use super::error::OrThrow;
use super::task::{Promised, run_blocking};
use crate::storage::disk::{Disk, OsDisk, parent_of};
use crate::storage::text::{OpenMode, TextWriter};
use crate::storage::{glob, leftovers, text};
use crate::{Error, Result};

/// What the facade makes a `SessionStorageStat` of.
#[napi(object)]
pub struct NativeStat {
    /// Length in bytes.
    pub size: f64,
    /// Milliseconds since 1970, with a fraction.
    pub mtime_ms: f64,
}

/// Creates a directory with its parents, unless there is something at the path.
#[napi(catch_unwind)]
pub fn storage_ensure_dir(env: &Env, dir: String) -> napi::Result<()> {
    OsDisk.create_dirs(Path::new(&dir)).or_throw(env)
}

/// Whether a path leads to anything; errors mean no.
#[napi(catch_unwind)]
pub fn storage_exists_sync(path: String) -> bool {
    Path::new(&path).exists()
}

/// Removes temporary files that killed processes left in a directory more than a day before `now`
/// (milliseconds since 1970), off-thread; gives their number.
#[napi(catch_unwind, ts_return_type = "Promise<number>")]
pub fn remove_leftovers(dir: String, now: f64) -> napi::Result<Promised<f64>> {
    run_blocking(
        move || Ok(leftovers::remove_old(&OsDisk, Path::new(&dir), now)),
        |_, count| Ok(count as f64),
    )
}

/// Replaces a file's content in place.
#[napi(catch_unwind)]
pub fn storage_write_text_sync(env: &Env, path: String, content: String) -> napi::Result<()> {
    text::write(Path::new(&path), &content).or_throw(env)
}

/// Size and time of last modification.
#[napi(catch_unwind)]
pub fn storage_stat(env: &Env, path: String) -> napi::Result<NativeStat> {
    let stat = OsDisk.stat(Path::new(&path)).or_throw(env)?;
    Ok(NativeStat {
        size: stat.len as f64,
        mtime_ms: milliseconds(stat.mtime_ns),
    })
}

/// Whole seconds and the rest are converted apart, as the hosts do, so that the same fraction comes
/// out to the last bit.
fn milliseconds(nanoseconds: i128) -> f64 {
    const PER_SECOND: i128 = 1_000_000_000;
    let seconds = nanoseconds.div_euclid(PER_SECOND) as f64;
    let rest = nanoseconds.rem_euclid(PER_SECOND) as f64;
    seconds * 1e3 + rest / 1e6
}

/// Matching files, relative to the directory.
#[napi(catch_unwind)]
pub fn storage_list_files(env: &Env, dir: String, pattern: String) -> napi::Result<Vec<String>> {
    glob::list_files(Path::new(&dir), &pattern).or_throw(env)
}

/// Whether a path leads to anything; rejects when that cannot be told.
#[napi(catch_unwind)]
pub fn storage_exists(path: String) -> napi::Result<Promised<bool>> {
    blocking(move || text::exists(Path::new(&path)))
}

/// The whole file as text.
#[napi(catch_unwind)]
pub fn storage_read_text(path: String) -> napi::Result<Promised<String>> {
    blocking(move || text::read(Path::new(&path)))
}

/// The first `max_bytes` (positive) bytes of a file as text.
#[napi(catch_unwind)]
pub fn storage_read_text_prefix(path: String, max_bytes: f64) -> napi::Result<Promised<String>> {
    // The conversion saturates, infinity means the whole file.
    blocking(move || text::read_prefix(Path::new(&path), max_bytes as u64))
}

/// Replaces a file's content in place, creating missing directories.
#[napi(catch_unwind)]
pub fn storage_write_text(path: String, content: String) -> napi::Result<Promised<()>> {
    blocking(move || text::write_with_dirs(Path::new(&path), &content))
}

/// Renames; missing files are not an error.
#[napi(catch_unwind)]
pub fn storage_rename(from: String, to: String) -> napi::Result<Promised<()>> {
    blocking(move || text::rename(Path::new(&from), Path::new(&to)))
}

/// Removes a file.
#[napi(catch_unwind)]
pub fn storage_unlink(path: String) -> napi::Result<Promised<()>> {
    blocking(move || OsDisk.remove_file(Path::new(&path)))
}

fn blocking<T>(work: impl FnOnce() -> Result<T> + Send + 'static) -> napi::Result<Promised<T>>
where
    T: ToNapiValue + TypeName + Send + 'static,
{
    run_blocking(work, |_, value| Ok(value))
}

/// An open file; the descriptor is closed by `close` or when the object is collected.
#[napi]
pub struct NativeTextWriter {
    writer: Mutex<Option<TextWriter>>,
}

#[napi]
impl NativeTextWriter {
    /// Opens the file, creating missing directories.
    #[napi(constructor, catch_unwind)]
    pub fn new(env: &Env, path: String, truncate: bool) -> napi::Result<Self> {
        let path = PathBuf::from(path);
        let mode = match truncate {
            true => OpenMode::Truncate,
            false => OpenMode::Append,
        };
        let writer = OsDisk
            .create_dirs(parent_of(&path))
            .and_then(|()| TextWriter::open(&path, mode))
            .or_throw(env)?;
        Ok(Self {
            writer: Mutex::new(Some(writer)),
        })
    }

    /// Writes all of the text before it returns.
    #[napi(catch_unwind)]
    pub fn write(&self, env: &Env, text: String) -> napi::Result<()> {
        let writer = self.open_writer();
        writer.and_then(|writer| writer.write(&text)).or_throw(env)
    }

    /// Makes what was written durable.
    #[napi(catch_unwind)]
    pub fn sync(&self) -> napi::Result<Promised<()>> {
        let writer = self.open_writer();
        blocking(move || writer?.sync())
    }

    /// Gives the descriptor back; a sync under way ends first.
    #[napi(catch_unwind)]
    pub fn close(&self) {
        self.lock().take();
    }

    fn open_writer(&self) -> Result<TextWriter> {
        self.lock().clone().ok_or(Error::WriterClosed)
    }

    fn lock(&self) -> MutexGuard<'_, Option<TextWriter>> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
