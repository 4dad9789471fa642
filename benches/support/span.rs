//! The span that is timed: from the moment the first thread leaves the barrier to the moment the last one is done.
//!
//! Inside it a thread walks over calls whose arguments exist already, gives each answer to `black_box` and counts it
//! in a local. Threads are started before it and joined after it; each takes its own two readings of the clock.

use std::hint::black_box;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::peers::{Cancel, Contender, Reserve};

/// What is done with each order.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Verb {
    /// Reserve under a fresh id.
    Reserve,
    /// Reserve under a fresh id, then cancel.
    ReserveCancel,
    /// Reserve again what is reserved.
    Repeat,
}

/// The arguments of one call.
pub struct Op<'a, Row> {
    pub id: &'a str,
    pub lines: &'a [(Row, u32)],
}

/// How often each answer was given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    pub new: usize,
    pub replayed: usize,
    pub released: usize,
    pub other: usize,
}

/// Lets `threads` threads work through their equal shares of `ops`.
pub fn run<C: Contender>(engine: &C, ops: &[Op<'_, C::Row>], verb: Verb, threads: usize) -> (Duration, Tally) {
    let shares: Vec<_> = ops.chunks(ops.len().div_ceil(threads)).collect();
    assert!(shares.len() == threads, "{} calls do not make {threads} shares", ops.len());
    let waiting = AtomicUsize::new(threads);
    let work = |share: &[Op<'_, C::Row>]| {
        start_line(&waiting);
        let start = Instant::now();
        let tally = match verb {
            Verb::Reserve | Verb::Repeat => reserve(engine, share),
            Verb::ReserveCancel => reserve_cancel(engine, share),
        };
        (start, Instant::now(), tally)
    };
    let done: Vec<_> = thread::scope(|scope| {
        let running: Vec<_> = shares.into_iter().map(|share| scope.spawn(move || work(share))).collect();
        let join = |it: thread::ScopedJoinHandle<'_, _>| match it.join() {
            Ok(done) => done,
            Err(panic) => std::panic::resume_unwind(panic),
        };
        running.into_iter().map(join).collect()
    });
    let first = done.iter().map(|it| it.0).min();
    let last = done.iter().map(|it| it.1).max();
    let span = first.zip(last).map_or(Duration::ZERO, |(first, last)| last - first);
    (span, done.iter().fold(Tally::default(), |sum, it| sum.plus(it.2)))
}

/// A barrier whose threads are running, on cores of their own if there are enough, at the moment it opens. Those of
/// `std::sync::Barrier` sleep, and were seen to leave it up to 0.7 ms apart.
fn start_line(waiting: &AtomicUsize) {
    waiting.fetch_sub(1, Ordering::AcqRel);
    while waiting.load(Ordering::Acquire) > 0 {
        thread::yield_now();
    }
}

fn reserve<C: Contender>(engine: &C, ops: &[Op<'_, C::Row>]) -> Tally {
    let mut tally = Tally::default();
    for op in ops {
        tally.count(&black_box(engine.reserve(op.id, op.lines)));
    }
    tally
}

fn reserve_cancel<C: Contender>(engine: &C, ops: &[Op<'_, C::Row>]) -> Tally {
    let mut tally = Tally::default();
    for op in ops {
        tally.count(&black_box(engine.reserve(op.id, op.lines)));
        match black_box(engine.cancel(op.id)) {
            Cancel::Released { .. } => tally.released += 1,
            Cancel::Already | Cancel::Unknown => tally.other += 1,
        }
    }
    tally
}

impl Tally {
    #[inline]
    fn count(&mut self, answer: &Reserve) {
        match answer {
            Reserve::New { .. } => self.new += 1,
            Reserve::Replayed { .. } => self.replayed += 1,
            _ => self.other += 1,
        }
    }

    fn plus(self, it: Tally) -> Tally {
        Tally {
            new: self.new + it.new,
            replayed: self.replayed + it.replayed,
            released: self.released + it.released,
            other: self.other + it.other,
        }
    }
}
