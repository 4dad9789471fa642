//! Random sequences of all verbs and of time that passes, over three SKUs and four ids, against a plain sequential
//! engine; and the sequences that the fuzzer found worth keeping.
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
use steps::{Choices, Script, script_of};

const STEPS: usize = 70;

#[test]
fn every_answer_and_every_view_as_in_the_sequential_engine() {
    let setting = |name, default| match std::env::var(name) {
        Ok(value) => value.parse().expect(name),
        Err(_) => default,
    };
    let (first, sequences) = (setting("STOCKADE_SEED", 0), setting("STOCKADE_SEQUENCES", 1000));
    let mut seen = BTreeSet::new();
    for seed in first..first + sequences {
        let mut dice = Choices(splitmix(seed));
        let mut script = dice.script();
        script.steps.extend((0..STEPS).map(|_| dice.step()));
        if let Err(difference) = run(&script, &mut seen) {
            let (script, difference) = shortest(script, difference);
            let steps: Vec<_> = script.steps.iter().map(|step| format!("  {step:?}")).collect();
            let engine = Script { steps: vec![], ..script };
            panic!("seed {seed}, {engine:?}, after\n{}\n{difference}", steps.join("\n"));
        }
    }
    let every: BTreeSet<String> = EVERY_ANSWER.iter().map(ToString::to_string).collect();
    if sequences >= 1000 {
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
        let script = script_of(&std::fs::read(&path).unwrap());
        run(&script, &mut BTreeSet::new()).unwrap_or_else(|difference| panic!("{path:?}: {difference}"));
        taken += 1;
    }
    assert!(taken > 0);
}

/// Leaves out steps for as long as the rest still fails.
fn shortest(mut script: Script, mut difference: String) -> (Script, String) {
    let mut at = 0;
    while at < script.steps.len() {
        let mut fewer = script.clone();
        fewer.steps.remove(at);
        match run(&fewer, &mut BTreeSet::new()) {
            Err(still) => (script, difference, at) = (fewer, still, 0),
            Ok(()) => at += 1,
        }
    }
    (script, difference)
}

/// Every answer that one caller alone can get, except for keys that are no keys and a full engine (`limits.rs`).
const EVERY_ANSWER: &[&str] = &[
    "add_sku Err Overflow",
    "add_sku Err SkuExists",
    "add_sku Ok Sku",
    "amend Err Expired",
    "amend Err Insufficient",
    "amend Err InvalidState",
    "amend Err NoLines",
    "amend Err QuantityOverflow",
    "amend Err TooFew",
    "amend Err UnknownOrder",
    "amend Err UnknownSku",
    "amend Err ZeroQuantity",
    "amend Ok Ended Cancelled",
    "amend Ok Ended Fulfilled",
    "amend Ok Open",
    "cancel Err InvalidState",
    "cancel Ok Already",
    "cancel Ok Released",
    "cancel Ok Unknown",
    "cancel_lines Err Expired",
    "cancel_lines Err InvalidState",
    "cancel_lines Err NoLines",
    "cancel_lines Err QuantityOverflow",
    "cancel_lines Err TooMuch",
    "cancel_lines Err UnknownOrder",
    "cancel_lines Err UnknownSku",
    "cancel_lines Err ZeroQuantity",
    "cancel_lines Ok Ended Cancelled",
    "cancel_lines Ok Ended Fulfilled",
    "cancel_lines Ok Open",
    "create Err Closed",
    "create Err LinesDiffer",
    "create Err NoLines",
    "create Err QuantityOverflow",
    "create Err UnknownSku",
    "create Err ZeroQuantity",
    "create Ok New",
    "create Ok Replayed",
    "expire_due none",
    "expire_due one",
    "expire_due several",
    "extend Err Expired",
    "extend Err InvalidState",
    "extend Err NoDeadline",
    "extend Err UnknownOrder",
    "extend Err ZeroTtl",
    "extend Ok Extended",
    "forget_finished CANCELLED",
    "forget_finished FULFILLED",
    "fulfil Err Expired",
    "fulfil Err InvalidState",
    "fulfil Err UnknownOrder",
    "fulfil Ok Already",
    "fulfil Ok Done",
    "fulfil_lines Err Expired",
    "fulfil_lines Err InvalidState",
    "fulfil_lines Err NoLines",
    "fulfil_lines Err QuantityOverflow",
    "fulfil_lines Err TooMuch",
    "fulfil_lines Err UnknownOrder",
    "fulfil_lines Err UnknownSku",
    "fulfil_lines Err ZeroQuantity",
    "fulfil_lines Ok Ended Fulfilled",
    "fulfil_lines Ok Open",
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
    "keyed amend Err Refused Expired",
    "keyed amend Err Refused Insufficient",
    "keyed amend Err Refused InvalidState",
    "keyed amend Err Refused NoLines",
    "keyed amend Err Refused QuantityOverflow",
    "keyed amend Err Refused TooFew",
    "keyed amend Err Refused UnknownOrder",
    "keyed amend Err Refused UnknownSku",
    "keyed amend Err Refused ZeroQuantity",
    "keyed amend Err Reused Lines",
    "keyed amend Err Reused Order",
    "keyed amend Err Reused Verb",
    "keyed amend Err TooOld",
    "keyed amend Ok New",
    "keyed amend Ok Replayed",
    "keyed cancel_lines Err Refused Expired",
    "keyed cancel_lines Err Refused InvalidState",
    "keyed cancel_lines Err Refused NoLines",
    "keyed cancel_lines Err Refused QuantityOverflow",
    "keyed cancel_lines Err Refused TooMuch",
    "keyed cancel_lines Err Refused UnknownOrder",
    "keyed cancel_lines Err Refused UnknownSku",
    "keyed cancel_lines Err Refused ZeroQuantity",
    "keyed cancel_lines Err Reused Lines",
    "keyed cancel_lines Err Reused Order",
    "keyed cancel_lines Err Reused Verb",
    "keyed cancel_lines Err TooOld",
    "keyed cancel_lines Ok New",
    "keyed cancel_lines Ok Replayed",
    "keyed fulfil_lines Err Refused Expired",
    "keyed fulfil_lines Err Refused InvalidState",
    "keyed fulfil_lines Err Refused NoLines",
    "keyed fulfil_lines Err Refused QuantityOverflow",
    "keyed fulfil_lines Err Refused TooMuch",
    "keyed fulfil_lines Err Refused UnknownOrder",
    "keyed fulfil_lines Err Refused UnknownSku",
    "keyed fulfil_lines Err Refused ZeroQuantity",
    "keyed fulfil_lines Err Reused Lines",
    "keyed fulfil_lines Err Reused Order",
    "keyed fulfil_lines Err Reused Verb",
    "keyed fulfil_lines Err TooOld",
    "keyed fulfil_lines Ok New",
    "keyed fulfil_lines Ok Replayed",
    "keyed restock Err Refused Overflow",
    "keyed restock Err Refused UnknownSku",
    "keyed restock Err Reused Sku",
    "keyed restock Err Reused Units",
    "keyed restock Err Reused Verb",
    "keyed restock Err TooOld",
    "keyed restock Ok New",
    "keyed restock Ok Replayed",
    "keyed set_available Err Refused Overflow",
    "keyed set_available Err Refused UnknownSku",
    "keyed set_available Err Refused VersionConflict",
    "keyed set_available Err Reused ExpectedVersion",
    "keyed set_available Err Reused Sku",
    "keyed set_available Err Reused Units",
    "keyed set_available Err Reused Verb",
    "keyed set_available Err TooOld",
    "keyed set_available Ok New",
    "keyed set_available Ok Replayed",
    "keyed write_off Err Refused Insufficient",
    "keyed write_off Err Refused UnknownSku",
    "keyed write_off Err Reused Sku",
    "keyed write_off Err Reused Units",
    "keyed write_off Err Reused Verb",
    "keyed write_off Err TooOld",
    "keyed write_off Ok New",
    "keyed write_off Ok Replayed",
    "pay Err Expired",
    "pay Err InvalidState",
    "pay Err UnknownOrder",
    "pay Ok Already",
    "pay Ok Done",
    "pay_or_reserve_again Err Insufficient",
    "pay_or_reserve_again Err InvalidState",
    "pay_or_reserve_again Err UnknownOrder",
    "pay_or_reserve_again Ok Again",
    "pay_or_reserve_again Ok Already",
    "pay_or_reserve_again Ok InTime",
    "reserve Err Closed",
    "reserve Err Insufficient",
    "reserve Err LinesDiffer",
    "reserve Err NoLines",
    "reserve Err QuantityOverflow",
    "reserve Err UnknownSku",
    "reserve Err ZeroQuantity",
    "reserve Ok false",
    "reserve Ok true",
    "reserve_for Err Closed",
    "reserve_for Err Insufficient",
    "reserve_for Err LinesDiffer",
    "reserve_for Err NoLines",
    "reserve_for Err QuantityOverflow",
    "reserve_for Err UnknownSku",
    "reserve_for Err ZeroQuantity",
    "reserve_for Err ZeroTtl",
    "reserve_for Ok false",
    "reserve_for Ok true",
    "restock Err Overflow",
    "restock Err UnknownSku",
    "restock Ok Stock",
    "set_available Err Overflow",
    "set_available Err UnknownSku",
    "set_available Err VersionConflict",
    "set_available Ok Stock",
    "stock Err UnknownSku",
    "stock Ok Stock",
    "transition Err Insufficient",
    "transition Err InvalidState",
    "transition Err NotAllowed",
    "transition Err PartlyFulfilled",
    "transition Err UnknownOrder",
    "transition Ok",
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
