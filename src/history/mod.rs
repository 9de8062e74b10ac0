//! Prompt history: what was entered at the prompt, for recall and search.
//!
//! One SQLite database per agent directory, shared with other processes and other programs. Its
//! schema (see [`schema`]) is an interface: a table `history`, a full-text index `history_fts` over
//! it that a trigger feeds, and an index for the order by time.
//!
//! | module | what |
//! |---|---|
//! | [`schema`] | creation, migration, repair of the full-text index |
//! | [`database`] | connections to one file, and when they must be opened anew |
//! | [`registry`] | one set of connections per file and process |
//! | [`queue`] | prompts on their way to the disk; consecutive duplicates |
//! | [`rows`] | reading rows, newest first |
//! | [`query`], [`search`] | what a search text means, and finding it |
//! | [`substring`] | texts within texts |

pub mod database;
mod failure;
pub mod query;
pub mod queue;
pub mod registry;
pub mod rows;
pub mod schema;
pub mod search;
pub mod substring;

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks; what a panic left behind is still a valid state everywhere in this module.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
