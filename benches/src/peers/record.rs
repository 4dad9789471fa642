//! What the peers know about an order, and the rules that do not depend on how they lock.

use crate::contender::{Advance, Cancel, Reserve, Short, State};

/// A line as the peers store it: row, units.
pub type Line = (u32, u32);

impl State {
    /// What `reserve` answers to an id that is known in this state with `lines`.
    pub(super) fn again(self, lines: &[Line], asked: &[Line]) -> Reserve<u32> {
        if self == State::Cancelled {
            Reserve::Closed
        } else if lines == asked || lines == normalised(asked) {
            Reserve::Replayed
        } else {
            Reserve::LinesDiffer
        }
    }

    /// Whether `cancel` may go on; its answer if not.
    pub(super) fn may_cancel(self) -> Result<(), Cancel> {
        match self {
            State::Reserved | State::Paid => Ok(()),
            State::Fulfilled => Err(Cancel::Refused),
            State::Cancelled => Err(Cancel::Already),
        }
    }

    /// Whether a step from `from` to `to` may go on; its answer if not.
    pub(super) fn may_advance(self, from: State, to: State) -> Result<(), Advance> {
        if self == from {
            Ok(())
        } else if self == to || self == State::Fulfilled {
            Err(Advance::Already)
        } else {
            Err(Advance::Refused)
        }
    }

    /// The state that was stored as this number.
    pub(super) fn from_number(number: u8) -> State {
        match number {
            0 => State::Reserved,
            1 => State::Paid,
            2 => State::Fulfilled,
            _ => State::Cancelled,
        }
    }
}

/// Whether the request can be taken at all, whatever the stock.
#[inline]
pub fn valid(id: &str, lines: &[Line]) -> bool {
    let id_fits = (1..=stockade::MAX_KEY_BYTES).contains(&id.len());
    let units = lines.iter().try_fold(0_u32, |sum, line| sum.checked_add(line.1));
    let certainly_fit = lines.len() <= stockade::MAX_LINES && units.is_some();
    let counted = !lines.is_empty() && lines.iter().all(|line| line.1 > 0);
    id_fits && counted && (certainly_fit || fit_row_by_row(lines))
}

/// A large order fits if its rows are not too many and the sum for each is not too much.
#[cold]
fn fit_row_by_row(lines: &[Line]) -> bool {
    let mut lines = lines.to_vec();
    lines.sort_unstable();
    let mut rows = 0;
    let sums_fit = lines.chunk_by(|one, next| one.0 == next.0).all(|row| {
        rows += 1;
        row.iter().map(|line| u64::from(line.1)).sum::<u64>() <= u64::from(u32::MAX)
    });
    sums_fit && rows <= stockade::MAX_LINES
}

/// The lines sorted by row, those of one row summed.
pub fn normalised(lines: &[Line]) -> Vec<Line> {
    let mut lines = lines.to_vec();
    if lines.len() > 1 {
        lines.sort_unstable_by_key(|line| line.0);
        lines.dedup_by(|later, kept| {
            let same = later.0 == kept.0;
            if same {
                kept.1 += later.1;
            }
            same
        });
    }
    lines
}

/// The sum over all lines.
pub fn units(lines: &[Line]) -> u64 {
    lines.iter().map(|line| u64::from(line.1)).sum()
}

/// A refusal: every line that is short, or that there is no such row.
#[cold]
pub fn refusal(lines: &[Line], available: impl Fn(u32) -> Option<u64>) -> Reserve<u32> {
    let mut short = Vec::new();
    for &(row, wanted) in lines {
        match available(row) {
            None => return Reserve::UnknownRow,
            Some(available) if available < u64::from(wanted) => short.push(Short { row, wanted, available }),
            Some(_) => {}
        }
    }
    Reserve::Insufficient { short }
}
