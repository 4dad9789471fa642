//! Ids, rows and lines, made before any clock runs, and the same for every contender.

use std::ops::Range;

use anyhow::{Context, Result};
use rand::distr::{Distribution, Uniform};
use rand::rngs::SmallRng;
use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};
use rand_distr::Zipf;
use uuid::{Builder, fmt::Hyphenated};

use crate::contender::Contender;

/// Bytes of an id: a UUID as text.
const ID_BYTES: usize = Hyphenated::LENGTH;
/// The same picks in every run.
const SEED: u64 = 0x5eed;
/// More than any workload takes from a row, so that every order must be accepted.
const UNITS: u64 = 1 << 30;

/// How lines are spread over rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rows {
    /// Evenly over so many.
    Uniform(usize),
    /// By Zipf's law with exponent 1 over so many: the first is asked for most.
    Zipf(usize),
}

/// What a plan is made of.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Orders, each with an id of its own.
    pub orders: usize,
    /// Lines of an order, each of one unit of another row.
    pub lines: usize,
    /// Which rows they name.
    pub rows: Rows,
}

/// Orders that wait to be sent.
pub struct Plan {
    shape: Shape,
    /// All ids, one after the other.
    ids: String,
    /// The row of each line, `shape.lines` for each order.
    picks: Vec<u32>,
    /// Name and units of each row.
    skus: Vec<(String, u64)>,
}

impl Plan {
    /// # Errors
    ///
    /// The shape has no rows, or fewer than an order has lines.
    pub fn new(shape: Shape) -> Result<Self> {
        let mut random = SmallRng::seed_from_u64(SEED);
        let ids = ids(shape.orders, &mut random)?;
        let picks = picks(shape, &mut random)?;
        let (Rows::Uniform(rows) | Rows::Zipf(rows)) = shape.rows;
        let skus = (0..rows).map(|row| (format!("SKU-{row:05}"), UNITS)).collect();
        Ok(Plan { shape, ids, picks, skus })
    }

    /// The id of an order.
    #[inline]
    pub fn id(&self, order: usize) -> &str {
        &self.ids[order * ID_BYTES..][..ID_BYTES]
    }

    /// How many orders there are.
    pub fn orders(&self) -> usize {
        self.shape.orders
    }

    /// Every order's number, in another sequence than they were made in, so that no table has its records in the
    /// order in which they are asked for.
    pub fn shuffled(&self) -> Vec<u32> {
        let mut numbers: Vec<u32> = (0..self.shape.orders as u32).collect();
        numbers.shuffle(&mut SmallRng::seed_from_u64(SEED + 1));
        numbers
    }

    /// The share of the orders that thread `number` of `threads` sends.
    pub fn share(&self, number: usize, threads: usize) -> Range<usize> {
        let part = |number| self.shape.orders * number / threads;
        part(number)..part(number + 1)
    }

    /// A fresh engine with room for `capacity` orders, and every line of the plan in its terms.
    ///
    /// # Errors
    ///
    /// The engine is not to be had here.
    pub fn open<C: Contender>(&self, capacity: usize) -> Result<Stage<'_, C>> {
        let (engine, rows) = C::open(&self.skus, capacity)?;
        let lines = self.picks.iter().map(|&row| (rows[row as usize], 1)).collect();
        Ok(Stage { plan: self, engine, rows, lines })
    }
}

/// An engine with the plan that it is to work through.
pub struct Stage<'a, C: Contender> {
    /// The orders.
    pub plan: &'a Plan,
    /// Who serves them.
    pub engine: C,
    rows: Vec<C::Row>,
    lines: Vec<(C::Row, u32)>,
}

impl<C: Contender> Stage<'_, C> {
    /// The id and lines of an order.
    #[inline]
    pub fn order(&self, number: usize) -> (&str, &[(C::Row, u32)]) {
        let lines = self.plan.shape.lines;
        (self.plan.id(number), &self.lines[number * lines..][..lines])
    }

    /// Panics unless the rows together hold `orders` orders less than at first: a broken engine cannot look fast.
    ///
    /// # Panics
    ///
    /// See above.
    pub fn verify(&self, orders: usize) {
        let left: u64 = self.rows.iter().map(|&row| self.engine.stock(row)).sum();
        let all = UNITS * self.rows.len() as u64;
        let want = all - (orders * self.plan.shape.lines) as u64;
        assert!(left == want, "{}: {left} units are left of {all}, must be {want}", C::NAME);
    }
}

fn ids(count: usize, random: &mut SmallRng) -> Result<String> {
    let mut ids = vec![0; count * ID_BYTES];
    for id in ids.chunks_exact_mut(ID_BYTES) {
        Builder::from_random_bytes(random.random()).into_uuid().hyphenated().encode_lower(id);
    }
    Ok(String::from_utf8(ids)?)
}

/// For each order `lines` distinct rows, in no order.
fn picks(shape: Shape, random: &mut SmallRng) -> Result<Vec<u32>> {
    let (Rows::Uniform(rows) | Rows::Zipf(rows)) = shape.rows;
    anyhow::ensure!(shape.lines <= rows, "{} lines of distinct rows need more than {rows} rows", shape.lines);
    match shape.rows {
        Rows::Uniform(rows) => {
            let rows = Uniform::new(0, rows as u32).context("there must be rows")?;
            Ok(distinct(shape, || rows.sample(random)))
        }
        Rows::Zipf(rows) => {
            let zipf = Zipf::new(rows as f64, 1.0).context("there must be rows")?;
            Ok(distinct(shape, || zipf.sample(random) as u32 - 1))
        }
    }
}

fn distinct(shape: Shape, mut pick: impl FnMut() -> u32) -> Vec<u32> {
    let mut picks = Vec::with_capacity(shape.orders * shape.lines);
    for _ in 0..shape.orders {
        let first = picks.len();
        while picks.len() < first + shape.lines {
            let row = pick();
            if !picks[first..].contains(&row) {
                picks.push(row);
            }
        }
    }
    picks
}
