//! Finished orders that are forgotten, by age or by count.

use stockade::State::{Cancelled, Fulfilled};

use super::{Order, Sequential};

/// How long finished orders are kept, as in `stockade::Keep`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kept {
    ForMs(u64),
    Newest(u64),
}

/// Of what is kept, an age is so small a part, rounded up; what ended more than so many ages ago is forgotten.
const AGES_KEPT: u64 = 16;

/// Ages are told apart up to this.
const AGES: u64 = 128;

impl Sequential {
    // Forgetting.

    /// Every order that is old enough is forgotten; which they were.
    pub fn forget_finished(&mut self) -> Vec<(String, Order)> {
        let ids: Vec<_> = self.orders.keys().cloned().collect();
        ids.into_iter().filter_map(|id| self.forget(&id).map(|order| (id, order))).collect()
    }

    /// Forgets one order if it is old enough. What it shipped was never received, from then on.
    pub fn forget(&mut self, id: &str) -> Option<Order> {
        let now = self.age();
        let is_old = |order: &Order| (now + AGES - order.ended_in) % AGES > AGES_KEPT;
        let has_ended = |order: &Order| matches!(order.state, Fulfilled | Cancelled) && !order.guarded;
        self.keep.filter(|_| self.orders.get(id).is_some_and(|order| has_ended(order) && is_old(order)))?;
        let order = self.orders.remove(id)?;
        self.untold.retain(|(_, untold)| untold != id);
        for (row, part) in &order.lines {
            self.rows[*row].received -= u64::from(part.fulfilled);
        }
        Some(order)
    }

    /// Finished orders are kept by age: a sixteenth of what is kept.
    pub(super) fn age(&self) -> u64 {
        let (now, kept) = match self.keep {
            None => return 0,
            Some(Kept::ForMs(ms)) => (self.now_ms, ms),
            Some(Kept::Newest(orders)) => (self.ended, orders),
        };
        now / kept.div_ceil(AGES_KEPT).max(1) % AGES
    }
}
