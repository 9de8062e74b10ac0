//! Bytes of JSON, without trees of values.
//!
//! A session line is read by a [`Cursor`] that validates every byte once and hands out the few
//! members its caller names; [`edit`] changes spans of a text and copies the rest; [`text`] decodes
//! and encodes strings, including the lone surrogates that JavaScript strings may hold.

pub mod cursor;
pub mod edit;
pub mod latin1;
pub mod number;
mod special;
pub mod text;

pub use cursor::{Cursor, Fault, Kind};
pub use edit::Edits;
pub use text::RawStr;
