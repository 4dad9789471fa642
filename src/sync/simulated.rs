//! The atomics of the loom build: loom's, behind the same types.

use std::cell::Cell;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

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

    pub(crate) fn load_as(&self, class: Class) -> u64 {
        model::load(&self.value, class)
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

/// See the real one. Two operations of which one changes something are ordered by this.
#[derive(Debug)]
pub(crate) struct Edge(AtomicU64);

impl Edge {
    pub(crate) fn new() -> Self {
        Edge(AtomicU64::new(0))
    }

    pub(crate) fn touch(&self) {
        self.0.fetch_or(0, CHANGE);
    }
}

/// Stands in for crossbeam's epochs, which loom cannot see into. Threads change places only at loom's own operations,
/// so what is done here is one step.
pub(crate) struct Pin(u64);

/// What is to be done once all these pins are gone.
type Deferred = (Vec<u64>, Box<dyn FnOnce() + Send>);

/// Threads that are pinned, and what is to be done once all those have let go that were pinned when it was asked for.
#[derive(Default)]
struct Pinned {
    last: u64,
    pins: Vec<u64>,
    deferred: Vec<Deferred>,
}

static PINNED: Mutex<Pinned> = Mutex::new(Pinned { last: 0, pins: Vec::new(), deferred: Vec::new() });

fn pinned() -> MutexGuard<'static, Pinned> {
    PINNED.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(crate) fn pin() -> Pin {
    let mut pinned = pinned();
    pinned.last += 1;
    let pin = pinned.last;
    pinned.pins.push(pin);
    Pin(pin)
}

impl Pin {
    pub(crate) fn defer(&self, work: impl FnOnce() + Send + 'static) {
        let mut pinned = pinned();
        let waits_for = pinned.pins.clone();
        pinned.deferred.push((waits_for, Box::new(work)));
    }

    pub(crate) fn flush(&self) {}
}

impl Drop for Pin {
    fn drop(&mut self) {
        let mut pinned = pinned();
        pinned.pins.retain(|pin| *pin != self.0);
        pinned.deferred.iter_mut().for_each(|(waits_for, _)| waits_for.retain(|pin| *pin != self.0));
        let all = std::mem::take(&mut pinned.deferred).into_iter();
        let (due, rest): (Vec<Deferred>, _) = all.partition(|(waits_for, _)| waits_for.is_empty());
        pinned.deferred = rest;
        drop(pinned);
        due.into_iter().for_each(|(_, work)| work());
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
