//! Rows as atomic words, and lines that take no allocation when there is one: for the peers without a lock on rows.

use std::sync::atomic::{AtomicU64, Ordering};

use super::record::{Line, normalised, refusal};
use crate::contender::Reserve;

/// Units available of each row, by its number.
pub struct AtomicRows(Vec<AtomicU64>);

impl AtomicRows {
    pub fn new(skus: &[(String, u64)]) -> (Self, Vec<u32>) {
        let rows = skus.iter().map(|sku| AtomicU64::new(sku.1)).collect();
        (AtomicRows(rows), (0..).take(skus.len()).collect())
    }

    /// Takes every line, or none and says why not.
    #[inline]
    pub fn take_all(&self, lines: &[Line]) -> Result<(), Reserve<u32>> {
        for (taken, line) in lines.iter().enumerate() {
            if let Err(seen) = self.take(line) {
                self.give_back(&lines[..taken]);
                return Err(refusal(&lines[taken..], |row| if row == line.0 { seen } else { self.look(row) }));
            }
        }
        Ok(())
    }

    /// Takes one line, or says how many units there were (`None`: no such row).
    #[inline]
    fn take(&self, &(row, wanted): &Line) -> Result<(), Option<u64>> {
        let row = self.0.get(row as usize).ok_or(None)?;
        let less = |available: u64| available.checked_sub(wanted.into());
        row.fetch_update(Ordering::AcqRel, Ordering::Acquire, less).map(drop).map_err(Some)
    }

    #[inline]
    pub fn give_back(&self, lines: &[Line]) {
        for &(row, units) in lines {
            if let Some(row) = self.0.get(row as usize) {
                row.fetch_add(units.into(), Ordering::AcqRel);
            }
        }
    }

    #[inline]
    pub fn look(&self, row: u32) -> Option<u64> {
        self.0.get(row as usize).map(|available| available.load(Ordering::Acquire))
    }
}

/// An order's lines, sorted by row; 16 bytes.
pub enum Lines {
    One([Line; 1]),
    Many(Box<[Line]>),
}

impl Lines {
    #[inline]
    pub fn of(asked: &[Line]) -> Lines {
        match asked {
            [one] => Lines::One([*one]),
            many => Lines::Many(normalised(many).into()),
        }
    }

    #[inline]
    pub fn get(&self) -> &[Line] {
        match self {
            Lines::One(line) => line,
            Lines::Many(lines) => lines,
        }
    }
}

#[test]
fn one_line_takes_no_more_than_a_box() {
    assert_eq!(size_of::<Lines>(), 16);
}
