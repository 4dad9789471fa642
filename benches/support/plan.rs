//! The work of one workload, made before any clock runs: ids, picks, and what every row must show afterwards.

use std::fmt::Write;
use std::time::Duration;

use crate::peers::{Contender, Stock};
use crate::support::span::{self, Op, Tally, Verb};

/// More than any workload takes from a row, so that every order must be accepted.
const UNITS: u64 = 1_000_000;
const ID_BYTES: usize = 36;

/// The shape of a workload.
#[derive(Clone, Copy)]
pub struct Shape {
    pub name: &'static str,
    pub verb: Verb,
    pub orders: usize,
    /// Lines of an order, each of one unit of another row.
    pub lines: usize,
    /// Rows there are; lines are spread evenly over them.
    pub rows: usize,
}

/// The orders of one workload. Every contender and every thread count gets the same.
pub struct Plan {
    pub shape: Shape,
    /// All ids, one after the other, in the order in which they are sent.
    ids: String,
    /// The row of each line, `shape.lines` for each order.
    picks: Vec<u32>,
    /// Name and units of each row.
    skus: Vec<(String, u64)>,
    /// What each row must show when every order was taken.
    after: Vec<Stock>,
}

impl Plan {
    pub fn new(shape: Shape) -> Self {
        let mut random = SplitMix(0x5eed);
        let ids = ids(shape.orders, &mut random);
        let picks = picks(shape, &mut random);
        let skus = (0..shape.rows).map(|row| (format!("SKU-{row:05}"), UNITS)).collect();
        let mut after = vec![Stock { available: UNITS, version: 0 }; shape.rows];
        for &row in &picks {
            let row = &mut after[row as usize];
            // Reserve and cancel are two changes, and nothing is missing in the end.
            row.version += if shape.verb == Verb::ReserveCancel { 2 } else { 1 };
            row.available -= if shape.verb == Verb::ReserveCancel { 0 } else { 1 };
        }
        Plan { shape, ids, picks, skus, after }
    }

    /// A fresh engine and every line of the plan in its terms.
    pub fn open<C: Contender>(&self) -> Stage<'_, C> {
        let (engine, rows) = C::open(&self.skus);
        let lines = self.picks.iter().map(|&row| (rows[row as usize], 1)).collect();
        Stage { plan: self, engine, rows, lines }
    }

    fn id(&self, i: usize) -> &str {
        &self.ids[i * ID_BYTES..][..ID_BYTES]
    }
}

/// An engine with the plan that it is to work through.
pub struct Stage<'a, C: Contender> {
    plan: &'a Plan,
    engine: C,
    rows: Vec<C::Row>,
    lines: Vec<(C::Row, u32)>,
}

impl<C: Contender> Stage<'_, C> {
    /// Lets `threads` threads work through the plan once, checks everything, and says how long they took.
    pub fn sample(&self, threads: usize) -> Duration {
        let (span, tally) = span::run(&self.engine, &self.ops(), self.plan.shape.verb, threads);
        self.verify(tally);
        span
    }

    /// Takes every order beforehand, in another sequence than it is repeated in, so that no table has its records in
    /// the order in which they are asked for.
    pub fn seed(self) -> Self {
        let mut ops = self.ops();
        SplitMix(0x5eed).shuffle(&mut ops);
        let (_, tally) = span::run(&self.engine, &ops, Verb::Reserve, 1);
        let want = Tally { new: self.plan.shape.orders, ..Tally::default() };
        assert!(tally == want, "{}: seeding got {tally:?}, must get {want:?}", C::NAME);
        drop(ops);
        self
    }

    /// Every order as the arguments of one call.
    fn ops(&self) -> Vec<Op<'_, C::Row>> {
        let lines = self.lines.chunks_exact(self.plan.shape.lines);
        lines.enumerate().map(|(i, lines)| Op { id: self.plan.id(i), lines }).collect()
    }

    /// Panics unless every order got the answer it must get and every row stands where it must: a broken engine
    /// cannot look fast.
    fn verify(&self, tally: Tally) {
        let Shape { verb, orders, .. } = self.plan.shape;
        let want = Tally {
            new: if verb == Verb::Repeat { 0 } else { orders },
            replayed: if verb == Verb::Repeat { orders } else { 0 },
            released: if verb == Verb::ReserveCancel { orders } else { 0 },
            other: 0,
        };
        let name = format_args!("{} in {}", C::NAME, self.plan.shape.name);
        assert!(tally == want, "{name}: answers were {tally:?}, must be {want:?}");
        for (i, (&row, &want)) in self.rows.iter().zip(&self.plan.after).enumerate() {
            let got = self.engine.stock(row);
            assert!(got == want, "{name}: row {i} is {got:?}, must be {want:?}");
        }
    }
}

/// Ids that look like UUIDs.
fn ids(count: usize, random: &mut SplitMix) -> String {
    let mut ids = String::with_capacity(count * ID_BYTES);
    for _ in 0..count {
        let (a, b) = (random.next(), random.next());
        let (time, mid, high) = (a >> 32, (a >> 16) & 0xffff, a & 0xffff);
        let (clock, node) = (b >> 48, b & 0xffff_ffff_ffff);
        // Writing into a String does not fail.
        let _ = write!(ids, "{time:08x}-{mid:04x}-{high:04x}-{clock:04x}-{node:012x}");
    }
    ids
}

/// For each order `lines` distinct rows, in no order.
fn picks(shape: Shape, random: &mut SplitMix) -> Vec<u32> {
    let mut picks = Vec::with_capacity(shape.orders * shape.lines);
    for _ in 0..shape.orders {
        let first = picks.len();
        while picks.len() < first + shape.lines {
            let row = random.below(shape.rows) as u32;
            if !picks[first..].contains(&row) {
                picks.push(row);
            }
        }
    }
    picks
}

/// Sebastiano Vigna's SplitMix64: the same picks in every run, on every machine.
struct SplitMix(u64);

impl SplitMix {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.below(i + 1));
        }
    }

    fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.next()) * bound as u128) >> 64) as usize
    }
}
