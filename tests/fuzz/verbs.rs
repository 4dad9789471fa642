//! Fuzzes sequences of verbs: the engine must answer as the sequential one does.

#![no_main]
#![allow(clippy::unwrap_used, clippy::expect_used)]

#[path = "../support/pair.rs"]
mod pair;
#[path = "../support/sequential.rs"]
mod sequential;
#[path = "../support/steps.rs"]
mod steps;

use std::collections::BTreeSet;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let script = steps::script_of(bytes);
    if let Err(difference) = pair::run(&script, &mut BTreeSet::new()) {
        panic!("{script:#?}\n{difference}");
    }
});
