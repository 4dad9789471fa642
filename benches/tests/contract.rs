//! The engine and everything it is compared with keep one contract.

use stockade_benches::contract::check;
use stockade_benches::peers::{Actor, DashmapEntry, Engine, File, Memory, MutexMaps, PapayaInsert, SccEntry, Sqlite};

#[test]
fn stockade_keeps_the_contract() {
    check::<Engine>();
}

#[test]
fn mutex_maps_keeps_the_contract() {
    check::<MutexMaps>();
}

#[test]
fn dashmap_entry_keeps_the_contract() {
    check::<DashmapEntry>();
}

#[test]
fn scc_entry_keeps_the_contract() {
    check::<SccEntry>();
}

#[test]
fn papaya_insert_keeps_the_contract() {
    check::<PapayaInsert>();
}

#[test]
fn actor_keeps_the_contract() {
    check::<Actor>();
}

#[test]
fn sqlite_in_memory_keeps_the_contract() {
    check::<Sqlite<Memory>>();
}

#[test]
fn sqlite_as_a_file_keeps_the_contract() {
    check::<Sqlite<File>>();
}

/// `cargo test -p stockade-benches --features servers` needs Debian's packages redis-server and postgresql.
#[cfg(feature = "servers")]
mod servers {
    use super::check;
    use stockade_benches::peers::{Postgres, Redis};

    #[test]
    fn redis_keeps_the_contract() {
        check::<Redis>();
    }

    #[test]
    fn postgres_keeps_the_contract() {
        check::<Postgres>();
    }
}
