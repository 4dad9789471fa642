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
use crate::record::{Descriptor, Record, Records, RowLine};
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
    /// This thread decided that it is accepted.
    Accepted,
    /// This thread decided that it is not: these lines were short.
    Refused(Vec<(RowLine, u64)>),
    /// A helper decided; what was short only the helper saw.
    Unseen,
}

/// A row that an operation is to change, as it was seen last.
pub(crate) struct Target<'a, C> {
    pub(crate) change: C,
    row: &'a Row,
    pub(crate) word: RowWord,
}

/// Those of the lines of an order.
pub(crate) type Targets<'a> = PerLine<Target<'a, RowLine>>;

impl Protocol {
    /// Runs an operation of this thread until it is decided and its rows are finished. `busy` is the order's state as
    /// the operation began, `targets` the rows as they were before that. Lock-free.
    ///
    /// With nothing in the way, it costs one exchange of the order's state, and two of the row for each line.
    // What a reserve goes through is one function: passed in registers and not in memory, it is a seventh fewer
    // instructions. The same for the others that say `always`.
    #[inline(always)]
    pub(crate) fn drive<C: Copy + Into<Change>>(
        &self,
        order: Descriptor<'_>,
        busy: OrderWord,
        mut targets: PerLine<Target<'_, C>>,
    ) -> Verdict {
        let op = Op { slot: order.slot, tag: busy.tag() };
        let mut short = Vec::new();
        for target in targets.iter_mut() {
            let change: Change = target.change.into();
            let installed = self.install(target.row, target.word, op);
            target.word = match installed.map_or_else(|| self.freeze_own(op, change.row), Ok) {
                Ok(frozen) => frozen,
                Err(decided) => {
                    self.finish(op, decided);
                    return Verdict::Unseen;
                }
            };
            if change.is_refused(busy, target.word) {
                short.push((change.line(), target.word.available()));
            } else if busy.is_request() {
                self.records.answer_with(op, change.applied(target.word));
            }
        }
        let Some(decided) = self.decide(order, busy, !short.is_empty()) else {
            self.finish(op, order.record.state());
            return Verdict::Unseen;
        };
        let effect = decided.effect_of(op.tag);
        for target in targets.iter() {
            let change: Change = target.change.into();
            self.replace(target.row, target.word, change.effect(effect), change.units);
        }
        if short.is_empty() { Verdict::Accepted } else { Verdict::Refused(short) }
    }

    /// Freezes a row for this thread's own operation, and first helps whatever is in the way. The state after the
    /// decision, if somebody else has come to it.
    #[cold]
    fn freeze_own(&self, op: Op, number: u32) -> Result<RowWord, OrderWord> {
        loop {
            match self.freeze(op, number) {
                Freeze::Blocked(by) => self.help(by),
                Freeze::Decided(word) => return Err(word),
                Freeze::Frozen(frozen, _) => return Ok(frozen),
            }
        }
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
            match self.freeze(op, change.row) {
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
            let order = self.records.descriptor(op.slot);
            let mine = self.decide(order, busy, short);
            self.finish(op, mine.unwrap_or_else(|| order.record.state()));
        }
        None
    }

    /// Step 1 for one row, whatever is in the way.
    fn freeze(&self, op: Op, number: u32) -> Freeze {
        let row = self.rows.get(number);
        loop {
            // The row is read before the state: busy after that means that nothing of this operation is in the row.
            let word = row.load();
            step(Step::RowLoaded);
            let state = self.records.get(op.slot).state();
            if state.effect_of(op.tag) != Effect::Undecided {
                return Freeze::Decided(state);
            }
            match word.intent() {
                Some(mine) if mine == op => {
                    step(Step::IntentInstalled);
                    return Freeze::Frozen(word, state);
                }
                Some(by) if self.settle(row, number, word, by) => {}
                Some(by) => return Freeze::Blocked(by),
                None => {
                    if let Some(frozen) = self.install(row, word, op) {
                        return Freeze::Frozen(frozen, state);
                    }
                }
            }
        }
    }

    /// The same for a row that was `word` when nothing of the operation was in it yet, unless something else is in it,
    /// or it has changed.
    #[inline]
    fn install(&self, row: &Row, word: RowWord, op: Op) -> Option<RowWord> {
        step(Step::RowSeen);
        if word.intent().is_some() {
            return None;
        }
        let frozen = word.with_intent(op);
        if !row.exchange(word, frozen) {
            self.tally.add(Event::LostCas);
            return None;
        }
        step(Step::IntentInstalled);
        Some(frozen)
    }

    /// Step 2, when every row carries the intent; the decision, if it is this thread's. The state word does not change
    /// while it is busy, so what was read after the last row is what it must still be.
    #[inline(always)]
    fn decide(&self, order: Descriptor<'_>, busy: OrderWord, short: bool) -> Option<OrderWord> {
        step(Step::AllInstalled);
        let op = Op { slot: order.slot, tag: busy.tag() };
        let left = if busy.is_revision() { self.records.left(op.slot, op.tag) } else { Left::Open { shipped: false } };
        let decided = busy.decide(short, left)?;
        if !short && order.record.is_timed() {
            self.enter_hold(op, busy);
        }
        let mine = self.advance(order.record, busy, decided);
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
    fn finish_row<C: Copy + Into<Change>>(&self, op: Op, change: C, of_all: Effect) -> Target<'_, C> {
        let whole: Change = change.into();
        let row = self.rows.get(whole.row);
        let mut word = row.load();
        if word.intent() == Some(op) {
            word = self.replace(row, word, whole.effect(of_all), whole.units);
        }
        Target { change, row, word }
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
        self.read_row(self.rows.get(number), number)
    }

    #[inline]
    fn read_row(&self, row: &Row, number: u32) -> RowWord {
        let seen = row.load();
        if seen.intent().is_none() { seen } else { self.read_through(row, number) }
    }

    /// Reads a row that is to be changed.
    #[inline]
    pub(crate) fn aim<C: Copy + Into<Change>>(&self, change: C) -> Target<'_, C> {
        let number = change.into().row;
        let row = self.rows.get(number);
        Target { change, row, word: self.read_row(row, number) }
    }

    /// The row behind an intent.
    #[cold]
    fn read_through(&self, row: &Row, number: u32) -> RowWord {
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
        let targets = if word.is_revision() {
            // It changed other rows than those of what is open.
            self.finish(op, word);
            lines.map(|line| self.aim(*line))
        } else {
            let effect = word.effect_of(op.tag);
            lines.map(|line| self.finish_row(op, *line, effect))
        };
        let order = self.records.descriptor(slot);
        let is_paid = word.phase() == Phase::Paid;
        let releasing = word.begin(if is_paid { Phase::ReleasingPaid } else { Phase::Releasing }).because(reason);
        step(Step::TransitionComputed);
        if !self.advance(order.record, word, releasing) {
            return None;
        }
        step(Step::ReleaseBegun);
        self.drive(order, releasing, targets);
        if !is_paid {
            self.forget_hold(slot, lines.iter().map(|line| line.row), reason == CancelReason::Expired);
        }
        Some(lines)
    }

    /// Moves an order's state word on and counts the transition; false if it was `from` no more.
    #[inline(always)]
    pub(crate) fn advance(&self, record: &Record, from: OrderWord, to: OrderWord) -> bool {
        let ends = self.retention.forgets() && to.has_ended();
        let to = if ends { self.ended(to) } else { to };
        let moved = record.advance(from, to);
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
