//! The books of the callers by the clock, for a sale that goes in step: of each instant it is known which holds were dead,
//! whatever the engine says.
//!
//! Such a sale has one SKU, orders of one unit, and nobody cancels or returns anything. So within an instant units only
//! go: if one is left when the instant is over, it was there all the while, and whoever was told in this instant that there
//! is none was told wrong. Here a hold gives its unit back at its deadline, whoever noticed, and whenever.

use std::collections::VecDeque;

use super::drive::{Entry, Told};
use super::sale::Timetable;

/// What the answers look like by the clock.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct ByClock {
    /// Orders and late payments that were refused while a unit was free, or held by a dead hold.
    pub refused_while_free: u64,
    /// Units that were promised at some instant beyond those that were there.
    pub promised_twice: u64,
}

impl ByClock {
    /// Judges the answers, sorted by the position of their arrival, of a sale that begins with so many units.
    pub fn new(timetable: &Timetable, units: u64, log: &[Entry]) -> Self {
        let mut judged = ByClock::default();
        let mut books = Books { free: i128::from(units), hold_ms: timetable.hold_ms, ..Books::default() };
        let time = |entry: &Entry| timetable.times.get(entry.position).copied();
        for instant in log.chunk_by(|one, next| time(one) == time(next)) {
            // What was told after the last arrival has no time.
            let Some(now_ms) = instant.first().and_then(time) else {
                break;
            };
            books.let_go(now_ms);
            instant.iter().for_each(|entry| books.take(entry, now_ms));
            let refused = instant.iter().filter(|entry| matches!(entry.told, Told::Refused | Told::PaidLost)).count();
            if books.free > 0 {
                judged.refused_while_free += refused as u64;
            }
            judged.promised_twice = judged.promised_twice.max(u64::try_from(-books.free).unwrap_or(0));
        }
        judged
    }
}

#[derive(Default)]
struct Books {
    /// Units that nobody has. Below 0 only if the engine is wrong.
    free: i128,
    hold_ms: u64,
    /// Deadline and number of every order that was told yes, until its deadline comes: they end in the order they began.
    holds: VecDeque<(u64, usize)>,
    /// By order.
    has: Vec<Has>,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Has {
    #[default]
    Nothing,
    Hold,
    Paid,
}

impl Books {
    /// Ends the holds whose deadline has come.
    fn let_go(&mut self, now_ms: u64) {
        while self.holds.front().is_some_and(|&(deadline, _)| deadline <= now_ms)
            && let Some((_, number)) = self.holds.pop_front()
        {
            if *self.of(number) == Has::Hold {
                *self.of(number) = Has::Nothing;
                self.free += 1;
            }
        }
    }

    fn take(&mut self, entry: &Entry, now_ms: u64) {
        match entry.told {
            Told::New => {
                self.free -= 1;
                *self.of(entry.number) = Has::Hold;
                self.holds.push_back((now_ms + self.hold_ms, entry.number));
            }
            Told::PaidInTime | Told::PaidAgain => {
                let had = std::mem::replace(self.of(entry.number), Has::Paid);
                self.free -= i128::from(had == Has::Nothing);
            }
            _ => {}
        }
    }

    fn of(&mut self, number: usize) -> &mut Has {
        self.has.resize(self.has.len().max(number + 1), Has::Nothing);
        &mut self.has[number]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Judges answers with their times, for holds of 10 ms.
    fn judge(units: u64, told: &[(u64, usize, Told)]) -> ByClock {
        let times = told.iter().map(|&(time, ..)| time).collect();
        let timetable = Timetable { hold_ms: 10, times, in_step: true };
        let entry = |(position, &(_, number, told)): (usize, &(u64, usize, Told))| Entry { position, number, told };
        let mut log: Vec<_> = told.iter().enumerate().map(entry).collect();
        log.push(Entry { position: told.len(), number: 0, told: Told::Expired });
        ByClock::new(&timetable, units, &log)
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
}
