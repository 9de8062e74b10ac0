//! Advisory locks that end with their holder.
//!
//! A lock is a `flock` on a hidden file `.<base>.lock` beside the file that it protects. It belongs
//! to one open descriptor, so two holders in one process exclude each other like two processes, and
//! the system ends it when the holder is gone, however that happened. The lock file is removed by
//! its holder; one that was left behind means nothing. Only whoever replaces the file or its header
//! takes the lock: reading, listing and appending never look at it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::atomic::hidden_beside;
use super::disk::{Disk, DiskFile};
use super::platform;
use crate::{Error, Result};

/// Outcome of asking for a lock.
pub enum Locked {
    /// It is ours.
    Held(FileLock),
    /// Somebody else has it.
    Busy,
    /// There are no locks here: an old network file system, or a folder that cannot be written to.
    NotOffered,
}

/// A lock that is held until it is dropped.
pub struct FileLock {
    disk: Arc<dyn Disk>,
    path: PathBuf,
    /// Closed after the name was removed.
    file: Box<dyn DiskFile>,
}

impl FileLock {
    /// Locks a file. With `wait`, blocks until everybody before us is done or gone.
    pub fn acquire(disk: &Arc<dyn Disk>, protected: &Path, wait: bool) -> Result<Locked> {
        let path = hidden_beside(protected, "lock");
        loop {
            let file = match disk.open_lock(&path) {
                Err(error) if is_closed_to_us(&error) => return Ok(Locked::NotOffered),
                outcome => outcome?,
            };
            match file.lock(wait) {
                Ok(true) => {}
                Ok(false) => return Ok(Locked::Busy),
                Err(error) => {
                    if !not_offered(&error) {
                        return Err(error);
                    }
                    // Nothing is protected by a name that nobody can lock.
                    let _ = disk.remove_file(&path);
                    return Ok(Locked::NotOffered);
                }
            }
            let lock = Self {
                disk: Arc::clone(disk),
                path: path.clone(),
                file,
            };
            match lock.is_current() {
                Ok(true) => return Ok(Locked::Held(lock)),
                Ok(false) => lock.abandon(),
                Err(error) => {
                    lock.abandon();
                    return Err(error);
                }
            }
        }
    }

    /// The file that we locked may have been removed by its last holder while we waited.
    fn is_current(&self) -> Result<bool> {
        let ours = self.file.identity()?;
        match self.disk.stat(&self.path) {
            Err(error) if error.is_not_found() => Ok(false),
            outcome => Ok(outcome?.identity == ours),
        }
    }

    /// Gives up without removing the name, which is not ours.
    fn abandon(mut self) {
        self.path = PathBuf::new();
    }
}

impl Drop for FileLock {
    fn drop(&mut self) {
        if !self.path.as_os_str().is_empty() {
            // A name that stays is harmless.
            let _ = self.disk.remove_file(&self.path);
        }
    }
}

/// Whether a failed call means that the file system does not offer it.
pub fn not_offered(error: &Error) -> bool {
    matches!(error, Error::Io { source, .. } if platform::not_offered(source))
}

/// No lock file can be here; nor could a temporary file, so nobody replaces anything.
fn is_closed_to_us(error: &Error) -> bool {
    use std::io::ErrorKind::{NotADirectory, NotFound, PermissionDenied, ReadOnlyFilesystem};
    matches!(
        error,
        Error::Io { source, .. } if matches!(
            source.kind(),
            NotADirectory | NotFound | PermissionDenied | ReadOnlyFilesystem
        )
    )
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;
    use crate::storage::disk::OsDisk;
    use crate::storage::faulty::{Fault, for_each_fault};

    fn disk() -> Arc<dyn Disk> {
        Arc::new(OsDisk)
    }

    fn is_held(locked: &Locked) -> bool {
        matches!(locked, Locked::Held(_))
    }

    #[test]
    fn two_holders_in_one_process_exclude_each_other() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s.jsonl");
        let first = FileLock::acquire(&disk(), &path, false).unwrap();
        assert!(is_held(&first));
        let second = FileLock::acquire(&disk(), &path, false).unwrap();
        assert!(matches!(second, Locked::Busy));
        drop(first);
        assert!(is_held(&FileLock::acquire(&disk(), &path, false).unwrap()));
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_lock_file_without_holder_is_harmless() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s.jsonl");
        std::fs::write(dir.path().join(".s.jsonl.lock"), "").unwrap();
        assert!(is_held(&FileLock::acquire(&disk(), &path, false).unwrap()));
    }

    #[test]
    fn only_one_holds_it_at_any_time() {
        use std::sync::atomic::{AtomicUsize, Ordering};
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s.jsonl");
        let (inside, turns) = (AtomicUsize::new(0), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..100 {
                        let lock = FileLock::acquire(&disk(), &path, true).unwrap();
                        assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0);
                        turns.fetch_add(1, Ordering::SeqCst);
                        inside.fetch_sub(1, Ordering::SeqCst);
                        assert!(is_held(&lock));
                    }
                });
            }
        });
        assert_eq!(turns.into_inner(), 400);
    }

    #[test]
    fn where_nothing_can_be_written_there_are_no_locks() {
        let missing = Path::new("/nonexistent/folder/s.jsonl");
        let outcome = FileLock::acquire(&disk(), missing, true).unwrap();
        assert!(matches!(outcome, Locked::NotOffered));
    }

    #[test]
    fn failures_are_reported_and_leave_no_lock() {
        for_each_fault(Fault::Fails, |faulty| {
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("s.jsonl");
            let shared: Arc<dyn Disk> = faulty.clone();
            let outcome = FileLock::acquire(&shared, &path, false);
            assert_eq!(outcome.is_err(), faulty.struck());
            drop(outcome);
            assert!(is_held(&FileLock::acquire(&disk(), &path, false).unwrap()));
        });
    }
}
