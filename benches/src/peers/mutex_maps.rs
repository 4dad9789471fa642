//! One mutex around two hash maps: the first thing that comes to mind, and correct.

use anyhow::Result;
use parking_lot::Mutex;

use super::maps::Maps;
use super::record::Line;
use crate::contender::{Advance, Cancel, Contender, Order, Reserve, State};

/// Two maps, and one lock for all.
pub struct MutexMaps(Mutex<Maps>);

impl Contender for MutexMaps {
    const NAME: &'static str = "mutex_maps";
    type Row = u32;

    fn open(skus: &[(String, u64)], orders: usize) -> Result<(Self, Vec<u32>)> {
        let (maps, rows) = Maps::new(skus, orders);
        Ok((MutexMaps(Mutex::new(maps)), rows))
    }

    #[inline]
    fn reserve(&self, id: &str, lines: &[Line]) -> Reserve<u32> {
        let id = id.to_owned(); // before the lock, to hold it shorter
        self.0.lock().reserve(id, lines)
    }

    #[inline]
    fn cancel(&self, id: &str) -> Cancel {
        self.0.lock().cancel(id)
    }

    #[inline]
    fn pay(&self, id: &str) -> Advance {
        self.0.lock().advance(id, State::Reserved, State::Paid)
    }

    #[inline]
    fn fulfil(&self, id: &str) -> Advance {
        self.0.lock().advance(id, State::Paid, State::Fulfilled)
    }

    #[inline]
    fn stock(&self, row: u32) -> u64 {
        self.0.lock().stock(row)
    }

    #[inline]
    fn order(&self, id: &str) -> Option<Order<u32>> {
        self.0.lock().order(id)
    }
}
