//! Runs models under loom, in each build, and holds what was seen against what must be seen.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::{Command, ExitCode};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use stockade_loom::model::{Class, Loads, set_loads, trace};

/// Sets a race up, runs it, and says how it ended.
pub type Race = Arc<dyn Fn() -> String + Send + Sync>;

pub struct Model {
    pub name: String,
    pub expect: Expect,
    pub bounds: Bounds,
    /// The words that the race is about.
    pub words: &'static [Class],
    /// Those whose old values the builds for orderings show; if they are not all, then to the first thread only.
    pub stale: &'static [Class],
    /// Whether it takes so long that only the deep run explores it.
    pub deep: bool,
    pub race: Race,
}

/// Preemptions that loom may make in one execution, in the build for interleavings and in the two for orderings; the
/// deep run allows one more.
#[derive(Clone, Copy)]
pub struct Bounds {
    /// `None` is all.
    pub interleavings: Option<usize>,
    /// What a load may see multiplies the executions of these builds, so they have a bound always.
    pub orderings: usize,
}

/// For two threads and few steps.
pub const WHOLE: Bounds = Bounds { interleavings: None, orderings: 3 };

pub enum Expect {
    /// Every outcome there is, with nothing left out: all must be seen, and no other.
    Exactly(BTreeSet<String>),
    /// The same, where the set is what these runs on one thread end with: the verbs one after the other, in each order.
    OneByOne(Vec<Race>),
    /// A canary: run with these loads, it must end so. The text says what it means if it does not.
    Canary(Loads, fn(&Seen) -> bool, &'static str),
}

impl Expect {
    pub fn exactly(outcomes: &[&str]) -> Self {
        Expect::Exactly(outcomes.iter().map(|outcome| (*outcome).into()).collect())
    }
}

impl Model {
    /// What most models are: about rows and orders, every interleaving, all builds.
    pub fn new(name: &str, expect: Expect, race: impl Fn() -> String + Send + Sync + 'static) -> Self {
        let words = &[Class::Protocol];
        let name = name.into();
        Model { name, expect, bounds: WHOLE, words, stale: Class::ALL, deep: false, race: Arc::new(race) }
    }

    /// The builds in which it is explored.
    fn builds(&self) -> &[Loads] {
        match &self.expect {
            Expect::Canary(loads, ..) => std::slice::from_ref(loads),
            _ if self.stale.len() < Class::ALL.len() => &[Loads::Interleavings, Loads::FirstOld],
            _ => &[Loads::Interleavings, Loads::FirstOld, Loads::SecondOld],
        }
    }
}

/// What one exploration saw: outcomes with the number of executions that ended so, and the panic if there was one.
pub struct Seen {
    pub outcomes: BTreeMap<String, u64>,
    pub panic: Option<String>,
}

/// Explores every model whose name contains one of `parts`, or all if there are none, each build in a process of its
/// own, as many at a time as there are cores.
pub fn all(models: &[Model], parts: &[&String], deep: bool) -> ExitCode {
    println!("{:<52} {:<13} {:>10} {:>7}  outcomes", "model", "build", "executions", "seconds");
    let named = |model: &&Model| parts.is_empty() || parts.iter().any(|part| model.name.contains(*part));
    let wanted = models.iter().filter(named).filter(|model| deep || !model.deep);
    let jobs: Vec<(&Model, Loads)> =
        wanted.flat_map(|model| model.builds().iter().map(move |loads| (model, *loads))).collect();
    let next = AtomicUsize::new(0);
    let failed = Mutex::new(Vec::new());
    let work = || {
        while let Some((model, loads)) = jobs.get(next.fetch_add(1, Relaxed)) {
            let this = std::env::current_exe().unwrap();
            let bound = if deep { "--deep" } else { "--shallow" };
            let output = Command::new(this).args([bound, &format!("{loads:?}"), &model.name]).output().unwrap();
            print!("{}", String::from_utf8_lossy(&output.stdout));
            if !output.status.success() {
                eprint!("{}", String::from_utf8_lossy(&output.stderr));
                failed.lock().unwrap().push(model.name.as_str());
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(work);
        }
    });
    let failed = failed.into_inner().unwrap();
    println!("\n{} passed, {} failed {}", jobs.len() - failed.len(), failed.len(), failed.join(", "));
    // A filter that nothing fits must not pass for a success.
    if failed.is_empty() && !jobs.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Explores one build of a model in this process.
pub fn alone(model: &Model, loads: &str, deep: bool) -> ExitCode {
    let all = [Loads::Interleavings, Loads::FirstOld, Loads::SecondOld, Loads::PlainLoads, Loads::Broken];
    let loads = all.into_iter().find(|it| format!("{it:?}") == loads).unwrap();
    let old = matches!(loads, Loads::FirstOld | Loads::SecondOld);
    let bound = if old { Some(model.bounds.orderings) } else { model.bounds.interleavings };
    let bound = bound.map(|preemptions| preemptions + usize::from(deep));
    let complaint = match &model.expect {
        Expect::Exactly(outcomes) => compare(&explore(model, loads, bound, Some(outcomes)), outcomes),
        Expect::OneByOne(runs) => {
            let outcomes = runs.iter().map(one_execution).collect();
            compare(&explore(model, loads, bound, Some(&outcomes)), &outcomes)
        }
        Expect::Canary(_, sings, meaning) => {
            let seen = explore(model, loads, bound, None);
            (!sings(&seen)).then(|| format!("{meaning}; panic {:?}", seen.panic))
        }
    };
    let Some(complaint) = complaint else { return ExitCode::SUCCESS };
    println!("FAILED {}: {complaint}", model.name);
    ExitCode::FAILURE
}

/// What is wrong with what was seen. (An outcome that must not be seen has ended the exploration with a panic.)
fn compare(seen: &Seen, expected: &BTreeSet<String>) -> Option<String> {
    if let Some(panic) = &seen.panic {
        return Some(format!("{panic}\nthe race, as it happened:\n{}", trace()));
    }
    if seen.outcomes.values().sum::<u64>() == 1 {
        return Some("one execution: the threads do not meet".into());
    }
    let missing: Vec<&String> = expected.iter().filter(|it| !seen.outcomes.contains_key(*it)).collect();
    (!missing.is_empty()).then(|| format!("never seen: {missing:?}"))
}

/// How a run without a race ends.
fn one_execution(run: &Race) -> String {
    set_loads(Loads::PlainLoads, &[], &[]);
    let ended = Arc::new(Mutex::new(String::new()));
    let (written, run) = (Arc::clone(&ended), Arc::clone(run));
    loom::model(move || *written.lock().unwrap() = run());
    let ended = ended.lock().unwrap();
    ended.clone()
}

/// Explores a race, prints what it saw, and returns it. It ends at the first outcome that is not allowed.
fn explore(model: &Model, loads: Loads, bound: Option<usize>, allowed: Option<&BTreeSet<String>>) -> Seen {
    let start = Instant::now();
    set_loads(loads, model.words, model.stale);
    let outcomes = Arc::new(Mutex::new(BTreeMap::new()));
    let (collected, race, allowed) = (Arc::clone(&outcomes), Arc::clone(&model.race), allowed.cloned());
    let mut loom = loom::model::Builder::new();
    loom.preemption_bound = bound;
    loom.max_branches = 50_000;
    let explored = catch_unwind(AssertUnwindSafe(|| {
        loom.check(move || {
            let outcome = race();
            if allowed.as_ref().is_some_and(|allowed| !allowed.contains(&outcome)) {
                panic!("must not be seen: {outcome}");
            }
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
        "{:<52} {:<13} {:>10} {:>7.1}  {}",
        model.name,
        format!("{loads:?}").to_lowercase(),
        seen.outcomes.values().sum::<u64>(),
        start.elapsed().as_secs_f64(),
        listed.join(" / ")
    );
    seen
}
