//! The engine, and what a user would write instead of it, one file each.
//!
//! The peers go to the map of orders once, by `entry` or `try_insert` with an owned key. Looking by reference first was
//! tried: repeats gain up to 10 %, fresh orders mostly lose as much or more. They keep what is plain to write: the
//! first two a `String` and a `Vec` for each order; those with atomic rows are made by somebody who counts bytes, with
//! a boxed id and the line of a one-line order in place.
//!
//! Where the others promise less than the engine, and may be faster for it:
//!
//! - `mutex_maps`, `sqlite` and `actor` make everybody wait for a thread that is stopped in the middle;
//!   `dashmap_entry` and `scc_entry` everybody who needs the same shard or bucket; `papaya_insert` everybody who sends
//!   the same id.
//! - `dashmap_entry`, `scc_entry` and `papaya_insert` take the lines of an order one by one: a reader can see half an
//!   order, and units that a failing order holds for a moment can make another order be refused falsely.
//! - `sqlite`, `redis` and `postgres` are set up for speed and not for keeping what they are told; each says how.

mod actor;
mod dashmap_entry;
mod engine;
mod maps;
mod mutex_maps;
mod papaya_insert;
#[cfg(feature = "servers")]
mod postgres;
mod record;
#[cfg(feature = "servers")]
mod redis;
mod rows;
mod scc_entry;
#[cfg(feature = "servers")]
mod server;
mod sqlite;

pub use actor::Actor;
pub use dashmap_entry::DashmapEntry;
pub use engine::Engine;
pub use mutex_maps::MutexMaps;
pub use papaya_insert::PapayaInsert;
#[cfg(feature = "servers")]
pub use postgres::Postgres;
#[cfg(feature = "servers")]
pub use redis::Redis;
pub use scc_entry::SccEntry;
pub use sqlite::{File, Memory, Sqlite};
