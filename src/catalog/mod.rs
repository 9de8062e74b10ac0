//! Where sessions live and how they are found: base directories, names of per-project directories,
//! migration of earlier names, breadcrumbs of terminals, listing, recent sessions and resuming by a
//! part of an id.
//!
//! Nothing here reads the environment: callers pass an [`Environment`] taken at the moment of the
//! call.

pub mod breadcrumb;
pub mod dirs;
pub mod encode;
pub mod files;
pub mod legacy;
pub mod lexical;
pub mod text;

pub use dirs::{Environment, Place, TerminalVariables};
