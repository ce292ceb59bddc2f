//! A gate between a worker and the write daemon. It delays the next transaction while the log is restarted.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// A worker enters the gate for each transaction. Without the gate the daemon would always find the log in use, and the
/// log would grow without limit.
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

/// A worker inside the gate. Dropping it leaves the gate.
#[derive(Debug)]
pub(super) struct Pass<'a>(&'a Gate);

/// Keeps the gate closed until it is dropped.
#[derive(Debug)]
pub(super) struct Closed<'a>(&'a Gate);

impl Gate {
    /// Waits until the gate is open, and enters.
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

    /// Closes the gate and waits until the worker has left; `None` if it does not leave in time.
    pub(super) fn close(&self, patience: Duration) -> Option<Closed<'_>> {
        let mut state = self.state();
        state.closed = true;
        let closed = Closed(self);
        let inside = |state: &mut State| state.inside;
        let waited = self.changed.wait_timeout_while(state, patience, inside);
        let (state, result) = waited.unwrap_or_else(PoisonError::into_inner);
        // Opening the gate takes the lock again.
        drop(state);
        (!result.timed_out()).then_some(closed)
    }

    /// Returns the time that the worker has waited at the closed gate, in nanoseconds.
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
    fn closing_the_gate_waits_for_holders_and_blocks_new_entries() {
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
        // After the attempt that timed out, the gate is open.
        drop(gate.enter());
    }
}
