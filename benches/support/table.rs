//! One line for each workload and thread count, contenders side by side.

use std::time::Duration;

/// Every timed sample, by workload, threads and contender, in the order in which they were run.
#[derive(Default)]
pub struct Table(Vec<Cell>);

struct Cell {
    workload: &'static str,
    threads: usize,
    contender: &'static str,
    /// Million orders per second, one figure for each sample.
    rates: Vec<f64>,
}

impl Table {
    /// Notes that `orders` orders took `span`.
    pub fn note(&mut self, key: (&'static str, usize, &'static str), orders: u64, span: Duration) {
        let rate = orders as f64 / span.as_secs_f64() / 1e6;
        let (workload, threads, contender) = key;
        match self.0.last_mut() {
            Some(it) if (it.workload, it.threads, it.contender) == key => it.rates.push(rate),
            _ => self.0.push(Cell { workload, threads, contender, rates: vec![rate] }),
        }
    }

    /// Prints medians with their spread, and how often the first contender is as fast as each other one.
    pub fn print(&mut self) {
        if self.0.is_empty() {
            return;
        }
        println!(
            "\nMillion orders per second: median of all samples (slowest - fastest), first contender / this one\n"
        );
        for line in self.0.chunk_by_mut(|a, b| (a.workload, a.threads) == (b.workload, b.threads)) {
            let (mut first, mut text) = (None, format!("{:18}  threads {}", line[0].workload, line[0].threads));
            for cell in line {
                cell.rates.sort_by(f64::total_cmp);
                let (min, max) = (cell.rates[0], cell.rates[cell.rates.len() - 1]);
                let median = cell.rates[cell.rates.len() / 2];
                text += &format!("  {} {median:6.2} ({min:.2} - {max:.2})", cell.contender);
                match first {
                    None => first = Some(median),
                    Some(first) => text += &format!(" {:.1}x", first / median),
                }
            }
            println!("{text}");
        }
    }
}
