//! Models that must fail. If they pass, the build is not what it seems, and no other model means anything.

use std::time::Instant;

use loom::sync::atomic::{
    AtomicU64,
    Ordering::{AcqRel, Acquire},
};
use stockade_loom::model::{Class, Loads};

use crate::protocol::last_unit;
use crate::run::{Runner, explore};

pub fn run(runner: &mut Runner) {
    let name = "canary: load-then-store must oversell";
    if runner.wants(name) {
        // The engine's own verbs over its own atomics, with a compare-exchange that is none: a second yes, or the
        // engine's arithmetic giving up over one, must be found.
        let start = Instant::now();
        let seen = explore(Loads::Broken, &[Class::Protocol], None, last_unit);
        runner.line(name, Loads::Broken, &seen, start);
        let found = seen.panic.is_some() || seen.outcomes.keys().any(|outcome| outcome.starts_with("new new"));
        runner.verdict(name, found, || "two yes were not found: the models would not find a broken CAS".into());
    }

    let name = "canary: loom skips a plain load's races";
    if runner.wants(name) {
        // tokio-rs/loom#392. The day plain loads explore everything, read-modify-write loads are not needed any more.
        let start = Instant::now();
        let plain = explore(Loads::Orderings, &[], None, || gap(|word| word.load(Acquire)));
        runner.line(name, Loads::Orderings, &plain, start);
        let start = Instant::now();
        let full = explore(Loads::Interleavings, &[], None, || gap(|word| word.fetch_or(0, AcqRel)));
        runner.line(name, Loads::Interleavings, &full, start);
        runner.verdict(name, !plain.outcomes.contains_key("changed"), || {
            "loom has changed: see loom-tests/README.md".into()
        });
        runner.verdict(name, full.outcomes.contains_key("changed"), || "the gap is not closed".into());
    }
}

/// One thread loads and then changes a word; another reads it. Does the reader ever see the change?
fn gap(load: fn(&AtomicU64) -> u64) -> String {
    let word = loom::sync::Arc::new(AtomicU64::new(0));
    let theirs = loom::sync::Arc::clone(&word);
    let writer = loom::thread::spawn(move || {
        let seen = load(&theirs);
        let _ = theirs.compare_exchange(seen, 1, AcqRel, Acquire);
    });
    let seen = load(&word);
    writer.join().unwrap();
    if seen == 1 { "changed".into() } else { "unchanged".into() }
}
