//! What can go wrong with an event log. The texts are part of the contract.

use super::names::NameFault;
use super::row::RowFault;
use crate::Error;

/// The log, or something in its place, is not what it should be.
pub const CORRUPT: &str = "SESSION_CORRUPT";
/// An id or a working directory that cannot name a directory.
pub const BAD_NAME: &str = "SESSION_NAME_INVALID";

/// A failure with a code of its own.
pub(super) fn log(code: &'static str, message: impl Into<String>) -> Error {
    Error::Log {
        code,
        message: message.into(),
        path: None,
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
