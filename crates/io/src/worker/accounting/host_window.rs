//! What one of several hosts did in a window.

use super::{DIRECTIONS, Tally, WorkerWindow, merge};
use crate::engine::Op;
use serde::{Deserialize, Serialize};

/// What one of several hosts did in a window.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct HostWindow {
    /// Read, write and sync, over all workers of the host.
    pub directions: [Tally; DIRECTIONS],
    /// Length of the window on the host's clock, in nanoseconds: that of its workers' longest window.
    pub elapsed_ns: u64,
    /// Outstanding I/Os of the host integrated over the window, in I/O-nanoseconds.
    pub queue_depth_integral: u128,
    /// Processor time that the host's process used, without that spent polling for arrivals, in nanoseconds; 0 if
    /// unknown.
    pub cpu_ns: u64,
    /// Processors that the host's workers can use at once; 0 if unknown.
    pub processors: u32,
    /// Error of the host's clock against that of the leading host, in nanoseconds; 0 if they have one clock.
    pub clock_error_ns: u64,
    /// True if the host has the kernel of the leading host, whose counters of devices contain its I/O.
    pub same_kernel: bool,
}

impl HostWindow {
    /// Makes the window of a host of what its workers did together, and of their own windows.
    #[must_use]
    pub fn of(directions: [Tally; DIRECTIONS], workers: &[WorkerWindow]) -> Self {
        Self {
            directions,
            elapsed_ns: workers.iter().map(|worker| worker.elapsed_ns).max().unwrap_or(0),
            queue_depth_integral: workers.iter().map(|worker| worker.queue_depth_integral).sum(),
            cpu_ns: 0,
            processors: 0,
            clock_error_ns: 0,
            same_kernel: true,
        }
    }

    /// Returns the number of successful reads and writes.
    #[must_use]
    pub fn ios(&self) -> u64 {
        self.directions[Op::Read as usize].ios() + self.directions[Op::Write as usize].ios()
    }

    /// Returns the time average of the host's outstanding I/Os.
    #[must_use]
    pub fn queue_depth(&self) -> f64 {
        if self.elapsed_ns == 0 {
            return 0.0;
        }
        self.queue_depth_integral as f64 / self.elapsed_ns as f64
    }

    /// Adds the same host's next window.
    pub fn append(&mut self, next: &Self) {
        merge(&mut self.directions, &next.directions);
        self.elapsed_ns += next.elapsed_ns;
        self.queue_depth_integral += next.queue_depth_integral;
        self.cpu_ns += next.cpu_ns;
        self.processors = self.processors.max(next.processors);
        self.clock_error_ns = self.clock_error_ns.max(next.clock_error_ns);
        self.same_kernel |= next.same_kernel;
    }
}
