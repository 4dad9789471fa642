//! How the loom build loads a [`Word`](super::Word), set by a model before it starts, and what it has seen done.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering::Relaxed};

use loom::sync::atomic::AtomicU64;

pub use super::Class;
use super::{CHANGE, LOAD, STORE};

/// What a build of a model looks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loads {
    /// Loads are `fetch_or(0)`: loom then tries every interleaving, but each load sees the newest value.
    Interleavings,
    /// Loads of the first thread are plain: loom lets them see every value the memory model allows, old ones too. Were
    /// they plain on all threads, loom would skip most interleavings.
    FirstOld,
    /// The same for the second thread.
    SecondOld,
    /// Loads of all threads are plain: for models too large for the above.
    PlainLoads,
    /// A shim that is broken on purpose, for a canary: a compare-exchange that loads, then stores.
    Broken,
}

static LOADS: AtomicU8 = AtomicU8::new(0);
static RACED: AtomicU8 = AtomicU8::new(0);
static STALE: AtomicU8 = AtomicU8::new(0);

/// Chooses how the models that follow load words of the classes `raced`; words of other classes must not change in
/// them. Where loads are plain, those of the classes `stale` are. Models of one process run one after another.
pub fn set_loads(loads: Loads, raced: &[Class], stale: &[Class]) {
    let set = |classes: &[Class]| classes.iter().fold(0, |set, class| set | 1 << *class as u8);
    LOADS.store(loads as u8, Relaxed);
    RACED.store(set(raced), Relaxed);
    STALE.store(set(stale), Relaxed);
}

/// Gives the calling loom thread memory and counters of its own, so that threads do not meet there.
pub fn set_shard(shard: usize) {
    super::simulated::set_shard(shard);
}

/// One of the engine's own words, for the canaries.
#[derive(Debug, Default)]
pub struct Probe(super::Word);

impl Probe {
    /// As the engine loads.
    pub fn load(&self) -> u64 {
        self.0.load()
    }

    /// As the engine stores.
    pub fn store(&self, value: u64) {
        self.0.store(value);
    }

    /// As the engine exchanges.
    pub fn compare_exchange(&self, old: u64, new: u64) -> bool {
        self.0.compare_exchange(old, new).is_ok()
    }
}

pub(super) fn load(word: &AtomicU64, class: Class) -> u64 {
    let loads = LOADS.load(Relaxed);
    let thread = super::simulated::shard();
    let plain = loads == Loads::PlainLoads as u8
        || loads == Loads::FirstOld as u8 && thread == 0
        || loads == Loads::SecondOld as u8 && thread == 1;
    let newest = holds(&RACED, class) && !(plain && holds(&STALE, class));
    let value = if newest { word.fetch_or(0, CHANGE) } else { word.load(LOAD) };
    traced(word, class, "is loaded", value);
    value
}

/// A store beside a `fetch_or(0)` of another thread that it is not ordered with: loom lets a third operation, after
/// both, read what the `fetch_or` left, although the store must come later. So stores of raced words are exchanges.
pub(super) fn store(word: &AtomicU64, class: Class, value: u64) {
    if holds(&RACED, class) {
        word.swap(value, STORE);
    } else {
        word.store(value, STORE);
    }
    traced(word, class, "is stored", value);
}

fn holds(set: &AtomicU8, class: Class) -> bool {
    set.load(Relaxed) & 1 << class as u8 != 0
}

pub(super) fn compare_exchange(word: &AtomicU64, old: u64, new: u64) -> Result<u64, u64> {
    if LOADS.load(Relaxed) != Loads::Broken as u8 {
        return word.compare_exchange(old, new, CHANGE, LOAD);
    }
    let seen = word.fetch_or(0, CHANGE);
    if seen != old {
        return Err(seen);
    }
    word.store(new, STORE);
    Ok(old)
}

/// What the race of the running execution did so far, one line each.
static TRACE: Mutex<Vec<(usize, Entry)>> = Mutex::new(Vec::new());

enum Entry {
    Step(crate::hooks::Step),
    Word(usize, Class, &'static str, u64),
}

static TRACING: AtomicBool = AtomicBool::new(false);

/// Traces from here to [`stop_trace`], and forgets what was traced before.
pub fn start_trace() {
    lock(&TRACE).clear();
    TRACING.store(true, Relaxed);
}

/// What follows is no race.
pub fn stop_trace() {
    TRACING.store(false, Relaxed);
}

/// What was done in the last race, in the order in which it was done: thread, word (by number, in the order in which
/// they were first touched), what. Steps stand where their thread passed them.
pub fn trace() -> String {
    let mut words = Vec::new();
    let mut number = |word: &usize| {
        words.iter().position(|it| it == word).unwrap_or_else(|| {
            words.push(*word);
            words.len() - 1
        })
    };
    let line = |(thread, entry): &(usize, Entry)| match entry {
        Entry::Step(step) => format!("  thread {thread}  {step:?}\n"),
        Entry::Word(word, class, what, value) => {
            format!("  thread {thread}      {class:?} word {} {what} {value:#x}\n", number(word))
        }
    };
    lock(&TRACE).iter().map(line).collect()
}

pub(super) fn traced(word: &AtomicU64, class: Class, what: &'static str, value: u64) {
    push(Entry::Word(std::ptr::from_ref(word).addr(), class, what, value));
}

pub(crate) fn traced_step(step: crate::hooks::Step) {
    push(Entry::Step(step));
}

fn push(entry: Entry) {
    if TRACING.load(Relaxed) {
        lock(&TRACE).push((super::simulated::shard(), entry));
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
