//! The tree in memory. No I/O and no JavaScript: ids, kinds, parent links, labels, the leaf, the
//! plan of the model context, usage totals.
//!
//! An entry is known here by its *slot*, its position in the file (header excluded). What the entry
//! says beyond the few fields kept in a [`Record`] stays on disk or in the caller's object.

pub mod branch;
pub mod context;
pub mod forest;
pub mod ids;
pub mod kind;
pub mod record;
pub mod snowflake;
pub mod time;
pub mod tree;
pub mod usage;

pub use ids::{Interner, Symbol};
pub use kind::{EntryKind, Role};
pub use record::{Parent, Record};
pub use tree::Tree;
pub use usage::Usage;

/// Format version that new files carry.
pub const CURRENT_VERSION: u32 = 3;

/// Position of an entry in its file, the header not counted.
pub type Slot = u32;
