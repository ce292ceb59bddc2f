//! A gate between a worker and the write daemon, which keeps the next transaction out while the log
//! begins anew.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Where a worker passes with each transaction. Without it the daemon would find the log in use again
/// each time it looks, and the log would grow without end.
#[derive(Debug, Default)]
pub(super) struct Gate {
    state: Mutex<State>,
    changed: Condvar,
    held_ns: AtomicU64,
}

#[derive(Debug, Default)]
struct State {
    closed: bool,
    inside: bool,
}

/// A worker's way through; it is outside again when this is dropped.
#[derive(Debug)]
pub(super) struct Pass<'a>(&'a Gate);

/// The gate is closed for as long as this is held.
#[derive(Debug)]
pub(super) struct Closed<'a>(&'a Gate);

impl Gate {
    /// Waits until the gate is open, and goes in.
    pub(super) fn enter(&self) -> Pass<'_> {
        let mut state = self.state();
        if state.closed {
            let begin = Instant::now();
            while state.closed {
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
            let ns = crate::worker::nanoseconds(begin.elapsed());
            self.held_ns.fetch_add(ns, Ordering::Relaxed);
        }
        state.inside = true;
        Pass(self)
    }

    /// Closes the gate and waits until the worker is outside; `None` where it does not come.
    pub(super) fn close(&self, patience: Duration) -> Option<Closed<'_>> {
        let mut state = self.state();
        state.closed = true;
        let closed = Closed(self);
        let inside = |state: &mut State| state.inside;
        let waited = self.changed.wait_timeout_while(state, patience, inside);
        let (state, result) = waited.unwrap_or_else(PoisonError::into_inner);
        // Opening it takes the lock again.
        drop(state);
        (!result.timed_out()).then_some(closed)
    }

    /// Time that the worker stood before the closed gate, in nanoseconds.
    pub(super) fn held_ns(&self) -> u64 {
        self.held_ns.load(Ordering::Relaxed)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Pass<'_> {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.inside = false;
        if state.closed {
            self.0.changed.notify_all();
        }
    }
}

impl Drop for Closed<'_> {
    fn drop(&mut self) {
        self.0.state().closed = false;
        self.0.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_inside_is_waited_for_and_nobody_follows() {
        let gate = Gate::default();
        let pass = gate.enter();
        assert!(gate.close(Duration::from_millis(1)).is_none(), "one is inside");
        drop(pass);
        let closed = gate.close(Duration::from_secs(10)).unwrap();
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| drop(gate.enter()));
            std::thread::sleep(Duration::from_millis(20));
            assert!(!waiting.is_finished());
            drop(closed);
            waiting.join().unwrap();
        });
        assert!(gate.held_ns() > 0);
        // Who gave up waiting left it open.
        drop(gate.enter());
    }
}
