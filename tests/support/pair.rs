//! The engine and the sequential one, side by side: every answer, every row, every order, the books and the audit are the
//! same after every step.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::panic::{AssertUnwindSafe, catch_unwind};

use stockade::{
    Cancelled, Created, HoldClosed, Line, Order, Reservation, ReserveError, Reserved, Sku, State, Stockade,
};

use crate::sequential::{self, Sequential};
use crate::steps::{IDS, Lines, Step, Then};

/// Takes the steps in both engines. The answers given are put into `seen`.
pub fn run(steps: &[Step], seen: &mut BTreeSet<String>) -> Result<(), String> {
    let engine = Stockade::new();
    let mut pair = Pair::new(&engine, seen);
    for step in steps {
        let taken = catch_unwind(AssertUnwindSafe(|| {
            pair.take(step)?;
            pair.compare()
        }));
        taken.unwrap_or_else(|_| Err(format!("{step:?} panicked")))?;
    }
    Ok(())
}

/// The engine under test and the sequential one, side by side.
struct Pair<'a> {
    engine: &'a Stockade,
    plain: Sequential,
    /// What each id was told when it was first accepted.
    told: BTreeMap<&'static str, Reservation>,
    seen: &'a mut BTreeSet<String>,
}

impl<'a> Pair<'a> {
    fn new(engine: &'a Stockade, seen: &'a mut BTreeSet<String>) -> Self {
        let mut plain = Sequential::default();
        for (sku, units) in [("A", 5), ("B", 2)] {
            let handle = engine.add_sku(sku, units).ok();
            plain.add_sku(sku, units, handle).unwrap();
        }
        Self { engine, plain, told: BTreeMap::new(), seen }
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
                let version = self.engine.stock(*sku).map_or(0, |stock| stock.version);
                let version = version.wrapping_add(*off);
                let expected = self.plain.set_available(sku, version, *units);
                let answer = self.engine.set_available(*sku, version, *units);
                self.same("set_available", answer, expected)
            }
            Step::Create(id, lines) => self.create(id, lines),
            Step::Reserve(id, lines) => {
                let answer = match self.handles(lines) {
                    Some(handles) => self.engine.reserve(id, &handles),
                    None => self.engine.reserve(id, &lines.lines),
                };
                let expected = self.plain.reserve(id, &lines.lines);
                self.accepted(id, &answer)?;
                self.same("reserve", answer.map(Reserved::is_new), expected)
            }
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
        }
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

        if matches!(then, Then::CancelAndKeep) {
            self.take(&Step::Cancel(id))?;
        }
        if matches!(then, Then::PayAndKeep | Then::PayAndDrop | Then::ShipAndDrop) {
            self.take(&Step::Pay(id))?;
        }
        if matches!(then, Then::ShipAndDrop) {
            self.take(&Step::Fulfil(id))?;
        }
        if matches!(then, Then::Keep | Then::CancelAndKeep | Then::PayAndKeep) {
            let kept = match self.plain.orders[id].state {
                State::Cancelled => Err(HoldClosed { state: State::Cancelled }),
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
        let units_in = |states: &[State]| {
            let orders = self.plain.orders.values().filter(|order| states.contains(&order.state));
            orders.filter_map(|order| order.lines.get(&number)).map(|q| u64::from(*q)).sum()
        };
        let balance = self.engine.balance(&row.name).map_err(|unknown| unknown.to_string())?;
        equal("name in the books", &*balance.sku, &row.name)?;
        equal(
            "received, available, held, shipped",
            [balance.received, balance.available, balance.held, balance.shipped],
            [
                row.received,
                row.stock.available,
                units_in(&[State::InventoryReserved, State::Paid]),
                units_in(&[State::Fulfilled]),
            ],
        )
    }

    fn compare_order(&self, order: &Order) -> Result<(), String> {
        let plain = &self.plain.orders[&order.id];
        let line = |(row, &quantity): (&usize, &u32)| Line { sku: self.plain.rows[*row].sku, quantity };
        equal("lines", order.lines.clone(), plain.lines.iter().map(line).collect())?;
        equal(
            "state, version, reason",
            (order.state, order.version, order.cancelled),
            (plain.state, plain.version, plain.cancelled),
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
        equal("orders counted", by_state, State::ALL.map(count))
    }
}

fn cancelled(released: Option<(State, Vec<Line>)>, known: bool) -> Cancelled {
    match released {
        Some((from, lines)) => Cancelled::Released { from, lines },
        None if known => Cancelled::Already,
        None => Cancelled::Unknown,
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
    let names = names.split(['(', ')']).filter(|name| !name.is_empty() && *name != "Invalid");
    let mut words = vec![verb];
    words.extend(names);
    words.dedup();
    words.join(" ")
}
