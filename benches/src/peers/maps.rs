//! Two plain hash maps, for one thread at a time: what `mutex_maps` locks and what the actor owns.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use super::record::{Line, normalised, refusal, units, valid};
use crate::contender::{Advance, Cancel, Order, Reserve, State};

/// Rows by number, orders by id.
pub struct Maps {
    rows: HashMap<u32, u64>,
    orders: HashMap<String, Order<u32>>,
}

impl Maps {
    pub fn new(skus: &[(String, u64)], orders: usize) -> (Self, Vec<u32>) {
        let rows = (0..).zip(skus.iter().map(|sku| sku.1)).collect();
        (Maps { rows, orders: HashMap::with_capacity(orders) }, (0..).take(skus.len()).collect())
    }

    #[inline]
    pub fn reserve(&mut self, id: String, lines: &[Line]) -> Reserve<u32> {
        if !valid(&id, lines) {
            return Reserve::Invalid;
        }
        let slot = match self.orders.entry(id) {
            Entry::Occupied(known) => return known.get().state.again(&known.get().lines, lines),
            Entry::Vacant(slot) => slot,
        };
        let lines = normalised(lines);
        for &(row, wanted) in &lines {
            if self.rows.get(&row).is_none_or(|available| *available < u64::from(wanted)) {
                return refusal(&lines, |row| self.rows.get(&row).copied());
            }
        }
        for (row, wanted) in &lines {
            if let Some(available) = self.rows.get_mut(row) {
                *available -= u64::from(*wanted);
            }
        }
        slot.insert(Order { state: State::Reserved, lines });
        Reserve::New
    }

    #[inline]
    pub fn cancel(&mut self, id: &str) -> Cancel {
        let Some(order) = self.orders.get_mut(id) else {
            return Cancel::Unknown;
        };
        if let Err(answer) = order.state.may_cancel() {
            return answer;
        }
        order.state = State::Cancelled;
        for (row, units) in &order.lines {
            if let Some(available) = self.rows.get_mut(row) {
                *available += u64::from(*units);
            }
        }
        Cancel::Released { units: units(&order.lines) }
    }

    #[inline]
    pub fn advance(&mut self, id: &str, from: State, to: State) -> Advance {
        let Some(order) = self.orders.get_mut(id) else {
            return Advance::Unknown;
        };
        match order.state.may_advance(from, to) {
            Ok(()) => {
                order.state = to;
                Advance::Done
            }
            Err(answer) => answer,
        }
    }

    #[inline]
    pub fn stock(&self, row: u32) -> u64 {
        self.rows[&row]
    }

    #[inline]
    pub fn order(&self, id: &str) -> Option<Order<u32>> {
        self.orders.get(id).cloned()
    }
}
