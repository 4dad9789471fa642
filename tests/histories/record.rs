//! The recorder: runs a plan on an engine, with real threads, and writes down every call with the instants between
//! which it ran.
//!
//! **Why the stamps are sound.** All come from one counter, by a read-modify-write that acquires and releases. A call
//! is stamped before it is made and after it has returned. Let one call have returned at a smaller stamp than another
//! was made at. Then the one's last stamp comes before the other's first in the counter's modification order, and
//! between the two there are only read-modify-writes: so they synchronize, and everything the one did happens before
//! everything the other does. An engine that answers in another order is wrong under any reading of the memory model.
//! In the other direction nothing is claimed: calls whose stamps overlap may have run one after the other, and the
//! checker is free to put them in either order, so it may miss something and never accuses falsely. A clock would
//! disturb the threads less, but two cores' readings of it prove nothing about who saw what.
//!
//! The price: threads synchronize between their calls, also where users' would not. Weak orderings inside the calls are
//! the business of the models (`loom-tests`).

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread;

use super::answer::{field, kind};
use super::dice::Dice;
use super::history::{Event, History};
use super::op::{Name, Op};
use super::plan::{Plan, Step};

/// Something that answers calls from many threads.
pub trait Engine: Sync {
    /// Makes the calls of one thread.
    fn caller<'a>(&'a self, clock: &'a Clock, dice: Dice) -> Caller<'a>;

    /// What it has counted itself, if it counts.
    fn counts(&self) -> Option<String> {
        None
    }

    /// How often one thread ran into another's work.
    fn meetings(&self) -> u64 {
        0
    }
}

pub type Caller<'a> = Box<dyn FnMut(&Op) -> Told + 'a>;

/// An answer, and between which instants it was found.
pub struct Told {
    pub call: u64,
    pub ret: u64,
    pub answer: String,
}

/// Gives out the stamps.
#[derive(Default)]
pub struct Clock(AtomicU64);

impl Clock {
    pub fn time<T>(&self, verb: impl FnOnce() -> T, tell: impl FnOnce(T) -> String) -> Told {
        let call = self.stamp();
        let answer = verb();
        let ret = self.stamp();
        Told { call, ret, answer: tell(answer) }
    }

    fn stamp(&self) -> u64 {
        self.0.fetch_add(1, Ordering::AcqRel)
    }
}

/// One history at a time: tests that record at once would take each other's cores, and calls would not overlap.
static ALONE: Mutex<()> = Mutex::new(());

/// Runs the plan. At the end every row and every order is read, so that what the engine is left with must fit too.
pub fn record(engine: &impl Engine, plan: &Plan, seed: u64) -> History {
    let _alone = ALONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let clock = Clock::default();
    let mut first = engine.caller(&clock, Dice::new(seed, 1));
    for (sku, units) in &plan.rows {
        first(&Op::AddSku(sku, *units));
    }
    clock.0.store(0, Ordering::Release);
    let alone = |steps: &[Step]| {
        let caller = engine.caller(&clock, Dice::new(seed, 1));
        one_thread(plan.threads.len(), steps, caller, &Meeting::of(1), Dice::new(seed, 1))
    };
    let mut events = alone(&plan.before);

    events.extend(all_at_once(engine, plan, &clock, seed));
    let last = plan.rows.iter().map(|(sku, _)| Op::Stock(sku)).chain(plan.ids.iter().map(|id| Op::Order(id)));
    events.extend(alone(&last.map(Step::Do).collect::<Vec<_>>()));
    events.sort_by_key(|event| event.call);
    History { rows: plan.rows.clone(), keep_ms: plan.keep_ms, events }
}

fn all_at_once(engine: &impl Engine, plan: &Plan, clock: &Clock, seed: u64) -> Vec<Event> {
    let meeting = &Meeting::of(plan.threads.len());
    thread::scope(|scope| {
        let threads = plan.threads.iter().enumerate().map(|(number, steps)| {
            scope.spawn(move || {
                let dice = Dice::new(seed, 2 + number as u64);
                one_thread(number, steps, engine.caller(clock, dice.clone()), meeting, dice)
            })
        });
        let threads: Vec<_> = threads.collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("no thread panics")).collect()
    })
}

fn one_thread(thread: usize, steps: &[Step], mut caller: Caller<'_>, meeting: &Meeting, mut dice: Dice) -> Vec<Event> {
    let mut knows = Knowledge::default();
    let mut events = Vec::with_capacity(steps.len());
    for (round, step) in steps.iter().enumerate() {
        let op = knows.call(step);
        meeting.arrive();
        match (round, dice.roll(4)) {
            (0, _) => meeting.wait(round, usize::MAX),
            (_, 0) => dice.pause(16),
            _ => meeting.wait(round, 40),
        }
        let Some(op) = op else { continue };
        dice.hesitate();
        let Told { call, ret, answer } = caller(&op);
        knows.learn(&op, &answer);
        events.push(Event { thread, call, ret: Some(ret), op, answer });
    }
    meeting.leave();
    events
}

/// Where threads wait for each other before their calls. Without it the first would be through before the last begins:
/// a call takes a microsecond, a thread fifty to wake up.
struct Meeting {
    threads: usize,
    arrived: AtomicUsize,
}

impl Meeting {
    fn of(threads: usize) -> Self {
        Meeting { threads, arrived: AtomicUsize::new(0) }
    }

    fn arrive(&self) {
        self.arrived.fetch_add(1, Ordering::AcqRel);
    }

    /// Who has nothing left to do is not waited for.
    fn leave(&self) {
        self.arrived.fetch_add(1 << 16, Ordering::AcqRel);
    }

    /// Waits until all have come to this round, or for so many turns: there may be fewer cores than threads.
    fn wait(&self, round: usize, turns: usize) {
        let everyone = self.threads * (round + 1);
        for _ in 0..turns {
            for _ in 0..1000 {
                if self.arrived.load(Ordering::Acquire) >= everyone {
                    return;
                }
                std::hint::spin_loop();
            }
            thread::yield_now();
        }
    }
}

/// What a thread has learnt so far and a later step of its plan depends on.
#[derive(Default)]
struct Knowledge {
    versions: BTreeMap<Name, u64>,
    /// Open holds, whether they took the stock, and the number of the order.
    holds: Vec<(Name, bool, Option<u64>)>,
}

impl Knowledge {
    /// The call that a step comes to; `None` if there is no hold to close.
    fn call(&self, step: &Step) -> Option<Op> {
        match step {
            Step::Do(op) => Some(op.clone()),
            Step::SetAvailable(sku, off, units) => {
                Some(Op::SetAvailable(sku, self.versions.get(sku).unwrap_or(&0) + off, *units))
            }
            Step::Close { keep } => self.holds.last().map(|(id, took, number)| match (keep, took) {
                (true, _) => Op::Keep(id, *number),
                (false, true) => Op::Drop(id),
                (false, false) => Op::DropReplayed(id),
            }),
        }
    }

    fn learn(&mut self, op: &Op, answer: &str) {
        match op {
            Op::Stock(sku) | Op::Restock(sku, _) | Op::WriteOff(sku, _) | Op::SetAvailable(sku, ..) => {
                let known = self.versions.get(sku).copied();
                if let Some(version) = field(answer, " version").or(known) {
                    self.versions.insert(sku, version);
                }
            }
            Op::Hold(id, _) if kind(answer) == "New" => self.holds.push((id, true, field(answer, "number"))),
            Op::Hold(id, _) if kind(answer) == "Replayed" => self.holds.push((id, false, field(answer, "number"))),
            Op::Keep(..) | Op::Drop(_) | Op::DropReplayed(_) => _ = self.holds.pop(),
            _ => {}
        }
    }
}
