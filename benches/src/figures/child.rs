//! One measurement, in the process that was started for it.

use std::hint::black_box;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use hdrhistogram::Histogram;
use stockade_benches::contender::{Contender, Request};
use stockade_benches::peers::{Actor, DashmapEntry, Engine, File, Memory, MutexMaps, PapayaInsert, SccEntry, Sqlite};
use stockade_benches::work::{Plan, Rows, Shape, Stage, Tally, race};

use super::job::{Job, Latency, Outcome, PERCENTILES, Peer, Work};
use super::machine::resident_bytes;
use super::{floor, transfer};

/// Parts whose time is taken one by one, to see what growth does to it.
const WINDOWS: usize = 32;
/// Parts whose longest call is kept.
const LONGEST: usize = 64;
/// Longer than any call takes.
const LONGEST_NS: u64 = 600_000_000_000;
/// Orders in one call of a batch verb.
const BATCH: usize = 64;

/// `None`: there is no such verb yet, or no core for each thread.
pub fn measure(job: &Job) -> Result<Option<Outcome>> {
    if let Work::Transfer { bits, words } = job.work {
        let ns = transfer::run(bits, words, job.threads, job.orders);
        return Ok(ns.map(|ns_per_order| Outcome { ns_per_order, ..outcome(job, Duration::ZERO) }));
    }
    let plan = Plan::new(Shape { orders: job.orders, lines: job.lines, rows: Rows::Uniform(job.rows) })?;
    if job.work == Work::Floor {
        return Ok(Some(outcome(job, floor::run(&plan, job.threads))));
    }
    match job.peer {
        Peer::Stockade => measure_one::<Engine>(job, &plan),
        Peer::MutexMaps => measure_one::<MutexMaps>(job, &plan),
        Peer::DashmapEntry => measure_one::<DashmapEntry>(job, &plan),
        Peer::SccEntry => measure_one::<SccEntry>(job, &plan),
        Peer::PapayaInsert => measure_one::<PapayaInsert>(job, &plan),
        Peer::Actor => measure_one::<Actor>(job, &plan),
        Peer::SqliteMemory => measure_one::<Sqlite<Memory>>(job, &plan),
        Peer::SqliteWal => measure_one::<Sqlite<File>>(job, &plan),
        #[cfg(feature = "servers")]
        Peer::Redis => measure_one::<stockade_benches::peers::Redis>(job, &plan),
        #[cfg(feature = "servers")]
        Peer::Postgres => measure_one::<stockade_benches::peers::Postgres>(job, &plan),
        #[cfg(not(feature = "servers"))]
        Peer::Redis | Peer::Postgres => anyhow::bail!("add `--features servers` to measure {}", job.peer.name()),
    }
}

fn measure_one<C: Contender>(job: &Job, plan: &Plan) -> Result<Option<Outcome>> {
    let stage = plan.open::<C>(if job.capacity { job.orders } else { 0 })?;
    let outcome = match job.work {
        Work::Fresh => Some(fresh(job, &stage)?),
        Work::Repeat => Some(repeat(job, &stage)?),
        Work::Cancel => Some(cancel(job, &stage)?),
        Work::Latency => Some(latency(job, &stage)?),
        Work::Batch => batch(job, &stage)?,
        Work::Floor | Work::Transfer { .. } => None,
    };
    stage.engine.close();
    Ok(outcome)
}

fn outcome(job: &Job, span: Duration) -> Outcome {
    let ns_per_order = span.as_secs_f64() * 1e9 / job.orders as f64;
    Outcome { ns_per_order, bytes_per_order: None, windows: Vec::new(), latency: None }
}

/// Every order must have got the answer it must get.
fn check<C: Contender>(stage: &Stage<'_, C>, tallies: impl IntoIterator<Item = Tally>, want: Tally) -> Result<()> {
    let tally = tallies.into_iter().fold(Tally::default(), Tally::plus);
    ensure!(tally == want, "{}: answers were {tally:?}, must be {want:?}", C::NAME);
    stage.verify(stage.plan.orders() - want.released);
    Ok(())
}

fn fresh<C: Contender>(job: &Job, stage: &Stage<'_, C>) -> Result<Outcome> {
    let before = resident_bytes();
    let (span, done) = race(job.threads, |number| {
        let share = stage.plan.share(number, job.threads);
        let (mut tally, mut times) = (Tally::default(), Vec::with_capacity(WINDOWS + 1));
        times.push(Instant::now());
        for window in 0..WINDOWS {
            let part = |window| share.start + share.len() * window / WINDOWS;
            for order in part(window)..part(window + 1) {
                let (id, lines) = stage.order(order);
                tally.reserve(&black_box(stage.engine.reserve(id, lines)));
            }
            times.push(Instant::now());
        }
        (tally, times)
    });
    let after = resident_bytes();
    check(stage, done.iter().map(|it| it.0), Tally { new: job.orders, ..Tally::default() })?;
    let grown = before.zip(after).map(|(before, after)| after.saturating_sub(before) as f64);
    let calls = job.orders as f64 / job.threads as f64 / WINDOWS as f64;
    let windows = done[0].1.windows(2).map(|it| (it[1] - it[0]).as_secs_f64() * 1e9 / calls).collect();
    Ok(Outcome { bytes_per_order: grown.map(|it| it / job.orders as f64), windows, ..outcome(job, span) })
}

fn repeat<C: Contender>(job: &Job, stage: &Stage<'_, C>) -> Result<Outcome> {
    let mut seeded = Tally::default();
    for order in stage.plan.shuffled() {
        let (id, lines) = stage.order(order as usize);
        seeded.reserve(&stage.engine.reserve(id, lines));
    }
    check(stage, [seeded], Tally { new: job.orders, ..Tally::default() })?;
    let (span, tallies) = race(job.threads, |number| {
        let mut tally = Tally::default();
        for order in stage.plan.share(number, job.threads) {
            let (id, lines) = stage.order(order);
            tally.reserve(&black_box(stage.engine.reserve(id, lines)));
        }
        tally
    });
    check(stage, tallies, Tally { replayed: job.orders, ..Tally::default() })?;
    Ok(outcome(job, span))
}

fn cancel<C: Contender>(job: &Job, stage: &Stage<'_, C>) -> Result<Outcome> {
    let (span, tallies) = race(job.threads, |number| {
        let mut tally = Tally::default();
        for order in stage.plan.share(number, job.threads) {
            let (id, lines) = stage.order(order);
            tally.reserve(&black_box(stage.engine.reserve(id, lines)));
            tally.cancel(black_box(stage.engine.cancel(id)));
        }
        tally
    });
    check(stage, tallies, Tally { new: job.orders, released: job.orders, ..Tally::default() })?;
    Ok(outcome(job, span))
}

fn latency<C: Contender>(job: &Job, stage: &Stage<'_, C>) -> Result<Outcome> {
    // Made beforehand, because making one touches memory.
    let histogram = Histogram::<u64>::new_with_bounds(1, LONGEST_NS, 3)?;
    let (span, done) = race(job.threads, |number| {
        let share = stage.plan.share(number, job.threads);
        let (mut tally, mut histogram, mut longest) = (Tally::default(), histogram.clone(), vec![0; LONGEST]);
        let mut last = Instant::now();
        for (window, longest) in longest.iter_mut().enumerate() {
            let part = |window| share.start + share.len() * window / LONGEST;
            for order in part(window)..part(window + 1) {
                let (id, lines) = stage.order(order);
                tally.reserve(&black_box(stage.engine.reserve(id, lines)));
                let now = Instant::now();
                let ns = (now - last).as_nanos() as u64;
                last = now;
                histogram.saturating_record(ns);
                *longest = ns.max(*longest);
            }
        }
        (tally, histogram, longest)
    });
    check(stage, done.iter().map(|it| it.0), Tally { new: job.orders, ..Tally::default() })?;
    let all = done.iter().map(|it| &it.1).try_fold(histogram, |mut sum, it| sum.add(it).map(|()| sum))?;
    let percentiles = PERCENTILES.iter().map(|&it| (it, all.value_at_percentile(it))).collect();
    let longest = (0..LONGEST).filter_map(|window| done.iter().map(|it| it.2[window]).max()).collect();
    Ok(Outcome { latency: Some(Latency { percentiles, longest }), ..outcome(job, span) })
}

fn batch<C: Contender>(job: &Job, stage: &Stage<'_, C>) -> Result<Option<Outcome>> {
    let first = [stage.order(0)];
    if stage.engine.reserve_many(&first).is_none() {
        return Ok(None);
    }
    let (span, tallies) = race(job.threads, |number| {
        let mut tally = Tally::default();
        let share = stage.plan.share(number, job.threads);
        for from in share.clone().step_by(BATCH) {
            let orders: Vec<Request<'_, C::Row>> =
                (from..share.end.min(from + BATCH)).map(|it| stage.order(it)).collect();
            let answers = black_box(stage.engine.reserve_many(&orders));
            answers.iter().flatten().for_each(|answer| tally.reserve(answer));
        }
        tally
    });
    // The first order was the probe for the verb.
    let want = Tally { new: job.orders - 1, replayed: 1, ..Tally::default() };
    check(stage, tallies, want).context("in batches")?;
    Ok(Some(outcome(job, span)))
}
