//! What is done with the workers of every host at the same time.

use crate::message::HostState;
use iogauge_io::clock::Clock;
use iogauge_io::machine::ProcessCpu;
use iogauge_io::pool::WorkerPool;
use iogauge_io::worker::WorkerError;
use iogauge_io::worker::accounting::Window;
use serde::{Deserialize, Serialize};
use std::num::NonZero;
use std::time::Duration;

/// A change of the workers of a host. Each gives the window that ends with it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub enum Action {
    #[default]
    TakeWindow,
    /// Take a window, after which logs begin.
    BeginLogs,
    /// Take the last window that logs contain.
    EndLogs,
    /// The host's part of the queue depth.
    SetQueueDepth(u32),
    /// The host's part of the arrival rate; `None` for a closed loop.
    SetRate(Option<f64>),
    /// Add a worker if it helps; no window if it does not.
    AddWorker,
    /// Hold back arrivals, or let them continue.
    HoldBackArrivals(bool),
}

impl Action {
    /// Does it.
    ///
    /// # Errors
    /// If an engine failed.
    pub fn apply(self, pool: &mut dyn WorkerPool) -> Result<Option<Window>, WorkerError> {
        match self {
            Self::TakeWindow => pool.take_window().map(Some),
            Self::BeginLogs => {
                pool.begin_logs();
                pool.take_window().map(Some)
            }
            Self::EndLogs => {
                pool.end_logs();
                pool.take_window().map(Some)
            }
            Self::SetQueueDepth(queue_depth) => pool.set_queue_depth(queue_depth).map(Some),
            Self::SetRate(rate_iops) => pool.set_rate(rate_iops).map(Some),
            Self::AddWorker => pool.add_worker(),
            Self::HoldBackArrivals(holds) => {
                pool.hold_back_arrivals(holds);
                Ok(None)
            }
        }
    }
}

/// Waits until a time of this process's clock.
pub fn wait_until(at_ns: u64) {
    std::thread::sleep(Duration::from_nanos(at_ns.saturating_sub(Clock::get().now_ns())));
}

/// Returns the number of processors that workers can use at once; 0 if it is unknown whether they alone use the process's
/// processor time.
pub(crate) fn processors_of(pool: &dyn WorkerPool) -> u32 {
    if !pool.is_only_client() || pool.is_virtual() {
        return 0;
    }
    let processors = std::thread::available_parallelism().map_or(usize::MAX, NonZero::get);
    processors.min(pool.workers()) as u32
}

/// Returns how the workers are, with the pauses since the last call.
pub fn state_of(pool: &mut dyn WorkerPool) -> HostState {
    HostState {
        live: pool.live(),
        workers: pool.workers(),
        processors: processors_of(pool),
        is_drained: pool.drained(),
        is_finished: pool.finished(),
        could_add_worker: pool.could_add_worker(),
        most_depth: pool.most_depth(),
        paused: pool.take_pauses(),
        starvation: pool.starvation(),
        cpu: pool.cpu().unwrap_or_else(ProcessCpu::now),
        fault: pool.fault(),
        fallbacks: pool.fallbacks(),
        left_behind: pool.left_behind().to_vec(),
        found_fatal: pool.found_fatal(),
        ..HostState::default()
    }
}
