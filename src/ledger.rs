//! What became of an order's lines: of each, how many units are fulfilled, cancelled, or still open.
//!
//! Most orders are never changed in part, and have none of this: their lines are those of the record. A *revision*
//! writes a new *edition* of all lines into records of its own and announces it in the order's ledger, under the tag
//! that the operation will have. The ledger has two places. One is that of the edition the order has, if it has one:
//! the state word says which. The next edition is announced in the other, and becomes the order's by the CAS on the
//! state word that decides the revision, together with everything else.
//!
//! One announcement for each tag: who finds another's goes through with that first. An announcement whose tag another
//! operation has taken means nothing, and the next one replaces it.
//!
//! An edition is read like any payload: it counts only if the order's state, read afterwards, is still the one by which
//! it was found. Two have an edition in hand, the ledger and the thread that wrote it, which needs it to learn its
//! verdict; the second to let go of it recycles it. What was decided is noted in the edition before the order's tag
//! moves on.

use crate::arena::Full;
use crate::change::Change;
use crate::hooks::{Step, step};
use crate::layout::{Field, SLOT_BITS, TAG_BITS};
use crate::pair::Pair;
use crate::record::{Payload, Pen, Records, RowLine};
use crate::row::Op;
use crate::state::{Left, OrderWord, Phase};
use crate::{Revised, State};

const EDITION: Field = Field::lowest(SLOT_BITS);
const OF_TAG: Field = EDITION.then(TAG_BITS);

/// Of an edition's first word: what it leaves of the order, and the request it is for, if that has a key.
const IS_OPEN: Field = Field::lowest(1);
const HAS_SHIPPED: Field = IS_OPEN.then(1);
const FOR_SLOT: Field = HAS_SHIPPED.then(SLOT_BITS);
const FOR_TAG: Field = FOR_SLOT.then(TAG_BITS);

/// Words of one line in an edition.
const PART_WORDS: usize = 3;

/// One line of an order with what became of its units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) row: u32,
    pub(crate) ordered: u32,
    pub(crate) fulfilled: u32,
    pub(crate) cancelled: u32,
    /// Units that the revision which wrote this takes from the row, or gives back to it if they are negative.
    pub(crate) change: i64,
}

impl Part {
    pub(crate) fn new(line: RowLine) -> Self {
        Part { row: line.row, ordered: line.quantity, fulfilled: 0, cancelled: 0, change: 0 }
    }

    /// Fulfilled or cancelled, for good.
    pub(crate) fn settled(&self) -> u32 {
        self.fulfilled + self.cancelled
    }

    pub(crate) fn open(&self) -> u32 {
        self.ordered - self.settled()
    }

    /// As an order in this state shows it: what was open when it ended has been fulfilled, or cancelled.
    pub(crate) fn shown(self, word: OrderWord) -> Self {
        let (open, part) = (self.open(), Part { change: 0, ..self });
        match word.shown() {
            Some(State::Fulfilled) if !word.has_released() => Part { fulfilled: self.fulfilled + open, ..part },
            Some(State::Fulfilled | State::Cancelled) => Part { cancelled: self.cancelled + open, ..part },
            _ => part,
        }
    }

    /// What it does to its row.
    pub(crate) fn touched(&self) -> Option<Change> {
        let units = self.change.unsigned_abs();
        match self.change {
            0 => None,
            1.. => Some(Change::take(self.row, units)),
            _ => Some(Change::give_back(self.row, units)),
        }
    }

    fn pack(self) -> [u64; PART_WORDS] {
        let pair = |high: u32, low: u32| u64::from(high) << 32 | u64::from(low);
        [pair(self.row, self.ordered), pair(self.fulfilled, self.cancelled), self.change as u64]
    }

    /// Of memory that may be another's by now: whatever it is, nothing here overflows.
    fn unpack([line, settled, change]: [u64; PART_WORDS]) -> Self {
        let (row, ordered) = ((line >> 32) as u32, line as u32);
        let fulfilled = ((settled >> 32) as u32).min(ordered);
        let cancelled = (settled as u32).min(ordered - fulfilled);
        Part { row, ordered, fulfilled, cancelled, change: change as i64 }
    }
}

/// A snapshot of one place: which edition is announced there, and for which operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place(u64);

impl Place {
    fn of(edition: u32, tag: u32) -> Self {
        Place(OF_TAG.set(u64::from(edition), u64::from(tag)))
    }

    pub(crate) fn tag(self) -> u32 {
        OF_TAG.get(self.0) as u32
    }

    /// Its first record; `None` if nothing has ever been announced there.
    pub(crate) fn edition(self) -> Option<u32> {
        Some(EDITION.get(self.0) as u32).filter(|edition| *edition != 0)
    }
}

impl Pair {
    pub(crate) fn place(&self, number: usize) -> Place {
        Place(self.0[number % 2].load())
    }

    /// The edition that was announced for an operation.
    fn announced(&self, tag: u32) -> Option<u32> {
        let places = self.0.iter().map(|place| Place(place.load()));
        let announced = places.filter(|place| place.tag() == tag).find_map(Place::edition);
        step(Step::EditionFound);
        announced
    }
}

impl Records {
    /// The ledger of an order; `None`: no revision of it was ever announced.
    #[inline]
    pub(crate) fn ledger(&self, slot: u32) -> Option<&Pair> {
        self.ledgers.get()?.find(slot)
    }

    /// The same, made if it is not there.
    pub(crate) fn make_ledger(&self, slot: u32) -> Result<&Pair, Full> {
        let ledgers = self.ledgers.get_or_try_init(|| Ok(Box::default()))?;
        ledgers.provide_for(slot)?;
        ledgers.find(slot).ok_or(Full)
    }

    /// Writes an edition that nobody else can find yet.
    pub(crate) fn write_edition(&self, parts: &[Part], request: Option<Op>) -> Result<Edition<'_>, Full> {
        let edition = Edition { records: self, first: self.arena.alloc()?, is_announced: false };
        let shipped = parts.iter().any(|part| part.fulfilled > 0);
        let is_open = parts.iter().any(|part| part.open() > 0);
        let mut pen = Pen::new(self, self.get(edition.first));
        let left = HAS_SHIPPED.set(u64::from(is_open), u64::from(shipped));
        let Op { slot, tag } = request.unwrap_or(Op { slot: 0, tag: 0 });
        pen.write(FOR_TAG.set(FOR_SLOT.set(left, u64::from(slot)), u64::from(tag)))?;
        for word in parts.iter().flat_map(|part| part.pack()) {
            pen.write(word)?;
        }
        self.set_lines(edition.first, parts.len());
        Ok(edition)
    }

    /// The lines of an order in the edition of this number.
    pub(crate) fn edition(&self, slot: u32, number: usize) -> Parts<'_> {
        let edition = self.ledger(slot).and_then(|ledger| ledger.place(number).edition());
        step(Step::EditionFound);
        self.parts(edition)
    }

    /// The lines that a revision announced.
    pub(crate) fn announced(&self, slot: u32, tag: u32) -> Parts<'_> {
        self.parts(self.ledger(slot).and_then(|ledger| ledger.announced(tag)))
    }

    fn parts(&self, edition: Option<u32>) -> Parts<'_> {
        let Some(edition) = edition else { return Parts { payload: None, left: 0 } };
        let (mut payload, left) = (Payload::new(self, edition), self.count_lines(edition));
        payload.next();
        Parts { payload: Some(payload), left }
    }

    /// What a revision leaves of its order.
    pub(crate) fn left(&self, slot: u32, tag: u32) -> Left {
        let edition = self.ledger(slot).and_then(|ledger| ledger.announced(tag));
        edition.map_or(Left::Open { shipped: false }, |edition| self.left_by(edition))
    }

    fn left_by(&self, edition: u32) -> Left {
        let first = self.first_word(edition);
        let shipped = HAS_SHIPPED.get(first) == 1;
        if IS_OPEN.get(first) == 1 { Left::Open { shipped } } else { Left::Nothing { shipped } }
    }

    fn first_word(&self, edition: u32) -> u64 {
        Payload::new(self, edition).next()
    }

    /// Notes in its edition what was decided about a revision, and answers the request it was for. Lock-free.
    pub(crate) fn note_verdict(&self, slot: u32, tag: u32, accepted: bool) {
        let Some(ledger) = self.ledger(slot) else { return };
        while let Some(edition) = ledger.announced(tag) {
            let (word, first) = (self.get(edition).state(), self.first_word(edition));
            let request = Op { slot: FOR_SLOT.get(first) as u32, tag: FOR_TAG.get(first) as u32 };
            let revised = (request.slot != 0).then(|| {
                let open = self.parts(Some(edition)).map(|part| u64::from(part.open())).sum();
                Revised { open, closed: self.left_by(edition).closed() }
            });
            // Still announced after that: so all of it was this edition's.
            if ledger.announced(tag) != Some(edition) {
                return;
            }
            if let (true, Some(revised)) = (accepted, revised) {
                self.answer_revised(request, revised);
            }
            if word.verdict().is_some() || self.get(edition).advance(word, word.with_verdict(accepted)) {
                return;
            }
        }
    }

    /// Lets go of the editions of an order that nobody has in hand any more.
    pub(crate) fn drop_editions(&self, slot: u32) {
        let Some(ledger) = self.ledger(slot) else { return };
        for place in &ledger.0 {
            if let Some(edition) = Place(place.load()).edition() {
                self.let_go_of_edition(edition);
            }
            place.store(0);
        }
    }

    /// Lets go of an edition, for the ledger or for its writer: the second recycles it. Lock-free.
    fn let_go_of_edition(&self, edition: u32) {
        let record = self.get(edition);
        loop {
            let word = record.state();
            if word.phase() == Phase::Dead {
                return self.recycle(edition);
            }
            if record.advance(word, word.to(Phase::Dead)) {
                return;
            }
        }
    }
}

/// An edition in the hands of the thread that wrote it. Dropped, also by a panic, it is let go.
pub(crate) struct Edition<'a> {
    records: &'a Records,
    first: u32,
    is_announced: bool,
}

impl Edition<'_> {
    /// Announces it as the next of this order, in place of what was there. False: that has changed. Lock-free.
    pub(crate) fn announce(&mut self, ledger: &Pair, number: usize, before: Place, tag: u32) -> bool {
        let mine = Place::of(self.first, tag);
        self.is_announced = ledger.0[number].compare_exchange(before.0, mine.0).is_ok();
        if let (true, Some(before)) = (self.is_announced, before.edition()) {
            self.records.let_go_of_edition(before);
        }
        self.is_announced
    }

    /// What it leaves of the order.
    pub(crate) fn left(&self) -> Left {
        self.records.left_by(self.first)
    }

    /// What was decided about it, if its operation has ended and the order has gone on since.
    pub(crate) fn verdict(&self) -> Option<bool> {
        self.records.get(self.first).state().verdict()
    }
}

impl Drop for Edition<'_> {
    fn drop(&mut self) {
        if self.is_announced {
            self.records.let_go_of_edition(self.first);
        } else {
            self.records.recycle(self.first);
        }
    }
}

/// The lines of an edition, in ascending row order.
pub(crate) struct Parts<'a> {
    payload: Option<Payload<'a>>,
    left: usize,
}

impl Iterator for Parts<'_> {
    type Item = Part;

    fn next(&mut self) -> Option<Part> {
        self.left = self.left.checked_sub(1)?;
        let payload = self.payload.as_mut()?;
        Some(Part::unpack([payload.next(), payload.next(), payload.next()]))
    }
}
