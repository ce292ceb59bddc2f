//! Which depth to try next.

use super::point::Point;
use iogauge_model::Limit;

/// The next depth after one that held: twice as deep, or nearer where the curve already tells where
/// the limit lies.
///
/// Past saturation latency is depth over throughput (Little's law), so from two points on the flat
/// part of the curve the depth at the limit follows; trying just beyond it saves the doublings in
/// between.
pub(super) fn next_doubling(before: Option<&Point>, point: &Point, limits: &[Limit]) -> u32 {
    let twice = point.depth.saturating_mul(2);
    let Some(before) = before else { return twice };
    let flat = point.iops.mean < before.iops.mean * 1.05;
    let Some(at_limit) = crossing(before, point, limits).filter(|_| flat) else { return twice };
    let beyond = (at_limit * 1.1).ceil();
    if beyond >= f64::from(twice) {
        (beyond as u32).min(point.depth.saturating_mul(64))
    } else {
        twice
    }
}

/// The next depth between one that holds and one that does not; `None` where they are as close as
/// the precision asks.
///
/// Regula falsi on the logarithms of depth and of the limit's statistic, kept away from the ends so
/// that the gap shrinks by at least an eighth each time even where the curve bends.
pub(super) fn between(good: &Point, bad: &Point, limits: &[Limit], precision: f64) -> Option<u32> {
    let gap = bad.depth.saturating_sub(good.depth);
    if gap <= 1 || f64::from(gap) <= f64::from(good.depth) * precision {
        return None;
    }
    let guess = crossing(good, bad, limits)
        .unwrap_or_else(|| (f64::from(good.depth) * f64::from(bad.depth)).sqrt());
    let margin = (gap / 8).max(1);
    // A guess right at the crossing tells little; a hair below it usually holds.
    let guess = guess.floor() as u32;
    Some(guess.clamp(good.depth + margin, bad.depth - margin))
}

/// Depth at which the first limit breaks, on the straight line through two points of logarithms.
fn crossing(a: &Point, b: &Point, limits: &[Limit]) -> Option<f64> {
    let depth = |p: &Point| f64::from(p.depth).ln();
    limits
        .iter()
        .enumerate()
        .filter_map(|(index, limit)| {
            let (low, high) = (a.statistics[index].ln(), b.statistics[index].ln());
            let slope = (high - low) / (depth(b) - depth(a));
            if !slope.is_finite() || slope <= 0.05 {
                return None;
            }
            let at = depth(a) + ((limit.bound_ns as f64).ln() - low) / slope;
            Some(at.exp())
        })
        .filter(|at| at.is_finite())
        .min_by(f64::total_cmp)
}
