//! The span that is timed: from the moment the first thread leaves the barrier to the moment the last one is done.
//! Threads are started before it and joined after it; each takes its own two readings of the clock.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Runs `work` with 0, 1, 2 … in `threads` threads that start together.
pub fn race<T: Send>(threads: usize, work: impl Fn(usize) -> T + Sync) -> (Duration, Vec<T>) {
    let waiting = AtomicUsize::new(threads);
    let timed = |number| {
        start_line(&waiting);
        let start = Instant::now();
        let done = work(number);
        (start, Instant::now(), done)
    };
    let timed = &timed;
    let done: Vec<_> = thread::scope(|scope| {
        let running: Vec<_> = (0..threads).map(|number| scope.spawn(move || timed(number))).collect();
        let join = |it: thread::ScopedJoinHandle<'_, _>| match it.join() {
            Ok(done) => done,
            Err(panic) => std::panic::resume_unwind(panic),
        };
        running.into_iter().map(join).collect()
    });
    let first = done.iter().map(|it| it.0).min();
    let last = done.iter().map(|it| it.1).max();
    let span = first.zip(last).map_or(Duration::ZERO, |(first, last)| last - first);
    (span, done.into_iter().map(|it| it.2).collect())
}

/// A barrier whose threads are running, on cores of their own if there are enough, at the moment it opens. Those of
/// `std::sync::Barrier` sleep, and were seen to leave it up to 0.7 ms apart.
fn start_line(waiting: &AtomicUsize) {
    waiting.fetch_sub(1, Ordering::AcqRel);
    while waiting.load(Ordering::Acquire) > 0 {
        thread::yield_now();
    }
}
