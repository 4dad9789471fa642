//! Two words more for a record, under the same number, for the few records that need them. The memory is never used for
//! anything else, and the words carry tags: a thread that comes too late for one changes nothing.

use crate::arena::Slot;
use crate::layout::SLOT_BITS;
#[cfg(stockade_loom)]
use crate::sync::Class;
use crate::sync::Word;

#[derive(Debug)]
#[cfg_attr(not(stockade_loom), derive(bytemuck::Zeroable))]
pub(crate) struct Pair(pub(crate) [Word; 2]);

impl Slot for Pair {
    type Chunk = [Pair; 1 << Self::CHUNK_BITS];
    const CHUNK_BITS: u32 = if cfg!(stockade_loom) { 3 } else { 10 };
    const NUMBER_BITS: u32 = SLOT_BITS;

    #[cfg(not(stockade_loom))]
    fn chunk() -> Option<Box<Self::Chunk>> {
        bytemuck::try_zeroed_box().ok()
    }

    #[cfg(stockade_loom)]
    fn chunk() -> Option<Box<Self::Chunk>> {
        let word = |_| Word::of(Class::Ledgers, 0);
        Some(Box::new(std::array::from_fn(|_| Pair(std::array::from_fn(word)))))
    }

    fn at(chunk: &Self::Chunk, index: usize) -> &Self {
        &chunk[index]
    }

    /// Never free: each belongs to the record of its number.
    fn link(&self) -> &Word {
        &self.0[0]
    }
}
