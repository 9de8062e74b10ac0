//! Decisions on the way from a conversation to the input of a model.
//!
//! Messages are JavaScript objects and stay there: only what a decision depends on comes in, as
//! numbers, and what goes out is a plan that names messages by their positions.

pub mod repair;
