//! How a measurement shows its progress and is asked to end.

mod decision;

pub use decision::{Crossing, Decision, Judgement, Measured, Next, Verdict, Why};

use iogauge_io::worker::accounting::Window;
use iogauge_model::Limit;
use iogauge_model::result::{CurvePoint, StepPlace, StepResult, SuiteStepResult, SystemPoint};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Set by a signal handler or by `iogauge stop`; looked at between ticks.
#[derive(Debug, Clone, Default)]
pub struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// The flag itself, for a signal handler.
    #[must_use]
    pub fn flag(&self) -> Arc<AtomicBool> {
        self.0.clone()
    }

    /// True once the user wants the run to end.
    #[must_use]
    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Ends the run.
    pub fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// What is going on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Blocks are written for the first time.
    Prefill {
        /// Bytes written.
        done_bytes: u64,
        /// Bytes to write.
        total_bytes: u64,
    },
    /// I/Os run and are not counted yet.
    Ramp,
    /// A step is measured.
    Measuring,
    /// What a step has written is read back and checked.
    Checking {
        /// Bytes read.
        done_bytes: u64,
        /// Bytes to read.
        total_bytes: u64,
    },
    /// The search raises the load.
    Doubling,
    /// The search closes in.
    Narrowing,
    /// The answer is held for longer.
    Confirming,
}

impl Phase {
    /// A word for the status line.
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

/// Where a measurement stands, for one line of text.
#[derive(Debug, Clone, Copy)]
pub struct Status<'a> {
    /// What is going on.
    pub phase: Phase,
    /// Depth asked; 0 where it does not apply.
    pub queue_depth: u32,
    /// I/Os per second over the last tick.
    pub iops: f64,
    /// Bytes per second over the last tick.
    pub bytes_per_sec: f64,
    /// Mean latency over the last tick, in nanoseconds.
    pub latency_mean_ns: f64,
    /// Bounds searched under.
    pub limits: &'a [Limit],
    /// Time left, in nanoseconds, where it is known.
    pub left_ns: Option<u64>,
}

/// What a window was measured at.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Setting {
    /// Depth asked; in an open loop the most I/Os that may be outstanding.
    pub queue_depth: u32,
    /// Arrival rate asked, in an open loop.
    pub rate_iops: Option<f64>,
}

/// Sees a measurement go by.
pub trait Observer {
    /// Called several times a second.
    fn status(&mut self, status: &Status<'_>);

    /// From now on I/Os count.
    fn window_begins(&mut self) {}

    /// The window that was begun is over: the I/Os that count.
    fn window_ends(&mut self, _window: &Window, _place: Setting) {}

    /// A search decided something; shown, it is one line.
    fn decision(&mut self, _decision: &Decision) {}

    /// A point of the curve is measured: the time to keep it.
    fn point(&mut self, _point: &CurvePoint) {}

    /// A step of several is measured: the time to keep it.
    fn step(&mut self, _step: &StepResult) {}

    /// A step goes on. `make` tells what it measured until now, to be kept for the case that its process does
    /// not live to the end; it costs the statistics of a step.
    fn so_far(&mut self, _make: &mut dyn FnMut() -> StepResult) {}

    /// The system is recorded: the last sample, and the time left where there is an end.
    fn system(&mut self, _point: &SystemPoint, _left: Option<Duration>) {}

    /// A step of a suite begins, by its number in the plan from 0, with how many there are.
    fn suite_step_begins(&mut self, _index: usize, _of: usize, _place: &StepPlace) {}

    /// A step of a suite is over: the time to keep it.
    fn suite_step(&mut self, _step: &SuiteStepResult) {}
}

/// Sees nothing.
#[derive(Debug, Default)]
pub struct Blind;

impl Observer for Blind {
    fn status(&mut self, _status: &Status<'_>) {}
}
