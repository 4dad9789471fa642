//! Changes orders in part, and says what their customers were told.

use std::sync::OnceLock;

use stockade::{AmendError, CancelLinesError, FulfilLinesError, Sku, State};

use super::sale::{Change, Does, Sale};
use super::stock::Shop;
use crate::failure::Failure;

/// The answer to a change in part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Changed {
    /// The units have left.
    Shipped,
    /// The units have left, and with them the order is FULFILLED.
    Fulfilled,
    /// The units were cancelled.
    Lost,
    /// The units were cancelled, and with them the order.
    Ended,
    /// The order has a unit more.
    Raised,
    /// The order has a unit less.
    Lowered,
    /// No unit was there to raise the order by.
    Refused,
    /// There was nothing to change. The order was refused or cancelled or has expired, was to ship and is not paid for,
    /// or would have been amended to nothing.
    Nothing,
}

/// The changes of a sale, for all threads.
pub struct Changes<'a> {
    shop: &'a Shop,
    sale: &'a Sale,
    /// Whether an order was raised, once its customer knows; by the place of the change.
    raised: Vec<OnceLock<bool>>,
}

impl<'a> Changes<'a> {
    pub fn new(shop: &'a Shop, sale: &'a Sale) -> Self {
        Changes { shop, sale, raised: sale.changes.iter().map(|_| OnceLock::new()).collect() }
    }

    /// Makes a change, which nobody may have made before.
    pub fn send(&self, number: usize) -> Result<Changed, Failure> {
        let change = &self.sale.changes[number];
        match change.does {
            Does::Ship => self.ship(change),
            Does::Lose => self.lose(change),
            Does::Raise => {
                let told = self.amend(change, 1, Changed::Raised)?;
                if told != Changed::Nothing {
                    self.raised[number].get_or_init(|| told == Changed::Raised);
                }
                Ok(told)
            }
            // An amend says what the order is to be, so nobody can ask for a unit less before he knows what he has.
            Does::Lower(raise) => match self.raised[raise].get() {
                Some(&raised) => self.amend(change, if raised { 0 } else { -1 }, Changed::Lowered),
                None => Ok(Changed::Nothing),
            },
        }
    }

    fn ship(&self, change: &Change) -> Result<Changed, Failure> {
        use FulfilLinesError::{Expired, Full, InvalidState, UnknownOrder};
        match self.shop.engine.fulfil_lines(self.id(change), &self.lines(change)) {
            Ok(left) if left.closed.is_some() => Ok(Changed::Fulfilled),
            Ok(_) => Ok(Changed::Shipped),
            Err(UnknownOrder | Expired | InvalidState { .. }) => Ok(Changed::Nothing),
            Err(Full) => Err(Failure::EngineFull("orders")),
            Err(error) => Err(self.unsound(change, &error)),
        }
    }

    fn lose(&self, change: &Change) -> Result<Changed, Failure> {
        use CancelLinesError::{Expired, Full, InvalidState, UnknownOrder};
        match self.shop.engine.cancel_lines(self.id(change), &self.lines(change)) {
            Ok(left) if left.closed == Some(State::Cancelled) => Ok(Changed::Ended),
            Ok(_) => Ok(Changed::Lost),
            Err(UnknownOrder | Expired | InvalidState { .. }) => Ok(Changed::Nothing),
            Err(Full) => Err(Failure::EngineFull("orders")),
            Err(error) => Err(self.unsound(change, &error)),
        }
    }

    /// Amends an order to what it was made with and so many units more.
    fn amend(&self, change: &Change, more: i64, done: Changed) -> Result<Changed, Failure> {
        use AmendError::{Expired, Full, Insufficient, InvalidState, UnknownOrder};
        let Some(lines) = self.amended(change, more) else { return Ok(Changed::Nothing) };
        match self.shop.engine.amend(self.id(change), &lines) {
            Ok(_) => Ok(done),
            Err(Insufficient { .. }) if more > 0 => Ok(Changed::Refused),
            Err(UnknownOrder | Expired | InvalidState { .. }) => Ok(Changed::Nothing),
            Err(Full) => Err(Failure::EngineFull("orders")),
            Err(error) => Err(self.unsound(change, &error)),
        }
    }

    /// The lines an order was made with, and so many units more of the SKU that is changed. A line of which nothing is
    /// left is dropped. None if it would be no order any more: of no line, or with more units than a line can have.
    fn amended(&self, change: &Change, more: i64) -> Option<Vec<(Sku, u32)>> {
        let mut lines = Vec::new();
        for &(sku, units) in &self.sale.orders[change.order].lines {
            let is_changed = change.lines.iter().any(|line| line.0 == sku);
            let units = i64::from(units) + if is_changed { more } else { 0 };
            lines.push((self.shop.rows[sku], u32::try_from(units).ok()?));
        }
        lines.retain(|line| line.1 > 0);
        (!lines.is_empty()).then_some(lines)
    }

    fn lines(&self, change: &Change) -> Vec<(Sku, u32)> {
        change.lines.iter().map(|&(sku, units)| (self.shop.rows[sku], units)).collect()
    }

    fn id(&self, change: &Change) -> &str {
        &self.sale.orders[change.order].id
    }

    fn unsound(&self, change: &Change, error: &dyn std::error::Error) -> Failure {
        Failure::Unsound(format!("order {:?}: {error}", self.id(change)))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::replay::sale::{Line, Order};

    const SHIP: Does = Does::Ship;
    const LOSE: Does = Does::Lose;

    /// What the only order of a shop is told about one change after the other, and what is left of SKU 0.
    fn told(lines: &[Line], stock: u64, paid: bool, changes: &[(Does, &[Line])]) -> (Vec<Changed>, u64) {
        let mut sale = Sale { orders: vec![Order { id: "1".into(), lines: lines.into() }], ..Sale::default() };
        let _ = ["A", "B"].map(|name| sale.skus.number(name));
        sale.changes = changes.iter().map(|&(does, lines)| Change { order: 0, does, lines: lines.into() }).collect();
        let shop = Shop::open(&sale.skus, &[stock, 9]).unwrap();
        let in_engine: Vec<_> = lines.iter().map(|&(sku, units)| (shop.rows[sku], units)).collect();
        let _ = shop.engine.reserve("1", &in_engine).unwrap();
        if paid {
            let _ = shop.engine.pay("1").unwrap();
        }
        let changes = Changes::new(&shop, &sale);
        let told = (0..sale.changes.len()).map(|number| changes.send(number).unwrap()).collect();
        (told, shop.available().unwrap()[0])
    }

    #[test]
    fn an_order_ships_in_parts_until_it_is_fulfilled() {
        use Changed::{Fulfilled, Nothing, Shipped};
        let parts: [(Does, &[Line]); 3] = [(SHIP, &[(0, 1)]), (SHIP, &[(0, 2), (1, 1)]), (SHIP, &[(0, 1)])];
        let order = [(0, 3), (1, 1)];
        assert_eq!(told(&order, 3, true, &parts), (vec![Shipped, Fulfilled, Nothing], 0));
        assert_eq!(told(&order, 3, false, &parts), (vec![Nothing; 3], 0), "it is not paid for");
    }

    #[test]
    fn lost_units_come_back_and_the_last_one_ends_the_order() {
        use Changed::{Ended, Fulfilled, Lost, Nothing, Shipped};
        let lose: (Does, &[Line]) = (LOSE, &[(0, 1)]);
        assert_eq!(told(&[(0, 2)], 2, false, &[lose, lose, lose]), (vec![Lost, Ended, Nothing], 2));
        assert_eq!(told(&[(0, 2)], 2, true, &[lose, (SHIP, &[(0, 1)])]), (vec![Lost, Fulfilled], 1));
        assert_eq!(told(&[(0, 2)], 2, true, &[(SHIP, &[(0, 1)]), lose]), (vec![Shipped, Lost], 1));
    }

    #[test]
    fn a_unit_more_and_a_unit_less_than_that() {
        use Changed::{Lowered, Nothing, Raised, Refused};
        let amend: [(Does, &[Line]); 2] = [(Does::Raise, &[(0, 1)]), (Does::Lower(0), &[(0, 1)])];
        assert_eq!(told(&[(0, 1)], 2, false, &amend[..1]), (vec![Raised], 0));
        assert_eq!(told(&[(0, 1)], 2, false, &amend), (vec![Raised, Lowered], 1));
        assert_eq!(told(&[(0, 2)], 2, true, &amend), (vec![Refused, Lowered], 1));
        assert_eq!(told(&[(0, 1)], 1, false, &amend), (vec![Refused, Nothing], 0), "the only unit stays");
        assert_eq!(told(&[(0, 1), (1, 1)], 1, false, &amend), (vec![Refused, Lowered], 1), "the line is dropped");
    }

    #[test]
    fn who_does_not_know_what_he_has_asks_for_no_unit_less() {
        let overtaken: [(Does, &[Line]); 2] = [(Does::Lower(1), &[(0, 1)]), (Does::Raise, &[(0, 1)])];
        assert_eq!(told(&[(0, 2)], 3, false, &overtaken), (vec![Changed::Nothing, Changed::Raised], 0));
    }

    #[test]
    fn a_line_that_is_full_is_not_raised() {
        let full = u32::MAX;
        let raise: (Does, &[Line]) = (Does::Raise, &[(0, 1)]);
        assert_eq!(told(&[(0, full)], u64::from(full) + 1, false, &[raise]), (vec![Changed::Nothing], 1));
    }

    #[test]
    fn more_than_is_open_is_no_answer_that_anybody_should_see() {
        let mut sale = Sale { orders: vec![Order { id: "1".into(), lines: vec![(0, 1)] }], ..Sale::default() };
        sale.skus.number("A");
        sale.changes.push(Change { order: 0, does: LOSE, lines: vec![(0, 2)] });
        let shop = Shop::open(&sale.skus, &[1]).unwrap();
        let changes = Changes::new(&shop, &sale);
        assert_eq!(changes.send(0).unwrap(), Changed::Nothing, "nobody has ordered");
        let _ = shop.engine.reserve("1", &[(shop.rows[0], 1)]).unwrap();
        assert!(matches!(changes.send(0), Err(Failure::Unsound(_))));
    }
}
