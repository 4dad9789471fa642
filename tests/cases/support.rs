//! What the case files share: shops, books, answers in the words of the cases, threads that start together.

use std::panic::resume_unwind;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;
use std::{hint, thread};

use stockade::{
    AdvanceError, Advanced, CancelError, Cancelled, ReserveError, Reserved, State, Stockade, TransitionError, VoidError,
};

/// How often a racing case is run.
pub const ROUNDS: usize = 300;

/// What a verb said, in one type, so that racing verbs can be listed side by side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Said {
    /// reserve: this call took the stock ("Ok" in the cases).
    New,
    /// reserve: accepted before ("Replay").
    Replayed,
    /// reserve: "Insufficient", with the SKUs that were short.
    Short(Vec<String>),
    /// reserve: "Conflict".
    LinesDiffer,
    /// reserve: "BadState" of a cancelled order.
    Closed(State),
    /// reserve: "UnknownSku".
    UnknownSku(String),
    /// reserve: "Invalid".
    Invalid,
    /// cancel, void: "Ok(released n)" and the state it was in.
    Released(State, u64),
    /// pay, fulfil, lapse: "Ok".
    Done,
    /// cancel, void, pay, fulfil: "Replay".
    Already,
    /// cancel, void: "Ok(released 0)" for an id never seen; pay, fulfil: no such order.
    Unknown,
    /// cancel, pay, fulfil, lapse: "BadState".
    InvalidState(State),
}

/// An engine with these rows.
pub fn shop(rows: &[(&str, u64)]) -> Stockade {
    let engine = Stockade::new();
    for &(sku, available) in rows {
        engine.add_sku(sku, available).unwrap();
    }
    engine
}

/// The books of a row as the cases write them: free, held, shipped.
pub fn book(engine: &Stockade, sku: &str) -> (u64, u64, u64) {
    let row = engine.balance(sku).unwrap();
    (row.available, row.held, row.shipped)
}

/// Free units of a row.
pub fn free(engine: &Stockade, sku: &str) -> u64 {
    engine.stock(sku).unwrap().available
}

/// The state of an order; `None` if the id is not known.
pub fn state(engine: &Stockade, id: &str) -> Option<State> {
    engine.order(id).map(|order| order.state)
}

/// The order's lines by name.
pub fn lines(engine: &Stockade, id: &str) -> Vec<(String, u32)> {
    let order = engine.order(id).unwrap();
    let line = |l: &stockade::Line| (engine.sku_name(l.sku).unwrap().to_string(), l.quantity);
    order.lines.iter().map(line).collect()
}

/// Nothing moves any more: every row adds up and none is left in motion.
pub fn settled(engine: &Stockade) {
    let audit = engine.audit();
    assert!(audit.is_sound(), "{audit:?}");
    assert!(audit.in_motion.is_empty(), "{audit:?}");
}

/// `reserve` in the words of the cases.
pub fn reserve(engine: &Stockade, id: &str, lines: &[(&str, u32)]) -> Said {
    said(engine.reserve(id, lines))
}

/// The answer of a `reserve` or `hold` in the words of the cases.
pub fn said(answer: Result<Reserved, ReserveError>) -> Said {
    match answer {
        Ok(Reserved::New(_)) => Said::New,
        Ok(Reserved::Replayed(_)) => Said::Replayed,
        Err(ReserveError::Insufficient { short }) => Said::Short(short.0.iter().map(|s| s.sku.to_string()).collect()),
        Err(ReserveError::LinesDiffer) => Said::LinesDiffer,
        Err(ReserveError::Closed { state }) => Said::Closed(state),
        Err(ReserveError::UnknownSku(unknown)) => Said::UnknownSku(unknown.sku.to_string()),
        Err(ReserveError::Invalid(_)) => Said::Invalid,
        Err(other) => panic!("reserve: {other:?}"),
    }
}

/// "Insufficient" for these SKUs and no other.
pub fn short(skus: &[&str]) -> Said {
    Said::Short(skus.iter().map(ToString::to_string).collect())
}

/// `cancel` in the words of the cases.
pub fn cancel(engine: &Stockade, id: &str) -> Said {
    match engine.cancel(id) {
        Ok(answer) => cancelled(answer),
        Err(CancelError::InvalidState { actual }) => Said::InvalidState(actual),
        Err(other) => panic!("cancel: {other:?}"),
    }
}

/// `void` in the words of the cases: the cancel that marks an id never seen.
pub fn void(engine: &Stockade, id: &str) -> Said {
    match engine.void(id) {
        Ok(answer) => cancelled(answer),
        Err(VoidError::InvalidState { actual }) => Said::InvalidState(actual),
        Err(other) => panic!("void: {other:?}"),
    }
}

fn cancelled(answer: Cancelled) -> Said {
    let units = answer.units();
    match answer {
        Cancelled::Released { from, .. } => Said::Released(from, units),
        Cancelled::Already => Said::Already,
        Cancelled::Unknown => Said::Unknown,
    }
}

/// `pay` in the words of the cases.
pub fn pay(engine: &Stockade, id: &str) -> Said {
    advanced(engine.pay(id))
}

/// `fulfil` in the words of the cases.
pub fn fulfil(engine: &Stockade, id: &str) -> Said {
    advanced(engine.fulfil(id))
}

fn advanced(answer: Result<Advanced, AdvanceError>) -> Said {
    match answer {
        Ok(Advanced::Done { .. }) => Said::Done,
        Ok(Advanced::Already { .. }) => Said::Already,
        Err(AdvanceError::InvalidState { actual }) => Said::InvalidState(actual),
        Err(AdvanceError::UnknownOrder) => Said::Unknown,
        Err(other) => panic!("pay or fulfil: {other:?}"),
    }
}

/// What a sweeper does to a hold whose time is up: cancel it only if it is still unpaid. Stands in for
/// `expire()` until there are timed holds.
pub fn lapse(engine: &Stockade, id: &str) -> Said {
    match engine.transition(id, State::InventoryReserved, State::Cancelled) {
        Ok(_) => Said::Done,
        Err(TransitionError::InvalidState { actual, .. }) => Said::InvalidState(actual),
        Err(other) => panic!("transition: {other:?}"),
    }
}

/// How many of the answers are this one.
pub fn count(answers: &[Said], wanted: &Said) -> usize {
    answers.iter().filter(|said| *said == wanted).count()
}

/// Starts `n` threads, lets them go at the same moment, and gives their answers in thread order.
///
/// A barrier alone lets its last arrival run ahead of the sleepers it wakes, so the threads also wait
/// awake for one another; then each starts a few turns late, differently in every round.
pub fn together<T: Send>(n: usize, act: impl Fn(usize) -> T + Sync) -> Vec<T> {
    static ROUND: AtomicUsize = AtomicUsize::new(0);
    let round = ROUND.fetch_add(1, Ordering::Relaxed);
    let (barrier, awake) = (Barrier::new(n), AtomicUsize::new(0));
    let run = |i: usize| {
        barrier.wait();
        awake.fetch_add(1, Ordering::AcqRel);
        let mut turns = 0;
        while awake.load(Ordering::Acquire) < n {
            turns += 1;
            if turns % 100 == 0 {
                thread::yield_now();
            }
            hint::spin_loop();
        }
        for _ in 0..(round * 31 + i * 17) % 61 {
            hint::spin_loop();
        }
        act(i)
    };
    thread::scope(|scope| {
        let run = &run;
        let threads: Vec<_> = (0..n).map(|i| scope.spawn(move || run(i))).collect();
        let answer = |t: thread::ScopedJoinHandle<'_, T>| t.join().unwrap_or_else(|p| resume_unwind(p));
        threads.into_iter().map(answer).collect()
    })
}

/// Does `work` while another thread keeps looking, at least once, until the work is done.
pub fn watched<T>(mut look: impl FnMut() + Send, work: impl FnOnce() -> T) -> T {
    struct Done<'a>(&'a AtomicBool);
    impl Drop for Done<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Release);
        }
    }
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let watcher = scope.spawn(|| {
            loop {
                look();
                if done.load(Ordering::Acquire) {
                    break;
                }
            }
        });
        let result = {
            let _done = Done(&done);
            work()
        };
        watcher.join().unwrap_or_else(|panic| resume_unwind(panic));
        result
    })
}

/// Fails if `work` is not finished in time, instead of hanging with it.
pub fn within<T: Send + 'static>(seconds: u64, work: impl FnOnce() -> T + Send + 'static) -> T {
    let (done, finished) = mpsc::channel();
    let worker = thread::spawn(move || {
        let result = work();
        let _ = done.send(());
        result
    });
    match finished.recv_timeout(Duration::from_secs(seconds)) {
        Err(RecvTimeoutError::Timeout) => panic!("not finished within {seconds} s"),
        Ok(()) | Err(RecvTimeoutError::Disconnected) => worker.join().unwrap_or_else(|panic| resume_unwind(panic)),
    }
}
