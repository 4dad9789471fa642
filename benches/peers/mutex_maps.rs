//! One mutex around two hash maps: the first thing that comes to mind, and correct.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hint::black_box;

use parking_lot::Mutex;

use super::record::{Line, Order, State, normalised, valid};
use super::{Cancel, Contender, Reserve, Short, Stock};

pub struct MutexMaps {
    maps: Mutex<Maps>,
    /// Names of the rows, for refusals only.
    names: Vec<Box<str>>,
}

struct Maps {
    rows: HashMap<u32, Stock>,
    orders: HashMap<String, Order>,
}

impl Contender for MutexMaps {
    const NAME: &'static str = "mutex_maps";
    type Row = u32;

    fn open(skus: &[(String, u64)]) -> (Self, Vec<u32>) {
        let names = skus.iter().map(|sku| sku.0.as_str().into()).collect();
        let stocks = skus.iter().map(|sku| Stock { available: sku.1, version: 0 });
        let rows: HashMap<u32, Stock> = (0..).zip(stocks).collect();
        let handles = (0..).take(skus.len()).collect();
        let maps = Mutex::new(Maps { rows, orders: HashMap::new() });
        (MutexMaps { maps, names }, handles)
    }

    #[inline]
    fn reserve(&self, id: &str, lines: &[Line]) -> Reserve {
        if !valid(id, lines) {
            return Reserve::Invalid;
        }
        let key = id.to_owned(); // before the lock, to hold it shorter
        let Maps { rows, orders } = &mut *self.maps.lock();
        let slot = match orders.entry(key) {
            Entry::Occupied(known) => return known.get().again(lines),
            Entry::Vacant(slot) => slot,
        };
        let lines = normalised(lines);
        for &(row, wanted) in &lines {
            if rows.get(&row).is_none_or(|stock| stock.available < u64::from(wanted)) {
                return self.refusal(rows, &lines);
            }
        }
        for (row, wanted) in &lines {
            if let Some(stock) = rows.get_mut(row) {
                stock.available -= u64::from(*wanted);
                stock.version += 1;
            }
        }
        slot.insert(Order::reserved(lines));
        Reserve::New { version: 1 }
    }

    #[inline]
    fn cancel(&self, id: &str) -> Cancel {
        let Maps { rows, orders } = &mut *self.maps.lock();
        let Some(order) = orders.get_mut(id) else {
            return Cancel::Unknown;
        };
        if order.state == State::Cancelled {
            return Cancel::Already;
        }
        order.state = State::Cancelled;
        order.version += 1;
        for (row, units) in &order.lines {
            if let Some(stock) = rows.get_mut(row) {
                stock.available += u64::from(*units);
                stock.version += 1;
            }
        }
        let lines = black_box(order.lines.clone());
        Cancel::Released { units: lines.iter().map(|line| u64::from(line.1)).sum() }
    }

    fn stock(&self, row: u32) -> Stock {
        self.maps.lock().rows[&row]
    }
}

impl MutexMaps {
    #[cold]
    fn refusal(&self, rows: &HashMap<u32, Stock>, lines: &[Line]) -> Reserve {
        let mut short = Vec::new();
        for &(row, wanted) in lines {
            let Some(stock) = rows.get(&row) else {
                return Reserve::UnknownSku;
            };
            if stock.available < u64::from(wanted) {
                let sku = self.names[row as usize].clone();
                short.push(Short { sku, wanted, available: stock.available });
            }
        }
        Reserve::Insufficient { short }
    }
}
