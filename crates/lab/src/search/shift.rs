//! A target that changes its mind: burst credits that run out, a cache that fills, a throttle that
//! sets in, a neighbour that comes or goes.

use super::change::{CERTAIN, CONTRADICTS};
use super::point::Point;
use super::prediction::{self, Ticks};
use super::{Drift, time};
use iogauge_model::result::{Estimate, PerformanceShift};

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
            apart_seconds: time::seconds(after.began_ns.saturating_sub(before.began_ns)),
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
