//! The books of the callers: what they were told, counted without asking the engine.
//!
//! # What `told_yes_twice` = 0 proves, and what not
//!
//! Each thread logs the answers it gets, and the log is counted when all is over. An order counts as promised
//! as often as a caller was told "new" for it, and at least once if anybody was told "replayed"; its units
//! count as given back at most once, when a caller was told "released". For each SKU the units promised and not
//! given back must not exceed those that were there at the start or came back in returns, and no order may be
//! "new" twice. A hold that expired counts as given back once the engine has said so, unless its payment was accepted.
//! Of an order that was changed in part its units count as what its customer was told they are now; what has been
//! shipped is never given back.
//! Neither can hold if stock was sold twice *and kept*, whatever the engine's own books say, and
//! however the threads interleaved.
//!
//! The logs have no common clock. Units that were promised twice for a moment, one of the two promises having
//! been cancelled before the end, are therefore not seen here; that needs the history checks of the engine's
//! own tests. Nor is an order seen that was refused although stock was there. Both are seen in a sale by a file's own
//! clock, by `by_clock`.

use serde::Serialize;
use stockade::Audit;

use super::changes::Changed;
use super::drive::{Entry, Told};
use super::part_tally::Parts;
use super::sale::Sale;

/// What callers were told in all.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// "New".
    pub accepted: u64,
    /// "Replayed".
    pub replayed: u64,
    /// "Insufficient".
    pub refused: u64,
    /// "Closed".
    pub closed: u64,
    /// Cancels that gave stock back.
    pub cancelled: u64,
    /// Cancels that found nothing to cancel.
    pub not_cancelled: u64,
    /// What became of holds that end.
    pub holds: Holds,
    /// What became of orders that change in part.
    pub parts: Parts,
    /// Returns that are back in stock.
    pub returned: u64,
    /// Orders that were "new" once more than once.
    pub new_again: u64,
    /// By SKU.
    pub units: Vec<Units>,
}

/// What became of holds that end.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Holds {
    /// Paid for before their deadline.
    pub paid_in_time: u64,
    /// Reached their deadline without a payment.
    pub expired: u64,
    /// Of those: paid for late, and the units were taken again.
    pub paid_late_taken_again: u64,
    /// Of those: paid for late, but the units were gone.
    pub paid_late_lost: u64,
    /// Cancelled before the payment came.
    pub paid_without_effect: u64,
    /// Neither paid for nor at their end when the sale closed.
    pub open: u64,
}

/// Units of one SKU, or of all.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Units {
    /// There at the start.
    pub initial: u64,
    /// Promised and not given back. Below 0 only if the engine is wrong.
    pub sold: i64,
    /// Came back in returns.
    pub returned: u64,
    /// What the engine says is there at the end: the only figure here that is not from the callers.
    pub available: u64,
}

impl Units {
    /// What the callers' books say must be there at the end.
    fn left(&self) -> i128 {
        i128::from(self.initial) + i128::from(self.returned) - i128::from(self.sold)
    }
}

/// What the callers of one order were told.
#[derive(Clone, Copy, Default)]
struct OrderTold {
    new: i64,
    replayed: bool,
    released: bool,
    paid: bool,
    not_paid: bool,
    expired: bool,
}

impl OrderTold {
    fn promised(self) -> i64 {
        self.new.max(self.replayed.into())
    }

    /// A hold that has been paid for does not end, whatever is said about it.
    fn gave_back(self) -> bool {
        self.released || self.expired && !self.paid
    }
}

impl Tally {
    /// Counts the answers, next to what was there at the start and at the end.
    pub fn new(sale: &Sale, initial: &[u64], available: &[u64], log: &[Entry]) -> Self {
        let units = initial.iter().zip(available);
        let units = units.map(|(&initial, &available)| Units { initial, available, ..Units::default() });
        let mut tally = Tally { units: units.collect(), parts: Parts::new(sale, log), ..Tally::default() };
        let mut orders = vec![OrderTold::default(); sale.orders.len()];
        for &Entry { number, told, .. } in log {
            tally.count(sale, &mut orders, number, told);
        }
        for (order, told) in sale.orders.iter().zip(&orders) {
            for &(sku, units) in &order.lines {
                tally.units[sku].sold += (told.promised() - i64::from(told.gave_back())) * i64::from(units);
            }
            tally.new_again += (told.new - 1).max(0).unsigned_abs();
            let promised = told.promised() > 0;
            tally.holds.open += u64::from(promised && !told.paid && !told.gave_back());
            tally.holds.paid_without_effect += u64::from(promised && told.not_paid);
        }
        tally.change(sale, &orders, log);
        tally
    }

    /// Adds what changes in part have made of the units, once it is known which orders have given theirs back.
    fn change(&mut self, sale: &Sale, orders: &[OrderTold], log: &[Entry]) {
        for entry in log {
            let Told::Changed(told) = entry.told else { continue };
            let change = &sale.changes[entry.number];
            for &(sku, units) in &change.lines {
                self.units[sku].sold += told.adds(units, orders[change.order].gave_back());
            }
        }
    }

    fn count(&mut self, sale: &Sale, orders: &mut [OrderTold], number: usize, told: Told) {
        match told {
            Told::New => {
                self.accepted += 1;
                orders[number].new += 1;
            }
            Told::Replayed => {
                self.replayed += 1;
                orders[number].replayed = true;
            }
            Told::Refused => self.refused += 1,
            Told::Closed => self.closed += 1,
            Told::Released => {
                self.cancelled += 1;
                orders[number].released = true;
            }
            Told::NotCancelled => self.not_cancelled += 1,
            Told::PaidInTime => {
                self.holds.paid_in_time += 1;
                orders[number].paid = true;
            }
            Told::PaidAgain => {
                self.holds.expired += 1;
                self.holds.paid_late_taken_again += 1;
                orders[number].paid = true;
            }
            Told::PaidLost => self.holds.paid_late_lost += 1,
            Told::NotPaid => orders[number].not_paid = true,
            Told::Expired => {
                self.holds.expired += 1;
                orders[number].expired = true;
            }
            // As if it had been cancelled whole.
            Told::Changed(Changed::Ended) => orders[sale.changes[number].order].released = true,
            Told::Changed(_) => {}
            Told::Returned => {
                self.returned += 1;
                for &(sku, units) in &sale.returns[number] {
                    self.units[sku].returned += u64::from(units);
                }
            }
        }
    }

    /// Units promised beyond those there were, and orders that were "new" again.
    pub fn told_yes_twice(&self) -> u64 {
        let excess = |units: &Units| u64::try_from(-units.left()).unwrap_or(0);
        self.new_again + self.units.iter().map(excess).sum::<u64>()
    }

    /// Whether the callers' books and the engine's agree to the unit for every SKU, and the engine, now at rest,
    /// finds nothing wrong with itself.
    pub fn conserved(&self, audit: &Audit) -> bool {
        let agree = self.units.iter().all(|units| units.left() == units.available.into());
        agree && audit.is_sound() && audit.in_motion.is_empty() && audit.rows == self.units.len()
    }

    /// Units of all SKUs together.
    pub fn total(&self) -> Units {
        self.units.iter().fold(Units::default(), |sum, units| Units {
            initial: sum.initial + units.initial,
            sold: sum.sold + units.sold,
            returned: sum.returned + units.returned,
            available: sum.available + units.available,
        })
    }

    /// How many times `reserve` was called.
    pub fn reserves(&self) -> u64 {
        self.accepted + self.replayed + self.refused + self.closed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replay::sale::{Change, Does, Order};

    /// Three orders of one unit of SKU 0; the third also wants two of SKU 1. One return of a unit of SKU 0.
    fn sale() -> Sale {
        let order = |id: &str, lines: &[(usize, u32)]| Order { id: id.into(), lines: lines.into() };
        let orders = vec![order("a", &[(0, 1)]), order("b", &[(0, 1)]), order("c", &[(0, 1), (1, 2)])];
        Sale { orders, returns: vec![vec![(0, 1)]], ..Sale::default() }
    }

    fn tally(initial: [u64; 2], available: [u64; 2], told: &[(usize, Told)]) -> Tally {
        let log: Vec<_> = told.iter().map(|&(number, told)| Entry::for_tests(number, told)).collect();
        Tally::new(&sale(), &initial, &available, &log)
    }

    fn told_yes_twice(initial: [u64; 2], told: &[(usize, Told)]) -> u64 {
        tally(initial, [0, 0], told).told_yes_twice()
    }

    fn audit() -> Audit {
        let mut audit = Audit::default();
        audit.rows = 2;
        audit
    }

    #[test]
    fn everything_is_counted() {
        let told = [
            (0, Told::New),
            (0, Told::Replayed),
            (1, Told::Refused),
            (0, Told::Released),
            (0, Told::NotCancelled),
            (0, Told::Closed),
            (0, Told::Returned),
            (2, Told::New),
        ];
        let wanted = Tally {
            accepted: 2,
            replayed: 1,
            refused: 1,
            closed: 1,
            cancelled: 1,
            not_cancelled: 1,
            returned: 1,
            holds: Holds { open: 1, ..Holds::default() },
            parts: Parts::default(),
            new_again: 0,
            units: vec![
                Units { initial: 1, sold: 1, returned: 1, available: 1 },
                Units { initial: 3, sold: 2, returned: 0, available: 1 },
            ],
        };
        let tally = tally([1, 3], [1, 1], &told);
        assert_eq!(tally, wanted);
        assert_eq!(tally.total(), Units { initial: 4, sold: 3, returned: 1, available: 2 });
        assert_eq!((tally.reserves(), tally.told_yes_twice()), (5, 0));
        assert!(tally.conserved(&audit()));
    }

    #[test]
    fn a_unit_promised_twice_is_seen() {
        let twice = [(0, Told::New), (1, Told::New)];
        assert_eq!(told_yes_twice([1, 0], &twice), 1);
        assert_eq!(told_yes_twice([2, 0], &twice), 0);
        assert_eq!(told_yes_twice([3, 0], &[(2, Told::New)]), 2, "two units of the other SKU");
    }

    #[test]
    fn a_return_and_a_cancel_make_room_for_one_more() {
        let told = [(0, Told::New), (0, Told::Returned), (1, Told::New), (1, Told::Released), (2, Told::New)];
        assert_eq!(told_yes_twice([1, 2], &told), 0);
        assert_eq!(told_yes_twice([0, 2], &told), 1);
    }

    #[test]
    fn one_order_is_new_only_once() {
        assert_eq!(told_yes_twice([9, 9], &[(0, Told::New), (0, Told::New)]), 1);
    }

    #[test]
    fn a_replay_is_a_yes_too() {
        assert_eq!(told_yes_twice([0, 0], &[(0, Told::Replayed)]), 1);
    }

    #[test]
    fn stock_that_came_back_twice_is_seen_when_it_is_sold_again() {
        let told = [(0, Told::New), (0, Told::Released), (0, Told::Released), (1, Told::New), (2, Told::New)];
        assert_eq!(told_yes_twice([1, 2], &told), 1);
    }

    #[test]
    fn what_became_of_each_hold() {
        let told = [
            (0, Told::New),
            (0, Told::PaidInTime),
            (1, Told::New),
            (1, Told::PaidAgain),
            (2, Told::New),
            (2, Told::PaidLost),
            (2, Told::Expired),
        ];
        let wanted =
            Holds { paid_in_time: 1, expired: 2, paid_late_taken_again: 1, paid_late_lost: 1, ..Holds::default() };
        let books = tally([2, 2], [0, 2], &told);
        assert_eq!((&books.holds, books.told_yes_twice()), (&wanted, 0));
        assert!(books.conserved(&audit()));

        let cancelled = tally([1, 2], [1, 2], &[(0, Told::New), (0, Told::Released), (0, Told::NotPaid)]);
        assert_eq!(cancelled.holds, Holds { paid_without_effect: 1, ..Holds::default() });
        let refused = tally([0, 0], [0, 0], &[(0, Told::Refused), (0, Told::NotPaid)]);
        assert_eq!(refused.holds, Holds::default());
    }

    #[test]
    fn a_dead_hold_makes_room_and_one_that_was_paid_for_does_not() {
        let dead = [(0, Told::New), (1, Told::New), (0, Told::Expired)];
        assert_eq!(told_yes_twice([1, 0], &dead), 0);
        assert_eq!(told_yes_twice([1, 0], &[&dead[..], &[(0, Told::PaidInTime)]].concat()), 1);
        assert_eq!(told_yes_twice([1, 0], &[&dead[..2], &[(0, Told::PaidAgain)]].concat()), 1);
    }

    /// The units of SKU 0, and how often too often a yes was told, after changes of so many of the units of orders.
    fn after_changes(initial: u64, told: &[(usize, Told)], changes: &[(usize, u32, Changed)]) -> (Units, u64) {
        let mut sale = sale();
        let mut log: Vec<_> = told.iter().map(|&(number, told)| Entry::for_tests(number, told)).collect();
        for (number, &(order, units, told)) in changes.iter().enumerate() {
            sale.changes.push(Change { order, does: Does::Ship, lines: vec![(0, units)] });
            log.push(Entry::for_tests(number, Told::Changed(told)));
        }
        let tally = Tally::new(&sale, &[initial, 9], &[0, 9], &log);
        (tally.units[0].clone(), tally.told_yes_twice())
    }

    #[test]
    fn what_a_change_gives_back_makes_room_and_what_it_takes_does_not() {
        let told = [(0, Told::New), (1, Told::New)];
        let twice = |initial, changes: &[_]| after_changes(initial, &told, changes).1;
        assert_eq!(twice(1, &[]), 1);
        for gives in [Changed::Lost, Changed::Lowered, Changed::Ended] {
            assert_eq!(twice(1, &[(0, 1, gives)]), 0, "{gives:?}");
        }
        for no in [Changed::Shipped, Changed::Fulfilled, Changed::Refused, Changed::Nothing] {
            assert_eq!(twice(1, &[(0, 1, no)]), 1, "{no:?}");
        }
        assert_eq!(twice(2, &[(0, 1, Changed::Raised)]), 1);
        assert_eq!(twice(2, &[(0, 1, Changed::Raised), (0, 1, Changed::Lowered)]), 0);
    }

    #[test]
    fn a_cancel_gives_back_what_has_not_been_shipped_and_nothing_twice() {
        let sold = |told, changes: &[_]| after_changes(9, &[(0, Told::New), (0, told)], changes).0.sold;
        let all = [(0, 1, Changed::Raised), (0, 1, Changed::Lost), (0, 1, Changed::Shipped)];
        assert_eq!([sold(Told::PaidInTime, &all), sold(Told::Released, &all)], [1, 1]);
        assert_eq!([sold(Told::Released, &all[..2]), sold(Told::Expired, &all[..2])], [0, 0]);
        assert_eq!(sold(Told::NotCancelled, &[(0, 1, Changed::Ended)]), 0);
        assert_eq!(sold(Told::PaidAgain, &all[..1]), 2, "a late payment takes all units again");
    }

    #[test]
    fn an_order_that_lost_its_last_unit_is_no_open_hold() {
        let mut sale = sale();
        sale.changes.push(Change { order: 0, does: Does::Lose, lines: vec![(0, 1)] });
        let log = [(0, Told::New), (0, Told::NotPaid), (0, Told::Changed(Changed::Ended))];
        let tally = Tally::new(&sale, &[1, 2], &[1, 2], &log.map(|(number, told)| Entry::for_tests(number, told)));
        assert_eq!(tally.holds, Holds { paid_without_effect: 1, ..Holds::default() });
        assert_eq!((tally.parts.ended, tally.cancelled, tally.conserved(&audit())), (1, 0, true));
    }

    #[test]
    fn books_that_disagree_are_not_conserved() {
        let end = |available| tally([2, 2], available, &[(0, Told::New)]);
        assert!(end([1, 2]).conserved(&audit()));
        assert!(!end([2, 2]).conserved(&audit()), "the engine forgot a sale");
        assert!(!end([1, 1]).conserved(&audit()), "a unit got lost");

        let mut moving = audit();
        moving.in_motion.push("A".into());
        assert!(!end([1, 2]).conserved(&moving));
        let mut short = audit();
        short.rows = 1;
        assert!(!end([1, 2]).conserved(&short));
    }
}
