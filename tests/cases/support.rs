//! What the case files share: shops, books, answers in the words of the cases, threads that start together.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Barrier, Mutex};
use std::time::Duration;
use std::{hint, thread};

use stockade::{
    AdvanceError, Advanced, AmendError, CancelError, CancelLinesError, CancelReason, Cancelled, ExtendError,
    FulfilLinesError, ManualClock, PaidLate, PayAgainError, ReserveError, Reserved, Revised, State, Stockade,
    VoidError,
};

/// How often a racing case is run: `STOCKADE_ROUNDS`, or 300 times.
pub fn rounds() -> usize {
    std::env::var("STOCKADE_ROUNDS").map_or(300, |rounds| rounds.parse().expect("STOCKADE_ROUNDS is a number"))
}

/// What a verb said, in one type, so that racing verbs can be listed side by side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Said {
    /// reserve: this call took the stock ("Ok" in the cases).
    New,
    /// reserve: accepted before ("Replay").
    Replayed,
    /// reserve, amend: "Insufficient", with the SKUs that were short.
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
    /// pay, fulfil: "Ok".
    Done,
    /// pay_again: "Ok", with the units taken once more.
    Again,
    /// extend: "Ok", with the second at which the hold now ends.
    Until(u64),
    /// A change in part: "Ok", with the units that are still open.
    Left(u64),
    /// A change in part: "Ok", and the state in which the order has ended by that.
    Ended(State),
    /// A change in part: "TooMuch", with the SKU and its open units.
    TooMuch(String, u32),
    /// amend: less than what is fulfilled and cancelled of this SKU.
    TooFew(String, u32),
    /// extend: a firm order.
    NoDeadline,
    /// pay, fulfil, extend, a change in part: "Expired".
    Expired,
    /// cancel, void, pay, fulfil: "Replay".
    Already,
    /// cancel, void: "Ok(released 0)" for an id never seen; pay, fulfil, a change in part: no such order.
    Unknown,
    /// cancel, pay, fulfil, extend, a change in part: "BadState".
    InvalidState(State),
}

/// An engine with these rows.
pub fn shop(rows: &[(&str, u64)]) -> Stockade {
    stocked(Stockade::new(), rows)
}

/// An engine with these rows, and the clock it goes by, at 0.
pub fn timed_shop(rows: &[(&str, u64)]) -> (Stockade, Arc<ManualClock>) {
    let clock = Arc::new(ManualClock::default());
    (stocked(Stockade::builder().clock(Arc::clone(&clock)).build().unwrap(), rows), clock)
}

/// This engine, with these rows added.
pub fn stocked(engine: Stockade, rows: &[(&str, u64)]) -> Stockade {
    for &(sku, available) in rows {
        engine.add_sku(sku, available).unwrap();
    }
    engine
}

/// `@t`: the clock goes on to this second.
pub fn at(clock: &ManualClock, second: u64) {
    clock.set_ms(second * 1000);
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

/// Why an order is cancelled; `None` if it is not.
pub fn reason(engine: &Stockade, id: &str) -> Option<CancelReason> {
    engine.order(id).and_then(|order| order.cancelled)
}

/// The second at which an order's hold ends; `None` if it does not.
pub fn deadline(engine: &Stockade, id: &str) -> Option<u64> {
    engine.order(id).and_then(|order| order.deadline_ms).map(|ms| ms / 1000)
}

/// `expire()` of the cases: everything that is due.
pub fn expire(engine: &Stockade) -> Vec<String> {
    engine.expire_due(usize::MAX)
}

/// The order's lines by name.
pub fn lines(engine: &Stockade, id: &str) -> Vec<(String, u32)> {
    let order = engine.order(id).unwrap();
    let line = |l: &stockade::OrderLine| (engine.sku_name(l.sku).unwrap().to_string(), l.ordered);
    order.lines.iter().map(line).collect()
}

/// What became of the order's lines: of each its name, and the units ordered, open, fulfilled, cancelled.
pub fn parts(engine: &Stockade, id: &str) -> Vec<(String, [u32; 4])> {
    let order = engine.order(id).unwrap();
    let part = |l: &stockade::OrderLine| {
        (engine.sku_name(l.sku).unwrap().to_string(), [l.ordered, l.open, l.fulfilled, l.cancelled])
    };
    order.lines.iter().map(part).collect()
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

/// `reserve(..,ttl)` in the words of the cases.
pub fn reserve_for(engine: &Stockade, id: &str, lines: &[(&str, u32)], seconds: u64) -> Said {
    said(engine.reserve_for(id, lines, seconds * 1000))
}

/// The answer of a `reserve` or `hold` in the words of the cases.
pub fn said(answer: Result<Reserved, ReserveError>) -> Said {
    match answer {
        Ok(Reserved::New(_)) => Said::New,
        Ok(Reserved::Replayed(_)) => Said::Replayed,
        Err(ReserveError::Insufficient { short }) => lacking(&short),
        Err(ReserveError::LinesDiffer) => Said::LinesDiffer,
        Err(ReserveError::Closed { state }) => Said::Closed(state),
        Err(ReserveError::UnknownSku(unknown)) => Said::UnknownSku(unknown.sku.to_string()),
        Err(ReserveError::Invalid(_)) => Said::Invalid,
        Err(other) => panic!("reserve: {other:?}"),
    }
}

fn lacking(short: &stockade::Shortages) -> Said {
    Said::Short(short.0.iter().map(|s| s.sku.to_string()).collect())
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
        Err(AdvanceError::Expired) => Said::Expired,
        Err(other) => panic!("pay or fulfil: {other:?}"),
    }
}

/// `extend` in the words of the cases.
pub fn extend(engine: &Stockade, id: &str, seconds: u64) -> Said {
    match engine.extend(id, seconds * 1000) {
        Ok(extended) => Said::Until(extended.deadline_ms / 1000),
        Err(ExtendError::Expired) => Said::Expired,
        Err(ExtendError::NoDeadline) => Said::NoDeadline,
        Err(ExtendError::InvalidState { actual }) => Said::InvalidState(actual),
        Err(ExtendError::Invalid(_)) => Said::Invalid,
        Err(ExtendError::UnknownOrder) => Said::Unknown,
        Err(other) => panic!("extend: {other:?}"),
    }
}

/// `pay_or_retake` in the words of the cases.
pub fn pay_again(engine: &Stockade, id: &str) -> Said {
    match engine.pay_or_reserve_again(id) {
        Ok(PaidLate::InTime { .. }) => Said::Done,
        Ok(PaidLate::Again { .. }) => Said::Again,
        Ok(PaidLate::Already { .. }) => Said::Already,
        Err(PayAgainError::Insufficient { short }) => lacking(&short),
        Err(PayAgainError::InvalidState { actual }) => Said::InvalidState(actual),
        Err(PayAgainError::UnknownOrder) => Said::Unknown,
        Err(other) => panic!("pay_or_reserve_again: {other:?}"),
    }
}

/// `cancel(O,[..])` in the words of the cases.
pub fn cancel_part(engine: &Stockade, id: &str, lines: &[(&str, u32)]) -> Said {
    match engine.cancel_lines(id, lines) {
        Ok(revised) => left(revised),
        Err(CancelLinesError::TooMuch { sku, open, .. }) => Said::TooMuch(sku.into(), open),
        Err(CancelLinesError::InvalidState { actual }) => Said::InvalidState(actual),
        Err(CancelLinesError::UnknownOrder) => Said::Unknown,
        Err(CancelLinesError::UnknownSku(unknown)) => Said::UnknownSku(unknown.sku.into()),
        Err(CancelLinesError::Invalid(_)) => Said::Invalid,
        Err(CancelLinesError::Expired) => Said::Expired,
        Err(other) => panic!("cancel_lines: {other:?}"),
    }
}

/// `fulfil(O,[..])` in the words of the cases.
pub fn fulfil_part(engine: &Stockade, id: &str, lines: &[(&str, u32)]) -> Said {
    match engine.fulfil_lines(id, lines) {
        Ok(revised) => left(revised),
        Err(FulfilLinesError::TooMuch { sku, open, .. }) => Said::TooMuch(sku.into(), open),
        Err(FulfilLinesError::InvalidState { actual }) => Said::InvalidState(actual),
        Err(FulfilLinesError::UnknownOrder) => Said::Unknown,
        Err(FulfilLinesError::UnknownSku(unknown)) => Said::UnknownSku(unknown.sku.into()),
        Err(FulfilLinesError::Invalid(_)) => Said::Invalid,
        Err(FulfilLinesError::Expired) => Said::Expired,
        Err(other) => panic!("fulfil_lines: {other:?}"),
    }
}

/// `amend` in the words of the cases.
pub fn amend(engine: &Stockade, id: &str, lines: &[(&str, u32)]) -> Said {
    match engine.amend(id, lines) {
        Ok(revised) => left(revised),
        Err(AmendError::TooFew { sku, settled, .. }) => Said::TooFew(sku.into(), settled),
        Err(AmendError::Insufficient { short }) => lacking(&short),
        Err(AmendError::InvalidState { actual }) => Said::InvalidState(actual),
        Err(AmendError::UnknownOrder) => Said::Unknown,
        Err(AmendError::UnknownSku(unknown)) => Said::UnknownSku(unknown.sku.into()),
        Err(AmendError::Invalid(_)) => Said::Invalid,
        Err(AmendError::Expired) => Said::Expired,
        Err(other) => panic!("amend: {other:?}"),
    }
}

/// An order ends when nothing of it is open, and only then.
fn left(revised: Revised) -> Said {
    match revised.closed {
        Some(state) => {
            assert_eq!(revised.open, 0);
            Said::Ended(state)
        }
        None => {
            assert_ne!(revised.open, 0);
            Said::Left(revised.open)
        }
    }
}

/// "TooMuch" of this SKU.
pub fn too_much(sku: &str, open: u32) -> Said {
    Said::TooMuch(sku.into(), open)
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

/// Two different things at the same moment.
pub fn both<A: Send, B: Send>(first: impl FnOnce() -> A + Send, second: impl FnOnce() -> B + Send) -> (A, B) {
    let (first, second) = (Mutex::new(Some(first)), Mutex::new(Some(second)));
    let mut answers = together(2, |i| match i {
        0 => (first.lock().unwrap().take().map(|act| act()), None),
        _ => (None, second.lock().unwrap().take().map(|act| act())),
    });
    let (_, b) = answers.pop().unwrap();
    let (a, _) = answers.pop().unwrap();
    (a.unwrap(), b.unwrap())
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
