//! Which holds end when: an ordered set of every deadline there is, one entry for each row of the order and one for the
//! order itself. So the holds of one row, and those of all, are found in the order in which they die.
//!
//! The set decides nothing: an entry is a hint to look at an order, whose state and deadline decide. What everybody
//! relies on is that no hold is ever missing from it: *who decides that a hold is taken has entered it first*, and so
//! has who extends it. Entries that mean nothing any more are taken out by whoever comes across them. An entry names
//! slot and tag, which never come again, so taking it out cannot hit another; a thread that comes late may enter one
//! again that had been taken out, and that means nothing either.
//!
//! The set is crossbeam's lock-free skip list (after Fraser, 2004). A thread that is stopped inside it keeps the memory
//! of removed entries from being used again until it goes on; it stops nobody. Never iterated with `range`, which
//! leaks.

use std::ops::Bound;
use std::sync::Arc;

use crossbeam_skiplist::SkipMap;

use crate::Clock;
use crate::layout::NEVER;
use crate::row::Op;
use crate::sync::{Class, Edge, Word, change};

/// An entry; by these fields, in this order, the set is sorted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Entry {
    /// The row it is about, or [`ALL`].
    row: u32,
    pub(crate) ends_ms: u64,
    slot: u32,
    tag: u32,
}

/// Where the entries stand that are about no row but about the order. No row has this number.
pub(crate) const ALL: u32 = 0;

impl Entry {
    pub(crate) fn op(self) -> Op {
        Op { slot: self.slot, tag: self.tag }
    }
}

pub(crate) struct Timers {
    /// Each with the time at which the hold began.
    entries: SkipMap<Entry, u64>,
    edge: Edge,
    /// How often a hold was entered. Who finds none needs no clock.
    entered: Word,
    clock: Arc<dyn Clock>,
    /// The longest that a hold may live, extensions included.
    max_hold_ms: u64,
}

impl Timers {
    pub(crate) fn new(clock: Arc<dyn Clock>, max_hold_ms: u64) -> Self {
        let max_hold_ms = max_hold_ms.max(1);
        Timers { entries: SkipMap::new(), edge: Edge::new(), entered: Word::of(Class::Memory, 0), clock, max_hold_ms }
    }

    /// Whether any hold ever had a deadline.
    pub(crate) fn any(&self) -> bool {
        self.entered.load() > 0
    }

    pub(crate) fn now_ms(&self) -> u64 {
        // A clock that says more than can be written stands still there: what never ends must not end.
        self.clock.now_ms().min(NEVER - 2)
    }

    pub(crate) fn moment(&self) -> Moment<'_> {
        Moment { timers: self, read: std::cell::Cell::new(None) }
    }

    /// When a hold ends that began at `since_ms` and is to live `ttl_ms` from `now_ms` on. Late enough, it never does.
    pub(crate) fn end_of(&self, since_ms: u64, now_ms: u64, ttl_ms: u64) -> u64 {
        now_ms.saturating_add(ttl_ms).min(since_ms.saturating_add(self.max_hold_ms)).min(NEVER - 1)
    }

    /// Enters a hold on these rows, unless it is in there. Lock-free.
    pub(crate) fn enter(&self, op: Op, ends_ms: u64, since_ms: u64, rows: impl Iterator<Item = u32>) {
        self.edge.touch();
        for row in rows.chain([ALL]) {
            self.entries.get_or_insert(Entry { row, ends_ms, slot: op.slot, tag: op.tag }, since_ms);
        }
        change(&self.entered, |entered| Some(entered + 1));
    }

    /// Enters again, with a later end, what an entry stands for. Lock-free.
    pub(crate) fn postpone(&self, entry: Entry, ends_ms: u64) {
        self.edge.touch();
        let since_ms = self.entries.get(&entry).map_or(0, |entry| *entry.value());
        self.entries.get_or_insert(Entry { ends_ms, ..entry }, since_ms);
    }

    /// When a hold began, if it is in there with this end.
    pub(crate) fn since_ms(&self, op: Op, ends_ms: u64) -> Option<u64> {
        self.edge.touch();
        self.entries.get(&Entry { row: ALL, ends_ms, slot: op.slot, tag: op.tag }).map(|entry| *entry.value())
    }

    /// The first entry of a row, or of [`ALL`], if it ends by `now_ms`. Lock-free.
    pub(crate) fn first_due(&self, row: u32, now_ms: u64) -> Option<Entry> {
        let from = Entry { row, ends_ms: 0, slot: 0, tag: 0 };
        self.edge.touch();
        let first = *self.entries.lower_bound(Bound::Included(&from))?.key();
        (first.row == row && first.ends_ms <= now_ms).then_some(first)
    }

    /// Takes an entry out. Lock-free. (Whether it was this call that did, the skip list does not say: its `remove` can
    /// answer two threads that they have removed one entry.)
    pub(crate) fn remove(&self, entry: Entry) {
        self.edge.touch();
        self.entries.remove(&entry);
    }

    /// Takes out the entries of a hold on these rows. Lock-free.
    pub(crate) fn leave(&self, op: Op, ends_ms: u64, rows: impl Iterator<Item = u32>) {
        self.edge.touch();
        for row in rows {
            self.entries.remove(&Entry { row, ends_ms, slot: op.slot, tag: op.tag });
        }
    }
}

/// The instant by which one verb judges its own order's deadline: its one reading of the clock, when it first needs it.
pub(crate) struct Moment<'a> {
    timers: &'a Timers,
    read: std::cell::Cell<Option<u64>>,
}

impl Moment<'_> {
    pub(crate) fn ms(&self) -> u64 {
        self.read.get().unwrap_or_else(|| {
            let now_ms = self.timers.now_ms();
            self.read.set(Some(now_ms));
            now_ms
        })
    }
}
