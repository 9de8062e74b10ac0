//! The Node-API layer: converts arguments and results, maps errors, moves work off the JS thread.
//! One file per JavaScript class or group of functions. No decision is made here.

mod error;
mod task;
