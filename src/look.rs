//! Whether rows have enough, seen from outside: what a refusal is made of.
//!
//! Who finds a row short looks again, until all that was short was so at one instant, at which nothing on those rows
//! was dead.

use crate::ReserveError;
use crate::error::{Shortage, Shortages};
use crate::hooks::{Step, step};
use crate::protocol::{Protocol, Target, Targets};
use crate::record::RowLine;
use crate::request::RowLines;

/// What [`Protocol::look_once`] saw; the rows as they were when they were read.
enum Look<'a> {
    /// Each row had enough.
    Enough(Targets<'a>),
    /// At one instant, exactly these lines were short.
    Short(Vec<(RowLine, u64)>),
    /// Something was short, but the rows changed too fast to say what at one instant.
    Moving(Targets<'a>),
    /// A row's version is at its end.
    Exhausted,
}

#[inline]
fn is_short(row: &Target<'_, RowLine>) -> bool {
    row.word.available() < u64::from(row.change.quantity)
}

impl Protocol {
    /// The rows as they are, or the refusal that these lines would get right now; where the rows change too fast to
    /// say, an attempt will tell. It changes nothing but that it lets go of dead holds on a row that is short.
    /// Lock-free.
    #[inline]
    pub(crate) fn look(&self, lines: &RowLines) -> Result<Targets<'_>, ReserveError> {
        match self.look_once(lines) {
            Look::Enough(seen) | Look::Moving(seen) => Ok(seen),
            Look::Short(short) => Err(self.refusal(short)),
            Look::Exhausted => Err(ReserveError::Exhausted),
        }
    }

    /// The same, but it looks until it can say. Who comes for an order that is there cannot leave it to an attempt: one
    /// that is refused in a race costs such an order one of its tags.
    pub(crate) fn look_closely(&self, lines: &RowLines) -> Result<Targets<'_>, ReserveError> {
        loop {
            match self.look_once(lines) {
                Look::Enough(seen) => return Ok(seen),
                Look::Short(short) => return Err(self.refusal(short)),
                Look::Exhausted => return Err(ReserveError::Exhausted),
                Look::Moving(_) => {}
            }
        }
    }

    #[inline]
    fn look_once(&self, lines: &RowLines) -> Look<'_> {
        loop {
            let seen = lines.map(|line| self.aim(*line));
            if seen.iter().any(is_short) {
                match self.look_again(seen) {
                    Some(look) => return look,
                    None => continue,
                }
            }
            return if seen.iter().any(|row| row.word.is_worn_out()) { Look::Exhausted } else { Look::Enough(seen) };
        }
    }

    /// What to say of rows of which one was short. `None`: a dead hold was let go of, so they have changed.
    #[cold]
    fn look_again<'a>(&self, seen: Targets<'a>) -> Option<Look<'a>> {
        let short = seen.iter().filter(|row| is_short(row)).map(|row| (row.change, row.word.available()));
        let short: Vec<_> = short.collect();
        step(Step::ShortRowSeen);
        if short.iter().fold(false, |any, (line, _)| self.let_go_for(*line) || any) {
            return None;
        }
        // The same version twice: the row did not change in between. All rows so: there was one instant
        // at which all of this was true, and nothing on them was dead.
        let alone = seen.len() == 1 && !self.timers.any();
        let one_instant = alone || seen.iter().all(|row| self.read(row.change.row).version() == row.word.version());
        Some(if one_instant { Look::Short(short) } else { Look::Moving(seen) })
    }

    fn refusal(&self, short: Vec<(RowLine, u64)>) -> ReserveError {
        step(Step::ShortageSeen);
        ReserveError::Insufficient { short: self.shortages(short) }
    }

    /// Shortages as callers see them.
    pub(crate) fn shortages(&self, short: Vec<(RowLine, u64)>) -> Shortages {
        let name = |(line, available): (RowLine, u64)| Shortage {
            sku: self.rows.name(line.row),
            wanted: line.quantity,
            available,
        };
        Shortages(short.into_iter().map(name).collect())
    }
}
