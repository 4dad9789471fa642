//! One caller of a real engine: makes the calls, and writes down the answers.
//!
//! Compiled twice, over the crate that users get (`real.rs`) and over its twin with hooks (`hooked.rs`); their types
//! have the same names and are not the same types. The text of an answer is made after the return is stamped.

use std::fmt::Debug;
use std::sync::Arc;

use super::super::answer::{forgot, left, once, released, say, seen, told};
use super::super::dice::Dice;
use super::super::op::{Name, Op};
use super::super::record::{Caller, Clock, Engine, Told};
use super::engine::{
    Builder, Cancelled, Hold, Keep, KeyedError, Line, ManualClock, Once, Order, RequestKey, Revised, Sku, State, Stock,
    Stockade,
};

/// An engine and the clock that it goes by.
pub struct Shop {
    pub engine: Stockade,
    time: Arc<ManualClock>,
}

impl Shop {
    pub fn new(keep_ms: Option<u64>) -> Self {
        let time = Arc::new(ManualClock::default());
        let engine = Stockade::builder().clock(Arc::clone(&time));
        let engine = keep_ms.map(Keep::ForMs).into_iter().fold(engine, Builder::keep_finished);
        Shop { engine: engine.build().expect("no room was asked for"), time }
    }
}

impl Engine for Shop {
    fn caller<'a>(&'a self, clock: &'a Clock, _: Dice) -> Caller<'a> {
        let mut holds = Vec::new();
        Box::new(move |op| match op {
            Op::Wait(ms) => clock.time(|| self.time.advance_ms(*ms), |()| String::new()),
            _ => take(&self.engine, clock, &mut holds, op),
        })
    }

    fn counts(&self) -> Option<String> {
        let stats = self.engine.stats();
        let wrong = self.engine.audit().mismatches;
        Some(format!("{:?} {:?} replays {} out of balance {wrong:?}", stats.refusals, stats.orders, stats.replays))
    }

    fn meetings(&self) -> u64 {
        let stats = self.engine.stats();
        stats.helped + stats.lost_cas
    }
}

/// One call. Of the holds the caller has open, the last is the first to be closed.
fn take<'a>(engine: &'a Stockade, clock: &Clock, holds: &mut Vec<Hold<'a>>, op: &Op) -> Told {
    match op {
        Op::AddSku(sku, units) => clock.time(|| engine.add_sku(sku, *units), |added| say(added.map(|_| ()))),
        Op::Stock(sku) => clock.time(|| engine.stock(sku), say),
        Op::Restock(sku, units) => clock.time(|| engine.restock(sku, *units), say),
        Op::WriteOff(sku, units) => clock.time(|| engine.write_off(sku, *units), say),
        Op::SetAvailable(sku, version, units) => clock.time(|| engine.set_available(sku, *version, *units), say),
        Op::Create(id, lines) => clock.time(|| engine.create(id, lines), say),
        Op::Reserve(id, lines) => clock.time(|| engine.reserve(id, lines), say),
        Op::ReserveFor(id, lines, ttl_ms) => clock.time(|| engine.reserve_for(id, lines, *ttl_ms), say),
        Op::Extend(id, ttl_ms) => clock.time(|| engine.extend(id, *ttl_ms), say),
        Op::Hold(id, lines) => clock.time(
            || engine.hold(id, lines),
            |hold| {
                let reserved = hold.map(|hold| {
                    let reserved = hold.reserved();
                    holds.push(hold);
                    reserved
                });
                say(reserved)
            },
        ),
        Op::Keep(..) => {
            let hold = holds.pop().expect("an open hold");
            clock.time(|| hold.keep(), say)
        }
        Op::Drop(_) | Op::DropReplayed(_) => {
            let hold = holds.pop().expect("an open hold");
            clock.time(|| drop(hold), |()| "dropped".to_string())
        }
        Op::Cancel(id) => clock.time(|| engine.cancel(id), |gone| told(gone.map(|gone| cancelled(engine, gone)))),
        Op::Void(id) => clock.time(|| engine.void(id), |gone| told(gone.map(|gone| cancelled(engine, gone)))),
        Op::Pay(id) => clock.time(|| engine.pay(id), say),
        Op::PayOrReserveAgain(id) => clock.time(|| engine.pay_or_reserve_again(id), say),
        Op::Fulfil(id) => clock.time(|| engine.fulfil(id), say),
        Op::Transition(id, from, to) => {
            let (from, to) = (State::ALL[*from as usize], State::ALL[*to as usize]);
            clock.time(|| engine.transition(id, from, to), say)
        }
        Op::CancelLines(id, lines) => clock.time(|| engine.cancel_lines(id, lines), |done| told(done.map(revised))),
        Op::FulfilLines(id, lines) => clock.time(|| engine.fulfil_lines(id, lines), |done| told(done.map(revised))),
        Op::Amend(id, lines) => clock.time(|| engine.amend(id, lines), |done| told(done.map(revised))),
        Op::Keyed(key, op) => keyed(engine, clock, key, op),
        Op::Forget => clock.time(|| engine.forget_finished(usize::MAX), forgot),
        Op::Wait(_) => unreachable!("nothing is asked of the engine"),
        Op::Crowd(from, to) => clock.time(|| (*from..*to).for_each(|number| crowd(engine, number)), |()| String::new()),
        Op::Order(id) => clock.time(|| engine.order(id), |order| view(engine, id, order)),
    }
}

/// The same key for everybody: all were issued at once.
fn keyed(engine: &Stockade, clock: &Clock, key: Name, op: &Op) -> Told {
    let keyed = engine.keyed(RequestKey { id: key, issued: 1 });
    let stock = |stock: Stock| format!("{stock:?}");
    match op {
        Op::Restock(sku, units) => clock.time(|| keyed.restock(sku, *units), |done| first(done, stock)),
        Op::WriteOff(sku, units) => clock.time(|| keyed.write_off(sku, *units), |done| first(done, stock)),
        Op::SetAvailable(sku, version, units) => {
            clock.time(|| keyed.set_available(sku, *version, *units), |done| first(done, stock))
        }
        Op::CancelLines(id, lines) => clock.time(|| keyed.cancel_lines(id, lines), |done| first(done, revised)),
        Op::FulfilLines(id, lines) => clock.time(|| keyed.fulfil_lines(id, lines), |done| first(done, revised)),
        Op::Amend(id, lines) => clock.time(|| keyed.amend(id, lines), |done| first(done, revised)),
        other => unreachable!("it cannot have a key: {other}"),
    }
}

fn first<T, E: Debug>(answer: Result<Once<T>, KeyedError<E>>, first: impl Fn(T) -> String) -> String {
    match answer {
        Ok(Once::New(it)) => once(true, it, first),
        Ok(Once::Replayed(it)) => once(false, it, first),
        Err(KeyedError::Refused(refusal)) => told(Err(refusal)),
        Err(key) => told(Err(key)),
    }
}

fn crowd(engine: &Stockade, number: u64) {
    let _ = engine.create(&format!("crowd {number}"), &[("A", 1)]).expect("a new order");
}

fn cancelled(engine: &Stockade, gone: Cancelled) -> String {
    match gone {
        Cancelled::Released { from, lines } => released(from, &named(engine, &lines)),
        other => format!("{other:?}"),
    }
}

fn view(engine: &Stockade, id: &str, order: Option<Order>) -> String {
    let Some(order) = order else { return "no order".to_string() };
    if order.id != id {
        return format!("order {:?}", order.id);
    }
    let line = order.lines.iter().map(|it| (name(engine, it.sku), [it.ordered, it.open, it.fulfilled, it.cancelled]));
    seen(order.state, order.version, &line.collect::<Vec<_>>(), order.cancelled, order.deadline_ms)
}

fn revised(revised: Revised) -> String {
    left(revised.open, revised.closed)
}

fn named(engine: &Stockade, lines: &[Line]) -> Vec<(String, u32)> {
    lines.iter().map(|line| (name(engine, line.sku), line.quantity)).collect()
}

fn name(engine: &Stockade, sku: Sku) -> String {
    engine.sku_name(sku).expect("a row of this engine").into()
}
