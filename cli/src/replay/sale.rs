//! What arrives, in order of arrival: the one form that files and the generator are brought into.

use std::collections::HashMap;
use std::fmt;

use serde::Serialize;

/// A SKU by its place in [`Skus`], and units of it.
pub type Line = (usize, u32);

/// Everything a run sends to the engine, and what was left out on the way here.
#[derive(Debug, Default)]
pub struct Sale {
    /// Every SKU that is mentioned.
    pub skus: Skus,
    /// Every order, once for each id.
    pub orders: Vec<Order>,
    /// Every return: the units that come back.
    pub returns: Vec<Vec<Line>>,
    /// Every change of an order in part, those of one order one after the other.
    pub changes: Vec<Change>,
    /// What happens, in order.
    pub arrivals: Vec<Arrival>,
    /// When it happens, if orders are holds that end.
    pub timetable: Option<Timetable>,
    /// Orders of which nothing was left after skipping lines.
    pub empty_orders: u64,
    /// Returns of which nothing was left after skipping lines.
    pub empty_returns: u64,
    /// Lines taken in.
    pub lines: LineCounts,
    /// Order ids that came back with other lines; these never reach the engine.
    pub conflicts: Vec<Conflict>,
}

/// One all-or-nothing order.
#[derive(Debug, PartialEq, Eq)]
pub struct Order {
    /// The caller's key.
    pub id: String,
    /// Its lines, one for each SKU, sorted by SKU.
    pub lines: Vec<Line>,
}

/// A change of an order in part.
#[derive(Debug, PartialEq, Eq)]
pub struct Change {
    /// The place of the order in [`Sale::orders`].
    pub order: usize,
    /// What is done to it.
    pub does: Does,
    /// The units that it is done to.
    pub lines: Vec<Line>,
}

impl Change {
    /// How many units it is about, over all lines.
    pub fn units(&self) -> u64 {
        self.lines.iter().map(|&(_, units)| u64::from(units)).sum()
    }
}

/// What a change in part does to an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Does {
    /// Units leave for good.
    Ship,
    /// Units are cancelled.
    Lose,
    /// The order is amended to a unit more than it was made with.
    Raise,
    /// The order is amended to a unit less than the raise with this place in [`Sale::changes`] has left it with.
    Lower(usize),
}

/// Something that happens, with its place in [`Sale::orders`], [`Sale::returns`] or [`Sale::changes`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// An order is sent. It is a repeat if the same place has arrived before.
    Order(usize),
    /// An order is sent by two threads at the same time.
    OrderTwice(usize),
    /// An order is cancelled.
    Cancel(usize),
    /// A hold is paid for, in time or late.
    Pay(usize),
    /// An order is changed in part.
    Change(usize),
    /// Goods come back.
    Return(usize),
}

/// The times of a sale whose orders are holds that end.
#[derive(Debug)]
pub struct Timetable {
    /// How long a hold lives.
    pub hold_ms: u64,
    /// When each of [`Sale::arrivals`] comes.
    pub times: Vec<u64>,
    /// Whether the clock waits for the answers to all that came earlier before it moves on.
    pub in_step: bool,
}

/// How many lines there were, and why some were left out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LineCounts {
    /// All lines, without headers.
    pub read: u64,
    /// Left out because the SKU does not match the pattern.
    pub skipped_sku: u64,
    /// Left out because the quantity has the wrong sign for an order or a return.
    pub skipped_quantity: u64,
}

/// An order id that came back with other lines.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct Conflict {
    /// The id.
    pub id: String,
    /// Where it came back.
    pub file: String,
    /// The line there.
    pub line: u64,
    /// Where it came first.
    pub first_file: String,
    /// The line there.
    pub first_line: u64,
}

impl fmt::Display for Conflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Conflict { id, file, line, first_file, first_line } = self;
        write!(
            f,
            "{file}:{line}: order {id:?} was at {first_file}:{first_line} with other lines; left out, give it another id"
        )
    }
}

/// The SKUs of a sale, numbered in the order in which they first appear.
#[derive(Debug, Default)]
pub struct Skus {
    names: Vec<String>,
    demand: Vec<u64>,
    numbers: HashMap<String, usize>,
}

impl Skus {
    /// The number of a SKU, which is a new one if it was not seen before.
    pub fn number(&mut self, name: &str) -> usize {
        if let Some(&number) = self.numbers.get(name) {
            return number;
        }
        let number = self.names.len();
        self.numbers.insert(name.into(), number);
        self.names.push(name.into());
        self.demand.push(0);
        number
    }

    /// Notes that so many units are asked for.
    pub fn ask_for(&mut self, number: usize, units: u32) {
        self.demand[number] += u64::from(units);
    }

    /// All names, by number.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Units asked for in all, by number.
    pub fn demand(&self) -> &[u64] {
        &self.demand
    }
}
