//! One file takes the place of another under the same name, while others append.
//!
//! Appending takes no lock, so lines can reach the old file at any moment. None is lost and none is
//! written twice because each line is taken over by exactly one side:
//!
//! * **The rewriter** holds the lock of [`FileLock`]. It opens the old file, writes the new one with
//!   everything that it finds, gives the old file a second name `.<base>.previous`, and renames. Then
//!   it reads what reached the old file in the meantime, appends that to the new one, and removes the
//!   second name.
//! * **An appender** writes to the file that it has open and then looks at the path. If that still
//!   leads to the same file, the rename comes later than the line, and the rewriter sees the line in
//!   one of its two looks. If not, the rewriter may have seen the line or not. The appender then takes
//!   the lock, that is, waits until the rewriter is done or gone, looks for the line by its id in the
//!   new file, and writes it there only if it is missing.
//! * **A rewriter that dies** between its rename and the end of its second look leaves the second
//!   name behind. Whoever next opens the session, replaces the file or finds it replaced gets the
//!   lock, which the system ended, appends what is missing and removes the name. Before the rename
//!   both names lead to one file and nothing is missing.
//!
//! An appender that opens the new file while the second name is there waits until it is gone: its earlier
//! lines may come with the second look, and shall stand before its later ones.
//!
//! A line of which only a part is in the old file at the second look is still being written: its
//! appender will find the file replaced. Where there are no locks, rewriters do not take turns, and
//! what is said above holds for one of them. Where files have no second names, a rewriter must not die.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::records::{What, each_record, end_of_lines};
use super::writer::{Appended, Writer};
use crate::error::IoContext;
use crate::storage::atomic::hidden_beside;
use crate::storage::disk::{Disk, FileIdentity, open_regular, read_at, stat_of_file};
use crate::storage::lock::{FileLock, Locked, not_offered};
use crate::{Error, Result};

/// The second name of a file that is being replaced.
fn previous_name(destination: &Path) -> PathBuf {
    hidden_beside(destination, "previous")
}

/// Whether a rewriter is between its rename and its end, or died there.
pub fn is_unfinished(disk: &Arc<dyn Disk>, destination: &Path) -> bool {
    disk.stat(&previous_name(destination)).is_ok()
}

/// The right to replace a session file, or its header, until it is dropped.
pub struct Turn {
    /// `None` where there are no locks.
    _lock: Option<FileLock>,
}

impl Turn {
    /// Waits for it; then completes what an earlier rewriter left. Links must have been resolved.
    pub fn take(disk: &Arc<dyn Disk>, destination: &Path) -> Result<Self> {
        let lock = match FileLock::acquire(disk, destination, true)? {
            Locked::Held(lock) => Some(lock),
            Locked::Busy | Locked::NotOffered => None,
        };
        finish(disk, destination)?;
        Ok(Self { _lock: lock })
    }
}

/// Completes what a rewriter that died has left; does nothing while one is at work.
pub fn recover(disk: &Arc<dyn Disk>, path: &Path) -> Result<()> {
    let destination = disk.resolve_link(path)?;
    if !is_unfinished(disk, &destination) {
        return Ok(());
    }
    match FileLock::acquire(disk, &destination, false)? {
        Locked::Held(_lock) => finish(disk, &destination),
        Locked::Busy | Locked::NotOffered => Ok(()),
    }
}

/// Waits until nobody is between a rename and the end of the second look, and completes what one that
/// died there has left. Blocking, usually for less than a millisecond.
pub fn await_second_look(disk: &Arc<dyn Disk>, path: &Path) -> Result<()> {
    const PAUSE: Duration = Duration::from_micros(200);
    let destination = disk.resolve_link(path)?;
    while is_unfinished(disk, &destination) {
        match FileLock::acquire(disk, &destination, false)? {
            Locked::Held(_lock) => return finish(disk, &destination),
            Locked::NotOffered => return Ok(()),
            Locked::Busy => std::thread::sleep(PAUSE),
        }
    }
    Ok(())
}

/// Of these keys, those that no entry in a file has.
pub fn missing_from(path: &Path, mut keys: HashSet<Vec<u8>>) -> Result<HashSet<Vec<u8>>> {
    let file = match open_regular(path) {
        Err(error) if error.is_not_found() => return Ok(keys),
        outcome => outcome?,
    };
    let len = stat_of_file(&file).during("fstat", path)?.len;
    each_record(&file, path, 0, len, |record| {
        if let What::Entry(key) = record.what {
            keys.remove(&key);
        }
        Ok(())
    })?;
    Ok(keys)
}

/// Appends to the file at a path and makes it durable. Whole lines only.
pub fn append_durably(disk: &Arc<dyn Disk>, path: &Path, lines: &[u8]) -> Result<()> {
    if lines.is_empty() {
        return Ok(());
    }
    let mut writer = Writer::of_rewriter(Arc::clone(disk), path.to_path_buf());
    match writer.append(lines)? {
        Appended::Written => writer.sync(),
        // Somebody who takes no locks removed or replaced what has just been put there.
        Appended::Missing | Appended::Displaced | Appended::Unfinished => Ok(()),
    }
}

/// Takes over from a file that was replaced by a rewriter that died.
fn finish(disk: &Arc<dyn Disk>, destination: &Path) -> Result<()> {
    let name = previous_name(destination);
    let previous = match open_regular(&name) {
        Err(error) if error.is_not_found() => return Ok(()),
        outcome => outcome?,
    };
    let current = match open_regular(destination) {
        // What replaces the missing file will take over from it.
        Err(error) if error.is_not_found() => return Ok(()),
        outcome => outcome?,
    };
    let (old, new) = (
        stat_of_file(&previous).during("fstat", &name)?,
        stat_of_file(&current).during("fstat", destination)?,
    );
    if old.identity != new.identity {
        let mut known = HashSet::new();
        each_record(&current, destination, 0, new.len, |record| {
            if let What::Entry(key) = record.what {
                known.insert(key);
            }
            Ok(())
        })?;
        let mut lines = Vec::new();
        let end = end_of_lines(&previous, &name, 0, old.len)?;
        each_record(&previous, &name, 0, end, |record| {
            let is_missing = matches!(&record.what, What::Entry(key) if !known.contains(key));
            if is_missing {
                let start = lines.len();
                lines.resize(start + record.len as usize, 0);
                let room = lines.get_mut(start..).unwrap_or_default();
                read_at(&previous, record.offset, room).during("read", &name)?;
                lines.push(b'\n');
            }
            Ok(())
        })?;
        append_durably(disk, destination, &lines)?;
    }
    disk.remove_file(&name)
}

/// The second name of the file that is about to be replaced. Dropped before the rename, it is removed.
pub struct Predecessor {
    disk: Arc<dyn Disk>,
    name: Option<PathBuf>,
}

impl Predecessor {
    /// Gives the file at `destination` its second name. `None` when it is not the expected one any
    /// more.
    pub fn name(
        disk: &Arc<dyn Disk>,
        destination: &Path,
        expected: FileIdentity,
    ) -> Result<Option<Self>> {
        let name = previous_name(destination);
        let mut predecessor = Self {
            disk: Arc::clone(disk),
            name: None,
        };
        match disk.link(destination, &name) {
            Err(error) if not_offered(&error) => {}
            // Without locks another rewriter may be at it.
            Err(Error::AlreadyExists(_)) => {}
            Err(error) if error.is_not_found() => return Ok(None),
            outcome => {
                outcome?;
                predecessor.name = Some(name);
            }
        }
        let is_expected = match disk.stat(destination) {
            Err(error) if error.is_not_found() => false,
            outcome => outcome?.identity == expected,
        };
        Ok(is_expected.then_some(predecessor))
    }

    /// The rename is done: from here on the name must stay until everything is taken over.
    pub fn replaced(mut self) -> Replaced {
        Replaced {
            disk: Arc::clone(&self.disk),
            name: self.name.take(),
        }
    }
}

impl Drop for Predecessor {
    fn drop(&mut self) {
        if let Some(name) = self.name.take() {
            // A name that stays is found to lead to the file itself.
            let _ = self.disk.remove_file(&name);
        }
    }
}

/// A file that was replaced and from which lines may be missing.
pub struct Replaced {
    disk: Arc<dyn Disk>,
    name: Option<PathBuf>,
}

impl Replaced {
    /// Everything is taken over.
    pub fn done(self) -> Result<()> {
        match &self.name {
            Some(name) => match self.disk.remove_file(name) {
                Err(error) if error.is_not_found() => Ok(()),
                outcome => outcome,
            },
            None => Ok(()),
        }
    }
}

#[cfg(test)]
#[cfg(unix)]
#[path = "succession_tests.rs"]
mod tests;
