//! Progress of a measurement, and the interrupt that ends it.

mod decision;
mod explain;

pub use decision::{Crossing, Decision, Judgement, MeasuredPoint, Next, Verdict, Why};

use iogauge_io::engine::Op;
use iogauge_io::worker::accounting::Window;
use iogauge_model::Limit;
use iogauge_model::result::{CurvePoint, StepPlace, StepResult, SuiteStepResult, SystemPoint};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Set by a signal handler or by `iogauge stop`, and checked between ticks.
#[derive(Debug, Clone, Default)]
pub struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// Returns the flag itself, for a signal handler.
    #[must_use]
    pub fn flag(&self) -> Arc<AtomicBool> {
        self.0.clone()
    }

    /// Returns true once the user wants the run to end.
    #[must_use]
    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Ends the run.
    pub fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Phase of a measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Blocks are written for the first time.
    Prefill {
        /// Bytes written so far.
        done_bytes: u64,
        total_bytes: u64,
    },
    /// I/Os run but are not counted yet.
    Ramp,
    /// A step is measured.
    Measuring,
    /// The blocks that a step has written are read back and checked.
    Checking {
        /// Bytes checked so far.
        done_bytes: u64,
        total_bytes: u64,
    },
    /// The search raises the load.
    Doubling,
    /// The search narrows the gap.
    Narrowing,
    /// The search confirms the answer.
    Confirming,
}

impl Phase {
    /// Returns a word for the status line.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Prefill { .. } => "prefill",
            Self::Ramp => "ramp",
            Self::Measuring => "measuring",
            Self::Checking { .. } => "checking",
            Self::Doubling => "doubling",
            Self::Narrowing => "narrowing",
            Self::Confirming => "confirming",
        }
    }
}

/// Progress of a measurement, for a status line.
#[derive(Debug, Clone, Copy)]
pub struct Status<'a> {
    pub phase: Phase,
    /// Requested queue depth; 0 if it does not apply.
    pub queue_depth: u32,
    /// I/Os per second over the last tick.
    pub iops: f64,
    /// Bytes per second over the last tick.
    pub bytes_per_sec: f64,
    /// Reads and writes per second over the last tick.
    pub by_direction: [f64; 2],
    /// Mean latency over the last tick, in nanoseconds.
    pub latency_mean_ns: f64,
    /// Limits of the search, each with its statistic over the last tick, in nanoseconds; infinity without I/O.
    pub limits: &'a [(Limit, f64)],
    /// Time left, in nanoseconds, if known.
    pub left_ns: Option<u64>,
    /// All of the time, in nanoseconds, if known.
    pub total_ns: Option<u64>,
}

impl Status<'_> {
    /// Returns the share of the time that has passed, in percent, if it is known.
    #[must_use]
    pub fn percent_done(&self) -> Option<f64> {
        let (left, total) = (self.left_ns? as f64, self.total_ns? as f64);
        (total > 0.0).then(|| ((1.0 - left / total) * 100.0).clamp(0.0, 100.0))
    }
}

/// Returns the reads and the writes per second of a window.
pub(crate) fn by_direction(window: &Window) -> [f64; 2] {
    let seconds = window.seconds();
    [Op::Read, Op::Write].map(|op| {
        let ios = window.tally(op).service.count() as f64;
        if seconds > 0.0 { ios / seconds } else { 0.0 }
    })
}

/// The load during a window.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Setting {
    /// Requested queue depth. In an open loop: the maximum number of outstanding I/Os.
    pub queue_depth: u32,
    /// Requested arrival rate, in an open loop.
    pub rate_iops: Option<f64>,
}

/// Receives the events of a measurement.
pub trait Observer {
    /// Called several times a second.
    fn status(&mut self, status: &Status<'_>);

    /// I/Os count from here on.
    fn window_begins(&mut self) {}

    /// The window has ended. `window` holds the I/Os that count.
    fn window_ends(&mut self, _window: &Window, _place: Setting) {}

    /// A search made a decision. [`Decision::text`] formats it as one line.
    fn decision(&mut self, _decision: &Decision) {}

    /// A point of the curve was measured and should be saved.
    fn point(&mut self, _point: &CurvePoint) {}

    /// One of several steps was measured and should be saved.
    fn step(&mut self, _step: &StepResult) {}

    /// A step is still running. `make` returns its results so far, to be saved in case the process dies before the
    /// step ends. Calling it costs as much as the statistics of a step.
    fn so_far(&mut self, _make: &mut dyn FnMut() -> StepResult) {}

    /// The system was sampled. `left` is the remaining time, if there is an end.
    fn system(&mut self, _point: &SystemPoint, _left: Option<Duration>) {}

    /// A step of a suite begins. `index` counts from 0, and `of` is the number of steps. The steps after it
    /// take `after_ns` nanoseconds, apart from those that end by themselves.
    fn suite_step_begins(&mut self, _index: usize, _of: usize, _place: &StepPlace, _after_ns: u64) {
    }

    /// A step of a suite has ended and should be saved.
    fn suite_step(&mut self, _step: &SuiteStepResult) {}
}

/// Ignores all events.
#[derive(Debug, Default)]
pub struct Blind;

impl Observer for Blind {
    fn status(&mut self, _status: &Status<'_>) {}
}
