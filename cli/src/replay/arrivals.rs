//! From CSV rows with a time to a sale: each row is an order of one unit of the one SKU there is.

use std::collections::HashMap;
use std::path::PathBuf;
use std::time::UNIX_EPOCH;

use super::csv_file::{self, Columns};
use super::problem::{BadInput, Problem, check_key};
use super::sale::{Arrival, Order, Sale};

/// The SKU of such a sale.
const SKU: &str = "item";

/// The longest sale; what ends after 278 years never ends for the engine.
const LONGEST_MS: u64 = 100 * 366 * 24 * 60 * 60 * 1000;

/// Reads files as one stream, in the order given. The times are in milliseconds from the first row on.
pub fn read(files: &[PathBuf], order_column: &str, time_column: &str) -> Result<(Sale, Vec<u64>), BadInput> {
    let columns =
        Columns { names: [order_column, time_column], help: "name yours with --order-column and --time-column" };
    let mut reader = Reader::default();
    for file in files {
        csv_file::for_each_row(file, &columns, |_, [id, time]| reader.take(id, time))?;
    }
    Ok((reader.sale, reader.times))
}

#[derive(Default)]
struct Reader {
    sale: Sale,
    times: Vec<u64>,
    /// The time of the first row.
    starts: Option<u64>,
    /// Every order so far by its id.
    known: HashMap<String, usize>,
}

impl Reader {
    fn take(&mut self, id: &str, time: &str) -> Result<(), Problem> {
        check_key("order id", id)?;
        let since_1970 = parse_time(time)?;
        let starts = *self.starts.get_or_insert(since_1970);
        let back = || Problem::TimeGoesBack(time.into());
        let time_ms = since_1970.checked_sub(starts).ok_or_else(back)?;
        if self.times.last().is_some_and(|&last| time_ms < last) {
            return Err(back());
        }
        if time_ms > LONGEST_MS {
            return Err(Problem::TooLate(time.into()));
        }
        self.add(id, time_ms);
        Ok(())
    }

    /// An id that comes back is a repeat: all orders have the same lines.
    fn add(&mut self, id: &str, time_ms: u64) {
        let sale = &mut self.sale;
        let sku = sale.skus.number(SKU);
        sale.skus.ask_for(sku, 1);
        sale.lines.read += 1;
        let number = *self.known.entry(id.into()).or_insert_with(|| {
            sale.orders.push(Order { id: id.into(), lines: vec![(sku, 1)] });
            sale.orders.len() - 1
        });
        sale.arrivals.push(Arrival::Order(number));
        self.times.push(time_ms);
    }
}

/// Milliseconds since 1970.
fn parse_time(text: &str) -> Result<u64, Problem> {
    let time = humantime::parse_rfc3339(text).ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    let ms = time.and_then(|since_1970| u64::try_from(since_1970.as_millis()).ok());
    ms.ok_or_else(|| Problem::NoTime(text.into()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    fn read_rows(rows: &[(&str, &str)]) -> Result<(Sale, Vec<u64>), Problem> {
        let mut reader = Reader::default();
        rows.iter().try_for_each(|(id, time)| reader.take(id, time))?;
        Ok((reader.sale, reader.times))
    }

    #[test]
    fn each_row_is_an_order_of_one_unit_and_a_known_id_a_repeat() {
        let rows =
            [("a", "2021-03-12T17:46:56Z"), ("b", "2021-03-12T17:46:56.250Z"), ("a", "2021-03-12T18:00:00+00:00")];
        let (sale, times) = read_rows(&rows).unwrap();
        assert_eq!(times, [0, 250, 784_000]);
        assert_eq!(sale.arrivals, [Arrival::Order(0), Arrival::Order(1), Arrival::Order(0)]);
        assert!(sale.orders.iter().all(|order| order.lines == [(0, 1)]));
        assert_eq!((sale.skus.names(), sale.skus.demand()), (&["item".to_string()][..], &[3][..]));
    }

    #[test]
    fn time_goes_on_and_not_for_ever() {
        let [early, late, far] = ["2021-03-12T00:00:00Z", "2021-03-12T00:00:01Z", "2121-06-01T00:00:00Z"];
        assert!(matches!(read_rows(&[("a", late), ("b", early)]), Err(Problem::TimeGoesBack(_))));
        let again = [("a", early), ("b", late), ("c", early)];
        assert!(matches!(read_rows(&again), Err(Problem::TimeGoesBack(_))));
        assert!(matches!(read_rows(&[("a", early), ("b", far)]), Err(Problem::TooLate(_))));
    }

    #[test]
    fn what_is_no_time_in_utc_is_refused() {
        for text in
            ["", "x", "2021-03-12", "2021-03-12 17:46:56", "2021-03-12T17:46:56", "2021-03-12T17:46:56+01:00", "1615"]
        {
            assert!(matches!(parse_time(text), Err(Problem::NoTime(_))), "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "[0-9TZ:+.\u{e9} -]{0,32}", any in any::<String>()) {
            let _ = (parse_time(&text), parse_time(&any));
        }
    }
}
