//! A lock-free in-memory engine for reserving stock, seats and slots inside a process.
//!
//! Two customers order the last item at the same moment. Somewhere between "look" and "write" is a gap, and
//! both are told yes. Stockade closes the gap: one of them is told yes, the other is told no, and nobody waits.
//!
//! ```
//! use stockade::{Reserved, ReserveError, Stockade};
//!
//! let shop = Stockade::new();
//! shop.add_sku("mug", 1)?;
//!
//! assert!(shop.reserve("order-1", &[("mug", 1)])?.is_new());
//! assert!(matches!(shop.reserve("order-1", &[("mug", 1)])?, Reserved::Replayed(_))); // a retry has no second effect
//! assert!(matches!(shop.reserve("order-2", &[("mug", 1)]), Err(ReserveError::Insufficient { .. })));
//!
//! let _ = shop.cancel("order-1")?; // gives the mug back, once
//! assert!(shop.reserve("order-2", &[("mug", 1)])?.is_new());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What it promises
//!
//! - **Never two yes.** Units promised never exceed units received.
//! - **Never a false no.** A reserve is refused only if at one instant between its call and its return the stock
//!   was short.
//! - **One instant.** Every verb takes effect at one instant over all lines and the order together: the engine is
//!   linearizable. Each verb's documentation names that instant, its *linearization point*.
//! - **Once.** A repeated request has one effect, and every repetition learns the same result.
//! - **Nobody waits.** Every verb is lock-free: a thread that is stopped inside one stops no other thread; the
//!   others finish its work. This includes growth. (Memory itself comes from the global allocator, which may lock.
//!   Where the processor has no 128-bit compare-and-swap, [`Stockade::is_lock_free`] says so.)
//!
//! # Where to start reading
//!
//! `layout.rs` (the packed words), `state.rs` (an order's life), `row.rs`, then `protocol.rs`, where everything
//! happens; `revision.rs` changes orders in part, `expiry.rs` ends holds, `keys.rs` has requests take effect once,
//! `retention.rs` forgets; `table.rs` finds orders by id, `verbs/` is what users call. `sync.rs` holds the memory
//! orderings.

mod answer;
mod arena;
mod builder;
mod change;
mod clock;
mod engine;
mod error;
mod expiry;
mod keys;
mod layout;
mod ledger;
mod look;
mod pair;
mod protocol;
mod record;
mod request;
mod retention;
mod revision;
mod row;
mod rows;
mod state;
mod stats;
mod sync;
mod table;
mod timers;
mod verbs;

#[cfg(any(stockade_hooks, stockade_loom))]
pub mod hooks;
#[cfg(not(any(stockade_hooks, stockade_loom)))]
mod hooks;

#[cfg(stockade_loom)]
pub use sync::model;

pub use answer::{
    Advanced, CancelReason, Cancelled, Created, Extended, Line, Once, Order, OrderLine, PaidLate, RequestField,
    Reservation, Reserved, Revised, Sku, State, Stock,
};
pub use builder::Builder;
pub use clock::{Clock, ManualClock, MonotonicClock};
pub use engine::Stockade;
pub use error::{
    AddSkuError, AdvanceError, AmendError, BalanceError, BuildError, CancelError, CancelLinesError, CreateError,
    ExtendError, FulfilLinesError, HoldClosed, Invalid, KeyedError, PayAgainError, ReserveError, RestockError,
    SetAvailableError, Shortage, Shortages, TransitionError, UnknownSku, VoidError, WriteOffError,
};
pub use layout::{MAX_KEY_BYTES, MAX_LINES, MAX_UNITS};
pub use request::SkuRef;
pub use retention::Keep;
pub use stats::{OrdersByState, Refusals, Stats};
pub use verbs::{Audit, Balance, Hold, Keyed, RequestKey};

/// The README's code runs.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
