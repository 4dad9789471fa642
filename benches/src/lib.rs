//! What the measurements are made of: the contenders, the contract that each keeps, and the work they are given.
//!
//! `contention.rs` is the criterion bench, `figures/` the program that prints goals and figures.

pub mod contender;
pub mod contract;
pub mod parts;
pub mod peers;
pub mod work;

/// The page's code runs.
#[cfg(doctest)]
#[doc = include_str!("../SCALING.md")]
struct Scaling;
