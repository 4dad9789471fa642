//! What time it is, for holds that end by themselves. Users can bring a clock of their own; tests bring
//! [`ManualClock`].

use std::sync::Arc;
use std::time::Instant;

use crate::sync::{Class, Word, change};

/// Tells the time to an engine: milliseconds since an instant of its own choice. It must never go back (holds would
/// live longer, nothing else), and should be quick. It must not call the engine. If it panics, the verb has not
/// happened, or has happened as a whole.
///
/// A verb that needs to know the time reads it once, and judges its order's deadline by that reading. Before it says
/// how many units a row has, or that they are too few, it reads it again, after the row: what died meanwhile counts as
/// free.
pub trait Clock: Send + Sync {
    /// Milliseconds since this clock's beginning. From 2^42 - 3 on (139 years) the engine takes it to stand still: no
    /// hold ends any more. A clock in microseconds since 1970 is past that.
    fn now_ms(&self) -> u64;
}

impl<T: Clock + ?Sized> Clock for Arc<T> {
    fn now_ms(&self) -> u64 {
        (**self).now_ms()
    }
}

/// The clock of an engine that is given no other: the system's monotonic clock, from 0 when it is made.
#[derive(Clone, Copy, Debug)]
pub struct MonotonicClock(Instant);

impl Default for MonotonicClock {
    fn default() -> Self {
        MonotonicClock(Instant::now())
    }
}

impl Clock for MonotonicClock {
    fn now_ms(&self) -> u64 {
        u64::try_from(self.0.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}

/// A clock that stands still until it is told to go on: for tests and simulations.
///
/// ```
/// use std::sync::Arc;
/// use stockade::{Clock, ManualClock, Stockade};
///
/// let clock = Arc::new(ManualClock::default());
/// let shop = Stockade::builder().clock(Arc::clone(&clock)).build()?;
/// shop.add_sku("seat-12A", 1).unwrap();
/// let _ = shop.reserve_for("order-1", &[("seat-12A", 1)], 600_000).unwrap();
/// clock.advance_ms(600_000);
/// assert_eq!(shop.stock("seat-12A").unwrap().available, 1);
/// # Ok::<(), stockade::BuildError>(())
/// ```
#[derive(Debug)]
pub struct ManualClock(Word);

impl Default for ManualClock {
    fn default() -> Self {
        ManualClock(Word::of(Class::Protocol, 0))
    }
}

impl ManualClock {
    /// Moves on to this time, unless it is later already.
    pub fn set_ms(&self, now_ms: u64) {
        self.0.fetch_max(now_ms);
    }

    /// Moves on by so much.
    pub fn advance_ms(&self, ms: u64) {
        change(&self.0, |now| Some(now.saturating_add(ms)));
    }
}

impl Clock for ManualClock {
    fn now_ms(&self) -> u64 {
        self.0.load()
    }
}
