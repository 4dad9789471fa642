//! The atomics, and the one place where memory orderings are chosen: the only file, with those in `sync/`, that names
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
//! | [`Word`] | 64-bit words that threads race on: order states and deadlines, index cells, list heads |
//! | [`WideWord`] | the stock row, 128 bit (64 in the loom build, which has no wider atomics) |
//! | [`Data`] | names: written by one thread before a row is published, read by many afterwards |
//! | [`Lazy`] | memory that is allocated by whoever needs it first, without a lock |
//! | [`Edge`] | the order that a structure of another crate makes, which loom cannot see |
//! | [`Pin`] | what a thread has in hand is not used again meanwhile: crossbeam's epochs |
//! | [`Counter`] | statistics |
//!
//! In the loom build (`loom-tests/`) the same types are loom's. loom explores too little when a word is
//! loaded before it is changed (tokio-rs/loom#392), so there `Word::load` can be a read-modify-write:
//! see [`model`].

#[cfg(not(stockade_loom))]
pub(crate) use real::*;
#[cfg(stockade_loom)]
pub(crate) use simulated::*;

#[cfg(stockade_loom)]
pub mod model;
#[cfg(stockade_loom)]
mod simulated;

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
    /// Ids and lines of orders, which do not change while anybody can look at them.
    Payload,
    /// The deadline among them, which does.
    Deadlines,
    /// Which editions of their lines orders have.
    Ledgers,
}

#[cfg(stockade_loom)]
impl Class {
    /// Every class.
    pub const ALL: &[Class] = &[
        Class::Protocol,
        Class::Cells,
        Class::Growth,
        Class::Memory,
        Class::Payload,
        Class::Deadlines,
        Class::Ledgers,
    ];
}

/// Changes a word, unless it cannot become what `to` says. Lock-free.
pub(crate) fn change(word: &Word, to: impl Fn(u64) -> Option<u64>) -> Option<()> {
    let mut now = word.load();
    loop {
        match word.compare_exchange(now, to(now)?) {
            Ok(_) => return Some(()),
            Err(other) => now = other,
        }
    }
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

        /// Loads what is of another class than its place says.
        #[inline]
        pub(crate) fn load_as(&self, _: Class) -> u64 {
            self.load()
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

    /// Stands beside a structure of another crate that orders its own operations: here it is nothing. loom cannot see
    /// into such a structure, so in its build each operation on it touches this word.
    #[derive(Debug)]
    pub(crate) struct Edge;

    impl Edge {
        pub(crate) fn new() -> Self {
            Edge
        }

        #[inline]
        pub(crate) fn touch(&self) {}
    }

    /// Held by a thread that may have an order in hand.
    pub(crate) struct Pin(crossbeam_epoch::Guard);

    /// Begins to have orders in hand. Lock-free.
    #[inline]
    pub(crate) fn pin() -> Pin {
        Pin(crossbeam_epoch::pin())
    }

    impl Pin {
        /// Has this done once every thread has let go that is pinned now, this one included. It waits with up to 63
        /// others for this thread's next: what waits alone takes two kilobytes.
        pub(crate) fn defer(&self, work: impl FnOnce() + Send + 'static) {
            self.0.defer(work);
        }

        /// Lets what waits of this thread be done by whoever comes first, and does what can be done.
        pub(crate) fn flush(&self) {
            self.0.flush();
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
