//! Two dashmaps: the order's entry stays locked while its lines are taken, one by one, each behind its row's lock.
//!
//! What people write who know that one lock does not scale. Lines are taken in row order and given back if one is
//! short. Orders are locked before rows and one row at a time, so there is no deadlock.

use std::hint::black_box;

use dashmap::DashMap;
use dashmap::mapref::entry::Entry;

use super::record::{Line, Order, State, normalised, valid};
use super::{Cancel, Contender, Reserve, Short, Stock};

pub struct DashmapEntry {
    rows: DashMap<u32, Stock>,
    orders: DashMap<String, Order>,
    /// Names of the rows, for refusals only.
    names: Vec<Box<str>>,
}

impl Contender for DashmapEntry {
    const NAME: &'static str = "dashmap_entry";
    type Row = u32;

    fn open(skus: &[(String, u64)]) -> (Self, Vec<u32>) {
        let names = skus.iter().map(|sku| sku.0.as_str().into()).collect();
        let stocks = skus.iter().map(|sku| Stock { available: sku.1, version: 0 });
        let rows: DashMap<u32, Stock> = (0..).zip(stocks).collect();
        let handles = (0..).take(skus.len()).collect();
        (DashmapEntry { rows, orders: DashMap::new(), names }, handles)
    }

    #[inline]
    fn reserve(&self, id: &str, lines: &[Line]) -> Reserve {
        if !valid(id, lines) {
            return Reserve::Invalid;
        }
        let slot = match self.orders.entry(id.to_owned()) {
            Entry::Occupied(known) => return known.get().again(lines),
            Entry::Vacant(slot) => slot,
        };
        let lines = normalised(lines);
        for (taken, line) in lines.iter().enumerate() {
            if let Err(available) = self.take(line) {
                self.give_back(&lines[..taken]);
                return self.refusal(&lines[taken..], available);
            }
        }
        slot.insert(Order::reserved(lines));
        Reserve::New { version: 1 }
    }

    #[inline]
    fn cancel(&self, id: &str) -> Cancel {
        let Some(mut order) = self.orders.get_mut(id) else {
            return Cancel::Unknown;
        };
        if order.state == State::Cancelled {
            return Cancel::Already;
        }
        order.state = State::Cancelled;
        order.version += 1;
        self.give_back(&order.lines);
        let lines = black_box(order.lines.clone());
        Cancel::Released { units: lines.iter().map(|line| u64::from(line.1)).sum() }
    }

    fn stock(&self, row: u32) -> Stock {
        match self.rows.get(&row) {
            Some(stock) => *stock,
            None => panic!("no row {row}"),
        }
    }
}

impl DashmapEntry {
    /// Takes one line, or says how many units there were (`None`: no such row).
    fn take(&self, &(row, wanted): &Line) -> Result<(), Option<u64>> {
        let mut stock = self.rows.get_mut(&row).ok_or(None)?;
        let left = stock.available.checked_sub(wanted.into()).ok_or(Some(stock.available))?;
        *stock = Stock { available: left, version: stock.version + 1 };
        Ok(())
    }

    fn give_back(&self, lines: &[Line]) {
        for (row, units) in lines {
            if let Some(mut stock) = self.rows.get_mut(row) {
                stock.available += u64::from(*units);
                stock.version += 1;
            }
        }
    }

    /// `lines` begins with the line that could not be taken; those after it have not been tried.
    #[cold]
    fn refusal(&self, lines: &[Line], available: Option<u64>) -> Reserve {
        let rest = lines[1..].iter().map(|line| self.rows.get(&line.0).map(|stock| stock.available));
        let mut short = Vec::new();
        for (&(row, wanted), available) in lines.iter().zip(std::iter::once(available).chain(rest)) {
            match available {
                None => return Reserve::UnknownSku,
                Some(available) if available < wanted.into() => {
                    let sku = self.names[row as usize].clone();
                    short.push(Short { sku, wanted, available });
                }
                Some(_) => {}
            }
        }
        Reserve::Insufficient { short }
    }
}
