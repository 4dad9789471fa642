//! Two dashmaps: the order's entry stays locked while its lines are taken, one by one, each behind its row's lock.
//!
//! What people write who know that one lock does not scale. Lines are taken in row order and given back if one is
//! short. Orders are locked before rows and one row at a time, so there is no deadlock.

use anyhow::Result;
use dashmap::DashMap;
use dashmap::mapref::entry::Entry;

use super::record::{Line, normalised, refusal, units, valid};
use crate::contender::{Advance, Cancel, Contender, Order, Reserve, State};

/// Rows by number, orders by id, each map in shards with a lock of their own.
pub struct DashmapEntry {
    rows: DashMap<u32, u64>,
    orders: DashMap<String, Order<u32>>,
}

impl Contender for DashmapEntry {
    const NAME: &'static str = "dashmap_entry";
    type Row = u32;

    fn open(skus: &[(String, u64)], orders: usize) -> Result<(Self, Vec<u32>)> {
        let rows = (0..).zip(skus.iter().map(|sku| sku.1)).collect();
        Ok((DashmapEntry { rows, orders: DashMap::with_capacity(orders) }, (0..).take(skus.len()).collect()))
    }

    #[inline]
    fn reserve(&self, id: &str, lines: &[Line]) -> Reserve<u32> {
        if !valid(id, lines) {
            return Reserve::Invalid;
        }
        let slot = match self.orders.entry(id.to_owned()) {
            Entry::Occupied(known) => return known.get().state.again(&known.get().lines, lines),
            Entry::Vacant(slot) => slot,
        };
        let lines = normalised(lines);
        for (taken, line) in lines.iter().enumerate() {
            if let Err(seen) = self.take(line) {
                self.give_back(&lines[..taken]);
                return refusal(&lines[taken..], |row| if row == line.0 { seen } else { self.look(row) });
            }
        }
        slot.insert(Order { state: State::Reserved, lines });
        Reserve::New
    }

    #[inline]
    fn cancel(&self, id: &str) -> Cancel {
        let Some(mut order) = self.orders.get_mut(id) else {
            return Cancel::Unknown;
        };
        if let Err(answer) = order.state.may_cancel() {
            return answer;
        }
        order.state = State::Cancelled;
        self.give_back(&order.lines);
        Cancel::Released { units: units(&order.lines) }
    }

    #[inline]
    fn pay(&self, id: &str) -> Advance {
        self.advance(id, State::Reserved, State::Paid)
    }

    #[inline]
    fn fulfil(&self, id: &str) -> Advance {
        self.advance(id, State::Paid, State::Fulfilled)
    }

    #[inline]
    fn stock(&self, row: u32) -> u64 {
        match self.look(row) {
            Some(available) => available,
            None => panic!("no row {row}"),
        }
    }

    #[inline]
    fn order(&self, id: &str) -> Option<Order<u32>> {
        self.orders.get(id).map(|order| order.clone())
    }
}

impl DashmapEntry {
    fn look(&self, row: u32) -> Option<u64> {
        self.rows.get(&row).map(|available| *available)
    }

    /// Takes one line, or says how many units there were (`None`: no such row).
    fn take(&self, &(row, wanted): &Line) -> Result<(), Option<u64>> {
        let mut available = self.rows.get_mut(&row).ok_or(None)?;
        *available = available.checked_sub(wanted.into()).ok_or(Some(*available))?;
        Ok(())
    }

    fn give_back(&self, lines: &[Line]) {
        for (row, units) in lines {
            if let Some(mut available) = self.rows.get_mut(row) {
                *available += u64::from(*units);
            }
        }
    }

    fn advance(&self, id: &str, from: State, to: State) -> Advance {
        let Some(mut order) = self.orders.get_mut(id) else {
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
}
