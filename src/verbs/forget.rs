//! The verb that forgets finished orders.

use crate::Stockade;

impl Stockade {
    /// Forgets finished orders that have been kept for as long as
    /// [`Builder::keep_finished`](crate::Builder::keep_finished) says, and answers how many. It goes round all orders,
    /// call by call: each looks at `limit` more of them, and at the rest of the few hundred it has begun with. Orders
    /// that hold something are never forgotten, and neither are those whose [`Hold`](crate::Hold), the one that took
    /// the stock, is still open. Without `keep_finished` it does nothing.
    ///
    /// What a late repeat of a forgotten id gets: it is an id that nobody has used. `order` answers `None`, `cancel`
    /// that it is unknown, `pay` [`UnknownOrder`](crate::AdvanceError::UnknownOrder), `void` marks it, and **`reserve`
    /// takes stock for a new order**. So keep orders for longer than anybody repeats.
    ///
    /// An order is kept at least as long as said, and at most a sixteenth and 16 milliseconds (or orders) longer before
    /// a call that comes past it forgets it. That is counted from the age that the call which ended the order read,
    /// right before it did; an expired hold's from when somebody came across it. (If no call comes past it for seven
    /// times as long, it is kept for some time more.) The id of an expired order that is forgotten is not answered by
    /// [`expire_due`](Self::expire_due) any more. What forgotten orders shipped leaves the
    /// [books](crate::Balance::received) with them.
    ///
    /// Memory stays flat if, for each new order, a call looks at a few. It is used again when the index next has to
    /// make room where the order was, and every verb that was under way then has ended: a thread that is stopped inside
    /// a verb delays that, and nothing else.
    ///
    /// Lock-free. Linearization point: of each order its own, the CAS on its state.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use stockade::{Cancelled, Keep, ManualClock, Stockade};
    /// let clock = Arc::new(ManualClock::default());
    /// let day_ms = 24 * 60 * 60 * 1000;
    /// let shop = Stockade::builder().clock(Arc::clone(&clock)).keep_finished(Keep::ForMs(day_ms)).build().unwrap();
    /// shop.add_sku("mug", 1).unwrap();
    /// let _ = shop.reserve("order-1", &[("mug", 1)]).unwrap();
    /// let _ = shop.cancel("order-1").unwrap();
    ///
    /// clock.advance_ms(day_ms);
    /// assert_eq!(shop.forget_finished(100), 0);
    /// assert_eq!(shop.cancel("order-1").unwrap(), Cancelled::Already);
    /// clock.advance_ms(day_ms / 8);
    /// assert_eq!(shop.forget_finished(100), 1);
    /// assert_eq!(shop.cancel("order-1").unwrap(), Cancelled::Unknown);
    /// ```
    pub fn forget_finished(&self, limit: usize) -> usize {
        let protocol = &self.protocol;
        let Some(pin) = protocol.retention.pin() else { return 0 };
        pin.flush();
        protocol.reclaim();
        let (mut looked_at, mut forgotten) = (0, 0);
        while looked_at < limit {
            let from = protocol.hand();
            let (orders, next) = self.visit_orders(from, Some);
            protocol.move_hand(from, next);
            looked_at += orders.len().max(1);
            forgotten +=
                orders.into_iter().filter(|found| protocol.is_old(found.word) && protocol.forget(*found)).count();
            if next.is_none() {
                break;
            }
        }
        forgotten
    }
}
