//! The Node-API layer: converts arguments and results, maps errors, moves work off the JS thread.
//! One file per JavaScript class or group of functions. No decision is made here.
#![expect(
    unreachable_pub,
    reason = "exports to JavaScript are `pub` by rule of the macro, nothing in Rust sees them"
)]

mod artifacts;
mod blob;
mod error;
mod storage;
mod task;
