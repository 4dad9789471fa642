//! What an operation does to its rows, and where that is written: in the record, in an edition, or in a request.

use crate::ledger::Parts;
use crate::protocol::Protocol;
use crate::record::{Lines, RowLine};
use crate::request::RowLines;
use crate::row::{Op, RowWord};
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

/// The changes of an operation, in ascending row order.
pub(crate) enum Changes<'a> {
    /// Those of the lines that the order was made with.
    Lines(Lines<'a>),
    /// Those of what is open of an edition.
    Open(Parts<'a>),
    /// Those that an edition makes.
    Revision(Parts<'a>),
    /// That of a request about one row.
    Edit(Option<Change>),
}

impl Iterator for Changes<'_> {
    type Item = Change;

    #[inline]
    fn next(&mut self) -> Option<Change> {
        match self {
            Changes::Lines(lines) => lines.next().map(Change::from),
            Changes::Open(parts) => {
                let open = parts.find(|part| part.open() > 0)?;
                Some(RowLine { row: open.row, quantity: open.open() }.into())
            }
            Changes::Edit(change) => change.take(),
            Changes::Revision(parts) => parts.find_map(|part| part.touched()),
        }
    }
}

impl Protocol {
    /// The changes of an operation that has begun; like all payload they count only if the order's state, read
    /// afterwards, still has its tag.
    pub(crate) fn changes(&self, op: Op) -> Changes<'_> {
        if self.records.is_plain(op.slot) {
            return Changes::Lines(self.records.lines(op.slot));
        }
        // The state comes first here: which lines to read depends on it.
        self.changes_by(op.slot, self.records.get(op.slot).state())
    }

    /// The changes of the operation that an order's state names.
    pub(crate) fn changes_by(&self, slot: u32, word: OrderWord) -> Changes<'_> {
        match word.edition() {
            _ if word.is_request() => Changes::Edit(self.records.asked(slot)),
            _ if word.is_revision() => Changes::Revision(self.records.announced(slot, word.tag())),
            Some(number) => Changes::Open(self.records.edition(slot, number)),
            None => Changes::Lines(self.records.lines(slot)),
        }
    }

    /// What of its lines an order in this state has open: what it holds, if it holds. Like all payload it counts only
    /// if the state, read afterwards, has the same tag.
    pub(crate) fn open_lines(&self, slot: u32, word: OrderWord) -> RowLines {
        match word.edition() {
            None => self.records.lines(slot).collect(),
            Some(number) => Changes::Open(self.records.edition(slot, number)).map(Change::line).collect(),
        }
    }
}
