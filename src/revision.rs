//! How an order is changed in part: a new edition of its lines is announced, and decided like everything else, by one
//! exchange of the order's state, once the rows that change are frozen.
//!
//! 1. **Write** the new edition, and finish what was done under the tag the order has.
//! 2. **Announce** it for the next tag. From here on any thread can go through with it.
//! 3. **Begin**: the order is REVISING, under that tag, unless another operation has taken it. The rest is the
//!    protocol's.
//!
//! The writer has to learn what came of its announcement before it tries again: otherwise others could go through with
//! it afterwards, and the change would be made twice.

use crate::arena::Full;
use crate::change::Change;
use crate::hooks::{Step, step};
use crate::ledger::{Edition, Part};
use crate::protocol::{Protocol, Verdict};
use crate::record::Deadline;
use crate::request::PerLine;
use crate::row::Op;
use crate::state::{Left, OrderWord, Phase};

impl Protocol {
    /// What became of an order's lines, and the state in which they are that. Lock-free: it starts over when the order
    /// has been changed.
    pub(crate) fn parts(&self, slot: u32, word: OrderWord) -> (OrderWord, Vec<Part>) {
        let mut word = word;
        loop {
            let parts: Vec<Part> = match word.edition() {
                None => self.records.lines(slot).map(Part::new).collect(),
                Some(number) => self.records.edition(slot, number).filter(|part| part.ordered > 0).collect(),
            };
            step(Step::EditionRead);
            let now = self.records.get(slot).state();
            // The lines that an order was made with do not change while anybody can look at it.
            if now == word || word.edition().is_none() {
                return (word, parts.into_iter().map(|part| part.shown(word)).collect());
            }
            word = now;
        }
    }

    /// Gives a RESERVED or PAID order these lines; what that leaves. `None`: something moved, or a row that had enough
    /// is short by now. `request` is the one with a key that this is for. Lock-free.
    pub(crate) fn revise(
        &self,
        slot: u32,
        word: OrderWord,
        parts: &[Part],
        request: Option<Op>,
    ) -> Result<Option<Left>, Full> {
        let ledger = self.records.make_ledger(slot)?;
        let op = Op { slot, tag: word.tag() + 1 };
        let before = ledger.place(word.next_edition());
        if before.tag() >= op.tag {
            // Somebody else's comes first, or has long come.
            self.begin_revision(op, word);
            self.help(op);
            return Ok(None);
        }
        let mut edition = self.records.write_edition(parts, request)?;
        step(Step::EditionWritten);
        self.finish(Op { slot, tag: word.tag() }, word);
        self.note_taken(slot, word);
        let changes: PerLine<Change> = parts.iter().filter_map(Part::touched).collect();
        let targets = changes.map(|change| self.aim(*change));
        if !edition.announce(ledger, word.next_edition(), before, op.tag) {
            return Ok(None);
        }
        step(Step::RevisionAnnounced);
        let verdict = match self.begin_revision(op, word) {
            Some(busy) => self.drive(self.records.descriptor(slot), busy, targets),
            None => Verdict::Unseen,
        };
        let is_accepted = match verdict {
            Verdict::Accepted => true,
            Verdict::Refused(_) => false,
            Verdict::Unseen => self.learn_verdict(op, &edition),
        };
        if is_accepted && request.is_some() {
            // From here on a repeat is answered, be there keys as old as this that are forgotten.
            self.records.note_verdict(slot, op.tag, true);
        }
        let left = edition.left();
        if is_accepted && matches!(left, Left::Nothing { .. }) {
            self.forget_hold(slot, changes.iter().map(|change| change.row), false);
        }
        Ok(is_accepted.then_some(left))
    }

    /// Begins a revision that is announced; its busy state, if it has begun by that. Not, if another operation has
    /// taken the tag, or the order is FULFILLED.
    fn begin_revision(&self, op: Op, word: OrderWord) -> Option<OrderWord> {
        let order = self.records.get(op.slot);
        let mut word = word;
        // Under the tag before, the order can only have been paid for and fulfilled.
        while word.tag() + 1 == op.tag && matches!(word.phase(), Phase::Reserved | Phase::Paid) {
            let busy = word.revise();
            if order.advance(word, busy) {
                step(Step::RevisionBegun);
                return Some(busy);
            }
            word = order.state();
        }
        None
    }

    /// Whether a revision that was announced, and begun if it could be, was accepted.
    fn learn_verdict(&self, op: Op, edition: &Edition<'_>) -> bool {
        loop {
            let word = self.records.get(op.slot).state();
            if word.tag() != op.tag {
                // Noted before the order went on; if not, it never began.
                return edition.verdict() == Some(true);
            }
            if !word.is_revision() || !word.is_busy() {
                return word.verdict() == Some(true);
            }
            self.help(op);
        }
    }

    /// Notes in the deadline of an order that was paid for late under which tag its units were taken: after a revision
    /// its state does not say so any more, and whoever took them may have yet to learn it.
    fn note_taken(&self, slot: u32, word: OrderWord) {
        if word.phase() != Phase::Paid || word.is_revision() {
            return;
        }
        let is_missing = |it: &Deadline| it.tag() < word.tag() && it.taken_again().is_none();
        while let Some(deadline) = self.records.deadline(slot).filter(is_missing) {
            self.records.set_deadline(slot, deadline, deadline.note(word.tag()));
        }
    }
}
