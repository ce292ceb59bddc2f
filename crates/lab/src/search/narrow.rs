//! Which depth to try next.

use super::judge::Judged;
use super::point::Point;
use crate::observe::{Crossing, Next, Why};
use crate::stats::NORMAL_95;

/// More depth, or more IOPS, by this share is worth a hold.
pub(super) const WORTH: f64 = 0.05;

/// The next depth after one that held: twice as deep, or further where there is not the time for the
/// doublings in between.
///
/// Past saturation latency is depth over throughput (Little's law), so from two points on the flat
/// part of the curve the depth at the limit follows, and the next is just beyond it. `left_seconds` is the
/// time that doublings may still take; one is taken to last as long as the last.
pub(super) fn next_doubling(before: Option<&Point>, point: &Point, left_seconds: f64) -> Next {
    let twice = point.queue_depth.saturating_mul(2);
    let doubling = Next { queue_depth: twice, why: Why::Doubling { from: point.queue_depth } };
    let Some(before) = before else { return doubling };
    let flat = point.iops.mean < before.iops.mean * 1.05;
    let Some(at_limit) = crossing(before, point).filter(|_| flat) else { return doubling };
    let beyond = (at_limit.queue_depth * 1.1).ceil();
    let doublings = (beyond / f64::from(point.queue_depth)).log2().ceil();
    let needed_seconds = doublings * (point.seconds + point.latency.p99 as f64 / 1e9);
    if beyond >= f64::from(twice) && needed_seconds > left_seconds {
        let queue_depth = (beyond as u32).min(point.queue_depth.saturating_mul(64));
        Next { queue_depth, why: Why::Predicted(at_limit) }
    } else {
        doubling
    }
}

/// How long the I/Os of a point and then those of a larger depth take to come back, in nanoseconds, where latency is in
/// proportion to depth.
pub(super) fn turnover_ns(point: &Point, queue_depth: u32) -> f64 {
    point.latency.mean * (1.0 + f64::from(queue_depth) / f64::from(point.queue_depth))
}

/// True where a limit that a deeper point breaks grew by no more than depth explains. Past saturation latency
/// is in proportion to depth, and before it grows less; a tail may grow by twice that.
pub(super) fn is_plausible(good: &Point, bad: &Point) -> bool {
    const MARGIN: f64 = 2.0;
    let deeper = f64::from(bad.queue_depth) / f64::from(good.queue_depth);
    let pairs = good.judged.iter().zip(&bad.judged);
    let mut broken = pairs.filter(|(_, bad)| !bad.is_met());
    broken.all(|(good, bad)| bad.share() <= good.share() * deeper * MARGIN)
}

/// The next depth between one that holds and one that does not; `None` where they are as close as
/// the precision asks.
///
/// Regula falsi on the logarithms of depth and of the limit's statistic, kept away from the ends so
/// that the gap shrinks by at least an eighth each time even where the curve bends.
pub(super) fn between(good: &Point, bad: &Point, precision: f64) -> Option<Next> {
    let gap = bad.queue_depth.saturating_sub(good.queue_depth);
    if gap <= 1 || f64::from(gap) <= f64::from(good.queue_depth) * precision {
        return None;
    }
    let predicted = crossing(good, bad);
    let middle = (f64::from(good.queue_depth) * f64::from(bad.queue_depth)).sqrt();
    let guess = predicted.map_or(middle, |crossing| crossing.queue_depth);
    let margin = (gap / 8).max(1);
    // A guess right at the crossing tells little; a hair below it usually holds.
    let guess = guess.floor() as u32;
    let queue_depth = guess.clamp(good.queue_depth + margin, bad.queue_depth - margin);
    Some(Next {
        queue_depth,
        why: Why::Between { holds: good.queue_depth, breaks: bad.queue_depth, predicted },
    })
}

/// The depth to hold after narrowing down to one that kept the limits in a short window: lower by as much as a
/// hold may differ from that.
///
/// What held by luck for a second fails in ten. A statistic that falls with depth is noise, whatever the
/// curve's form: by how much windows near the limit stray from the rising curve next to them (isotonic
/// regression; R. E. Barlow et al., Statistical Inference under Order Restrictions, 1972) tells how much they
/// vary beyond what each knows of itself, which longer windows do not average out.
pub(super) fn with_care(
    points: &[Point],
    good: &Point,
    confirmation_seconds: f64,
    precision: f64,
) -> u32 {
    const NEAR: f64 = 1.5;
    const LEAST: f64 = 0.7;
    let share = |p: &Point| p.tightest().map_or(f64::INFINITY, Judged::share);
    let mut near: Vec<&Point> =
        points.iter().filter(|p| (1.0 / NEAR..=NEAR).contains(&share(p))).collect();
    near.sort_by_key(|point| point.queue_depth);
    let shares: Vec<f64> = near.iter().map(|point| share(point).ln()).collect();
    let rising = rising(&shares);
    let count = near.len().max(1) as f64;
    let stray = shares.iter().zip(&rising).map(|(s, r)| (s - r).powi(2)).sum::<f64>() / count;
    let error = |p: &&Point| p.tightest().map_or(f64::INFINITY, Judged::relative_error) / NORMAL_95;
    let known: Vec<f64> = near.iter().map(error).filter(|e| e.is_finite()).collect();
    let within = known.iter().map(|e| e * e).sum::<f64>() / known.len().max(1) as f64;
    let seconds = near.iter().map(|p| p.seconds).sum::<f64>() / count;
    let deviation = (stray + within * seconds / confirmation_seconds.max(seconds)).sqrt();
    if deviation <= precision / 2.0 {
        return good.queue_depth;
    }
    let at = near.iter().position(|point| point.queue_depth == good.queue_depth);
    let over = at.map_or(0.0, |at| rising[at].max(0.0));
    let queue_depth = f64::from(good.queue_depth);
    // To the nearest: of a few, one less is much.
    ((queue_depth * (-over - deviation).exp()).max(queue_depth * LEAST).round() as u32).max(1)
}

/// The depth to go up to from one that was held: `kept` is the deepest that kept the limits in a short window. It is
/// held itself where it clearly gave more IOPS. Otherwise it is worth another hold only as far as, by the first one, a
/// long window surely keeps the limits: past saturation latency is in proportion to depth, and before it grows less.
/// `None` where so little more is not worth another hold.
pub(super) fn climb(confirmed: &Point, kept: &Point) -> Option<u32> {
    let largest = confirmed.judged.iter().map(|j| j.ci95[1] / j.bound()).fold(0.0, f64::max);
    let sure = kept.queue_depth.min((f64::from(confirmed.queue_depth) / largest) as u32);
    let queue_depth = if gives_more(confirmed, kept) { kept.queue_depth } else { sure };
    let gap = f64::from(queue_depth.saturating_sub(confirmed.queue_depth));
    (gap > f64::from(confirmed.queue_depth) * WORTH).then_some(queue_depth)
}

/// True where a point clearly gives more IOPS than another, and enough more for a hold.
fn gives_more(point: &Point, more: &Point) -> bool {
    let least = point.iops.ci95[1].max(point.iops.mean * (1.0 + WORTH));
    more.iops.n > 1 && more.iops.ci95[0] > least
}

/// The rising sequence nearest to a sequence, by pooling adjacent violators.
fn rising(values: &[f64]) -> Vec<f64> {
    let mut pools: Vec<(f64, usize)> = Vec::new();
    for value in values {
        let mut pool = (*value, 1);
        while let Some((mean, count)) = pools.pop_if(|last| last.0 > pool.0) {
            let all = count + pool.1;
            pool = ((mean * count as f64 + pool.0 * pool.1 as f64) / all as f64, all);
        }
        pools.push(pool);
    }
    pools.into_iter().flat_map(|(mean, count)| std::iter::repeat_n(mean, count)).collect()
}

/// The depth to go back to from one that was held and broke a limit; `failed` holds have before it,
/// and `below` is the deepest point below that kept the limits, if there is one.
///
/// Past the knee latency grows with depth, so the depth shrinks by as much as the statistic lay over
/// its bound, or to where the curve down to the point below meets the limit: a percentile that stalls
/// make hardly shrinks with depth. It shrinks somewhat more for the noise that made the shorter window
/// pass: the more, the less sure the statistic is and the more often that did not do, for each hold
/// costs half of the time left.
pub(super) fn retreat(confirmed: &Point, below: Option<&Point>, failed: usize) -> u32 {
    const MARGINS: [f64; 4] = [0.98, 0.96, 0.92, 0.85];
    const LARGEST_ERROR: f64 = 0.2;
    let share = confirmed.judged.iter().map(|j| 1.0 / j.share()).fold(1.0, f64::min);
    let in_proportion = f64::from(confirmed.queue_depth) * share;
    let by_curve =
        below.and_then(|below| crossing(below, confirmed)).map(|found| found.queue_depth);
    let at_limit = by_curve.map_or(in_proportion, |queue_depth| queue_depth.min(in_proportion));
    let error = confirmed.judged.iter().map(Judged::relative_error).fold(0.0, f64::max);
    let caution = 1.0 + error.min(LARGEST_ERROR) / 2.0;
    let queue_depth = (at_limit / caution * MARGINS[failed.min(MARGINS.len() - 1)]).round() as u32;
    queue_depth.clamp(1, confirmed.queue_depth.saturating_sub(1).max(1))
}

/// The depth to begin again at after a point: its own, or below where it breaks a limit.
pub(super) fn retreat_if_broken(point: &Point) -> u32 {
    if point.met { point.queue_depth } else { retreat(point, None, 0) }
}

/// Where the first limit breaks, on the straight line through two points of logarithms.
fn crossing(a: &Point, b: &Point) -> Option<Crossing> {
    let queue_depth = |p: &Point| f64::from(p.queue_depth).ln();
    let pairs = a.judged.iter().zip(&b.judged);
    pairs
        .filter_map(|(low, high)| {
            let limit = low.limit;
            let (low, high) = (low.share().ln(), high.share().ln());
            let slope = (high - low) / (queue_depth(b) - queue_depth(a));
            let queue_depth = (queue_depth(a) - low / slope).exp();
            let through = [a.queue_depth, b.queue_depth];
            (slope.is_finite() && slope > 0.05).then_some(Crossing { through, limit, queue_depth })
        })
        .filter(|at| at.queue_depth.is_finite())
        .min_by(|a, b| a.queue_depth.total_cmp(&b.queue_depth))
}

#[cfg(test)]
mod tests {
    use super::rising;

    #[test]
    fn what_falls_is_pooled() {
        assert_eq!(rising(&[1.0, 2.0, 3.0]), [1.0, 2.0, 3.0]);
        assert_eq!(rising(&[3.0, 1.0, 4.0]), [2.0, 2.0, 4.0]);
        assert_eq!(rising(&[4.0, 3.0, 2.0, 1.0]), [2.5; 4]);
        assert_eq!(
            rising(&[2.0, 6.0, 4.0, 3.0, 9.0]),
            [2.0, 13.0 / 3.0, 13.0 / 3.0, 13.0 / 3.0, 9.0]
        );
        assert!(rising(&[]).is_empty());
    }
}
