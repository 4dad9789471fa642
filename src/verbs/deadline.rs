//! Verbs for holds that end: expire_due, extend, and the payment that comes late.

use super::reserve::check_ttl;
use crate::engine::Found;
use crate::hooks::{Step, step};
use crate::layout::LAST_RESERVE_TAG;
use crate::record::Deadline;
use crate::row::Op;
use crate::state::Phase;
use crate::timers::{ALL, Moment};
use crate::{ExtendError, Extended, PaidLate, PayAgainError, ReserveError, State, Stockade};

impl Stockade {
    /// Lets go of up to `limit` holds whose deadline has come, in the order of their deadlines, and answers their
    /// orders' ids, so that customers can be told. Those that somebody else let go in passing, because he needed the
    /// units or looked at the order, are among them: each id comes once, whoever calls, but not that of an order that
    /// has been paid for late by then (and one that is answered may be paid for late before its customer hears of it).
    /// Fewer than `limit`: nothing more was due. Some 70 bytes are kept for each hold that ended until it has been
    /// answered here, so call it now and then.
    ///
    /// Nothing waits for this call: units of dead holds are free without it.
    ///
    /// Lock-free. Linearization point: of each order its own, as [`cancel`](Stockade::cancel).
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use stockade::{CancelReason, ManualClock, Stockade};
    /// let clock = Arc::new(ManualClock::default());
    /// let shop = Stockade::builder().clock(Arc::clone(&clock)).build().unwrap();
    /// shop.add_sku("mug", 9).unwrap();
    /// let _ = shop.reserve_for("order-1", &[("mug", 2)], 20_000).unwrap();
    /// let _ = shop.reserve_for("order-2", &[("mug", 2)], 10_000).unwrap();
    ///
    /// clock.set_ms(30_000);
    /// assert_eq!(shop.expire_due(100), ["order-2", "order-1"]);
    /// assert_eq!(shop.order("order-1").unwrap().cancelled, Some(CancelReason::Expired));
    /// ```
    pub fn expire_due(&self, limit: usize) -> Vec<String> {
        let _pin = self.protocol.retention.pin();
        let ids = self.protocol.expire_due(limit);
        ids.into_iter().map(|id| String::from_utf8_lossy(&id).into_owned()).collect()
    }

    /// Lets a live hold end `ttl_ms` milliseconds from now, if that is later than it would, but no later than
    /// [`Builder::max_hold_ms`](crate::Builder::max_hold_ms) after it began; answers when it now ends.
    ///
    /// Lock-free. Linearization point: the CAS on the deadline; if the order has been paid for or cancelled by then,
    /// right before that. Of the other answers, the load of the order's state or deadline.
    ///
    /// # Errors
    ///
    /// The first that applies: [`Invalid`](ExtendError::Invalid) for 0 ms, [`UnknownOrder`](ExtendError::UnknownOrder),
    /// [`Expired`](ExtendError::Expired) from the deadline on, [`InvalidState`](ExtendError::InvalidState) in any state
    /// but INVENTORY_RESERVED, [`NoDeadline`](ExtendError::NoDeadline).
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use stockade::{ExtendError, ManualClock, Stockade};
    /// let clock = Arc::new(ManualClock::default());
    /// let shop = Stockade::builder().clock(Arc::clone(&clock)).max_hold_ms(15_000).build().unwrap();
    /// shop.add_sku("mug", 1).unwrap();
    /// let _ = shop.reserve_for("order-1", &[("mug", 1)], 10_000).unwrap();
    ///
    /// clock.set_ms(2_000);
    /// assert_eq!(shop.extend("order-1", 10_000)?.deadline_ms, 12_000);
    /// assert_eq!(shop.extend("order-1", 5_000)?.deadline_ms, 12_000); // never shorter
    /// assert_eq!(shop.extend("order-1", 60_000)?.deadline_ms, 15_000); // and not for ever
    /// clock.set_ms(15_000);
    /// assert_eq!(shop.extend("order-1", 10_000), Err(ExtendError::Expired));
    /// # Ok::<(), ExtendError>(())
    /// ```
    pub fn extend(&self, id: &str, ttl_ms: u64) -> Result<Extended, ExtendError> {
        self.verb(|| self.try_extend(id, ttl_ms))
    }

    fn try_extend(&self, id: &str, ttl_ms: u64) -> Result<Extended, ExtendError> {
        check_ttl(Some(ttl_ms))?;
        let hash = self.hash(id);
        let moment = self.protocol.timers.moment();
        loop {
            let found = self.find_settled(id, hash, &moment).map_err(|_| ExtendError::UnknownOrder)?;
            if found.word.is_expired() {
                return Err(ExtendError::Expired);
            }
            match found.word.shown() {
                Some(State::InventoryReserved) => {}
                Some(actual) => return Err(ExtendError::InvalidState { actual }),
                None => continue,
            }
            let (hold, deadline) = self.protocol.hold(found.slot).ok_or(ExtendError::NoDeadline)?;
            if let Some(deadline_ms) = self.move_deadline(found, hold, deadline, ttl_ms, &moment) {
                return Ok(Extended { deadline_ms });
            }
        }
    }

    /// One attempt to move a deadline on. `None`: something moved, try again.
    fn move_deadline(
        &self,
        found: Found,
        hold: Op,
        deadline: Deadline,
        ttl_ms: u64,
        moment: &Moment<'_>,
    ) -> Option<u64> {
        let (timers, records) = (&self.protocol.timers, &self.protocol.records);
        let since_ms = timers.since_ms(hold, deadline.ends_ms())?;
        let ends_ms = timers.end_of(since_ms, moment.ms(), ttl_ms);
        let rows = self.protocol.open_lines(found.slot, found.word).map(|line| line.row);
        if deadline.is_dead() || records.get(found.slot).state().tag() != found.word.tag() {
            return None;
        }
        if ends_ms <= deadline.ends_ms() {
            return Some(deadline.ends_ms());
        }
        timers.enter(hold, ends_ms, since_ms, rows.iter().copied());
        step(Step::ExtensionEntered);
        // If this fails, or the order has been paid for, the entries stay until they are due: somebody else may have
        // moved the deadline to the same instant.
        if !records.set_deadline(found.slot, deadline, Deadline::new(ends_ms, hold.tag)) {
            return None;
        }
        step(Step::DeadlineMoved);
        timers.leave(hold, deadline.ends_ms(), rows.iter().copied().chain([ALL]));
        Some(ends_ms)
    }

    /// For a payment that may come late. A live hold is marked as paid, as by [`pay`](Stockade::pay). If the hold has
    /// expired and its units are still free, they are taken again and the order is PAID, in one instant. Otherwise the
    /// order stays as it is, and the payment must be returned. (A `cancel` or `void` of an order that has expired has
    /// no effect, so this verb still has.) This is the verb for a payment provider's callback:
    ///
    /// ```
    /// # use stockade::{PaidLate, PayAgainError, Stockade};
    /// # fn refund(_: &str) {}
    /// fn payment_received(shop: &Stockade, id: &str) {
    ///     match shop.pay_or_reserve_again(id) {
    ///         Ok(PaidLate::InTime { .. } | PaidLate::Again { .. }) => { /* confirm to the customer */ }
    ///         Ok(PaidLate::Already { .. }) => { /* a repeated callback */ }
    ///         Err(_) => refund(id), // sold meanwhile, cancelled, or not known
    ///         # #[allow(unreachable_patterns)]
    ///         # _ => {}
    ///     }
    /// }
    /// # payment_received(&Stockade::new(), "order-1");
    /// ```
    ///
    /// Lock-free. Linearization point: the CAS on the order's state that makes it PAID, which for an expired order
    /// comes once every row is frozen for it; refused, one instant at which every listed row was short.
    ///
    /// # Errors
    ///
    /// The first that applies: [`UnknownOrder`](PayAgainError::UnknownOrder),
    /// [`InvalidState`](PayAgainError::InvalidState) (CREATED, or cancelled for another reason),
    /// [`Insufficient`](PayAgainError::Insufficient), [`Exhausted`](PayAgainError::Exhausted).
    pub fn pay_or_reserve_again(&self, id: &str) -> Result<PaidLate, PayAgainError> {
        self.verb(|| self.try_pay_or_reserve_again(id))
    }

    fn try_pay_or_reserve_again(&self, id: &str) -> Result<PaidLate, PayAgainError> {
        let hash = self.hash(id);
        let moment = self.protocol.timers.moment();
        loop {
            let found = self.find_settled(id, hash, &moment).map_err(|_| PayAgainError::UnknownOrder)?;
            match found.word.shown() {
                Some(State::InventoryReserved) => {
                    if let Some(version) = self.step_on(found, Phase::Paid) {
                        return Ok(PaidLate::InTime { version });
                    }
                }
                Some(state @ (State::Paid | State::Fulfilled)) => return Ok(PaidLate::Already { state }),
                Some(_) if found.word.is_expired() => {
                    if let Some(version) = self.revive(found)? {
                        return Ok(PaidLate::Again { version });
                    }
                }
                Some(actual) => return Err(PayAgainError::InvalidState { actual }),
                None => {}
            }
        }
    }

    /// One attempt to take an expired order's units again; the version it then has. `None`: something moved, try again.
    fn revive(&self, found: Found) -> Result<Option<u64>, PayAgainError> {
        let Found { slot, word } = found;
        let order = self.protocol.records.descriptor(slot);
        let lines = self.protocol.open_lines(slot, word);
        let seen = match self.protocol.look_closely(&lines) {
            Ok(seen) => seen,
            // Still expired, so it held nothing at the instant of the shortage either.
            Err(refusal) => return if order.record.state() == word { Err(refusal.into()) } else { Ok(None) },
        };
        if word.tag() >= LAST_RESERVE_TAG {
            return Err(PayAgainError::Exhausted);
        }
        // What gave the stock back must be finished on every row before the tag moves on.
        self.protocol.finish(found.op(), word);
        let busy = word.begin(Phase::Reviving);
        step(Step::TransitionComputed);
        if !order.record.advance(word, busy) {
            return Ok(None);
        }
        step(Step::RetryBegun);
        let revived = self.attempt(order, busy, seen)?;
        Ok(revived.map(|_| word.version() + 1))
    }
}

impl From<ReserveError> for PayAgainError {
    fn from(refusal: ReserveError) -> Self {
        match refusal {
            ReserveError::Insufficient { short } => PayAgainError::Insufficient { short },
            _ => PayAgainError::Exhausted,
        }
    }
}
