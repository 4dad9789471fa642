//! The order's state word: one atomic word in which everything about an order is decided.
//!
//! Between two states that users see lies a busy phase, in which some thread (or several, helping) is
//! changing the rows; readers show the state before it. From -> to, and nothing else:
//!
//! ```text
//! VACANT ── RESERVING ──────────────┬──> RESERVED ──> PAID ──> FULFILLED
//!   │           └──> REFUSED ─> DEAD│        │          │ └──<──────────────────┐
//!   └── CREATED ── RETRYING ────────┘        │          │                       │
//!        │  └──<───────┘ (refused)     RELEASING   RELEASING_PAID               │
//!        └──> CANCELLED <────────────────────┴──────────┘                       │
//!                └── (expired) ── REVIVING <─> LAPSED (refused)                 │
//!                                    └──────────────────────────────────────────┘
//! ```
//!
//! RESERVING is a reserve of an id nobody knows: if refused, there never was an order. RETRYING is a reserve of
//! a CREATED order: if refused, it is CREATED again. REVIVING takes the units of an expired order again, for a payment that
//! comes late; LAPSED is CANCELLED for everybody, but its tag has given nothing back. Each busy phase has a tag of its own.

use crate::layout::{Field, TAG_BITS};
use crate::{CancelReason, State};

const PHASE: Field = Field::lowest(4);
const REASON: Field = PHASE.then(2);
const TAG: Field = REASON.then(TAG_BITS);
const VERSION: Field = TAG.then(24);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Not an order: free memory, or the continuation of another record.
    Vacant,
    /// Busy: taking stock for an id that is not an order yet.
    Reserving,
    /// Busy: taking stock for a CREATED order.
    Retrying,
    Created,
    Reserved,
    Paid,
    Fulfilled,
    /// Busy: giving back what a RESERVED order holds.
    Releasing,
    /// Busy: giving back what a PAID order holds.
    ReleasingPaid,
    Cancelled,
    /// A RESERVING that was refused; its caller has not seen it yet.
    Refused,
    /// A REFUSED that its caller has seen: the record can be recycled.
    Dead,
    /// Busy: taking stock again for an order that has expired.
    Reviving,
    /// A REVIVING that was refused: as expired as before.
    Lapsed,
}

const PHASES: [Phase; 14] = [
    Phase::Vacant,
    Phase::Reserving,
    Phase::Retrying,
    Phase::Created,
    Phase::Reserved,
    Phase::Paid,
    Phase::Fulfilled,
    Phase::Releasing,
    Phase::ReleasingPaid,
    Phase::Cancelled,
    Phase::Refused,
    Phase::Dead,
    Phase::Reviving,
    Phase::Lapsed,
];

/// What an operation, named by its tag, has done or will do to the rows that carry its intent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// Not decided yet.
    Undecided,
    /// Decided: each line is taken from its row.
    Take,
    /// Decided: each line is given back to its row.
    GiveBack,
    /// Decided, or long over: its intents mean nothing.
    Void,
}

/// A snapshot of the state word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OrderWord(pub(crate) u64);

impl OrderWord {
    pub(crate) fn new(phase: Phase, tag: u32, version: u64) -> Self {
        let word = PHASE.set(0, phase as u64);
        OrderWord(VERSION.set(TAG.set(word, u64::from(tag)), version))
    }

    #[inline]
    pub(crate) fn phase(self) -> Phase {
        // Only these phases are ever written.
        PHASES.get(PHASE.get(self.0) as usize).copied().unwrap_or(Phase::Vacant)
    }

    #[inline]
    pub(crate) fn tag(self) -> u32 {
        TAG.get(self.0) as u32
    }

    pub(crate) fn version(self) -> u64 {
        VERSION.get(self.0)
    }

    /// The same operation, one phase on: tag and version stay.
    pub(crate) fn to(self, phase: Phase) -> Self {
        OrderWord(PHASE.set(self.0, phase as u64))
    }

    /// A transition that users see.
    pub(crate) fn transition(self, phase: Phase) -> Self {
        OrderWord(VERSION.set(self.to(phase).0, self.version() + 1))
    }

    /// A new operation on this order: intents of earlier ones mean nothing from here on.
    pub(crate) fn begin(self, phase: Phase) -> Self {
        OrderWord(TAG.set(self.to(phase).0, u64::from(self.tag()) + 1))
    }

    pub(crate) fn because(self, reason: CancelReason) -> Self {
        let code = match reason {
            CancelReason::Cancelled => 0,
            CancelReason::Voided => 1,
            CancelReason::HoldDropped => 2,
            CancelReason::Expired => 3,
        };
        OrderWord(REASON.set(self.0, code))
    }

    pub(crate) fn reason(self) -> Option<CancelReason> {
        (self.shown() == Some(State::Cancelled)).then(|| match REASON.get(self.0) {
            0 => CancelReason::Cancelled,
            1 => CancelReason::Voided,
            2 => CancelReason::HoldDropped,
            _ => CancelReason::Expired,
        })
    }

    /// What readers show: a busy phase is shown as the state before it. `None`: there is no such order.
    pub(crate) fn shown(self) -> Option<State> {
        match self.phase() {
            Phase::Vacant | Phase::Reserving | Phase::Refused | Phase::Dead => None,
            Phase::Created | Phase::Retrying => Some(State::Created),
            Phase::Reserved | Phase::Releasing => Some(State::InventoryReserved),
            Phase::Paid | Phase::ReleasingPaid => Some(State::Paid),
            Phase::Fulfilled => Some(State::Fulfilled),
            Phase::Cancelled | Phase::Reviving | Phase::Lapsed => Some(State::Cancelled),
        }
    }

    /// Whether some thread is changing rows for this order right now.
    #[inline]
    pub(crate) fn is_busy(self) -> bool {
        self.takes() || matches!(self.phase(), Phase::Releasing | Phase::ReleasingPaid)
    }

    /// Whether the busy phase takes from rows, and can therefore be refused.
    #[inline]
    pub(crate) fn takes(self) -> bool {
        matches!(self.phase(), Phase::Reserving | Phase::Retrying | Phase::Reviving)
    }

    /// What a busy phase becomes when every row carries its intent; `short` if a row had too little.
    /// `None` if the phase is not busy, that is, if it is decided.
    pub(crate) fn decide(self, short: bool) -> Option<Self> {
        match self.phase() {
            Phase::Reserving if short => Some(self.to(Phase::Refused)),
            Phase::Retrying if short => Some(self.to(Phase::Created)),
            Phase::Reviving if short => Some(self.to(Phase::Lapsed)),
            Phase::Reserving | Phase::Retrying => Some(self.transition(Phase::Reserved)),
            Phase::Reviving => Some(self.transition(Phase::Paid)),
            Phase::Releasing | Phase::ReleasingPaid => Some(self.transition(Phase::Cancelled)),
            _ => None,
        }
    }

    /// What the intents of operation `tag` mean now that the order's word is this one.
    pub(crate) fn effect_of(self, tag: u32) -> Effect {
        if self.tag() != tag {
            // An operation is finished on all its rows before the tag moves on.
            return Effect::Void;
        }
        match self.phase() {
            Phase::Reserving | Phase::Retrying | Phase::Reviving | Phase::Releasing | Phase::ReleasingPaid => {
                Effect::Undecided
            }
            Phase::Reserved | Phase::Paid | Phase::Fulfilled => Effect::Take,
            // An order cancelled while it held nothing took a tag under which no intent was ever installed.
            Phase::Cancelled => Effect::GiveBack,
            Phase::Vacant | Phase::Created | Phase::Refused | Phase::Dead | Phase::Lapsed => Effect::Void,
        }
    }

    /// Whether the reserve that ran under `tag` was accepted; `noted` is the tag that the order's deadline names, if it has
    /// one. Only for one that is decided, and only asked by the thread that began it, so that its record has not been
    /// recycled after a refusal.
    pub(crate) fn accepted(self, tag: u32, noted: Option<u32>) -> bool {
        match self.tag() - tag {
            0 => matches!(self.phase(), Phase::Reserved | Phase::Paid | Phase::Fulfilled),
            // The only way on from an accepted reserve is one release, under the next tag, of an order that held:
            // one that is cancelled out of CREATED ends at version 1.
            1 => match self.phase() {
                Phase::Releasing | Phase::ReleasingPaid => true,
                Phase::Cancelled => self.version() > 1,
                _ => false,
            },
            // It expired and was revived, and an order that can expire has noted under which tag it took its units.
            _ => noted == Some(tag),
        }
    }

    /// The same of a revival.
    pub(crate) fn revived(self, tag: u32) -> bool {
        match self.tag() - tag {
            0 => matches!(self.phase(), Phase::Paid | Phase::Fulfilled),
            // A paid order that is cancelled has not expired.
            1 => match self.phase() {
                Phase::ReleasingPaid => true,
                Phase::Cancelled => self.reason() != Some(CancelReason::Expired),
                _ => false,
            },
            _ => false,
        }
    }

    /// Whether units of this order can be taken again for a late payment.
    pub(crate) fn is_expired(self) -> bool {
        self.reason() == Some(CancelReason::Expired)
    }
}

#[cfg(all(test, not(stockade_loom)))]
mod tests {
    use super::*;

    #[test]
    fn phases_are_numbered_as_listed() {
        for (number, phase) in PHASES.into_iter().enumerate() {
            assert_eq!(phase as usize, number);
            assert_eq!(OrderWord::new(phase, 5, 7).phase(), phase);
        }
    }

    #[test]
    fn fields_do_not_touch_each_other() {
        let word = OrderWord::new(Phase::Paid, (1 << TAG_BITS) - 2, VERSION.max() - 1);
        let next = word.begin(Phase::ReleasingPaid).because(CancelReason::HoldDropped).transition(Phase::Cancelled);
        assert_eq!(next.tag(), (1 << TAG_BITS) - 1);
        assert_eq!(next.version(), VERSION.max());
        assert_eq!(next.reason(), Some(CancelReason::HoldDropped));
    }

    #[test]
    fn busy_phases_and_only_they_are_undecided() {
        for phase in PHASES {
            let word = OrderWord::new(phase, 3, 0);
            assert_eq!(word.is_busy(), word.decide(false).is_some(), "{phase:?}");
            assert_eq!(word.is_busy(), word.effect_of(3) == Effect::Undecided, "{phase:?}");
            assert_eq!(word.effect_of(2), Effect::Void, "{phase:?}");
        }
    }
}
