//! Field widths of every packed word, in one place, and the limits that follow from them.
//!
//! | word | fields, lowest bit first |
//! | --- | --- |
//! | row (128 bit) | available 36, version 44, intent: slot 28, tag 20 |
//! | order state | phase 5, reason 2, tag 20, version 22, edition 2, revision 2, four flags, age 7 |
//! | deadline | milliseconds 42, dead 1, told 1, tag 20 |
//! | index cell | kind 2, slot 28, fingerprint 34 |
//! | index node | kind 2, segment 22, generation 40 |
//!
//! A *slot* numbers a record of the order arena. A *tag* numbers the operations on a slot; it never
//! repeats (a slot whose tag is used up is retired), so `(slot, tag)` names one operation for ever.
//!
//! loom has no 128-bit atomics: its build packs the same row fields narrower into 64 bits.

/// One field of a packed word.
#[derive(Clone, Copy)]
pub(crate) struct Field {
    shift: u32,
    bits: u32,
}

impl Field {
    /// The field that begins where nothing is below it.
    pub(crate) const fn lowest(bits: u32) -> Self {
        Field { shift: 0, bits }
    }

    /// The field right above this one.
    pub(crate) const fn then(self, bits: u32) -> Self {
        Field { shift: self.shift + self.bits, bits }
    }

    pub(crate) const fn max(self) -> u64 {
        (1 << self.bits) - 1
    }

    #[inline]
    pub(crate) const fn get(self, word: u64) -> u64 {
        (word >> self.shift) & self.max()
    }

    /// `word` with this field set to `value`.
    #[inline]
    pub(crate) const fn set(self, word: u64, value: u64) -> u64 {
        debug_assert!(value <= self.max());
        (word & !(self.max() << self.shift)) | (value << self.shift)
    }
}

#[cfg(not(stockade_loom))]
mod widths {
    pub(crate) const AVAILABLE_BITS: u32 = 36;
    pub(crate) const ROW_VERSION_BITS: u32 = 44;
    pub(crate) const SLOT_BITS: u32 = 28;
    pub(crate) const TAG_BITS: u32 = 20;
    pub(crate) const ROW_BITS: u32 = 128;
}

#[cfg(stockade_loom)]
mod widths {
    pub(crate) const AVAILABLE_BITS: u32 = 12;
    pub(crate) const ROW_VERSION_BITS: u32 = 26;
    pub(crate) const SLOT_BITS: u32 = 6;
    pub(crate) const TAG_BITS: u32 = 20;
    pub(crate) const ROW_BITS: u32 = 64;
}

pub(crate) use widths::*;

const _: () = assert!(AVAILABLE_BITS + ROW_VERSION_BITS + SLOT_BITS + TAG_BITS == ROW_BITS);

/// Longest order id and SKU, in bytes. (The loom build keeps its rows small.)
pub const MAX_KEY_BYTES: usize = if cfg!(stockade_loom) { 16 } else { 255 };

/// Most distinct SKUs in one order.
pub const MAX_LINES: usize = 4096;

/// Most units that can ever be received into one row (2^36 - 1), less what was written off.
///
/// Nothing given back can then overflow a row: available is never more than received.
pub const MAX_UNITS: u64 = (1 << AVAILABLE_BITS) - 1;

/// A row at this version takes no new reserve or edit. What is left below 2^44 is more than enough to give back
/// all it holds, one unit at a time, so a cancel never meets the end of the counter.
pub(crate) const LAST_ROW_VERSION: u64 = (1 << ROW_VERSION_BITS) - (1 << AVAILABLE_BITS) - 1;

/// What is left of the order's state for the age in which it ended.
pub(crate) const AGE_BITS: u32 = 64 - 5 - 2 - TAG_BITS - 22 - 2 - 2 - 4;

/// No hold ever dies at this time; and the last at which one can is the one before.
pub(crate) const NEVER: u64 = (1 << DEADLINE_BITS) - 1;
pub(crate) const DEADLINE_BITS: u32 = 62 - TAG_BITS;

/// Tags at or above this one are kept for giving back: no reserve starts there.
pub(crate) const LAST_RESERVE_TAG: u32 = (1 << TAG_BITS) - 3;

/// A slot whose tag has come this far is not used for another order.
pub(crate) const RETIRED_TAG: u32 = LAST_RESERVE_TAG - 8;
