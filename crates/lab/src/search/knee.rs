//! The smallest depth that gives nearly all of the answer, and the points by which a curve shows it.

use super::point::Point;
use crate::observe::{Next, Why};
use iogauge_model::result::{Estimate, Knee};

/// Depths around the knee that are within this factor of each other tell where it is.
const CLOSE: f64 = 1.25;

/// A share of the answer that no smaller depth gives of a target that stays as it is.
const CLEARLY_MORE: f64 = 1.1;

/// The knee of a curve. `None` where the answer breaks its limit, and where a smaller depth gives clearly more
/// than the answer.
///
/// `points` by rising depth, each depth once.
pub(super) fn of(points: &[Point], answer: &Point) -> Option<Knee> {
    if !answer.met || answer.iops.mean <= 0.0 {
        return None;
    }
    // A target that gives more at less depth has changed meanwhile, and has no knee to tell.
    let is_more = |p: &&Point| {
        let share = share(p, answer);
        p.queue_depth < answer.queue_depth && share.n > 1 && share.ci95[0] > CLEARLY_MORE
    };
    if points.iter().any(|point| is_more(&point)) {
        return None;
    }
    let candidates = points.iter().filter(|p| p.met && p.queue_depth <= answer.queue_depth);
    let knee = candidates.map(|p| (p, share(p, answer))).find(|(_, s)| s.mean >= Knee::SHARE);
    knee.map(|(at, share)| Knee {
        queue_depth: at.queue_depth,
        iops: at.iops.mean,
        share: Some(share),
    })
}

/// IOPS of a point over those of the answer. Their relative errors add as squares, for the windows are
/// different ones. Where one of them is not known, neither is that of the share.
fn share(point: &Point, answer: &Point) -> Estimate {
    let mean = point.iops.mean / answer.iops.mean;
    if point.queue_depth == answer.queue_depth {
        return Estimate { mean: 1.0, ci95: [1.0, 1.0], n: answer.iops.n };
    }
    let n = point.iops.n.min(answer.iops.n);
    if n < 2 {
        return Estimate { mean, ci95: [mean, mean], n };
    }
    let half = mean * point.iops.relative_error().hypot(answer.iops.relative_error());
    Estimate { mean, ci95: [(mean - half).max(0.0), mean + half], n }
}

/// The depth by which the curve up to the answer tells more: the deepest doubling that is missing, then
/// those between the knee and the point below it. `None` where nothing is left to tell.
///
/// `points` by rising depth, each depth once.
pub(super) fn next(points: &[Point], answer: &Point) -> Option<Next> {
    let knee = of(points, answer)?;
    let is_missing = |queue_depth: &u32| points.iter().all(|p| p.queue_depth != *queue_depth);
    let doublings = (0..u32::BITS).rev().map(|power| 1 << power);
    let mut missing =
        doublings.filter(|queue_depth| *queue_depth < answer.queue_depth).filter(is_missing);
    if let Some(queue_depth) = missing.next() {
        return Some(Next { queue_depth, why: Why::Missing });
    }
    let below = points.iter().rev().find(|p| p.queue_depth < knee.queue_depth)?;
    let middle = (f64::from(below.queue_depth) * f64::from(knee.queue_depth)).sqrt().round() as u32;
    let is_close = f64::from(knee.queue_depth) <= f64::from(below.queue_depth) * CLOSE;
    let is_new = below.queue_depth < middle && middle < knee.queue_depth;
    let why = Why::Knee { knee: knee.queue_depth, below: below.queue_depth };
    (!is_close && is_new).then_some(Next { queue_depth: middle, why })
}
