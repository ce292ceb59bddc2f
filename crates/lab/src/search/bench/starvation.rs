//! Detection of stretches of a window in which the client was starved.

use super::Bench;
use crate::search::starvation::{Show, Sieve};
use crate::search::window_length::SHORTEST_NS;
use iogauge_io::machine::Starvation;

/// Length of a stretch.
const STRETCH_NS: u64 = SHORTEST_NS;
/// Maximum length of a window that has to replace what was left out, as a multiple of its usual maximum.
const PATIENCE: u64 = 3;
/// After this many stretches it is known whether waiting helps.
const MANY: u32 = 16;

/// The current stretch of a window.
pub(in crate::search) struct Stretches {
    /// The reading at its start; `None` if starvation is not observed.
    before: Option<Starvation>,
    began_ns: u64,
    /// Time left out of the window so far.
    pub(in crate::search) left_out_ns: u64,
    /// Maximum length of the window including the time left out.
    pub(in crate::search) longest_ns: u64,
}

impl Stretches {
    /// Returns true if starvation is observed, so that what a stretch shows counts only once it has ended.
    pub(in crate::search) fn is_observed(&self) -> bool {
        self.before.is_some()
    }
}

impl Bench<'_, '_> {
    /// Starts to watch a window that should take `longest_ns` for starvation, and starts its first stretch.
    pub(in crate::search) fn stretches<S: Show>(
        &self,
        sieve: &mut Sieve<S>,
        longest_ns: u64,
    ) -> Stretches {
        let counts = self.plan.max_starvation < 1.0;
        let before = self.pool.starvation().filter(|_| counts);
        if before.is_some() {
            sieve.begin_stretch();
        }
        // A client that was starved most of the time is likely to stay so.
        let hopeless = self.starved.stretches >= MANY && self.starved.is_most();
        let patience = if hopeless { 1 } else { PATIENCE };
        let longest_ns = longest_ns.max(self.left_ns().min(patience * longest_ns));
        Stretches { before, began_ns: self.pool.now_ns(), left_out_ns: 0, longest_ns }
    }

    /// Starts a new stretch and leaves out the time since the last one ended.
    pub(in crate::search) fn begin_stretch(&self, stretches: &mut Stretches) {
        let now_ns = self.pool.now_ns();
        stretches.left_out_ns += now_ns - stretches.began_ns;
        (stretches.before, stretches.began_ns) = (self.pool.starvation(), now_ns);
    }

    /// Ends the current stretch if it is long enough; at the end of a window, half the length is enough. Returns true
    /// if the client was starved in it, and `None` if the stretch continues.
    pub(in crate::search) fn end_stretch(
        &mut self,
        stretches: &mut Stretches,
        at_end: bool,
    ) -> Option<bool> {
        let before = stretches.before?;
        let length_ns = self.pool.now_ns() - stretches.began_ns;
        if length_ns < if at_end { STRETCH_NS / 2 } else { STRETCH_NS } {
            return None;
        }
        let now = self.pool.starvation()?;
        let lost = now.since(&before);
        let starved = lost.lost_ns() as f64 > length_ns as f64 * self.plan.max_starvation;
        self.starved.stretches += 1;
        if starved {
            self.starved.left_out += 1;
            self.starved.left_out_ns += length_ns;
            self.starved.lost.add(&lost);
            stretches.left_out_ns += length_ns;
        }
        (stretches.before, stretches.began_ns) = (Some(now), self.pool.now_ns());
        Some(starved)
    }
}
