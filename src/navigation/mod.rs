//! Moving in the tree, and the tree as a list.
//!
//! | module | what it does |
//! |---|---|
//! | [`abandoned`] | what a move of the leaf leaves behind |
//! | [`layout`] | the order, indentation and guide lines of all nodes |
//! | [`shown`] | what a list shows of one entry, and what a search looks at |
//! | [`entry`] | the members of an entry's JSON text that this takes |
//! | [`call`] | tool calls in a few words |
//! | [`content`] | texts of messages |
//! | [`listing`] | all of this for a whole tree: filters, search, selection |
//! | [`row`] | rows as JSON text |
//!
//! A [`Listing`] is a snapshot: it keeps what it shows and nothing of the tree or the file, so the
//! session may go on while somebody looks at it. Nothing here recurses over the tree.

pub mod abandoned;
pub mod call;
pub mod content;
pub mod entry;
pub mod layout;
pub mod listing;
pub mod row;
pub mod shown;

pub use abandoned::{Abandoned, abandoned};
pub use layout::{Layout, layout};
pub use listing::{Filter, Listing};
