//! Files: operations that can be made to fail in tests, atomic replacement, blobs, artifacts.

pub mod artifacts;
pub mod atomic;
pub mod blob;
pub mod disk;
#[cfg(test)]
pub(crate) mod faulty;
pub mod glob;
pub mod leftovers;
pub mod lock;
mod platform;
pub mod text;
