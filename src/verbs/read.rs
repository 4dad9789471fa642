//! Verbs that only look: order, orders, stats.

use crate::engine::Found;
use crate::record::Deadline;
use crate::timers::Moment;
use crate::{Order, OrderLine, State, Stats, Stockade};

impl Stockade {
    /// An order as it stood at one instant; `None` if no order has this id.
    ///
    /// What is being decided shows as it was before: an order appears reserved at the same instant at which
    /// its units leave the rows.
    ///
    /// Lock-free; writes nothing, unless it finds the order's hold dead and lets go of it. Linearization point: the
    /// load of the order's state; of `None`, that of the index.
    ///
    /// ```
    /// # use stockade::{State, Stockade};
    /// let shop = Stockade::new();
    /// let mug = shop.add_sku("mug", 3).unwrap();
    /// let _ = shop.reserve("order-1", &[("mug", 2)]).unwrap();
    /// let order = shop.order("order-1").unwrap();
    /// assert_eq!((order.state, order.version), (State::InventoryReserved, 1));
    /// assert_eq!((order.lines[0].sku, order.lines[0].ordered), (mug, 2));
    /// ```
    pub fn order(&self, id: &str) -> Option<Order> {
        let _pin = self.protocol.retention.pin();
        let moment = self.protocol.timers.moment();
        self.view_order(id, |found| self.view(found, &moment))
    }

    /// The same, if the order is the one with this record: another may have come under the id after it was forgotten.
    pub(super) fn order_in(&self, id: &str, slot: u32) -> Option<Order> {
        let _pin = self.protocol.retention.pin();
        let moment = self.protocol.timers.moment();
        self.view_order(id, |found| if found.slot == slot { self.view(found, &moment) } else { None })
    }

    /// Every order, each as it stood at an instant of its own, in no particular order.
    ///
    /// An order that exists during the whole iteration comes once; one that is made meanwhile may come or not.
    /// Memory: a few hundred orders at a time. Lock-free.
    ///
    /// ```
    /// # use stockade::Stockade;
    /// let shop = Stockade::new();
    /// shop.add_sku("mug", 3).unwrap();
    /// let _ = shop.reserve("order-1", &[("mug", 2)]).unwrap();
    /// let held: u32 = shop.orders().filter(|o| o.state.holds()).flat_map(|o| o.lines).map(|l| l.open).sum();
    /// assert_eq!(held, 2);
    /// ```
    pub fn orders(&self) -> impl Iterator<Item = Order> + '_ {
        let mut from = Some(0);
        let moment = self.protocol.timers.moment();
        std::iter::from_fn(move || {
            let _pin = self.protocol.retention.pin();
            let (some, next) = self.visit_orders(from?, |found| self.view(found, &moment));
            from = next;
            Some(some)
        })
        .flatten()
    }

    /// The order as its word says; a hold that is dead is let go first.
    fn view(&self, found: Found, moment: &Moment<'_>) -> Option<Order> {
        let records = &self.protocol.records;
        let Found { slot, mut word } = found;
        while self.protocol.let_go_if_dead(Found { slot, word }, moment) {
            word = records.get(slot).state();
        }
        let (word, parts) = self.protocol.parts(slot, word);
        let state = word.shown()?;
        let lines = parts.into_iter().map(|part| OrderLine {
            sku: self.handle(part.row),
            ordered: part.ordered,
            open: part.open(),
            fulfilled: part.fulfilled,
            cancelled: part.cancelled,
        });
        let deadline = records.deadline_to_come(slot).filter(|_| state == State::InventoryReserved);
        Some(Order {
            state,
            deadline_ms: deadline.map(Deadline::ends_ms),
            version: word.version(),
            id: String::from_utf8_lossy(&records.id(slot)).into_owned(),
            lines: lines.collect(),
            cancelled: word.reason(),
        })
    }

    /// Counts since the engine was made. Exact once nothing is running.
    ///
    /// ```
    /// # use stockade::Stockade;
    /// let shop = Stockade::new();
    /// shop.add_sku("mug", 1).unwrap();
    /// let _ = shop.reserve("order-1", &[("mug", 1)]);
    /// let _ = shop.reserve("order-1", &[("mug", 1)]);
    /// let _ = shop.reserve("order-2", &[("mug", 1)]);
    /// let stats = shop.stats();
    /// assert_eq!((stats.orders.inventory_reserved, stats.replays, stats.refusals.insufficient), (1, 1, 1));
    /// ```
    pub fn stats(&self) -> Stats {
        self.protocol.tally.stats()
    }
}
