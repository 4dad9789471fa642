//! What a thread does with its orders, and how it counts the answers.

use std::hint::black_box;
use std::time::Duration;

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

use super::{Plan, Stage, race};
use crate::contender::{Advance, Cancel, Contender, Reserve};

/// What is done with each order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mix {
    /// Reserve.
    Reserve,
    /// Reserve, then cancel.
    Cancel,
    /// Reserve, then pay, then fulfil.
    PayFulfil,
    /// Reserve, and beside it read the row and an order.
    Reads,
}

/// How often each answer was given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Took the units.
    pub new: usize,
    /// Known already.
    pub replayed: usize,
    /// Gave back.
    pub released: usize,
    /// Anything else: no workload has any.
    pub other: usize,
}

impl Tally {
    /// Counts what `reserve` answered.
    #[inline]
    pub fn reserve<Row>(&mut self, answer: &Reserve<Row>) {
        match answer {
            Reserve::New => self.new += 1,
            Reserve::Replayed => self.replayed += 1,
            _ => self.other += 1,
        }
    }

    /// Counts what `cancel` answered.
    #[inline]
    pub fn cancel(&mut self, answer: Cancel) {
        match answer {
            Cancel::Released { .. } => self.released += 1,
            _ => self.other += 1,
        }
    }

    #[inline]
    fn expect(&mut self, is_right: bool) {
        self.other += usize::from(!is_right);
    }

    /// The sum of two.
    #[must_use]
    pub fn plus(self, it: Tally) -> Tally {
        Tally {
            new: self.new + it.new,
            replayed: self.replayed + it.replayed,
            released: self.released + it.released,
            other: self.other + it.other,
        }
    }
}

/// The numbers of the orders that each thread sends, `percent` of them for the second time or more.
pub fn calls(plan: &Plan, threads: usize, percent: u32) -> Vec<Vec<u32>> {
    let share = |number| {
        let mut random = SmallRng::seed_from_u64(number as u64);
        let mut fresh = plan.share(number, threads);
        let (first, calls) = (fresh.start, fresh.len());
        let call = |_| {
            let sent = first..fresh.start;
            if !sent.is_empty() && random.random_ratio(percent, 100) {
                return random.random_range(sent) as u32;
            }
            fresh.next().unwrap_or(first) as u32
        };
        (0..calls).map(call).collect()
    };
    (0..threads).map(share).collect()
}

impl<C: Contender> Stage<'_, C> {
    /// Lets one thread for each of `calls` do `mix` with its orders, checks everything, and says how long they took.
    ///
    /// # Panics
    ///
    /// An answer or a row is not what it must be.
    pub fn contend(&self, mix: Mix, calls: &[Vec<u32>]) -> Duration {
        let (span, tallies) = race(calls.len(), |number| self.work(mix, &calls[number]));
        let tally = tallies.into_iter().fold(Tally::default(), Tally::plus);
        let sent: usize = calls.iter().map(Vec::len).sum();
        let released = if mix == Mix::Cancel { tally.new } else { 0 };
        let right = tally.other == 0 && tally.new + tally.replayed == sent && tally.released == released;
        assert!(right, "{}: {sent} calls of {mix:?} were answered {tally:?}", C::NAME);
        self.verify(tally.new - tally.released);
        span
    }

    fn work(&self, mix: Mix, calls: &[u32]) -> Tally {
        match mix {
            Mix::Reserve => self.each(calls, |_, _, _| {}),
            Mix::Cancel => self.each(calls, |id, _, tally| tally.cancel(black_box(self.engine.cancel(id)))),
            Mix::PayFulfil => self.each(calls, |id, _, tally| {
                tally.expect(black_box(self.engine.pay(id)) == Advance::Done);
                tally.expect(black_box(self.engine.fulfil(id)) == Advance::Done);
            }),
            Mix::Reads => self.each(calls, |id, row, tally| {
                black_box(self.engine.stock(row));
                tally.expect(black_box(self.engine.order(id)).is_some());
            }),
        }
    }

    /// Reserves, and does `more` with each.
    #[inline]
    fn each(&self, calls: &[u32], more: impl Fn(&str, C::Row, &mut Tally)) -> Tally {
        let mut tally = Tally::default();
        for &number in calls {
            let (id, lines) = self.order(number as usize);
            tally.reserve(&black_box(self.engine.reserve(id, lines)));
            more(id, lines[0].0, &mut tally);
        }
        tally
    }
}
