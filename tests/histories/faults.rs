//! Faulty engines: the sequential engine behind a lock, with one fault of the kind that shops have. Most of them are
//! races: the engine looks, lets go of the lock, and acts on what it saw. Without a fault it must pass, with one it
//! must be caught.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard};

use stockade::State;

use super::answer::{forgot, kind};
use super::dice::Dice;
use super::op::{Lines, Name, Op};
use super::record::{Caller, Clock, Engine};
use super::sequential::{Row, Sequential};
use super::spec;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    None,
    /// A reserve looks at the stock, and later takes it without another look.
    Oversell,
    /// An order of several lines takes its rows one by one and gives them back if one is short: meanwhile others are
    /// refused.
    FalseRefusal,
    /// A cancel looks at the order, and later gives back what it saw it hold, also if another cancel has done so.
    DoubleRelease,
    /// A reserve looks whether the id is known, and later takes stock for it, also if a duplicate has done so.
    DuplicateWithTwoEffects,
    /// A reader of a row is told what the one before it should have been told.
    StaleRead,
    /// An order of several lines takes its first row a moment before the rest.
    HalfVisibleOrder,
    /// An amend tests all that the order is to have against the stock, and not what it is to have more.
    AmendAgainstItself,
    /// A part cancel looks at the lines, and later writes down what that leaves of them: what another has cancelled in
    /// between is open again, though it has been given back.
    PartCancelledTwice,
    /// Of a line of which one unit is fulfilled, all that is open leaves.
    FulfilEatsTheHold,
    /// A request looks whether its key is known, and later is carried out, also if the same has been meanwhile.
    KeyCarriedOutTwice,
    /// A request that comes again is answered with what there is now, and not with what it was answered first.
    ReplayOfThePresent,
    /// An order is forgotten that holds units, and they with it.
    ForgottenWhileItHolds,
}

impl Fault {
    pub const ALL: [Fault; 12] = [
        Fault::Oversell,
        Fault::FalseRefusal,
        Fault::DoubleRelease,
        Fault::DuplicateWithTwoEffects,
        Fault::StaleRead,
        Fault::HalfVisibleOrder,
        Fault::AmendAgainstItself,
        Fault::PartCancelledTwice,
        Fault::FulfilEatsTheHold,
        Fault::KeyCarriedOutTwice,
        Fault::ReplayOfThePresent,
        Fault::ForgottenWhileItHolds,
    ];
}

pub struct Faulty {
    fault: Fault,
    plain: Mutex<Sequential>,
    /// Units that orders have taken out, and may give back.
    in_flight: Mutex<BTreeMap<Name, u64>>,
    /// What the last reader of a row should have been told.
    last_read: Mutex<BTreeMap<Name, String>>,
}

impl Engine for Faulty {
    fn caller<'a>(&'a self, clock: &'a Clock, mut dice: Dice) -> Caller<'a> {
        Box::new(move |op| clock.time(|| self.take(op, &mut || (0..3).for_each(|_| dice.pause(16))), |answer| answer))
    }
}

impl Faulty {
    pub fn new(fault: Fault, keep_ms: Option<u64>) -> Self {
        let (plain, in_flight, last_read) =
            (Mutex::new(spec::engine(&[], keep_ms)), Mutex::default(), Mutex::default());
        Faulty { fault, plain, in_flight, last_read }
    }

    fn plain(&self) -> MutexGuard<'_, Sequential> {
        self.plain.lock().expect("no thread panics")
    }

    /// What the answer would be now.
    fn look(&self, op: &Op) -> String {
        spec::take(&mut self.plain().clone(), op)
    }

    fn take(&self, op: &Op, window: &mut dyn FnMut()) -> String {
        match (self.fault, op) {
            (Fault::Oversell, Op::Reserve(_, lines) | Op::Hold(_, lines)) => self.oversell(op, lines, window),
            (Fault::FalseRefusal, Op::Reserve(_, lines) | Op::Hold(_, lines)) => self.one_by_one(op, lines, window),
            (Fault::DoubleRelease, Op::Cancel(id)) => self.cancel(op, id, window),
            (Fault::DuplicateWithTwoEffects, Op::Reserve(id, _) | Op::Hold(id, _)) => self.duplicate(op, id, window),
            (Fault::StaleRead, Op::Stock(sku)) => {
                let now = self.look(op);
                self.last_read.lock().expect("no thread panics").insert(sku, now.clone()).unwrap_or(now)
            }
            (Fault::HalfVisibleOrder, Op::Reserve(_, lines)) => self.in_halves(op, lines, window),
            (Fault::AmendAgainstItself, Op::Amend(_, lines)) => self.amend(op, lines),
            (Fault::PartCancelledTwice, Op::CancelLines(id, _)) => self.cancel_part(op, id, window),
            (Fault::FulfilEatsTheHold, Op::FulfilLines(id, lines)) => self.fulfil_part(op, id, lines),
            (Fault::KeyCarriedOutTwice, Op::Keyed(_, again)) => self.carry_out_again(op, again, window),
            (Fault::ReplayOfThePresent, Op::Keyed(_, again)) => self.replay(op, again),
            (Fault::ForgottenWhileItHolds, Op::Forget) => self.forget(),
            _ => spec::take(&mut self.plain(), op),
        }
    }

    fn carry_out_again(&self, op: &Op, again: &Op, window: &mut dyn FnMut()) -> String {
        let is_new = kind(&self.look(op)) == "New";
        window();
        let mut plain = self.plain();
        let answer = spec::take(&mut plain, op);
        if !is_new || kind(&answer) != "Replayed" {
            return answer;
        }
        let once_more = spec::take(&mut plain, again);
        if once_more.starts_with("Err") { once_more } else { format!("New {once_more}") }
    }

    fn replay(&self, op: &Op, again: &Op) -> String {
        let mut plain = self.plain();
        let answer = spec::take(&mut plain, op);
        match again {
            Op::Restock(sku, _) | Op::WriteOff(sku, _) | Op::SetAvailable(sku, ..) if kind(&answer) == "Replayed" => {
                format!("Replayed {:?}", row(&mut plain, sku).stock)
            }
            _ => answer,
        }
    }

    fn forget(&self) -> String {
        let mut plain = self.plain();
        let forgotten = plain.forget_finished().len();
        let orders = plain.orders.len();
        plain.orders.retain(|_, order| !order.state.holds());
        forgot(forgotten + orders - plain.orders.len())
    }

    fn amend(&self, op: &Op, lines: &Lines) -> String {
        let mut plain = self.plain();
        let allowed = kind(&spec::take(&mut plain.clone(), op)) == "Left";
        let whole = spec::take(&mut plain.clone(), &Op::Reserve("another", lines.clone()));
        if allowed && kind(&whole) == "Err Insufficient" { whole } else { spec::take(&mut plain, op) }
    }

    fn cancel_part(&self, op: &Op, id: Name, window: &mut dyn FnMut()) -> String {
        let before = self.plain().orders.get(id).cloned();
        window();
        let mut plain = self.plain();
        let now = plain.orders.get(id).cloned();
        if let (Some(before), Some(now)) = (before, now)
            && before.state.holds()
            && before.state == now.state
        {
            for (row, was) in &before.lines {
                let (was, is) = (*was, now.lines.get(row).copied().unwrap_or_default());
                let again = (was.open + was.fulfilled).saturating_sub(is.open + is.fulfilled);
                plain.rows[*row].received += u64::from(again);
            }
            plain.orders.get_mut(id).expect("a known order").lines = before.lines;
        }
        spec::take(&mut plain, op)
    }

    fn fulfil_part(&self, op: &Op, id: Name, lines: &Lines) -> String {
        let mut plain = self.plain();
        let answer = spec::take(&mut plain.clone(), op);
        if kind(&answer) != "Left" {
            return spec::take(&mut plain, op);
        }
        let open = |sku: &Name| {
            let row = plain.rows.iter().position(|row| row.name == *sku)?;
            Some((*sku, plain.orders.get(id)?.lines.get(&row)?.open))
        };
        let all = lines.iter().map(|line| line.0).collect::<BTreeSet<_>>();
        let all = Op::FulfilLines(id, all.iter().filter_map(open).collect());
        spec::take(&mut plain, &all);
        answer
    }

    fn oversell(&self, op: &Op, lines: &Lines, window: &mut dyn FnMut()) -> String {
        let enough = kind(&self.look(op)) == "New";
        window();
        let mut plain = self.plain();
        if enough && kind(&spec::take(&mut plain.clone(), op)) == "Err Insufficient" {
            for (sku, _) in lines {
                let wanted = lines.iter().filter(|line| line.0 == *sku).map(|line| u64::from(line.1)).sum();
                let missing = u64::saturating_sub(wanted, row(&mut plain, sku).stock.available);
                put(&mut plain, sku, missing);
            }
        }
        spec::take(&mut plain, op)
    }

    fn one_by_one(&self, op: &Op, lines: &Lines, window: &mut dyn FnMut()) -> String {
        let in_flight = || self.in_flight.lock().expect("no thread panics");
        let several = lines.iter().any(|line| line.0 != lines[0].0);
        let taken = several && self.plain().rows.iter().any(|row| row.name == lines[0].0);
        if taken {
            *in_flight().entry(lines[0].0).or_default() += 1;
            window();
            *in_flight().entry(lines[0].0).or_default() -= 1;
        }
        let mut plain = self.plain();
        let mut left = plain.clone();
        for (sku, units) in &*in_flight() {
            let row = row(&mut left, sku);
            row.stock.available = row.stock.available.saturating_sub(*units);
        }
        let answer = spec::take(&mut left, op);
        if kind(&answer) == "Err Insufficient" { answer } else { spec::take(&mut plain, op) }
    }

    fn cancel(&self, op: &Op, id: Name, window: &mut dyn FnMut()) -> String {
        let before = self.plain().orders.get(id).cloned();
        window();
        let mut plain = self.plain();
        let now = plain.orders.get(id).map(|order| order.state);
        if let (Some(held), Some(State::Cancelled)) = (before.filter(|order| order.state.holds()), now) {
            let order = plain.orders.get_mut(id).expect("a known order");
            (order.state, order.lines) = (held.state, held.lines.clone());
            for (row, part) in held.lines {
                plain.rows[row].received += u64::from(part.open);
            }
        }
        spec::take(&mut plain, op)
    }

    fn duplicate(&self, op: &Op, id: Name, window: &mut dyn FnMut()) -> String {
        let unknown = !self.plain().orders.contains_key(id);
        window();
        let mut plain = self.plain();
        match plain.orders.get_mut(id) {
            Some(order) if unknown && order.state == State::InventoryReserved => {
                (order.state, order.version) = (State::Created, 0);
            }
            _ => {}
        }
        spec::take(&mut plain, op)
    }

    fn in_halves(&self, op: &Op, lines: &Lines, window: &mut dyn FnMut()) -> String {
        let several = lines.iter().any(|line| line.0 != lines[0].0);
        let (first, units) = lines.first().map_or(("", 0), |line| (line.0, u64::from(line.1)));
        let taken = several && kind(&self.look(op)) == "New" && {
            let mut plain = self.plain();
            let row = row(&mut plain, first);
            let enough = row.stock.available >= units;
            if enough {
                row.stock.available -= units;
                row.received -= units;
            }
            enough
        };
        if taken {
            window();
            put(&mut self.plain(), first, units);
        }
        spec::take(&mut self.plain(), op)
    }
}

fn row(plain: &mut Sequential, sku: Name) -> &mut Row {
    plain.rows.iter_mut().find(|row| row.name == sku).expect("a row that is there")
}

/// Units out of nowhere.
fn put(plain: &mut Sequential, sku: Name, units: u64) {
    let row = row(plain, sku);
    row.stock.available += units;
    row.received += units;
}
