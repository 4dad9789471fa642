//! One line for each point of the matrix, contenders side by side.

use std::time::Duration;

use comfy_table::ContentArrangement;
use comfy_table::presets::ASCII_MARKDOWN;

/// Every timed sample, by group, point and contender, in the order in which they were run.
#[derive(Default)]
pub struct Table(Vec<Cell>);

struct Cell {
    group: &'static str,
    point: &'static str,
    contender: &'static str,
    /// Million orders per second, one figure for each sample.
    rates: Vec<f64>,
}

impl Table {
    /// Notes that `orders` orders took `span`.
    pub fn note(&mut self, key: (&'static str, &'static str, &'static str), orders: u64, span: Duration) {
        let rate = orders as f64 / span.as_secs_f64() / 1e6;
        let (group, point, contender) = key;
        match self.0.last_mut() {
            Some(it) if (it.group, it.point, it.contender) == key => it.rates.push(rate),
            _ => self.0.push(Cell { group, point, contender, rates: vec![rate] }),
        }
    }

    /// Prints medians with their spread, and how often the first contender is as fast as each other one.
    pub fn print(&mut self) {
        let mut table = comfy_table::Table::new();
        table.load_style(ASCII_MARKDOWN).set_content_arrangement(ContentArrangement::Disabled);
        table.set_header(["", "contender", "M/s", "lowest - highest", "first / this"]);
        for point in self.0.chunk_by_mut(|a, b| (a.group, a.point) == (b.group, b.point)) {
            let mut first = None;
            for cell in point {
                cell.rates.sort_by(f64::total_cmp);
                let (min, max) = (cell.rates[0], cell.rates[cell.rates.len() - 1]);
                let median = cell.rates[cell.rates.len() / 2];
                let ratio = first.get_or_insert(median).to_owned() / median;
                table.add_row([
                    format!("{} {}", cell.group, cell.point),
                    cell.contender.to_owned(),
                    format!("{median:.3}"),
                    format!("{min:.3} - {max:.3}"),
                    format!("{ratio:.1}x"),
                ]);
            }
        }
        println!("\nMillion orders per second: median of all samples\n\n{table}");
    }
}
