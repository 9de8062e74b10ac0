//! What can go wrong with an event log. The texts are part of the contract.

use std::path::Path;

use super::names::NameFault;
use super::row::RowFault;
use crate::Error;

/// The log, or something in its place, is not what it should be.
pub const CORRUPT: &str = "SESSION_CORRUPT";
/// An id or a working directory that cannot name a directory.
pub const BAD_NAME: &str = "SESSION_NAME_INVALID";
/// A log of another format, or with events that the caller does not know.
pub const UNSUPPORTED: &str = "SESSION_FORMAT_UNSUPPORTED";
/// What is stored is well-formed but must not be used.
pub const INVALID: &str = "SESSION_VALIDATION_FAILED";
/// There is no such session.
pub const NOT_FOUND: &str = "SESSION_NOT_FOUND";
/// There is such a session.
pub const EXISTS: &str = "SESSION_EXISTS";
/// Files of another encoding, or another layout.
pub const LAYOUT: &str = "SESSION_LAYOUT_CONFLICT";
/// The same id in two projects.
pub const DUPLICATE: &str = "SESSION_DUPLICATE";
/// Events that do not continue the log, or that are no longer supported.
pub const REFUSED: &str = "SESSION_EVENTS_REFUSED";
/// The caller does not want to know any more.
pub const ABORTED: &str = "ABORT_ERR";
/// A failure with a code of its own.
pub(super) fn log(code: &'static str, message: impl Into<String>) -> Error {
    Error::Log {
        code,
        message: message.into(),
        path: None,
        cause: None,
    }
}

/// The log is damaged.
pub(super) fn corrupt(message: impl Into<String>) -> Error {
    log(CORRUPT, message)
}

/// What the decompressor says.
pub(super) fn engine(message: &str) -> Error {
    log("ZSTD_ERROR", message)
}

/// Adds the cause.
pub(super) fn because(error: Error, because: Error) -> Error {
    match error {
        Error::Log {
            code,
            message,
            path,
            ..
        } => Error::Log {
            code,
            message,
            path,
            cause: Some(Box::new(because)),
        },
        other => other,
    }
}

/// A log that a newer, or much older, program wrote.
pub(super) fn unsupported(why: &str, path: &Path) -> Error {
    Error::Log {
        code: UNSUPPORTED,
        message: format!("{why} (raw log: {})", path.display()),
        path: Some(path.to_path_buf()),
        cause: None,
    }
}

/// Something cannot name a directory.
pub fn name(fault: NameFault) -> Error {
    log(BAD_NAME, fault.to_string())
}

/// A storage record is no valid row.
pub fn malformed_row(fault: &RowFault) -> Error {
    log(CORRUPT, fault.to_string())
}
