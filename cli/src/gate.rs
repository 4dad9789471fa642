//! A start line for threads: all wait at it, then all are let go at once.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// Unlike [`std::sync::Barrier`] it can be opened before all have come, so that the threads that
/// are there are not stuck for ever when one more could not be started.
#[derive(Default)]
pub struct Gate {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    waiting: usize,
    open: bool,
}

impl Gate {
    /// Waits until the gate opens.
    pub fn wait(&self) {
        let mut state = self.lock();
        state.waiting += 1;
        self.changed.notify_all();
        let opened = self.changed.wait_while(state, |state| !state.open);
        drop(opened.unwrap_or_else(PoisonError::into_inner));
    }

    /// Opens the gate once this many threads wait at it, unless it opens before, and tells when that was.
    pub fn open_for(&self, threads: usize) -> Instant {
        let arrived = self.changed.wait_while(self.lock(), |state| state.waiting < threads && !state.open);
        drop(arrived.unwrap_or_else(PoisonError::into_inner));
        let opened = Instant::now();
        self.open();
        opened
    }

    /// Opens the gate for whoever waits now and whoever comes later.
    pub fn open(&self) {
        self.lock().open = true;
        self.changed.notify_all();
    }

    /// Opens the gate when the guard goes, so that a thread that never comes to the gate leaves nobody there.
    pub fn open_at_end(&self) -> OpenAtEnd<'_> {
        OpenAtEnd(self)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// See [`Gate::open_at_end`].
pub struct OpenAtEnd<'a>(&'a Gate);

impl Drop for OpenAtEnd<'_> {
    fn drop(&mut self) {
        self.0.open();
    }
}

#[cfg(test)]
mod tests {
    use super::Gate;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;

    #[test]
    fn nobody_passes_before_all_have_come() {
        let (gate, before, passed) = (Gate::default(), AtomicUsize::new(0), AtomicUsize::new(0));
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    before.fetch_add(1, Ordering::SeqCst);
                    gate.wait();
                    assert_eq!(before.load(Ordering::SeqCst), 8);
                    passed.fetch_add(1, Ordering::SeqCst);
                });
            }
            gate.open_for(8);
        });
        assert_eq!(passed.load(Ordering::SeqCst), 8);
    }

    #[test]
    fn an_open_gate_stops_nobody() {
        let gate = Gate::default();
        drop(gate.open_at_end());
        gate.wait();
        gate.open_for(2);
    }
}
