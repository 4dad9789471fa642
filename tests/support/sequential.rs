//! The engine in plain words: one caller, one map of orders, one list of rows. Written from the contract and the
//! documentation of the answers, not from the engine, and short enough to be checked by reading.
//!
//! Here a hold is let go at the very instant at which its deadline comes. The engine does that later, when somebody
//! comes across it; but whoever is shown a row or an order, or a version of them, comes across all that is dead there
//! before that. So nobody may be able to tell, and versions are compared like everything else.

#[path = "sequential/forgetting.rs"]
mod forgetting;
#[path = "sequential/keyed.rs"]
pub mod keyed;

use std::collections::{BTreeMap, BTreeSet};

use stockade::State::{self, Cancelled, Created, Fulfilled, InventoryReserved, Paid};
use stockade::{
    AddSkuError, AdvanceError, Advanced, AmendError, CancelError, CancelLinesError, CancelReason, CreateError,
    ExtendError, Extended, FulfilLinesError, Invalid, Line, MAX_UNITS, PaidLate, PayAgainError, ReserveError,
    RestockError, SetAvailableError, Shortage, Shortages, Sku, Stock, TransitionError, UnknownSku, VoidError,
    WriteOffError,
};

pub use forgetting::Kept;
use keyed::Remembered;

/// One row. `received` is everything ever put in, less write-offs.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Row {
    pub name: String,
    pub sku: Sku,
    pub stock: Stock,
    pub received: u64,
}

/// What is asked for, summed. Lines go by the number of the row, so they are in the order in which the SKUs were added.
type Wanted = BTreeMap<usize, u32>;

/// What became of the lines of an order.
pub type Parts = BTreeMap<usize, Part>;

/// What became of one line.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Part {
    pub open: u32,
    pub fulfilled: u32,
    pub cancelled: u32,
}

impl Part {
    pub fn ordered(&self) -> u32 {
        self.open + self.fulfilled + self.cancelled
    }
}

/// What a change in part leaves of an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Left {
    Open { units: u64 },
    Ended(State),
}

/// One order.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Order {
    pub state: State,
    pub version: u64,
    /// What it was made with, and what a repeated request is compared with, whatever became of it.
    made_with: Wanted,
    pub lines: Parts,
    /// What it had open when its hold expired: a payment that comes late takes that again.
    lapsed: Parts,
    pub cancelled: Option<CancelReason>,
    /// When its hold ends. Only in INVENTORY_RESERVED.
    pub deadline_ms: Option<u64>,
    /// When that hold began.
    since_ms: u64,
    /// The age in which it ended last, if finished orders are forgotten.
    ended_in: u64,
    /// The guard of a `hold` that took its stock is still there.
    pub guarded: bool,
    /// The number that callers were told, for whoever wants to know which order of an id this is.
    pub number: Option<u64>,
}

impl Order {
    fn has_expired(&self) -> bool {
        self.cancelled == Some(CancelReason::Expired)
    }

    /// Its lines, after all that is open has been fulfilled.
    fn all_fulfilled(&self) -> Parts {
        let settled = |part: &Part| Part { open: 0, fulfilled: part.fulfilled + part.open, ..*part };
        self.lines.iter().map(|(row, part)| (*row, settled(part))).collect()
    }

    /// Its lines, after all that is open has been cancelled.
    fn all_cancelled(&self) -> Parts {
        let settled = |part: &Part| Part { open: 0, cancelled: part.cancelled + part.open, ..*part };
        self.lines.iter().map(|(row, part)| (*row, settled(part))).collect()
    }
}

/// Units of a row that are not in it, because of an order with these lines in this state.
fn away(state: State, lines: &Parts, row: usize) -> u64 {
    let part = lines.get(&row).filter(|_| state != Created);
    part.map_or(0, |part| u64::from(part.open) + u64::from(part.fulfilled))
}

fn open(lines: &Parts) -> Wanted {
    lines.iter().filter(|(_, part)| part.open > 0).map(|(row, part)| (*row, part.open)).collect()
}

fn units(lines: &Parts) -> u64 {
    lines.values().map(|part| u64::from(part.open)).sum()
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
    pub keep_keys: Option<u64>,
    /// Oldest first.
    keys: BTreeMap<(u64, String), Remembered>,
    /// `issued` of the youngest key that was forgotten.
    forgotten_to: Option<u64>,
    pub keep: Option<Kept>,
    /// Orders that have ended, if that is what ages go by.
    ended: u64,
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
        self.step(id, InventoryReserved);
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
            InventoryReserved => Ok(PaidLate::InTime { version: self.step(id, Paid) }),
            state @ (Paid | Fulfilled) => Ok(PaidLate::Already { state }),
            Cancelled if order.has_expired() => {
                self.in_stock(&open(&order.lapsed)).map_err(|short| PayAgainError::Insufficient { short })?;
                let lines = std::mem::take(&mut self.order(id).lapsed);
                self.order(id).cancelled = None;
                self.untold.retain(|(_, untold)| untold != id);
                Ok(PaidLate::Again { version: self.go(id, Paid, lines) })
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
            self.order(id).lapsed = self.orders[id].lines.clone();
            let _ = self.close(id, CancelReason::Expired);
        }
        self.untold.extend(dead);
    }

    // Changes in part.

    /// Refusals in this order: invalid lines; then what the order says; then a SKU that is not there; then the first
    /// line, by row, that has too little open.
    pub fn cancel_lines(&mut self, id: &str, lines: &[(&str, u32)]) -> Result<Left, CancelLinesError> {
        let (mut parts, wanted) = self.to_revise(id, lines, &[InventoryReserved, Paid]).map_err(cancels_nothing)?;
        for (&row, &wanted) in &wanted {
            let open = parts.get(&row).map_or(0, |part| part.open);
            match parts.get_mut(&row) {
                Some(part) if open >= wanted => (part.open, part.cancelled) = (open - wanted, part.cancelled + wanted),
                _ => return Err(CancelLinesError::TooMuch { sku: self.name(row), wanted, open }),
            }
        }
        Ok(self.revise(id, parts))
    }

    pub fn fulfil_lines(&mut self, id: &str, lines: &[(&str, u32)]) -> Result<Left, FulfilLinesError> {
        let (mut parts, wanted) = self.to_revise(id, lines, &[Paid]).map_err(fulfils_nothing)?;
        for (&row, &wanted) in &wanted {
            let open = parts.get(&row).map_or(0, |part| part.open);
            match parts.get_mut(&row) {
                Some(part) if open >= wanted => (part.open, part.fulfilled) = (open - wanted, part.fulfilled + wanted),
                _ => return Err(FulfilLinesError::TooMuch { sku: self.name(row), wanted, open }),
            }
        }
        Ok(self.revise(id, parts))
    }

    pub fn amend(&mut self, id: &str, lines: &[(&str, u32)]) -> Result<Left, AmendError> {
        let (before, after) = self.amended(id, lines)?;
        // What is so already is not changed.
        if before == after { Ok(Left::Open { units: units(&after) }) } else { Ok(self.revise(id, after)) }
    }

    /// The lines before and after.
    fn amended(&self, id: &str, lines: &[(&str, u32)]) -> Result<(Parts, Parts), AmendError> {
        let (before, wanted) = self.to_revise(id, lines, &[InventoryReserved, Paid])?;
        let (mut after, mut more) = (Parts::new(), Wanted::new());
        for row in 0..self.rows.len() {
            let part = before.get(&row).copied().unwrap_or_default();
            let (settled, wanted) = (part.fulfilled + part.cancelled, wanted.get(&row).copied().unwrap_or(0));
            if wanted < settled {
                return Err(AmendError::TooFew { sku: self.name(row), wanted, settled });
            }
            if wanted > 0 {
                after.insert(row, Part { open: wanted - settled, ..part });
            }
            if wanted > part.ordered() {
                more.insert(row, wanted - part.ordered());
            }
        }
        self.in_stock(&more).map_err(|short| AmendError::Insufficient { short })?;
        Ok((before, after))
    }

    /// What there is to change, and the lines that are asked for, if the order can be changed in part.
    fn to_revise(&self, id: &str, lines: &[(&str, u32)], may: &[State]) -> Result<(Parts, Wanted), AmendError> {
        let wanted = self.wanted(lines)?;
        let order = self.orders.get(id).ok_or(AmendError::UnknownOrder)?;
        if order.has_expired() {
            return Err(AmendError::Expired);
        }
        if !may.contains(&order.state) {
            return Err(AmendError::InvalidState { actual: order.state });
        }
        Ok((order.lines.clone(), wanted?))
    }

    /// The order has these lines from now on, and ends if none of them has anything open.
    fn revise(&mut self, id: &str, lines: Parts) -> Left {
        let units = units(&lines);
        let order = self.order(id);
        let state = match units {
            0 if lines.values().any(|part| part.fulfilled > 0) => Fulfilled,
            0 => Cancelled,
            _ => order.state,
        };
        if state == Cancelled {
            order.cancelled = Some(CancelReason::Cancelled);
        }
        self.go(id, state, lines);
        if state == Fulfilled || state == Cancelled { Left::Ended(state) } else { Left::Open { units } }
    }

    // Ends and steps.

    /// What was released, and from which state; `Ok(None)` if nothing was there to cancel.
    pub fn cancel(&mut self, id: &str) -> Result<Option<(State, Vec<Line>)>, CancelError> {
        self.close(id, CancelReason::Cancelled).map_err(|actual| CancelError::InvalidState { actual })
    }

    /// As `cancel`, but an id not seen before is CANCELLED from now on.
    pub fn void(&mut self, id: &str) -> Result<Option<(State, Vec<Line>)>, VoidError> {
        if self.insert(id, Wanted::new()) {
            self.step(id, Cancelled);
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
            InventoryReserved => Ok(Advanced::Done { version: self.step(id, Paid) }),
            state @ (Paid | Fulfilled) => Ok(Advanced::Already { state }),
            Cancelled if order.has_expired() => Err(AdvanceError::Expired),
            actual @ (Created | Cancelled) => Err(AdvanceError::InvalidState { actual }),
        }
    }

    pub fn fulfil(&mut self, id: &str) -> Result<Advanced, AdvanceError> {
        let order = self.orders.get(id).ok_or(AdvanceError::UnknownOrder)?;
        match order.state {
            Paid => Ok(Advanced::Done { version: self.step(id, Fulfilled) }),
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
            self.in_stock(&order.made_with).map_err(|short| TransitionError::Insufficient { short })?;
        }
        if to == Cancelled {
            if order.lines.values().any(|part| part.fulfilled > 0) {
                return Err(TransitionError::PartlyFulfilled);
            }
            self.order(id).cancelled = Some(CancelReason::Cancelled);
        }
        Ok(self.step(id, to))
    }

    /// The lines of an order that is to be. Refusals in this order: invalid whatever the stock; then what a known id
    /// says; then a SKU that is not there.
    fn lines(&self, id: &str, lines: &[(&str, u32)]) -> Result<Wanted, ReserveError> {
        let wanted = self.wanted(lines)?;
        if let Some(order) = self.orders.get(id) {
            if order.state == Cancelled {
                return Err(ReserveError::Closed { state: Cancelled });
            }
            if wanted.as_ref() != Ok(&order.made_with) {
                return Err(ReserveError::LinesDiffer);
            }
        }
        Ok(wanted?)
    }

    /// The lines, summed, by row, unless one names a SKU that is not there.
    fn wanted(&self, lines: &[(&str, u32)]) -> Result<Result<Wanted, UnknownSku>, Invalid> {
        if lines.is_empty() {
            return Err(Invalid::NoLines);
        }
        if let Some(&(sku, _)) = lines.iter().find(|(_, quantity)| *quantity == 0) {
            return Err(Invalid::ZeroQuantity { sku: sku.into() });
        }
        let mut wanted = Ok(Wanted::new());
        for &(sku, _) in lines {
            let same = lines.iter().filter(|line| line.0 == sku);
            let sum: u64 = same.map(|line| u64::from(line.1)).sum();
            let too_many = |_| Invalid::QuantityOverflow { sku: sku.into() };
            let sum = u32::try_from(sum).map_err(too_many)?;
            wanted = wanted.and_then(|mut wanted| {
                wanted.insert(self.number(sku)?, sum);
                Ok(wanted)
            });
        }
        Ok(wanted)
    }

    fn in_stock(&self, lines: &Wanted) -> Result<(), Shortages> {
        let mut short = Vec::new();
        for (&row, &wanted) in lines {
            let Row { name, stock: Stock { available, .. }, .. } = &self.rows[row];
            if *available < u64::from(wanted) {
                short.push(Shortage { sku: name.as_str().into(), wanted, available: *available });
            }
        }
        if short.is_empty() { Ok(()) } else { Err(Shortages(short)) }
    }

    fn name(&self, row: usize) -> Box<str> {
        self.rows[row].name.as_str().into()
    }

    /// CREATED at version 0, unless the id is known; whether it was not.
    fn insert(&mut self, id: &str, made_with: Wanted) -> bool {
        let new = !self.orders.contains_key(id);
        if new {
            let part = |(row, open): (&usize, &u32)| (*row, Part { open: *open, ..Part::default() });
            let (lines, lapsed) = (made_with.iter().map(part).collect(), Parts::new());
            let (state, cancelled, deadline_ms) = (Created, None, None);
            let order = Order {
                state,
                version: 0,
                made_with,
                lines,
                lapsed,
                cancelled,
                deadline_ms,
                since_ms: 0,
                ended_in: 0,
                guarded: false,
                number: None,
            };
            self.orders.insert(id.to_string(), order);
        }
        new
    }

    fn order(&mut self, id: &str) -> &mut Order {
        self.orders.get_mut(id).expect("a known order")
    }

    /// What was open is given back; an order of which some units have left is FULFILLED then.
    fn close(&mut self, id: &str, reason: CancelReason) -> Result<Option<(State, Vec<Line>)>, State> {
        let Some(order) = self.orders.get_mut(id) else {
            return Ok(None);
        };
        let from = order.state;
        let open = if from == Created { Wanted::new() } else { open(&order.lines) };
        match from {
            Fulfilled => return Err(Fulfilled),
            Cancelled => return Ok(None),
            _ if order.lines.values().any(|part| part.fulfilled > 0) => {
                let lines = order.all_cancelled();
                self.go(id, Fulfilled, lines);
            }
            _ => {
                order.cancelled = Some(reason);
                self.step(id, Cancelled);
            }
        }
        let line = |(&row, &quantity): (&usize, &u32)| Line { sku: self.rows[row].sku, quantity };
        Ok(Some((from, open.iter().map(line).collect())))
    }

    /// The order moves on as a whole: what was open is still open, has left, or is given back.
    fn step(&mut self, id: &str, to: State) -> u64 {
        let order = &self.orders[id];
        let lines = match to {
            Fulfilled => order.all_fulfilled(),
            Cancelled => order.all_cancelled(),
            _ => order.lines.clone(),
        };
        self.go(id, to, lines)
    }

    /// The one place where an order changes, and rows with it: what orders have open or fulfilled is not in the row.
    fn go(&mut self, id: &str, to: State, lines: Parts) -> u64 {
        let age = self.age();
        let order = self.orders.get_mut(id).expect("a known order");
        for (number, row) in self.rows.iter_mut().enumerate() {
            let (before, after) = (away(order.state, &order.lines, number), away(to, &lines, number));
            if before != after {
                row.stock.available = row.stock.available + before - after;
                row.stock.version += 1;
            }
        }
        if to != InventoryReserved {
            order.deadline_ms = None;
        }
        if to == Fulfilled || to == Cancelled {
            order.ended_in = age;
            self.ended += u64::from(matches!(self.keep, Some(Kept::Newest(_))));
        }
        (order.state, order.lines) = (to, lines);
        order.version += 1;
        order.version
    }
}

/// The answers of `cancel_lines` and `fulfil_lines` that `amend` gives too, in their own words.
fn cancels_nothing(refusal: AmendError) -> CancelLinesError {
    match refusal {
        AmendError::Invalid(why) => CancelLinesError::Invalid(why),
        AmendError::UnknownOrder => CancelLinesError::UnknownOrder,
        AmendError::Expired => CancelLinesError::Expired,
        AmendError::InvalidState { actual } => CancelLinesError::InvalidState { actual },
        AmendError::UnknownSku(which) => CancelLinesError::UnknownSku(which),
        other => unreachable!("{other:?}"),
    }
}

fn fulfils_nothing(refusal: AmendError) -> FulfilLinesError {
    match refusal {
        AmendError::Invalid(why) => FulfilLinesError::Invalid(why),
        AmendError::UnknownOrder => FulfilLinesError::UnknownOrder,
        AmendError::Expired => FulfilLinesError::Expired,
        AmendError::InvalidState { actual } => FulfilLinesError::InvalidState { actual },
        AmendError::UnknownSku(which) => FulfilLinesError::UnknownSku(which),
        other => unreachable!("{other:?}"),
    }
}
