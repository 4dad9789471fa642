//! `scc::HashMap` for orders, atomic words for rows: the order's bucket stays locked while its lines are taken.

use anyhow::Result;
use scc::hash_map::Entry;

use super::record::{Line, units, valid};
use super::rows::{AtomicRows, Lines};
use crate::contender::{Advance, Cancel, Contender, Order, Reserve, State};

/// Orders by id; rows need no map.
pub struct SccEntry {
    rows: AtomicRows,
    orders: scc::HashMap<Box<str>, Record>,
}

struct Record {
    lines: Lines,
    state: State,
}

impl Contender for SccEntry {
    const NAME: &'static str = "scc_entry";
    type Row = u32;

    fn open(skus: &[(String, u64)], orders: usize) -> Result<(Self, Vec<u32>)> {
        let (rows, handles) = AtomicRows::new(skus);
        Ok((SccEntry { rows, orders: scc::HashMap::with_capacity(orders) }, handles))
    }

    #[inline]
    fn reserve(&self, id: &str, lines: &[Line]) -> Reserve<u32> {
        if !valid(id, lines) {
            return Reserve::Invalid;
        }
        let slot = match self.orders.entry_sync(id.into()) {
            Entry::Occupied(known) => return known.state.again(known.lines.get(), lines),
            Entry::Vacant(slot) => slot,
        };
        let lines = Lines::of(lines);
        if let Err(refusal) = self.rows.take_all(lines.get()) {
            return refusal;
        }
        slot.insert_entry(Record { lines, state: State::Reserved });
        Reserve::New
    }

    #[inline]
    fn cancel(&self, id: &str) -> Cancel {
        let cancel = |record: &mut Record| {
            if let Err(answer) = record.state.may_cancel() {
                return answer;
            }
            record.state = State::Cancelled;
            self.rows.give_back(record.lines.get());
            Cancel::Released { units: units(record.lines.get()) }
        };
        self.orders.update_sync(id, |_, record| cancel(record)).unwrap_or(Cancel::Unknown)
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
        match self.rows.look(row) {
            Some(available) => available,
            None => panic!("no row {row}"),
        }
    }

    #[inline]
    fn order(&self, id: &str) -> Option<Order<u32>> {
        self.orders.read_sync(id, |_, record| Order { state: record.state, lines: record.lines.get().to_vec() })
    }
}

impl SccEntry {
    fn advance(&self, id: &str, from: State, to: State) -> Advance {
        let advance = |record: &mut Record| match record.state.may_advance(from, to) {
            Ok(()) => {
                record.state = to;
                Advance::Done
            }
            Err(answer) => answer,
        };
        self.orders.update_sync(id, |_, record| advance(record)).unwrap_or(Advance::Unknown)
    }
}
