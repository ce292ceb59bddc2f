//! Performance shifts between windows: burst credits run out, a cache fills, a throttle sets in, a neighbour comes or
//! goes.

use super::change::{CERTAIN, CONTRADICTS};
use super::point::Point;
use super::prediction::{self, Ticks};
use super::{Drift, window_length};
use iogauge_model::result::{Estimate, PerformanceShift};

/// A performance shift after which the search started again or dropped earlier points.
pub(super) struct Shift {
    pub(super) reported: PerformanceShift,
    /// The windows that showed it. `None` for a shift within a confirmation, which
    /// [`Change::in_series`](super::change::Change::in_series) has already distinguished from noise.
    pub(super) windows: Option<Windows>,
}

/// Two windows, the later one at the same or a larger queue depth.
pub(super) struct Windows {
    /// Length of the shorter window.
    pub(super) seconds: f64,
    /// Time between the starts of the two windows.
    pub(super) apart_seconds: f64,
}

impl Windows {
    pub(super) fn of(before: &Point, after: &Point) -> Self {
        Self {
            seconds: before.seconds.min(after.seconds),
            apart_seconds: window_length::seconds(after.began_ns.saturating_sub(before.began_ns)),
        }
    }
}

impl Shift {
    /// Returns true if the windows near the limit, which are longer, show that the rate comes and goes by as much.
    pub(super) fn is_noise(&self, near: &[&Ticks]) -> bool {
        let change = (self.reported.after_iops / self.reported.before_iops).ln();
        self.windows.as_ref().is_some_and(|windows| {
            let times = [windows.seconds, windows.apart_seconds];
            prediction::comes_and_goes(near, change, times, CERTAIN)
        })
    }
}

/// Returns the 95 % CI of an estimate; from 0 to infinity if its error is unknown.
fn known(iops: &Estimate) -> [f64; 2] {
    if iops.n < 2 { [0.0, f64::INFINITY] } else { iops.ci95 }
}

/// Returns the earlier point that a new one contradicts: one of the same or a smaller queue depth that gave clearly
/// more IOPS. A larger queue depth may add nothing, but it costs little.
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

/// Returns the pair of remaining points that contradict each other most: an earlier one, and a later one of larger
/// queue depth that gives clearly fewer IOPS. Either a larger queue depth costs throughput, or the target became slower
/// during the search. Each queue depth occurs once.
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

/// Returns true if the same queue depth, measured again, gives clearly different IOPS.
pub(super) fn differs(before: &Point, again: &Point) -> bool {
    let ratio = again.iops.mean / before.iops.mean;
    let (before_ci95, again_ci95) = (known(&before.iops), known(&again.iops));
    let apart = again_ci95[1] < before_ci95[0] || again_ci95[0] > before_ci95[1];
    apart && !(CONTRADICTS..=1.0 / CONTRADICTS).contains(&ratio)
}
