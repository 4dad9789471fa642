//! `stockade replay`: sends the orders of files, or of a generated sale, through the engine and reports.
//!
//! `csv_file` cuts bytes into rows and `orders` or `arrivals` makes a [`Sale`] of them, or `generate` makes one up;
//! `buyers` says who pays for what, and when, and `parts` which orders change in part; `stock` says what is there at
//! the start; `drive` sends everything from many threads, at the time that `pace` shows, with `changes` for orders that
//! change in part, and logs each answer; `tally` and `part_tally` count the answers and `by_clock` judges them;
//! `report` shows the result and `write` keeps it.

mod arrivals;
mod buyers;
mod by_clock;
mod changes;
mod csv_file;
mod drive;
mod generate;
mod options;
mod orders;
mod pace;
mod part_tally;
mod parts;
mod problem;
mod quoting;
mod report;
mod sale;
mod stock;
mod tally;
mod write;

pub use options::Options;
pub use problem::BadInput;
pub use report::Report;
pub use sale::Sale;

use crate::failure::Failure;
use crate::output;
use by_clock::ByClock;
use stock::Shop;
use tally::Tally;

/// Runs the command.
pub fn run(options: &Options) -> Result<(), Failure> {
    let mut sale = take_in(options)?;
    warn_of_conflicts(&sale);
    let report = send(&mut sale, options)?;
    output::print(&report.show(options.format, &options.title())?)?;
    report.verdict()
}

/// Reads the files, or makes up a sale.
pub fn take_in(options: &Options) -> Result<Sale, Failure> {
    let files = csv_file::expand(&options.files)?;
    write::refuse_to_overwrite(options, &files)?;
    let rules = &options.rules;
    let (mut sale, own_times) = match &rules.time_column {
        _ if files.is_empty() => (generate::generate(&options.sale), None),
        None => (orders::read(&files, rules)?, None),
        Some(time_column) => {
            let (sale, times) = arrivals::read(&files, &rules.order_column, time_column)?;
            (sale, Some(times))
        }
    };
    buyers::plan(&mut sale, own_times, &options.holds, options.sale.seed);
    parts::plan(&mut sale, &options.parts, options.sale.seed);
    Ok(sale)
}

/// Sends a sale through an engine and leaves the files that were asked for.
pub fn send<'a>(sale: &'a mut Sale, options: &Options) -> Result<Report<'a>, Failure> {
    let initial = stock::at_start(sale, &options.stock_source())?;
    let shop = Shop::open(&sale.skus, &initial)?;

    let run = drive::drive(&shop, sale, options.threads())?;

    let end = shop.available()?;
    let tally = Tally::new(sale, &initial, &end, &run.log);
    let timetable = sale.timetable.as_ref().filter(|timetable| timetable.in_step);
    // All orders of such a sale are for its first SKU; a stock file may name others.
    let units = initial.first().copied().unwrap_or_default();
    let by_clock = timetable.map(|timetable| ByClock::new(sale, timetable, units, &run.log));
    if let Some(path) = &options.write_stock {
        write::stock(path, &sale.skus, &end)?;
    }
    if let Some(path) = &options.write_decisions {
        write::decisions(path, sale, &run.log)?;
    }
    Ok(Report::new(sale, &tally, by_clock, &shop.engine.audit(), options.threads(), run.elapsed))
}

/// An order id that comes back with other lines is no reason to stop, but nobody should miss it.
fn warn_of_conflicts(sale: &Sale) {
    const SHOWN: usize = 10;
    for conflict in sale.conflicts.iter().take(SHOWN) {
        output::complain(format_args!("warning: {conflict}"));
    }
    if let Some(more @ 1..) = sale.conflicts.len().checked_sub(SHOWN) {
        output::complain(format_args!("warning: and {more} more like these; --format json lists all"));
    }
}
