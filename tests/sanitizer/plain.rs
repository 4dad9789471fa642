//! Plain memory that several threads touch. Whether they do so one after the other is for ThreadSanitizer to say.

use std::cell::UnsafeCell;

/// A number without any synchronisation of its own.
#[derive(Default)]
pub struct Plain(UnsafeCell<u64>);

// SAFETY: whoever touches it has been told by the engine that it is their turn. `planted` does so without.
unsafe impl Sync for Plain {}

impl Plain {
    /// Adds one and gives the sum.
    pub fn touch(&self) -> u64 {
        // SAFETY: see above.
        unsafe {
            *self.0.get() += 1;
            *self.0.get()
        }
    }
}
