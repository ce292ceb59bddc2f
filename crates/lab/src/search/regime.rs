//! A target that changes its mind: burst credits that run out, a cache that fills, a throttle that
//! sets in, a neighbour that comes or goes.

use super::point::Point;
use crate::stats::change_point;
use iogauge_model::result::IntervalPoint;

/// A change of the IOPS below this is no other regime.
const NOTABLE: f64 = 0.1;
/// A change of level lasts at least so long on either side, in seconds: shorter ones are stalls.
const LASTING_SECONDS: f64 = 0.75;
/// IOPS at no smaller depth that fall below this share of those measured before contradict them.
const CONTRADICTS: f64 = 0.8;

/// A change of level within a window.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Change {
    /// First tick of the new level.
    pub(super) index: usize,
    pub(super) before_iops: f64,
    pub(super) after_iops: f64,
}

impl Change {
    /// The lasting change of the IOPS in a series of ticks, if there is one.
    pub(super) fn in_series(series: &[IntervalPoint]) -> Option<Self> {
        let rates: Vec<f64> = series.iter().map(IntervalPoint::iops).collect();
        let change = change_point(&rates)?;
        let (old, new) = series.split_at(change.index);
        let seconds = |part: &[IntervalPoint]| part.iter().map(|p| p.seconds).sum::<f64>();
        let lasting = seconds(old).min(seconds(new)) >= LASTING_SECONDS;
        (lasting && change.jump_relative().abs() > NOTABLE).then_some(Self {
            index: change.index,
            before_iops: change.before,
            after_iops: change.after,
        })
    }
}

/// The point measured before that a new one contradicts: one of no greater depth that gave clearly
/// more IOPS. More depth may add nothing, but it takes little away.
pub(super) fn contradicted<'a>(earlier: &'a [Point], new: &Point) -> Option<&'a Point> {
    earlier
        .iter()
        .filter(|p| p.depth <= new.depth && new.iops.ci95[1] < p.iops.ci95[0] * CONTRADICTS)
        .max_by(|a, b| a.iops.mean.total_cmp(&b.iops.mean))
}

/// True where the same depth, measured again, gives other IOPS than before.
pub(super) fn differs(before: &Point, again: &Point) -> bool {
    let ratio = again.iops.mean / before.iops.mean;
    let apart =
        again.iops.ci95[1] < before.iops.ci95[0] || again.iops.ci95[0] > before.iops.ci95[1];
    apart && !(CONTRADICTS..=1.0 / CONTRADICTS).contains(&ratio)
}
