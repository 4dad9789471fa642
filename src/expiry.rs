//! How a hold ends by itself: from its deadline on it is dead for everybody, and whoever comes across it lets go of it
//! first.
//!
//! Three steps, each of which any thread can do for any other: the deadline is marked dead, so that nobody extends it
//! any more; the order is released, like any that is cancelled; the entry in [`Timers`](crate::timers::Timers) is taken
//! out. A payment that came in time decides like a cancel does, by one exchange of the order's state.
//!
//! Nobody is refused while a dead hold covers what he lacks: who finds a row short reads the clock, looks for holds on
//! it that are dead by then, and then whether the row is still the same. A hold is in the set before it is in the row,
//! and leaves the set after it has left the row, so there was an instant at which the row was short and nothing in it
//! was dead.

use crate::CancelReason;
use crate::engine::Found;
use crate::hooks::{Step, step};
use crate::protocol::Protocol;
use crate::record::{Deadline, RowLine};
use crate::row::{Op, RowWord};
use crate::state::{OrderWord, Phase};
use crate::stats::Event;
use crate::timers::{ALL, Entry, Moment};

impl Protocol {
    /// Lets go of an order's hold if it is dead. True: it was, or the order has changed; look again. Lock-free.
    pub(crate) fn let_go_if_dead(&self, found: Found, moment: &Moment<'_>) -> bool {
        let Found { slot, word } = found;
        if !matches!(word.phase(), Phase::Reserved | Phase::Releasing | Phase::Revising) {
            return false;
        }
        let Some(deadline) = self.records.deadline_to_come(slot) else {
            return false;
        };
        if !deadline.has_come(moment.ms()) {
            return false;
        }
        match word.phase() {
            Phase::Reserved => self.expire(slot, word, deadline),
            // Somebody is at it, or cancels or changes it. It shows as it was until that is decided, and dead holds
            // must not show.
            _ => self.help(found.op()),
        }
        true
    }

    /// Ends a hold whose deadline has come, unless it has changed.
    fn expire(&self, slot: u32, word: OrderWord, deadline: Deadline) {
        if deadline.is_dead() || self.records.set_deadline(slot, deadline, deadline.dead()) {
            step(Step::DeadlineMarked);
            if self.release(slot, word, CancelReason::Expired).is_some() {
                self.tally.add(Event::HoldExpired);
            }
        }
    }

    /// Lets go of the dead holds of a row, first deadline first, as long as `goes_on`; whether there was any.
    /// Lock-free: each hold is let go once, whoever does it.
    pub(crate) fn let_go(&self, row: u32, goes_on: impl Fn() -> bool) -> bool {
        if !self.timers.any() {
            return false;
        }
        // Read now, and not when the verb began: the row was seen later than that, and so must its holds be judged.
        let now_ms = self.timers.now_ms();
        let mut any = false;
        while goes_on() {
            let Some(entry) = self.timers.first_due(row, now_ms) else { break };
            self.settle_entry(entry);
            self.timers.remove(entry);
            any = true;
        }
        any
    }

    /// Lets go of dead holds until the row has enough for this line or has no more of them. Each gives back a unit at
    /// least, so they are never more than the units that are lacking.
    pub(crate) fn let_go_for(&self, line: RowLine) -> bool {
        self.let_go(line.row, || self.read(line.row).available() < u64::from(line.quantity))
    }

    /// The row at one instant at which no hold in it was dead. Lock-free.
    pub(crate) fn read_live(&self, row: u32) -> RowWord {
        loop {
            let seen = self.read(row);
            if !self.timers.any() {
                return seen;
            }
            // The clock is read between the two readings of the row: if those are one, that is the instant.
            let let_go = self.let_go(row, || true);
            if !let_go && self.read(row).version() == seen.version() {
                return seen;
            }
        }
    }

    /// Lets go of up to `limit` holds that are dead, first deadline first, and answers their orders' ids: those that
    /// were let go in passing since the last call among them, each once.
    pub(crate) fn expire_due(&self, limit: usize) -> Vec<Vec<u8>> {
        let mut ids = Vec::new();
        if !self.timers.any() {
            return ids;
        }
        let now_ms = self.timers.now_ms();
        while ids.len() < limit {
            let Some(entry) = self.timers.first_due(ALL, now_ms) else { break };
            self.settle_entry(entry);
            // Decided in the order and not by the set: late threads may enter an entry again.
            let Op { slot, tag } = entry.op();
            let ended = Deadline::new(entry.ends_ms, tag).dead();
            let has_ended = self.records.deadline(slot) == Some(ended) && self.records.get(slot).state().is_expired();
            if has_ended && self.records.set_deadline(slot, ended, ended.told()) {
                ids.push(self.records.id(slot));
            }
            step(Step::HolderTold);
            self.timers.remove(entry);
        }
        ids
    }

    /// Sees to it that a due entry can be taken out: its hold is not held any more, or is entered with its deadline of
    /// today.
    fn settle_entry(&self, entry: Entry) {
        let Op { slot, tag } = entry.op();
        loop {
            let word = self.records.get(slot).state();
            if word.is_busy() {
                self.help(Op { slot, tag: word.tag() });
                continue;
            }
            let deadline = self.records.deadline(slot).filter(|deadline| deadline.tag() == tag);
            match deadline.filter(|_| word.phase() == Phase::Reserved) {
                Some(deadline) if deadline.ends_ms() <= entry.ends_ms => self.expire(slot, word, deadline),
                // Extended, by somebody who did not know yet that the order holds units of this row.
                Some(deadline) => return self.timers.postpone(entry, deadline.ends_ms()),
                None => return,
            }
        }
    }

    /// A hold is named by the operation that took its units, as its deadline says.
    pub(crate) fn hold(&self, slot: u32) -> Option<(Op, Deadline)> {
        let deadline = self.records.deadline_to_come(slot)?;
        Some((Op { slot, tag: deadline.tag() }, deadline))
    }

    /// Takes a hold on these rows that is over out of the set. One that expired stays under [`ALL`] until somebody is
    /// told.
    pub(crate) fn forget_hold(&self, slot: u32, rows: impl Iterator<Item = u32>, is_expired: bool) {
        let Some((hold, deadline)) = self.hold(slot) else { return };
        self.timers.leave(hold, deadline.ends_ms(), rows.chain((!is_expired).then_some(ALL)));
    }

    /// Enters a hold in the set before it is decided that it is taken, or that a revision takes more for it.
    pub(crate) fn enter_hold(&self, op: Op, busy: OrderWord) {
        if !matches!(busy.phase(), Phase::Reserving | Phase::Retrying | Phase::Revising) {
            return;
        }
        let Some((hold, deadline)) = self.hold(op.slot) else { return };
        let rows: Vec<u32> = if busy.is_revision() {
            let parts = self.records.announced(op.slot, op.tag);
            parts.filter(|part| part.change > 0).map(|part| part.row).collect()
        } else {
            self.records.lines(op.slot).map(|line| line.row).collect()
        };
        // Otherwise it is decided, and what was read may be another order's.
        let is_due = self.records.get(op.slot).state() == busy && (hold == op || busy.is_revision());
        if is_due && !rows.is_empty() {
            self.timers.enter(hold, deadline.ends_ms(), self.timers.now_ms(), rows.into_iter());
            step(Step::HoldEntered);
        }
    }
}
