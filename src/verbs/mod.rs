//! What users call, one file for each group of verbs.

mod audit;
mod batch;
mod cancel;
mod deadline;
mod forget;
mod hold;
mod keyed;
mod part;
mod read;
mod reserve;
mod stock;
mod transition;

pub use audit::{Audit, Balance};
pub use hold::Hold;
pub use keyed::{Keyed, RequestKey};

use crate::error::*;
use crate::row::Op;
use crate::stats::Event;
use crate::{Advanced, Cancelled, Created, Once, Reserved, Stockade};

/// How an answer is counted.
trait Counted {
    fn event(&self) -> Option<Event>;
}

impl<T> Counted for Once<T> {
    fn event(&self) -> Option<Event> {
        matches!(self, Once::Replayed(_)).then_some(Event::Replay)
    }
}

impl<E: Counted> Counted for KeyedError<E> {
    fn event(&self) -> Option<Event> {
        match self {
            KeyedError::Invalid(_) => Some(Event::Invalid),
            KeyedError::Refused(refusal) => refusal.event(),
            KeyedError::Reused { .. } => Some(Event::KeyReused),
            KeyedError::TooOld { .. } => Some(Event::KeyTooOld),
            KeyedError::Full => Some(Event::Full),
        }
    }
}

impl Stockade {
    /// Runs a verb, and counts its answer on the way out. What it has in hand meanwhile is not used again.
    #[inline]
    fn verb<T: Counted, E: Counted>(&self, run: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
        let _pin = self.protocol.retention.pin();
        let answer = run();
        let event = match &answer {
            Ok(yes) => yes.event(),
            Err(no) => no.event(),
        };
        if let Some(event) = event {
            self.protocol.tally.add(event);
        }
        answer
    }
}

macro_rules! counted {
    ($($answer:ty { $($pattern:pat => $event:ident,)* })*) => {$(
        impl Counted for $answer {
            fn event(&self) -> Option<Event> {
                #[allow(unreachable_patterns)]
                match self {
                    $($pattern => Some(Event::$event),)*
                    _ => None,
                }
            }
        }
    )*};
}

counted! {
    crate::Stock {}
    crate::Sku {}
    u64 {}
    (Reserved, Op) { (Reserved::Replayed(_), _) => Replay, }
    Created { Created::New => Created, Created::Replayed { .. } => Replay, }
    Cancelled { Cancelled::Already => Replay, }
    Advanced { Advanced::Already { .. } => Replay, }
    crate::Extended {}
    crate::Revised {}
    crate::PaidLate { crate::PaidLate::Already { .. } => Replay, }
    UnknownSku { UnknownSku { .. } => UnknownSku, }
    AddSkuError {
        AddSkuError::Invalid(_) => Invalid,
        AddSkuError::Overflow => Overflow,
        AddSkuError::SkuExists { .. } => SkuExists,
        AddSkuError::Full => Full,
    }
    RestockError {
        RestockError::UnknownSku(_) => UnknownSku,
        RestockError::Overflow { .. } => Overflow,
        RestockError::Exhausted => Full,
    }
    WriteOffError {
        WriteOffError::UnknownSku(_) => UnknownSku,
        WriteOffError::Insufficient { .. } => Insufficient,
        WriteOffError::Exhausted => Full,
    }
    SetAvailableError {
        SetAvailableError::UnknownSku(_) => UnknownSku,
        SetAvailableError::VersionConflict { .. } => VersionConflict,
        SetAvailableError::Overflow { .. } => Overflow,
        SetAvailableError::Exhausted => Full,
    }
    CreateError {
        CreateError::Invalid(_) => Invalid,
        CreateError::Closed { .. } => Closed,
        CreateError::LinesDiffer => LinesDiffer,
        CreateError::UnknownSku(_) => UnknownSku,
        CreateError::Full => Full,
    }
    ReserveError {
        ReserveError::Invalid(_) => Invalid,
        ReserveError::Closed { .. } => Closed,
        ReserveError::LinesDiffer => LinesDiffer,
        ReserveError::UnknownSku(_) => UnknownSku,
        ReserveError::Insufficient { .. } => Insufficient,
        ReserveError::Exhausted | ReserveError::Full => Full,
    }
    CancelError { CancelError::InvalidState { .. } => InvalidState, }
    VoidError {
        VoidError::Invalid(_) => Invalid,
        VoidError::InvalidState { .. } => InvalidState,
        VoidError::Full => Full,
    }
    AdvanceError {
        AdvanceError::UnknownOrder => UnknownOrder,
        AdvanceError::Expired => Expired,
        AdvanceError::InvalidState { .. } => InvalidState,
    }
    ExtendError {
        ExtendError::Invalid(_) => Invalid,
        ExtendError::UnknownOrder => UnknownOrder,
        ExtendError::Expired => Expired,
        ExtendError::InvalidState { .. } | ExtendError::NoDeadline => InvalidState,
    }
    CancelLinesError {
        CancelLinesError::Invalid(_) => Invalid,
        CancelLinesError::UnknownOrder => UnknownOrder,
        CancelLinesError::Expired => Expired,
        CancelLinesError::InvalidState { .. } => InvalidState,
        CancelLinesError::UnknownSku(_) => UnknownSku,
        CancelLinesError::TooMuch { .. } => TooMuch,
        CancelLinesError::Exhausted | CancelLinesError::Full => Full,
    }
    FulfilLinesError {
        FulfilLinesError::Invalid(_) => Invalid,
        FulfilLinesError::UnknownOrder => UnknownOrder,
        FulfilLinesError::Expired => Expired,
        FulfilLinesError::InvalidState { .. } => InvalidState,
        FulfilLinesError::UnknownSku(_) => UnknownSku,
        FulfilLinesError::TooMuch { .. } => TooMuch,
        FulfilLinesError::Exhausted | FulfilLinesError::Full => Full,
    }
    AmendError {
        AmendError::Invalid(_) => Invalid,
        AmendError::UnknownOrder => UnknownOrder,
        AmendError::Expired => Expired,
        AmendError::InvalidState { .. } => InvalidState,
        AmendError::UnknownSku(_) => UnknownSku,
        AmendError::TooFew { .. } => TooMuch,
        AmendError::Insufficient { .. } => Insufficient,
        AmendError::Exhausted | AmendError::Full => Full,
    }
    PayAgainError {
        PayAgainError::UnknownOrder => UnknownOrder,
        PayAgainError::InvalidState { .. } => InvalidState,
        PayAgainError::Insufficient { .. } => Insufficient,
        PayAgainError::Exhausted => Full,
    }
    TransitionError {
        TransitionError::NotAllowed { .. } => Invalid,
        TransitionError::UnknownOrder => UnknownOrder,
        TransitionError::InvalidState { .. } | TransitionError::PartlyFulfilled => InvalidState,
        TransitionError::Insufficient { .. } => Insufficient,
        TransitionError::Exhausted => Full,
    }
}
