//! Requests with a key, each of which takes effect once however often it comes: which there are, what they ask for, and
//! what they were answered.
//!
//! A request is a record without an id, in no index. One about a row is its own descriptor, like an order: ASKED,
//! EDITING, and ANSWERED or ASKED again. One about an order is what the [editions](crate::ledger) name that are written
//! for it; it becomes ANSWERED before the tag moves on under which one of them was accepted. Whoever repeats it
//! meanwhile goes on with it.
//!
//! The answer is noted beside the record before it can be decided, by everybody who may decide it, and is the same for
//! each of them.
//!
//! Which requests there are stands in an ordered set, oldest first, crossbeam's skip list. It is bounded: the oldest is
//! forgotten when there are too many, and no request that is as old as one that was forgotten is begun again.

use std::sync::Arc;

use crossbeam_skiplist::SkipMap;

use crate::arena::Full;
use crate::change::Change;
use crate::hooks::{Step, step};
use crate::layout::{Field, LAST_RESERVE_TAG, TAG_BITS};
use crate::pair::Pair;
use crate::protocol::Protocol;
use crate::record::{Payload, Pen, Records};
use crate::request::{PerLine, RowLines};
use crate::row::{Edit, Op, RowWord};
use crate::state::{OrderWord, Phase};
use crate::sync::{Class, Edge, Word, change};
use crate::{KeyedError, Once, RequestField, Revised, State, Stock};

/// Requests that are remembered, unless the builder says otherwise.
pub(crate) const KEPT: u64 = 65_536;

/// What a request asks for.
#[derive(PartialEq, Eq)]
pub(crate) enum Content {
    Restock { row: u32, units: u64 },
    WriteOff { row: u32, units: u64 },
    SetAvailable { row: u32, expected: u64, units: u64 },
    CancelLines { order: Box<str>, lines: RowLines },
    FulfilLines { order: Box<str>, lines: RowLines },
    Amend { order: Box<str>, lines: RowLines },
}

impl Content {
    /// Where another request under the same key differs from this.
    fn difference(&self, other: &Content) -> Option<RequestField> {
        use Content::{Amend, CancelLines, FulfilLines, Restock, SetAvailable, WriteOff};
        let row = |same: bool| if same { RequestField::Units } else { RequestField::Sku };
        let order = |same: bool| if same { RequestField::Lines } else { RequestField::Order };
        Some(match (self, other) {
            (one, other) if one == other => return None,
            (Restock { row: a, .. }, Restock { row: b, .. }) => row(a == b),
            (WriteOff { row: a, .. }, WriteOff { row: b, .. }) => row(a == b),
            (SetAvailable { row: a, expected: one, .. }, SetAvailable { row: b, expected: other, .. }) => {
                if a == b && one != other { RequestField::ExpectedVersion } else { row(a == b) }
            }
            (CancelLines { order: a, .. }, CancelLines { order: b, .. }) => order(a == b),
            (FulfilLines { order: a, .. }, FulfilLines { order: b, .. }) => order(a == b),
            (Amend { order: a, .. }, Amend { order: b, .. }) => order(a == b),
            _ => RequestField::Verb,
        })
    }
}

struct Request {
    content: Arc<Content>,
    /// Its record, and the tag that this had when the request was made.
    made: Op,
}

/// Why a request cannot be begun.
pub(crate) enum Unkept {
    Differs(RequestField),
    TooOld { forgotten_to: u64 },
    Full,
}

impl From<Full> for Unkept {
    fn from(_: Full) -> Self {
        Unkept::Full
    }
}

pub(crate) struct Requests {
    /// By age, then by id. (Boxed: its head is large, and most engines never need it.)
    all: Box<SkipMap<(u64, Box<str>), Request>>,
    edge: Edge,
    kept: Word,
    max: u64,
    /// As old as this were some that have been forgotten, plus one; 0: none has been.
    forgotten: Word,
}

impl Requests {
    pub(crate) fn new(max: u64) -> Self {
        let word = || Word::of(Class::Memory, 0);
        Requests { all: Box::default(), edge: Edge::new(), kept: word(), max: max.max(1), forgotten: word() }
    }
}

/// Of an answer's two words: 44 bits of it, and one more than the tag under which it was given.
const PART: Field = Field::lowest(64 - TAG_BITS);
const OF_TAG: Field = PART.then(TAG_BITS);

impl Pair {
    fn answer(&self, tag: u32) -> Option<[u64; 2]> {
        let parts = self.0.each_ref().map(Word::load);
        parts.iter().all(|part| OF_TAG.get(*part) == u64::from(tag) + 1).then(|| parts.map(|part| PART.get(part)))
    }

    fn set_answer(&self, tag: u32, answer: [u64; 2]) {
        for (word, part) in self.0.iter().zip(answer) {
            let noted = OF_TAG.set(PART.set(0, part), u64::from(tag) + 1);
            // A later one of the same record is never replaced.
            change(word, |now| (OF_TAG.get(now) < OF_TAG.get(noted)).then_some(noted));
        }
    }
}

impl Records {
    /// Whether all there is to an order is in its record and in its state.
    #[inline]
    pub(crate) fn is_plain(&self, slot: u32) -> bool {
        self.ledger(slot).is_none() && self.answers.get().is_none()
    }

    /// Notes the answer of a request about a row, before it is decided.
    pub(crate) fn answer_with(&self, op: Op, row: RowWord) {
        self.note_answer(op, [row.available(), row.version()]);
    }

    fn note_answer(&self, op: Op, answer: [u64; 2]) {
        if let Some(pair) = self.answers.get().and_then(|answers| answers.find(op.slot)) {
            pair.set_answer(op.tag, answer);
        }
    }

    fn answer(&self, op: Op) -> Option<[u64; 2]> {
        self.answers.get()?.find(op.slot)?.answer(op.tag)
    }

    /// Answers a request about an order, for which a revision was accepted. Lock-free.
    pub(crate) fn answer_revised(&self, request: Op, revised: Revised) {
        let closed = match revised.closed {
            None => 0,
            Some(State::Fulfilled) => 1,
            Some(_) => 2,
        };
        self.note_answer(request, [revised.open, closed]);
        let record = self.get(request.slot);
        loop {
            let word = record.state();
            let is_asked = word.tag() == request.tag && word.phase() == Phase::Asked;
            if !is_asked || record.advance(word, word.to(Phase::Answered)) {
                return;
            }
        }
    }

    /// What a request about a row asks for; counts only if the record's state, read afterwards, has the tag.
    pub(crate) fn asked(&self, slot: u32) -> Option<Change> {
        let mut payload = Payload::new(self, slot);
        let [way, row, units, version] = [payload.next(), payload.next(), payload.next(), payload.next()];
        match way {
            0 => None,
            1 => Some(Change::give_back(row as u32, units)),
            2 => Some(Change::take(row as u32, units)),
            _ => Some(Change::set(row as u32, units, version)),
        }
    }

    /// Writes a request that nobody else can find yet.
    fn draft_request(&self, content: &Content) -> Result<Op, Full> {
        self.answers.get_or_try_init(|| Ok(Box::default()))?;
        let slot = self.arena.alloc()?;
        let record = self.get(slot);
        let mut pen = Pen::new(self, record);
        let words = match *content {
            Content::Restock { row, units } => [1, u64::from(row), units, 0],
            Content::WriteOff { row, units } => [2, u64::from(row), units, 0],
            Content::SetAvailable { row, expected, units } => [3, u64::from(row), units, expected],
            _ => [0; 4],
        };
        let written = words.into_iter().try_for_each(|word| pen.write(word));
        let provided = written.and_then(|()| self.answers.get().map_or(Err(Full), |answers| answers.provide_for(slot)));
        if let Err(full) = provided {
            self.recycle(slot);
            return Err(full);
        }
        let tag = record.state().tag();
        record.set_state(OrderWord::new(Phase::Asked, tag, 0));
        Ok(Op { slot, tag })
    }
}

impl Protocol {
    /// The record of a request: one that has come before, or a new one. Whoever calls is pinned. Lock-free.
    pub(crate) fn request(&self, id: &str, issued: u64, content: Content) -> Result<Op, Unkept> {
        let requests = &self.requests;
        let (key, content) = ((issued, Box::from(id)), Arc::new(content));
        loop {
            requests.edge.touch();
            if let Some(known) = requests.all.get(&key) {
                let Request { content: before, made } = known.value();
                if let Some(field) = before.difference(&content) {
                    return Err(Unkept::Differs(field));
                }
                // What has been answered is known. Another may come after the first of its kind was forgotten.
                let is_answered = self.records.get(made.slot).state().phase() == Phase::Answered;
                return if is_answered { Ok(*made) } else { self.young_enough(issued).map(|()| *made) };
            }
            self.young_enough(issued)?;
            let made = self.records.draft_request(&content)?;
            step(Step::Drafted);
            let entry = requests.all.get_or_insert(key.clone(), Request { content: Arc::clone(&content), made });
            if entry.value().made != made {
                self.records.recycle(made.slot);
                continue;
            }
            change(&requests.kept, |kept| Some(kept + 1));
            // Again if others were about to forget the same: then only one has gone for all of them.
            while requests.kept.load() > requests.max && self.forget_oldest_request() {}
            step(Step::RequestEntered);
            return self.young_enough(issued).map(|()| made);
        }
    }

    /// Whether no request as old as this has been forgotten. Looked at after the set, which a request leaves later.
    fn young_enough(&self, issued: u64) -> Result<(), Unkept> {
        match self.requests.forgotten.load() {
            forgotten if issued < forgotten => Err(Unkept::TooOld { forgotten_to: forgotten - 1 }),
            _ => Ok(()),
        }
    }

    /// Forgets the oldest request, or finds that somebody else does. False: there is none. Lock-free.
    fn forget_oldest_request(&self) -> bool {
        let requests = &self.requests;
        requests.edge.touch();
        let Some(oldest) = requests.all.front() else { return false };
        let (issued, made) = (oldest.key().0, oldest.value().made);
        // First of all: who does not find it any more must know that it may have been.
        change(&requests.forgotten, |forgotten| (forgotten <= issued).then_some(issued + 1));
        step(Step::KeysTooOld);
        let record = self.records.get(made.slot);
        let is_mine = loop {
            let word = record.state();
            let op = Op { slot: made.slot, tag: word.tag() };
            if word.is_busy() {
                self.help(op);
                continue;
            }
            // What a thread that panicked has left in the row means nothing once the record is used again.
            self.finish(op, word);
            if word.is_forgotten() || record.advance(word, word.forgotten()) {
                break !word.is_forgotten();
            }
        };
        requests.edge.touch();
        // This entry: its key may have come again, entered by a thread that had not found it.
        oldest.remove();
        if is_mine {
            change(&requests.kept, |kept| kept.checked_sub(1));
            self.retention.retire(made.slot);
            self.reclaim();
        }
        true
    }

    /// What a request about an order was answered, if it was.
    pub(crate) fn revised(&self, request: Op) -> Option<Revised> {
        let answered = self.records.get(request.slot).state().phase() == Phase::Answered;
        let [open, closed] = answered.then(|| self.records.answer(request)).flatten()?;
        let closed = [None, Some(State::Fulfilled), Some(State::Cancelled)].get(closed as usize).copied().flatten();
        Some(Revised { open, closed })
    }

    /// Carries out a request about a row, once. `may` says whether that can be done right now, and then which units
    /// leave the books by it and which enter them; where those can never be received, the answer is `overflow`.
    /// Lock-free.
    ///
    /// Linearization point: the CAS on the request's state, once the row is frozen for it; of a replay, the load of
    /// that state.
    pub(crate) fn edit_once<E>(
        &self,
        request: Op,
        row: u32,
        may: impl Fn() -> Result<(u64, u64), E>,
        overflow: impl Fn() -> E,
    ) -> Result<Once<Stock>, KeyedError<E>> {
        let record = self.records.get(request.slot);
        loop {
            let word = record.state();
            let op = Op { slot: request.slot, tag: word.tag() };
            if word.is_busy() {
                self.help(op);
                continue;
            }
            if word.phase() == Phase::Answered {
                return Ok(Once::Replayed(self.stock_answered(op)));
            }
            let allowed = may();
            step(Step::ShortageSeen);
            let opened = allowed.and_then(|entry| {
                let books = self.rows.get(row).open_edit(entry.1.saturating_sub(entry.0));
                Ok((entry, books.ok_or_else(&overflow)?))
            });
            // What is lacking may be what this very request has taken meanwhile.
            if opened.is_err() && record.state() != word {
                continue;
            }
            let (entry, books) = opened.map_err(KeyedError::Refused)?;
            step(Step::EditOpened);
            if word.is_forgotten() {
                let forgotten_to = self.requests.forgotten.load().saturating_sub(1);
                return Err(KeyedError::TooOld { forgotten_to });
            }
            if word.tag() >= LAST_RESERVE_TAG {
                return Err(KeyedError::Full);
            }
            // What the last attempt left in the row means nothing once the tag moves on.
            let busy = word.begin(Phase::Editing);
            if let Some(stock) = self.attempt_edit(Attempt {
                protocol: self,
                from: word,
                busy,
                slot: op.slot,
                entry,
                books,
                has_begun: false,
            }) {
                return Ok(Once::New(stock));
            }
        }
    }

    fn attempt_edit(&self, mut attempt: Attempt<'_>) -> Option<Stock> {
        let Attempt { from, busy, slot, .. } = attempt;
        let change = self.records.asked(slot)?;
        let targets = PerLine::One([self.aim(change)]);
        let order = self.records.descriptor(slot);
        attempt.has_begun = order.record.advance(from, busy);
        if !attempt.has_begun {
            return None;
        }
        step(Step::RequestBegun);
        self.drive(order, busy, targets);
        attempt.is_accepted().then(|| self.stock_answered(attempt.op()))
    }

    fn stock_answered(&self, op: Op) -> Stock {
        let [available, version] = self.records.answer(op).unwrap_or_default();
        Stock { available, version }
    }
}

/// One attempt to change a row for a request. Dropped, also by a panic, it enters into the books what came of it.
struct Attempt<'a> {
    protocol: &'a Protocol,
    from: OrderWord,
    busy: OrderWord,
    slot: u32,
    entry: (u64, u64),
    books: Edit<'a>,
    /// Others' attempts may have the same tag.
    has_begun: bool,
}

impl Attempt<'_> {
    fn op(&self) -> Op {
        Op { slot: self.slot, tag: self.busy.tag() }
    }

    /// Whether it was accepted; decided it is, or it has never begun.
    fn is_accepted(&self) -> bool {
        let word = self.protocol.records.get(self.slot).state();
        self.has_begun && word.phase() == Phase::Answered && word.tag() == self.busy.tag()
    }
}

impl Drop for Attempt<'_> {
    fn drop(&mut self) {
        if self.has_begun && self.protocol.records.get(self.slot).state() == self.busy {
            self.protocol.help(self.op());
        }
        if self.is_accepted() {
            self.books.enter(self.entry.0, self.entry.1);
        }
    }
}

#[cfg(all(test, not(stockade_loom)))]
mod tests {
    #![allow(clippy::unwrap_used)]

    use crate::{KeyedError, Once, RequestKey, Revised, State, Stockade};

    #[test]
    fn a_change_in_part_is_answered_once_it_is_made() {
        let shop = Stockade::builder().keep_keys(1).build().unwrap();
        shop.add_sku("mug", 1).unwrap();
        let _ = shop.reserve("order", &[("mug", 1)]).unwrap();
        let _ = shop.pay("order").unwrap();
        let [later, earlier] = ["b", "a"].map(|id| shop.keyed(RequestKey { id, issued: 7 }));
        let shipped = Revised { open: 0, closed: Some(State::Fulfilled) };
        assert_eq!(later.fulfil_lines("order", &[("mug", 1)]), Ok(Once::New(shipped)));
        // One key too many, and this is the older one.
        assert_eq!(earlier.restock("mug", 1), Err(KeyedError::TooOld { forgotten_to: 7 }));
        assert_eq!(later.fulfil_lines("order", &[("mug", 1)]), Ok(Once::Replayed(shipped)));
    }
}
