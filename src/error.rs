//! The one error type of the core.
//!
//! Every variant carries a stable `code` that callers in JavaScript may test, and file-system
//! failures carry the path and the system call, as the host's own errors do.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Result of core operations.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What can go wrong in the core.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system refused; `syscall` and `path` say what was asked of it.
    #[error("{}", SystemMessage { syscall, path, source })]
    Io {
        /// Name of the system call as the host prints it (`open`, `rename`, …).
        syscall: &'static str,
        /// The path that the call was made with.
        path: PathBuf,
        /// The system's answer.
        #[source]
        source: io::Error,
    },
    /// Renaming failed; unlike other calls it is about two paths.
    #[error("{} -> '{}'", SystemMessage { syscall: "rename", path: from, source }, .to.display())]
    Rename {
        /// The old path.
        from: PathBuf,
        /// The new path.
        to: PathBuf,
        /// The system's answer.
        #[source]
        source: io::Error,
    },
    /// A file would have to be overwritten.
    #[error("File already exists: {}", .0.display())]
    AlreadyExists(PathBuf),
    /// A file in which neither header nor entry can be read.
    #[error("Not a session file: {}", .0.display())]
    InvalidSession(PathBuf),
    /// The system accepted none of the bytes, which only odd devices do. The text is part of the
    /// contract.
    #[error("Short write")]
    ShortWrite(PathBuf),
    /// Use of a writer after it was closed. The text is part of the contract.
    #[error("Writer closed")]
    WriterClosed,
    /// The bytes of a loaded entry changed on disk and its record cannot be found again.
    #[error("Session file changed on disk, entry {id} can no longer be read: {}", .path.display())]
    EntryUnreadable {
        /// Id of the entry.
        id: String,
        /// The session file.
        path: PathBuf,
    },
    /// The database engine refused. `code` is the engine's name for the reason.
    #[error("{message}: {}", .path.display())]
    Database {
        /// For example `SQLITE_NOTADB`.
        code: &'static str,
        /// The engine's words.
        message: String,
        /// The database file.
        path: PathBuf,
    },
    /// An event log is damaged, missing, or not what was expected.
    #[error("{message}")]
    Log {
        /// For example `SESSION_CORRUPT`.
        code: &'static str,
        /// The text that the contract asks for.
        message: String,
        /// The file or directory that it is about.
        path: Option<PathBuf>,
        /// What it follows from.
        #[source]
        cause: Option<Box<Error>>,
    },
    /// A write failed and could not be undone.
    #[error("failed to roll back append to \"{}\"", .path.display())]
    Rollback {
        /// The file.
        path: PathBuf,
        /// The length that it must be cut to.
        len: u64,
        /// Why writing failed.
        #[source]
        cause: Box<Error>,
        /// Why it could not be undone.
        rollback: Box<Error>,
    },
    /// A background task ended without an answer, which only a bug can cause.
    #[error("Internal error: {0}")]
    Internal(String),
}

impl Error {
    /// A failed system call on a path.
    pub fn io(syscall: &'static str, path: impl AsRef<Path>, source: io::Error) -> Self {
        Self::Io {
            syscall,
            path: path.as_ref().to_path_buf(),
            source,
        }
    }

    /// Stable code for `error.code` (`ENOENT`, `ENTRY_UNREADABLE`, …).
    pub fn code(&self) -> &'static str {
        match self {
            Self::Io { source, .. } | Self::Rename { source, .. } => system_code(source).0,
            Self::AlreadyExists(_) => "EEXIST",
            Self::InvalidSession(_) => "INVALID_SESSION_FILE",
            Self::ShortWrite(_) => "SHORT_WRITE",
            Self::WriterClosed => "WRITER_CLOSED",
            Self::EntryUnreadable { .. } => "ENTRY_UNREADABLE",
            Self::Database { code, .. } | Self::Log { code, .. } => code,
            Self::Rollback { .. } => "SESSION_ROLLBACK_FAILED",
            Self::Internal(_) => "INTERNAL",
        }
    }

    /// The path that the failure is about, if there is one.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::Io { path, .. }
            | Self::Rename { from: path, .. }
            | Self::AlreadyExists(path)
            | Self::InvalidSession(path)
            | Self::ShortWrite(path)
            | Self::EntryUnreadable { path, .. }
            | Self::Database { path, .. } => Some(path),
            Self::Log { path, .. } => path.as_deref(),
            Self::Rollback { path, .. } => Some(path),
            Self::WriterClosed | Self::Internal(_) => None,
        }
    }

    /// The failure that this one follows from, if that is one of ours.
    pub fn cause(&self) -> Option<&Error> {
        match self {
            Self::Log { cause, .. } => cause.as_deref(),
            Self::Rollback { cause, .. } => Some(cause),
            _ => None,
        }
    }

    /// The failure that kept the effects of another one from being undone.
    pub fn rollback(&self) -> Option<&Error> {
        match self {
            Self::Rollback { rollback, .. } => Some(rollback),
            _ => None,
        }
    }

    /// The second path of a failed rename.
    pub fn dest(&self) -> Option<&Path> {
        match self {
            Self::Rename { to, .. } => Some(to),
            _ => None,
        }
    }

    /// Name of the failed system call, if there was one.
    pub fn syscall(&self) -> Option<&'static str> {
        match self {
            Self::Io { syscall, .. } => Some(syscall),
            Self::Rename { .. } => Some("rename"),
            _ => None,
        }
    }

    /// The system's error number, negative as in the host's `error.errno`.
    pub fn errno(&self) -> Option<i32> {
        match self {
            Self::Io { source, .. } | Self::Rename { source, .. } => {
                source.raw_os_error().map(|number| -number)
            }
            _ => None,
        }
    }

    /// True when the failure says that a file or directory is missing.
    pub fn is_not_found(&self) -> bool {
        matches!(
            self,
            Self::Io { source, .. } | Self::Rename { source, .. }
                if source.kind() == io::ErrorKind::NotFound
        )
    }
}

/// Adds the system call and the path to an [`io::Result`].
pub trait IoContext<T> {
    /// Turns the error into [`Error::Io`].
    fn during(self, syscall: &'static str, path: impl AsRef<Path>) -> Result<T>;
}

impl<T> IoContext<T> for io::Result<T> {
    fn during(self, syscall: &'static str, path: impl AsRef<Path>) -> Result<T> {
        self.map_err(|source| Error::io(syscall, path, source))
    }
}

/// Prints `ENOENT: no such file or directory, open '/path'`, the host's form.
struct SystemMessage<'a> {
    syscall: &'static str,
    path: &'a Path,
    source: &'a io::Error,
}

impl fmt::Display for SystemMessage<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (code, text) = system_code(self.source);
        match text {
            Some(text) => write!(f, "{code}: {text}")?,
            None => write!(f, "{code}: {}", self.source)?,
        }
        write!(f, ", {} '{}'", self.syscall, self.path.display())
    }
}

/// Symbolic name and the host's wording of an error number; numbers are those of Linux, with the
/// kind as fallback so that errors made without a number still have a code.
fn system_code(error: &io::Error) -> (&'static str, Option<&'static str>) {
    use io::ErrorKind as Kind;
    match error.kind() {
        Kind::NotFound => ("ENOENT", Some("no such file or directory")),
        Kind::PermissionDenied if error.raw_os_error() == Some(1) => {
            ("EPERM", Some("operation not permitted"))
        }
        Kind::PermissionDenied => ("EACCES", Some("permission denied")),
        Kind::AlreadyExists => ("EEXIST", Some("file already exists")),
        Kind::NotADirectory => ("ENOTDIR", Some("not a directory")),
        Kind::IsADirectory => ("EISDIR", Some("illegal operation on a directory")),
        Kind::DirectoryNotEmpty => ("ENOTEMPTY", Some("directory not empty")),
        Kind::OutOfMemory => ("ENOMEM", Some("not enough memory")),
        Kind::StorageFull => ("ENOSPC", Some("no space left on device")),
        Kind::QuotaExceeded => ("EDQUOT", Some("disk quota exceeded")),
        Kind::ReadOnlyFilesystem => ("EROFS", Some("read-only file system")),
        Kind::CrossesDevices => ("EXDEV", Some("cross-device link not permitted")),
        Kind::InvalidFilename => ("ENAMETOOLONG", Some("name too long")),
        Kind::FileTooLarge => ("EFBIG", Some("file too large")),
        Kind::ResourceBusy => ("EBUSY", Some("resource busy or locked")),
        Kind::ExecutableFileBusy => ("ETXTBSY", Some("text file is busy")),
        Kind::InvalidInput => ("EINVAL", Some("invalid argument")),
        Kind::BrokenPipe => ("EPIPE", Some("broken pipe")),
        Kind::Interrupted => ("EINTR", Some("interrupted system call")),
        Kind::UnexpectedEof => ("EOF", Some("unexpected end of file")),
        _ => match error.raw_os_error() {
            Some(5) => ("EIO", Some("i/o error")),
            Some(6) => ("ENXIO", Some("no such device or address")),
            Some(9) => ("EBADF", Some("bad file descriptor")),
            Some(23) => ("ENFILE", Some("file table overflow")),
            Some(24) => ("EMFILE", Some("too many open files")),
            Some(40) => ("ELOOP", Some("too many symbolic links encountered")),
            _ => ("EUNKNOWN", None),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn system_errors_read_like_the_hosts() {
        let error = Error::io("open", "/x/y", io::Error::from_raw_os_error(2));
        assert_eq!(
            error.to_string(),
            "ENOENT: no such file or directory, open '/x/y'"
        );
        assert_eq!(error.code(), "ENOENT");
        assert_eq!(error.errno(), Some(-2));
        assert!(error.is_not_found());
    }

    #[test]
    fn numbers_without_a_kind_of_their_own_have_codes() {
        for (number, code) in [
            (5, "EIO"),
            (24, "EMFILE"),
            (28, "ENOSPC"),
            (40, "ELOOP"),
            (1, "EPERM"),
        ] {
            let error = Error::io("write", "/x", io::Error::from_raw_os_error(number));
            assert_eq!(error.code(), code);
        }
    }
}
