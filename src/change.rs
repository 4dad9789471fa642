//! What an operation does to one row.

use crate::record::RowLine;
use crate::row::RowWord;
use crate::state::{Effect, OrderWord};

/// Units of one row, and what becomes of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Change {
    pub(crate) row: u32,
    pub(crate) units: u64,
    way: Way,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// Taken or given back, as those of the whole operation.
    AsAll,
    Take,
    GiveBack,
    /// The row has so many afterwards, if it is at this version.
    Set {
        version: u64,
    },
}

impl From<RowLine> for Change {
    #[inline]
    fn from(line: RowLine) -> Self {
        Change { row: line.row, units: u64::from(line.quantity), way: Way::AsAll }
    }
}

impl Change {
    pub(crate) fn take(row: u32, units: u64) -> Self {
        Change { row, units, way: Way::Take }
    }

    pub(crate) fn give_back(row: u32, units: u64) -> Self {
        Change { row, units, way: Way::GiveBack }
    }

    pub(crate) fn set(row: u32, units: u64, version: u64) -> Self {
        Change { row, units, way: Way::Set { version } }
    }

    /// As a line of an order, none of which has more units than this.
    pub(crate) fn line(self) -> RowLine {
        RowLine { row: self.row, quantity: u32::try_from(self.units).unwrap_or(u32::MAX) }
    }

    /// Whether this row forbids it, in this busy state.
    #[inline]
    pub(crate) fn is_refused(self, busy: OrderWord, row: RowWord) -> bool {
        match self.way {
            Way::AsAll => busy.takes() && row.available() < self.units,
            Way::Take => row.available() < self.units,
            Way::GiveBack => false,
            Way::Set { version } => row.version() != version,
        }
    }

    /// What the effect of the operation is on this row.
    #[inline]
    pub(crate) fn effect(self, of_all: Effect) -> Effect {
        match (of_all, self.way) {
            (Effect::Each, Way::Take) => Effect::Take,
            (Effect::Each, Way::Set { .. }) => Effect::Set,
            (Effect::Each, Way::GiveBack | Way::AsAll) => Effect::GiveBack,
            (of_all, _) => of_all,
        }
    }

    /// The row after it, if it is accepted.
    pub(crate) fn applied(self, row: RowWord) -> RowWord {
        row.after(self.effect(Effect::Each), self.units)
    }
}
