//! Completes I/Os without issuing them, to measure the overhead of the tool itself.

use super::{Engine, EngineError, Io, sleep_ns};
use crate::clock::Clock;

/// Completes every I/O at once.
#[derive(Debug)]
pub struct Null {
    clock: Clock,
    queued: Vec<(u32, i32)>,
    ready: usize,
}

impl Null {
    /// Creates an engine for up to `max_depth` outstanding I/Os.
    #[must_use]
    pub fn new(max_depth: u32) -> Self {
        Self { clock: Clock::get(), queued: Vec::with_capacity(max_depth as usize), ready: 0 }
    }
}

impl Engine for Null {
    #[inline(always)]
    fn queue(&mut self, io: Io) {
        self.queued.push((io.slot, io.len as i32));
    }

    #[inline(always)]
    fn enter(&mut self, _wait: u32, timeout_ns: Option<u64>) -> Result<(), EngineError> {
        self.ready = self.queued.len();
        if let (0, Some(timeout_ns)) = (self.ready, timeout_ns) {
            sleep_ns(timeout_ns);
        }
        Ok(())
    }

    #[inline(always)]
    fn reap(&mut self, max: u32, mut sink: impl FnMut(u32, i32)) {
        let count = self.ready.min(max as usize);
        for (slot, result) in self.queued.drain(..count) {
            sink(slot, result);
        }
        self.ready -= count;
    }

    #[inline(always)]
    fn now_ns(&self) -> u64 {
        self.clock.now_ns()
    }

    fn grow(&mut self, _slots: u32) {}
}
