//! papaya for orders, atomic words for rows. papaya has no lock to hold, so whoever inserts the id takes the lines
//! and then says how it went; the same id from elsewhere waits for that.
//!
//! The other way round, lines first and then the id, would refuse one twin of an order for units that the other twin
//! holds.

use std::sync::atomic::{AtomicU8, Ordering};
use std::thread;

use anyhow::Result;
use papaya::HashMap;

use super::record::{Line, units, valid};
use super::rows::{AtomicRows, Lines};
use crate::contender::{Advance, Cancel, Contender, Order, Reserve, State};

/// Orders by id; rows need no map.
pub struct PapayaInsert {
    rows: AtomicRows,
    orders: HashMap<Box<str>, Record>,
}

struct Record {
    lines: Lines,
    /// A [`State`], or one of the two below.
    state: AtomicU8,
}

/// Its lines are being taken.
const PENDING: u8 = 100;
/// They were short; the record is about to leave the map.
const REFUSED: u8 = 101;

impl Record {
    /// Its state, once it is decided. `None`: it was refused.
    #[inline]
    fn decided(&self) -> Option<State> {
        loop {
            match self.state.load(Ordering::Acquire) {
                PENDING => thread::yield_now(),
                REFUSED => return None,
                state => return Some(State::from_number(state)),
            }
        }
    }

    /// Moves it on, if nobody else did.
    #[inline]
    fn step(&self, from: State, to: State) -> bool {
        self.state.compare_exchange(from as u8, to as u8, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }
}

impl Contender for PapayaInsert {
    const NAME: &'static str = "papaya_insert";
    type Row = u32;

    fn open(skus: &[(String, u64)], orders: usize) -> Result<(Self, Vec<u32>)> {
        let (rows, handles) = AtomicRows::new(skus);
        Ok((PapayaInsert { rows, orders: HashMap::with_capacity(orders) }, handles))
    }

    #[inline]
    fn reserve(&self, id: &str, lines: &[Line]) -> Reserve<u32> {
        if !valid(id, lines) {
            return Reserve::Invalid;
        }
        let orders = self.orders.pin();
        loop {
            let record = Record { lines: Lines::of(lines), state: AtomicU8::new(PENDING) };
            match orders.try_insert(id.into(), record) {
                Ok(mine) => match self.rows.take_all(mine.lines.get()) {
                    Ok(()) => {
                        mine.state.store(State::Reserved as u8, Ordering::Release);
                        return Reserve::New;
                    }
                    Err(refusal) => {
                        mine.state.store(REFUSED, Ordering::Release);
                        orders.remove(id);
                        return refusal;
                    }
                },
                Err(known) => match known.current.decided() {
                    Some(state) => return state.again(known.current.lines.get(), lines),
                    None => thread::yield_now(), // until it has left the map
                },
            }
        }
    }

    #[inline]
    fn cancel(&self, id: &str) -> Cancel {
        let orders = self.orders.pin();
        let Some(record) = orders.get(id) else {
            return Cancel::Unknown;
        };
        loop {
            let Some(state) = record.decided() else {
                return Cancel::Unknown;
            };
            if let Err(answer) = state.may_cancel() {
                return answer;
            }
            if record.step(state, State::Cancelled) {
                self.rows.give_back(record.lines.get());
                return Cancel::Released { units: units(record.lines.get()) };
            }
        }
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
        let orders = self.orders.pin();
        let record = orders.get(id)?;
        Some(Order { state: record.decided()?, lines: record.lines.get().to_vec() })
    }
}

impl PapayaInsert {
    fn advance(&self, id: &str, from: State, to: State) -> Advance {
        let orders = self.orders.pin();
        let Some(record) = orders.get(id) else {
            return Advance::Unknown;
        };
        loop {
            let Some(state) = record.decided() else {
                return Advance::Unknown;
            };
            if let Err(answer) = state.may_advance(from, to) {
                return answer;
            }
            if record.step(from, to) {
                return Advance::Done;
            }
        }
    }
}
