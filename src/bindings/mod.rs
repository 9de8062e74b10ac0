//! The Node-API layer: converts arguments and results, maps errors, moves work off the JS thread.
//! One file per JavaScript class or group of functions. No decision is made here.

// Exports are reached through the registration that the attribute makes, not through Rust paths.
#![allow(unreachable_pub)]
// Nor do test builds register them.
#![cfg_attr(test, allow(dead_code))]

mod error;
mod functions;
mod journal;
mod loaded;
mod session_core;
mod task;
mod text;

use std::sync::LazyLock;

use crate::session::snowflake::SnowflakeGenerator;

/// One sequence for all environments of the process, so that ids made in it do not repeat.
static SNOWFLAKES: LazyLock<SnowflakeGenerator> = LazyLock::new(SnowflakeGenerator::default);
