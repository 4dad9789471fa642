//! `cargo bench`: orders per second under contention, the engine beside what a user would write instead.
//!
//! A matrix of which one dimension is varied at a time, around the point of 2 threads, one line, 10,000 rows asked for
//! evenly, no repeats, reserve alone:
//!
//! | group | what differs from that point |
//! | --- | --- |
//! | `threads` | 1, 2, 4, 8 threads |
//! | `rows` | one hot row; 10,000 rows by Zipf's law with exponent 1 |
//! | `lines` | 3 and 20 lines of distinct rows; figures are orders, not lines |
//! | `repeats` | 50 and 95 % of the calls send an order that the same thread sent before |
//! | `mix` | reserve then cancel; reserve, pay, fulfil; a reserve beside a read of its row and of its order. One round is one order |
//!
//! How it is measured:
//!
//! - Ids (36 bytes), lines and threads exist before the barrier opens. Timed is the span from the first thread's
//!   start to the last one's end; making and dropping the engine is not in it.
//! - Every pass begins with a fresh engine, without a capacity given beforehand, so the order tables grow while they
//!   are timed. The allocator keeps part of what an earlier engine freed, for every contender as it does its own
//!   allocations, so fewer pages are touched for the first time than in a new process.
//! - Each time every answer, and what is left in the rows, is checked against what it must be.
//! - Before the first sample every contender passes the contract; `contender.rs` says what is the same for all.
//! - 200,000 orders a pass are few: maps of that size mostly stay in the caches. This program compares behaviour
//!   under contention; what millions of orders cost the figures program measures. Slow peers get fewer orders.
//!
//! The rest of the machine must be idle: a second program on the same two cores can halve every figure. The whole run
//! takes about ten minutes, `-- threads` runs a part, `-- --test` everything once and small. The table at the end has
//! the median of all samples, those of the warm-up included. Redis and PostgreSQL come in with `--features servers`.

use std::cell::RefCell;
use std::time::Duration;

use anyhow::Result;
use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, BenchmarkId, Criterion, SamplingMode, Throughput};

use stockade_benches::contender::Contender;
use stockade_benches::contract;
use stockade_benches::peers::{Actor, DashmapEntry, Engine, File, Memory, MutexMaps, PapayaInsert, SccEntry, Sqlite};
#[cfg(feature = "servers")]
use stockade_benches::peers::{Postgres, Redis};
use stockade_benches::work::{Mix, Plan, Rows, Shape, Table, calls};

const ORDERS: usize = 200_000;
const MANY: usize = 10_000;
/// Under `--test` everything is so many times smaller.
const TRIAL: usize = 50;

/// One point of the matrix.
#[derive(Clone, Copy)]
struct Point {
    group: &'static str,
    name: &'static str,
    threads: usize,
    rows: Rows,
    lines: usize,
    repeats: u32,
    mix: Mix,
}

const BASE: Point = Point {
    group: "threads",
    name: "2",
    threads: 2,
    rows: Rows::Uniform(MANY),
    lines: 1,
    repeats: 0,
    mix: Mix::Reserve,
};

const MATRIX: [Point; 13] = [
    Point { name: "1", threads: 1, ..BASE },
    BASE,
    Point { name: "4", threads: 4, ..BASE },
    Point { name: "8", threads: 8, ..BASE },
    Point { group: "rows", name: "hot", rows: Rows::Uniform(1), ..BASE },
    Point { group: "rows", name: "zipf", rows: Rows::Zipf(MANY), ..BASE },
    Point { group: "lines", name: "3", lines: 3, ..BASE },
    Point { group: "lines", name: "20", lines: 20, ..BASE },
    Point { group: "repeats", name: "50%", repeats: 50, ..BASE },
    Point { group: "repeats", name: "95%", repeats: 95, ..BASE },
    Point { group: "mix", name: "cancel", mix: Mix::Cancel, ..BASE },
    Point { group: "mix", name: "pay+fulfil", mix: Mix::PayFulfil, ..BASE },
    Point { group: "mix", name: "reads", mix: Mix::Reads, ..BASE },
];

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().collect();
    let has = |flag| args.iter().any(|arg| arg == flag);
    // The same rule as criterion's: without `--bench`, as under `cargo test`, it only tries everything once.
    let trial = has("--test") || !has("--bench");
    if !trial && !has("--list") {
        check_all();
    }
    let mut criterion = Criterion::default()
        .sample_size(10)
        .warm_up_time(Duration::from_millis(200))
        .measurement_time(Duration::from_millis(2_000))
        .nresamples(10_000)
        .without_plots()
        .configure_from_args();
    let table = RefCell::new(Table::default());
    for point in MATRIX {
        bench(&mut criterion, point, if trial { ORDERS / TRIAL } else { ORDERS }, &table)?;
    }
    criterion.final_summary();
    if !trial {
        table.borrow_mut().print();
    }
    Ok(())
}

/// Nobody is timed who does less than the job. `tests/contract.rs` does the same for `cargo test`.
fn check_all() {
    contract::check::<Engine>();
    contract::check::<MutexMaps>();
    contract::check::<DashmapEntry>();
    contract::check::<SccEntry>();
    contract::check::<PapayaInsert>();
    contract::check::<Actor>();
    contract::check::<Sqlite<Memory>>();
    contract::check::<Sqlite<File>>();
    #[cfg(feature = "servers")]
    contract::check::<Redis>();
    #[cfg(feature = "servers")]
    contract::check::<Postgres>();
}

/// One point, with every contender; the slow ones with a share of the orders.
fn bench(criterion: &mut Criterion, point: Point, orders: usize, table: &RefCell<Table>) -> Result<()> {
    let plan = |orders| Plan::new(Shape { orders, lines: point.lines, rows: point.rows });
    let (all, tenth, hundredth) = (plan(orders / point.lines)?, plan(orders / 10)?, plan(orders / 100)?);
    let mut group = criterion.benchmark_group(point.group);
    group.sampling_mode(SamplingMode::Flat);
    contend::<Engine>(&mut group, point, &all, table);
    contend::<MutexMaps>(&mut group, point, &all, table);
    contend::<DashmapEntry>(&mut group, point, &all, table);
    contend::<SccEntry>(&mut group, point, &all, table);
    contend::<PapayaInsert>(&mut group, point, &all, table);
    contend::<Actor>(&mut group, point, &tenth, table);
    contend::<Sqlite<Memory>>(&mut group, point, &hundredth, table);
    contend::<Sqlite<File>>(&mut group, point, &hundredth, table);
    #[cfg(feature = "servers")]
    contend::<Redis>(&mut group, point, &hundredth, table);
    #[cfg(feature = "servers")]
    contend::<Postgres>(&mut group, point, &hundredth, table);
    Ok(())
}

fn contend<C: Contender>(group: &mut BenchmarkGroup<'_, WallTime>, point: Point, plan: &Plan, table: &RefCell<Table>) {
    let calls = calls(plan, point.threads, point.repeats);
    group.throughput(Throughput::Elements(plan.orders() as u64));
    // Held while its passes run, so that a server is started once and not for each pass.
    let mut started = None;
    group.bench_function(BenchmarkId::new(point.name, C::NAME), |bencher| {
        bencher.iter_custom(|iterations| {
            started.get_or_insert_with(|| opened::<C>(plan));
            let span = (0..iterations).map(|_| opened::<C>(plan).contend(point.mix, &calls)).sum();
            table.borrow_mut().note((point.group, point.name, C::NAME), iterations * plan.orders() as u64, span);
            span
        });
    });
}

/// A fresh engine. Criterion cannot be told that there is none.
fn opened<C: Contender>(plan: &Plan) -> stockade_benches::work::Stage<'_, C> {
    match plan.open(0) {
        Ok(stage) => stage,
        Err(error) => panic!("{}: {error:#}", C::NAME),
    }
}
