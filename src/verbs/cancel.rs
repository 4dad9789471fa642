//! Verbs that end an order and give back what it holds: cancel and void.

use crate::arena::Full;
use crate::engine::{Found, Unknown};
use crate::hooks::{Step, step};
use crate::request::check_key;
use crate::state::Phase;
use crate::stats::Event;
use crate::{CancelError, CancelReason, Cancelled, State, Stockade, VoidError};

/// How an attempt to close an order went, when it did not close it.
pub(super) enum Open {
    /// The order is in a state from which it cannot be closed, or not the one it was to be closed from.
    InvalidState(State),
    /// Something moved, try again.
    Moved,
}

impl Stockade {
    /// Cancels an order and gives back what it holds, once. Its id is kept and never becomes a yes again. An order
    /// whose hold has expired is [`Already`](Cancelled::Already) cancelled, and stays what it is. Of an order that was
    /// fulfilled in part, what is open goes back, and the order is FULFILLED.
    ///
    /// Lock-free. Linearization point: from INVENTORY_RESERVED and PAID, the CAS that makes the order CANCELLED
    /// once every row is frozen for it; from CREATED, the CAS on its state; of the other answers, the load of the
    /// state or of the index.
    ///
    /// # Errors
    ///
    /// [`InvalidState`](CancelError::InvalidState) from FULFILLED: the goods have left.
    ///
    /// ```
    /// # use stockade::{Cancelled, Stockade};
    /// let shop = Stockade::new();
    /// shop.add_sku("mug", 3).unwrap();
    /// let _ = shop.reserve("order-1", &[("mug", 2)]).unwrap();
    /// assert_eq!(shop.cancel("order-1")?.units(), 2);
    /// assert_eq!(shop.cancel("order-1")?, Cancelled::Already);
    /// assert_eq!(shop.cancel("order-2")?, Cancelled::Unknown);
    /// assert_eq!(shop.stock("mug").unwrap().available, 3);
    /// # Ok::<(), stockade::CancelError>(())
    /// ```
    pub fn cancel(&self, id: &str) -> Result<Cancelled, CancelError> {
        self.verb(|| {
            let closed = self.close_known(id, self.hash(id), CancelReason::Cancelled);
            let closed = closed.map(|known| known.unwrap_or(Cancelled::Unknown));
            closed.map_err(|actual| CancelError::InvalidState { actual })
        })
    }

    /// As [`cancel`](Stockade::cancel); moreover an unknown id is marked CANCELLED, so that a reserve that arrives
    /// late is refused. For systems in which messages overtake each other.
    ///
    /// Lock-free. Linearization point: as `cancel`; of a mark, the CAS that enters it in the index.
    ///
    /// # Errors
    ///
    /// The first that applies: [`Invalid`](VoidError::Invalid) id, [`InvalidState`](VoidError::InvalidState) from
    /// FULFILLED, [`Full`](VoidError::Full).
    ///
    /// ```
    /// # use stockade::{Cancelled, ReserveError, Stockade};
    /// let shop = Stockade::new();
    /// shop.add_sku("mug", 3).unwrap();
    /// assert_eq!(shop.void("order-1")?, Cancelled::Unknown);
    /// assert!(matches!(shop.reserve("order-1", &[("mug", 2)]), Err(ReserveError::Closed { .. })));
    /// assert_eq!(shop.void("order-1")?, Cancelled::Already);
    /// # Ok::<(), stockade::VoidError>(())
    /// ```
    pub fn void(&self, id: &str) -> Result<Cancelled, VoidError> {
        self.verb(|| self.try_void(id))
    }

    fn try_void(&self, id: &str) -> Result<Cancelled, VoidError> {
        check_key(id)?;
        let hash = self.hash(id);
        loop {
            let closed = self.close_known(id, hash, CancelReason::Voided);
            let unknown = match closed.map_err(|actual| VoidError::InvalidState { actual })? {
                Ok(answer) => return Ok(answer),
                Err(unknown) => unknown,
            };
            let mark = self.protocol.records.draft(id, None, &[], Phase::Cancelled, 1)?;
            let record = mark.order.record;
            let marked = record.state().because(CancelReason::Voided);
            // As old as it is in the index, however long that takes: until then it cannot be forgotten.
            let forgets = self.protocol.retention.forgets();
            record.set_state(marked.guarded(forgets));
            step(Step::Drafted);
            if self.enter(id, unknown, mark.order.slot)? {
                mark.publish();
                if forgets {
                    self.protocol.advance(record, marked.guarded(true), marked);
                }
                self.protocol.tally.add(Event::Marked);
                return Ok(Cancelled::Unknown);
            }
        }
    }

    fn close_known(&self, id: &str, hash: u64, reason: CancelReason) -> Result<Result<Cancelled, Unknown<'_>>, State> {
        let moment = self.protocol.timers.moment();
        loop {
            let found = match self.find_settled(id, hash, &moment) {
                Ok(found) => found,
                Err(unknown) => return Ok(Err(unknown)),
            };
            if found.word.shown() == Some(State::Cancelled) {
                return Ok(Ok(Cancelled::Already));
            }
            match self.close(found, reason) {
                Ok(released) => return Ok(Ok(released)),
                Err(Open::InvalidState(actual)) => return Err(actual),
                Err(Open::Moved) => {}
            }
        }
    }

    /// One attempt to close an order out of the state it was found in.
    pub(super) fn close(&self, found: Found, reason: CancelReason) -> Result<Cancelled, Open> {
        let Found { slot, word } = found;
        match word.phase() {
            Phase::Created => {
                // A tag of its own: intents of refused attempts must not be taken for the cancel's.
                let cancelled = word.begin(Phase::Created).transition(Phase::Cancelled).because(reason);
                step(Step::TransitionComputed);
                let done = self.protocol.advance(self.protocol.records.get(slot), word, cancelled);
                let released = Cancelled::Released { from: State::Created, lines: Vec::new() };
                if done { Ok(released) } else { Err(Open::Moved) }
            }
            Phase::Reserved | Phase::Paid => {
                let lines = self.protocol.release(slot, word, reason).ok_or(Open::Moved)?;
                let from = if word.phase() == Phase::Paid { State::Paid } else { State::InventoryReserved };
                Ok(Cancelled::Released { from, lines: lines.iter().map(|line| self.line(*line)).collect() })
            }
            _ => Err(word.shown().map_or(Open::Moved, Open::InvalidState)),
        }
    }
}

impl From<Full> for VoidError {
    fn from(_: Full) -> Self {
        VoidError::Full
    }
}
