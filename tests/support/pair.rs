//! The engine and the sequential one, side by side: every answer, every row, every order, the books and the audit are
//! the same after every step, or (for half of the scripts) all but the answers at the end.

#[path = "pair/keyed.rs"]
mod keyed;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use stockade::{
    Builder, CancelReason, Cancelled, Created, HoldClosed, Keep, Line, ManualClock, Order, PaidLate, RequestKey,
    Reservation, ReserveError, Reserved, Revised, Sku, State, Stockade, UnknownSku,
};

use crate::sequential::{self, Kept, Left, Part, Sequential};
use crate::steps::{Change, IDS, Lines, SKUS, Script, Step, Then, Units};
use keyed::Request;

/// Takes the steps in both engines. The answers given are put into `seen`.
pub fn run(script: &Script, seen: &mut BTreeSet<String>) -> Result<(), String> {
    let clock = Arc::new(ManualClock::default());
    let engine = Stockade::builder().clock(Arc::clone(&clock));
    let engine = script.max_hold_ms.into_iter().fold(engine, Builder::max_hold_ms);
    let engine = script.keep_keys.into_iter().fold(engine, Builder::keep_keys);
    let keep = script.keep.map(|keep| match keep {
        Kept::ForMs(ms) => Keep::ForMs(ms),
        Kept::Newest(orders) => Keep::Newest(orders),
    });
    let engine = keep.into_iter().fold(engine, Builder::keep_finished);
    let engine = engine.build().map_err(|why| why.to_string())?;
    let mut pair = Pair::new(&engine, &clock, script, seen);
    for (number, step) in script.steps.iter().enumerate() {
        // What has just died is left to the next step.
        let watched = script.watched && !matches!(step, Step::Wait(_));
        let looks = watched || number + 1 == script.steps.len();
        let taken = catch_unwind(AssertUnwindSafe(|| {
            pair.take(step)?;
            if looks { pair.compare() } else { Ok(()) }
        }));
        taken.unwrap_or_else(|_| Err(format!("{step:?} panicked")))?;
    }
    Ok(())
}

/// The engine under test and the sequential one, side by side.
struct Pair<'a> {
    engine: &'a Stockade,
    clock: &'a ManualClock,
    plain: Sequential,
    /// Orders that were paid for late and had their units again.
    revived: u64,
    /// Changes of orders in part.
    revised: u64,
    /// What each id was told when it was first accepted.
    told: BTreeMap<&'static str, Reservation>,
    /// What was asked for under keys.
    asked: Vec<(RequestKey<'static>, Request)>,
    forgotten: u64,
    forgotten_expired: u64,
    churned: u64,
    seen: &'a mut BTreeSet<String>,
}

impl<'a> Pair<'a> {
    fn new(engine: &'a Stockade, clock: &'a ManualClock, script: &Script, seen: &'a mut BTreeSet<String>) -> Self {
        let mut plain = Sequential::default();
        (plain.max_hold_ms, plain.keep, plain.keep_keys) = (script.max_hold_ms, script.keep, script.keep_keys);
        for (sku, units) in [("A", 5), ("B", 2)] {
            let handle = engine.add_sku(sku, units).ok();
            plain.add_sku(sku, units, handle).unwrap();
        }
        Self {
            engine,
            clock,
            plain,
            revived: 0,
            revised: 0,
            told: BTreeMap::new(),
            asked: Vec::new(),
            forgotten: 0,
            forgotten_expired: 0,
            churned: 0,
            seen,
        }
    }

    fn take(&mut self, step: &Step) -> Result<(), String> {
        match step {
            Step::AddSku(sku, units) => {
                let answer = self.engine.add_sku(sku, *units);
                let handle = answer.as_ref().ok().copied();
                let expected = self.plain.add_sku(sku, *units, handle);
                self.same("add_sku", answer, expected)
            }
            Step::Restock(sku, units) => {
                let expected = self.plain.restock(sku, *units);
                self.same("restock", self.engine.restock(*sku, *units), expected)
            }
            Step::WriteOff(sku, units) => {
                let expected = self.plain.write_off(sku, *units);
                self.same("write_off", self.engine.write_off(*sku, *units), expected)
            }
            Step::SetAvailable(sku, off, units) => {
                let version = self.version(sku, *off);
                let expected = self.plain.set_available(sku, version, *units);
                let answer = self.engine.set_available(*sku, version, *units);
                self.same("set_available", answer, expected)
            }
            Step::Create(id, lines) => self.create(id, lines),
            Step::Reserve(id, lines) => self.reserve(id, lines),
            Step::ReserveFor(id, lines, ttl_ms) => self.reserve_for(id, lines, *ttl_ms),
            Step::Hold(id, lines, then) => self.hold(id, lines, *then),
            Step::Cancel(id) => {
                let known = self.plain.orders.contains_key(*id);
                let expected = self.plain.cancel(id).map(|released| cancelled(released, known));
                self.same("cancel", self.engine.cancel(id), expected)
            }
            Step::Void(id) => {
                let known = self.plain.orders.contains_key(*id);
                let expected = self.plain.void(id).map(|released| cancelled(released, known));
                self.same("void", self.engine.void(id), expected)
            }
            Step::Pay(id) => {
                let expected = self.plain.pay(id);
                self.same("pay", self.engine.pay(id), expected)
            }
            Step::Fulfil(id) => {
                let expected = self.plain.fulfil(id);
                self.same("fulfil", self.engine.fulfil(id), expected)
            }
            Step::Transition(id, from, to) => {
                let expected = self.plain.transition(id, *from, *to);
                self.same("transition", self.engine.transition(id, *from, *to), expected)
            }
            Step::Wait(ms) => {
                self.clock.advance_ms(*ms);
                self.plain.advance_ms(*ms);
                self.let_go_now();
                Ok(())
            }
            Step::Extend(id, ttl_ms) => {
                let expected = self.plain.extend(id, *ttl_ms);
                self.same("extend", self.engine.extend(id, *ttl_ms), expected)
            }
            Step::ExpireDue(limit) => self.expire_due(*limit),
            Step::PayOrReserveAgain(id) => {
                let expected = self.plain.pay_or_reserve_again(id);
                self.revived += u64::from(matches!(expected, Ok(PaidLate::Again { .. })));
                self.same("pay_or_reserve_again", self.engine.pay_or_reserve_again(id), expected)
            }
            Step::CancelLines(id, change) => self.cancel_lines(id, change),
            Step::FulfilLines(id, change) => self.fulfil_lines(id, change),
            Step::Amend(id, change) => self.amend(id, change),
            Step::Keyed(key, verb) => {
                self.asked.push((*key, self.request(verb)));
                self.keyed(self.asked.len() - 1, false)
            }
            Step::Again { key, more } => {
                let last = self.asked.iter().rposition(|(asked, _)| key.is_none_or(|key| key == *asked));
                last.map_or(Ok(()), |last| self.keyed(last, *more))
            }
            Step::Forget(limit) => self.forget(*limit),
            Step::Churn(orders) => (0..*orders).try_for_each(|_| {
                self.churned += 1;
                let id = format!("churned {}", self.churned);
                let expected = self.plain.void(&id).map(|released| cancelled(released, false));
                equal("churn", self.engine.void(&id), expected)
            }),
            Step::Stock(sku) => {
                let row = self.plain.rows.iter().find(|row| row.name == *sku);
                let expected = row.map(|row| row.stock).ok_or_else(|| UnknownSku { sku: (*sku).into() });
                self.same("stock", self.engine.stock(*sku), expected)
            }
            Step::Order(id) => {
                let order = self.engine.order(id);
                equal("known", order.is_some(), self.plain.orders.contains_key(*id))?;
                order.map_or(Ok(()), |order| self.compare_order(&order))
            }
        }
    }

    /// When a hold ended decides when it is forgotten. That is when somebody first comes across it, so here that is at
    /// once, and in the order of the ids.
    fn let_go_now(&self) {
        if self.plain.keep.is_some() {
            self.plain.orders.keys().for_each(|id| _ = self.engine.order(id));
        }
    }

    /// An engine with so few orders goes round all of them in one call.
    fn forget(&mut self, limit: usize) -> Result<(), String> {
        let answer = self.engine.forget_finished(limit);
        let forgotten = if limit == 0 { vec![] } else { self.plain.forget_finished() };
        for (id, order) in &forgotten {
            self.told.remove(id.as_str());
            self.seen.insert(format!("forget_finished {}", order.state));
            self.forgotten_expired += u64::from(order.cancelled == Some(CancelReason::Expired));
        }
        self.forgotten += forgotten.len() as u64;
        equal("forget_finished", answer, forgotten.len())
    }

    /// So much off the version that the row has.
    fn version(&self, sku: &str, off: u64) -> u64 {
        self.engine.stock(sku).map_or(0, |stock| stock.version).wrapping_add(off)
    }

    fn reserve(&mut self, id: &'static str, lines: &Lines) -> Result<(), String> {
        let answer = match self.handles(lines) {
            Some(handles) => self.engine.reserve(id, &handles),
            None => self.engine.reserve(id, &lines.lines),
        };
        let expected = self.plain.reserve(id, &lines.lines);
        self.accepted(id, &answer)?;
        self.same("reserve", answer.map(Reserved::is_new), expected)
    }

    fn reserve_for(&mut self, id: &'static str, lines: &Lines, ttl_ms: u64) -> Result<(), String> {
        let answer = match self.handles(lines) {
            Some(handles) => self.engine.reserve_for(id, &handles, ttl_ms),
            None => self.engine.reserve_for(id, &lines.lines, ttl_ms),
        };
        let expected = self.plain.reserve_for(id, &lines.lines, ttl_ms);
        self.accepted(id, &answer)?;
        self.same("reserve_for", answer.map(Reserved::is_new), expected)
    }

    fn expire_due(&mut self, limit: usize) -> Result<(), String> {
        let answer = self.engine.expire_due(limit);
        let expected = self.plain.expire_due(limit, &answer);
        self.seen.insert(format!("expire_due {}", ["none", "one", "several"][expected.len().min(2)]));
        equal("expire_due", answer, expected)
    }

    fn cancel_lines(&mut self, id: &str, change: &Change) -> Result<(), String> {
        let lines = self.changed(id, change, |part| part.open);
        let answer = match self.handles(&lines) {
            Some(handles) => self.engine.cancel_lines(id, &handles),
            None => self.engine.cancel_lines(id, &lines.lines),
        };
        let expected = self.plain.cancel_lines(id, &lines.lines);
        self.revised += u64::from(expected.is_ok());
        self.same("cancel_lines", answer.map(left), expected)
    }

    fn fulfil_lines(&mut self, id: &str, change: &Change) -> Result<(), String> {
        let lines = self.changed(id, change, |part| part.open);
        let answer = match self.handles(&lines) {
            Some(handles) => self.engine.fulfil_lines(id, &handles),
            None => self.engine.fulfil_lines(id, &lines.lines),
        };
        let expected = self.plain.fulfil_lines(id, &lines.lines);
        self.revised += u64::from(expected.is_ok());
        self.same("fulfil_lines", answer.map(left), expected)
    }

    fn amend(&mut self, id: &str, change: &Change) -> Result<(), String> {
        let lines = self.changed(id, change, Part::ordered);
        let answer = match self.handles(&lines) {
            Some(handles) => self.engine.amend(id, &handles),
            None => self.engine.amend(id, &lines.lines),
        };
        let version = |plain: &Sequential| plain.orders.get(id).map(|order| order.version);
        let before = version(&self.plain);
        let expected = self.plain.amend(id, &lines.lines);
        // To amend an order to what it is already is no change.
        self.revised += u64::from(version(&self.plain) != before);
        self.same("amend", answer.map(left), expected)
    }

    /// The lines of a change in part; `of` a line there are so many that it can be about.
    fn changed(&self, id: &str, change: &Change, of: impl Fn(&Part) -> u32) -> Lines {
        let (units, by_handle) = match change {
            Change::These(lines) => return lines.clone(),
            Change::Near(units, by_handle) => (units, *by_handle),
        };
        let order = self.plain.orders.get(id);
        let part = |sku: &str| {
            let row = self.plain.rows.iter().position(|row| row.name == sku)?;
            order?.lines.get(&row).copied()
        };
        let lines = SKUS.into_iter().zip(units).map(|(sku, units)| {
            let part = part(sku).unwrap_or_default();
            let quantity = match units {
                Units::LeftOut => 0,
                Units::One => part.ordered().min(1),
                Units::All(more) => of(&part).saturating_add_signed(*more),
                Units::Settled => part.ordered() - part.open,
            };
            (sku, quantity)
        });
        Lines { lines: lines.filter(|line| line.1 > 0).collect(), by_handle }
    }

    fn create(&mut self, id: &str, lines: &Lines) -> Result<(), String> {
        let answer = match self.handles(lines) {
            Some(handles) => self.engine.create(id, &handles),
            None => self.engine.create(id, &lines.lines),
        };
        let expected = self.plain.create(id, &lines.lines).map(|new| {
            let state = self.plain.orders[id].state;
            if new { Created::New } else { Created::Replayed { state } }
        });
        self.same("create", answer, expected)
    }

    fn hold(&mut self, id: &'static str, lines: &Lines, then: Then) -> Result<(), String> {
        let answer = match self.handles(lines) {
            Some(handles) => self.engine.hold(id, &handles),
            None => self.engine.hold(id, &lines.lines),
        };
        let expected = self.plain.reserve(id, &lines.lines);
        let told = answer.as_ref().map(|hold| hold.reserved()).map_err(Clone::clone);
        self.accepted(id, &told)?;
        self.same("hold", told.clone().map(Reserved::is_new), expected)?;
        let (Ok(hold), Ok(told)) = (answer, told) else {
            return Ok(());
        };

        // Only the order of a guard that took the stock is kept in any case.
        let guard = |plain: &mut Sequential, guarded| {
            if let (true, Some(order)) = (told.is_new(), plain.orders.get_mut(id)) {
                order.guarded = guarded;
            }
        };
        guard(&mut self.plain, true);
        self.meanwhile(id, then)?;
        guard(&mut self.plain, false);
        if !matches!(then, Then::Drop | Then::PayAndDrop | Then::ShipAndDrop | Then::CancelForgetAndDrop) {
            let kept = match self.plain.orders.get(id).map(|order| order.state) {
                None | Some(State::Cancelled) => Err(HoldClosed { state: State::Cancelled }),
                _ => Ok(told.reservation()),
            };
            return self.same("keep", hold.keep(), kept);
        }
        drop(hold);
        if told.is_new() {
            self.plain.drop_hold(id);
        }
        Ok(())
    }

    /// What happens to an order while it is on hold.
    fn meanwhile(&mut self, id: &'static str, then: Then) -> Result<(), String> {
        match then {
            Then::Keep | Then::Drop => Ok(()),
            Then::CancelAndKeep => self.take(&Step::Cancel(id)),
            Then::PayAndKeep | Then::PayAndDrop => self.take(&Step::Pay(id)),
            Then::ShipAndDrop => {
                self.take(&Step::Pay(id))?;
                self.take(&Step::Fulfil(id))
            }
            Then::WaitAndKeep => self.take(&Step::Wait(2)),
            Then::CancelForgetAndKeep | Then::CancelForgetAndDrop => {
                self.take(&Step::Cancel(id))?;
                self.take(&Step::Churn(34))?;
                self.take(&Step::Wait(51))?;
                self.take(&Step::Forget(usize::MAX))
            }
        }
    }

    fn handles(&self, lines: &Lines) -> Option<Vec<(Sku, u32)>> {
        let handle = |&(sku, quantity): &(&str, u32)| Some((self.engine.sku(sku)?, quantity));
        lines.by_handle.then(|| lines.lines.iter().map(handle).collect())?
    }

    /// Everybody who is told yes for one id is told the same, and nobody else is told that.
    fn accepted(&mut self, id: &'static str, answer: &Result<Reserved, ReserveError>) -> Result<(), String> {
        let Ok(reserved) = answer else { return Ok(()) };
        let told = reserved.reservation();
        let taken = self.told.iter().any(|(other, was)| *other != id && was.number == told.number);
        let first = *self.told.entry(id).or_insert(told);
        if taken || first != told || told.version != 1 {
            return Err(format!("{id} was told {told:?}, and before {:?}", self.told));
        }
        Ok(())
    }

    fn same<T: Debug + PartialEq>(&mut self, verb: &str, answer: T, expected: T) -> Result<(), String> {
        self.seen.insert(kind(verb, &expected));
        equal(verb, answer, expected)
    }

    /// Everything that can be read.
    fn compare(&self) -> Result<(), String> {
        let rows: Vec<_> = self.engine.rows().map(|(name, stock)| (name.into(), stock)).collect();
        let expected: Vec<_> = self.plain.rows.iter().map(|r| (r.name.clone(), r.stock)).collect();
        equal("rows", rows, expected)?;
        for row in &self.plain.rows {
            self.compare_row(row)?;
        }

        let mut orders: Vec<_> = self.engine.orders().collect();
        orders.sort_by(|a, b| a.id.cmp(&b.id));
        let known: Vec<_> = self.plain.orders.keys().map(String::as_str).collect();
        equal("ids", orders.iter().map(|order| order.id.as_str()).collect(), known)?;
        for order in orders {
            let same = self.engine.order(&order.id);
            self.compare_order(&order)?;
            equal("order", same, Some(order))?;
        }
        for id in IDS.into_iter().filter(|id| !self.plain.orders.contains_key(*id)) {
            equal("order", self.engine.order(id), None)?;
        }
        self.compare_totals()
    }

    fn compare_row(&self, row: &sequential::Row) -> Result<(), String> {
        equal("sku", self.engine.sku(&row.name), Some(row.sku))?;
        equal("sku_name", self.engine.sku_name(row.sku).map(|name| name.to_string()), Some(row.name.clone()))?;
        equal("stock", self.engine.stock(row.sku), Ok(row.stock))?;
        let number = self.plain.rows.iter().position(|it| it.sku == row.sku).unwrap();
        let orders = || self.plain.orders.values();
        let held = orders().filter(|order| order.state.holds()).filter_map(|order| order.lines.get(&number));
        let shipped = orders().filter_map(|order| order.lines.get(&number));
        let balance = self.engine.balance(&row.name).map_err(|unknown| unknown.to_string())?;
        equal("name in the books", &*balance.sku, &row.name)?;
        equal(
            "received, available, held, shipped",
            [balance.received, balance.available, balance.held, balance.shipped],
            [
                row.received,
                row.stock.available,
                held.map(|part| u64::from(part.open)).sum(),
                shipped.map(|part| u64::from(part.fulfilled)).sum(),
            ],
        )
    }

    fn compare_order(&self, order: &Order) -> Result<(), String> {
        let plain = &self.plain.orders[&order.id];
        let lines = order.lines.iter().map(|it| (it.sku, [it.ordered, it.open, it.fulfilled, it.cancelled]));
        let expected = plain
            .lines
            .iter()
            .map(|(row, it)| (self.plain.rows[*row].sku, [it.ordered(), it.open, it.fulfilled, it.cancelled]));
        equal("ordered, open, fulfilled, cancelled", lines.collect::<Vec<_>>(), expected.collect())?;
        equal(
            "state, version, reason, deadline",
            (order.state, order.version, order.cancelled, order.deadline_ms),
            (plain.state, plain.version, plain.cancelled, plain.deadline_ms),
        )
    }

    fn compare_totals(&self) -> Result<(), String> {
        let audit = self.engine.audit();
        if !audit.is_sound() || !audit.in_motion.is_empty() {
            return Err(format!("{audit:?}"));
        }
        equal("rows audited", audit.rows, self.plain.rows.len())?;
        let stats = self.engine.stats();
        equal("rows counted", stats.rows, self.plain.rows.len() as u64)?;
        let by_state = [
            stats.orders.created,
            stats.orders.inventory_reserved,
            stats.orders.paid,
            stats.orders.fulfilled,
            stats.orders.cancelled,
        ];
        let orders = || self.plain.orders.values();
        let count = |state| orders().filter(|order| order.state == state).count() as u64;
        equal("orders counted", by_state, State::ALL.map(count))?;
        let expired = orders().filter(|order| order.cancelled == Some(CancelReason::Expired)).count() as u64;
        let expired = expired + self.revived + self.forgotten_expired;
        equal("expired, revived", (stats.expired, stats.revived), (expired, self.revived))?;
        equal("revised, forgotten", (stats.revised, stats.forgotten), (self.revised, self.forgotten))
    }
}

fn cancelled(released: Option<(State, Vec<Line>)>, known: bool) -> Cancelled {
    match released {
        Some((from, lines)) => Cancelled::Released { from, lines },
        None if known => Cancelled::Already,
        None => Cancelled::Unknown,
    }
}

/// An order ends when nothing of it is open, and only then.
fn left(revised: Revised) -> Left {
    match (revised.open, revised.closed) {
        (0, Some(state)) => Left::Ended(state),
        (units @ 1.., None) => Left::Open { units },
        odd => panic!("open, and ended: {odd:?}"),
    }
}

fn equal<T: Debug + PartialEq>(what: &str, found: T, expected: T) -> Result<(), String> {
    if found == expected {
        return Ok(());
    }
    Err(format!("{what}: the engine says {found:?}, the sequential one {expected:?}"))
}

/// The answer without its data: `reserve Err Insufficient`.
fn kind(verb: &str, answer: &impl Debug) -> String {
    let answer = format!("{answer:?}");
    let names = answer.split(" {").next().unwrap_or_default();
    let is_data = |name: &str| name.is_empty() || name == "Invalid" || name.parse::<u64>().is_ok();
    let names = names.split(['(', ')']).filter(|name| !is_data(name));
    let mut words = vec![verb];
    words.extend(names);
    words.dedup();
    words.join(" ")
}
