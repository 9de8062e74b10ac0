//! A disk whose n-th operation fails, for tests. Any writing code can be run once for every n: see
//! [`for_each_fault`].

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::disk::{Disk, DiskFile, FileStat, OsDisk, WriteFailure};
use crate::{Error, Result};

/// How an operation fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// It fails with "input/output error" and does nothing.
    Fails,
    /// It fails with this error number and does nothing.
    FailsWith(i32),
    /// A write lets half of its bytes out, then the disk is full. Other operations just fail.
    HalfWritten,
}

/// Error numbers of Linux that each operation is made to fail with.
pub(crate) const EACH_FAULT: [Fault; 6] = [
    Fault::HalfWritten,
    Fault::FailsWith(5),  // EIO
    Fault::FailsWith(13), // EACCES
    Fault::FailsWith(24), // EMFILE
    Fault::FailsWith(28), // ENOSPC
    Fault::FailsWith(30), // EROFS
];

impl Fault {
    fn error(self) -> io::Error {
        io::Error::from_raw_os_error(match self {
            Fault::FailsWith(number) => number,
            Fault::Fails | Fault::HalfWritten => 5,
        })
    }
}

struct Script {
    /// Operations begun so far.
    count: AtomicUsize,
    /// Number of the operation that fails, counted from 0.
    fails_at: AtomicUsize,
    /// Whether all later ones fail as well.
    lasts: bool,
    fault: Fault,
    /// Whether the fault came.
    struck: AtomicBool,
    /// Whether its cause is gone.
    mended: AtomicBool,
}

impl Script {
    /// Counts an operation; true when it is the one that fails.
    fn strikes(&self) -> bool {
        if self.mended.load(Ordering::SeqCst) {
            return false;
        }
        let count = self.count.fetch_add(1, Ordering::SeqCst);
        let fails_at = self.fails_at.load(Ordering::SeqCst);
        let strikes = count == fails_at || (self.lasts && count > fails_at);
        if strikes {
            self.struck.store(true, Ordering::SeqCst);
        }
        strikes
    }

    fn check(&self, syscall: &'static str, path: &Path) -> Result<()> {
        if self.strikes() {
            return Err(Error::io(syscall, path, self.fault.error()));
        }
        Ok(())
    }
}

/// The real disk with one scripted fault. `remove_file` is never hit, it is what cleaning up needs.
/// Syncs only count: nobody pulls the plug, and thousands of lives are lived on this disk.
pub(crate) struct FaultyDisk {
    script: Arc<Script>,
}

impl FaultyDisk {
    /// The operation with this number, counted from 0, fails.
    pub(crate) fn new(fails_at: usize, fault: Fault) -> Self {
        Self::scripted(fails_at, false, fault)
    }

    /// The operation with this number and all later ones fail.
    pub(crate) fn lasting(fails_at: usize, fault: Fault) -> Self {
        Self::scripted(fails_at, true, fault)
    }

    fn scripted(fails_at: usize, lasts: bool, fault: Fault) -> Self {
        Self {
            script: Arc::new(Script {
                count: AtomicUsize::new(0),
                fails_at: AtomicUsize::new(fails_at),
                lasts,
                fault,
                struck: AtomicBool::new(false),
                mended: AtomicBool::new(false),
            }),
        }
    }

    /// So many operations work; the one behind them fails.
    pub(crate) fn fail_behind(&self, operations: usize) {
        let next = self.script.count.load(Ordering::SeqCst) + operations;
        self.script.fails_at.store(next, Ordering::SeqCst);
    }

    /// From now on everything works.
    pub(crate) fn mend(&self) {
        self.script.mended.store(true, Ordering::SeqCst);
    }

    /// Whether the fault came.
    pub(crate) fn struck(&self) -> bool {
        self.script.struck.load(Ordering::SeqCst)
    }

    fn wrap(&self, file: Box<dyn DiskFile>, path: &Path) -> Box<dyn DiskFile> {
        Box::new(FaultyFile {
            inner: file,
            path: path.to_path_buf(),
            script: Arc::clone(&self.script),
        })
    }
}

impl Disk for FaultyDisk {
    fn open_append(&self, path: &Path) -> Result<Box<dyn DiskFile>> {
        self.script.check("open", path)?;
        Ok(self.wrap(OsDisk.open_append(path)?, path))
    }

    fn open_existing(&self, path: &Path) -> Result<Box<dyn DiskFile>> {
        self.script.check("open", path)?;
        Ok(self.wrap(OsDisk.open_existing(path)?, path))
    }

    fn open_lock(&self, path: &Path) -> Result<Box<dyn DiskFile>> {
        self.script.check("open", path)?;
        Ok(self.wrap(OsDisk.open_lock(path)?, path))
    }

    fn create_new(&self, path: &Path, mode: u32) -> Result<Box<dyn DiskFile>> {
        self.script.check("open", path)?;
        Ok(self.wrap(OsDisk.create_new(path, mode)?, path))
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<()> {
        self.script.check("rename", to)?;
        OsDisk.rename(from, to)
    }

    fn rename_new(&self, from: &Path, to: &Path) -> Result<()> {
        self.script.check("rename", to)?;
        OsDisk.rename_new(from, to)
    }

    fn link(&self, from: &Path, to: &Path) -> Result<()> {
        self.script.check("link", from)?;
        OsDisk.link(from, to)
    }

    fn remove_file(&self, path: &Path) -> Result<()> {
        OsDisk.remove_file(path)
    }

    fn sync_dir(&self, dir: &Path) -> Result<()> {
        self.script.check("fsync", dir)
    }

    fn stat(&self, path: &Path) -> Result<FileStat> {
        self.script.check("stat", path)?;
        OsDisk.stat(path)
    }

    fn resolve_link(&self, path: &Path) -> Result<PathBuf> {
        self.script.check("readlink", path)?;
        OsDisk.resolve_link(path)
    }

    fn create_dirs(&self, path: &Path) -> Result<()> {
        self.script.check("mkdir", path)?;
        OsDisk.create_dirs(path)
    }
}

struct FaultyFile {
    inner: Box<dyn DiskFile>,
    path: PathBuf,
    script: Arc<Script>,
}

impl FaultyFile {
    fn fail_write(
        &mut self,
        bytes: &[u8],
        write: impl FnOnce(&mut dyn DiskFile, &[u8]) -> Result<(), WriteFailure>,
    ) -> Result<(), WriteFailure> {
        let written = match self.script.fault {
            Fault::Fails | Fault::FailsWith(_) => 0,
            Fault::HalfWritten => bytes.len() / 2,
        };
        write(self.inner.as_mut(), &bytes[..written])?;
        let full = match self.script.fault {
            Fault::FailsWith(number) => io::Error::from_raw_os_error(number),
            Fault::Fails | Fault::HalfWritten => io::Error::from_raw_os_error(28),
        };
        Err(WriteFailure {
            written,
            error: Error::io("write", &self.path, full),
        })
    }
}

impl DiskFile for FaultyFile {
    fn write_all(&mut self, bytes: &[u8]) -> Result<(), WriteFailure> {
        if self.script.strikes() {
            return self.fail_write(bytes, |file, half| file.write_all(half));
        }
        self.inner.write_all(bytes)
    }

    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> Result<(), WriteFailure> {
        if self.script.strikes() {
            return self.fail_write(bytes, |file, half| file.write_at(offset, half));
        }
        self.inner.write_at(offset, bytes)
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<usize> {
        self.script.check("read", &self.path)?;
        self.inner.read_at(offset, buffer)
    }

    fn position(&mut self) -> Result<u64> {
        self.script.check("lseek", &self.path)?;
        self.inner.position()
    }

    fn truncate(&mut self, len: u64) -> Result<()> {
        self.script.check("ftruncate", &self.path)?;
        self.inner.truncate(len)
    }

    fn sync(&self) -> Result<()> {
        self.script.check("fsync", &self.path)
    }

    fn set_mode(&self, mode: u32) -> Result<()> {
        self.script.check("fchmod", &self.path)?;
        self.inner.set_mode(mode)
    }

    fn lock(&self, wait: bool) -> Result<bool> {
        self.script.check("flock", &self.path)?;
        self.inner.lock(wait)
    }

    fn stat(&self) -> Result<FileStat> {
        self.script.check("fstat", &self.path)?;
        self.inner.stat()
    }
}

/// A directory in memory where the system has that: real disks make every replaced file wait.
pub(crate) fn quick_dir() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    let made = match memory.is_dir() {
        true => tempfile::tempdir_in(memory),
        false => tempfile::tempdir(),
    };
    made.unwrap()
}

/// Runs `scenario` with the fault at the first operation, at the second and so on, until a run
/// has no operation left to fail. Returns how many runs had a fault.
pub(crate) fn for_each_fault(fault: Fault, mut scenario: impl FnMut(Arc<FaultyDisk>)) -> usize {
    for fails_at in 0.. {
        let disk = Arc::new(FaultyDisk::new(fails_at, fault));
        scenario(Arc::clone(&disk));
        if !disk.struck() {
            return fails_at;
        }
    }
    unreachable!("the loop only ends by returning")
}
