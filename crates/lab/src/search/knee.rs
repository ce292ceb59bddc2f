//! Where a curve bends.

use super::point::Point;
use iogauge_model::result::Knee;

/// The knee by asymptotic bounds (Lazowska, Zahorjan, Graham & Sevcik 1984, "Quantitative System
/// Performance", ch. 5): the depth at which the light-load line through depth 1 meets the highest
/// throughput, `N* = X_max · R(1)`. `None` where the curve has no flat part beyond it.
///
/// `points` by rising depth.
pub(super) fn of(points: &[Point]) -> Option<Knee> {
    let first = points.first().filter(|p| p.depth == 1)?;
    let highest = points.iter().map(|p| p.iops.mean).fold(0.0, f64::max);
    let depth = (highest * first.latency.mean / 1e9).round().max(1.0) as u32;
    let last = points.last()?;
    // A curve that ends at its knee may still be rising.
    if last.depth < depth.saturating_mul(2) {
        return None;
    }
    Some(Knee { depth, iops: iops_at(points, depth)? })
}

/// IOPS at a depth, drawn straight between the points around it.
fn iops_at(points: &[Point], depth: u32) -> Option<f64> {
    let above = points.iter().position(|p| p.depth >= depth)?;
    let right = &points[above];
    let Some(left) = above.checked_sub(1).map(|i| &points[i]) else {
        return Some(right.iops.mean);
    };
    let share = f64::from(depth - left.depth) / f64::from(right.depth - left.depth);
    Some(left.iops.mean + share * (right.iops.mean - left.iops.mean))
}
