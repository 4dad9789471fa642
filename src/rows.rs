//! All rows and their names. A name lies elsewhere than its row, under the same number: what every order changes is a
//! cache line for each row and nothing between them, so that thousands of rows stay near.

use crate::arena::{Arena, Full, Slot};
use crate::layout::{MAX_KEY_BYTES, SLOT_BITS};
use crate::record::key_words;
use crate::row::Row;
use crate::sync::{Data, Word};

pub(crate) struct Rows {
    rows: Arena<Row>,
    names: Arena<Name>,
}

impl Rows {
    pub(crate) fn new() -> Self {
        Rows { rows: Arena::new(), names: Arena::new() }
    }

    #[inline]
    pub(crate) fn get(&self, row: u32) -> &Row {
        self.rows.get(row)
    }

    pub(crate) fn name(&self, row: u32) -> Box<str> {
        self.names.get(row).read()
    }

    pub(crate) fn has_name(&self, row: u32, name: &str) -> bool {
        self.names.get(row).is(name)
    }

    /// A row that nobody else can find yet. Lock-free.
    pub(crate) fn draft(&self, name: &str, available: u64) -> Result<u32, Full> {
        let row = self.rows.alloc()?;
        if let Err(full) = self.names.provide_for(row) {
            self.rows.free(row);
            return Err(full);
        }
        self.rows.get(row).draft(available);
        self.names.get(row).write(name);
        Ok(row)
    }

    /// Gives back a row that nobody else can find.
    pub(crate) fn free(&self, row: u32) {
        self.rows.free(row);
    }
}

#[derive(Debug)]
#[cfg_attr(not(stockade_loom), derive(bytemuck::Zeroable))]
pub(crate) struct Name {
    bytes: Data,
    words: [Data; MAX_KEY_BYTES.div_ceil(8)],
    link: Word,
}

impl Slot for Name {
    type Chunk = [Name; 1 << Self::CHUNK_BITS];
    const CHUNK_BITS: u32 = Row::CHUNK_BITS;
    const NUMBER_BITS: u32 = SLOT_BITS;

    #[cfg(not(stockade_loom))]
    fn chunk() -> Option<Box<Self::Chunk>> {
        bytemuck::try_zeroed_box().ok()
    }

    #[cfg(stockade_loom)]
    fn chunk() -> Option<Box<Self::Chunk>> {
        let words = || std::array::from_fn(|_| Data::default());
        let name = || Name { bytes: Data::default(), words: words(), link: Word::default() };
        Some(Box::new(std::array::from_fn(|_| name())))
    }

    fn at(chunk: &Self::Chunk, index: usize) -> &Self {
        &chunk[index]
    }

    fn link(&self) -> &Word {
        &self.link
    }
}

impl Name {
    fn write(&self, name: &str) {
        self.bytes.store(name.len() as u64);
        for (word, value) in self.words.iter().zip(key_words(name)) {
            word.store(value);
        }
    }

    fn is(&self, name: &str) -> bool {
        self.bytes.load() == name.len() as u64
            && self.words.iter().zip(key_words(name)).all(|(word, value)| word.load() == value)
    }

    fn read(&self) -> Box<str> {
        let mut bytes: Vec<u8> = self.words.iter().flat_map(|word| word.load().to_le_bytes()).collect();
        bytes.truncate(self.bytes.load() as usize);
        String::from_utf8_lossy(&bytes).into()
    }
}

#[cfg(all(test, not(stockade_loom)))]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_row_has_its_own_name_and_no_other() {
        let rows = Rows::new();
        for bytes in 1..=MAX_KEY_BYTES {
            let name = "n".repeat(bytes);
            let row = rows.draft(&name, 1).unwrap();
            assert!(rows.has_name(row, &name));
            assert_eq!(*rows.name(row), *name);
            for other in [format!("{name}\0"), format!("{}o", &name[1..]), format!("o{}", &name[1..])] {
                assert!(!rows.has_name(row, &other), "{name} is not {other}");
            }
        }
    }

    #[test]
    fn a_row_that_is_given_back_has_the_next_ones_name() {
        let rows = Rows::new();
        let row = rows.draft("a long name, much longer than the next", 1).unwrap();
        rows.free(row);
        assert_eq!(rows.draft("short", 2).unwrap(), row);
        assert_eq!((&*rows.name(row), rows.get(row).load().available()), ("short", 2));
    }
}
