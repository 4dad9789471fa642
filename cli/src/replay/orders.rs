//! From CSV rows to a sale: which lines belong together, which are left out, and what comes back.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use stockade::MAX_LINES;

use super::csv_file::{self, Columns};
use super::options::Rules;
use super::problem::{BadInput, Problem, check_key, parse_quantity};
use super::sale::{Arrival, Conflict, Line, Order, Sale};

/// Reads files as one stream, in the order given.
pub fn read(files: &[PathBuf], rules: &Rules) -> Result<Sale, BadInput> {
    let columns = Columns {
        names: [&rules.order_column, &rules.sku_column, &rules.quantity_column],
        help: "name yours with --order-column, --sku-column and --quantity-column",
    };
    let mut reader = Reader::new(rules);
    for file in files {
        csv_file::for_each_row(file, &columns, |line, [order, sku, quantity]| {
            reader.take(Place { file, line }, order, sku, quantity)
        })?;
    }
    Ok(reader.finish())
}

/// A line of a file.
#[derive(Clone, Copy)]
struct Place<'a> {
    file: &'a Path,
    line: u64,
}

/// Consecutive lines with one id.
struct Run<'a> {
    id: String,
    starts: Place<'a>,
    lines: RunLines,
}

enum RunLines {
    /// Units wanted of each SKU.
    Order(BTreeMap<usize, u32>),
    /// Units that come back, line by line.
    Return(Vec<Line>),
}

struct Reader<'a> {
    rules: &'a Rules,
    sale: Sale,
    run: Option<Run<'a>>,
    /// Every order so far by its id: its number, and where it came first.
    known: HashMap<String, (usize, Place<'a>)>,
}

impl<'a> Reader<'a> {
    fn new(rules: &'a Rules) -> Self {
        Reader { rules, sale: Sale::default(), run: None, known: HashMap::new() }
    }

    /// Takes one row. Every row is checked, also those that are then left out.
    fn take(&mut self, place: Place<'a>, id: &str, sku: &str, quantity: &str) -> Result<(), Problem> {
        check_key("order id", id)?;
        let quantity = parse_quantity(quantity)?;
        self.sale.lines.read += 1;
        if self.run.as_ref().is_none_or(|run| run.id != id) {
            self.end_run();
            self.run = Some(self.start_run(id, place));
        }
        if !self.rules.is_goods(sku) {
            self.sale.lines.skipped_sku += 1;
            return Ok(());
        }
        check_key("SKU", sku)?;
        self.add_line(sku, quantity)
    }

    fn start_run(&self, id: &str, starts: Place<'a>) -> Run<'a> {
        let lines =
            if self.rules.is_return(id) { RunLines::Return(Vec::new()) } else { RunLines::Order(BTreeMap::new()) };
        Run { id: id.into(), starts, lines }
    }

    fn add_line(&mut self, sku: &str, quantity: i64) -> Result<(), Problem> {
        let number = self.sale.skus.number(sku);
        let units = u32::try_from(quantity.unsigned_abs()).unwrap_or(u32::MAX);
        if quantity > 0 {
            self.sale.skus.ask_for(number, units);
        }
        match self.run.as_mut().map(|run| &mut run.lines) {
            Some(RunLines::Order(lines)) if quantity > 0 => {
                let sum = lines.entry(number).or_default();
                *sum = sum.checked_add(units).ok_or_else(|| Problem::SumTooLarge(sku.into()))?;
                if lines.len() > MAX_LINES {
                    return Err(Problem::TooManySkus);
                }
            }
            Some(RunLines::Return(lines)) if quantity < 0 => lines.push((number, units)),
            _ => self.sale.lines.skipped_quantity += 1,
        }
        Ok(())
    }

    fn end_run(&mut self) {
        let Some(Run { id, starts, lines }) = self.run.take() else {
            return;
        };
        match lines {
            RunLines::Order(lines) if lines.is_empty() => self.sale.empty_orders += 1,
            RunLines::Order(lines) => self.end_order(starts, Order { id, lines: lines.into_iter().collect() }),
            RunLines::Return(lines) if lines.is_empty() => self.sale.empty_returns += 1,
            RunLines::Return(lines) => {
                self.sale.arrivals.push(Arrival::Return(self.sale.returns.len()));
                self.sale.returns.push(lines);
            }
        }
    }

    /// An id that comes back is a repeat if its lines are the same. Otherwise it is told here, where it is
    /// a fact about the file, and not by the engine, where two threads could meet it in either order.
    fn end_order(&mut self, starts: Place<'a>, order: Order) {
        let sale = &mut self.sale;
        match self.known.get(&order.id) {
            None => {
                self.known.insert(order.id.clone(), (sale.orders.len(), starts));
                sale.arrivals.push(Arrival::Order(sale.orders.len()));
                sale.orders.push(order);
            }
            Some(&(number, _)) if sale.orders[number] == order => sale.arrivals.push(Arrival::Order(number)),
            Some(&(_, first)) => sale.conflicts.push(Conflict {
                id: order.id,
                file: starts.file.display().to_string(),
                line: starts.line,
                first_file: first.file.display().to_string(),
                first_line: first.line,
            }),
        }
    }

    fn finish(mut self) -> Sale {
        self.end_run();
        self.sale
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    /// Reads rows as if they stood in one file, from line 2 on.
    fn sale(rules: &Rules, rows: &[(&str, &str, i64)]) -> Result<Sale, (u64, Problem)> {
        let mut reader = Reader::new(rules);
        for (line, (id, sku, quantity)) in (2..).zip(rows) {
            let place = Place { file: Path::new("f.csv"), line };
            reader.take(place, id, sku, &quantity.to_string()).map_err(|problem| (line, problem))?;
        }
        Ok(reader.finish())
    }

    fn order(id: &str, lines: &[Line]) -> Order {
        Order { id: id.into(), lines: lines.into() }
    }

    #[test]
    fn consecutive_lines_are_one_order_and_sums_are_made() {
        let sale = sale(&Rules::default(), &[("1", "B", 2), ("1", "A", 1), ("1", "B", 3), ("2", "A", 1)]).unwrap();
        assert_eq!(sale.orders, [order("1", &[(0, 5), (1, 1)]), order("2", &[(1, 1)])]);
        assert_eq!(sale.skus.names(), ["B", "A"]);
        assert_eq!(sale.skus.demand(), [5, 2]);
    }

    #[test]
    fn lines_are_left_out_for_one_reason_each() {
        let rules = Rules::for_tests("[A-Z]", "R");
        let rows = [
            ("1", "A", 1),
            ("1", "A", 0),
            ("1", "A", -1),
            ("1", "ab", -1),
            ("2", "ab", 5),
            ("3", "A", -4),
            ("R1", "A", -2),
            ("R1", "A", 3),
            ("R1", "A", -2),
            ("R2", "B", 0),
        ];
        let sale = sale(&rules, &rows).unwrap();
        assert_eq!((sale.lines.read, sale.lines.skipped_sku, sale.lines.skipped_quantity), (10, 2, 5));
        assert_eq!((sale.empty_orders, sale.empty_returns), (2, 1));
        assert_eq!(sale.returns, [vec![(0, 2), (0, 2)]]);
        assert_eq!(sale.arrivals, [Arrival::Order(0), Arrival::Return(0)]);
        assert_eq!(sale.skus.demand(), [4, 0], "what a return line asks for counts, as the file says");
    }

    #[test]
    fn an_id_that_comes_back_is_a_repeat_or_a_conflict() {
        let rows = [("1", "A", 1), ("1", "B", 1), ("2", "A", 1), ("1", "B", 1), ("1", "A", 1), ("2", "A", 2)];
        let sale = sale(&Rules::default(), &rows).unwrap();
        assert_eq!(sale.arrivals, [Arrival::Order(0), Arrival::Order(1), Arrival::Order(0)]);
        assert_eq!(sale.conflicts.len(), 1);
        let told = sale.conflicts[0].to_string();
        assert!(told.starts_with("f.csv:7: order \"2\" was at f.csv:4 with other lines"), "{told}");
    }

    #[test]
    fn the_limits_of_the_engine_are_kept() {
        let rows = [("1", "A", i64::from(u32::MAX)), ("1", "A", 1)];
        assert!(matches!(sale(&Rules::default(), &rows), Err((3, Problem::SumTooLarge(_)))));

        let names: Vec<String> = (0..=MAX_LINES).map(|n| n.to_string()).collect();
        let rows: Vec<_> = names.iter().map(|name| ("1", name.as_str(), 1)).collect();
        assert!(matches!(sale(&Rules::default(), &rows), Err((4098, Problem::TooManySkus))));
        assert!(sale(&Rules::default(), &rows[..MAX_LINES]).is_ok());

        assert!(matches!(sale(&Rules::default(), &[("1", "", 1)]), Err((2, Problem::EmptyKey("SKU")))));
        assert!(sale(&Rules::for_tests("[A-Z]", "R"), &[("1", "", 1)]).is_ok(), "skipped by the pattern");
    }
}
