//! Choice of the next queue depth.

use super::judge::Judged;
use super::point::Point;
use crate::observe::{Crossing, Next, Why};
use crate::stats::NORMAL_95;

/// Minimum relative gain in queue depth or IOPS that is worth a confirmation.
pub(super) const WORTH: f64 = 0.05;

/// Returns the next queue depth after one that kept the limits: twice as large, or more if there is no time for the
/// doublings in between.
///
/// Past saturation latency is queue depth over throughput (Little's law), so two points on the flat part of the curve
/// give the queue depth at the limit, and the next one is just beyond it. `left_seconds` is the time left for doubling.
/// Each doubling is assumed to take as long as the last.
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

/// Returns how long the I/Os of a point and then those of a larger queue depth take to complete, in nanoseconds, if
/// latency is proportional to queue depth.
pub(super) fn turnover_ns(point: &Point, queue_depth: u32) -> f64 {
    point.latency.mean * (1.0 + f64::from(queue_depth) / f64::from(point.queue_depth))
}

/// Returns true if the limits that the larger queue depth breaks grew by no more than the queue depth explains. Past
/// saturation latency is proportional to queue depth; before, it grows less. A tail may grow by twice that.
pub(super) fn is_plausible(good: &Point, bad: &Point) -> bool {
    const MARGIN: f64 = 2.0;
    let deeper = f64::from(bad.queue_depth) / f64::from(good.queue_depth);
    let pairs = good.judged.iter().zip(&bad.judged);
    let mut broken = pairs.filter(|(_, bad)| !bad.is_met());
    broken.all(|(good, bad)| bad.share() <= good.share() * deeper * MARGIN)
}

/// Returns the next queue depth between one that keeps the limits and one that breaks one; `None` if they are as close
/// as the precision requires.
///
/// Regula falsi on the logarithms of queue depth and of the limit's statistic. The result keeps a distance from the
/// ends, so that the gap shrinks by at least an eighth each time even if the curve bends.
pub(super) fn between(good: &Point, bad: &Point, precision: f64) -> Option<Next> {
    let gap = bad.queue_depth.saturating_sub(good.queue_depth);
    if gap <= 1 || f64::from(gap) <= f64::from(good.queue_depth) * precision {
        return None;
    }
    let predicted = crossing(good, bad);
    let middle = (f64::from(good.queue_depth) * f64::from(bad.queue_depth)).sqrt();
    let guess = predicted.map_or(middle, |crossing| crossing.queue_depth);
    let margin = (gap / 8).max(1);
    // A guess exactly at the crossing gives little information; one slightly below it usually keeps the limits.
    let guess = guess.floor() as u32;
    let queue_depth = guess.clamp(good.queue_depth + margin, bad.queue_depth - margin);
    Some(Next {
        queue_depth,
        why: Why::Between { holds: good.queue_depth, breaks: bad.queue_depth, predicted },
    })
}

/// Returns the queue depth to confirm after narrowing to one that kept the limits in a short window: lower by as much
/// as the confirmation may differ from that window.
///
/// A queue depth that keeps the limits by chance for one second fails in ten. A statistic that falls with queue depth
/// is noise, whatever the form of the curve: how far windows near the limit deviate from the closest rising curve
/// (isotonic regression; R. E. Barlow et al., Statistical Inference under Order Restrictions, 1972) shows how much they
/// vary beyond their own errors. Longer windows do not average that part out.
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
    // Rounds to nearest: for a small queue depth, one less is much.
    ((queue_depth * (-over - deviation).exp()).max(queue_depth * LEAST).round() as u32).max(1)
}

/// Returns the queue depth to go up to from a confirmed one. `kept` is the point with the largest queue depth that kept
/// the limits in a short window. It is confirmed itself if it clearly gave more IOPS. Otherwise the result is at most
/// the queue depth at which, according to the first confirmation, a long window surely keeps the limits: past
/// saturation latency is proportional to queue depth; before, it grows less. Returns `None` if the gain is not worth
/// another confirmation.
pub(super) fn climb(confirmed: &Point, kept: &Point) -> Option<u32> {
    let largest = confirmed.judged.iter().map(|j| j.ci95[1] / j.bound()).fold(0.0, f64::max);
    let sure = kept.queue_depth.min((f64::from(confirmed.queue_depth) / largest) as u32);
    let queue_depth = if gives_more(confirmed, kept) { kept.queue_depth } else { sure };
    let gap = f64::from(queue_depth.saturating_sub(confirmed.queue_depth));
    (gap > f64::from(confirmed.queue_depth) * WORTH).then_some(queue_depth)
}

/// Returns true if `more` clearly gives more IOPS than `point`, and enough more for a confirmation.
fn gives_more(point: &Point, more: &Point) -> bool {
    let least = point.iops.ci95[1].max(point.iops.mean * (1.0 + WORTH));
    more.iops.n > 1 && more.iops.ci95[0] > least
}

/// Returns the rising sequence closest to a sequence, by pooling adjacent violators.
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

/// Returns the queue depth to go back to after a confirmation that broke a limit. `failed` is the number of
/// confirmations that failed before it, and `below` the point with the largest smaller queue depth that kept the
/// limits.
///
/// Past the knee latency grows with queue depth. So the queue depth shrinks by as much as the statistic was over its
/// bound, or to where the curve down to `below` meets the limit, if that is less: a percentile that is due to stalls
/// hardly shrinks with queue depth. It shrinks somewhat more because of the noise that made the shorter window pass:
/// the less certain the statistic is and the more confirmations have failed, the more, because each one costs half of
/// the time left.
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

/// Returns the queue depth to start again from: that of the point, or a smaller one if it breaks a limit.
pub(super) fn retreat_if_broken(point: &Point) -> u32 {
    if point.met { point.queue_depth } else { retreat(point, None, 0) }
}

/// Returns where the first limit breaks, on the straight line through two points on logarithmic scales.
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
    fn decreasing_values_are_pooled_to_a_monotone_fit() {
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
