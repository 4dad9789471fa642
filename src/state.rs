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
//! RESERVING is a reserve of an id nobody knows: if refused, there never was an order. RETRYING is a reserve of a
//! CREATED order: if refused, it is CREATED again. REVIVING takes the units of an expired order again, for a payment
//! that comes late; LAPSED is CANCELLED for everybody, but its tag has given nothing back. REVISING and REVISING_PAID
//! change a RESERVED or PAID order in part: it is afterwards what it was before, or CANCELLED or FULFILLED if nothing
//! is open any more. A request about a row that has a key is a record of its own: ASKED, EDITING, ANSWERED, or ASKED
//! again. Each busy phase has a tag of its own.

use crate::layout::{AGE_BITS, Field, TAG_BITS};
use crate::{CancelReason, State};

const PHASE: Field = Field::lowest(5);
const REASON: Field = PHASE.then(2);
/// The reason of an order that has expired.
const EXPIRED: u64 = 3;
const TAG: Field = REASON.then(TAG_BITS);
const VERSION: Field = TAG.then(22);
/// Which edition of its lines the order has: 0 those it was made with, otherwise one more than its number in the
/// ledger.
const EDITION: Field = VERSION.then(2);
/// Whether the operation of this tag was a revision: 0 no, [`ACCEPTED`] or [`REFUSED`].
const REVISION: Field = EDITION.then(2);
const ACCEPTED: u64 = 1;
const REFUSED: u64 = 2;
/// Whether some units have been fulfilled.
const SHIPPED: Field = REVISION.then(1);
/// Of FULFILLED: whether what was open was given back and not fulfilled.
const RELEASED: Field = SHIPPED.then(1);
/// Whether a guard is for it.
const GUARDED: Field = RELEASED.then(1);
/// Whether it is garbage, though it may still be in the index.
const FORGOTTEN: Field = GUARDED.then(1);
/// In which age it ended, if that is noted.
const AGE: Field = FORGOTTEN.then(AGE_BITS);

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
    /// Busy: changing a RESERVED order in part.
    Revising,
    /// Busy: changing a PAID order in part.
    RevisingPaid,
    /// Not an order: a request with a key, of which nothing has come yet.
    Asked,
    /// Busy: a request changes a row.
    Editing,
    /// A request that has been carried out.
    Answered,
}

const PHASES: [Phase; 19] = [
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
    Phase::Revising,
    Phase::RevisingPaid,
    Phase::Asked,
    Phase::Editing,
    Phase::Answered,
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
    /// Decided: each line does what it says of itself.
    Each,
    /// Of one line: its row has so many units from now on.
    Set,
    /// Decided, or long over: its intents mean nothing.
    Void,
}

/// What a revision leaves of an order, and whether some units have been fulfilled then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Left {
    /// Some units are open.
    Open { shipped: bool },
    /// None is.
    Nothing { shipped: bool },
}

impl Left {
    /// The state in which the order has ended by it.
    pub(crate) fn closed(self) -> Option<State> {
        match self {
            Left::Open { .. } => None,
            Left::Nothing { shipped: true } => Some(State::Fulfilled),
            Left::Nothing { shipped: false } => Some(State::Cancelled),
        }
    }
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

    /// By a mask that the compiler computes: to ask for one of many phases costs what one does.
    #[inline]
    fn is_one_of<const N: usize>(self, phases: [Phase; N]) -> bool {
        let mask = phases.iter().fold(0, |mask, phase| mask | 1_u32 << *phase as u32);
        mask >> PHASE.get(self.0) & 1 == 1
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
        OrderWord(REVISION.set(TAG.set(self.to(phase).0, u64::from(self.tag()) + 1), 0))
    }

    /// The number in the ledger of the edition that the order has; `None`: the lines it was made with.
    #[inline]
    pub(crate) fn edition(self) -> Option<usize> {
        (EDITION.get(self.0) as usize).checked_sub(1)
    }

    /// The number that the next edition gets: not that of the one the order has.
    pub(crate) fn next_edition(self) -> usize {
        usize::from(self.edition() == Some(0))
    }

    /// Whether the operation of this tag is or was a revision.
    #[inline]
    pub(crate) fn is_revision(self) -> bool {
        self.verdict().is_some() || self.is_one_of([Phase::Revising, Phase::RevisingPaid])
    }

    /// The word of an edition, once it is decided.
    pub(crate) fn with_verdict(self, accepted: bool) -> Self {
        OrderWord(REVISION.set(self.0, if accepted { ACCEPTED } else { REFUSED }))
    }

    /// Of an edition's word: what was decided, if anything was. Of an order's: the same about its last revision, if
    /// that is the last operation there was.
    pub(crate) fn verdict(self) -> Option<bool> {
        (REVISION.get(self.0) != 0).then(|| REVISION.get(self.0) == ACCEPTED)
    }

    /// Whether it is not an order but a request with a key.
    #[inline]
    pub(crate) fn is_request(self) -> bool {
        self.is_one_of([Phase::Asked, Phase::Editing, Phase::Answered])
    }

    /// Whether what its operation does is not what the lines say that it was made with.
    #[inline]
    pub(crate) fn has_own_changes(self) -> bool {
        self.is_revision() || self.edition().is_some() || self.is_request()
    }

    /// What a busy revision becomes that is accepted, if `left` is what it leaves of the order.
    fn revised(self, left: Left) -> Self {
        let phase = match left {
            Left::Nothing { shipped: true } => Phase::Fulfilled,
            Left::Nothing { shipped: false } => Phase::Cancelled,
            Left::Open { .. } if self.phase() == Phase::RevisingPaid => Phase::Paid,
            Left::Open { .. } => Phase::Reserved,
        };
        let word = EDITION.set(self.transition(phase).0, self.next_edition() as u64 + 1);
        let (Left::Open { shipped } | Left::Nothing { shipped }) = left;
        OrderWord(SHIPPED.set(word, u64::from(shipped))).with_verdict(true)
    }

    /// Begins to change a RESERVED or PAID order in part.
    pub(crate) fn revise(self) -> Self {
        let phase = if self.phase() == Phase::Paid { Phase::RevisingPaid } else { Phase::Revising };
        self.begin(phase).because(CancelReason::Cancelled)
    }

    /// Of FULFILLED: whether what was open was given back and not fulfilled.
    pub(crate) fn has_released(self) -> bool {
        RELEASED.get(self.0) == 1
    }

    /// Whether nothing follows any more, but a payment that comes late.
    pub(crate) fn has_ended(self) -> bool {
        self.is_one_of([Phase::Fulfilled, Phase::Cancelled, Phase::Lapsed]) && FORGOTTEN.get(self.0) == 0
    }

    pub(crate) fn ended_in(self, age: u64) -> Self {
        OrderWord(AGE.set(self.0, age))
    }

    pub(crate) fn age(self) -> u64 {
        AGE.get(self.0)
    }

    /// Not an order any more.
    pub(crate) fn forgotten(self) -> Self {
        OrderWord(FORGOTTEN.set(self.0, 1))
    }

    pub(crate) fn is_forgotten(self) -> bool {
        FORGOTTEN.get(self.0) == 1
    }

    pub(crate) fn guarded(self, is_guarded: bool) -> Self {
        OrderWord(GUARDED.set(self.0, u64::from(is_guarded)))
    }

    pub(crate) fn is_guarded(self) -> bool {
        GUARDED.get(self.0) == 1
    }

    /// Whether the record is of no use to anybody.
    pub(crate) fn is_garbage(self) -> bool {
        self.is_forgotten() || self.phase() == Phase::Dead
    }

    /// Whether some units have been fulfilled.
    pub(crate) fn has_shipped(self) -> bool {
        SHIPPED.get(self.0) == 1
    }

    pub(crate) fn because(self, reason: CancelReason) -> Self {
        let code = match reason {
            CancelReason::Cancelled => 0,
            CancelReason::Voided => 1,
            CancelReason::HoldDropped => 2,
            CancelReason::Expired => EXPIRED,
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
            _ if self.is_forgotten() => None,
            Phase::Vacant | Phase::Reserving | Phase::Refused | Phase::Dead => None,
            Phase::Asked | Phase::Editing | Phase::Answered => None,
            Phase::Created | Phase::Retrying => Some(State::Created),
            Phase::Reserved | Phase::Releasing | Phase::Revising => Some(State::InventoryReserved),
            Phase::Paid | Phase::ReleasingPaid | Phase::RevisingPaid => Some(State::Paid),
            Phase::Fulfilled => Some(State::Fulfilled),
            Phase::Cancelled | Phase::Reviving | Phase::Lapsed => Some(State::Cancelled),
        }
    }

    /// Whether some thread is changing rows for this order right now.
    #[inline]
    pub(crate) fn is_busy(self) -> bool {
        self.is_one_of([
            Phase::Reserving,
            Phase::Retrying,
            Phase::Reviving,
            Phase::Releasing,
            Phase::ReleasingPaid,
            Phase::Revising,
            Phase::RevisingPaid,
            Phase::Editing,
        ])
    }

    /// Whether the busy phase takes every line, and can therefore be refused.
    #[inline]
    pub(crate) fn takes(self) -> bool {
        self.is_one_of([Phase::Reserving, Phase::Retrying, Phase::Reviving])
    }

    /// What a busy phase becomes when every row carries its intent; `short` if a row had too little, `left` what it
    /// leaves of the order if it is a revision. `None` if the phase is not busy, that is, if it is decided.
    #[inline]
    pub(crate) fn decide(self, short: bool, left: Left) -> Option<Self> {
        let refused = |phase| self.to(phase).with_verdict(false);
        match self.phase() {
            Phase::Editing if short => Some(self.to(Phase::Asked)),
            Phase::Editing => Some(self.to(Phase::Answered)),
            Phase::Revising if short => Some(refused(Phase::Reserved)),
            Phase::RevisingPaid if short => Some(refused(Phase::Paid)),
            Phase::Revising | Phase::RevisingPaid => Some(self.revised(left)),
            Phase::Reserving if short => Some(self.to(Phase::Refused)),
            Phase::Retrying if short => Some(self.to(Phase::Created)),
            Phase::Reviving if short => Some(self.to(Phase::Lapsed)),
            Phase::Reserving | Phase::Retrying => Some(self.transition(Phase::Reserved)),
            Phase::Reviving => Some(self.transition(Phase::Paid)),
            Phase::ReleasingPaid if self.has_shipped() => {
                Some(OrderWord(RELEASED.set(self.transition(Phase::Fulfilled).0, 1)))
            }
            Phase::Releasing | Phase::ReleasingPaid => Some(self.transition(Phase::Cancelled)),
            _ => None,
        }
    }

    /// What the intents of operation `tag` mean now that the order's word is this one.
    #[inline]
    pub(crate) fn effect_of(self, tag: u32) -> Effect {
        if self.tag() != tag {
            // An operation is finished on all its rows before the tag moves on.
            return Effect::Void;
        }
        match self.phase() {
            _ if self.is_busy() => Effect::Undecided,
            _ if self.verdict() == Some(true) => Effect::Each,
            _ if self.verdict() == Some(false) => Effect::Void,
            _ if self.has_released() => Effect::GiveBack,
            Phase::Answered => Effect::Each,
            Phase::Reserved | Phase::Paid | Phase::Fulfilled => Effect::Take,
            // An order cancelled while it held nothing took a tag under which no intent was ever installed.
            Phase::Cancelled => Effect::GiveBack,
            _ => Effect::Void,
        }
    }

    /// Whether the reserve that ran under `tag` was accepted; `noted` is the tag that the order's deadline names, if it
    /// has one. Only for one that is decided, and only asked by the thread that began it, so that its record has not
    /// been recycled after a refusal.
    pub(crate) fn accepted(self, tag: u32, noted: Option<u32>) -> bool {
        if self.tag() == tag {
            return matches!(self.phase(), Phase::Reserved | Phase::Paid | Phase::Fulfilled);
        }
        // A refused reserve of an id that nobody knew would still be there as it was. A CREATED order goes on after a
        // refusal: under a tag that its deadline names by then, or cancelled, at version 1.
        let is_last = noted.is_none_or(|noted| noted == tag);
        is_last && self.version() > u64::from(self.phase() == Phase::Cancelled)
    }

    /// The same of a revival; a revision of a paid order notes in its deadline under which tag the units were taken.
    pub(crate) fn revived(self, tag: u32, noted: Option<u32>) -> bool {
        match self.tag() - tag {
            0 => matches!(self.phase(), Phase::Paid | Phase::Fulfilled),
            // A paid order that is cancelled has not expired.
            1 if self.phase() == Phase::ReleasingPaid => true,
            1 if self.phase() == Phase::Cancelled && REASON.get(self.0) != EXPIRED => true,
            _ => noted == Some(tag),
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
            let decided = word.decide(false, Left::Open { shipped: false });
            assert_eq!(word.is_busy(), decided.is_some(), "{phase:?}");
            assert_eq!(word.is_busy(), word.effect_of(3) == Effect::Undecided, "{phase:?}");
            assert_eq!(word.effect_of(2), Effect::Void, "{phase:?}");
        }
    }
}
