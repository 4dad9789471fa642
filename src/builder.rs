//! How big an engine is from the beginning, and how big it may become.

use crate::Stockade;
use crate::error::BuildError;
use crate::layout::SLOT_BITS;

/// Makes a [`Stockade`] with room from the beginning, or with a limit.
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
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct Builder {
    capacity: usize,
    max_orders: Option<u64>,
}

impl Builder {
    /// Claims and touches the memory for so many orders now, so that no order up to there pays for growth: no new memory,
    /// no page fault, no division of the index. Orders of one line with an id of up to 40 bytes; 64 bytes more for each further
    /// 48 bytes of id and lines. What comes after these grows as ever.
    pub fn capacity(mut self, orders: usize) -> Self {
        self.capacity = orders;
        self
    }

    /// Takes no more orders than this, cancelled ones and ids marked by `void` included, because they keep their id: past it
    /// a new id gets `Full`, and nothing changes. What is under way counts until it is refused; so at the very limit a repeat
    /// that comes while its first is being entered can get `Full` too, and learns the result when it asks again.
    ///
    /// A limit costs one shared counter for each new order.
    pub fn max_orders(mut self, orders: u64) -> Self {
        self.max_orders = Some(orders);
        self
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
        let mut shop = Stockade::limited(self.max_orders);
        shop.provide(self.capacity).map_err(|_| BuildError::OutOfMemory { capacity: self.capacity })?;
        Ok(shop)
    }
}
