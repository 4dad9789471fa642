//! The engine as users get it.

pub use stockade as engine;

#[allow(clippy::duplicate_mod)] // over another crate
#[path = "drive.rs"]
mod drive;

pub use drive::Shop;
