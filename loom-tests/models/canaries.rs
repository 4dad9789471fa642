//! Models that must fail. If they pass, the build is not what it seems, and no other model means anything.

use std::sync::Arc;

use stockade_loom::model::{Loads, Probe};

use crate::protocol::last_unit;
use crate::run::{Expect, Model};

pub fn models() -> Vec<Model> {
    vec![load_then_store(), lost_update(), gap_is_there(), gap_is_closed()]
}

/// The engine's own verbs over its own atomics, with a compare-exchange that loads, then stores.
fn load_then_store() -> Model {
    let expect = Expect::Canary(
        Loads::Broken,
        |seen| {
            let unbalanced = seen.panic.as_ref().is_some_and(|panic| panic.starts_with("Balance"));
            unbalanced || seen.outcomes.keys().any(|outcome| outcome.starts_with("new new"))
        },
        "neither two yes nor lost units were found: the models would not find a broken CAS",
    );
    Model::new("canary: load-then-store must go wrong", expect, last_unit)
}

fn lost_update() -> Model {
    let expect = Expect::Canary(
        Loads::Interleavings,
        |seen| seen.outcomes.contains_key("lost") && seen.outcomes.contains_key("kept"),
        "the engine's words are not loom's: the models explore nothing",
    );
    let increment = |word: &Probe| {
        word.store(word.load() + 1);
        0
    };
    let race = move || if race(increment, increment).0 == 2 { "kept".into() } else { "lost".into() };
    Model::new("canary: an update must be lost", expect, race)
}

/// tokio-rs/loom#392. The day plain loads explore everything, loads need not be read-modify-writes any more.
fn gap_is_there() -> Model {
    let expect = Expect::Canary(
        Loads::PlainLoads,
        |seen| !seen.outcomes.contains_key("changed"),
        "loom sees more than it did: read loom-tests/README.md",
    );
    Model::new("canary: loom skips a plain load's races", expect, gap)
}

fn gap_is_closed() -> Model {
    let expect = Expect::Canary(
        Loads::Interleavings,
        |seen| seen.outcomes.contains_key("changed") && seen.outcomes.contains_key("unchanged"),
        "the gap is open: the models explore too little",
    );
    Model::new("canary: a read-modify-write load skips none", expect, gap)
}

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
