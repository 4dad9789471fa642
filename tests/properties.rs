//! Random sequences of all verbs over three SKUs and four ids, against a plain sequential engine: every answer, every
//! row, every order, the books and the audit are the same after every step.
//!
//! Seeded and repeatable. A sequence that fails is cut down to the steps that matter before it is shown. The test also
//! fails if an answer that exists was never given, so that it cannot pass without having looked.
//!
//! `STOCKADE_SEQUENCES=100000 cargo test --test properties` looks longer, `STOCKADE_SEED=7` elsewhere.

#![allow(clippy::unwrap_used, clippy::expect_used)]

#[path = "support/sequential.rs"]
mod sequential;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::panic::{AssertUnwindSafe, catch_unwind};

use sequential::Sequential;
use stockade::{
    Cancelled, Created, HoldClosed, Line, MAX_UNITS, Order, Reservation, ReserveError, Reserved, Sku, State, Stockade,
};

/// The first two are there from the start, the third comes by `add_sku`.
const SKUS: [&str; 3] = ["A", "B", "C"];
const IDS: [&str; 4] = ["one", "two", "three", "four"];
const STEPS: usize = 40;

/// The lines of an order as the caller writes them, by name or (where all SKUs are known) by handle.
#[derive(Clone, Debug)]
struct Lines {
    lines: Vec<(&'static str, u32)>,
    by_handle: bool,
}

/// What happens to a hold, after which other verbs.
#[derive(Clone, Copy, Debug)]
enum Then {
    Keep,
    Drop,
    CancelAndKeep,
    PayAndKeep,
    PayAndDrop,
    ShipAndDrop,
}

#[derive(Clone, Debug)]
enum Step {
    AddSku(&'static str, u64),
    Restock(&'static str, u64),
    WriteOff(&'static str, u64),
    /// The expected version is this much off the right one.
    SetAvailable(&'static str, u64, u64),
    Create(&'static str, Lines),
    Reserve(&'static str, Lines),
    Hold(&'static str, Lines, Then),
    Cancel(&'static str),
    Void(&'static str),
    Pay(&'static str),
    Fulfil(&'static str),
    Transition(&'static str, State, State),
}

#[test]
fn every_answer_and_every_view_as_in_the_sequential_engine() {
    let setting = |name, default| match std::env::var(name) {
        Ok(value) => value.parse().expect(name),
        Err(_) => default,
    };
    let (first, sequences) = (setting("STOCKADE_SEED", 0), setting("STOCKADE_SEQUENCES", 500));
    let mut seen = BTreeSet::new();
    for seed in first..first + sequences {
        let mut dice = Dice(seed);
        let steps: Vec<Step> = (0..STEPS).map(|_| dice.step()).collect();
        if let Err(difference) = run(&steps, &mut seen) {
            let (steps, difference) = shortest(steps, difference);
            let steps: Vec<_> = steps.iter().map(|step| format!("  {step:?}")).collect();
            panic!("seed {seed}, after\n{}\n{difference}", steps.join("\n"));
        }
    }
    let every: BTreeSet<String> = EVERY_ANSWER.iter().map(ToString::to_string).collect();
    if sequences >= 500 {
        let missing: Vec<_> = every.difference(&seen).collect();
        assert!(missing.is_empty(), "never answered: {missing:#?}");
    }
    let strange: Vec<_> = seen.difference(&every).collect();
    assert!(strange.is_empty(), "not in the list of answers: {strange:#?}");
}

/// Leaves out steps for as long as the rest still fails.
fn shortest(mut steps: Vec<Step>, mut difference: String) -> (Vec<Step>, String) {
    let mut at = 0;
    while at < steps.len() {
        let mut fewer = steps.clone();
        fewer.remove(at);
        match run(&fewer, &mut BTreeSet::new()) {
            Err(still) => (steps, difference, at) = (fewer, still, 0),
            Ok(()) => at += 1,
        }
    }
    (steps, difference)
}

/// Takes the steps in both engines. The answers given are put into `seen`.
fn run(steps: &[Step], seen: &mut BTreeSet<String>) -> Result<(), String> {
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

/// Every answer that one caller alone can get, except for keys that are no keys and a full engine (`limits.rs`).
const EVERY_ANSWER: &[&str] = &[
    "add_sku Err Overflow",
    "add_sku Err SkuExists",
    "add_sku Ok Sku",
    "cancel Err InvalidState",
    "cancel Ok Already",
    "cancel Ok Released",
    "cancel Ok Unknown",
    "create Err Closed",
    "create Err LinesDiffer",
    "create Err NoLines",
    "create Err QuantityOverflow",
    "create Err UnknownSku",
    "create Err ZeroQuantity",
    "create Ok New",
    "create Ok Replayed",
    "fulfil Err InvalidState",
    "fulfil Err UnknownOrder",
    "fulfil Ok Already",
    "fulfil Ok Done",
    "hold Err Closed",
    "hold Err Insufficient",
    "hold Err LinesDiffer",
    "hold Err NoLines",
    "hold Err QuantityOverflow",
    "hold Err UnknownSku",
    "hold Err ZeroQuantity",
    "hold Ok false",
    "hold Ok true",
    "keep Err HoldClosed",
    "keep Ok Reservation",
    "pay Err InvalidState",
    "pay Err UnknownOrder",
    "pay Ok Already",
    "pay Ok Done",
    "reserve Err Closed",
    "reserve Err Insufficient",
    "reserve Err LinesDiffer",
    "reserve Err NoLines",
    "reserve Err QuantityOverflow",
    "reserve Err UnknownSku",
    "reserve Err ZeroQuantity",
    "reserve Ok false",
    "reserve Ok true",
    "restock Err Overflow",
    "restock Err UnknownSku",
    "restock Ok Stock",
    "set_available Err Overflow",
    "set_available Err UnknownSku",
    "set_available Err VersionConflict",
    "set_available Ok Stock",
    "transition Err Insufficient",
    "transition Err InvalidState",
    "transition Err NotAllowed",
    "transition Err UnknownOrder",
    "transition Ok 1",
    "transition Ok 2",
    "transition Ok 3",
    "void Err InvalidState",
    "void Ok Already",
    "void Ok Released",
    "void Ok Unknown",
    "write_off Err Insufficient",
    "write_off Err UnknownSku",
    "write_off Ok Stock",
];

/// A small seeded generator (splitmix64) and what it makes.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % sides as u64) as usize
    }

    fn one_of<T: Copy>(&mut self, these: &[T]) -> T {
        these[self.roll(these.len())]
    }

    fn step(&mut self) -> Step {
        let (sku, id) = (self.one_of(&SKUS), self.one_of(&IDS));
        match self.roll(40) {
            0 | 1 => Step::AddSku(
                if self.roll(4) == 0 { sku } else { "C" },
                self.one_of(&[0, 1, 2, 3, 4, 5, MAX_UNITS, MAX_UNITS + 1, u64::MAX]),
            ),
            2..=4 => Step::Restock(sku, self.one_of(&[1, 1, 1, 2, 3, MAX_UNITS - 7, u64::MAX])),
            5 | 6 => Step::WriteOff(sku, self.one_of(&[1, 1, 2, 3, 9, u64::MAX])),
            7..=9 => {
                let off = self.one_of(&[0, 0, 0, 1, u64::MAX, u64::MAX - 1, 1 << 44]);
                let units = [0, 1, 2, 3, 4, 5, MAX_UNITS - 1, MAX_UNITS, MAX_UNITS + 1, u64::MAX];
                Step::SetAvailable(sku, off, self.one_of(&units))
            }
            10..=12 => Step::Create(id, self.lines(id)),
            13..=20 => Step::Reserve(id, self.lines(id)),
            21..=23 => {
                use Then::{CancelAndKeep, Drop, Keep, PayAndDrop, PayAndKeep, ShipAndDrop};
                let then = [Keep, Keep, Drop, CancelAndKeep, PayAndKeep, PayAndDrop, ShipAndDrop];
                Step::Hold(id, self.lines(id), self.one_of(&then))
            }
            24 | 25 => Step::Cancel(id),
            26 => Step::Void(id),
            27..=29 => Step::Pay(id),
            30 | 31 => Step::Fulfil(id),
            32 => Step::Transition(id, self.one_of(&State::ALL), self.one_of(&State::ALL)),
            _ => {
                use State::{Cancelled, Created, Fulfilled, InventoryReserved, Paid};
                let steps = [
                    (Created, InventoryReserved),
                    (Created, InventoryReserved),
                    (InventoryReserved, Paid),
                    (Paid, Fulfilled),
                    (Created, Cancelled),
                    (InventoryReserved, Cancelled),
                    (Paid, Cancelled),
                ];
                let (from, to) = self.one_of(&steps);
                Step::Transition(id, from, to)
            }
        }
    }

    /// Mostly the lines this id always asks for, in one of several ways to write them.
    fn lines(&mut self, id: &str) -> Lines {
        let lines = match (self.roll(10), id) {
            (0..=2, "one") => vec![("A", 2)],
            (3..=5, "one") => vec![("A", 1), ("A", 1)],
            (0..=2, "two") => vec![("A", 1), ("B", 2)],
            (3..=5, "two") => vec![("B", 1), ("A", 1), ("B", 1)],
            (0..=2, "three") => vec![("C", 1), ("A", 1)],
            (3..=5, "three") => vec![("A", 1), ("C", 1)],
            (0..=5, _) => vec![("B", 1)],
            (6, _) => match self.roll(5) {
                0 => vec![],
                1 => vec![(self.one_of(&SKUS), 0)],
                2 => vec![("A", 1), (self.one_of(&SKUS), 0)],
                3 => vec![(self.one_of(&SKUS), u32::MAX); 2],
                _ => vec![("C", 1), ("B", u32::MAX), ("A", 1), ("B", 1)],
            },
            _ => (0..=self.roll(3))
                .map(|_| (self.one_of(&SKUS), self.one_of(&[1, 1, 1, 2, 2, 3, 6, u32::MAX - 9])))
                .collect(),
        };
        Lines { lines, by_handle: self.roll(3) == 0 }
    }
}
