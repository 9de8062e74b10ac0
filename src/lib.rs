//! Session store for coding agents: each conversation is an append-only tree kept as one JSONL
//! file. This crate is a core that knows nothing of JavaScript, and a thin Node-API layer over it.
//!
//! | module | what lives there |
//! |---|---|
//! | [`json`] | bytes of JSON: a validating cursor, string decoding, span editing |
//! | [`session`] | the tree in memory: entry kinds, index, labels, leaf, context plan, usage |
//! | [`journal`] | the JSONL file: scanner, load pipeline, transforms, append writer, atomic rewrite |
//! | [`storage`] | files, blobs and artifacts |
//! | [`messages`] | plans for the conversion of a conversation for a model |
//! | [`catalog`] | where sessions live and how they are found |
//! | [`doctor`] | what is wrong with session files |
//! | [`navigation`] | moving in the tree: what a move leaves behind, the tree as rows of a list |
//! | [`eventlog`] | the second store: event logs of checksummed frames |
//! | [`history`] | prompts that were entered, in an SQLite database with full-text search |
//! | `bindings` | the only module that mentions Node-API |
//!
//! Arrows point down only: `bindings` → `catalog`, `doctor`, `navigation` → `journal` → `session`, `storage` →
//! `json`; `bindings` → `history` → `storage`. [`background`], [`parallel`] and [`text`] serve all of them.
//! Core modules take paths, clocks and environment as values; they read no global state.

pub mod background;
pub mod catalog;
pub mod doctor;
pub mod error;
pub mod eventlog;
pub mod history;
pub mod journal;
pub mod json;
pub mod messages;
pub mod navigation;
pub mod parallel;
pub mod session;
pub mod storage;
pub mod text;

// The exports do not exist in the unit-test build, where everything here would be unused.
#[cfg(not(test))]
mod bindings;

pub use error::{Error, Result};
