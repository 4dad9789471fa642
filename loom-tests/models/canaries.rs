//! Models that must fail. If they pass, the build is not what it seems, and no other model means anything.

use std::sync::Arc;

use stockade_loom::model::{Loads, Probe};

use crate::protocol::last_unit;
use crate::run::{Expect, Model, TWO_THREADS};

pub const MODELS: &[Model] = &[
    // The engine's own verbs over its own atomics, with a compare-exchange that loads, then stores.
    Model {
        name: "canary: load-then-store must go wrong",
        expect: Expect::Canary(
            Loads::Broken,
            |seen| {
                let unbalanced = seen.panic.as_ref().is_some_and(|panic| panic.starts_with("Balance"));
                unbalanced || seen.outcomes.keys().any(|outcome| outcome.starts_with("new new"))
            },
            "neither two yes nor lost units were found: the models would not find a broken CAS",
        ),
        race: last_unit,
        ..TWO_THREADS
    },
    Model {
        name: "canary: an update must be lost",
        expect: Expect::Canary(
            Loads::Interleavings,
            |seen| seen.outcomes.contains_key("lost") && seen.outcomes.contains_key("kept"),
            "the engine's words are not loom's: the models explore nothing",
        ),
        race: || {
            let increment = |word: &Probe| {
                word.store(word.load() + 1);
                0
            };
            if race(increment, increment).0 == 2 { "kept".into() } else { "lost".into() }
        },
        ..TWO_THREADS
    },
    // tokio-rs/loom#392. The day plain loads explore everything, loads need not be read-modify-writes any more.
    Model {
        name: "canary: loom skips a plain load's races",
        expect: Expect::Canary(
            Loads::PlainLoads,
            |seen| !seen.outcomes.contains_key("changed"),
            "loom sees more than it did: read loom-tests/README.md",
        ),
        race: gap,
        ..TWO_THREADS
    },
    Model {
        name: "canary: a read-modify-write load skips none",
        expect: Expect::Canary(
            Loads::Interleavings,
            |seen| seen.outcomes.contains_key("changed") && seen.outcomes.contains_key("unchanged"),
            "the gap is open: the models explore too little",
        ),
        race: gap,
        ..TWO_THREADS
    },
];

/// One thread loads and then changes a word; the other reads it. Does the reader ever see the change?
fn gap() -> String {
    let seen = race(Probe::load, |word| u64::from(word.compare_exchange(word.load(), 1))).1;
    if seen == 1 { "changed".into() } else { "unchanged".into() }
}

/// Two threads and one word: the word as it ends, and what the first thread says.
fn race(one: fn(&Probe) -> u64, other: fn(&Probe) -> u64) -> (u64, u64) {
    let word = Arc::new(Probe::default());
    let theirs = Arc::clone(&word);
    let thread = loom::thread::spawn(move || other(&theirs));
    let said = one(&word);
    thread.join().unwrap();
    (word.load(), said)
}
