//! What a verb answers when it does not do what was asked: one enum per verb, with the data a
//! caller needs to react. Nothing has changed in the engine when one of these comes back.

use thiserror::Error;

use crate::{RequestField, State};

/// Why an id, a SKU or the lines of an order cannot be taken at all, whatever the stock.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Invalid {
    /// The order id or SKU is the empty string.
    #[error("an id or SKU must have at least one byte")]
    EmptyKey,
    /// The order id or SKU is longer than [`MAX_KEY_BYTES`](crate::MAX_KEY_BYTES).
    #[error("an id or SKU has at most {max} bytes, this one has {bytes}", max = crate::MAX_KEY_BYTES)]
    KeyTooLong {
        /// Length of the refused key in bytes.
        bytes: usize,
    },
    /// A hold was to live for no time at all.
    #[error("a time to live of 0 ms: give at least one, or reserve without a deadline")]
    ZeroTtl,
    /// The order has no lines.
    #[error("an order needs at least one line")]
    NoLines,
    /// The order names more than [`MAX_LINES`](crate::MAX_LINES) distinct SKUs.
    #[error("an order has at most {max} distinct SKUs, this one has {skus}", max = crate::MAX_LINES)]
    TooManyLines {
        /// Distinct SKUs in the refused order.
        skus: usize,
    },
    /// A line asks for nothing.
    #[error("quantity 0 of SKU {sku:?}: a line asks for at least one unit")]
    ZeroQuantity {
        /// The SKU of the line.
        sku: Box<str>,
    },
    /// The lines of one SKU add up to more than a line can hold ([`u32::MAX`] units).
    #[error("the lines of SKU {sku:?} add up to more than {max} units", max = u32::MAX)]
    QuantityOverflow {
        /// The SKU whose lines were summed.
        sku: Box<str>,
    },
}

/// The SKU is not in this engine. A row that is not there is never reported as zero stock.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("unknown SKU {sku:?} in this engine: add it with add_sku, or resolve the handle again")]
pub struct UnknownSku {
    /// The name that was asked for.
    pub sku: Box<str>,
}

/// One line that could not be served, as it stood at the instant of the refusal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shortage {
    /// The SKU that was short.
    pub sku: Box<str>,
    /// Units the order asked for, all its lines of this SKU together.
    pub wanted: u32,
    /// Units that were available at the instant of the refusal; always less than `wanted`.
    pub available: u64,
}

/// Every line that was short, all read at one instant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shortages(pub Vec<Shortage>);

impl std::fmt::Display for Shortages {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (i, Shortage { sku, wanted, available }) in self.0.iter().enumerate() {
            let comma = if i == 0 { "" } else { ", " };
            write!(f, "{comma}{sku:?} wanted {wanted}, available {available}")?;
        }
        Ok(())
    }
}

/// Why [`balance`](crate::Stockade::balance) says nothing.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum BalanceError {
    /// No such row.
    #[error(transparent)]
    UnknownSku(#[from] UnknownSku),
    /// The row changed while the orders were read, or an edit of it is under way.
    #[error("{sku:?} changed while its orders were added up: ask again")]
    InMotion {
        /// The row's name.
        sku: Box<str>,
    },
}

/// Why [`Builder::build`](crate::Builder::build) made no engine.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum BuildError {
    /// No engine can have room for so many orders.
    #[error("room for {capacity} orders was asked for; an engine holds at most {max}: use several engines")]
    TooManyOrders {
        /// Orders that were asked for.
        capacity: usize,
        /// Most orders of an engine.
        max: u64,
    },
    /// The system gave less memory than that takes.
    #[error("no memory for {capacity} orders: ask for fewer, and let the engine grow")]
    OutOfMemory {
        /// Orders that were asked for.
        capacity: usize,
    },
}

/// Why [`add_sku`](crate::Stockade::add_sku) created no row.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum AddSkuError {
    /// The SKU is empty or too long.
    #[error(transparent)]
    Invalid(#[from] Invalid),
    /// More than [`MAX_UNITS`](crate::MAX_UNITS).
    #[error("a row receives at most {max} units: divide them over several SKUs", max = crate::MAX_UNITS)]
    Overflow,
    /// The row exists; its stock is never overwritten. Use `restock` or `set_available`.
    #[error("SKU {sku:?} exists; change it with restock, write_off or set_available")]
    SkuExists {
        /// The name of the existing row.
        sku: Box<str>,
    },
    /// The engine has no room for another row.
    #[error("the engine is full: no room for another row; divide the SKUs over several engines")]
    Full,
}

/// Why [`restock`](crate::Stockade::restock) added nothing.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum RestockError {
    /// No such row.
    #[error(transparent)]
    UnknownSku(#[from] UnknownSku),
    /// Received units of the row would pass [`MAX_UNITS`](crate::MAX_UNITS). Units of other edits that are under way
    /// count in full, so near the limit an edit that is stopped or fails can be what others are refused for.
    #[error("restocking {units} would bring the units ever received past {max}: use another SKU for the rest", max = crate::MAX_UNITS)]
    Overflow {
        /// Units that were to be added.
        units: u64,
    },
    /// The row has changed so often that its version counter is at its end.
    #[error("the row's version counter is at its end; move the stock to a new SKU")]
    Exhausted,
}

/// Why [`write_off`](crate::Stockade::write_off) took nothing away.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum WriteOffError {
    /// No such row.
    #[error(transparent)]
    UnknownSku(#[from] UnknownSku),
    /// Fewer units are available. Held units cannot be written off.
    #[error("cannot write off {wanted}: {available} available")]
    Insufficient {
        /// Units that were to be written off.
        wanted: u64,
        /// Units available at the instant of the refusal.
        available: u64,
    },
    /// The row has changed so often that its version counter is at its end.
    #[error("the row's version counter is at its end; move the stock to a new SKU")]
    Exhausted,
}

/// Why [`set_available`](crate::Stockade::set_available) left the row as it was.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SetAvailableError {
    /// No such row.
    #[error(transparent)]
    UnknownSku(#[from] UnknownSku),
    /// Somebody changed the row since the caller read it.
    #[error("expected version {expected}, the row is at version {current}: read it again", current = current.version)]
    VersionConflict {
        /// The version the caller had read.
        expected: u64,
        /// The row as it is.
        current: crate::Stock,
    },
    /// Received units of the row would pass [`MAX_UNITS`](crate::MAX_UNITS). Units of other edits that are under way
    /// count in full, so near the limit an edit that is stopped or fails can be what others are refused for.
    #[error("setting {units} would bring the units ever received past {max}: use another SKU for the rest", max = crate::MAX_UNITS)]
    Overflow {
        /// The number that was to be set.
        units: u64,
    },
    /// The row has changed so often that its version counter is at its end.
    #[error("the row's version counter is at its end; move the stock to a new SKU")]
    Exhausted,
}

/// Why [`create`](crate::Stockade::create) made no order.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum CreateError {
    /// The id or the lines cannot be taken, whatever the stock.
    #[error(transparent)]
    Invalid(#[from] Invalid),
    /// The order was cancelled or has expired; its id is kept and does not start again.
    #[error("the order is {state}; use a new id")]
    Closed {
        /// The state the order is in.
        state: State,
    },
    /// The id is known with other lines. The stored order is not replaced.
    #[error("this id was used with other lines: repeat those, or use a new id")]
    LinesDiffer,
    /// A line names a SKU that is not in this engine.
    #[error(transparent)]
    UnknownSku(#[from] UnknownSku),
    /// The engine has no room for another order.
    #[error("the engine is full: no room for another order; divide the orders over several engines")]
    Full,
}

/// Why [`reserve`](crate::Stockade::reserve) or [`hold`](crate::Stockade::hold) took nothing.
///
/// Where several apply the first in this order is the answer: `Invalid`; then, for an id that is
/// known, `Closed` or `LinesDiffer`; then `UnknownSku`, `Insufficient`, `Exhausted`, `Full`.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ReserveError {
    /// The id or the lines cannot be taken, whatever the stock.
    #[error(transparent)]
    Invalid(#[from] Invalid),
    /// The order was cancelled or has expired: this is not a yes. No reserve makes it one; of an expired order
    /// [`pay_or_reserve_again`](crate::Stockade::pay_or_reserve_again) can.
    #[error("the order is {state}; use a new id")]
    Closed {
        /// The state the order is in.
        state: State,
    },
    /// The id is known with other lines.
    #[error("this id was used with other lines: repeat those, or use a new id")]
    LinesDiffer,
    /// A line names a SKU that is not in this engine.
    #[error(transparent)]
    UnknownSku(#[from] UnknownSku),
    /// At one instant between call and return every line listed here was short.
    /// Nothing was taken and nothing remembered; the same id may try again.
    #[error("insufficient stock: {short}")]
    Insufficient {
        /// Every short line.
        short: Shortages,
    },
    /// A row has changed 2^44 times, or this created order was refused in a race 2^20 times: a counter that
    /// must never wrap is at its end.
    #[error("a counter of the row or the order is at its end; use a new SKU or a new id")]
    Exhausted,
    /// The engine has no room for another order.
    #[error("the engine is full: no room for another order; divide the orders over several engines")]
    Full,
}

/// Why [`cancel`](crate::Stockade::cancel) gave nothing back.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum CancelError {
    /// The goods have left: a FULFILLED order cannot be cancelled.
    #[error("cannot cancel: the order is {actual}")]
    InvalidState {
        /// The state the order is in.
        actual: State,
    },
}

/// Why [`void`](crate::Stockade::void) neither gave back nor marked.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum VoidError {
    /// The id is empty or too long, so it cannot be marked.
    #[error(transparent)]
    Invalid(#[from] Invalid),
    /// The goods have left: a FULFILLED order cannot be cancelled.
    #[error("cannot cancel: the order is {actual}")]
    InvalidState {
        /// The state the order is in.
        actual: State,
    },
    /// The engine has no room for the mark.
    #[error("the engine is full: no room for another order; divide the orders over several engines")]
    Full,
}

/// Why [`pay`](crate::Stockade::pay) or [`fulfil`](crate::Stockade::fulfil) did not move the order.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum AdvanceError {
    /// No order has this id.
    #[error("unknown order: reserve or create it first")]
    UnknownOrder,
    /// The hold's deadline came before this call: the order is CANCELLED, its units are free.
    #[error("the hold has expired: pay_or_reserve_again takes the units again if they are still there")]
    Expired,
    /// The order is in a state from which this step is not allowed.
    #[error("not allowed: the order is {actual}")]
    InvalidState {
        /// The state the order is in.
        actual: State,
    },
}

/// Why [`cancel_lines`](crate::Stockade::cancel_lines) cancelled nothing.
///
/// Where several apply the first in this order is the answer.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum CancelLinesError {
    /// The lines cannot be taken, whatever the order.
    #[error(transparent)]
    Invalid(#[from] Invalid),
    /// No order has this id.
    #[error("unknown order: reserve it first")]
    UnknownOrder,
    /// The hold's deadline came before this call: the order is CANCELLED, its units are free.
    #[error("the hold has expired: there is nothing left to cancel")]
    Expired,
    /// The order is neither INVENTORY_RESERVED nor PAID.
    #[error("not allowed: the order is {actual}")]
    InvalidState {
        /// The state the order is in.
        actual: State,
    },
    /// A line names a SKU that is not in this engine.
    #[error(transparent)]
    UnknownSku(#[from] UnknownSku),
    /// A line of the order has less open than was asked for; the first such line. Nothing was changed.
    #[error("too much: {wanted} of {sku:?}, of which {open} are open")]
    TooMuch {
        /// The row's name.
        sku: Box<str>,
        /// Units asked for.
        wanted: u32,
        /// Units open.
        open: u32,
    },
    /// This order has been changed 2^20 times.
    #[error("the order's counter of changes is at its end; cancel or fulfil it whole")]
    Exhausted,
    /// The engine has no room for the order's new lines.
    #[error("the engine is full: no room for the new lines; cancel or fulfil the order whole")]
    Full,
}

/// Why [`fulfil_lines`](crate::Stockade::fulfil_lines) fulfilled nothing.
///
/// Where several apply the first in this order is the answer.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum FulfilLinesError {
    /// The lines cannot be taken, whatever the order.
    #[error(transparent)]
    Invalid(#[from] Invalid),
    /// No order has this id.
    #[error("unknown order: reserve it first")]
    UnknownOrder,
    /// The hold's deadline came before this call: the order is CANCELLED, its units are free.
    #[error("the hold has expired: pay_or_reserve_again takes the units again if they are still there")]
    Expired,
    /// The order is not PAID.
    #[error("not allowed: the order is {actual}")]
    InvalidState {
        /// The state the order is in.
        actual: State,
    },
    /// A line names a SKU that is not in this engine.
    #[error(transparent)]
    UnknownSku(#[from] UnknownSku),
    /// A line of the order has less open than was asked for; the first such line. Nothing was changed.
    #[error("too much: {wanted} of {sku:?}, of which {open} are open")]
    TooMuch {
        /// The row's name.
        sku: Box<str>,
        /// Units asked for.
        wanted: u32,
        /// Units open.
        open: u32,
    },
    /// This order has been changed 2^20 times.
    #[error("the order's counter of changes is at its end; cancel or fulfil it whole")]
    Exhausted,
    /// The engine has no room for the order's new lines.
    #[error("the engine is full: no room for the new lines; cancel or fulfil the order whole")]
    Full,
}

/// Why [`amend`](crate::Stockade::amend) changed nothing.
///
/// Where several apply the first in this order is the answer.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum AmendError {
    /// The lines cannot be taken, whatever the order.
    #[error(transparent)]
    Invalid(#[from] Invalid),
    /// No order has this id.
    #[error("unknown order: reserve it first")]
    UnknownOrder,
    /// The hold's deadline came before this call: the order is CANCELLED, its units are free.
    #[error("the hold has expired; use a new id")]
    Expired,
    /// The order is neither INVENTORY_RESERVED nor PAID.
    #[error("not allowed: the order is {actual}")]
    InvalidState {
        /// The state the order is in.
        actual: State,
    },
    /// A line names a SKU that is not in this engine.
    #[error(transparent)]
    UnknownSku(#[from] UnknownSku),
    /// Fewer units than are fulfilled and cancelled already, or none of a line of which some are; the first such line.
    #[error("too few: {wanted} of {sku:?}, of which {settled} are fulfilled or cancelled already")]
    TooFew {
        /// The row's name.
        sku: Box<str>,
        /// Units asked for; 0 of a line that was left out.
        wanted: u32,
        /// Units fulfilled or cancelled.
        settled: u32,
    },
    /// At one instant between call and return there was not enough for the difference of every line listed here.
    /// `wanted` is the difference.
    #[error("insufficient stock: {short}")]
    Insufficient {
        /// Every short line.
        short: Shortages,
    },
    /// A row has changed 2^44 times, or this order 2^20 times.
    #[error("a counter of the row or the order is at its end; use a new SKU or a new id")]
    Exhausted,
    /// The engine has no room for the order's new lines.
    #[error("the engine is full: no room for the new lines")]
    Full,
}

/// Why a request with a [key](crate::RequestKey) was not carried out.
///
/// Where several apply the first in this order is the answer.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum KeyedError<E> {
    /// The key's id is empty or too long.
    #[error(transparent)]
    Invalid(#[from] Invalid),
    /// The key has come before with something else. Nothing was changed.
    #[error("this key was used for another request: the {field} differs; repeat that, or use a new key")]
    Reused {
        /// What differs.
        field: RequestField,
    },
    /// Whether a request as old as this has been carried out is not known any more. Nothing was changed.
    #[error("too old to know: keys issued at {forgotten_to} or before have been forgotten; look at what is there")]
    TooOld {
        /// `issued` of the youngest key that has been forgotten.
        forgotten_to: u64,
    },
    /// What the verb answers without a key. The same request may be tried again under this key.
    #[error(transparent)]
    Refused(E),
    /// The engine has no room for another request.
    #[error("the engine is full: no room for another request")]
    Full,
}

/// Why [`extend`](crate::Stockade::extend) did not extend a hold.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ExtendError {
    /// A time to live that cannot be.
    #[error(transparent)]
    Invalid(#[from] Invalid),
    /// No order has this id.
    #[error("unknown order: reserve it first")]
    UnknownOrder,
    /// The hold's deadline came before this call: the order is CANCELLED, its units are free.
    #[error("the hold has expired; use a new id")]
    Expired,
    /// The order is not INVENTORY_RESERVED.
    #[error("nothing to extend: the order is {actual}")]
    InvalidState {
        /// The state the order is in.
        actual: State,
    },
    /// The hold has no deadline, so it does not end.
    #[error("the hold has no deadline")]
    NoDeadline,
}

/// Why [`pay_or_reserve_again`](crate::Stockade::pay_or_reserve_again) did not mark the order as paid. The payment must
/// be returned.
///
/// Where several apply the first in this order is the answer.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum PayAgainError {
    /// No order has this id.
    #[error("unknown order: reserve or create it first")]
    UnknownOrder,
    /// The order is CREATED, or was cancelled for another reason than its deadline.
    #[error("not allowed: the order is {actual}")]
    InvalidState {
        /// The state the order is in.
        actual: State,
    },
    /// The hold had expired, and its units are sold. The order stays as it was.
    #[error("expired, and sold meanwhile: {short}")]
    Insufficient {
        /// Every short line.
        short: Shortages,
    },
    /// A row has changed 2^44 times, or this order was refused in a race 2^20 times: see [`ReserveError::Exhausted`].
    #[error("a counter of the row or the order is at its end; use a new SKU or a new id")]
    Exhausted,
}

/// Why [`transition`](crate::Stockade::transition) did not move the order.
///
/// Where several apply the first in this order is the answer: `NotAllowed`, `UnknownOrder`, `InvalidState`,
/// `PartlyFulfilled`, `Insufficient`, `Exhausted`.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum TransitionError {
    /// No order may ever go from `from` to `to`.
    #[error("no order goes from {from} to {to}")]
    NotAllowed {
        /// The state the caller named as start.
        from: State,
        /// The state the caller wanted.
        to: State,
    },
    /// No order has this id.
    #[error("unknown order: reserve or create it first")]
    UnknownOrder,
    /// The order is not in the state the caller expects; a repeated callback gets this.
    #[error("expected {expected}, the order is {actual}")]
    InvalidState {
        /// The state the caller named as start.
        expected: State,
        /// The state the order is in.
        actual: State,
    },
    /// PAID -> CANCELLED only: some units have left, so the order can only become FULFILLED. `cancel` gives back the
    /// others.
    #[error("the order has been fulfilled in part; cancel gives back what is open, and it is FULFILLED then")]
    PartlyFulfilled,
    /// CREATED -> INVENTORY_RESERVED only: the stock was short. The order stays CREATED.
    #[error("insufficient stock: {short}")]
    Insufficient {
        /// Every short line.
        short: Shortages,
    },
    /// CREATED -> INVENTORY_RESERVED only: see [`ReserveError::Exhausted`].
    #[error("a counter of the row or the order is at its end; use a new SKU or a new id")]
    Exhausted,
}

/// What [`Hold::keep`](crate::Hold::keep) answers when there is nothing left to keep.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("the order was closed while it was on hold: it is {state}")]
pub struct HoldClosed {
    /// The state the order is in.
    pub state: State,
}
