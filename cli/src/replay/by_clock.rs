//! The books of the callers by the clock, for a sale that goes in step: of each instant it is known which holds were
//! dead, whatever the engine says.
//!
//! Such a sale has one SKU, orders of one unit, and nobody cancels or returns anything. So within an instant units
//! come back only by changes in part. If a unit is left when the instant is over, without those that came back in it,
//! then it was there all the while, and whoever was told in this instant that there is none was told wrong. Here a
//! hold gives its units back at its deadline, whoever noticed, and whenever.

use std::collections::VecDeque;

use super::changes::Changed;
use super::drive::{Entry, Told};
use super::sale::{Change, Sale, Timetable};

/// What the answers look like by the clock.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct ByClock {
    /// Orders, amends and late payments that were refused while a unit was free, or held by a dead hold.
    pub refused_while_free: u64,
    /// Units that were promised at some instant beyond those that were there.
    pub promised_twice: u64,
}

impl ByClock {
    /// Judges the answers, sorted by the position of their arrival, of a sale that begins with so many units.
    pub fn new(sale: &Sale, timetable: &Timetable, units: u64, log: &[Entry]) -> Self {
        let mut judged = ByClock::default();
        let mut books = Books::new(&sale.changes, timetable.hold_ms, units);
        let time = |entry: &Entry| timetable.times.get(entry.position).copied();
        for instant in log.chunk_by(|one, next| time(one) == time(next)) {
            // What was told after the last arrival has no time.
            let Some(now_ms) = instant.first().and_then(time) else {
                break;
            };
            books.let_go(now_ms);
            instant.iter().for_each(|entry| books.take(entry, now_ms));
            judged.refused_while_free += instant.iter().filter(|entry| books.could_have(entry)).count() as u64;
            judged.promised_twice = judged.promised_twice.max(u64::try_from(-books.free).unwrap_or(0));
        }
        judged
    }
}

struct Books<'a> {
    changes: &'a [Change],
    hold_ms: u64,
    /// Units that nobody has. Below 0 only if the engine is wrong.
    free: i128,
    /// Of those: what changes have given back in this instant.
    given_back: i128,
    /// Deadline and number of every order that was told yes, until its deadline comes: they end in the order they
    /// began.
    holds: VecDeque<(u64, usize)>,
    /// By order.
    has: Vec<Has>,
}

/// What an order has. Within an instant its answers may stand in any order, so each only adds to it.
#[derive(Clone, Copy, Default)]
struct Has {
    units: i128,
    /// Units it had at its deadline, which came before its payment.
    expired: i128,
    paid: bool,
}

impl<'a> Books<'a> {
    fn new(changes: &'a [Change], hold_ms: u64, units: u64) -> Self {
        let (holds, has) = (VecDeque::new(), Vec::new());
        Books { changes, hold_ms, free: units.into(), given_back: 0, holds, has }
    }

    /// Begins an instant: ends the holds whose deadline has come.
    fn let_go(&mut self, now_ms: u64) {
        self.given_back = 0;
        while self.holds.front().is_some_and(|&(deadline, _)| deadline <= now_ms)
            && let Some((_, number)) = self.holds.pop_front()
        {
            let has = self.of(number);
            if !has.paid {
                has.expired = std::mem::take(&mut has.units);
                self.free += has.expired;
            }
        }
    }

    fn take(&mut self, entry: &Entry, now_ms: u64) {
        match entry.told {
            Told::New => {
                self.add(entry.number, 1);
                self.holds.push_back((now_ms + self.hold_ms, entry.number));
            }
            Told::PaidInTime | Told::PaidAgain => {
                let has = self.of(entry.number);
                has.paid = true;
                let again = std::mem::take(&mut has.expired);
                self.add(entry.number, again);
            }
            Told::Changed(told) => self.change(&self.changes[entry.number], told),
            _ => {}
        }
    }

    fn change(&mut self, change: &Change, told: Changed) {
        let units = i128::from(change.units());
        match told {
            Changed::Raised => self.add(change.order, units),
            Changed::Lowered | Changed::Lost | Changed::Ended => {
                self.add(change.order, -units);
                self.given_back += units;
            }
            _ => {}
        }
    }

    fn add(&mut self, number: usize, units: i128) {
        self.of(number).units += units;
        self.free -= units;
    }

    /// Whether this was a refusal in an instant, now over, in which the units were there all the while.
    fn could_have(&mut self, entry: &Entry) -> bool {
        let wanted = match entry.told {
            Told::Refused | Told::Changed(Changed::Refused) => 1,
            Told::PaidLost => self.of(entry.number).expired.max(1),
            _ => return false,
        };
        self.free - self.given_back >= wanted
    }

    fn of(&mut self, number: usize) -> &mut Has {
        self.has.resize(self.has.len().max(number + 1), Has::default());
        &mut self.has[number]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replay::sale::Does;

    /// Judges answers with their times, for holds of 10 ms. A change is of one unit of the order with its own number.
    fn judge(units: u64, told: &[(u64, usize, Told)]) -> ByClock {
        let times = told.iter().map(|&(time, ..)| time).collect();
        let timetable = Timetable { hold_ms: 10, times, in_step: true };
        let entry = |(position, &(_, number, told)): (usize, &(u64, usize, Told))| Entry { position, number, told };
        let mut log: Vec<_> = told.iter().enumerate().map(entry).collect();
        log.push(Entry { position: told.len(), number: 0, told: Told::Expired });
        let change = |order| Change { order, does: Does::Lose, lines: vec![(0, 1)] };
        let sale = Sale { changes: (0..4).map(change).collect(), ..Sale::default() };
        ByClock::new(&sale, &timetable, units, &log)
    }

    fn wrong(refused_while_free: u64, promised_twice: u64) -> ByClock {
        ByClock { refused_while_free, promised_twice }
    }

    #[test]
    fn a_live_hold_is_a_reason_to_refuse_and_a_dead_one_is_not() {
        assert_eq!(judge(1, &[(0, 0, Told::New), (9, 1, Told::Refused)]), wrong(0, 0));
        assert_eq!(judge(1, &[(0, 0, Told::New), (10, 1, Told::Refused)]), wrong(1, 0));
        assert_eq!(judge(1, &[(0, 0, Told::New), (9, 0, Told::PaidInTime), (10, 1, Told::Refused)]), wrong(0, 0));
        assert_eq!(judge(1, &[(0, 0, Told::Refused)]), wrong(1, 0));
    }

    #[test]
    fn within_an_instant_a_refusal_may_come_before_the_yes_that_is_its_reason() {
        let told = [(0, 0, Told::New), (10, 1, Told::Refused), (10, 2, Told::New), (10, 3, Told::Refused)];
        assert_eq!(judge(1, &told), wrong(0, 0));
        assert_eq!(judge(2, &told), wrong(2, 0));
    }

    #[test]
    fn a_late_payment_takes_a_unit_or_is_lost_for_a_reason() {
        let late = |other, mine| judge(1, &[(0, 0, Told::New), (10, 1, other), (11, 0, mine)]);
        assert_eq!(late(Told::New, Told::PaidLost), wrong(0, 0));
        assert_eq!(late(Told::New, Told::PaidAgain), wrong(0, 1));
        assert_eq!(late(Told::New, Told::PaidInTime), wrong(0, 1), "the hold was dead");
        assert_eq!(judge(1, &[(0, 0, Told::New), (11, 0, Told::PaidAgain)]), wrong(0, 0));
        assert_eq!(judge(1, &[(0, 0, Told::New), (11, 0, Told::PaidLost)]), wrong(1, 0));
        let paid_for_good = [(0, 0, Told::New), (11, 0, Told::PaidAgain), (30, 1, Told::New)];
        assert_eq!(judge(1, &paid_for_good), wrong(0, 1));
    }

    /// The books of the end would not show it.
    #[test]
    fn units_that_were_promised_twice_for_a_while_are_seen() {
        assert_eq!(judge(1, &[(0, 0, Told::New), (1, 1, Told::New), (30, 2, Told::New)]), wrong(0, 1));
    }

    const fn told(told: Changed) -> Told {
        Told::Changed(told)
    }

    #[test]
    fn what_a_change_gives_back_is_there_for_the_next() {
        for gives in [Changed::Lost, Changed::Ended, Changed::Lowered] {
            let next = |time, answer| judge(1, &[(0, 0, Told::New), (5, 0, told(gives)), (time, 1, answer)]);
            assert_eq!(next(6, Told::New), wrong(0, 0));
            assert_eq!(next(6, Told::Refused), wrong(1, 0));
            assert_eq!(next(5, Told::New), wrong(0, 0));
            assert_eq!(next(5, Told::Refused), wrong(0, 0), "it may have come before");
        }
    }

    #[test]
    fn an_amend_to_a_unit_more_takes_it_or_is_refused_for_a_reason() {
        let more = |units, answer| judge(units, &[(0, 0, Told::New), (5, 0, told(answer))]);
        assert_eq!([more(2, Changed::Raised), more(1, Changed::Raised)], [wrong(0, 0), wrong(0, 1)]);
        assert_eq!([more(2, Changed::Refused), more(1, Changed::Refused)], [wrong(1, 0), wrong(0, 0)]);
    }

    #[test]
    fn a_hold_that_was_changed_ends_with_the_units_it_has_then() {
        let raised = [(0, 0, Told::New), (5, 0, told(Changed::Raised))];
        let judge = |units, more: &[_]| judge(units, &[&raised[..], more].concat());
        assert_eq!(judge(2, &[(10, 1, Told::New), (10, 2, Told::New)]), wrong(0, 0));
        assert_eq!(judge(2, &[(10, 1, Told::New), (11, 2, Told::Refused)]), wrong(1, 0));
        assert_eq!(judge(2, &[(10, 1, Told::New), (11, 0, Told::PaidLost)]), wrong(0, 0), "it is one unit short");
        assert_eq!(judge(2, &[(11, 0, Told::PaidLost)]), wrong(1, 0));
        assert_eq!(judge(2, &[(10, 1, Told::New), (11, 0, Told::PaidAgain)]), wrong(0, 1));
        assert_eq!(judge(2, &[(5, 0, Told::PaidInTime), (11, 1, Told::Refused)]), wrong(0, 0));
    }

    #[test]
    fn what_was_shipped_stays_away() {
        let shipped = [(0, 0, Told::New), (1, 0, Told::PaidInTime), (2, 0, told(Changed::Fulfilled))];
        assert_eq!(judge(1, &[&shipped[..], &[(11, 1, Told::Refused)]].concat()), wrong(0, 0));
        assert_eq!(judge(1, &[&shipped[..], &[(11, 1, Told::New)]].concat()), wrong(0, 1));
    }
}
