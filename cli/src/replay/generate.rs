//! A made-up flash sale: many orders, most of them for one SKU, some sent twice, some cancelled soon after.
//!
//! The same options and seed give the same sale on every machine and with any number of threads: ChaCha8 is a
//! generator whose output is fixed, unlike rand's own `StdRng`.

use std::collections::BTreeMap;

use clap::Args;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::sale::{Arrival, Line, Order, Sale};
use crate::output::thousands;

/// Share of orders with more than one line.
const CARTS: f64 = 0.2;
/// Most lines such an order has.
const CART_LINES: usize = 5;
/// Most units on a line.
const LINE_UNITS: u32 = 3;
/// An order that is cancelled is cancelled after at most this many further arrivals.
const SECOND_THOUGHTS: usize = 1_000;

/// The generated sale.
#[derive(Args)]
#[command(next_help_heading = "Without files: a generated flash sale")]
pub struct SaleOptions {
    /// Number of orders.
    #[arg(long, value_name = "N", default_value_t = 1_000_000, conflicts_with = "files",
          value_parser = clap::value_parser!(u32).range(1..=20_000_000))]
    orders: u32,

    /// Number of SKUs.
    #[arg(long, value_name = "N", default_value_t = 1_000, conflicts_with = "files",
          value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    skus: u32,

    /// Share of orders that want the hottest SKU.
    #[arg(long, value_name = "SHARE", default_value_t = 0.5, conflicts_with = "files",
          value_parser = proportion, allow_negative_numbers = true)]
    hot: f64,

    /// Share of orders that another thread sends again at the same time.
    #[arg(long, value_name = "SHARE", default_value_t = 0.1, conflicts_with = "files",
          value_parser = proportion, allow_negative_numbers = true)]
    repeat: f64,

    /// Share of orders that are cancelled soon after.
    #[arg(long, value_name = "SHARE", default_value_t = 0.05, conflicts_with = "files",
          value_parser = proportion, allow_negative_numbers = true)]
    cancel: f64,

    /// Another seed makes another sale of the same kind.
    #[arg(long, value_name = "N", default_value_t = 1, conflicts_with = "files")]
    pub seed: u64,
}

/// Negative numbers get here, too, so that they are told what a share is and not that -1 is no option.
pub fn proportion(text: &str) -> Result<f64, &'static str> {
    match text.parse() {
        Ok(share) if (0.0..=1.0).contains(&share) => Ok(share),
        _ => Err("write a share from 0 to 1, such as 0.1"),
    }
}

impl SaleOptions {
    /// What the sale is, in a line.
    pub fn title(&self) -> String {
        let (orders, skus) = (thousands(self.orders), thousands(self.skus));
        format!("generated flash sale of {orders} orders for {skus} SKUs, seed {}", self.seed)
    }
}

/// Makes up the sale.
pub fn generate(options: &SaleOptions) -> Sale {
    let mut random = ChaCha8Rng::seed_from_u64(options.seed);
    let mut sale = Sale::default();
    for number in 0..options.skus {
        sale.skus.number(&format!("sku-{number:04}"));
    }
    let mut arrivals = Vec::new();
    for number in 0..options.orders as usize {
        let lines = lines(options, &mut random);
        for &(sku, units) in &lines {
            sale.skus.ask_for(sku, units);
        }
        sale.lines.read += lines.len() as u64;
        sale.orders.push(Order { id: format!("order-{number}"), lines });

        let twice = random.random_bool(options.repeat);
        arrivals.push((number, if twice { Arrival::OrderTwice(number) } else { Arrival::Order(number) }));
        if random.random_bool(options.cancel) {
            let later = random.random_range(1..=SECOND_THOUGHTS);
            arrivals.push((number + later, Arrival::Cancel(number)));
        }
    }
    arrivals.sort_by_key(|&(time, _)| time);
    sale.arrivals = arrivals.into_iter().map(|(_, arrival)| arrival).collect();
    sale
}

/// What one order wants. SKU 0 is the hottest.
fn lines(options: &SaleOptions, random: &mut ChaCha8Rng) -> Vec<Line> {
    let count = if random.random_bool(CARTS) { random.random_range(2..=CART_LINES) } else { 1 };
    let coldest = options.skus as usize - 1;
    let mut lines = BTreeMap::new();
    for place in 0..count {
        let hot = coldest == 0 || place == 0 && random.random_bool(options.hot);
        let sku = if hot { 0 } else { random.random_range(1..=coldest) };
        *lines.entry(sku).or_default() += random.random_range(1..=LINE_UNITS);
    }
    lines.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: SaleOptions = SaleOptions { orders: 10_000, skus: 50, hot: 0.6, repeat: 0.2, cancel: 0.1, seed: 7 };

    #[test]
    fn a_seed_fixes_the_sale_for_ever() {
        let sale = generate(&SaleOptions { orders: 4, ..SMALL });
        let told: Vec<_> = sale.orders.iter().map(|order| order.lines.as_slice()).collect();
        assert_eq!(told, [&[(0, 3), (2, 3)][..], &[(0, 2), (23, 1), (25, 3)], &[(0, 1)], &[(0, 1)]]);
        assert_ne!(generate(&SMALL).orders, generate(&SaleOptions { seed: 8, ..SMALL }).orders);
    }

    #[test]
    fn shares_are_kept() {
        let sale = generate(&SMALL);
        let near = |count: usize, wanted: usize| count.abs_diff(wanted) < 300;
        let count = |wanted: fn(&&Arrival) -> bool| sale.arrivals.iter().filter(wanted).count();
        assert!(near(sale.orders.iter().filter(|order| order.lines[0].0 == 0).count(), 6_000));
        assert!(near(count(|arrival| matches!(arrival, Arrival::OrderTwice(_))), 2_000));
        assert!(near(count(|arrival| matches!(arrival, Arrival::Cancel(_))), 1_000));
    }

    #[test]
    fn every_order_arrives_before_it_is_cancelled() {
        let mut arrived = vec![false; 10_000];
        for arrival in generate(&SMALL).arrivals {
            match arrival {
                Arrival::Order(number) | Arrival::OrderTwice(number) => arrived[number] = true,
                Arrival::Cancel(number) => assert!(arrived[number]),
                Arrival::Pay(_) | Arrival::Change(_) | Arrival::Return(_) => panic!("the sale has none of these"),
            }
        }
        assert!(arrived.into_iter().all(|arrived| arrived));
    }

    #[test]
    fn one_sku_takes_everything() {
        let sale = generate(&SaleOptions { skus: 1, hot: 0.0, ..SMALL });
        assert!(sale.orders.iter().all(|order| order.lines.len() == 1));
    }

    #[test]
    fn proportions_go_from_0_to_1() {
        assert_eq!(proportion("0.25"), Ok(0.25));
        assert!(["", "-0.1", "1.1", "NaN", "inf", "x"].map(proportion).iter().all(Result::is_err));
    }
}
