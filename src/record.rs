//! The order record: one cache line that is an order, its id, its lines, and the descriptor of what is being done
//! to it.
//!
//! | word | content |
//! | --- | --- |
//! | 0 | state word ([`OrderWord`]) |
//! | 1 | bytes of the id 8, lines 14, next record 28 (the arena's free list uses this word too), whether timed 1 |
//! | 2..8 | the id, eight bytes a word, then the [`Deadline`] of a timed order, then the lines, one a word |
//!
//! An id of up to 40 bytes and one line fill exactly one record; of a timed order, one of 32. What does not fit goes on
//! in further records, which are VACANT orders. Everything but word 0 and the deadline is written before the record is
//! published and never changed while it is an order.
//!
//! *Timed* is what can have a deadline: an order that was reserved with one, or that was created first, because nobody
//! knows yet how it will be reserved.
//!
//! A reader may hold the slot of a record that has been recycled under it. It may read whatever it finds there, but
//! must look at word 0 *afterwards*, and believe what it read only if the tag is still the one it expects.

use bytemuck::TransparentWrapper;
use crossbeam_utils::CachePadded;

use crate::arena::{Arena, Full, Slot};
use crate::layout::{DEADLINE_BITS, Field, NEVER, SLOT_BITS, TAG_BITS};
use crate::pair::Pair;
use crate::state::{OrderWord, Phase};
use crate::sync::{Class, Lazy, Word, change};

/// Words of a record: state, head, payload.
const WORDS: usize = 8;

const ID_BYTES: Field = Field::lowest(8);
const LINES: Field = ID_BYTES.then(14);
const NEXT: Field = LINES.then(SLOT_BITS);
const TIMED: Field = NEXT.then(1);

const ENDS_MS: Field = Field::lowest(DEADLINE_BITS);
const IS_DEAD: Field = ENDS_MS.then(1);
const IS_TOLD: Field = IS_DEAD.then(1);
const OF_TAG: Field = IS_TOLD.then(TAG_BITS);

/// A snapshot of a timed order's deadline word: when the hold ends that the operation `tag` takes or took. It moves
/// from announcement to announcement while the order is CREATED, and later while the hold is extended; once it is dead,
/// it only becomes told, or notes a late payment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Deadline(u64);

impl Deadline {
    /// `ends_ms` is [`NEVER`] for a hold that does not end.
    pub(crate) fn new(ends_ms: u64, tag: u32) -> Self {
        Deadline(OF_TAG.set(ends_ms.min(NEVER), u64::from(tag)))
    }

    pub(crate) fn ends_ms(self) -> u64 {
        if self.taken_again().is_some() { NEVER } else { ENDS_MS.get(self.0) }
    }

    pub(crate) fn tag(self) -> u32 {
        OF_TAG.get(self.0) as u32
    }

    /// Whether it can still be moved.
    pub(crate) fn is_dead(self) -> bool {
        IS_DEAD.get(self.0) == 1
    }

    pub(crate) fn dead(self) -> Self {
        Deadline(IS_DEAD.set(self.0, 1))
    }

    /// Dead, and the caller of `expire_due` knows.
    pub(crate) fn told(self) -> Self {
        Deadline(IS_TOLD.set(self.0, 1))
    }

    /// What is left of it when an order that was paid for late is changed: where its end stood, stands the tag under
    /// which the units were taken again. That under which they were taken first stays: whoever did either may have yet
    /// to learn it.
    pub(crate) fn note(self, taken_again: u32) -> Self {
        Deadline(IS_TOLD.set(Deadline::new(u64::from(taken_again), self.tag()).0, 1))
    }

    /// The tag so noted. (Otherwise only what is dead is told.)
    pub(crate) fn taken_again(self) -> Option<u32> {
        (IS_TOLD.get(self.0) == 1 && !self.is_dead()).then(|| ENDS_MS.get(self.0) as u32)
    }

    /// Whether a hold that ends so has ended, or never lived past somebody else's reading of the clock.
    pub(crate) fn has_come(self, now_ms: u64) -> bool {
        self.is_dead() || self.ends_ms() <= now_ms
    }
}

/// 64 bytes, on a cache line of its own.
#[derive(Debug, bytemuck::TransparentWrapper)]
#[repr(transparent)]
pub(crate) struct Record([Word; WORDS]);

/// Bytes of a cache line, and of a record.
const LINE: usize = 64;

/// Records, and room for one more, because the first one begins where a cache line does. An array of what is aligned to
/// a line would have to be cleared by hand, page after page, in the middle of somebody's call.
#[derive(Debug)]
#[cfg_attr(not(stockade_loom), derive(bytemuck::Zeroable))]
pub(crate) struct Chunk([Word; WORDS * ((1 << Record::CHUNK_BITS) + 1)]);

impl Chunk {
    #[inline]
    fn first(&self) -> usize {
        // loom's words are larger, and lines mean nothing there.
        if cfg!(stockade_loom) { 0 } else { self.0.as_ptr().addr().wrapping_neg() % LINE / size_of::<Word>() }
    }
}

impl Slot for Record {
    type Chunk = Chunk;
    const CHUNK_BITS: u32 = if cfg!(stockade_loom) { 3 } else { 10 };
    const NUMBER_BITS: u32 = SLOT_BITS;

    #[cfg(not(stockade_loom))]
    fn chunk() -> Option<Box<Self::Chunk>> {
        bytemuck::try_zeroed_box().ok()
    }

    #[cfg(stockade_loom)]
    fn chunk() -> Option<Box<Self::Chunk>> {
        let class = |word| [Class::Protocol, Class::Memory].get(word % WORDS).copied().unwrap_or(Class::Payload);
        Some(Box::new(Chunk(std::array::from_fn(|word| Word::of(class(word), 0)))))
    }

    #[inline]
    fn at(chunk: &Chunk, index: usize) -> &Record {
        let (records, _) = chunk.0[chunk.first()..].as_chunks();
        Record::wrap_ref(&records[index])
    }

    fn link(&self) -> &Word {
        self.head()
    }
}

impl Record {
    #[inline]
    fn head(&self) -> &Word {
        &self.0[1]
    }

    #[inline]
    fn payload(&self) -> &[Word] {
        &self.0[2..]
    }

    /// Whether there is a deadline among its payload.
    #[inline]
    pub(crate) fn is_timed(&self) -> bool {
        TIMED.get(self.head().load()) == 1
    }

    #[inline]
    pub(crate) fn state(&self) -> OrderWord {
        OrderWord(self.0[0].load())
    }

    /// Of a record that nobody else can find.
    #[inline]
    pub(crate) fn set_state(&self, word: OrderWord) {
        self.0[0].store(word.0);
    }

    /// Moves the state word on if it is still `from`.
    #[inline]
    pub(crate) fn advance(&self, from: OrderWord, to: OrderWord) -> bool {
        self.0[0].compare_exchange(from.0, to.0).is_ok()
    }
}

/// A record and its number.
#[derive(Clone, Copy)]
pub(crate) struct Descriptor<'a> {
    pub(crate) slot: u32,
    pub(crate) record: &'a Record,
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
    let (words, last) = split_key(key);
    words.iter().map(|word| u64::from_le_bytes(*word)).chain(last)
}

#[inline]
fn split_key(key: &str) -> (&[[u8; 8]], Option<u64>) {
    let bytes = key.as_bytes();
    let (words, rest) = bytes.as_chunks();
    let last = (!rest.is_empty()).then(|| match bytes.last_chunk() {
        // What is before the rest in its eight bytes is shifted out.
        Some(last) => u64::from_le_bytes(*last) >> (64 - 8 * rest.len()),
        None => rest.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte)),
    });
    (words, last)
}

/// All order records, and how many more orders there may be.
pub(crate) struct Records {
    pub(crate) arena: Arena<Record>,
    /// Made when the first order is changed in part.
    pub(crate) ledgers: Lazy<Arena<Pair>>,
    /// Made when the first request with a key comes.
    pub(crate) answers: Lazy<Arena<Pair>>,
    room: Option<CachePadded<Word>>,
    /// Garbage records that the index still names.
    dead: CachePadded<Word>,
}

impl Records {
    pub(crate) fn new(max_orders: Option<u64>) -> Self {
        let room = max_orders.map(|orders| CachePadded::new(Word::of(Class::Memory, orders)));
        Records {
            arena: Arena::new(),
            ledgers: Lazy::new(),
            answers: Lazy::new(),
            room,
            dead: CachePadded::new(Word::of(Class::Memory, 0)),
        }
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

    /// Marks a record as garbage, if it is still in this state: a refused attempt, only by the thread whose attempt it
    /// was, or an order that is forgotten. Lock-free.
    pub(crate) fn kill(&self, slot: u32, from: OrderWord, garbage: OrderWord) -> bool {
        // Counted before it is dead: who sees none has at worst missed one, and the next rewrite finds it.
        change(&self.dead, |dead| Some(dead + 1));
        let killed = self.get(slot).advance(from, garbage);
        if killed {
            self.give_room_back();
        } else {
            self.count_out();
        }
        killed
    }

    /// Whether the index may name garbage.
    pub(crate) fn any_dead(&self) -> bool {
        self.dead.load() > 0
    }

    /// One garbage record less that the index names, or was going to.
    pub(crate) fn count_out(&self) {
        change(&self.dead, |dead| dead.checked_sub(1));
    }

    /// Writes a record that nobody else can find yet; its state is `phase` under the slot's current tag, and so is its
    /// deadline, if it is timed.
    #[inline(always)]
    pub(crate) fn draft(
        &self,
        id: &str,
        ends_ms: Option<u64>,
        lines: &[RowLine],
        phase: Phase,
        version: u64,
    ) -> Result<Draft<'_>, Full> {
        self.claim_room()?;
        let slot = self.arena.alloc().inspect_err(|_| self.give_room_back())?;
        let draft = Draft { records: self, order: self.descriptor(slot) };
        let first = draft.order.record;
        // Before anything is read: a page that is read first is given as one of zeros that all share, and given again
        // when it is written, for which the system interrupts all other cores.
        let mut pen = Pen::new(self, first);
        let tag = first.state().tag();
        let deadline = ends_ms.map(|ends_ms| Deadline::new(ends_ms, tag).0);
        let (words, last) = split_key(id);
        for word in words {
            pen.write(u64::from_le_bytes(*word))?;
        }
        for word in last.into_iter().chain(deadline) {
            pen.write(word)?;
        }
        for line in lines {
            pen.write(line.pack())?;
        }
        let head = TIMED.set(ID_BYTES.set(first.head().load(), id.len() as u64), u64::from(deadline.is_some()));
        first.head().store(LINES.set(head, lines.len() as u64));
        first.set_state(OrderWord::new(phase, tag, version));
        Ok(draft)
    }

    /// Gives a record and its continuations back that nobody else can find.
    pub(crate) fn recycle(&self, slot: u32) {
        let mut slot = slot;
        while slot != 0 {
            let record = self.arena.get(slot);
            let next = NEXT.get(record.head().load()) as u32;
            // The tag moves on before anything else is changed, so that who still reads this record notices.
            let vacant = record.state().begin(Phase::Vacant);
            record.set_state(vacant);
            if vacant.tag() < crate::layout::RETIRED_TAG {
                self.arena.free(slot);
            }
            slot = next;
        }
    }

    /// Of a record that nobody else can find.
    pub(crate) fn set_lines(&self, slot: u32, lines: usize) {
        let head = self.get(slot).head();
        head.store(LINES.set(head.load(), lines as u64));
    }

    pub(crate) fn count_lines(&self, slot: u32) -> usize {
        LINES.get(self.get(slot).head().load()) as usize
    }

    #[inline]
    pub(crate) fn get(&self, slot: u32) -> &Record {
        self.arena.get(slot)
    }

    #[inline]
    pub(crate) fn descriptor(&self, slot: u32) -> Descriptor<'_> {
        Descriptor { slot, record: self.get(slot) }
    }

    /// The record in which the payload of this one goes on.
    #[cold]
    fn after(&self, record: &Record) -> &Record {
        self.get(NEXT.get(record.head().load()) as u32)
    }

    pub(crate) fn has_id(&self, slot: u32, id: &str) -> bool {
        let mut payload = Payload::new(self, slot);
        let (words, last) = split_key(id);
        ID_BYTES.get(payload.head) == id.len() as u64
            && words.iter().all(|word| payload.next() == u64::from_le_bytes(*word))
            && last.is_none_or(|word| payload.next() == word)
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
        payload.skip((ID_BYTES.get(payload.head) as usize).div_ceil(8) + TIMED.get(payload.head) as usize);
        let left = LINES.get(payload.head) as usize;
        Lines { payload, left }
    }

    /// The deadline of a timed order. Like all payload it counts only if the state read after it has the tag expected.
    pub(crate) fn deadline(&self, slot: u32) -> Option<Deadline> {
        self.deadline_word(slot).map(|word| Deadline(word.load_as(Class::Deadlines)))
    }

    /// The same, unless the hold does not end.
    pub(crate) fn deadline_to_come(&self, slot: u32) -> Option<Deadline> {
        self.deadline(slot).filter(|it| it.ends_ms() != NEVER)
    }

    /// Moves a deadline on if it is still `from`.
    pub(crate) fn set_deadline(&self, slot: u32, from: Deadline, to: Deadline) -> bool {
        self.deadline_word(slot).is_some_and(|word| word.compare_exchange(from.0, to.0).is_ok())
    }

    fn deadline_word(&self, slot: u32) -> Option<&Word> {
        let mut payload = Payload::new(self, slot);
        (TIMED.get(payload.head) == 1).then(|| {
            payload.skip((ID_BYTES.get(payload.head) as usize).div_ceil(8));
            payload.word()
        })
    }
}

/// Writes a record's payload word by word, and goes on in further records.
pub(crate) struct Pen<'a> {
    records: &'a Records,
    record: &'a Record,
    blank: std::slice::Iter<'a, Word>,
}

impl<'a> Pen<'a> {
    /// For a record that nobody else can find.
    #[inline]
    pub(crate) fn new(records: &'a Records, record: &'a Record) -> Self {
        record.head().store(0);
        Pen { records, record, blank: record.payload().iter() }
    }

    #[inline]
    pub(crate) fn write(&mut self, word: u64) -> Result<(), Full> {
        loop {
            if let Some(blank) = self.blank.next() {
                blank.store(word);
                return Ok(());
            }
            *self = Pen::after(self.records, self.record)?;
        }
    }

    #[cold]
    fn after(records: &'a Records, record: &Record) -> Result<Self, Full> {
        let slot = records.arena.alloc()?;
        let next = Pen::new(records, records.get(slot));
        record.head().store(NEXT.set(record.head().load(), u64::from(slot)));
        Ok(next)
    }
}

/// Reads a record's payload word by word, through all its continuations.
pub(crate) struct Payload<'a> {
    records: &'a Records,
    /// The first record's.
    head: u64,
    record: &'a Record,
    left: std::slice::Iter<'a, Word>,
}

impl<'a> Payload<'a> {
    #[inline]
    pub(crate) fn new(records: &'a Records, slot: u32) -> Self {
        let record = records.get(slot);
        Payload { records, head: record.head().load(), record, left: record.payload().iter() }
    }

    #[inline]
    pub(crate) fn next(&mut self) -> u64 {
        self.word().load()
    }

    #[inline]
    fn word(&mut self) -> &'a Word {
        loop {
            if let Some(word) = self.left.next() {
                return word;
            }
            self.record = self.records.after(self.record);
            self.left = self.record.payload().iter();
        }
    }

    #[inline]
    fn skip(&mut self, words: usize) {
        match self.record.payload().get(words..) {
            Some(left) => self.left = left.iter(),
            None => (0..words).for_each(|_| _ = self.word()),
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
    pub(crate) order: Descriptor<'a>,
}

impl<'a> Draft<'a> {
    /// The record is in the index now and belongs to everybody.
    #[inline]
    pub(crate) fn publish(self) -> Descriptor<'a> {
        let order = self.order;
        std::mem::forget(self);
        order
    }
}

impl Drop for Draft<'_> {
    fn drop(&mut self) {
        self.records.recycle(self.order.slot);
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
        let shapes = (1..=255).flat_map(|bytes| [(bytes, 1), (bytes, 2), (bytes, 13)]);
        for ((bytes, count), ends_ms) in shapes.flat_map(|shape| [(shape, None), (shape, Some(77))]) {
            let id = "i".repeat(bytes);
            let lines: Vec<_> = (1..=count).map(|row| RowLine { row, quantity: u32::MAX - row }).collect();
            let draft = records.draft(&id, ends_ms, &lines, Phase::Created, 0).unwrap();
            assert_eq!(records.deadline(draft.order.slot).map(Deadline::ends_ms), ends_ms);
            assert_eq!(records.id(draft.order.slot), id.as_bytes());
            assert!(records.has_id(draft.order.slot, &id));
            for other in [format!("{id}\0"), format!("{}o", &id[1..]), format!("o{}", &id[1..])] {
                assert!(!records.has_id(draft.order.slot, &other), "{id} is not {other}");
            }
            let mut read = records.lines(draft.order.slot);
            assert_eq!((read.len(), read.next()), (lines.len(), Some(lines[0])));
            assert_eq!(read.len(), lines.len() - 1);
            assert!(read.eq(lines.into_iter().skip(1)));
        }
    }
}
