//! Runs models under loom, in both builds, and holds what was seen against what must be seen.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::{Command, ExitCode};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use stockade_loom::model::{Class, Loads, set_loads};

/// One race: `race` sets it up, runs it, and says how it ended.
pub struct Model {
    pub name: &'static str,
    pub expect: Expect,
    /// Preemptions loom may make in one execution; `None` is all.
    pub preemptions: Option<usize>,
    /// How words are loaded in the second exploration, which is for memory orderings.
    pub second: Loads,
    /// The words that the race is about.
    pub words: &'static [Class],
    pub race: fn() -> String,
}

/// What most models are but for name, outcomes and race: about rows and orders, every interleaving, both builds.
pub const TWO_THREADS: Model = Model {
    name: "",
    expect: Expect::Exactly(&[]),
    preemptions: None,
    second: Loads::Orderings,
    words: &[Class::Protocol],
    race: String::new,
};

pub enum Expect {
    /// Every outcome there is, with nothing left out: all must be seen in the build for interleavings, and no other
    /// in either build.
    Exactly(&'static [&'static str]),
    /// A canary: run with these loads, it must end so. The text says what it means if it does not.
    Canary(Loads, fn(&Seen) -> bool, &'static str),
}

/// What one exploration saw: outcomes with the number of executions that ended so, and the panic if there was one.
pub struct Seen {
    pub outcomes: BTreeMap<String, u64>,
    pub panic: Option<String>,
}

/// Runs every model whose name contains one of `parts`, or all if there are none, each in a process of its own, as many
/// at a time as there are cores.
pub fn all(models: &[&Model], parts: &[String]) -> ExitCode {
    println!("{:<44} {:<13} {:>10} {:>7}  outcomes", "model", "build", "executions", "seconds");
    let wanted: Vec<&&Model> = models.iter().filter(|model| is_named(model.name, parts)).collect();
    let next = AtomicUsize::new(0);
    let failed = Mutex::new(Vec::new());
    let work = || {
        while let Some(model) = wanted.get(next.fetch_add(1, Relaxed)) {
            let this = std::env::current_exe().unwrap();
            let output = Command::new(this).args(["--only", model.name]).output().unwrap();
            print!("{}", String::from_utf8_lossy(&output.stdout));
            if !output.status.success() {
                eprint!("{}", String::from_utf8_lossy(&output.stderr));
                failed.lock().unwrap().push(model.name);
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(work);
        }
    });
    let failed = failed.into_inner().unwrap();
    println!("\n{} passed, {} failed {}", wanted.len() - failed.len(), failed.len(), failed.join(", "));
    if failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn is_named(name: &str, parts: &[String]) -> bool {
    parts.is_empty() || parts.iter().any(|part| name.contains(part))
}

/// Runs one model in this process.
pub fn alone(model: &Model) -> ExitCode {
    let complaint = match &model.expect {
        Expect::Exactly(outcomes) => {
            let full = compare(&explore(model, Loads::Interleavings), outcomes, true);
            full.or(compare(&explore(model, model.second), outcomes, model.second == Loads::Orderings))
        }
        Expect::Canary(loads, sings, meaning) => {
            let seen = explore(model, *loads);
            (!sings(&seen)).then(|| format!("{meaning}; panic {:?}", seen.panic))
        }
    };
    let Some(complaint) = complaint else { return ExitCode::SUCCESS };
    println!("FAILED {}: {complaint}", model.name);
    ExitCode::FAILURE
}

/// What is wrong with what was seen.
fn compare(seen: &Seen, expected: &[&str], all: bool) -> Option<String> {
    let extra: Vec<&String> = seen.outcomes.keys().filter(|it| !expected.contains(&it.as_str())).collect();
    let missing: Vec<&&str> = expected.iter().filter(|it| all && !seen.outcomes.contains_key(**it)).collect();
    let wrong = seen.panic.is_some() || !extra.is_empty() || !missing.is_empty();
    wrong.then(|| format!("panic {:?}, must not be seen {extra:?}, not seen {missing:?}", seen.panic))
}

/// Explores a race, prints what it saw, and returns it.
fn explore(model: &Model, loads: Loads) -> Seen {
    let start = Instant::now();
    set_loads(loads, model.words);
    let outcomes = Arc::new(Mutex::new(BTreeMap::new()));
    let (collected, race) = (Arc::clone(&outcomes), model.race);
    let mut loom = loom::model::Builder::new();
    loom.preemption_bound = model.preemptions;
    loom.max_branches = 10_000;
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
    let seen = Seen { outcomes: outcomes.lock().unwrap().clone(), panic };
    let listed: Vec<String> = seen.outcomes.iter().map(|(outcome, n)| format!("{outcome} x{n}")).collect();
    println!(
        "{:<44} {:<13} {:>10} {:>7.1}  {}",
        model.name,
        format!("{loads:?}").to_lowercase(),
        seen.outcomes.values().sum::<u64>(),
        start.elapsed().as_secs_f64(),
        listed.join("; ")
    );
    seen
}
