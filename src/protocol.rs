//! How an order changes rows: one line or four thousand, taking or giving back, the same three steps.
//!
//! 1. **Announce.** Install the operation's intent in each row of the order, in ascending row order. A
//!    row with an intent is frozen.
//! 2. **Decide.** When every row carries the intent, one CAS on the order's state word decides: a reserve is
//!    accepted if no frozen row is short, a release always. This CAS is the linearization point; before it nothing
//!    has happened, after it everything has.
//! 3. **Finish.** Replace the intent in each row by its effect.
//!
//! Whoever meets an intent runs the same steps for that operation first: nobody waits for its owner. The idea is
//! the multi-word compare-and-swap of Harris, Fraser and Pratt (2002), with the order as the descriptor.
//!
//! Why it holds, in the order in which one would attack it:
//!
//! - **A late helper installs nothing that counts.** It read the row before the order's state and saw it busy, so it
//!   read a row on which nothing of this operation had been applied. An applied effect moves the row's
//!   version, and the CAS compares the whole word. After a refusal no version moves: an intent can appear
//!   late. It belongs to a decided operation, has no effect, and the next to meet it removes it.
//! - **A refusal is about one instant.** All rows were frozen at the decision, so the shortages are of that instant,
//!   and every thread that helps comes to the same verdict.
//! - **The tag moves on only when all rows are finished** ([`Protocol::finish`] comes before
//!   [`OrderWord::begin`]); so an intent whose tag is not the order's has no effect left to give. Who believes
//!   that must find the row unchanged afterwards: a CAS checks it, a reader reads again.
//! - **Payload before state.** A line read from a record counts only if the state read after it has the operation's
//!   tag: otherwise the record may have been recycled in between.
//! - **No cycle of helping.** Rows are taken in one order, so among operations that meet, one is blocked by none.

use crate::change::Change;
use crate::hooks::{Step, step};
use crate::keys::Requests;
use crate::record::{Records, RowLine};
use crate::request::{PerLine, RowLines};
use crate::retention::Retention;
use crate::row::{Op, Row, RowWord};
use crate::rows::Rows;
use crate::state::{Effect, Left, OrderWord, Phase};
use crate::stats::{Event, Tally};
use crate::timers::Timers;
use crate::{CancelReason, Stock};

/// Rows, orders, and what happens between them; who names them is the engine's affair.
pub(crate) struct Protocol {
    pub(crate) rows: Rows,
    pub(crate) records: Records,
    pub(crate) tally: Tally,
    pub(crate) timers: Timers,
    pub(crate) retention: Retention,
    pub(crate) requests: Requests,
}

/// How freezing a row for an operation went.
enum Freeze {
    /// The row carries the intent, and after that the order was still in this busy state.
    Frozen(RowWord, OrderWord),
    /// The operation is decided, by whomever; the order's state as it was then.
    Decided(OrderWord),
    /// The row is frozen for another operation that is not decided.
    Blocked(Op),
}

/// How an operation ended, as far as the thread that began it knows.
pub(crate) enum Verdict {
    /// This thread decided: these lines were short; none if it was accepted.
    Witnessed(Vec<(RowLine, u64)>),
    /// A helper decided; what was short only the helper saw.
    Unseen,
}

impl Protocol {
    /// Runs an operation of this thread until it is decided and its rows are finished. `busy` is the order's state as
    /// the operation began, `seen` each line's row as it was before that. Lock-free.
    ///
    /// With nothing in the way, it costs one exchange of the order's state, and two of the row for each line.
    pub(crate) fn drive<C: Copy + Into<Change>>(
        &self,
        slot: u32,
        busy: OrderWord,
        changes: &[C],
        mut seen: PerLine<RowWord>,
    ) -> Verdict {
        let op = Op { slot, tag: busy.tag() };
        let mut short = Vec::new();
        let seen: &mut [RowWord] = &mut seen;
        for (change, seen) in changes.iter().zip(&mut *seen) {
            let change: Change = (*change).into();
            let mut before = Some((*seen, busy));
            loop {
                match self.freeze(op, change.row, before.take()) {
                    Freeze::Blocked(by) => self.help(by),
                    Freeze::Decided(word) => {
                        self.finish(op, word);
                        return Verdict::Unseen;
                    }
                    Freeze::Frozen(row, _) => {
                        if change.is_refused(busy, row) {
                            short.push((change.line(), row.available()));
                        } else if busy.is_request() {
                            self.records.answer_with(op, change.applied(row));
                        }
                        *seen = row;
                        break;
                    }
                }
            }
        }
        let Some(decided) = self.decide(slot, busy, !short.is_empty()) else {
            self.finish(op, self.records.get(slot).state());
            return Verdict::Unseen;
        };
        let effect = decided.effect_of(op.tag);
        for (change, frozen) in changes.iter().zip(&*seen) {
            let change: Change = (*change).into();
            self.replace(self.rows.get(change.row), *frozen, change.effect(effect), change.units);
        }
        Verdict::Witnessed(short)
    }

    /// Finishes somebody else's operation, and first whatever blocks it. No recursion: after each
    /// operation that is out of the way it starts anew.
    pub(crate) fn help(&self, blocker: Op) {
        self.tally.add(Event::Helped);
        let mut op = blocker;
        loop {
            match self.complete(op) {
                Some(by) => op = by,
                None if op == blocker => return,
                None => op = blocker,
            }
        }
    }

    /// All three steps for somebody else's operation; what blocks it, if something does.
    fn complete(&self, op: Op) -> Option<Op> {
        let mut short = false;
        let mut busy = None;
        for change in self.changes(op) {
            match self.freeze(op, change.row, None) {
                Freeze::Blocked(by) => return Some(by),
                Freeze::Decided(word) => {
                    self.finish(op, word);
                    return None;
                }
                Freeze::Frozen(row, state) => {
                    let is_refused = change.is_refused(state, row);
                    if state.is_request() && !is_refused {
                        self.records.answer_with(op, change.applied(row));
                    }
                    short |= is_refused;
                    busy = Some(state);
                }
            }
        }
        // Without a row it is a revision that touches none; or the record has been recycled under this helper.
        let busy = busy.or_else(|| {
            let word = self.records.get(op.slot).state();
            (word.effect_of(op.tag) == Effect::Undecided).then_some(word)
        });
        if let Some(busy) = busy {
            let mine = self.decide(op.slot, busy, short);
            self.finish(op, mine.unwrap_or_else(|| self.records.get(op.slot).state()));
        }
        None
    }

    /// Step 1 for one row. `before` is the row before the operation began, and the state as it began.
    #[inline(always)]
    fn freeze(&self, op: Op, number: u32, before: Option<(RowWord, OrderWord)>) -> Freeze {
        let row = self.rows.get(number);
        let mut before = before;
        loop {
            // The row is read before the state: busy after that means that nothing of this operation is in the row.
            let (word, state) = before.take().unwrap_or_else(|| {
                let word = row.load();
                step(Step::RowLoaded);
                (word, self.records.get(op.slot).state())
            });
            if state.effect_of(op.tag) != Effect::Undecided {
                return Freeze::Decided(state);
            }
            step(Step::RowSeen);
            let frozen = word.with_intent(op);
            match word.intent() {
                Some(mine) if mine == op => {}
                Some(by) if self.settle(row, number, word, by) => continue,
                Some(by) => return Freeze::Blocked(by),
                None if row.exchange(word, frozen) => {}
                None => {
                    self.tally.add(Event::LostCas);
                    continue;
                }
            }
            step(Step::IntentInstalled);
            return Freeze::Frozen(frozen, state);
        }
    }

    /// Step 2, when every row carries the intent; the decision, if it is this thread's. The state word does not change
    /// while it is busy, so what was read after the last row is what it must still be.
    #[inline]
    fn decide(&self, slot: u32, busy: OrderWord, short: bool) -> Option<OrderWord> {
        step(Step::AllInstalled);
        let left = if busy.is_revision() { self.records.left(slot, busy.tag()) } else { Left::Open { shipped: false } };
        let decided = busy.decide(short, left)?;
        if !busy.gives_back() && !short {
            self.enter_hold(Op { slot, tag: busy.tag() }, busy);
        }
        let mine = self.advance(slot, busy, decided);
        if mine && decided.verdict() == Some(true) {
            self.tally.add(Event::Revised);
        }
        step(Step::Decided);
        mine.then_some(decided)
    }

    /// Step 3: no row carries the intent of this decided operation when it returns. `word` is the order's state after
    /// the decision. Lock-free.
    ///
    /// The state is not read again: as long as a row carries an intent that has an effect the tag does not move on, and
    /// under one tag the effect is one.
    pub(crate) fn finish(&self, op: Op, word: OrderWord) {
        let effect = word.effect_of(op.tag);
        self.changes_by(op.slot, word).for_each(|change| _ = self.finish_row(op, change, effect));
        if let (true, Some(accepted)) = (word.tag() == op.tag, word.verdict()) {
            self.records.note_verdict(op.slot, op.tag, accepted);
        }
    }

    /// The same for one row; the row as it then was.
    #[inline(always)]
    fn finish_row(&self, op: Op, change: Change, of_all: Effect) -> RowWord {
        let row = self.rows.get(change.row);
        let seen = row.load();
        if seen.intent() == Some(op) { self.replace(row, seen, change.effect(of_all), change.units) } else { seen }
    }

    /// Replaces the intent `of` in a row by its effect, unless it is undecided: then false. Also true if the row
    /// has changed meanwhile; the caller looks again.
    fn settle(&self, row: &Row, number: u32, seen: RowWord, of: Op) -> bool {
        let (effect, units) = self.effect(number, of);
        if effect != Effect::Undecided {
            self.replace(row, seen, effect, units);
        }
        effect != Effect::Undecided
    }

    /// Replaces a decided operation's intent by its effect. If the row has changed, somebody else has done so:
    /// nothing else can happen to a frozen row.
    #[inline]
    fn replace(&self, row: &Row, frozen: RowWord, effect: Effect, units: u64) -> RowWord {
        let finished = frozen.after(effect, units);
        step(Step::RowComputed);
        if row.exchange(frozen, finished) {
            step(Step::RowFinished);
        } else {
            self.tally.add(Event::LostCas);
        }
        finished
    }

    /// What an operation means for a row that carries its intent.
    fn effect(&self, row: u32, of: Op) -> (Effect, u64) {
        let line = self.records.lines(of.slot).find(|line| line.row == row);
        let units = line.map_or(0, |line| u64::from(line.quantity));
        step(Step::LineRead);
        // Read after the line: with the same tag, the record was still this order's when the line was read.
        let word = self.records.get(of.slot).state();
        if word.tag() == of.tag && word.has_own_changes() {
            return self.effect_by(row, of, word);
        }
        (word.effect_of(of.tag), units)
    }

    /// The same for what is not as it was made: an order that was changed in part, or a request. The state says where
    /// to look.
    fn effect_by(&self, row: u32, of: Op, seen: OrderWord) -> (Effect, u64) {
        let mut seen = seen;
        loop {
            let change = self.changes_by(of.slot, seen).find(|change| change.row == row);
            step(Step::EditionRead);
            let word = self.records.get(of.slot).state();
            if word == seen || word.tag() != of.tag {
                let of_all = word.effect_of(of.tag);
                return change.map_or((of_all, 0), |change| (change.effect(of_all), change.units));
            }
            seen = word;
        }
    }

    /// The row at one instant. Lock-free; a reader starts over only when the row has changed.
    ///
    /// Linearization point: a row without intent, its load. With the intent of a decided operation, the load of
    /// that order's state, or the row's, whichever came later; of an undecided one, the load of the state.
    #[inline]
    pub(crate) fn read(&self, number: u32) -> RowWord {
        let row = self.rows.get(number);
        loop {
            let seen = row.load();
            let Some(of) = seen.intent() else { return seen };
            step(Step::RowRead);
            let (effect, units) = self.effect(number, of);
            step(Step::EffectSeen);
            // Unchanged, so the effect was not in it, and a tag that has moved on meant nothing to it.
            if row.load() == seen {
                return seen.after(effect, units);
            }
        }
    }

    /// Changes a row by hand: `edit` makes a new row from the one it is given, or an error. It may raise `available` by
    /// `units` at most; where that many can never be received, the answer is `overflow`. Lock-free; an
    /// operation met on the row is finished first.
    ///
    /// Linearization point: the CAS on the row; of an error, the load of the row or of its books.
    pub(crate) fn edit<E>(
        &self,
        number: u32,
        units: u64,
        edit: impl Fn(RowWord) -> Result<RowWord, E>,
        overflow: impl Fn() -> E,
    ) -> Result<Stock, E> {
        let row = self.rows.get(number);
        let mut books = row.open_edit(units).ok_or_else(overflow)?;
        step(Step::EditOpened);
        loop {
            let seen = row.load();
            if let Some(of) = seen.intent() {
                if !self.settle(row, number, seen, of) {
                    self.help(of);
                }
                continue;
            }
            let edited = edit(seen)?;
            if row.exchange(seen, edited) {
                books.enter(seen.available(), edited.available());
                step(Step::RowEdited);
                return Ok(edited.stock());
            }
            self.tally.add(Event::LostCas);
        }
    }

    /// Gives back what a RESERVED or PAID order holds, unless it is in this state no more. Lock-free.
    pub(crate) fn release(&self, slot: u32, word: OrderWord, reason: CancelReason) -> Option<RowLines> {
        let op = Op { slot, tag: word.tag() };
        // What took the stock must be finished on every row before the tag moves on.
        let lines = self.open_lines(slot, word);
        let seen = if word.is_revision() {
            // It changed other rows than those of what is open.
            self.finish(op, word);
            lines.map(|line| self.rows.get(line.row).load())
        } else {
            lines.map(|line| self.finish_row(op, (*line).into(), word.effect_of(op.tag)))
        };
        let is_paid = word.phase() == Phase::Paid;
        let releasing = word.begin(if is_paid { Phase::ReleasingPaid } else { Phase::Releasing }).because(reason);
        step(Step::TransitionComputed);
        if !self.advance(slot, word, releasing) {
            return None;
        }
        step(Step::ReleaseBegun);
        self.drive(slot, releasing, &lines, seen);
        if !is_paid {
            self.forget_hold(slot, lines.iter().map(|line| line.row), reason == CancelReason::Expired);
        }
        Some(lines)
    }

    /// Moves an order's state word on and counts the transition; false if it was `from` no more.
    pub(crate) fn advance(&self, slot: u32, from: OrderWord, to: OrderWord) -> bool {
        let ends = self.retention.forgets() && to.has_ended();
        let to = if ends { self.ended(to) } else { to };
        let moved = self.records.get(slot).advance(from, to);
        if ends && moved {
            self.count_ended(to);
        }
        if let (true, Some(transition)) = (moved, Event::of(from, to)) {
            self.tally.add(transition);
        }
        moved
    }
}

#[cfg(all(test, not(stockade_loom)))]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::layout::LAST_ROW_VERSION;
    use crate::{ReserveError, RestockError, Stockade};

    #[test]
    fn a_row_at_the_end_of_its_versions_only_takes_back() {
        let shop = Stockade::new();
        shop.add_sku("A", 3).unwrap();
        let row = shop.protocol.rows.get(shop.row_named("A").unwrap());
        let at_version = |version| {
            let now = row.load();
            assert!(row.exchange(now, RowWord::new(now.available(), version)));
        };
        at_version(LAST_ROW_VERSION);
        let _ = shop.reserve("last", &[("A", 1)]).unwrap();
        for version in [LAST_ROW_VERSION + 1, LAST_ROW_VERSION + 2] {
            at_version(version);
            assert_eq!(shop.reserve("late", &[("A", 1)]), Err(ReserveError::Exhausted));
            assert_eq!(shop.restock("A", 1), Err(RestockError::Exhausted));
        }
        assert_eq!(shop.cancel("last").unwrap().units(), 1);
        assert_eq!(shop.stock("A").unwrap().available, 3);
    }
}
