//! The contenders of `contention.rs` all do the same job: the engine and its peers pass one contract.

#[path = "mod.rs"]
mod peers;

use peers::{DashmapEntry, Engine, MutexMaps, contract};

#[test]
fn stockade_keeps_the_contract() {
    contract::check::<Engine>();
}

#[test]
fn mutex_maps_keeps_the_contract() {
    contract::check::<MutexMaps>();
}

#[test]
fn dashmap_entry_keeps_the_contract() {
    contract::check::<DashmapEntry>();
}
