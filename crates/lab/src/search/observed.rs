//! What a window has shown so far, tick by tick.

use super::exceeding::Exceeding;
use super::starvation::Show;
use crate::measure::hosts::{self, Times};
use crate::measure::series::interval;
use iogauge_io::worker::accounting::Window;
use iogauge_model::Limit;
use iogauge_model::limit::Directions;
use iogauge_model::result::IntervalPoint;

/// Returns the latencies of a window by which limits are judged.
pub(super) fn directions(window: &Window) -> Directions<'_> {
    hosts::latencies(window, Times::Service)
}

/// What a window, or a confirmation of several stretches, has shown so far.
#[derive(Debug, Clone, Default)]
pub(super) struct Observed {
    pub(super) began_ns: u64,
    pub(super) total: Window,
    pub(super) series: Vec<IntervalPoint>,
    pub(super) exceeding: Exceeding,
    /// The same in parts, for a confirmation.
    parts: Option<Parts>,
}

impl Show for Observed {
    fn append(&mut self, tick: &Window, limits: &[Limit]) {
        self.total.append(tick);
        // Workers that have ended take no time.
        if tick.seconds() <= 0.0 {
            return;
        }
        self.series.push(interval(tick, self.total.seconds()));
        self.exceeding.append(limits, &directions(tick));
        if let Some(parts) = &mut self.parts {
            parts.append(tick);
        }
    }

    fn total(&self) -> &Window {
        &self.total
    }
}

impl Observed {
    /// Starts empty. `part_ns` is the length of a part, for a window whose first ticks may be removed.
    pub(super) fn since(began_ns: u64, part_ns: Option<u64>) -> Self {
        Self { began_ns, parts: part_ns.map(Parts::new), ..Self::default() }
    }

    /// Removes the first ticks of a confirmation, in whole parts.
    pub(super) fn forget_first(&mut self, ticks: usize) {
        let Some(parts) = &self.parts else { return };
        let left_out = parts.without_first(ticks, &mut self.total);
        self.series.drain(..left_out);
        self.exceeding.without_first(left_out);
    }
}

/// A window in parts of several ticks each.
#[derive(Debug, Clone)]
struct Parts {
    length_ns: u64,
    parts: Vec<(Window, usize)>,
    ended_ns: u64,
}

impl Parts {
    fn new(length_ns: u64) -> Self {
        Self { length_ns, parts: Vec::new(), ended_ns: 0 }
    }

    fn append(&mut self, tick: &Window) {
        if self.parts.is_empty() || tick.ended_ns >= self.ended_ns + self.length_ns {
            self.ended_ns = tick.ended_ns;
            self.parts.push((Window::default(), 0));
        }
        if let Some((part, ticks)) = self.parts.last_mut() {
            part.append(tick);
            *ticks += 1;
        }
    }

    /// Adds up the parts that lie wholly after the first `ticks`. Returns the number of ticks left out.
    fn without_first(&self, ticks: usize, total: &mut Window) -> usize {
        *total = Window::default();
        let mut before = 0;
        let mut left_out = 0;
        for (part, length) in &self.parts {
            if before >= ticks {
                total.append(part);
            } else {
                left_out = before + length;
            }
            before += length;
        }
        left_out
    }
}
