//! `cargo bench --bench contention`: orders per second under contention, the engine beside what a user would write
//! instead.
//!
//! Workloads, each with 1, 2 and 4 threads:
//!
//! | group | each thread |
//! | --- | --- |
//! | `one_line_hot`, `one_line_10k` | reserves 1 unit under a fresh id, of the one row there is or of one of 10,000 |
//! | `twenty_lines_10k` | reserves 1 unit of each of 20 distinct rows under a fresh id; figures are orders, not lines |
//! | `repeats_hot`, `repeats_10k` | sends orders again that are all known, each id once and in another sequence than before: 100 % repeats, so that a replay is measured alone and not as the rest beside a few costly fresh orders |
//! | `reserve_cancel_hot`, `reserve_cancel_10k` | reserves as above and cancels at once; one pair is one order |
//!
//! How it is measured:
//!
//! - Ids (36 bytes), lines and threads exist before the barrier opens. Timed is the span from the first thread's
//!   start to the last one's end ([`support::span`]); making and dropping the engine is not in it.
//! - Fresh orders go into a fresh engine each time, without a capacity given beforehand, so the order tables grow
//!   while they are timed. The allocator keeps part of what an earlier engine freed, for every contender as it does
//!   its own allocations, so fewer pages are touched for the first time than in a new process.
//! - Each time every answer and every row is checked against what it must be.
//! - Before the first sample every contender passes the contract in [`peers::contract`]; [`peers`] says what is the
//!   same for all.
//! - 200,000 orders (40,000 of 20 lines) are few: maps of that size mostly stay in the caches. This program compares
//!   behaviour under contention; what millions of orders cost is another measurement.
//!
//! The rest of the machine must be idle: a second program on the same two cores can halve every figure. The
//! harness itself costs 7 ns for each call. The whole run takes four minutes, `-- one_line` runs a part, `-- --test`
//! everything once and small. The table at the end has the median of all samples, those of the warm-up included.

mod peers;
mod support;

use std::cell::RefCell;
use std::time::Duration;

use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, BenchmarkId, Criterion, SamplingMode, Throughput};

use peers::{Contender, DashmapEntry, Engine, MutexMaps, contract};
use support::plan::{Plan, Shape};
use support::span::Verb;
use support::table::Table;

const THREADS: [usize; 3] = [1, 2, 4];
const ORDERS: usize = 200_000;
const MANY: usize = 10_000;

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let has = |flag| args.iter().any(|arg| arg == flag);
    // The same rule as criterion's: without `--bench`, as under `cargo test`, it only tries everything once.
    let trial = has("--test") || !has("--bench");
    if !has("--list") {
        contract::check::<Engine>();
        contract::check::<MutexMaps>();
        contract::check::<DashmapEntry>();
    }
    let mut criterion = Criterion::default()
        .sample_size(10)
        .warm_up_time(Duration::from_millis(200))
        .measurement_time(Duration::from_millis(2_000))
        .nresamples(10_000)
        .without_plots()
        .configure_from_args();
    let table = RefCell::new(Table::default());
    for shape in shapes(if trial { ORDERS / 50 } else { ORDERS }) {
        bench(&mut criterion, shape, &table);
    }
    criterion.final_summary();
    if !trial {
        table.borrow_mut().print();
    }
}

fn shapes(orders: usize) -> [Shape; 7] {
    let shape = |name, verb, rows| Shape { name, verb, orders, lines: 1, rows };
    let twenty = Shape { orders: orders / 5, lines: 20, ..shape("twenty_lines_10k", Verb::Reserve, MANY) };
    [
        shape("one_line_hot", Verb::Reserve, 1),
        shape("one_line_10k", Verb::Reserve, MANY),
        twenty,
        shape("repeats_hot", Verb::Repeat, 1),
        shape("repeats_10k", Verb::Repeat, MANY),
        shape("reserve_cancel_hot", Verb::ReserveCancel, 1),
        shape("reserve_cancel_10k", Verb::ReserveCancel, MANY),
    ]
}

fn bench(criterion: &mut Criterion, shape: Shape, table: &RefCell<Table>) {
    let plan = Plan::new(shape);
    let mut group = criterion.benchmark_group(shape.name);
    group.throughput(Throughput::Elements(shape.orders as u64));
    group.sampling_mode(SamplingMode::Flat);
    for threads in THREADS {
        contend::<Engine>(&mut group, &plan, threads, table);
        contend::<MutexMaps>(&mut group, &plan, threads, table);
        contend::<DashmapEntry>(&mut group, &plan, threads, table);
    }
}

/// One contender with one number of threads.
fn contend<C: Contender>(
    group: &mut BenchmarkGroup<'_, WallTime>,
    plan: &Plan,
    threads: usize,
    table: &RefCell<Table>,
) {
    let Shape { name, verb, orders, .. } = plan.shape;
    let mut seeded = None;
    group.bench_function(BenchmarkId::new(format!("threads_{threads}"), C::NAME), |bencher| {
        bencher.iter_custom(|iterations| {
            let sample = |_| match verb {
                Verb::Reserve | Verb::ReserveCancel => plan.open::<C>().sample(threads),
                // Repeats change nothing, so one engine that knows all orders serves all samples.
                Verb::Repeat => seeded.get_or_insert_with(|| plan.open::<C>().seed()).sample(threads),
            };
            let span = (0..iterations).map(sample).sum();
            table.borrow_mut().note((name, threads, C::NAME), iterations * orders as u64, span);
            span
        });
    });
}
