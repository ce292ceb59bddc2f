//! What is known of another host while its workers run.

use crate::act::processors_of;
use crate::message::HostState;
use iogauge_io::machine::ProcessCpu;
use iogauge_io::pool::{LiveFigures, WorkerPool};
use std::time::{Duration, Instant};

/// A host whose outstanding I/Os do not end for this long has lost its storage.
const STORAGE_SILENCE: Duration = Duration::from_secs(8);

/// When a host last completed an I/O.
#[derive(Debug, Clone, Copy)]
pub(super) struct Progress {
    ios: u64,
    at: Instant,
}

impl Progress {
    pub(super) fn begin() -> Self {
        Self { ios: 0, at: Instant::now() }
    }

    pub(super) fn note(&mut self, live: LiveFigures) {
        if live.ios != self.ios || live.outstanding == 0 {
            *self = Self { ios: live.ios, at: Instant::now() };
        }
    }

    /// Forgives a time in which nothing could be heard.
    pub(super) fn forgive(&mut self, gap: Duration) {
        self.at += gap;
    }

    pub(super) fn is_silent(&self) -> bool {
        self.at.elapsed() >= STORAGE_SILENCE
    }
}

/// The process of a host that does the I/O.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Client {
    /// Processor time used since it began.
    cpu_ns: u64,
    /// Of that, polling for arrivals.
    polled_ns: u64,
    /// Processors that its workers can use at once; 0 if unknown.
    pub(super) processors: u32,
}

impl Client {
    pub(super) fn of(state: &HostState) -> Self {
        let (cpu_ns, polled_ns) = (state.cpu.total_ns(), state.live.polled_ns);
        Self { cpu_ns, polled_ns, processors: state.processors }
    }

    /// Returns that of this host.
    pub(super) fn here(own: &dyn WorkerPool) -> Self {
        Self {
            cpu_ns: own.cpu().unwrap_or_else(ProcessCpu::now).total_ns(),
            polled_ns: own.live().polled_ns,
            processors: processors_of(own),
        }
    }

    /// Returns the processor time used since an earlier state, without that spent polling.
    pub(super) fn worked_ns(&self, before: &Self) -> u64 {
        let polled_ns = self.polled_ns.saturating_sub(before.polled_ns);
        self.cpu_ns.saturating_sub(before.cpu_ns).saturating_sub(polled_ns)
    }
}

/// Another host that takes part.
#[derive(Debug)]
pub(super) struct Other {
    /// Its last state.
    pub(super) state: HostState,
    pub(super) progress: Progress,
    /// Its process at the end of the last window.
    pub(super) client: Client,
}
