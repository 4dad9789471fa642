//! `cargo run --release -p stockade-benches --example hot_row`: one hot SKU as one row and as several, one unit an order:
//! nanoseconds an order while all threads are at work, how often it lost an exchange of a row, and how often it had to
//! finish somebody else's order first.

use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};

use stockade::Stockade;
use stockade_benches::parts::Parts as Row;
use stockade_benches::work::{Part, Parts, Plan, Rows, Shape, overlap};

const ORDERS: usize = 1_000_000;
/// Of one thread, in a part that is timed.
const STEPS: usize = 500;
const RUNS: usize = 5;
/// Parts without which nothing is said.
const ENOUGH: usize = 100;
/// Threads and rows.
const POINTS: [(usize, u64); 5] = [(1, 1), (1, 8), (2, 1), (2, 2), (2, 8)];

fn main() -> anyhow::Result<()> {
    let plan = Plan::new(Shape { orders: ORDERS, lines: 1, rows: Rows::Uniform(1) })?;
    println!("{RUNS} runs of {ORDERS} orders; medians of the parts in which all threads were at work\n");
    println!("| threads | rows | ns an order | tenth - nine tenths | M/s | lost exchanges | helped | parts |");
    println!("| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |");
    let mut counted = POINTS.map(|_| Vec::new());
    // Point after point in each run, so that what else the machine does falls on all of them.
    for _ in 0..RUNS {
        for ((threads, rows), counted) in POINTS.into_iter().zip(&mut counted) {
            counted.extend(run(&plan, threads, rows)?);
        }
    }
    for ((threads, rows), counted) in POINTS.into_iter().zip(counted) {
        print(threads, rows, counted);
    }
    Ok(())
}

/// The parts that count, with orders, lost exchanges and operations that were helped.
fn run(plan: &Plan, threads: usize, rows: u64) -> anyhow::Result<Vec<Part<3>>> {
    let shop = Stockade::with_capacity(ORDERS)?;
    let gig = Row::add(&shop, "gig", 1 << 31, rows)?;
    thread_local!(static NEXT: Cell<usize> = const { Cell::new(0) });
    let refused = AtomicUsize::new(0);
    let step = |number, _: &_| {
        let order = plan.share(number, threads).start + NEXT.replace(NEXT.get() + 1);
        let is_new = matches!(gig.reserve(&shop, plan.id(order), 1), Ok(Some(reserved)) if reserved.is_new());
        if !is_new {
            refused.fetch_add(1, Ordering::Relaxed);
        }
        true
    };
    let read = || {
        let stats = shop.stats();
        [stats.orders.inventory_reserved, stats.lost_cas, stats.helped]
    };
    let most = ORDERS / threads / STEPS;
    let counted = overlap(threads, Parts { steps: STEPS, wanted: most, most }, step, read);
    anyhow::ensure!(refused.into_inner() == 0, "an order was not accepted");
    Ok(counted)
}

fn print(threads: usize, rows: u64, mut parts: Vec<Part<3>>) {
    if parts.len() < ENOUGH {
        println!("| {threads} | {rows} | hardly ever at work together | | | | | {} |", parts.len());
        return;
    }
    parts.sort_by(|a, b| a.ns.total_cmp(&b.ns));
    let ns = |tenths: usize| parts[(parts.len() - 1) * tenths / 10].ns;
    let sum = |of: usize| parts.iter().map(|part| part.grown[of]).sum::<u64>() as f64;
    let (lost, helped) = (sum(1) / sum(0), sum(2) / sum(0));
    let (low, median, high, rate) = (ns(1), ns(5), ns(9), 1e3 / ns(5));
    let count = parts.len();
    println!(
        "| {threads} | {rows} | {median:.0} | {low:.0} - {high:.0} | {rate:.1} | {lost:.3} | {helped:.3} | {count} |"
    );
}
