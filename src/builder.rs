//! How big an engine is from the beginning, and how big it may become.

use std::fmt;
use std::sync::Arc;

use crate::error::BuildError;
use crate::keys::{KEPT, Requests};
use crate::layout::SLOT_BITS;
use crate::retention::Retention;
use crate::timers::Timers;
use crate::{Clock, Keep, MonotonicClock, Stockade};

/// Makes a [`Stockade`] with room from the beginning, with limits, or with a clock of your own.
///
/// ```
/// # use stockade::{ReserveError, Stockade};
/// let shop = Stockade::builder().capacity(10_000).max_orders(2).build()?;
/// shop.add_sku("mug", 9).unwrap();
/// let _ = shop.reserve("order-1", &[("mug", 1)]).unwrap();
/// let _ = shop.reserve("order-2", &[("mug", 1)]).unwrap();
/// assert_eq!(shop.reserve("order-3", &[("mug", 1)]), Err(ReserveError::Full));
/// # Ok::<(), stockade::BuildError>(())
/// ```
#[derive(Clone, Default)]
#[must_use]
pub struct Builder {
    capacity: usize,
    max_orders: Option<u64>,
    max_hold_ms: Option<u64>,
    keep: Option<Keep>,
    keep_keys: Option<u64>,
    clock: Option<Arc<dyn Clock>>,
}

impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Builder { capacity, max_orders, max_hold_ms, keep, keep_keys, clock } = self;
        f.debug_struct("Builder")
            .field("capacity", capacity)
            .field("max_orders", max_orders)
            .field("max_hold_ms", max_hold_ms)
            .field("keep", keep)
            .field("keep_keys", keep_keys)
            .field("has_clock", &clock.is_some())
            .finish()
    }
}

impl Builder {
    /// Claims and touches the memory for so many orders now, so that no order up to there pays for growth: no new
    /// memory, no page fault, no division of the index. Orders of one line with an id of up to 40 bytes, or 32 if they
    /// have a deadline or are made by `create`; 64 bytes more for each further 48 bytes of id and lines. Entries in the
    /// set of deadlines are not among it. What comes after these grows as ever.
    pub fn capacity(mut self, orders: usize) -> Self {
        self.capacity = orders;
        self
    }

    /// Takes no more orders than this, cancelled ones and ids marked by `void` included, because they keep their id:
    /// past it a new id gets `Full`, and nothing changes. What is under way counts until it is refused; so at the very
    /// limit a repeat that comes while its first is being entered can get `Full` too, and learns the result when it
    /// asks again.
    ///
    /// A limit costs one shared counter for each new order.
    pub fn max_orders(mut self, orders: u64) -> Self {
        self.max_orders = Some(orders);
        self
    }

    /// No hold with a deadline lives longer than this from its reserve on, however often it is extended: what is asked
    /// for beyond it is cut. At least 1 ms. Without it, only [`extend`](Stockade::extend)'s callers set a limit.
    pub fn max_hold_ms(mut self, ms: u64) -> Self {
        self.max_hold_ms = Some(ms);
        self
    }

    /// How long finished orders are kept before [`forget_finished`](Stockade::forget_finished) may forget them. Without
    /// it they are kept for ever.
    ///
    /// An engine that forgets pays for it with some nanoseconds in each verb, and one shared counter for each order
    /// that ends if it counts.
    pub fn keep_finished(mut self, keep: Keep) -> Self {
        self.keep = Some(keep);
        self
    }

    /// How many request keys are remembered, the youngest ones; 65,536 unless this says otherwise, and at least one.
    /// Each takes some 300 bytes. [`keyed`](Stockade::keyed) says what becomes of older ones.
    pub fn keep_keys(mut self, keys: u64) -> Self {
        self.keep_keys = Some(keys);
        self
    }

    /// The clock by which holds end, instead of a [`MonotonicClock`].
    pub fn clock(mut self, clock: impl Clock + 'static) -> Self {
        self.clock = Some(Arc::new(clock));
        self
    }

    /// The engine without its room.
    pub(crate) fn empty(self) -> Stockade {
        let clock = self.clock.unwrap_or_else(|| Arc::new(MonotonicClock::default()));
        let timers = Timers::new(clock, self.max_hold_ms.unwrap_or(u64::MAX));
        let requests = Requests::new(self.keep_keys.unwrap_or(KEPT));
        Stockade::limited(self.max_orders, timers, Retention::new(self.keep), requests)
    }

    /// Makes the engine.
    ///
    /// # Errors
    ///
    /// [`TooManyOrders`](BuildError::TooManyOrders) for a capacity no engine can have, and
    /// [`OutOfMemory`](BuildError::OutOfMemory) for one this machine cannot give.
    pub fn build(self) -> Result<Stockade, BuildError> {
        let max = (1 << SLOT_BITS) - 1;
        if self.capacity as u64 > max {
            return Err(BuildError::TooManyOrders { capacity: self.capacity, max });
        }
        let capacity = self.capacity;
        let mut shop = self.empty();
        shop.provide(capacity).map_err(|_| BuildError::OutOfMemory { capacity })?;
        Ok(shop)
    }
}
