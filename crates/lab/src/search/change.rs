//! A lasting change of the IOPS within a window.

use crate::measure::steadiness::LASTING_SECONDS;
use crate::stats::{ChangePoint, Wander, change_point};
use iogauge_model::result::{IntervalPoint, PerformanceShift};

/// IOPS at no smaller depth that fall below this share of those measured before contradict them.
pub(super) const CONTRADICTS: f64 = 0.8;
/// Noise does not make a difference of levels beyond what it makes with this probability.
pub(super) const CERTAIN: f64 = 0.999;

/// A change of level within a window.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Change {
    /// First tick of the new level.
    pub(super) index: usize,
    before_iops: f64,
    after_iops: f64,
    /// How long the new level has lasted.
    lasts_seconds: f64,
}

impl Change {
    pub(super) fn rises(&self) -> bool {
        self.after_iops > self.before_iops
    }

    /// The same for the result of a search, in which the series ends at this time.
    pub(super) fn shift(&self, ends_seconds: f64) -> PerformanceShift {
        let Self { before_iops, after_iops, lasts_seconds, .. } = *self;
        PerformanceShift { at_seconds: ends_seconds - lasts_seconds, before_iops, after_iops }
    }

    /// The lasting change of the IOPS in a series of ticks, if there is one: the old level lasted for
    /// [`LASTING_SECONDS`] at least, the new one for as long as is asked beyond that.
    pub(super) fn in_series(series: &[IntervalPoint], stays_seconds: f64) -> Option<Self> {
        let rates: Vec<f64> = series.iter().map(IntervalPoint::iops).collect();
        let change = change_point(&rates)?;
        let (old, new) = series.split_at(change.index);
        let seconds = |part: &[IntervalPoint]| part.iter().map(|p| p.seconds).sum::<f64>();
        let lasts_seconds = seconds(new);
        let lasting =
            seconds(old) >= LASTING_SECONDS && lasts_seconds >= LASTING_SECONDS.max(stays_seconds);
        let ratio = change.after / change.before;
        // A target that answers nothing is at no level.
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

/// True where a change of level is no larger than the rate wanders by on the longer side of it. A shift
/// that comes and goes is noise; one that stays is a shift.
fn is_noise(change: &ChangePoint, rates: &[f64]) -> bool {
    let (old, new) = rates.split_at(change.index);
    let (longer, shorter) = if old.len() < new.len() { (new, old) } else { (old, new) };
    let Some(wander) = Wander::of(longer) else { return false };
    let explained = wander.neighbours(shorter.len() as f64).half_width(CERTAIN);
    (change.after - change.before).abs() <= explained
}
