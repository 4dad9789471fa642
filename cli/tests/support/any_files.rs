//! Any bytes as input files: they are refused with a reason, or what comes out is what the sequential program says.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::slice;

use clap::Parser;
use stockade_cli::{Failure, replay};

use crate::sequential::{self, Rules, Start};

#[derive(Parser)]
struct Command {
    #[command(flatten)]
    options: replay::Options,
}

/// A folder for the files of one replay after the other.
pub struct AnyFiles {
    orders: PathBuf,
    stock: PathBuf,
    left: PathBuf,
    told: PathBuf,
    options: replay::Options,
}

impl AnyFiles {
    pub fn new(folder: &Path) -> Self {
        let [orders, stock, left, told] = ["orders.csv", "stock.csv", "left.csv", "told.csv"].map(|it| folder.join(it));
        let mut args =
            vec!["replay".as_ref(), orders.as_os_str(), "--threads=1".as_ref(), "--return-prefix=C".as_ref()];
        for (option, path) in [("--stock", &stock), ("--write-stock", &left), ("--write-decisions", &told)] {
            args.extend([option.as_ref(), path.as_os_str()]);
        }
        let options = Command::parse_from(args).options;
        AnyFiles { orders, stock, left, told, options }
    }

    /// Replays the bytes before the first NUL as orders, and those after it as stock.
    pub fn replay(&self, bytes: &[u8]) {
        let (orders, stock) = bytes.split_at(bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len()));
        let stock = stock.get(1..).unwrap_or_default();
        for file in [&self.orders, &self.stock, &self.left, &self.told] {
            // A file that is emptied instead goes to the disk at once, on some file systems: a wait for each input.
            let _ = fs::remove_file(file);
        }
        fs::write(&self.orders, orders).unwrap();
        fs::write(&self.stock, stock).unwrap();
        match self.run() {
            // The csv crate skips a byte order mark after the one that the command has skipped. The sequential program does not.
            Ok(()) if [orders, stock].iter().any(|file| file.starts_with("\u{feff}\u{feff}".as_bytes())) => {}
            Ok(()) => self.compare(),
            Err(failure @ (Failure::Input(_) | Failure::TooManyUnits { .. })) => _ = failure.to_string(),
            Err(failure) => panic!("{failure}"),
        }
    }

    fn run(&self) -> Result<(), Failure> {
        let mut sale = replay::take_in(&self.options)?;
        replay::send(&mut sale, &self.options)?.verdict()
    }

    /// The files that were left, against what the sequential program makes of those that were read.
    fn compare(&self) {
        let rules =
            Rules { order: "order", sku: "sku", quantity: "quantity", is_goods: |_| true, return_prefix: Some("C") };
        let stock = csv::Reader::from_path(&self.stock).unwrap().into_deserialize().map(|row| {
            let row: HashMap<String, String> = row.unwrap();
            (row["sku"].clone(), row["available"].parse().unwrap())
        });
        let wanted = sequential::replay(slice::from_ref(&self.orders), &rules, Start::Units(stock.collect()));
        assert_eq!(unquoted(&self.left), wanted.stock_file());
        assert_eq!(unquoted(&self.told), wanted.decisions_file());
    }
}

/// The rows of a file as the sequential program writes them.
fn unquoted(file: &Path) -> String {
    let rows = csv::ReaderBuilder::new().has_headers(false).from_path(file).unwrap().into_records();
    rows.map(|row| row.unwrap().iter().collect::<Vec<_>>().join(",") + "\n").collect()
}
