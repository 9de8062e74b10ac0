//! The file-system operations that writing code uses, behind a trait, so that tests can make the
//! n-th operation fail and check that nothing is lost.
//!
//! Everything the core *writes* goes through a [`Disk`]; plain reading does not need to. The trait
//! is small on purpose: one method per system call that can fail on its own, errors always with
//! the call's name and the path. Paths are used as given.

use std::fs::{File, Metadata, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};

use crate::error::IoContext;
use crate::{Error, Result};

use super::platform;

/// Mode of files that we create: readable by their owner only, conversations are private.
pub const FILE_MODE: u32 = 0o600;
/// Mode of directories that we create.
pub const DIR_MODE: u32 = 0o700;

/// Which file it is, independent of its name. Zero on systems without inode numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FileIdentity {
    /// Device number.
    pub dev: u64,
    /// Inode number on that device.
    pub inode: u64,
}

impl FileIdentity {
    /// The identity of all files on systems that know none.
    pub const NONE: Self = Self { dev: 0, inode: 0 };
}

/// What `stat` tells about a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileStat {
    /// Which file it is.
    pub identity: FileIdentity,
    /// Length in bytes.
    pub len: u64,
    /// Permission bits, without the file type.
    pub mode: u32,
    /// Time of the last modification in nanoseconds since 1970; negative before.
    pub mtime_ns: i128,
    /// Time of the last change of content or metadata, which no program can set; where systems do
    /// not tell it, the time of creation. Nanoseconds since 1970.
    pub ctime_ns: i128,
    /// True for regular files.
    pub is_file: bool,
    /// True for directories.
    pub is_dir: bool,
}

/// A write that did not go out whole.
#[derive(Debug)]
pub struct WriteFailure {
    /// Bytes of the buffer that did reach the kernel before the failure.
    pub written: usize,
    /// What went wrong.
    pub error: Error,
}

impl From<WriteFailure> for Error {
    fn from(failure: WriteFailure) -> Self {
        failure.error
    }
}

/// Operations on paths.
pub trait Disk: Send + Sync {
    /// Opens an existing file for reading and appending: every write goes to the end, whatever
    /// others do.
    fn open_append(&self, path: &Path) -> Result<Box<dyn DiskFile>>;

    /// Opens an existing file for reading and for writing in place.
    fn open_existing(&self, path: &Path) -> Result<Box<dyn DiskFile>>;

    /// Opens a file that only serves to be locked; creates it with [`FILE_MODE`].
    fn open_lock(&self, path: &Path) -> Result<Box<dyn DiskFile>>;

    /// Creates a file that must not exist yet, for reading and writing. `mode` is subject to the
    /// process's umask; [`DiskFile::set_mode`] is not.
    fn create_new(&self, path: &Path, mode: u32) -> Result<Box<dyn DiskFile>>;

    /// Renames within one file system, replacing what is at `to`.
    fn rename(&self, from: &Path, to: &Path) -> Result<()>;

    /// Renames within one file system; [`Error::AlreadyExists`] when there is anything at `to`.
    fn rename_new(&self, from: &Path, to: &Path) -> Result<()>;

    /// Gives a file a second name; [`Error::AlreadyExists`] when there is anything at `to`.
    fn link(&self, from: &Path, to: &Path) -> Result<()>;

    /// Removes a file or a symbolic link.
    fn remove_file(&self, path: &Path) -> Result<()>;

    /// Makes the names in a directory durable. Does nothing where directories cannot be synced.
    fn sync_dir(&self, dir: &Path) -> Result<()>;

    /// Metadata of what the path leads to; symbolic links are followed.
    fn stat(&self, path: &Path) -> Result<FileStat>;

    /// Follows symbolic links at the last component of `path`, also dangling ones; other paths
    /// come back unchanged.
    fn resolve_link(&self, path: &Path) -> Result<PathBuf>;

    /// Creates a directory and its missing parents with [`DIR_MODE`]. Anything that exists at
    /// `path` already, even a file, is accepted silently: using it will tell.
    fn create_dirs(&self, path: &Path) -> Result<()>;
}

/// Operations on an open file.
pub trait DiskFile: Send + Sync {
    /// Writes the whole buffer at the current position (at the end, for files opened to append).
    /// The failure tells how much went out, so that the caller can roll back.
    fn write_all(&mut self, bytes: &[u8]) -> Result<(), WriteFailure>;

    /// Writes the whole buffer at an offset without moving the position. Not for files opened to
    /// append: Linux ignores the offset there.
    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> Result<(), WriteFailure>;

    /// Reads at an offset without moving the position; fewer bytes than asked for only at the end
    /// of the file.
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<usize>;

    /// Offset behind the last [`write_all`](DiskFile::write_all). For appending files this is where
    /// our own record ended, even when others append too.
    fn position(&mut self) -> Result<u64>;

    /// Cuts or extends the file.
    fn truncate(&mut self, len: u64) -> Result<()>;

    /// Makes content and length durable (`fsync`).
    fn sync(&self) -> Result<()>;

    /// Sets the permission bits, past the umask.
    fn set_mode(&self, mode: u32) -> Result<()>;

    /// Locks the file against everybody else who opened it and locks it, in this process too. Ends
    /// with the descriptor, also when the process is killed. Waits for its turn, or gives `false`
    /// when it would have to.
    fn lock(&self, wait: bool) -> Result<bool>;

    /// Metadata of the open file, wherever its name went.
    fn stat(&self) -> Result<FileStat>;

    /// Which file it is.
    fn identity(&self) -> Result<FileIdentity> {
        Ok(self.stat()?.identity)
    }

    /// Length in bytes.
    fn len(&self) -> Result<u64> {
        Ok(self.stat()?.len)
    }

    /// True when the length is zero.
    fn is_empty(&self) -> Result<bool> {
        Ok(self.len()? == 0)
    }
}

/// The operating system's file system.
#[derive(Debug, Clone, Copy, Default)]
pub struct OsDisk;

impl OsDisk {
    fn open(options: &mut OpenOptions, path: &Path, mode: u32) -> Result<Box<dyn DiskFile>> {
        platform::set_creation_mode(options, mode);
        let file = options.open(path).during("open", path)?;
        Ok(Box::new(OsFile {
            file,
            path: path.to_path_buf(),
        }))
    }
}

impl Disk for OsDisk {
    fn open_append(&self, path: &Path) -> Result<Box<dyn DiskFile>> {
        let mut options = OpenOptions::new();
        Self::open(options.read(true).append(true), path, FILE_MODE)
    }

    fn open_lock(&self, path: &Path) -> Result<Box<dyn DiskFile>> {
        let mut options = OpenOptions::new();
        Self::open(
            options.read(true).append(true).create(true),
            path,
            FILE_MODE,
        )
    }

    fn open_existing(&self, path: &Path) -> Result<Box<dyn DiskFile>> {
        Self::open(OpenOptions::new().read(true).write(true), path, FILE_MODE)
    }

    fn create_new(&self, path: &Path, mode: u32) -> Result<Box<dyn DiskFile>> {
        let mut options = OpenOptions::new();
        Self::open(options.read(true).write(true).create_new(true), path, mode)
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<()> {
        std::fs::rename(from, to).map_err(|source| rename_error(from, to, source))
    }

    fn rename_new(&self, from: &Path, to: &Path) -> Result<()> {
        platform::rename_new(from, to).map_err(|source| match source.kind() {
            io::ErrorKind::AlreadyExists => Error::AlreadyExists(to.to_path_buf()),
            _ => rename_error(from, to, source),
        })
    }

    fn link(&self, from: &Path, to: &Path) -> Result<()> {
        std::fs::hard_link(from, to).map_err(|source| match source.kind() {
            io::ErrorKind::AlreadyExists => Error::AlreadyExists(to.to_path_buf()),
            _ => Error::io("link", from, source),
        })
    }

    fn remove_file(&self, path: &Path) -> Result<()> {
        std::fs::remove_file(path).during("unlink", path)
    }

    fn sync_dir(&self, dir: &Path) -> Result<()> {
        platform::sync_dir(dir).during("fsync", dir)
    }

    fn stat(&self, path: &Path) -> Result<FileStat> {
        let metadata = std::fs::metadata(path).during("stat", path)?;
        Ok(platform::file_stat(&metadata))
    }

    fn resolve_link(&self, path: &Path) -> Result<PathBuf> {
        resolve_link(path)
    }

    fn create_dirs(&self, path: &Path) -> Result<()> {
        if path.exists() {
            return Ok(());
        }
        platform::dir_builder().create(path).during("mkdir", path)
    }
}

fn rename_error(from: &Path, to: &Path, source: io::Error) -> Error {
    Error::Rename {
        from: from.to_path_buf(),
        to: to.to_path_buf(),
        source,
    }
}

/// Follows the links at the last component one by one, so that a link whose target is missing
/// still leads to where the target belongs.
fn resolve_link(path: &Path) -> Result<PathBuf> {
    /// The kernel's own bound on the length of a chain of links.
    const LONGEST_CHAIN: usize = 40;
    let mut current = path.to_path_buf();
    for _ in 0..LONGEST_CHAIN {
        match std::fs::read_link(&current) {
            Ok(target) => current = parent_of(&current).join(target),
            Err(error) if not_a_link(&error) => return Ok(current),
            Err(error) => return Err(Error::io("readlink", &current, error)),
        }
    }
    Err(Error::io("open", path, platform::too_many_links()))
}

/// `readlink` says EINVAL for what exists but is no link.
fn not_a_link(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::InvalidInput | io::ErrorKind::NotFound
    )
}

/// The directory that holds `path`; `.` for a bare name.
pub fn parent_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        Some(_) => Path::new("."),
        None => path,
    }
}

struct OsFile {
    file: File,
    path: PathBuf,
}

/// Calls `write` until the buffer is out; it gets the rest of the buffer and how much came before.
/// [`Write::write_all`] would not tell how far it got.
pub(super) fn write_fully(
    path: &Path,
    bytes: &[u8],
    mut write: impl FnMut(&[u8], usize) -> io::Result<usize>,
) -> Result<(), WriteFailure> {
    let mut written = 0;
    while let Some(rest) = bytes.get(written..).filter(|rest| !rest.is_empty()) {
        let error = match write(rest, written) {
            Ok(0) => Error::ShortWrite(path.to_path_buf()),
            Ok(count) => {
                written += count;
                continue;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => Error::io("write", path, error),
        };
        return Err(WriteFailure { written, error });
    }
    Ok(())
}

impl DiskFile for OsFile {
    fn write_all(&mut self, bytes: &[u8]) -> Result<(), WriteFailure> {
        write_fully(&self.path, bytes, |rest, _| self.file.write(rest))
    }

    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> Result<(), WriteFailure> {
        write_fully(&self.path, bytes, |rest, written| {
            platform::write_at(&self.file, rest, offset + written as u64)
        })
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<usize> {
        read_at(&self.file, offset, buffer).during("read", &self.path)
    }

    fn position(&mut self) -> Result<u64> {
        self.file.stream_position().during("lseek", &self.path)
    }

    fn truncate(&mut self, len: u64) -> Result<()> {
        self.file.set_len(len).during("ftruncate", &self.path)
    }

    fn sync(&self) -> Result<()> {
        self.file.sync_all().during("fsync", &self.path)
    }

    fn set_mode(&self, mode: u32) -> Result<()> {
        platform::set_mode(&self.file, mode).during("fchmod", &self.path)
    }

    fn lock(&self, wait: bool) -> Result<bool> {
        loop {
            let outcome = match wait {
                true => self.file.lock(),
                false => match self.file.try_lock() {
                    Err(TryLockError::WouldBlock) => return Ok(false),
                    Err(TryLockError::Error(error)) => Err(error),
                    Ok(()) => Ok(()),
                },
            };
            match outcome {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                outcome => return outcome.map(|()| true).during("flock", &self.path),
            }
        }
    }

    fn stat(&self) -> Result<FileStat> {
        let metadata = self.file.metadata().during("fstat", &self.path)?;
        Ok(platform::file_stat(&metadata))
    }
}

/// Which file it is that was opened; `path` is for messages.
pub fn identity_of(file: &File, path: &Path) -> Result<FileIdentity> {
    let metadata = file.metadata().during("fstat", path)?;
    Ok(platform::file_stat(&metadata).identity)
}

/// Reads a whole file; the call that fails (`open` or `read`) is named in the error.
pub fn read_file(path: &Path) -> Result<Vec<u8>> {
    let mut file = File::open(path).during("open", path)?;
    let size_hint = file.metadata().map_or(0, |metadata| metadata.len());
    let mut bytes = Vec::new();
    // A length that lies (as in /proc) must neither abort nor cut the content.
    let _ = bytes.try_reserve_exact(usize::try_from(size_hint).unwrap_or(0));
    file.read_to_end(&mut bytes).during("read", path)?;
    Ok(bytes)
}

/// Reads at an offset without moving any position, so that threads can share the descriptor; fewer
/// bytes than asked for only at the end of the file.
pub fn read_at(file: &File, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while let Some(rest) = buffer.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match platform::read_at(file, rest, offset + filled as u64) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

/// What the system told about a file, as [`Disk::stat`] gives it.
pub fn stat_of(metadata: &Metadata) -> FileStat {
    platform::file_stat(metadata)
}

/// Metadata of an open file.
pub fn stat_of_file(file: &File) -> io::Result<FileStat> {
    Ok(platform::file_stat(&file.metadata()?))
}

/// Opens a regular file for reading; links are followed. Anything else, a pipe or a device, is an
/// error at once instead of a wait for its other end.
pub fn open_regular(path: &Path) -> Result<File> {
    let mut options = OpenOptions::new();
    options.read(true);
    platform::never_wait(&mut options);
    let file = options.open(path).during("open", path)?;
    let metadata = file.metadata().during("fstat", path)?;
    if metadata.is_file() {
        Ok(file)
    } else if metadata.is_dir() {
        Err(Error::io("read", path, platform::is_a_directory()))
    } else {
        Err(Error::io("open", path, io::ErrorKind::InvalidInput.into()))
    }
}
