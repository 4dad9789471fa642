//! What is there at the start, from a file or as a share of what is asked for, and what is there at the end.

use std::collections::HashMap;
use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;

use stockade::{AddSkuError, MAX_UNITS, ManualClock, Sku, Stockade};

use super::csv_file::{self, Columns};
use super::problem::{BadInput, Problem, check_key, parse_available};
use super::sale::{Sale, Skus};
use crate::failure::Failure;

/// Where the starting stock comes from.
pub enum Source<'a> {
    /// A file with the columns sku,available.
    File(&'a Path),
    /// A share of what the input asks for.
    Share(Share),
}

/// Units of each SKU at the start, by number. SKUs that only the stock file names join the sale.
pub fn at_start(sale: &mut Sale, source: &Source<'_>) -> Result<Vec<u64>, Failure> {
    let initial = match source {
        Source::File(file) => from_file(file, &mut sale.skus)?,
        Source::Share(share) => sale.skus.demand().iter().map(|&sum| share.of(sum).max(1)).collect(),
    };
    check_room(sale, initial)
}

fn from_file(file: &Path, skus: &mut Skus) -> Result<Vec<u128>, BadInput> {
    let columns = Columns { names: ["sku", "available"], help: "a stock file has the columns sku,available" };
    let mut stock = HashMap::new();
    csv_file::for_each_row(file, &columns, |line, [sku, available]| {
        check_key("SKU", sku)?;
        let available = parse_available(available)?;
        match stock.insert(skus.number(sku), (line, available)) {
            Some((first_line, _)) => Err(Problem::StockTwice { sku: sku.into(), first_line }),
            None => Ok(()),
        }
    })?;
    let available = |number| stock.get(&number).map_or(0, |&(_, available)| available.into());
    Ok((0..skus.names().len()).map(available).collect())
}

/// Everything a row will ever receive must be within what the engine can count.
fn check_room(sale: &Sale, initial: Vec<u128>) -> Result<Vec<u64>, Failure> {
    let mut received = initial.clone();
    for &(sku, units) in sale.returns.iter().flatten() {
        received[sku] += u128::from(units);
    }
    match received.iter().position(|&units| units > MAX_UNITS.into()) {
        Some(sku) => Err(Failure::TooManyUnits { sku: sale.skus.names()[sku].clone(), units: received[sku] }),
        None => Ok(initial.into_iter().map(|units| u64::try_from(units).unwrap_or(MAX_UNITS)).collect()),
    }
}

/// An engine with its stock.
pub struct Shop {
    pub engine: Stockade,
    /// Its handle of each SKU by number.
    pub rows: Vec<Sku>,
    /// Its clock, which stands still until it is told to go on.
    pub clock: Arc<ManualClock>,
}

impl Shop {
    /// A shop that begins with these units.
    pub fn open(skus: &Skus, initial: &[u64]) -> Result<Shop, Failure> {
        let clock = Arc::new(ManualClock::default());
        let engine = Stockade::builder().clock(Arc::clone(&clock)).build();
        let engine = engine.map_err(|error| Failure::Unsound(format!("there is no engine: {error}")))?;
        let rows: Result<Vec<Sku>, AddSkuError> =
            skus.names().iter().zip(initial).map(|(name, &units)| engine.add_sku(name, units)).collect();
        match rows {
            Ok(rows) => Ok(Shop { engine, rows, clock }),
            Err(AddSkuError::Full) => Err(Failure::EngineFull("SKUs")),
            Err(error) => Err(Failure::Unsound(format!("the engine takes no stock: {error}"))),
        }
    }

    /// What the engine has of each SKU now, by number.
    pub fn available(&self) -> Result<Vec<u64>, Failure> {
        let stock = self.rows.iter().map(|row| self.engine.stock(row).map(|stock| stock.available));
        stock.collect::<Result<_, _>>().map_err(|error| Failure::Unsound(format!("a row is gone: {error}")))
    }
}

/// A share such as 0.5, kept as a decimal: 0.29 of 100 is 29, which binary fractions would make 28.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    parts: u64,
    of: u64,
}

impl Share {
    /// One half.
    pub const HALF: Share = Share { parts: 1, of: 2 };

    /// Reads a share of which there cannot be more than all.
    pub fn part(text: &str) -> Result<Share, &'static str> {
        let share = text.parse().ok().filter(|share: &Share| share.parts <= share.of);
        share.ok_or("write a share from 0 to 1, such as 0.75, with at most 9 decimals")
    }

    /// Whether the share takes the n-th, counted from 1, if it takes its part evenly: with 0.75 not the first of four,
    /// but the other three.
    pub fn takes(self, n: usize) -> bool {
        let n = n as u64;
        self.of(n) > self.of(n - 1)
    }

    /// This share of a sum, rounded down.
    fn of(self, sum: u64) -> u128 {
        u128::from(sum) * u128::from(self.parts) / u128::from(self.of)
    }
}

impl FromStr for Share {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const WRONG: &str = "write a share as a decimal with at most 9 digits on each side, such as 0.5";
        let (whole, decimals) = text.split_once('.').unwrap_or((text, "0"));
        let good = |digits: &str| (1..=9).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit());
        if !good(whole) || !good(decimals) {
            return Err(WRONG);
        }
        let parts = format!("{whole}{decimals}").parse().map_err(|_| WRONG)?;
        let of = decimals.bytes().fold(1, |of, _| of * 10);
        Ok(Share { parts, of })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_share_is_exact_and_rounded_down() {
        let of = |share: &str, sum| share.parse::<Share>().unwrap().of(sum);
        assert_eq!([of("0.5", 7), of("0.29", 100), of("0", 9), of("1", 9), of("2.25", 4)], [3, 29, 0, 9, 9]);
        assert_eq!(Share::HALF.of(7), 3);
        assert!(of("999999999", u64::MAX) > u128::from(u64::MAX), "no wrapping");
    }

    #[test]
    fn a_part_is_taken_evenly_and_is_at_most_all() {
        let taken = |share: &str| (1..=8).filter(|&n| Share::part(share).unwrap().takes(n)).collect::<Vec<_>>();
        assert_eq!(taken("0.75"), [2, 3, 4, 6, 7, 8]);
        assert_eq!(taken("0.125"), [8]);
        assert_eq!((taken("0").len(), taken("1").len(), taken("1.0").len()), (0, 8, 8));
        assert!(["1.000000001", "2", "-0.1", "", "x"].map(Share::part).iter().all(Result::is_err));
    }

    #[test]
    fn what_is_no_share_is_refused() {
        for text in ["", ".", ".5", "5.", "-0.5", "+1", "1e3", "NaN", "inf", "0,5", " 1", "1234567890", "0.1234567890"]
        {
            assert!(text.parse::<Share>().is_err(), "{text:?}");
        }
    }

    #[test]
    fn every_sku_that_is_mentioned_starts_with_at_least_one() {
        let mut sale = Sale::default();
        sale.skus.number("only returned");
        let wanted = sale.skus.number("wanted");
        sale.skus.ask_for(wanted, 9);
        assert_eq!(at_start(&mut sale, &Source::Share(Share::HALF)).unwrap(), [1, 4]);
    }

    #[test]
    fn more_than_a_row_can_count_is_refused_beforehand() {
        let mut sale = Sale::default();
        sale.skus.number("A");
        sale.returns.push(vec![(0, u32::MAX); 16]);
        assert!(at_start(&mut sale, &Source::Share(Share::HALF)).is_ok());
        sale.returns.push(vec![(0, 16)]);
        assert!(matches!(at_start(&mut sale, &Source::Share(Share::HALF)), Err(Failure::TooManyUnits { .. })));
    }
}
