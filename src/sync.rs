//! The atomics, and the one place where memory orderings are chosen: the only file that names
//! `std::sync::atomic`, `portable_atomic` or loom.
//!
//! The promise every other file relies on: *whoever reads a value written here also sees everything its
//! writer had written or seen before.* Loads are Acquire, stores Release, read-modify-writes AcqRel (on
//! failure Acquire), without exception, so no call site has an ordering to get wrong. On x86-64 these loads
//! and stores cost nothing extra, and a locked instruction is a full barrier anyway. Statistics
//! ([`Counter`]) carry no such promise and are relaxed.
//!
//! | type | used for |
//! | --- | --- |
//! | [`Word`] | 64-bit words that threads race on: order states, index cells, list heads |
//! | [`WideWord`] | the stock row, 128 bit (64 in the loom build, which has no wider atomics) |
//! | [`Data`] | ids, lines: written by one thread before a record is published, read by many afterwards |
//! | [`Lazy`] | memory that is allocated by whoever needs it first, without a lock |
//! | [`Counter`] | statistics |
//!
//! In the loom build (`loom-tests/`) the same types are loom's. loom explores too little when a word is
//! loaded before it is changed (tokio-rs/loom#392), so there `Word::load` can be a read-modify-write:
//! see [`model`].

#[cfg(not(stockade_loom))]
pub(crate) use real::*;
#[cfg(stockade_loom)]
pub(crate) use simulated::*;

use std::sync::atomic::{
    AtomicU64, Ordering,
    Ordering::{AcqRel, Acquire, Relaxed, Release},
};

/// The orderings, in both builds: what the models check is what is shipped.
const LOAD: Ordering = Acquire;
const STORE: Ordering = Release;
const CHANGE: Ordering = AcqRel;

/// A statistic: relaxed, never part of a decision, in the loom build invisible to loom.
#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    #[inline]
    pub(crate) fn add(&self, n: u64) {
        self.0.fetch_add(n, Relaxed);
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

/// What a [`Word`] belongs to. Only the loom build cares: a model chooses for which words it wants every interleaving.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(not(stockade_loom), allow(dead_code))]
pub enum Class {
    /// Rows and order states.
    #[default]
    Protocol,
    /// Cells of the index.
    Cells,
    /// Nodes and segments of the index, which change when it grows.
    Growth,
    /// Free lists and runs of fresh memory.
    Memory,
}

#[cfg(stockade_loom)]
impl Class {
    /// Every class.
    pub const ALL: &[Class] = &[Class::Protocol, Class::Cells, Class::Growth, Class::Memory];
}

/// A number nobody else in this process has been given (until four billion have).
pub(crate) fn serial() -> u32 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    NEXT.fetch_add(1, Relaxed) as u32
}

/// Parts into which counters and fresh memory are divided so that threads do not share a cache line for them.
#[cfg(not(stockade_loom))]
pub(crate) const SHARDS: usize = 32;
#[cfg(stockade_loom)]
pub(crate) const SHARDS: usize = 4;

#[cfg(not(stockade_loom))]
mod real {
    use std::cell::Cell;
    use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

    use bytemuck::Zeroable;
    use portable_atomic::AtomicU128;

    use super::{CHANGE, Class, LOAD, STORE};

    /// The bits of a [`WideWord`].
    pub(crate) type Wide = u128;

    #[derive(Debug, Default, Zeroable)]
    #[repr(transparent)]
    pub(crate) struct Word(AtomicU64);

    impl Word {
        pub(crate) const fn of(_: Class, value: u64) -> Self {
            Word(AtomicU64::new(value))
        }

        #[inline]
        pub(crate) fn load(&self) -> u64 {
            self.0.load(LOAD)
        }

        #[inline]
        pub(crate) fn store(&self, value: u64) {
            self.0.store(value, STORE);
        }

        #[inline]
        pub(crate) fn compare_exchange(&self, old: u64, new: u64) -> Result<u64, u64> {
            self.0.compare_exchange(old, new, CHANGE, LOAD)
        }

        #[inline]
        pub(crate) fn fetch_max(&self, value: u64) -> u64 {
            self.0.fetch_max(value, CHANGE)
        }
    }

    #[derive(Debug, Default, Zeroable)]
    #[repr(transparent)]
    pub(crate) struct Data(AtomicU64);

    impl Data {
        #[inline]
        pub(crate) fn load(&self) -> u64 {
            self.0.load(LOAD)
        }

        #[inline]
        pub(crate) fn store(&self, value: u64) {
            self.0.store(value, STORE);
        }
    }

    #[derive(Debug, Default)]
    pub(crate) struct WideWord(AtomicU128);

    impl WideWord {
        #[inline]
        pub(crate) fn load(&self) -> Wide {
            self.0.load(LOAD)
        }

        #[inline]
        pub(crate) fn store(&self, value: Wide) {
            self.0.store(value, STORE);
        }

        #[inline]
        pub(crate) fn compare_exchange(&self, old: Wide, new: Wide) -> Result<Wide, Wide> {
            self.0.compare_exchange(old, new, CHANGE, LOAD)
        }

        pub(crate) fn is_lock_free() -> bool {
            AtomicU128::is_lock_free()
        }
    }

    /// Set once, by whoever is first; the others' value is dropped. Lock-free (a pointer and one CAS).
    #[derive(Debug)]
    pub(crate) struct Lazy<T>(once_cell::race::OnceBox<T>);

    impl<T> Lazy<T> {
        pub(crate) const fn new() -> Self {
            Lazy(once_cell::race::OnceBox::new())
        }

        #[inline]
        pub(crate) fn get(&self) -> Option<&T> {
            self.0.get()
        }

        pub(crate) fn get_or_try_init<E>(&self, init: impl FnOnce() -> Result<Box<T>, E>) -> Result<&T, E> {
            self.0.get_or_try_init(init)
        }
    }

    /// Which of the [`SHARDS`](super::SHARDS) the calling thread uses.
    #[inline]
    pub(crate) fn shard() -> usize {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        thread_local! {
            static MINE: Cell<u32> = const { Cell::new(u32::MAX) };
        }
        // A thread that is already being torn down has no thread-local storage any more: any shard will do.
        MINE.try_with(|mine| {
            if mine.get() == u32::MAX {
                mine.set(NEXT.fetch_add(1, Relaxed) % super::SHARDS as u32);
            }
            mine.get() as usize
        })
        .unwrap_or(0)
    }
}

#[cfg(stockade_loom)]
mod simulated {
    use std::cell::Cell;
    use std::sync::OnceLock;

    use loom::sync::atomic::AtomicU64;

    pub(crate) type Wide = u64;

    use super::{CHANGE, Class, LOAD, STORE, model};

    #[derive(Debug, Default)]
    pub(crate) struct Word {
        value: AtomicU64,
        class: Class,
    }

    impl Word {
        pub(crate) fn of(class: Class, value: u64) -> Self {
            Word { value: AtomicU64::new(value), class }
        }

        pub(crate) fn load(&self) -> u64 {
            model::load(&self.value, self.class)
        }

        pub(crate) fn store(&self, value: u64) {
            model::store(&self.value, self.class, value);
        }

        pub(crate) fn compare_exchange(&self, old: u64, new: u64) -> Result<u64, u64> {
            let exchanged = model::compare_exchange(&self.value, old, new);
            match exchanged {
                Ok(_) => model::traced(&self.value, self.class, "is exchanged for", new),
                Err(seen) => model::traced(&self.value, self.class, "is not exchanged, it is", seen),
            }
            exchanged
        }

        pub(crate) fn fetch_max(&self, value: u64) -> u64 {
            self.value.fetch_max(value, CHANGE)
        }
    }

    pub(crate) type WideWord = Word;

    impl Word {
        pub(crate) fn is_lock_free() -> bool {
            true
        }
    }

    #[derive(Debug, Default)]
    pub(crate) struct Data(AtomicU64);

    impl Data {
        pub(crate) fn load(&self) -> u64 {
            self.0.load(LOAD)
        }

        pub(crate) fn store(&self, value: u64) {
            self.0.store(value, STORE);
        }
    }

    /// `ready` is what loom sees; the value itself is in place before `ready` says so.
    #[derive(Debug)]
    pub(crate) struct Lazy<T> {
        ready: AtomicU64,
        value: OnceLock<Box<T>>,
    }

    impl<T> Lazy<T> {
        pub(crate) fn new() -> Self {
            Lazy { ready: AtomicU64::new(0), value: OnceLock::new() }
        }

        pub(crate) fn get(&self) -> Option<&T> {
            if self.ready.load(LOAD) == 1 { self.value.get().map(|value| &**value) } else { None }
        }

        pub(crate) fn get_or_try_init<E>(&self, init: impl FnOnce() -> Result<Box<T>, E>) -> Result<&T, E> {
            if let Some(value) = self.get() {
                return Ok(value);
            }
            let mine = init()?;
            // loom switches threads only at its own operations, so the exchange and the set are one step.
            let _ = self.ready.compare_exchange(0, 1, CHANGE, LOAD);
            Ok(self.value.get_or_init(|| mine))
        }
    }

    loom::thread_local! {
        static MINE: Cell<usize> = Cell::new(0);
    }

    pub(crate) fn shard() -> usize {
        MINE.with(Cell::get)
    }

    pub(super) fn set_shard(shard: usize) {
        MINE.with(|mine| mine.set(shard));
    }
}

/// How the loom build loads a [`Word`]; set by a model before it starts.
#[cfg(stockade_loom)]
pub mod model {
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

    /// Chooses how the models that follow load words of the classes `raced`; words of other classes must not change in them.
    /// Where loads are plain, those of the classes `stale` are. Models of one process run one after another.
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

    /// A store beside a `fetch_or(0)` of another thread that it is not ordered with: loom lets a third operation, after both,
    /// read what the `fetch_or` left, although the store must come later. So stores of raced words are exchanges.
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
}
