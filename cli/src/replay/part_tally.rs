//! The books of the callers on orders that change in part.

use serde::Serialize;

use super::changes::Changed;
use super::drive::{Entry, Told};
use super::sale::{Change, Sale};

/// What became of the orders that change in part.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Parts {
    /// Orders that were shipped in two parts and are fulfilled.
    pub shipped_in_parts: u64,
    /// Orders of which one part was shipped: all of it, what a loss had left, or the first part before a cancel.
    pub shipped_once: u64,
    /// Orders that lost units.
    pub lost_parts: u64,
    /// Of those: orders that ended by it, because nothing was left.
    pub ended: u64,
    /// Units they gave back.
    pub units_given_back: u64,
    /// Orders that were amended, to a unit more or to a unit less.
    pub amended: u64,
    /// Amends to a unit more that was not there.
    pub amends_refused: u64,
    /// Changes that found nothing to change.
    pub without_effect: u64,
}

impl Parts {
    /// Counts the answers, order by order.
    pub fn new(sale: &Sale, log: &[Entry]) -> Self {
        let answers = answers(sale, log);
        let mut parts = Parts::default();
        for order in answers.chunk_by(|one, next| one.0.order == next.0.order) {
            parts.count(order);
        }
        parts
    }

    fn count(&mut self, order: &[(&Change, Changed)]) {
        use Changed::{Ended, Fulfilled, Lost, Lowered, Nothing, Raised, Refused, Shipped};
        let count = |kinds: &[Changed]| order.iter().filter(|answer| kinds.contains(&answer.1)).count() as u64;
        let any = |kinds: &[Changed]| u64::from(count(kinds) > 0);
        let shipped = count(&[Shipped, Fulfilled]);
        self.shipped_in_parts += u64::from(shipped > 1) * any(&[Fulfilled]);
        self.shipped_once += u64::from(shipped == 1);
        self.lost_parts += any(&[Lost, Ended]);
        self.ended += any(&[Ended]);
        let lost = order.iter().filter(|answer| matches!(answer.1, Lost | Ended));
        self.units_given_back += lost.map(|(change, _)| change.units()).sum::<u64>();
        self.amended += any(&[Raised, Lowered]);
        self.amends_refused += count(&[Refused]);
        self.without_effect += count(&[Nothing]);
    }
}

/// Every change that was made, in the order of [`Sale::changes`], with its answer.
fn answers<'a>(sale: &'a Sale, log: &[Entry]) -> Vec<(&'a Change, Changed)> {
    let answers = log.iter().filter_map(|entry| match entry.told {
        Told::Changed(told) => Some((entry.number, told)),
        _ => None,
    });
    let mut answers: Vec<_> = answers.collect();
    answers.sort_by_key(|&(number, _)| number);
    answers.into_iter().map(|(number, told)| (&sale.changes[number], told)).collect()
}

impl Changed {
    /// What a change of so many units adds to what its order has at the end. An order that was cancelled or has expired
    /// has given back all but what was shipped before.
    pub fn adds(self, units: u32, gave_back: bool) -> i64 {
        match self {
            Changed::Shipped | Changed::Fulfilled if gave_back => units.into(),
            Changed::Raised if !gave_back => units.into(),
            Changed::Lowered | Changed::Lost if !gave_back => -i64::from(units),
            _ => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replay::sale::Does;
    use Changed::{Ended, Fulfilled, Lost, Lowered, Nothing, Raised, Refused, Shipped};

    /// Counts answers on changes of two units, each with its order.
    fn parts(told: &[(usize, Changed)]) -> Parts {
        let change = |&(order, _): &(usize, _)| Change { order, does: Does::Ship, lines: vec![(0, 2)] };
        let sale = Sale { changes: told.iter().map(change).collect(), ..Sale::default() };
        let log = told.iter().enumerate().map(|(n, &(_, told))| Entry::for_tests(n, Told::Changed(told)));
        Parts::new(&sale, &log.rev().collect::<Vec<_>>())
    }

    #[test]
    fn an_order_counts_once_however_often_it_is_changed() {
        let shipped = parts(&[(0, Shipped), (0, Fulfilled), (1, Fulfilled), (2, Shipped), (2, Nothing)]);
        let wanted = Parts { shipped_in_parts: 1, shipped_once: 2, without_effect: 1, ..Parts::default() };
        assert_eq!(shipped, wanted);
        let lost = parts(&[(0, Lost), (0, Fulfilled), (1, Ended), (2, Lost)]);
        let wanted = Parts { lost_parts: 3, ended: 1, units_given_back: 6, shipped_once: 1, ..Parts::default() };
        assert_eq!(lost, wanted);
        let amended = parts(&[(0, Raised), (0, Lowered), (1, Refused), (1, Lowered), (2, Refused), (2, Nothing)]);
        assert_eq!(amended, Parts { amended: 2, amends_refused: 2, without_effect: 1, ..Parts::default() });
    }

    #[test]
    fn two_parts_that_leave_something_open_have_not_shipped_the_order() {
        assert_eq!(parts(&[(0, Shipped), (0, Shipped)]), Parts::default());
    }

    #[test]
    fn of_a_cancelled_order_only_what_was_shipped_is_sold() {
        let adds =
            |gave_back| [Shipped, Fulfilled, Lost, Raised, Lowered, Ended, Refused].map(|it| it.adds(2, gave_back));
        assert_eq!(adds(false), [0, 0, -2, 2, -2, 0, 0]);
        assert_eq!(adds(true), [2, 2, 0, 0, 0, 0, 0]);
    }
}
