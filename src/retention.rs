//! How finished orders are forgotten: by age or by count, in bounded steps, so that memory stays flat however long a
//! shop runs.
//!
//! The transition that ends an order writes into its state word in which *age* that was: a sixteenth of what is kept,
//! counted in time or in orders that have ended. A sweep goes round the index, leaf by leaf, and forgets what ended
//! more than sixteen ages ago: one exchange of the state word, from which instant on nobody has such an order. The
//! index leaves it behind when it next rewrites that leaf, and the record is used again once every verb that was under
//! way then has ended: whoever has an order in his hand, can look at it until he is done. A thread that is stopped
//! inside a verb keeps such memory from being used again until it goes on; it stops nobody.

use std::sync::Arc;

use crossbeam_queue::SegQueue;
use crossbeam_utils::CachePadded;

use crate::engine::Found;
use crate::hooks::{Step, step};
use crate::layout::AGE_BITS;
use crate::protocol::Protocol;
use crate::row::{Edit, Op};
use crate::state::{OrderWord, Phase};
use crate::stats::Event;
use crate::sync::{Class, Pin, Word, change, pin};
use crate::timers::ALL;

/// How long finished orders are kept: FULFILLED and CANCELLED ones, ids marked by `void` included. What is said is
/// rounded up to a multiple of sixteen.
///
/// Until then a repeated request is answered with what became of the first. Afterwards the id is one that nobody has
/// used: keep orders for longer than anybody repeats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Keep {
    /// For so many milliseconds of the engine's [`Clock`](crate::Clock) after they ended.
    ForMs(u64),
    /// Until so many others have ended after them: many more than can end while one thread is stopped for a moment,
    /// which would find its own order forgotten.
    Newest(u64),
}

/// Ages that are kept.
const KEPT: u64 = 16;

pub(crate) struct Retention {
    keep: Option<Keep>,
    /// Orders that have ended, if they are counted.
    ended: CachePadded<Word>,
    /// The hash at which the sweep goes on.
    hand: Word,
    /// Records that nobody has in hand any more.
    ready: Arc<SegQueue<u32>>,
}

impl Retention {
    pub(crate) fn new(keep: Option<Keep>) -> Self {
        let word = || Word::of(Class::Memory, 0);
        Retention { keep, ended: CachePadded::new(word()), hand: word(), ready: Arc::default() }
    }

    /// As long as the answer is held, what the calling thread can see of an order stays that order's. `None`: it does
    /// so anyway, because nothing is ever forgotten.
    #[inline]
    pub(crate) fn pin(&self) -> Option<Pin> {
        self.forgets().then(pin)
    }

    pub(crate) fn forgets(&self) -> bool {
        self.keep.is_some()
    }

    /// Has a record used again after everybody has let go of it.
    pub(crate) fn retire(&self, slot: u32) {
        let ready = Arc::clone(&self.ready);
        pin().defer(move || ready.push(slot));
    }
}

impl Protocol {
    /// The age there is now, as far as a state word has room for it.
    fn age(&self) -> Option<u64> {
        let (now, kept) = match self.retention.keep? {
            Keep::ForMs(ms) => (self.timers.now_ms(), ms),
            Keep::Newest(orders) => (self.retention.ended.load(), orders),
        };
        Some(now / kept.div_ceil(KEPT).max(1) % (1 << AGE_BITS))
    }

    /// The state of an order that ends now. One that has LAPSED had ended before.
    pub(crate) fn ended(&self, word: OrderWord) -> OrderWord {
        let age = self.age().filter(|_| word.phase() != Phase::Lapsed);
        age.map_or(word, |age| word.ended_in(age))
    }

    /// Counts an order that has ended, if they are counted: only by the thread that has ended it.
    pub(crate) fn count_ended(&self, word: OrderWord) {
        if word.phase() != Phase::Lapsed && matches!(self.retention.keep, Some(Keep::Newest(_))) {
            change(&self.retention.ended, |ended| Some(ended + 1));
        }
    }

    /// Where the sweep is, and where it goes on if nobody else has moved it.
    pub(crate) fn hand(&self) -> u64 {
        self.retention.hand.load()
    }

    pub(crate) fn move_hand(&self, from: u64, to: Option<u64>) {
        let _ = self.retention.hand.compare_exchange(from, to.unwrap_or(0));
    }

    /// Whether an order in this state has been kept for long enough.
    pub(crate) fn is_old(&self, word: OrderWord) -> bool {
        let ages = |now: u64| now.wrapping_sub(word.age()) % (1 << AGE_BITS);
        word.has_ended() && !word.is_guarded() && self.age().is_some_and(|now| ages(now) > KEPT)
    }

    /// Forgets an order, unless it has changed; whether this call did. Lock-free.
    ///
    /// Linearization point: the CAS on its state.
    pub(crate) fn forget(&self, found: Found) -> bool {
        let Found { slot, word } = found;
        // An order that is forgotten has nothing left to do to any row.
        self.finish(found.op(), word);
        if let Some((hold, deadline)) = self.hold(slot) {
            self.timers.leave(hold, deadline.ends_ms(), [ALL].into_iter());
        }
        // What it shipped leaves the books with it, so that they balance without it.
        let (_, parts) = self.parts(slot, word);
        let shipped = parts.iter().filter(|part| part.fulfilled > 0);
        let edits: Option<Vec<(Edit<'_>, u32)>> =
            shipped.map(|part| Some((self.rows.get(part.row).open_edit(0)?, part.fulfilled))).collect();
        let Some(mut edits) = edits else { return false };
        step(Step::ForgetBegun);
        if !self.records.kill(slot, word, word.forgotten()) {
            return false;
        }
        edits.iter_mut().for_each(|(edit, units)| edit.leave(u64::from(*units)));
        let is_shipment = word.phase() == Phase::Fulfilled;
        self.tally.add(if is_shipment { Event::FulfilledForgotten } else { Event::CancelledForgotten });
        step(Step::Forgotten);
        true
    }

    /// Has the records used again of orders that were forgotten, and that nobody has in hand any more. Lock-free.
    pub(crate) fn reclaim(&self) {
        while let Some(slot) = self.retention.ready.pop() {
            self.records.drop_editions(slot);
            self.records.recycle(slot);
        }
    }

    /// Keeps an order that a guard is for from being forgotten, or lets it be. False: it is forgotten already.
    /// Lock-free.
    pub(crate) fn guard(&self, slot: u32, is_guarded: bool) -> bool {
        if !self.retention.forgets() {
            return true;
        }
        loop {
            let word = self.records.get(slot).state();
            if word.is_forgotten() {
                return false;
            }
            if word.is_busy() {
                // Its state is not to change but by being decided.
                self.help(Op { slot, tag: word.tag() });
            } else if self.records.get(slot).advance(word, word.guarded(is_guarded)) {
                return true;
            }
        }
    }
}
