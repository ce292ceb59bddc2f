//! Performance shifts within a window.

use crate::measure::steadiness::LASTING_SECONDS;
use crate::stats::{ChangePoint, Wander, change_point};
use iogauge_model::result::{IntervalPoint, PerformanceShift};

/// IOPS below this share of earlier ones contradict them, if the queue depth is the same or larger.
pub(super) const CONTRADICTS: f64 = 0.8;
/// A difference counts as a performance shift if noise causes a smaller one with this probability.
pub(super) const CERTAIN: f64 = 0.999;

/// A performance shift within a window.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Change {
    /// First tick after the shift.
    pub(super) index: usize,
    before_iops: f64,
    after_iops: f64,
    /// Time from the shift to the end of the series.
    lasts_seconds: f64,
}

impl Change {
    pub(super) fn rises(&self) -> bool {
        self.after_iops > self.before_iops
    }

    /// Returns the shift as reported in the result. `ends_seconds` is the time at which the series ends.
    pub(super) fn shift(&self, ends_seconds: f64) -> PerformanceShift {
        let Self { before_iops, after_iops, lasts_seconds, .. } = *self;
        PerformanceShift { at_seconds: ends_seconds - lasts_seconds, before_iops, after_iops }
    }

    /// Returns the performance shift in a series of ticks, if there is one. It must have [`LASTING_SECONDS`] of ticks
    /// before it, and after it the larger of that and `stays_seconds`.
    pub(super) fn in_series(series: &[IntervalPoint], stays_seconds: f64) -> Option<Self> {
        let rates: Vec<f64> = series.iter().map(IntervalPoint::iops).collect();
        let change = change_point(&rates)?;
        let (old, new) = series.split_at(change.index);
        let seconds = |part: &[IntervalPoint]| part.iter().map(|p| p.seconds).sum::<f64>();
        let lasts_seconds = seconds(new);
        let lasting =
            seconds(old) >= LASTING_SECONDS && lasts_seconds >= LASTING_SECONDS.max(stays_seconds);
        let ratio = change.after / change.before;
        // No I/Os at all are an outage, not a performance shift.
        let notable =
            lasting && change.after > 0.0 && !(CONTRADICTS..=1.0 / CONTRADICTS).contains(&ratio);
        (notable && !is_noise(&change, &rates)).then_some(Self {
            index: change.index,
            before_iops: change.before,
            after_iops: change.after,
            lasts_seconds,
        })
    }
}

/// Returns true if the change is no larger than what the rate wanders by on the longer side of it. A change that comes
/// and goes is noise. One that stays is a performance shift.
fn is_noise(change: &ChangePoint, rates: &[f64]) -> bool {
    let (old, new) = rates.split_at(change.index);
    let (longer, shorter) = if old.len() < new.len() { (new, old) } else { (old, new) };
    let Some(wander) = Wander::of(longer) else { return false };
    let explained = wander.neighbours(shorter.len() as f64).half_width(CERTAIN);
    (change.after - change.before).abs() <= explained
}
