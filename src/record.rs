//! The order record: one cache line that is an order, its id, its lines, and the descriptor of what is being done
//! to it.
//!
//! | word | content |
//! | --- | --- |
//! | 0 | state word ([`OrderWord`]) |
//! | 1 | bytes of the id 8, lines 13, next record 28 (the arena's free list uses this word too) |
//! | 2..8 | the id, eight bytes a word, then the lines, one a word |
//!
//! An id of up to 40 bytes and one line fill exactly one record. What does not fit goes on in further records, which are
//! VACANT orders. Everything but word 0 is written before the record is published and never changed while it
//! is an order.
//!
//! A reader may hold the slot of a record that has been recycled under it. It may read whatever it finds there, but
//! must look at word 0 *afterwards*, and believe what it read only if the tag is still the one it expects.

use crossbeam_utils::CachePadded;

use crate::arena::{Arena, Full, Slot};
use crate::layout::{Field, SLOT_BITS};
use crate::state::{OrderWord, Phase};
use crate::sync::{Class, Data, Word};

const PAYLOAD: usize = 6;

const ID_BYTES: Field = Field::lowest(8);
const LINES: Field = ID_BYTES.then(13);
const NEXT: Field = LINES.then(SLOT_BITS);

/// 64 bytes, on a cache line of its own.
#[derive(Debug)]
#[cfg_attr(not(stockade_loom), derive(bytemuck::Zeroable))]
#[repr(C, align(64))]
pub(crate) struct Record {
    state: Word,
    head: Word,
    payload: [Data; PAYLOAD],
}

#[cfg(not(stockade_loom))]
const _: () = assert!(size_of::<Record>() == 64);

impl Slot for Record {
    type Chunk = [Record; 1 << Self::CHUNK_BITS];
    const CHUNK_BITS: u32 = if cfg!(stockade_loom) { 3 } else { 6 };
    const NUMBER_BITS: u32 = SLOT_BITS;

    #[cfg(not(stockade_loom))]
    fn chunk() -> Option<Box<Self::Chunk>> {
        bytemuck::try_zeroed_box().ok()
    }

    #[cfg(stockade_loom)]
    fn chunk() -> Option<Box<Self::Chunk>> {
        let record =
            |_| Record { state: Word::default(), head: Word::of(Class::Memory, 0), payload: Default::default() };
        Some(Box::new(std::array::from_fn(record)))
    }

    fn link(&self) -> &Word {
        &self.head
    }
}

impl Record {
    #[inline]
    pub(crate) fn state(&self) -> OrderWord {
        OrderWord(self.state.load())
    }

    /// Moves the state word on if it is still `from`.
    #[inline]
    pub(crate) fn advance(&self, from: OrderWord, to: OrderWord) -> bool {
        self.state.compare_exchange(from.0, to.0).is_ok()
    }
}

/// One line as the engine keeps it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct RowLine {
    pub(crate) row: u32,
    pub(crate) quantity: u32,
}

impl RowLine {
    fn pack(self) -> u64 {
        u64::from(self.row) << 32 | u64::from(self.quantity)
    }

    fn unpack(word: u64) -> Self {
        RowLine { row: (word >> 32) as u32, quantity: word as u32 }
    }
}

/// A key eight bytes a word, the last one filled up with zeros.
#[inline]
pub(crate) fn key_words(key: &str) -> impl Iterator<Item = u64> + '_ {
    let whole = key.as_bytes().chunks_exact(8);
    let rest = whole.remainder();
    let last = rest.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte));
    let whole = whole.map(|chunk| u64::from_le_bytes(chunk.try_into().unwrap_or_default()));
    whole.chain((!rest.is_empty()).then_some(last))
}

/// All order records, and how many more orders there may be.
pub(crate) struct Records {
    pub(crate) arena: Arena<Record>,
    room: Option<CachePadded<Word>>,
    /// Dead records that the index still names.
    dead: CachePadded<Word>,
}

impl Records {
    pub(crate) fn new(max_orders: Option<u64>) -> Self {
        let room = max_orders.map(|orders| CachePadded::new(Word::of(Class::Memory, orders)));
        Records { arena: Arena::new(), room, dead: CachePadded::new(Word::of(Class::Memory, 0)) }
    }

    /// Takes one from the orders there may still be. Lock-free.
    fn claim_room(&self) -> Result<(), Full> {
        self.room.as_ref().map_or(Ok(()), |room| change(room, |left| left.checked_sub(1)).ok_or(Full))
    }

    /// One order may come that could not before: a draft was not entered, or an attempt was refused. Lock-free.
    fn give_room_back(&self) {
        if let Some(room) = &self.room {
            change(room, |left| Some(left + 1));
        }
    }

    /// Marks a refused attempt as garbage; only by the thread whose attempt it was. Lock-free.
    pub(crate) fn kill(&self, slot: u32, refused: OrderWord) {
        // Counted before it is dead: who sees none has at worst missed one, and the next rewrite finds it.
        change(&self.dead, |dead| Some(dead + 1));
        if self.get(slot).advance(refused, refused.to(Phase::Dead)) {
            self.give_room_back();
        } else {
            change(&self.dead, |dead| dead.checked_sub(1));
        }
    }

    /// Whether the index may name dead records.
    pub(crate) fn any_dead(&self) -> bool {
        self.dead.load() > 0
    }

    /// Gives back a dead record that the index does not name any more. Only by the one thread that took it out.
    pub(crate) fn bury(&self, slot: u32) {
        self.recycle(slot);
        change(&self.dead, |dead| dead.checked_sub(1));
    }

    /// Writes a record that nobody else can find yet; its state is `phase` under the slot's current tag.
    pub(crate) fn draft(&self, id: &str, lines: &[RowLine], phase: Phase, version: u64) -> Result<Draft<'_>, Full> {
        self.claim_room()?;
        let slot = self.arena.alloc().inspect_err(|_| self.give_room_back())?;
        let draft = Draft { records: self, slot };
        let first = self.get(slot);
        first.head.store(0);
        let mut last = first;
        let mut at = 0;
        // As one call that goes through both parts, not a loop that asks each time in which it is.
        key_words(id).chain(lines.iter().map(|line| line.pack())).try_for_each(|word| {
            if at == PAYLOAD {
                last = self.another(last)?;
                at = 0;
            }
            last.payload[at].store(word);
            at += 1;
            Ok(())
        })?;
        let head = ID_BYTES.set(first.head.load(), id.len() as u64);
        first.head.store(LINES.set(head, lines.len() as u64));
        first.state.store(OrderWord::new(phase, first.state().tag(), version).0);
        Ok(draft)
    }

    /// A record in which `last` goes on.
    #[cold]
    fn another(&self, last: &Record) -> Result<&Record, Full> {
        let slot = self.arena.alloc()?;
        let next = self.arena.get(slot);
        next.head.store(0);
        last.head.store(NEXT.set(last.head.load(), u64::from(slot)));
        Ok(next)
    }

    /// Gives a record and its continuations back that nobody else can find.
    fn recycle(&self, slot: u32) {
        let mut slot = slot;
        while slot != 0 {
            let record = self.arena.get(slot);
            let next = NEXT.get(record.head.load()) as u32;
            // The tag moves on before anything else is changed, so that who still reads this record notices.
            let vacant = record.state().begin(Phase::Vacant);
            record.state.store(vacant.0);
            if vacant.tag() < crate::layout::RETIRED_TAG {
                self.arena.free(slot);
            }
            slot = next;
        }
    }

    pub(crate) fn get(&self, slot: u32) -> &Record {
        self.arena.get(slot)
    }

    pub(crate) fn has_id(&self, slot: u32, id: &str) -> bool {
        let mut payload = Payload::new(self, slot);
        ID_BYTES.get(payload.head) == id.len() as u64 && key_words(id).all(|word| payload.next() == word)
    }

    pub(crate) fn id(&self, slot: u32) -> Vec<u8> {
        let mut payload = Payload::new(self, slot);
        let len = ID_BYTES.get(payload.head) as usize;
        let mut bytes: Vec<u8> = (0..len.div_ceil(8)).flat_map(|_| payload.next().to_le_bytes()).collect();
        bytes.truncate(len);
        bytes
    }

    pub(crate) fn lines(&self, slot: u32) -> Lines<'_> {
        let mut payload = Payload::new(self, slot);
        payload.skip((ID_BYTES.get(payload.head) as usize).div_ceil(8));
        let left = LINES.get(payload.head) as usize;
        Lines { payload, left }
    }
}

/// Changes a count, unless it cannot become what `to` says. Lock-free.
fn change(count: &Word, to: impl Fn(u64) -> Option<u64>) -> Option<()> {
    let mut now = count.load();
    loop {
        match count.compare_exchange(now, to(now)?) {
            Ok(_) => return Some(()),
            Err(other) => now = other,
        }
    }
}

/// Reads a record's payload word by word, through all its continuations.
struct Payload<'a> {
    records: &'a Records,
    head: u64,
    record: &'a Record,
    at: usize,
}

impl<'a> Payload<'a> {
    fn new(records: &'a Records, slot: u32) -> Self {
        let record = records.get(slot);
        Payload { records, head: record.head.load(), record, at: 0 }
    }

    #[inline]
    fn next(&mut self) -> u64 {
        if self.at == PAYLOAD {
            self.record = self.records.get(NEXT.get(self.record.head.load()) as u32);
            self.at = 0;
        }
        self.at += 1;
        self.record.payload[self.at - 1].load()
    }

    fn skip(&mut self, words: usize) {
        if words <= PAYLOAD {
            self.at = words;
        } else {
            for _ in 0..words {
                self.next();
            }
        }
    }
}

/// The lines of an order, in ascending row order.
pub(crate) struct Lines<'a> {
    payload: Payload<'a>,
    left: usize,
}

impl Iterator for Lines<'_> {
    type Item = RowLine;

    #[inline]
    fn next(&mut self) -> Option<RowLine> {
        self.left = self.left.checked_sub(1)?;
        Some(RowLine::unpack(self.payload.next()))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl ExactSizeIterator for Lines<'_> {}

/// A record that is not published: dropped, its memory is free again, also when a panic drops it.
pub(crate) struct Draft<'a> {
    records: &'a Records,
    pub(crate) slot: u32,
}

impl Draft<'_> {
    pub(crate) fn record(&self) -> &Record {
        self.records.get(self.slot)
    }

    /// Gives the reason of a draft that is CANCELLED.
    pub(crate) fn explain(&self, reason: crate::CancelReason) {
        let record = self.record();
        record.state.store(record.state().because(reason).0);
    }

    /// The record is in the index now and belongs to everybody.
    pub(crate) fn publish(self) -> u32 {
        let slot = self.slot;
        std::mem::forget(self);
        slot
    }
}

impl Drop for Draft<'_> {
    fn drop(&mut self) {
        self.records.recycle(self.slot);
        self.records.give_room_back();
    }
}

#[cfg(all(test, not(stockade_loom)))]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn an_id_and_its_lines_come_back_whatever_their_length() {
        let records = Records::new(None);
        for (bytes, count) in (1..=255).flat_map(|bytes| [(bytes, 1), (bytes, 2), (bytes, 13)]) {
            let id = "i".repeat(bytes);
            let lines: Vec<_> = (1..=count).map(|row| RowLine { row, quantity: u32::MAX - row }).collect();
            let draft = records.draft(&id, &lines, Phase::Created, 0).unwrap();
            assert_eq!(records.id(draft.slot), id.as_bytes());
            assert!(records.has_id(draft.slot, &id));
            for other in [format!("{id}\0"), format!("{}o", &id[1..]), format!("o{}", &id[1..])] {
                assert!(!records.has_id(draft.slot, &other), "{id} is not {other}");
            }
            let mut read = records.lines(draft.slot);
            assert_eq!((read.len(), read.next()), (lines.len(), Some(lines[0])));
            assert_eq!(read.len(), lines.len() - 1);
            assert!(read.eq(lines.into_iter().skip(1)));
        }
    }
}
