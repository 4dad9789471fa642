//! Runs a model under loom, in both builds, and holds what was seen against what must be seen.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use stockade_loom::model::{Class, Loads, set_loads};

/// One race: `race` sets it up, runs it, and says how it ended.
pub struct Model {
    pub name: &'static str,
    /// Every outcome there is, with nothing left out.
    pub outcomes: &'static [&'static str],
    /// Preemptions loom may make in one execution; `None` is all.
    pub preemptions: Option<usize>,
    /// The words that the race is about.
    pub words: &'static [Class],
    pub race: fn() -> String,
}

pub struct Runner {
    filter: Option<String>,
    failed: Vec<String>,
    run: usize,
}

/// What one exploration saw: outcomes with the number of executions that ended so, and the panic if there was one.
pub struct Seen {
    pub outcomes: BTreeMap<String, u64>,
    pub panic: Option<String>,
}

impl Seen {
    pub fn executions(&self) -> u64 {
        self.outcomes.values().sum()
    }
}

impl Runner {
    pub fn new(filter: Option<String>) -> Self {
        println!("{:<44} {:<13} {:>10} {:>7}  outcomes", "model", "build", "executions", "seconds");
        Runner { filter, failed: Vec::new(), run: 0 }
    }

    pub fn wants(&self, name: &str) -> bool {
        self.filter.as_ref().is_none_or(|filter| name.contains(filter.as_str()))
    }

    /// Runs a model in both builds. What only one build can see must be seen by that one; nothing else by either.
    pub fn check(&mut self, model: &Model) {
        if !self.wants(model.name) {
            return;
        }
        for loads in [Loads::Interleavings, Loads::Orderings] {
            let start = Instant::now();
            let seen = explore(loads, model.words, model.preemptions, model.race);
            self.line(model.name, loads, &seen, start);
            let expected: Vec<&str> = model.outcomes.to_vec();
            let extra: Vec<&str> =
                seen.outcomes.keys().map(String::as_str).filter(|outcome| !expected.contains(outcome)).collect();
            let missing: Vec<&str> =
                expected.into_iter().filter(|outcome| !seen.outcomes.contains_key(*outcome)).collect();
            let complete = missing.is_empty() || loads == Loads::Orderings;
            self.verdict(model.name, seen.panic.is_none() && extra.is_empty() && complete, || {
                format!("panic {:?}, outcomes that must not be {extra:?}, outcomes not seen {missing:?}", seen.panic)
            });
        }
    }

    /// Notes whether something named holds; `why` says what is wrong if not.
    pub fn verdict(&mut self, name: &str, holds: bool, why: impl FnOnce() -> String) {
        self.run += 1;
        if !holds {
            let why = why();
            println!("FAILED {name}: {why}");
            self.failed.push(name.to_owned());
        }
    }

    pub fn line(&self, name: &str, loads: Loads, seen: &Seen, start: Instant) {
        let outcomes: Vec<String> = seen.outcomes.iter().map(|(outcome, n)| format!("{outcome} x{n}")).collect();
        println!(
            "{name:<44} {:<13} {:>10} {:>7.1}  {}",
            format!("{loads:?}").to_lowercase(),
            seen.executions(),
            start.elapsed().as_secs_f64(),
            outcomes.join("; ")
        );
    }

    pub fn finish(self) {
        let Runner { failed, run, .. } = self;
        println!("\n{} passed, {} failed", run - failed.len(), failed.len());
        if !failed.is_empty() {
            println!("failed: {}", failed.join(", "));
            std::process::exit(1);
        }
    }
}

/// Explores `race` and collects how its executions ended.
pub fn explore(loads: Loads, words: &[Class], preemptions: Option<usize>, race: fn() -> String) -> Seen {
    set_loads(loads, words);
    let outcomes = Arc::new(Mutex::new(BTreeMap::new()));
    let collected = Arc::clone(&outcomes);
    let mut loom = loom::model::Builder::new();
    loom.preemption_bound = preemptions;
    loom.max_branches = 10_000;
    // Backtraces of every object would cost more than the exploration itself.
    loom.location = false;
    let explored = catch_unwind(AssertUnwindSafe(|| {
        loom.check(move || {
            let outcome = race();
            *collected.lock().unwrap().entry(outcome).or_insert(0) += 1;
        });
    }));
    let panic = explored.err().map(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned())).unwrap_or_default()
    });
    Seen { outcomes: outcomes.lock().unwrap().clone(), panic }
}
