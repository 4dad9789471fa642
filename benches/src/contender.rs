//! The one trait through which the engine and its peers are called, and what they answer.
//!
//! The same for all, so that the order path is compared and nothing else:
//!
//! - Rows are named by a handle that is resolved beforehand: [`stockade::Sku`] for the engine, a `u32` for the others.
//!   Nobody hashes a SKU's name while the clock runs.
//! - Ids come as `&str`. Who has to own the id copies it, and that copy is part of the verb's cost.
//! - Ids come from outside, so the maps keep their default hasher, which is keyed at random.

use std::fmt::Debug;

use anyhow::Result;

/// One engine under test.
pub trait Contender: Send + Sync + Sized {
    /// The name in reports.
    const NAME: &'static str;
    /// A row, resolved beforehand.
    type Row: Copy + Debug + PartialEq + Send + Sync;

    /// A fresh engine with these rows (name, units), and their handles in the same order. It has room for `orders`
    /// orders, as far as its parts can be told; with 0 it grows from empty.
    ///
    /// # Errors
    ///
    /// What the engine needs is not to be had here, a server's program for example.
    fn open(skus: &[(String, u64)], orders: usize) -> Result<(Self, Vec<Self::Row>)>;

    /// Takes all lines or none, once for each id.
    fn reserve(&self, id: &str, lines: &[(Self::Row, u32)]) -> Reserve<Self::Row>;
    /// Gives back what the order holds, once.
    fn cancel(&self, id: &str) -> Cancel;
    /// Marks a reserved order as paid.
    fn pay(&self, id: &str) -> Advance;
    /// Marks a paid order as fulfilled.
    fn fulfil(&self, id: &str) -> Advance;
    /// Units of the row that are free to promise.
    fn stock(&self, row: Self::Row) -> u64;
    /// The order as it stands.
    fn order(&self, id: &str) -> Option<Order<Self::Row>>;

    /// Many orders in one call, each with its own answer; `None` where there is no such verb.
    fn reserve_many(&self, _orders: &[Request<'_, Self::Row>]) -> Option<Vec<Reserve<Self::Row>>> {
        None
    }

    /// Ends a measurement. Maps are left to the end of the process, because dropping millions of orders takes as
    /// long as making them; whoever keeps something outside the process must drop it.
    fn close(self) {
        std::mem::forget(self);
    }
}

/// An order's id and lines.
pub type Request<'a, Row> = (&'a str, &'a [(Row, u32)]);

/// What `reserve` answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reserve<Row> {
    /// This call took the units.
    New,
    /// The order was there with the same lines: the first answer again.
    Replayed,
    /// Refused, nothing taken: every short line.
    Insufficient {
        /// In the order of rows.
        short: Vec<Short<Row>>,
    },
    /// The id is known with other lines.
    LinesDiffer,
    /// The order was cancelled.
    Closed,
    /// A line names a row that is not there.
    UnknownRow,
    /// Empty or over-long id, no lines, a quantity of 0 or a sum past the maximum.
    Invalid,
}

/// A line that could not be served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Short<Row> {
    /// The row that was short.
    pub row: Row,
    /// Units asked for.
    pub wanted: u32,
    /// Units there were.
    pub available: u64,
}

/// What `cancel` answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cancel {
    /// This call gave back so many units.
    Released {
        /// Over all lines.
        units: u64,
    },
    /// Cancelled before, nothing changed.
    Already,
    /// The goods have left, nothing changed.
    Refused,
    /// No such order, nothing changed.
    Unknown,
}

/// What `pay` and `fulfil` answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Advance {
    /// This call moved the order on.
    Done,
    /// The order had taken this step before, nothing changed.
    Already,
    /// The order is in a state from which there is no such step, nothing changed.
    Refused,
    /// No such order, nothing changed.
    Unknown,
}

/// Where an order is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum State {
    /// It holds its units.
    Reserved,
    /// It holds its units for good or until it is cancelled.
    Paid,
    /// Its units have left.
    Fulfilled,
    /// It holds nothing, and its id is kept.
    Cancelled,
}

/// An order at one instant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Order<Row> {
    /// Where it is in its life.
    pub state: State,
    /// Its lines, one for each row.
    pub lines: Vec<(Row, u32)>,
}
