//! Verbs that move an order on: pay, fulfil, and the strict transition.

use super::cancel::Open;
use crate::engine::Found;
use crate::hooks::{Step, step};
use crate::state::Phase;
use crate::{AdvanceError, Advanced, CancelReason, ReserveError, State, Stockade, TransitionError};

impl Stockade {
    /// Marks a reserved order as paid. It keeps its units, and a deadline it had is gone.
    ///
    /// A repeated call, also after FULFILLED, is [`Advanced::Already`] and changes nothing.
    ///
    /// Lock-free. Linearization point: the CAS on the order's state; of the other answers, its load.
    ///
    /// # Errors
    ///
    /// [`UnknownOrder`](AdvanceError::UnknownOrder); [`Expired`](AdvanceError::Expired) from the deadline on
    /// ([`pay_or_reserve_again`](Stockade::pay_or_reserve_again) does what can still be done);
    /// [`InvalidState`](AdvanceError::InvalidState) from CREATED and CANCELLED: then the payment must be returned.
    ///
    /// ```
    /// # use stockade::{AdvanceError, Advanced, State, Stockade};
    /// let shop = Stockade::new();
    /// shop.add_sku("mug", 1).unwrap();
    /// let _ = shop.reserve("order-1", &[("mug", 1)]).unwrap();
    /// assert_eq!(shop.pay("order-1")?, Advanced::Done { version: 2 });
    /// assert_eq!(shop.pay("order-1")?, Advanced::Already { state: State::Paid });
    ///
    /// let _ = shop.cancel("order-1").unwrap();
    /// assert_eq!(shop.pay("order-1"), Err(AdvanceError::InvalidState { actual: State::Cancelled }));
    /// # Ok::<(), AdvanceError>(())
    /// ```
    pub fn pay(&self, id: &str) -> Result<Advanced, AdvanceError> {
        self.verb(|| self.advance(id, Phase::Reserved, Phase::Paid))
    }

    /// Marks a paid order as fulfilled: its units have left for good.
    ///
    /// A repeated call is [`Advanced::Already`] and changes nothing.
    ///
    /// Lock-free. Linearization point: the CAS on the order's state; of the other answers, its load.
    ///
    /// # Errors
    ///
    /// [`UnknownOrder`](AdvanceError::UnknownOrder); [`Expired`](AdvanceError::Expired);
    /// [`InvalidState`](AdvanceError::InvalidState) from CREATED, INVENTORY_RESERVED and CANCELLED.
    ///
    /// ```
    /// # use stockade::{AdvanceError, Advanced, State, Stockade};
    /// let shop = Stockade::new();
    /// shop.add_sku("mug", 1).unwrap();
    /// let _ = shop.reserve("order-1", &[("mug", 1)]).unwrap();
    /// assert_eq!(shop.fulfil("order-1"), Err(AdvanceError::InvalidState { actual: State::InventoryReserved }));
    /// let _ = shop.pay("order-1")?;
    /// assert_eq!(shop.fulfil("order-1")?, Advanced::Done { version: 3 });
    /// # Ok::<(), AdvanceError>(())
    /// ```
    pub fn fulfil(&self, id: &str) -> Result<Advanced, AdvanceError> {
        self.verb(|| self.advance(id, Phase::Paid, Phase::Fulfilled))
    }

    fn advance(&self, id: &str, from: Phase, to: Phase) -> Result<Advanced, AdvanceError> {
        let hash = self.hash(id);
        let moment = self.protocol.timers.moment();
        loop {
            let found = self.find_settled(id, hash, &moment).map_err(|_| AdvanceError::UnknownOrder)?;
            let phase = found.word.phase();
            if phase == from {
                if let Some(version) = self.step_on(found, to) {
                    return Ok(Advanced::Done { version });
                }
            } else if let Some(actual) = found.word.shown() {
                let already = phase == to || phase == Phase::Fulfilled;
                return if already {
                    Ok(Advanced::Already { state: actual })
                } else if found.word.is_expired() {
                    Err(AdvanceError::Expired)
                } else {
                    Err(AdvanceError::InvalidState { actual })
                };
            }
        }
    }

    /// Moves an order on without touching rows; the version it then has, unless it has moved meanwhile.
    pub(super) fn step_on(&self, found: Found, to: Phase) -> Option<u64> {
        let next = found.word.transition(to);
        step(Step::TransitionComputed);
        let moved = self.protocol.advance(self.protocol.records.get(found.slot), found.word, next);
        if moved && to == Phase::Paid {
            let rows = self.protocol.open_lines(found.slot, found.word);
            self.protocol.forget_hold(found.slot, rows.iter().map(|line| line.row), false);
        }
        moved.then_some(next.version())
    }

    /// Moves an order from exactly one state to another, with the same effects as the named verbs; answers the
    /// order's new version. Strict: a repeated callback finds the order elsewhere and is rejected.
    ///
    /// Lock-free. Linearization point: that of the named verb; of a rejection, the load of the order's state.
    ///
    /// # Errors
    ///
    /// The first that applies: [`NotAllowed`](TransitionError::NotAllowed),
    /// [`UnknownOrder`](TransitionError::UnknownOrder), [`InvalidState`](TransitionError::InvalidState),
    /// [`PartlyFulfilled`](TransitionError::PartlyFulfilled), [`Insufficient`](TransitionError::Insufficient),
    /// [`Exhausted`](TransitionError::Exhausted).
    ///
    /// ```
    /// # use stockade::{State, Stockade, TransitionError};
    /// let shop = Stockade::new();
    /// shop.add_sku("mug", 1).unwrap();
    /// let _ = shop.reserve("order-1", &[("mug", 1)]).unwrap();
    /// assert_eq!(shop.transition("order-1", State::InventoryReserved, State::Paid)?, 2);
    /// assert_eq!(
    ///     shop.transition("order-1", State::InventoryReserved, State::Paid),
    ///     Err(TransitionError::InvalidState { expected: State::InventoryReserved, actual: State::Paid }),
    /// );
    /// # Ok::<(), TransitionError>(())
    /// ```
    pub fn transition(&self, id: &str, from: State, to: State) -> Result<u64, TransitionError> {
        self.verb(|| self.try_transition(id, from, to))
    }

    fn try_transition(&self, id: &str, from: State, to: State) -> Result<u64, TransitionError> {
        if !from.may_become(to) {
            return Err(TransitionError::NotAllowed { from, to });
        }
        let hash = self.hash(id);
        let moment = self.protocol.timers.moment();
        loop {
            let found = self.find_settled(id, hash, &moment).map_err(|_| TransitionError::UnknownOrder)?;
            match found.word.shown() {
                Some(actual) if actual != from => {
                    return Err(TransitionError::InvalidState { expected: from, actual });
                }
                Some(_) => {}
                None => continue,
            }
            if let Some(version) = self.transition_found(found, to)? {
                return Ok(version);
            }
        }
    }

    /// One attempt. `None`: something moved, try again.
    fn transition_found(&self, found: Found, to: State) -> Result<Option<u64>, TransitionError> {
        match to {
            State::Created => Ok(None),
            State::InventoryReserved => {
                let lines = self.protocol.open_lines(found.slot, found.word);
                match self.reserve_created(found, &lines, None) {
                    Ok(reserved) => Ok(reserved.map(|_| found.word.version() + 1)),
                    Err(ReserveError::Insufficient { short }) => Err(TransitionError::Insufficient { short }),
                    Err(_) => Err(TransitionError::Exhausted),
                }
            }
            State::Paid => Ok(self.step_on(found, Phase::Paid)),
            State::Fulfilled => Ok(self.step_on(found, Phase::Fulfilled)),
            State::Cancelled if found.word.has_shipped() => Err(TransitionError::PartlyFulfilled),
            State::Cancelled => match self.close(found, CancelReason::Cancelled) {
                Ok(_) => Ok(Some(found.word.version() + 1)),
                // Only from a state that may not become CANCELLED, which has been ruled out.
                Err(Open::InvalidState(actual)) => Err(TransitionError::NotAllowed { from: actual, to }),
                Err(Open::Moved) => Ok(None),
            },
        }
    }
}
