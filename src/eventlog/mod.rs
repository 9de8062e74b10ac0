//! Event logs: one directory per session that holds an append-only log of events, either as JSONL or as
//! a concatenation of checksummed Zstandard frames.
//!
//! The format is that of the npm package `@deepseek-ai/dsh-session-persistence-jsonl` 0.1.0-rc.8; see
//! `docs/event-log.md`. The first line of a log is its header, every other line a _storage record_: an
//! event, or a row that stands for a run of streamed chunks. As everywhere in the core, no trees of
//! values are built: events are the bytes of their lines.

pub mod closers;
pub mod coordinator;
pub mod failure;
mod frame;
pub mod header;
pub mod log;
pub mod names;
pub mod pack;
mod publish;
pub mod row;
pub mod scan;
pub mod store;
mod value;
