//! The guard for callers that do work of their own between taking stock and answering.

use super::cancel::Open;
use crate::engine::Found;
use crate::row::Op;
use crate::{CancelReason, HoldClosed, Reservation, ReserveError, Reserved, SkuRef, State, Stockade};

impl Stockade {
    /// As [`reserve`](Stockade::reserve), but answers a guard: dropped, also by a panic or `?`, it cancels the
    /// order; [`keep`](Hold::keep) keeps it. It cancels whatever holds units, also an order that somebody else has
    /// marked as paid meanwhile: keep first, then take money.
    ///
    /// Lock-free, as is dropping the guard. Linearization points: as `reserve` and [`cancel`](Stockade::cancel).
    ///
    /// # Errors
    ///
    /// As `reserve`.
    ///
    /// ```
    /// # use stockade::Stockade;
    /// fn checkout(shop: &Stockade, id: &str, card: Result<(), &'static str>) -> Result<(), Box<dyn std::error::Error>> {
    ///     let hold = shop.hold(id, &[("mug", 1)])?;
    ///     card?; // declined: the mug goes back
    ///     hold.keep()?;
    ///     Ok(())
    /// }
    ///
    /// let shop = Stockade::new();
    /// shop.add_sku("mug", 1).unwrap();
    /// assert!(checkout(&shop, "order-1", Err("declined")).is_err());
    /// assert!(checkout(&shop, "order-2", Ok(())).is_ok());
    /// assert_eq!(shop.stock("mug").unwrap().available, 0);
    /// ```
    pub fn hold<S: SkuRef>(&self, id: &str, lines: &[(S, u32)]) -> Result<Hold<'_>, ReserveError> {
        let mut is_mine = false;
        let (reserved, op) = self.verb(|| {
            let taken = self.try_reserve(id, lines, None)?;
            is_mine = taken.0.is_new() && self.protocol.guard(taken.1.slot, true);
            Ok::<_, ReserveError>(taken)
        })?;
        let replay_of = (!is_mine).then(|| id.into());
        Ok(Hold { engine: self, op, reserved, replay_of, gives_back: is_mine })
    }
}

/// Stock taken by [`hold`](Stockade::hold), not kept yet.
///
/// Only the hold that took the stock gives it back. A hold that was a replay is somebody else's to
/// cancel: dropping it changes nothing.
#[derive(Debug)]
#[must_use = "dropping a hold gives the stock back"]
pub struct Hold<'a> {
    engine: &'a Stockade,
    op: Op,
    reserved: Reserved,
    /// The order's id, if somebody else has to give back: nothing keeps that order from being forgotten.
    replay_of: Option<Box<str>>,
    gives_back: bool,
}

impl Hold<'_> {
    /// What the reserve answered.
    pub fn reserved(&self) -> Reserved {
        self.reserved
    }

    /// Keeps the order.
    ///
    /// Lock-free. Linearization point: the load of the order's state.
    ///
    /// # Errors
    ///
    /// [`HoldClosed`] if somebody cancelled the order meanwhile, or if it has a deadline and that has come: then there
    /// is nothing to keep.
    pub fn keep(mut self) -> Result<Reservation, HoldClosed> {
        let state = match &self.replay_of {
            Some(id) => self.engine.order_in(id, self.op.slot).map(|order| order.state),
            None => self.keep_mine(),
        };
        match state {
            Some(State::Cancelled) | None => Err(HoldClosed { state: State::Cancelled }),
            Some(_) => Ok(self.reserved.reservation()),
        }
    }

    /// Lets go of the order without giving it back; the state it is in.
    fn keep_mine(&mut self) -> Option<State> {
        let protocol = &self.engine.protocol;
        let _pin = protocol.retention.pin();
        let state = self.word().shown();
        self.gives_back = false;
        protocol.guard(self.op.slot, false);
        state
    }

    fn word(&self) -> crate::state::OrderWord {
        self.engine.protocol.records.get(self.op.slot).state()
    }
}

impl Drop for Hold<'_> {
    fn drop(&mut self) {
        let _pin = self.engine.protocol.retention.pin();
        let is_mine = self.gives_back;
        while self.gives_back {
            let found = Found { slot: self.op.slot, word: self.word() };
            if found.word.is_busy() {
                // Somebody else changes it, or has begun to give back: when this returns it must have happened.
                self.engine.protocol.help(found.op());
            } else {
                // A FULFILLED order stays as it is, and so does one that was cancelled.
                let closed = self.engine.close(found, CancelReason::HoldDropped);
                self.gives_back = matches!(closed, Err(Open::Moved));
            }
        }
        if is_mine {
            self.engine.protocol.guard(self.op.slot, false);
        }
    }
}
