//! The Node-API layer: converts arguments and results, maps errors, moves work off the JS thread.
//! One file per JavaScript class or group of functions. No decision is made here.
#![expect(
    unreachable_pub,
    reason = "exports to JavaScript are `pub` by rule of the macro, nothing in Rust sees them"
)]

mod artifacts;
mod blob;
mod catalog;
mod doctor;
mod error;
mod event_codec;
mod event_log;
mod functions;
mod history;
mod journal;
mod listing;
mod loaded;
mod messages;
mod navigation;
mod session_core;
mod storage;
mod task;
mod teardown;
mod text;

use std::sync::{Arc, LazyLock};

use crate::catalog::cache::Cache;
use crate::session::snowflake::SnowflakeGenerator;

/// One sequence for all environments of the process, so that ids made in it do not repeat.
static SNOWFLAKES: LazyLock<SnowflakeGenerator> = LazyLock::new(SnowflakeGenerator::default);

/// What files said when they were listed, for all environments of the process: true whoever asks.
static LISTED: LazyLock<Arc<Cache>> = LazyLock::new(Arc::default);
