//! The commands of `stockade`, each in a file of its own; `main.rs` puts them together. A library so that the fuzzer
//! can send bytes through the same code: nothing here is promised to anybody else.

mod failure;
mod gate;
pub mod output;
pub mod replay;
pub mod stampede;

pub use failure::Failure;
