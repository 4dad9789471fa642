//! What a verb answers when it did what was asked, and the plain values readers get.

use std::fmt;

/// The states an order moves through.
///
/// ```text
/// CREATED -> INVENTORY_RESERVED -> PAID -> FULFILLED
///    |               |              |
///    +---------------+--------------+----> CANCELLED
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum State {
    /// Known, holds nothing.
    Created,
    /// Holds its units.
    InventoryReserved,
    /// Holds its units, and has been paid for.
    Paid,
    /// The units have left. Nothing follows.
    Fulfilled,
    /// Holds nothing. Nothing follows, but that an order whose hold expired may still be paid for with
    /// [`pay_or_reserve_again`](crate::Stockade::pay_or_reserve_again).
    Cancelled,
}

impl State {
    /// Every state, in the order of an order's life.
    pub const ALL: [State; 5] =
        [State::Created, State::InventoryReserved, State::Paid, State::Fulfilled, State::Cancelled];

    /// Whether an order in this state holds units.
    pub const fn holds(self) -> bool {
        matches!(self, State::InventoryReserved | State::Paid)
    }

    /// Whether an order may ever go from this state to `to` by [`transition`](crate::Stockade::transition).
    ///
    /// ```
    /// use stockade::State;
    /// assert!(State::Paid.may_become(State::Cancelled));
    /// assert!(!State::Cancelled.may_become(State::Paid));
    /// ```
    pub const fn may_become(self, to: State) -> bool {
        use State::{Cancelled, Created, Fulfilled, InventoryReserved, Paid};
        matches!(
            (self, to),
            (Created, InventoryReserved | Cancelled)
                | (InventoryReserved, Paid | Cancelled)
                | (Paid, Fulfilled | Cancelled)
        )
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            State::Created => "CREATED",
            State::InventoryReserved => "INVENTORY_RESERVED",
            State::Paid => "PAID",
            State::Fulfilled => "FULFILLED",
            State::Cancelled => "CANCELLED",
        })
    }
}

/// Why an order is CANCELLED.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CancelReason {
    /// By [`cancel`](crate::Stockade::cancel) or [`transition`](crate::Stockade::transition), or by a change in part
    /// that left nothing open.
    Cancelled,
    /// By [`void`](crate::Stockade::void).
    Voided,
    /// A [`Hold`](crate::Hold) was dropped without being kept.
    HoldDropped,
    /// Its deadline came before its payment.
    Expired,
}

/// A stock row as it stood at one instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Stock {
    /// Units free to promise.
    pub available: u64,
    /// Number of changes since the row was added; moves by one at every change and never back.
    pub version: u64,
}

/// A SKU resolved once: a small copyable handle that spares hot callers the look-up by name.
///
/// It belongs to the engine that gave it out; another engine answers `UnknownSku`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Sku {
    pub(crate) engine: u32,
    pub(crate) row: u32,
}

/// One line of an order: all its units of one SKU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Line {
    /// Which row. [`Stockade::sku_name`](crate::Stockade::sku_name) gives the name.
    pub sku: Sku,
    /// Units, at least 1.
    pub quantity: u32,
}

/// One line of an order and what became of its units: ordered = open + fulfilled + cancelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct OrderLine {
    /// Which row. [`Stockade::sku_name`](crate::Stockade::sku_name) gives the name.
    pub sku: Sku,
    /// Units of the order, as [`amend`](crate::Stockade::amend) last set them.
    pub ordered: u32,
    /// Units still to be fulfilled. The order holds them in INVENTORY_RESERVED and PAID, and not yet in CREATED.
    pub open: u32,
    /// Units that have left.
    pub fulfilled: u32,
    /// Units that were cancelled.
    pub cancelled: u32,
}

/// An order as it stood at one instant.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Order {
    /// The caller's key.
    pub id: String,
    /// Where the order is in its life.
    pub state: State,
    /// Number of transitions since CREATED, changes in part included.
    pub version: u64,
    /// Its lines, one for each SKU, in the engine's order of rows: that in which SKUs were added, if one thread added
    /// them.
    pub lines: Vec<OrderLine>,
    /// Why it is CANCELLED; `None` in any other state.
    pub cancelled: Option<CancelReason>,
    /// When its hold ends, by the engine's [`Clock`](crate::Clock); `None` if it has no deadline, or is not
    /// INVENTORY_RESERVED.
    pub deadline_ms: Option<u64>,
}

/// The reservation an accepted `reserve` stands for. Everybody who is told yes for one order id gets the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Reservation {
    /// Identifies the order within this engine, until it is forgotten: another can have its number then.
    pub number: u64,
    /// Version of the order when it became INVENTORY_RESERVED.
    pub version: u64,
}

/// What an accepted [`reserve`](crate::Stockade::reserve) answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Reserved {
    /// This call took the stock.
    New(Reservation),
    /// The same request had been accepted before: no second effect, the first result again.
    Replayed(Reservation),
}

impl Reserved {
    /// The reservation, whoever made it.
    pub const fn reservation(self) -> Reservation {
        match self {
            Reserved::New(it) | Reserved::Replayed(it) => it,
        }
    }

    /// Whether this call took the stock.
    pub const fn is_new(self) -> bool {
        matches!(self, Reserved::New(_))
    }
}

/// What an accepted [`create`](crate::Stockade::create) answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Created {
    /// This call made the order.
    New,
    /// The order was there with the same lines; nothing changed.
    Replayed {
        /// The state it is in.
        state: State,
    },
}

/// What [`cancel`](crate::Stockade::cancel) and [`void`](crate::Stockade::void) answer.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub enum Cancelled {
    /// This call cancelled the order, or what was still open of one that had been fulfilled in part: that is FULFILLED
    /// now.
    Released {
        /// The state it was in.
        from: State,
        /// What went back to the stock: what was open of the order's lines, or nothing if it was CREATED.
        lines: Vec<Line>,
    },
    /// It was cancelled before; nothing changed.
    Already,
    /// No order has this id. `cancel` changed nothing; `void` marked the id CANCELLED.
    Unknown,
}

impl Cancelled {
    /// Units that this call gave back, over all lines.
    pub fn units(&self) -> u64 {
        match self {
            Cancelled::Released { lines, .. } => lines.iter().map(|l| u64::from(l.quantity)).sum(),
            Cancelled::Already | Cancelled::Unknown => 0,
        }
    }
}

/// What [`pay`](crate::Stockade::pay) and [`fulfil`](crate::Stockade::fulfil) answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Advanced {
    /// This call moved the order.
    Done {
        /// Version of the order after the step.
        version: u64,
    },
    /// The order had taken this step before; nothing changed.
    Already {
        /// The state it is in.
        state: State,
    },
}

/// What [`cancel_lines`](crate::Stockade::cancel_lines), [`fulfil_lines`](crate::Stockade::fulfil_lines) and
/// [`amend`](crate::Stockade::amend) answer: what they left of the order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[must_use]
pub struct Revised {
    /// Units still open, over all lines.
    pub open: u64,
    /// The state in which the order has ended by this call, because nothing is open any more: FULFILLED if anything was
    /// fulfilled, else CANCELLED.
    pub closed: Option<State>,
}

/// What a verb answers to a request with a [key](crate::RequestKey).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Once<T> {
    /// This call carried it out.
    New(T),
    /// It had been carried out before: no second effect, the first answer again.
    Replayed(T),
}

impl<T> Once<T> {
    /// The answer, whoever was given it first.
    pub fn answer(self) -> T {
        match self {
            Once::New(it) | Once::Replayed(it) => it,
        }
    }
}

/// What of a request is not as it was when its key first came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RequestField {
    /// The verb, and with it everything else.
    Verb,
    /// The SKU.
    Sku,
    /// The units of a row.
    Units,
    /// The version that `set_available` expects.
    ExpectedVersion,
    /// The order's id.
    Order,
    /// The lines of the order.
    Lines,
}

impl fmt::Display for RequestField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            RequestField::Verb => "verb",
            RequestField::Sku => "SKU",
            RequestField::Units => "number of units",
            RequestField::ExpectedVersion => "expected version",
            RequestField::Order => "order",
            RequestField::Lines => "lines",
        })
    }
}

/// What [`extend`](crate::Stockade::extend) answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub struct Extended {
    /// When the hold now ends, by the engine's [`Clock`](crate::Clock).
    pub deadline_ms: u64,
}

/// What [`pay_or_reserve_again`](crate::Stockade::pay_or_reserve_again) answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum PaidLate {
    /// In time: the order held its units, and this call marked it as paid.
    InTime {
        /// Version of the order after the step.
        version: u64,
    },
    /// Late, and the units were still there: this call took them again and marked the order as paid.
    Again {
        /// Version of the order after the step.
        version: u64,
    },
    /// It had been paid for before; nothing changed.
    Already {
        /// The state it is in.
        state: State,
    },
}
