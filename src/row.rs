//! The stock row: `available`, `version` and the intent of the one order that is changing the row, in one
//! atomic word.
//!
//! A row without an intent means what it says. A row with one is frozen for that operation: whoever wants to
//! change it finishes that operation first. `available` and `version` change only when the intent of
//! a decided operation is replaced by its effect, or by an edit (restock, write-off, set) on a row without intent.
//!
//! Beside the word stand the books: units ever received less write-offs, and the number of edits under way. They
//! serve the limit on received units, and the audit; no order is decided by them.

use crate::arena::Slot;
use crate::layout::{AVAILABLE_BITS, Field, LAST_ROW_VERSION, MAX_UNITS, ROW_VERSION_BITS, SLOT_BITS, TAG_BITS};
use crate::state::Effect;
use crate::sync::{Wide, WideWord, Word};

/// An operation on an order, as a row names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Op {
    pub(crate) slot: u32,
    pub(crate) tag: u32,
}

/// A snapshot of the row word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RowWord(Wide);

const VERSION_SHIFT: u32 = AVAILABLE_BITS;
const SLOT_SHIFT: u32 = VERSION_SHIFT + ROW_VERSION_BITS;
const TAG_SHIFT: u32 = SLOT_SHIFT + SLOT_BITS;

impl RowWord {
    pub(crate) fn new(available: u64, version: u64) -> Self {
        debug_assert!(available <= MAX_UNITS && version < 1 << ROW_VERSION_BITS);
        RowWord(Wide::from(available) | Wide::from(version) << VERSION_SHIFT)
    }

    // In the loom build `Wide` is 64 bits, and the casts do nothing.
    #[cfg_attr(stockade_loom, allow(clippy::unnecessary_cast))]
    #[inline]
    pub(crate) fn available(self) -> u64 {
        self.0 as u64 & MAX_UNITS
    }

    #[cfg_attr(stockade_loom, allow(clippy::unnecessary_cast))]
    #[inline]
    pub(crate) fn version(self) -> u64 {
        (self.0 >> VERSION_SHIFT) as u64 & ((1 << ROW_VERSION_BITS) - 1)
    }

    /// Whose operation the row is frozen for. Slot 0 is never handed out and stands for nobody.
    #[inline]
    pub(crate) fn intent(self) -> Option<Op> {
        let slot = (self.0 >> SLOT_SHIFT) as u32 & ((1 << SLOT_BITS) - 1);
        let tag = (self.0 >> TAG_SHIFT) as u32 & ((1 << TAG_BITS) - 1);
        (slot != 0).then_some(Op { slot, tag })
    }

    /// The same row, frozen for `op`.
    pub(crate) fn with_intent(self, op: Op) -> Self {
        let bare = RowWord::new(self.available(), self.version()).0;
        RowWord(bare | Wide::from(op.slot) << SLOT_SHIFT | Wide::from(op.tag) << TAG_SHIFT)
    }

    /// The row once its intent is replaced by what the operation does with `units`. An undecided
    /// operation does nothing yet: this is what a reader shows.
    pub(crate) fn after(self, effect: Effect, units: u64) -> Self {
        match effect {
            // Taking was decided with enough in the row, giving back returns what had been received: neither wraps.
            Effect::Take => RowWord::new(self.available() - units, self.version() + 1),
            Effect::GiveBack => RowWord::new(self.available() + units, self.version() + 1),
            Effect::Set => RowWord::new(units, self.version() + 1),
            // Where each line has its own, each row has one of the others.
            Effect::Void | Effect::Undecided | Effect::Each => RowWord::new(self.available(), self.version()),
        }
    }

    /// Whether its version is at its end.
    pub(crate) fn is_worn_out(self) -> bool {
        self.version() > LAST_ROW_VERSION
    }

    pub(crate) fn stock(self) -> crate::Stock {
        crate::Stock { available: self.available(), version: self.version() }
    }
}

const RECEIVED: Field = Field::lowest(48);
const EDITS: Field = RECEIVED.then(16);

/// A snapshot of a row's books.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Books(u64);

impl Books {
    pub(crate) fn received(self) -> u64 {
        RECEIVED.get(self.0)
    }

    /// Whether an edit has changed one of books and row, but not yet the other.
    pub(crate) fn in_motion(self) -> bool {
        EDITS.get(self.0) != 0
    }
}

/// One row, on a cache line of its own.
#[derive(Debug, Default)]
#[repr(C, align(64))]
pub(crate) struct Row {
    word: WideWord,
    books: Word,
    link: Word,
}

impl Slot for Row {
    type Chunk = [Row; 1 << Self::CHUNK_BITS];
    const CHUNK_BITS: u32 = if cfg!(stockade_loom) { 2 } else { 8 };
    const NUMBER_BITS: u32 = SLOT_BITS;

    fn chunk() -> Option<Box<Self::Chunk>> {
        Some(Box::new(std::array::from_fn(|_| Row::default())))
    }

    fn at(chunk: &Self::Chunk, index: usize) -> &Self {
        &chunk[index]
    }

    fn link(&self) -> &Word {
        &self.link
    }
}

impl Row {
    /// Fills in a row that nobody else can find yet.
    pub(crate) fn draft(&self, available: u64) {
        self.word.store(RowWord::new(available, 0).0);
        self.books.store(RECEIVED.set(0, available));
    }

    #[inline]
    pub(crate) fn load(&self) -> RowWord {
        RowWord(self.word.load())
    }

    /// Changes the whole word, if it is still `from`.
    #[inline]
    pub(crate) fn exchange(&self, from: RowWord, to: RowWord) -> bool {
        self.word.compare_exchange(from.0, to.0).is_ok()
    }

    pub(crate) fn books(&self) -> Books {
        Books(self.books.load())
    }

    /// Opens an edit that may receive up to `units`. `None`: with those of other edits under way they would pass
    /// [`MAX_UNITS`], or as many edits are under way as can be counted.
    pub(crate) fn open_edit(&self, units: u64) -> Option<Edit<'_>> {
        let mut books = self.books.load();
        loop {
            let received = RECEIVED.get(books).checked_add(units).filter(|sum| *sum <= MAX_UNITS)?;
            let edits = Some(EDITS.get(books) + 1).filter(|edits| *edits <= EDITS.max())?;
            let open = EDITS.set(RECEIVED.set(books, received), edits);
            match self.books.compare_exchange(books, open) {
                Ok(_) => return Some(Edit { row: self, surplus: units }),
                Err(now) => books = now,
            }
        }
    }
}

/// An edit under way. Closed, also by a panic, it takes out of the books what was entered and did not come.
pub(crate) struct Edit<'a> {
    row: &'a Row,
    surplus: u64,
}

impl Edit<'_> {
    /// Notes that the edit has changed `available`, so that closing it enters the difference.
    pub(crate) fn enter(&mut self, before: u64, after: u64) {
        self.surplus = self.surplus + before - after;
    }

    /// Notes that units which left long ago are to leave the books.
    pub(crate) fn leave(&mut self, units: u64) {
        self.surplus += units;
    }
}

impl Drop for Edit<'_> {
    fn drop(&mut self) {
        let mut books = self.row.books.load();
        loop {
            let received = RECEIVED.get(books).saturating_sub(self.surplus);
            let closed = EDITS.set(RECEIVED.set(books, received), EDITS.get(books) - 1);
            match self.row.books.compare_exchange(books, closed) {
                Ok(_) => return,
                Err(now) => books = now,
            }
        }
    }
}

#[cfg(all(test, not(stockade_loom)))]
mod tests {
    use super::*;

    #[test]
    fn fields_do_not_touch_each_other() {
        let last_version = (1 << ROW_VERSION_BITS) - 1;
        for (available, version) in [(0, 0), (MAX_UNITS, 0), (0, last_version), (MAX_UNITS, last_version)] {
            for (slot, tag) in [(1, 0), ((1 << SLOT_BITS) - 1, 0), (1, (1 << TAG_BITS) - 1)] {
                let (word, op) = (RowWord::new(available, version), Op { slot, tag });
                assert_eq!((word.available(), word.version(), word.intent()), (available, version, None));
                let frozen = word.with_intent(op);
                assert_eq!((frozen.available(), frozen.version(), frozen.intent()), (available, version, Some(op)));
                assert_eq!(frozen.after(Effect::Void, 7), word);
            }
        }
    }
}
