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

use crate::Stock;
use crate::arena::Arena;
use crate::error::{Shortage, Shortages};
use crate::hooks::{Step, step};
use crate::layout::LAST_ROW_VERSION;
use crate::record::{Lines, Records, RowLine};
use crate::row::{Op, Row, RowWord};
use crate::state::{Effect, OrderWord};
use crate::stats::{Event, Tally};

/// Rows, orders, and what happens between them; who names them is the engine's affair.
pub(crate) struct Protocol {
    pub(crate) rows: Arena<Row>,
    pub(crate) records: Records,
    pub(crate) tally: Tally,
}

/// One thread's way through the rows of an operation.
struct Walk<'a> {
    op: Op,
    lines: Lines<'a>,
    /// The line whose row does not carry the intent yet.
    pending: Option<RowLine>,
    /// Lines whose frozen row has too little, with what it has.
    short: Vec<(RowLine, u64)>,
}

enum Progress {
    /// The operation is decided, by whomever; `witnessed` if this walk saw every row frozen for it.
    Decided { witnessed: bool },
    /// A row is frozen for another operation that is not decided.
    Blocked(Op),
}

impl Protocol {
    /// Runs an operation until it is decided and its rows are finished. Lock-free.
    ///
    /// `Some`: this thread saw all rows frozen, and these were short at the decision (none if it was accepted, or
    /// gave back). `None`: others decided before this thread had seen all rows.
    pub(crate) fn drive(&self, op: Op) -> Option<Vec<(RowLine, u64)>> {
        let mut walk = self.walk(op);
        loop {
            match self.proceed(&mut walk) {
                Progress::Decided { witnessed } => {
                    self.finish(op);
                    return witnessed.then_some(walk.short);
                }
                Progress::Blocked(by) => self.help(by),
            }
        }
    }

    /// Finishes somebody else's operation, and first whatever blocks it. No recursion: after each
    /// operation that is out of the way the walk starts anew.
    pub(crate) fn help(&self, blocker: Op) {
        self.tally.add(Event::Helped);
        let mut op = blocker;
        loop {
            match self.proceed(&mut self.walk(op)) {
                Progress::Blocked(by) => op = by,
                Progress::Decided { .. } => {
                    self.finish(op);
                    if op == blocker {
                        return;
                    }
                    op = blocker;
                }
            }
        }
    }

    fn walk(&self, op: Op) -> Walk<'_> {
        let mut lines = self.records.lines(op.slot);
        Walk { op, pending: lines.next(), lines, short: Vec::new() }
    }

    /// Steps 1 and 2, as far as one operation goes.
    fn proceed(&self, walk: &mut Walk<'_>) -> Progress {
        let order = self.records.get(walk.op.slot);
        while let Some(line) = walk.pending {
            let row = self.rows.get(line.row);
            let seen = row.load();
            // Read after the row: busy now means that nothing of this operation is in what was seen.
            let state = order.state();
            if state.effect_of(walk.op.tag) != Effect::Undecided {
                return Progress::Decided { witnessed: false };
            }
            step(Step::RowSeen);
            if seen.intent() != Some(walk.op) {
                if let Some(by) = seen.intent() {
                    if !self.settle(row, line.row, seen, by) {
                        return Progress::Blocked(by);
                    }
                } else if !row.exchange(seen, seen.with_intent(walk.op)) {
                    self.tally.add(Event::LostCas);
                }
                continue;
            }
            step(Step::IntentInstalled);
            if state.takes() && seen.available() < u64::from(line.quantity) {
                walk.short.push((line, seen.available()));
            }
            walk.pending = walk.lines.next();
        }
        step(Step::AllInstalled);
        let state = order.state();
        if state.tag() == walk.op.tag {
            if let Some(decided) = state.decide(!walk.short.is_empty()) {
                self.advance(walk.op.slot, state, decided);
            }
        }
        step(Step::Decided);
        Progress::Decided { witnessed: true }
    }

    /// Step 3: no row carries the intent of this decided operation when it returns. Lock-free.
    pub(crate) fn finish(&self, op: Op) {
        for line in self.records.lines(op.slot) {
            let row = self.rows.get(line.row);
            loop {
                let seen = row.load();
                if seen.intent() != Some(op) || self.settle(row, line.row, seen, op) {
                    break;
                }
            }
        }
    }

    /// Replaces the intent `of` in a row by its effect, unless it is undecided: then false. Also true if the row
    /// has changed meanwhile; the caller looks again.
    fn settle(&self, row: &Row, number: u32, seen: RowWord, of: Op) -> bool {
        let (effect, quantity) = self.effect(number, of);
        if effect == Effect::Undecided {
            return false;
        }
        step(Step::RowComputed);
        if row.exchange(seen, seen.after(effect, quantity)) {
            step(Step::RowFinished);
        } else {
            self.tally.add(Event::LostCas);
        }
        true
    }

    /// What an operation means for a row that carries its intent.
    fn effect(&self, row: u32, of: Op) -> (Effect, u32) {
        let order = self.records.get(of.slot);
        let effect = order.state().effect_of(of.tag);
        if !matches!(effect, Effect::Take | Effect::GiveBack) {
            return (effect, 0);
        }
        let quantity = self.records.lines(of.slot).find(|line| line.row == row).map_or(0, |line| line.quantity);
        // Read after the line: with the same tag, the record was still this order's when the line was read.
        (order.state().effect_of(of.tag), quantity)
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
            let (effect, quantity) = self.effect(number, of);
            // Unchanged, so the effect was not in it, and a tag that has moved on meant nothing to it.
            if row.load() == seen {
                return seen.after(effect, quantity);
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

    /// Whether the rows can serve these lines, without changing anything. Lock-free.
    pub(crate) fn look(&self, lines: &[RowLine]) -> Look {
        let rows: Vec<RowWord>;
        let first;
        let seen: &[RowWord] = match lines {
            [line] => {
                first = [self.read(line.row)];
                &first
            }
            _ => {
                rows = lines.iter().map(|line| self.read(line.row)).collect();
                &rows
            }
        };
        let short: Vec<_> = (lines.iter().zip(seen))
            .filter(|(line, row)| row.available() < u64::from(line.quantity))
            .map(|(line, row)| (*line, row.available()))
            .collect();
        if short.is_empty() {
            let worn_out = seen.iter().any(|row| row.version() > LAST_ROW_VERSION);
            return if worn_out { Look::Exhausted } else { Look::Enough };
        }
        // The same version twice: the row did not change in between. All rows so: there was one instant
        // at which all of this was true.
        let still = |(line, row): (&RowLine, &RowWord)| self.read(line.row).version() == row.version();
        if lines.len() == 1 || lines.iter().zip(seen).all(still) { Look::Short(short) } else { Look::Moving }
    }

    /// Shortages as callers see them.
    pub(crate) fn shortages(&self, short: Vec<(RowLine, u64)>) -> Shortages {
        let name = |(line, available): (RowLine, u64)| Shortage {
            sku: self.rows.get(line.row).name(),
            wanted: line.quantity,
            available,
        };
        Shortages(short.into_iter().map(name).collect())
    }

    /// Moves an order's state word on and counts the transition; false if it was `from` no more.
    pub(crate) fn advance(&self, slot: u32, from: OrderWord, to: OrderWord) -> bool {
        let moved = self.records.get(slot).advance(from, to);
        if let (true, Some(transition)) = (moved, Event::of(from, to)) {
            self.tally.add(transition);
        }
        moved
    }
}

/// What [`Protocol::look`] saw.
pub(crate) enum Look {
    /// Each row, when it was read, had enough.
    Enough,
    /// At one instant, exactly these lines were short.
    Short(Vec<(RowLine, u64)>),
    /// Something was short, but the rows changed too fast to say what at one instant.
    Moving,
    /// A row's version is at its end.
    Exhausted,
}
