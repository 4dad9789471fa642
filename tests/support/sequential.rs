//! The engine in plain words: one caller, one map of orders, one list of rows. Written from the contract and the
//! documentation of the answers, not from the engine, and short enough to be checked by reading.
//!
//! Here a hold is let go at the very instant at which its deadline comes. The engine does that later, when somebody comes
//! across it; but whoever is shown a row or an order, or a version of them, comes across all that is dead there before
//! that. So nobody may be able to tell, and versions are compared like everything else.

use std::collections::{BTreeMap, BTreeSet};

use stockade::State::{self, Cancelled, Created, Fulfilled, InventoryReserved, Paid};
use stockade::{
    AddSkuError, AdvanceError, Advanced, CancelError, CancelReason, CreateError, ExtendError, Extended, Invalid, Line,
    MAX_UNITS, PaidLate, PayAgainError, ReserveError, RestockError, SetAvailableError, Shortage, Shortages, Sku, Stock,
    TransitionError, UnknownSku, VoidError, WriteOffError,
};

/// One row. `received` is everything ever put in, less write-offs.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Row {
    pub name: String,
    pub sku: Sku,
    pub stock: Stock,
    pub received: u64,
}

/// One order. Its lines go by the number of the row, so they are in the order in which the SKUs were added.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Order {
    pub state: State,
    pub version: u64,
    pub lines: BTreeMap<usize, u32>,
    pub cancelled: Option<CancelReason>,
    /// When its hold ends. Only in INVENTORY_RESERVED.
    pub deadline_ms: Option<u64>,
    /// When that hold began.
    since_ms: u64,
}

impl Order {
    fn has_expired(&self) -> bool {
        self.cancelled == Some(CancelReason::Expired)
    }
}

/// The deadline of what never ends: two milliseconds before the end of time.
const NEVER: u64 = (1 << 42) - 2;

/// The whole engine.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub struct Sequential {
    pub rows: Vec<Row>,
    pub orders: BTreeMap<String, Order>,
    pub max_hold_ms: Option<u64>,
    now_ms: u64,
    /// Orders that have expired, by their deadlines, until `expire_due` tells them or they are paid for late.
    untold: BTreeSet<(u64, String)>,
}

fn holds(state: State) -> bool {
    state == InventoryReserved || state == Paid
}

fn check_ttl(ttl_ms: u64) -> Result<(), Invalid> {
    if ttl_ms == 0 { Err(Invalid::ZeroTtl) } else { Ok(()) }
}

impl Sequential {
    // Rows. Checks first: the row is there, the version is the expected one, the sums stay in range.

    /// `sku` is the handle the engine gave; it is not looked at if there is to be no row.
    pub fn add_sku(&mut self, name: &str, units: u64, sku: Option<Sku>) -> Result<Sku, AddSkuError> {
        if units > MAX_UNITS {
            return Err(AddSkuError::Overflow);
        }
        if self.number(name).is_ok() {
            return Err(AddSkuError::SkuExists { sku: name.into() });
        }
        let (name, sku) = (name.to_string(), sku.expect("the engine must add this row"));
        let stock = Stock { available: units, version: 0 };
        self.rows.push(Row { name, sku, stock, received: units });
        Ok(sku)
    }

    pub fn restock(&mut self, name: &str, units: u64) -> Result<Stock, RestockError> {
        let row = self.number(name)?;
        let received = u128::from(self.rows[row].received) + u128::from(units);
        if received > u128::from(MAX_UNITS) {
            return Err(RestockError::Overflow { units });
        }
        Ok(self.write(row, self.rows[row].stock.available + units))
    }

    pub fn write_off(&mut self, name: &str, wanted: u64) -> Result<Stock, WriteOffError> {
        let row = self.number(name)?;
        let available = self.rows[row].stock.available;
        if wanted > available {
            return Err(WriteOffError::Insufficient { wanted, available });
        }
        Ok(self.write(row, available - wanted))
    }

    pub fn set_available(&mut self, name: &str, expected: u64, units: u64) -> Result<Stock, SetAvailableError> {
        let row = self.number(name)?;
        let Row { stock: current, received, .. } = self.rows[row];
        if current.version != expected {
            return Err(SetAvailableError::VersionConflict { expected, current });
        }
        let elsewhere = u128::from(received - current.available); // held or shipped
        if elsewhere + u128::from(units) > u128::from(MAX_UNITS) {
            return Err(SetAvailableError::Overflow { units });
        }
        Ok(self.write(row, units))
    }

    fn number(&self, name: &str) -> Result<usize, UnknownSku> {
        let unknown = || UnknownSku { sku: name.into() };
        self.rows.iter().position(|row| row.name == name).ok_or_else(unknown)
    }

    /// Units come in or go out of the row from outside.
    fn write(&mut self, row: usize, available: u64) -> Stock {
        let row = &mut self.rows[row];
        row.received = row.received - row.stock.available + available;
        row.stock = Stock { available, version: row.stock.version + 1 };
        row.stock
    }

    // Orders.

    /// `Ok(true)` if this call made the order, `Ok(false)` if it was there.
    pub fn create(&mut self, id: &str, lines: &[(&str, u32)]) -> Result<bool, CreateError> {
        let lines = self.lines(id, lines).map_err(|refusal| match refusal {
            ReserveError::Invalid(why) => CreateError::Invalid(why),
            ReserveError::Closed { state } => CreateError::Closed { state },
            ReserveError::LinesDiffer => CreateError::LinesDiffer,
            ReserveError::UnknownSku(which) => CreateError::UnknownSku(which),
            other => unreachable!("{other:?}"),
        })?;
        Ok(self.insert(id, lines))
    }

    /// `Ok(true)` if this call took the stock, `Ok(false)` if it had been taken before.
    pub fn reserve(&mut self, id: &str, lines: &[(&str, u32)]) -> Result<bool, ReserveError> {
        let lines = self.lines(id, lines)?;
        if self.orders.get(id).is_some_and(|order| order.state != Created) {
            return Ok(false);
        }
        self.in_stock(&lines).map_err(|short| ReserveError::Insufficient { short })?;
        self.insert(id, lines);
        self.go(id, InventoryReserved);
        Ok(true)
    }

    // Holds that end.

    /// Time goes on.
    pub fn advance_ms(&mut self, ms: u64) {
        self.now_ms += ms;
        self.let_go();
    }

    /// As `reserve`, with a deadline.
    pub fn reserve_for(&mut self, id: &str, lines: &[(&str, u32)], ttl_ms: u64) -> Result<bool, ReserveError> {
        check_ttl(ttl_ms)?;
        let new = self.reserve(id, lines)?;
        if new {
            let (since_ms, deadline_ms) = (self.now_ms, self.end_of(self.now_ms, ttl_ms));
            let order = self.order(id);
            (order.since_ms, order.deadline_ms) = (since_ms, Some(deadline_ms));
            // Cut down to no time at all, it is over.
            self.let_go();
        }
        Ok(new)
    }

    pub fn extend(&mut self, id: &str, ttl_ms: u64) -> Result<Extended, ExtendError> {
        check_ttl(ttl_ms)?;
        let order = self.orders.get(id).ok_or(ExtendError::UnknownOrder)?;
        if order.has_expired() {
            return Err(ExtendError::Expired);
        }
        if order.state != InventoryReserved {
            return Err(ExtendError::InvalidState { actual: order.state });
        }
        let before = order.deadline_ms.ok_or(ExtendError::NoDeadline)?;
        let deadline_ms = before.max(self.end_of(order.since_ms, ttl_ms));
        self.order(id).deadline_ms = Some(deadline_ms);
        Ok(Extended { deadline_ms })
    }

    /// Which of several orders with the same deadline comes first is the engine's affair: as in `ties`.
    pub fn expire_due(&mut self, limit: usize, ties: &[String]) -> Vec<String> {
        let rank = |id: &String| ties.iter().position(|it| it == id).unwrap_or(usize::MAX);
        let mut due: Vec<_> = self.untold.iter().cloned().collect();
        due.sort_by_key(|(deadline_ms, id)| (*deadline_ms, rank(id)));
        due.truncate(limit);
        self.untold.retain(|it| !due.contains(it));
        due.into_iter().map(|(_, id)| id).collect()
    }

    /// An order that is paid for late is not cancelled any more, so nobody is told that it has expired.
    pub fn pay_or_reserve_again(&mut self, id: &str) -> Result<PaidLate, PayAgainError> {
        let order = self.orders.get(id).ok_or(PayAgainError::UnknownOrder)?;
        match order.state {
            InventoryReserved => Ok(PaidLate::InTime { version: self.go(id, Paid) }),
            state @ (Paid | Fulfilled) => Ok(PaidLate::Already { state }),
            Cancelled if order.has_expired() => {
                self.in_stock(&order.lines).map_err(|short| PayAgainError::Insufficient { short })?;
                self.order(id).cancelled = None;
                self.untold.retain(|(_, untold)| untold != id);
                Ok(PaidLate::Again { version: self.go(id, Paid) })
            }
            actual => Err(PayAgainError::InvalidState { actual }),
        }
    }

    /// When a hold ends that began at `since_ms` and is to live so long from now on.
    fn end_of(&self, since_ms: u64, ttl_ms: u64) -> u64 {
        let longest = self.max_hold_ms.map_or(NEVER, |ms| since_ms.saturating_add(ms.max(1)));
        self.now_ms.saturating_add(ttl_ms).min(longest).min(NEVER)
    }

    /// Every hold whose deadline has come is cancelled.
    fn let_go(&mut self) {
        let deadline = |(id, order): (&String, &Order)| Some((order.deadline_ms?, id.clone()));
        let mut dead: Vec<_> = self.orders.iter().filter_map(deadline).collect();
        dead.retain(|(deadline_ms, _)| *deadline_ms <= self.now_ms);
        for (_, id) in &dead {
            let _ = self.close(id, CancelReason::Expired);
        }
        self.untold.extend(dead);
    }

    // Ends and steps.

    /// What was released, and from which state; `Ok(None)` if nothing was there to cancel.
    pub fn cancel(&mut self, id: &str) -> Result<Option<(State, Vec<Line>)>, CancelError> {
        self.close(id, CancelReason::Cancelled).map_err(|actual| CancelError::InvalidState { actual })
    }

    /// As `cancel`, but an id not seen before is CANCELLED from now on.
    pub fn void(&mut self, id: &str) -> Result<Option<(State, Vec<Line>)>, VoidError> {
        if self.insert(id, BTreeMap::new()) {
            self.go(id, Cancelled);
            self.order(id).cancelled = Some(CancelReason::Voided);
            return Ok(None);
        }
        self.close(id, CancelReason::Voided).map_err(|actual| VoidError::InvalidState { actual })
    }

    /// The guard of a `hold` that took the stock is dropped.
    pub fn drop_hold(&mut self, id: &str) {
        let _ = self.close(id, CancelReason::HoldDropped);
    }

    pub fn pay(&mut self, id: &str) -> Result<Advanced, AdvanceError> {
        let order = self.orders.get(id).ok_or(AdvanceError::UnknownOrder)?;
        match order.state {
            InventoryReserved => Ok(Advanced::Done { version: self.go(id, Paid) }),
            state @ (Paid | Fulfilled) => Ok(Advanced::Already { state }),
            Cancelled if order.has_expired() => Err(AdvanceError::Expired),
            actual @ (Created | Cancelled) => Err(AdvanceError::InvalidState { actual }),
        }
    }

    pub fn fulfil(&mut self, id: &str) -> Result<Advanced, AdvanceError> {
        let order = self.orders.get(id).ok_or(AdvanceError::UnknownOrder)?;
        match order.state {
            Paid => Ok(Advanced::Done { version: self.go(id, Fulfilled) }),
            Fulfilled => Ok(Advanced::Already { state: Fulfilled }),
            Cancelled if order.has_expired() => Err(AdvanceError::Expired),
            actual => Err(AdvanceError::InvalidState { actual }),
        }
    }

    pub fn transition(&mut self, id: &str, from: State, to: State) -> Result<u64, TransitionError> {
        let allowed = match from {
            Created => to == InventoryReserved || to == Cancelled,
            InventoryReserved => to == Paid || to == Cancelled,
            Paid => to == Fulfilled || to == Cancelled,
            Fulfilled | Cancelled => false,
        };
        if !allowed {
            return Err(TransitionError::NotAllowed { from, to });
        }
        let order = self.orders.get(id).ok_or(TransitionError::UnknownOrder)?;
        if order.state != from {
            return Err(TransitionError::InvalidState { expected: from, actual: order.state });
        }
        if to == InventoryReserved {
            self.in_stock(&order.lines).map_err(|short| TransitionError::Insufficient { short })?;
        }
        if to == Cancelled {
            self.order(id).cancelled = Some(CancelReason::Cancelled);
        }
        Ok(self.go(id, to))
    }

    /// The lines, summed, by row. Refusals in this order: invalid whatever the stock; then what a known id says; then
    /// a SKU that is not there.
    fn lines(&self, id: &str, lines: &[(&str, u32)]) -> Result<BTreeMap<usize, u32>, ReserveError> {
        if lines.is_empty() {
            return Err(Invalid::NoLines.into());
        }
        if let Some(&(sku, _)) = lines.iter().find(|(_, quantity)| *quantity == 0) {
            return Err(Invalid::ZeroQuantity { sku: sku.into() }.into());
        }
        let mut wanted = BTreeMap::new();
        let mut unknown = None;
        for &(sku, _) in lines {
            let same = lines.iter().filter(|line| line.0 == sku);
            let sum: u64 = same.map(|line| u64::from(line.1)).sum();
            let too_many = |_| Invalid::QuantityOverflow { sku: sku.into() };
            let sum = u32::try_from(sum).map_err(too_many)?;
            match self.number(sku) {
                Ok(row) => _ = wanted.insert(row, sum),
                Err(not_there) => unknown = unknown.or(Some(not_there)),
            }
        }
        if let Some(order) = self.orders.get(id) {
            if order.state == Cancelled {
                return Err(ReserveError::Closed { state: Cancelled });
            }
            if unknown.is_some() || order.lines != wanted {
                return Err(ReserveError::LinesDiffer);
            }
        }
        unknown.map_or(Ok(wanted), |not_there| Err(not_there.into()))
    }

    fn in_stock(&self, lines: &BTreeMap<usize, u32>) -> Result<(), Shortages> {
        let mut short = Vec::new();
        for (&row, &wanted) in lines {
            let Row { name, stock: Stock { available, .. }, .. } = &self.rows[row];
            if *available < u64::from(wanted) {
                short.push(Shortage { sku: name.as_str().into(), wanted, available: *available });
            }
        }
        if short.is_empty() { Ok(()) } else { Err(Shortages(short)) }
    }

    /// CREATED at version 0, unless the id is known; whether it was not.
    fn insert(&mut self, id: &str, lines: BTreeMap<usize, u32>) -> bool {
        let new = !self.orders.contains_key(id);
        if new {
            let order = Order { state: Created, version: 0, lines, cancelled: None, deadline_ms: None, since_ms: 0 };
            self.orders.insert(id.to_string(), order);
        }
        new
    }

    fn order(&mut self, id: &str) -> &mut Order {
        self.orders.get_mut(id).expect("a known order")
    }

    fn close(&mut self, id: &str, reason: CancelReason) -> Result<Option<(State, Vec<Line>)>, State> {
        let Some(order) = self.orders.get_mut(id) else {
            return Ok(None);
        };
        let from = order.state;
        match from {
            Fulfilled => return Err(Fulfilled),
            Cancelled => return Ok(None),
            Created | InventoryReserved | Paid => order.cancelled = Some(reason),
        }
        let line = |(&row, &quantity): (&usize, &u32)| Line { sku: self.rows[row].sku, quantity };
        let held = if holds(from) { order.lines.iter().map(line).collect() } else { vec![] };
        self.go(id, Cancelled);
        Ok(Some((from, held)))
    }

    /// The one place where an order changes its state, and rows with it.
    fn go(&mut self, id: &str, to: State) -> u64 {
        let order = self.orders.get_mut(id).expect("a known order");
        for (&row, &quantity) in &order.lines {
            let stock = &mut self.rows[row].stock;
            if !holds(order.state) && holds(to) {
                stock.available -= u64::from(quantity);
                stock.version += 1;
            } else if holds(order.state) && to == Cancelled {
                stock.available += u64::from(quantity);
                stock.version += 1;
            }
        }
        order.state = to;
        order.deadline_ms = None;
        order.version += 1;
        order.version
    }
}
