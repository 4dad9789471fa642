//! Random sequences of all verbs over three SKUs and four ids, against a plain sequential engine; and the sequences
//! that the fuzzer found worth keeping.
//!
//! Seeded and repeatable. A sequence that fails is cut down to the steps that matter before it is shown. The test also
//! fails if an answer that exists was never given, so that it cannot pass without having looked.
//!
//! `STOCKADE_SEQUENCES=100000 cargo test --test properties` looks longer, `STOCKADE_SEED=7` elsewhere.

#![allow(clippy::unwrap_used, clippy::expect_used)]

#[path = "support/pair.rs"]
mod pair;
#[path = "support/sequential.rs"]
mod sequential;
#[path = "support/steps.rs"]
mod steps;

use std::collections::BTreeSet;

use pair::run;
use steps::{Choices, Step, steps_of};

const STEPS: usize = 40;

#[test]
fn every_answer_and_every_view_as_in_the_sequential_engine() {
    let setting = |name, default| match std::env::var(name) {
        Ok(value) => value.parse().expect(name),
        Err(_) => default,
    };
    let (first, sequences) = (setting("STOCKADE_SEED", 0), setting("STOCKADE_SEQUENCES", 500));
    let mut seen = BTreeSet::new();
    for seed in first..first + sequences {
        let mut dice = Choices(splitmix(seed));
        let steps: Vec<Step> = (0..STEPS).map(|_| dice.step()).collect();
        if let Err(difference) = run(&steps, &mut seen) {
            let (steps, difference) = shortest(steps, difference);
            let steps: Vec<_> = steps.iter().map(|step| format!("  {step:?}")).collect();
            panic!("seed {seed}, after\n{}\n{difference}", steps.join("\n"));
        }
    }
    let every: BTreeSet<String> = EVERY_ANSWER.iter().map(ToString::to_string).collect();
    if sequences >= 500 {
        let missing: Vec<_> = every.difference(&seen).collect();
        assert!(missing.is_empty(), "never answered: {missing:#?}");
    }
    let strange: Vec<_> = seen.difference(&every).collect();
    assert!(strange.is_empty(), "not in the list of answers: {strange:#?}");
}

/// See `tests/fuzz/run`. An input that it finds to fail belongs there, too.
#[test]
fn every_seed_of_the_fuzzer() {
    let seeds = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fuzz/seeds/verbs");
    let mut taken = 0;
    for seed in std::fs::read_dir(seeds).unwrap() {
        let path = seed.unwrap().path();
        let steps = steps_of(&std::fs::read(&path).unwrap());
        run(&steps, &mut BTreeSet::new()).unwrap_or_else(|difference| panic!("{path:?}: {difference}"));
        taken += 1;
    }
    assert!(taken > 0);
}

/// Leaves out steps for as long as the rest still fails.
fn shortest(mut steps: Vec<Step>, mut difference: String) -> (Vec<Step>, String) {
    let mut at = 0;
    while at < steps.len() {
        let mut fewer = steps.clone();
        fewer.remove(at);
        match run(&fewer, &mut BTreeSet::new()) {
            Err(still) => (steps, difference, at) = (fewer, still, 0),
            Ok(()) => at += 1,
        }
    }
    (steps, difference)
}

/// Every answer that one caller alone can get, except for keys that are no keys and a full engine (`limits.rs`).
const EVERY_ANSWER: &[&str] = &[
    "add_sku Err Overflow",
    "add_sku Err SkuExists",
    "add_sku Ok Sku",
    "cancel Err InvalidState",
    "cancel Ok Already",
    "cancel Ok Released",
    "cancel Ok Unknown",
    "create Err Closed",
    "create Err LinesDiffer",
    "create Err NoLines",
    "create Err QuantityOverflow",
    "create Err UnknownSku",
    "create Err ZeroQuantity",
    "create Ok New",
    "create Ok Replayed",
    "fulfil Err InvalidState",
    "fulfil Err UnknownOrder",
    "fulfil Ok Already",
    "fulfil Ok Done",
    "hold Err Closed",
    "hold Err Insufficient",
    "hold Err LinesDiffer",
    "hold Err NoLines",
    "hold Err QuantityOverflow",
    "hold Err UnknownSku",
    "hold Err ZeroQuantity",
    "hold Ok false",
    "hold Ok true",
    "keep Err HoldClosed",
    "keep Ok Reservation",
    "pay Err InvalidState",
    "pay Err UnknownOrder",
    "pay Ok Already",
    "pay Ok Done",
    "reserve Err Closed",
    "reserve Err Insufficient",
    "reserve Err LinesDiffer",
    "reserve Err NoLines",
    "reserve Err QuantityOverflow",
    "reserve Err UnknownSku",
    "reserve Err ZeroQuantity",
    "reserve Ok false",
    "reserve Ok true",
    "restock Err Overflow",
    "restock Err UnknownSku",
    "restock Ok Stock",
    "set_available Err Overflow",
    "set_available Err UnknownSku",
    "set_available Err VersionConflict",
    "set_available Ok Stock",
    "transition Err Insufficient",
    "transition Err InvalidState",
    "transition Err NotAllowed",
    "transition Err UnknownOrder",
    "transition Ok 1",
    "transition Ok 2",
    "transition Ok 3",
    "void Err InvalidState",
    "void Ok Already",
    "void Ok Released",
    "void Ok Unknown",
    "write_off Err Insufficient",
    "write_off Err UnknownSku",
    "write_off Ok Stock",
];

/// A small seeded generator (splitmix64).
fn splitmix(seed: u64) -> impl FnMut(usize) -> usize {
    let mut state = seed;
    move |sides| {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % sides as u64) as usize
    }
}
