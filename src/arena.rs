//! Growing memory of equal slots that are never moved and never given back to the system: `alloc` and `free`
//! are lock-free, and reading a slot that has been freed is harmless (its tag tells).
//!
//! Memory comes in chunks of up to about 64 KiB, found through two levels of pointers: few enough that the pointers
//! stay near, and nobody ever has to clear more than that, however much there is. Fresh slots are handed out in small
//! runs, one run for each shard, so that threads do not share a counter; freed slots wait on a Treiber stack (R. K.
//! Treiber, 1986) whose head carries a count against ABA.

use std::alloc::{Layout, handle_alloc_error};

use crossbeam_utils::CachePadded;

use crate::hooks::{Step, step};
use crate::layout::{Field, SLOT_BITS};
use crate::sync::{Class, Lazy, SHARDS, Word, shard};

/// What an arena can hold.
pub(crate) trait Slot: Sized + Send + Sync + 'static {
    /// So many slots that chunks are few, and memory that the allocator need not clear by hand: whoever first uses a
    /// page has it cleared by the system, which takes 1 to 2 us.
    type Chunk: Send + Sync;
    const CHUNK_BITS: u32;
    /// Bits that whoever names a slot has for its number.
    const NUMBER_BITS: u32;
    /// A chunk of slots, all zero; `None` if the system has no more memory.
    fn chunk() -> Option<Box<Self::Chunk>>;
    /// One slot of a chunk.
    fn at(chunk: &Self::Chunk, index: usize) -> &Self;
    /// A word of a free slot that the arena may use; it is left as it is found otherwise.
    fn link(&self) -> &Word;
}

/// Slots up to the last chunk of the last directory.
const DIRECTORY_BITS: u32 = if cfg!(stockade_loom) { 2 } else { 10 };
const DIRECTORY: usize = 1 << DIRECTORY_BITS;
/// Fresh slots that a shard takes at a time, or a chunk if that has fewer.
const RUN: u64 = if cfg!(stockade_loom) { 2 } else { 16 };

type Directory<T> = [Lazy<<T as Slot>::Chunk>; DIRECTORY];

/// Head of the free list: the first free slot (0 for none) and a count of the changes.
const HEAD_SLOT: Field = Field::lowest(SLOT_BITS);
const HEAD_COUNT: Field = HEAD_SLOT.then(64 - SLOT_BITS);
/// What is left of a shard's run: the next slot and the end.
const RUN_NEXT: Field = Field::lowest(32);
const RUN_END: Field = RUN_NEXT.then(32);

pub(crate) struct Arena<T: Slot> {
    /// The first chunk; also stands in for one that does not exist.
    first: Box<T::Chunk>,
    directories: Box<[Lazy<Directory<T>>; DIRECTORY]>,
    free: CachePadded<Word>,
    /// First slot that no shard has taken.
    fresh: CachePadded<Word>,
    runs: Box<[CachePadded<Word>]>,
}

impl<T: Slot> Default for Arena<T> {
    fn default() -> Self {
        Self::new()
    }
}

/// The arena has handed out all it may.
#[derive(Debug)]
pub(crate) struct Full;

impl<T: Slot> Arena<T> {
    /// The number of the last slot there can be; the first is 1.
    pub(crate) const LAST: u64 = {
        let reached = T::CHUNK_BITS + 2 * DIRECTORY_BITS;
        (1 << if reached < T::NUMBER_BITS { reached } else { T::NUMBER_BITS }) - 1
    };

    const RUN: u64 = if 1 << T::CHUNK_BITS < RUN { 1 << T::CHUNK_BITS } else { RUN };

    pub(crate) fn new() -> Self {
        Arena {
            first: T::chunk().unwrap_or_else(|| handle_alloc_error(Layout::new::<T::Chunk>())),
            directories: Box::new(std::array::from_fn(|_| Lazy::new())),
            free: CachePadded::new(Word::of(Class::Memory, 0)),
            fresh: CachePadded::new(Word::of(Class::Memory, 1)),
            runs: (0..SHARDS).map(|_| CachePadded::new(Word::of(Class::Memory, 0))).collect(),
        }
    }

    /// The slot of this number. A number that was never handed out (read from memory that is being reused) yields
    /// some slot, whose tag will not fit.
    #[inline]
    pub(crate) fn get(&self, slot: u32) -> &T {
        self.find(slot).unwrap_or_else(|| T::at(&self.first, slot as usize % (1 << T::CHUNK_BITS)))
    }

    /// The slot of this number, if there is memory for it.
    #[inline]
    pub(crate) fn find(&self, slot: u32) -> Option<&T> {
        Some(T::at(self.chunk(slot as usize >> T::CHUNK_BITS)?, slot as usize % (1 << T::CHUNK_BITS)))
    }

    #[inline]
    fn chunk(&self, chunk: usize) -> Option<&T::Chunk> {
        match chunk {
            0 => Some(&self.first),
            _ => self.directories[chunk / DIRECTORY % DIRECTORY].get()?[chunk % DIRECTORY].get(),
        }
    }

    /// A slot that nobody else has; its contents are what its last user left, or zero. Lock-free.
    #[inline(always)]
    pub(crate) fn alloc(&self) -> Result<u32, Full> {
        match self.pop() {
            Some(slot) => Ok(slot),
            None => self.next_of_run(),
        }
    }

    /// Gives a slot back. Lock-free.
    pub(crate) fn free(&self, slot: u32) {
        let mut head = self.free.load();
        loop {
            self.get(slot).link().store(HEAD_SLOT.get(head));
            match self.free.compare_exchange(head, moved(head, slot)) {
                Ok(_) => return,
                Err(now) => head = now,
            }
        }
    }

    #[inline]
    fn pop(&self) -> Option<u32> {
        let mut head = self.free.load();
        loop {
            let slot = HEAD_SLOT.get(head) as u32;
            if slot == 0 {
                return None;
            }
            // May be another user's by now; then the head has changed, and the exchange fails.
            let next = HEAD_SLOT.get(self.get(slot).link().load()) as u32;
            step(Step::FreeSlotSeen);
            match self.free.compare_exchange(head, moved(head, next)) {
                Ok(_) => return Some(slot),
                Err(now) => head = now,
            }
        }
    }

    #[inline]
    fn next_of_run(&self) -> Result<u32, Full> {
        let run = &self.runs[shard()];
        loop {
            let word = run.load();
            let (next, end) = (RUN_NEXT.get(word), RUN_END.get(word));
            if next < end {
                if run.compare_exchange(word, RUN_NEXT.set(word, next + 1)).is_ok() {
                    return Ok(next as u32);
                }
                continue;
            }
            let (start, end) = self.claim_run()?;
            step(Step::RunClaimed);
            let rest = RUN_END.set(RUN_NEXT.set(0, start + 1), end);
            if run.compare_exchange(word, rest).is_err() {
                // Another thread of this shard was faster; what this one claimed goes where all can take it.
                (start + 1..end).for_each(|slot| self.free(slot as u32));
            }
            return Ok(start as u32);
        }
    }

    /// Makes sure that there is memory for so many slots, however they are shared out, and that the system has cleared
    /// it. Only of an arena that is not in use yet.
    pub(crate) fn provide_up_to(&self, slots: usize) -> Result<(), Full> {
        let last = slots + SHARDS * RUN as usize;
        if last as u64 > Self::LAST {
            return Err(Full);
        }
        (0..=last >> T::CHUNK_BITS).try_for_each(|chunk| self.provide(chunk))?;
        (1..=last).for_each(|slot| self.get(slot as u32).link().store(0));
        Ok(())
    }

    /// Makes sure that there is memory for this slot, which another arena has handed out.
    pub(crate) fn provide_for(&self, slot: u32) -> Result<(), Full> {
        self.provide(slot as usize >> T::CHUNK_BITS)
    }

    /// Makes sure that there is a chunk.
    fn provide(&self, chunk: usize) -> Result<(), Full> {
        if self.chunk(chunk).is_none() {
            let empty = || Ok(Box::new(std::array::from_fn(|_| Lazy::new())));
            let directory = self.directories[chunk / DIRECTORY].get_or_try_init(empty)?;
            directory[chunk % DIRECTORY].get_or_try_init(|| T::chunk().ok_or(Full))?;
        }
        Ok(())
    }

    /// Makes sure that there is memory under the next run of fresh slots, then takes it.
    fn claim_run(&self) -> Result<(u64, u64), Full> {
        let mut start = self.fresh.load();
        loop {
            // A run ends where its chunk ends, so that it needs no more than one.
            let end = (start / Self::RUN * Self::RUN + Self::RUN).min(Self::LAST + 1);
            if start >= end {
                return Err(Full);
            }
            self.provide(start as usize >> T::CHUNK_BITS)?;
            match self.fresh.compare_exchange(start, end) {
                Ok(_) => return Ok((start, end)),
                Err(now) => start = now,
            }
        }
    }
}

/// The head after a change: another slot on top, one more on the count.
fn moved(head: u64, slot: u32) -> u64 {
    let count = HEAD_COUNT.get(head).wrapping_add(1) & HEAD_COUNT.max();
    HEAD_COUNT.set(HEAD_SLOT.set(0, u64::from(slot)), count)
}

#[cfg(all(test, not(stockade_loom)))]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    struct Small(Word);

    impl Slot for Small {
        type Chunk = [Small; 1 << Self::CHUNK_BITS];
        const CHUNK_BITS: u32 = 4;
        const NUMBER_BITS: u32 = 16;

        fn chunk() -> Option<Box<Self::Chunk>> {
            Some(Box::new(std::array::from_fn(|_| Small(Word::default()))))
        }

        fn at(chunk: &Self::Chunk, index: usize) -> &Self {
            &chunk[index]
        }

        fn link(&self) -> &Word {
            &self.0
        }
    }

    #[test]
    fn room_is_there_before_it_is_used_and_no_more() {
        let arena: Arena<crate::record::Record> = Arena::new();
        arena.provide_up_to(5_000).unwrap();
        let last = (5_000 + SHARDS * RUN as usize) >> crate::record::Record::CHUNK_BITS;
        assert!((0..=last).all(|chunk| arena.chunk(chunk).is_some()));
        assert!(arena.chunk(last + 1).is_none());
        let all = Arena::<crate::record::Record>::LAST as usize;
        assert!(arena.provide_up_to(all - SHARDS * RUN as usize + 1).is_err());
    }

    #[test]
    fn every_slot_there_can_be_is_handed_out_and_no_two_are_one() {
        let arena: Arena<Small> = Arena::new();
        for slot in 1..1 << Small::NUMBER_BITS {
            assert_eq!(arena.alloc().unwrap(), slot);
            assert_eq!(arena.get(slot).0.load(), 0, "the slot is another one as well");
            arena.get(slot).0.store(u64::from(slot));
        }
        assert!(arena.alloc().is_err());
    }

    fn given_back_is_handed_out_again<T: Slot>() {
        let arena: Arena<T> = Arena::new();
        let slots: Vec<u32> = (0..3).map(|_| arena.alloc().unwrap()).collect();
        slots.iter().for_each(|slot| arena.free(*slot));
        assert!(slots.iter().rev().all(|slot| arena.alloc().unwrap() == *slot));
        assert!(!slots.contains(&arena.alloc().unwrap()));
    }

    #[test]
    fn what_is_given_back_is_handed_out_again() {
        given_back_is_handed_out_again::<Small>();
        given_back_is_handed_out_again::<crate::record::Record>();
        given_back_is_handed_out_again::<crate::row::Row>();
        given_back_is_handed_out_again::<crate::table::Segment>();
    }
}
