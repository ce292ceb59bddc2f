//! The steady state that a step is to attain, and at which it ends.

use super::TICK_NS;
use iogauge_io::engine::Op;
use iogauge_io::worker::accounting::Window;
use iogauge_model::Step;
use iogauge_model::result::{SteadyPoint, SteadyStateResult};

/// A window ends up to this much before or after its time.
const HALF_TICK_SECONDS: f64 = TICK_NS as f64 / 2e9;

/// The steady state so far, and the I/Os since its last measurement.
#[derive(Debug, Clone)]
pub(super) struct SteadyWatch {
    state: SteadyStateResult,
    /// Time measured so far.
    seconds: f64,
    /// When the next measurement is due.
    due_seconds: f64,
    since: Sum,
}

#[derive(Debug, Clone, Copy, Default)]
struct Sum {
    ios: u64,
    bytes: u64,
    service_sum_ns: u128,
    seconds: f64,
}

impl SteadyWatch {
    /// Begins to watch a step; `None` if it is not to attain a steady state. All its jobs seek the same one.
    pub(super) fn begin(step: &Step) -> Option<Self> {
        let sought = step.jobs.first()?.load.steady_state.clone()?;
        let due_seconds = (sought.ramp_ns + sought.interval_ns) as f64 / 1e9;
        let state = SteadyStateResult::begin(sought);
        Some(Self { state, seconds: 0.0, due_seconds, since: Sum::default() })
    }

    /// Adds the I/Os of a window. Returns true if the steady state is attained.
    pub(super) fn add(&mut self, window: &Window) -> bool {
        let in_ramp = self.seconds + HALF_TICK_SECONDS < self.state.sought.ramp_ns as f64 / 1e9;
        self.seconds += window.seconds();
        if in_ramp {
            return false;
        }
        self.since.add(window);
        if self.seconds + HALF_TICK_SECONDS < self.due_seconds {
            return false;
        }
        self.due_seconds += self.state.sought.interval_ns as f64 / 1e9;
        let attained = self.state.add(std::mem::take(&mut self.since).point());
        self.state.attained_at_seconds = attained.then_some(self.seconds);
        attained
    }

    pub(super) fn into_result(self) -> SteadyStateResult {
        self.state
    }
}

impl Sum {
    fn add(&mut self, window: &Window) {
        let sum_ns = |op| window.tally(op).service.sum_ns();
        self.ios += window.ios();
        self.bytes += window.bytes();
        self.service_sum_ns += sum_ns(Op::Read) + sum_ns(Op::Write);
        self.seconds += window.seconds();
    }

    fn point(&self) -> SteadyPoint {
        SteadyPoint {
            iops: self.ios as f64 / self.seconds,
            bytes_per_sec: self.bytes as f64 / self.seconds,
            latency_mean_ns: self.service_sum_ns as f64 / (self.ios as f64).max(1.0),
        }
    }
}
