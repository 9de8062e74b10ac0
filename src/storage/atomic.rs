//! Replacing a file as a whole: readers see the old content or the new one, never a part, also
//! after a crash or a loss of power.
//!
//! The new content goes to a hidden file `.<base>.<suffix>.tmp` beside the destination, is synced,
//! gets the destination's mode and is renamed over it; then the directory is synced. Until the
//! rename every failure leaves the destination as it was. If only the last step, the directory's
//! sync, fails, the new content is in place but may not survive a loss of power: the error then
//! names `fsync` and the directory, and replacing again is safe.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::{Error, Result};

use super::disk::{Disk, DiskFile, FILE_MODE, parent_of};

/// Writes are gathered to this size before they go to the kernel.
const BUFFER_BYTES: usize = 64 * 1024;
/// The part of the destination's name that temporary names repeat; together with the suffix they
/// must stay under the usual limit of 255 bytes.
const BASE_BYTES: usize = 200;
/// Attempts at a random name that is free; one is enough unless somebody guesses.
const NAME_ATTEMPTS: usize = 8;

/// What to do when there already is something at the destination.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Existing {
    /// Replace it, keeping its mode. A symbolic link stays and what it leads to is replaced.
    #[default]
    Replace,
    /// Leave it alone and fail with [`Error::AlreadyExists`]; a dangling link counts as existing.
    Refuse,
}

/// Choices of [`AtomicFile::create_with`].
#[derive(Debug, Clone, Default)]
pub struct AtomicOptions {
    /// What to do when the destination exists.
    pub existing: Existing,
    /// The distinguishing part of the temporary name; random when absent. Must be a file name.
    pub suffix: Option<String>,
}

/// A new content on its way to its destination. Dropped without [`commit`](AtomicFile::commit),
/// the temporary file is removed and the destination stays as it was.
pub struct AtomicFile {
    disk: Arc<dyn Disk>,
    destination: PathBuf,
    options: AtomicOptions,
    temp: Temp,
    buffer: Vec<u8>,
}

/// The file after a successful [`AtomicFile::commit`].
pub struct Committed {
    /// The very file that now is at the destination, open for reading and writing in place.
    pub file: Box<dyn DiskFile>,
    /// The destination with symbolic links at its last component resolved.
    pub path: PathBuf,
}

/// A content that is in place, but whose name may not survive a loss of power yet.
pub struct Placed {
    disk: Arc<dyn Disk>,
    committed: Committed,
}

impl Placed {
    /// Syncs the directory.
    pub fn make_durable(self) -> Result<Committed> {
        self.disk.sync_dir(parent_of(&self.committed.path))?;
        Ok(self.committed)
    }
}

/// The temporary file; its name is removed on drop unless it has been renamed away.
struct Temp {
    disk: Arc<dyn Disk>,
    path: PathBuf,
    /// `None` once renamed.
    file: Option<Box<dyn DiskFile>>,
}

impl Temp {
    fn file(&mut self) -> Result<&mut Box<dyn DiskFile>> {
        self.file
            .as_mut()
            .ok_or_else(|| Error::Internal("temporary file is gone".to_owned()))
    }
}

impl Drop for Temp {
    fn drop(&mut self) {
        if self.file.take().is_some() {
            // Nothing better can be done about a name that cannot be removed.
            let _ = self.disk.remove_file(&self.path);
        }
    }
}

impl AtomicFile {
    /// Starts to replace `destination`; missing directories are created.
    pub fn create(disk: Arc<dyn Disk>, destination: &Path) -> Result<Self> {
        Self::create_with(disk, destination, AtomicOptions::default())
    }

    /// Like [`create`](AtomicFile::create), with choices.
    pub fn create_with(
        disk: Arc<dyn Disk>,
        destination: &Path,
        options: AtomicOptions,
    ) -> Result<Self> {
        let destination = match options.existing {
            Existing::Replace => disk.resolve_link(destination)?,
            Existing::Refuse => destination.to_path_buf(),
        };
        let temp = create_temp(&disk, &destination, options.suffix.as_deref())?;
        Ok(Self {
            disk,
            destination,
            options,
            temp,
            buffer: Vec::new(),
        })
    }

    /// Adds to the new content. After a failure the file can only be dropped.
    pub fn write(&mut self, bytes: &[u8]) -> Result<()> {
        if self.buffer.len() + bytes.len() > BUFFER_BYTES {
            self.write_buffer()?;
        }
        if bytes.len() >= BUFFER_BYTES {
            return Ok(self.temp.file()?.write_all(bytes)?);
        }
        self.buffer.extend_from_slice(bytes);
        Ok(())
    }

    /// Puts the new content in place. Blocks for two syncs (file and directory).
    pub fn commit(self) -> Result<Committed> {
        self.place()?.make_durable()
    }

    /// Syncs the new content and puts it in place; its name is not durable yet.
    pub fn place(mut self) -> Result<Placed> {
        self.write_buffer()?;
        self.seal()?;
        match self.put_in_place() {
            Err(error) if error.is_not_found() => {
                self.rescue(error)?;
                self.put_in_place()?;
            }
            outcome => outcome?,
        }
        let file = self
            .temp
            .file
            .take()
            .ok_or_else(|| Error::Internal("temporary file is gone".to_owned()))?;
        Ok(Placed {
            disk: Arc::clone(&self.disk),
            committed: Committed {
                file,
                path: std::mem::take(&mut self.destination),
            },
        })
    }

    fn write_buffer(&mut self) -> Result<()> {
        if !self.buffer.is_empty() {
            self.temp.file()?.write_all(&self.buffer)?;
            self.buffer.clear();
        }
        Ok(())
    }

    /// Final mode and durable content. The mode is read as late as possible: it may have been
    /// changed since the start.
    fn seal(&mut self) -> Result<()> {
        let mode = match self.disk.stat(&self.destination) {
            Ok(stat) => stat.mode,
            Err(error) if error.is_not_found() => FILE_MODE,
            Err(error) => return Err(error),
        };
        let file = self.temp.file()?;
        file.set_mode(mode)?;
        file.sync()
    }

    fn put_in_place(&self) -> Result<()> {
        match self.options.existing {
            Existing::Replace => self.disk.rename(&self.temp.path, &self.destination),
            Existing::Refuse => self.disk.rename_new(&self.temp.path, &self.destination),
        }
    }

    /// The directory, and with it the temporary name, was removed under our feet. The content
    /// still exists behind the descriptor: copy it to a new temporary file in a new directory.
    fn rescue(&mut self, cause: Error) -> Result<()> {
        self.disk.create_dirs(parent_of(&self.destination))?;
        let mut fresh = create_temp(&self.disk, &self.destination, None)?;
        if copy(self.temp.file()?.as_ref(), fresh.file()?.as_mut()).is_err() {
            return Err(cause);
        }
        self.temp = fresh;
        self.seal()
    }
}

fn copy(from: &dyn DiskFile, to: &mut dyn DiskFile) -> Result<()> {
    let mut chunk = vec![0; BUFFER_BYTES];
    let mut offset = 0;
    loop {
        let count = from.read_at(offset, &mut chunk)?;
        let Some(bytes) = chunk.get(..count).filter(|bytes| !bytes.is_empty()) else {
            return Ok(());
        };
        to.write_all(bytes)?;
        offset += count as u64;
    }
}

fn create_temp(disk: &Arc<dyn Disk>, destination: &Path, suffix: Option<&str>) -> Result<Temp> {
    let mut attempts = 0;
    loop {
        attempts += 1;
        let path = match suffix {
            Some(suffix) => temp_path(destination, suffix),
            None => temp_path(destination, &random_suffix()?),
        };
        match disk.create_new(&path, FILE_MODE) {
            Ok(file) => {
                return Ok(Temp {
                    disk: Arc::clone(disk),
                    path,
                    file: Some(file),
                });
            }
            Err(error) if attempts >= NAME_ATTEMPTS => return Err(error),
            Err(error) if error.is_not_found() => disk.create_dirs(parent_of(destination))?,
            Err(error) if error.code() == "EEXIST" && suffix.is_none() => {}
            Err(error) => return Err(error),
        }
    }
}

fn temp_path(destination: &Path, suffix: &str) -> PathBuf {
    hidden_beside(destination, &format!("{suffix}.tmp"))
}

/// `.<base>.<ending>` beside a file: hidden, not matched by listings, and short enough to be a name.
pub fn hidden_beside(destination: &Path, ending: &str) -> PathBuf {
    let base = destination.file_name().unwrap_or_default();
    let base = base.to_string_lossy();
    let cut = (0..=base.len().min(BASE_BYTES))
        .rev()
        .find(|&at| base.is_char_boundary(at))
        .unwrap_or(0);
    let base = base.get(..cut).unwrap_or_default();
    parent_of(destination).join(format!(".{base}.{ending}"))
}

fn random_suffix() -> Result<String> {
    let random =
        getrandom::u64().map_err(|error| Error::Internal(format!("no random numbers: {error}")))?;
    Ok(format!("{random:016x}"))
}

#[cfg(test)]
#[cfg(unix)]
#[path = "atomic_tests.rs"]
mod tests;
