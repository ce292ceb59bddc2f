//! A target that changes its mind: burst credits that run out, a cache that fills, a throttle that
//! sets in, a neighbour that comes or goes.

use super::point::Point;
use super::prediction::{self, Ticks};
use super::{Drift, bench};
use crate::measure::steadiness::LASTING_SECONDS;
use crate::stats::{ChangePoint, Wander, change_point};
use iogauge_model::result::{Estimate, IntervalPoint, PerformanceShift};

/// IOPS at no smaller depth that fall below this share of those measured before contradict them.
const CONTRADICTS: f64 = 0.8;
/// Noise does not make a difference of levels beyond what it makes with this probability.
const CERTAIN: f64 = 0.999;

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

/// A change of level that made a search begin again.
pub(super) struct Shift {
    pub(super) reported: PerformanceShift,
    /// The windows that told it; `None` for a change within a hold, where [`Change::in_series`] has
    /// asked whether it is noise.
    pub(super) windows: Option<Windows>,
}

/// Two windows, the later at no smaller depth.
pub(super) struct Windows {
    /// Length of the shorter.
    pub(super) seconds: f64,
    /// Time between the starts of the two windows.
    pub(super) apart_seconds: f64,
}

impl Windows {
    pub(super) fn of(before: &Point, after: &Point) -> Self {
        Self {
            seconds: before.seconds.min(after.seconds),
            apart_seconds: bench::seconds(after.began_ns.saturating_sub(before.began_ns)),
        }
    }
}

impl Shift {
    /// True where windows near the limit, which are longer, show that the rate comes and goes by as much.
    pub(super) fn is_noise(&self, near: &[&Ticks]) -> bool {
        let change = (self.reported.after_iops / self.reported.before_iops).ln();
        self.windows.as_ref().is_some_and(|windows| {
            let times = [windows.seconds, windows.apart_seconds];
            prediction::comes_and_goes(near, change, times, CERTAIN)
        })
    }
}

/// The 95 % interval of an estimate, which reaches from 0 to infinity where its error is not known.
fn known(iops: &Estimate) -> [f64; 2] {
    if iops.n < 2 { [0.0, f64::INFINITY] } else { iops.ci95 }
}

/// The point measured before that a new one contradicts: one of no greater depth that gave clearly
/// more IOPS. More depth may add nothing, but it takes little away.
pub(super) fn contradicted<'a>(
    earlier: impl Iterator<Item = &'a Point>,
    new: &Point,
) -> Option<&'a Point> {
    earlier
        .filter(|p| {
            p.queue_depth <= new.queue_depth
                && known(&new.iops)[1] < known(&p.iops)[0] * CONTRADICTS
        })
        .max_by(|a, b| a.iops.mean.total_cmp(&b.iops.mean))
}

/// The pair of points that contradict each other most, of those left at the end, each depth once: an earlier
/// one, and a later of larger depth that gives clearly fewer IOPS. Either more depth costs throughput, or
/// the target got slower during the search.
pub(super) fn drift(points: &[Point]) -> Option<Drift> {
    let fell = |before: &Point, after: &Point| Drift {
        queue_depths: [before.queue_depth, after.queue_depth],
        before_iops: before.iops.mean,
        after_iops: after.iops.mean,
    };
    let contradicts = |before: &Point, after: &Point| {
        before.queue_depth < after.queue_depth
            && before.began_ns < after.began_ns
            && known(&after.iops)[1] < known(&before.iops)[0]
            && after.iops.mean < before.iops.mean * CONTRADICTS
    };
    let pairs = points.iter().flat_map(|after| {
        let earlier = points.iter().filter(move |before| contradicts(before, after));
        earlier.map(move |before| fell(before, after))
    });
    pairs.min_by(|a, b| a.share().total_cmp(&b.share()))
}

/// True where the same depth, measured again, gives other IOPS than before.
pub(super) fn differs(before: &Point, again: &Point) -> bool {
    let ratio = again.iops.mean / before.iops.mean;
    let (before_ci95, again_ci95) = (known(&before.iops), known(&again.iops));
    let apart = again_ci95[1] < before_ci95[0] || again_ci95[0] > before_ci95[1];
    apart && !(CONTRADICTS..=1.0 / CONTRADICTS).contains(&ratio)
}
