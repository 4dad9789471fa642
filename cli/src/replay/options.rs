//! The arguments of `stockade replay`.

use std::path::PathBuf;
use std::thread;

use clap::builder::NonEmptyStringValueParser;
use clap::{ArgGroup, Args};
use regex::Regex;

use super::buyers::HoldOptions;
use super::generate::SaleOptions;
use super::parts::PartOptions;
use super::stock::{Share, Source};
use crate::output::Format;

/// Sends orders through the engine from many threads, and counts what everybody was told.
///
/// Without a FILE it makes up a flash sale. With files it reads orders from CSV: consecutive lines with
/// one order id are one all-or-nothing order, lines of one SKU are summed. An order id that comes back
/// later is sent again if its lines are the same; with other lines it is reported and left out.
#[derive(Args)]
#[command(
    group = ArgGroup::new("starting stock").args(["stock", "stock_share"]),
    after_help = "\
Examples:
  stockade replay
  stockade replay --orders 5000000 --hot 0.9 --threads 8
  stockade replay --hold 60000 --pay-share 0.8 --late-share 0.3
  stockade replay --hold 60000 --part-share 0.2
  stockade replay sale.csv --stock stock.csv --write-decisions told.csv
  stockade replay days/ --order-column InvoiceNo --sku-column StockCode \\
      --quantity-column Quantity --sku-pattern '[0-9]{5}[A-Za-z]{0,2}' \\
      --return-prefix C --stock-share 0.5 --format json
  stockade replay rescues.csv --order-column mint --time-column timestamp \\
      --stock-share 0.5 --hold 600000 --pay-share 0.75 --late-share 0

Exit status:
  0  everything adds up
  1  somebody was told yes twice, or refused while a unit was free (with
     --time-column), or the books do not add up
  2  bad input; the message names file, line and what to do"
)]
pub struct Options {
    /// CSV files in this order; a folder stands for its *.csv by name.
    ///
    /// All are read as one stream. Needs --stock or --stock-share.
    #[arg(value_name = "FILE", requires = "starting stock")]
    pub files: Vec<PathBuf>,

    /// Number of threads that send orders [default: all cores].
    ///
    /// With 1, orders are processed in file order and the result is the same every time.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,

    /// How to print the report.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,

    /// Write the stock at the end, sorted by SKU: columns sku,available.
    #[arg(long, value_name = "FILE")]
    pub write_stock: Option<PathBuf>,

    /// Write a line "id,accepted" or "id,refused" for each order, in order of processing.
    ///
    /// A repeat of an accepted order decides nothing and has no line.
    #[arg(long, value_name = "FILE")]
    pub write_decisions: Option<PathBuf>,

    /// Starting stock from a CSV file with the columns sku,available.
    ///
    /// A SKU that is not in it starts with 0.
    #[arg(long, value_name = "FILE", requires = "files", help_heading = "Starting stock")]
    pub stock: Option<PathBuf>,

    /// Starting stock as a share of what the input asks for [default without FILE: 0.5].
    ///
    /// Each SKU gets max(1, floor(F x sum of its positive quantities)).
    #[arg(
        long,
        value_name = "F",
        conflicts_with = "stock",
        help_heading = "Starting stock",
        allow_negative_numbers = true
    )]
    stock_share: Option<Share>,

    #[command(flatten)]
    pub(super) rules: Rules,

    #[command(flatten)]
    pub(super) holds: HoldOptions,

    #[command(flatten)]
    pub(super) parts: PartOptions,

    #[command(flatten)]
    pub(super) sale: SaleOptions,
}

/// How the lines of the files are to be understood.
#[derive(Args)]
#[command(next_help_heading = "With files")]
pub struct Rules {
    /// Column with the order id.
    #[arg(long, value_name = "NAME", default_value = "order", requires = "files")]
    pub order_column: String,

    /// Column with the SKU, taken as written.
    #[arg(long, value_name = "NAME", default_value = "sku", requires = "files")]
    pub sku_column: String,

    /// Column with the quantity; an order's lines with 0 or less are left out.
    #[arg(long, value_name = "NAME", default_value = "quantity", requires = "files")]
    pub quantity_column: String,

    /// Leave out lines whose SKU does not match as a whole.
    #[arg(long, value_name = "REGEX", value_parser = whole_match, requires = "files")]
    sku_pattern: Option<Regex>,

    /// An id with this prefix is a return: its lines with negative quantity put that much back.
    #[arg(long, value_name = "C", value_parser = NonEmptyStringValueParser::new(), requires = "files")]
    return_prefix: Option<String>,

    /// Column with the time of an order, in UTC like 2021-03-12T17:46:56Z, never earlier than in the row before. Needs
    /// --hold.
    ///
    /// Each row is then an order of one unit of the SKU "item"; only this column and that of the order id are read.
    /// Holds end by these times: orders of the same time are shared by the threads, and the clock moves on when all of
    /// them have been answered. So it is known which holds were dead when somebody was refused, and that is checked.
    #[arg(long, value_name = "NAME", requires_all = ["files", "hold"],
          conflicts_with_all = ["sku_column", "quantity_column", "sku_pattern", "return_prefix"])]
    pub time_column: Option<String>,
}

impl Rules {
    /// Whether lines of this SKU are to be taken.
    pub fn is_goods(&self, sku: &str) -> bool {
        self.sku_pattern.as_ref().is_none_or(|pattern| pattern.is_match(sku))
    }

    /// Whether this id brings goods back.
    pub fn is_return(&self, id: &str) -> bool {
        self.return_prefix.as_ref().is_some_and(|prefix| id.starts_with(prefix))
    }
}

/// Compiles a pattern that must match from the first to the last character.
fn whole_match(pattern: &str) -> Result<Regex, regex::Error> {
    Regex::new(pattern)?;
    Regex::new(&format!(r"\A(?:{pattern})\z"))
}

impl Options {
    /// Where the starting stock comes from.
    pub fn stock_source(&self) -> Source<'_> {
        match (&self.stock, self.stock_share) {
            (Some(file), _) => Source::File(file),
            (None, Some(share)) => Source::Share(share),
            (None, None) => Source::Share(Share::HALF),
        }
    }

    /// How many threads send orders.
    pub fn threads(&self) -> usize {
        match self.threads {
            Some(threads) => threads.into(),
            None => thread::available_parallelism().map_or(1, Into::into),
        }
    }

    /// What this run is, in a line.
    pub fn title(&self) -> String {
        let what = match self.files.as_slice() {
            [] => self.sale.title(),
            [file] => format!("replay of {}", file.display()),
            [first, more @ ..] => format!("replay of {} and {} more", first.display(), more.len()),
        };
        what + &self.holds.title() + &self.parts.title()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    impl Default for Rules {
        fn default() -> Self {
            Rules {
                order_column: "order".into(),
                sku_column: "sku".into(),
                quantity_column: "quantity".into(),
                sku_pattern: None,
                return_prefix: None,
                time_column: None,
            }
        }
    }

    impl Rules {
        pub fn for_tests(sku_pattern: &str, return_prefix: &str) -> Self {
            let sku_pattern = Some(whole_match(sku_pattern).unwrap());
            Rules { sku_pattern, return_prefix: Some(return_prefix.into()), ..Rules::default() }
        }
    }

    #[test]
    fn a_pattern_matches_the_whole_sku() {
        let rules = Rules::for_tests("[0-9]{5}[A-Za-z]{0,2}|a|ab", "C");
        for sku in ["12345", "12345ab", "a", "ab"] {
            assert!(rules.is_goods(sku), "{sku}");
        }
        for sku in ["", "1234", "12345abc", "x12345", "12345\n", "abc"] {
            assert!(!rules.is_goods(sku), "{sku:?}");
        }
        assert!(whole_match("a)|(b").is_err());
    }

    #[test]
    fn a_prefix_makes_a_return() {
        let rules = Rules::for_tests(".*", "C");
        assert!(rules.is_return("C1") && rules.is_return("C"));
        assert!(!rules.is_return("1C") && !Rules::default().is_return("C1"));
    }
}
