//! The doctor: says what is wrong with a session file, and writes a repaired copy of it.
//!
//! | module | what it does |
//! |---|---|
//! | [`findings`] | the kinds of damage, and their words |
//! | [`survey`] | one streaming pass: places and links of all entries, damaged bytes |
//! | [`facts`] | what an entry says about tools, compactions and blobs |
//! | [`links`] | parent links: duplicates, orphans, loops, who is an ancestor of whom |
//! | [`pairs`] | tool calls and their results, entries that compactions keep |
//! | [`images`] | references to blobs |
//! | [`beside`] | what interrupted programs left beside session files |
//! | [`examine`] | all together |
//! | [`repair`] | a copy without what can be mended |
//! | [`report`] | findings as JSON |
//!
//! Files are only read; a repair writes another one. Memory grows with the number of entries and findings, not with the length of
//! the file.

pub mod beside;
pub mod examine;
pub mod facts;
pub mod findings;
pub mod images;
pub mod links;
pub mod pairs;
pub mod repair;
pub mod report;
pub mod survey;

pub use examine::{Examination, Options, examine};
pub use findings::{Finding, Kind};
