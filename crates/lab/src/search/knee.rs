//! The knee, and the points that the curve needs to show it.

use super::point::Point;
use crate::observe::{Next, Why};
use iogauge_model::result::{Estimate, Knee};

/// Points around the knee whose queue depths are within this factor of each other are close enough.
const CLOSE: f64 = 1.25;

/// If the target is unchanged, no smaller queue depth gives more than this share of the answer's IOPS.
const CLEARLY_MORE: f64 = 1.1;

/// Returns the knee of a curve. `None` if the answer breaks its limit, or if a smaller queue depth gives clearly more
/// IOPS than the answer.
///
/// `points` are sorted by queue depth, each once.
pub(super) fn of(points: &[Point], answer: &Point) -> Option<Knee> {
    if !answer.met || answer.iops.mean <= 0.0 {
        return None;
    }
    // A target that gives more IOPS at a smaller queue depth has changed, so its knee is unknown.
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

/// Returns the IOPS of a point divided by those of the answer. The squares of the relative errors add, because the
/// windows are different. If one error is unknown, so is that of the result.
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

/// Returns the queue depth that the curve up to the answer needs next: the largest missing doubling, then one between
/// the knee and the point below it. `None` if nothing is missing.
///
/// `points` are sorted by queue depth, each once.
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
