//! Uncertainty of the capacity.

use super::judge::Judged;
use crate::stats::NORMAL_95;
use iogauge_model::result::Estimate;

/// Points of an open loop show how its curve runs near the limit if their statistic is within this factor of the bound,
/// or of the answer's statistic.
const NEAR: f64 = 1.5;

/// If those do not determine the crossing, points within this factor count.
const FAR: f64 = 4.0;

/// Points of a closed loop determine the slope if their queue depth differs from the answer's by a factor in this
/// range. Between closer ones, noise is larger than the effect of queue depth. The range is wider than a doubling, so
/// that a doubling falls into it.
const APART: [f64; 2] = [1.4, 3.0];

/// If IOPS rise faster than `STEEPEST` with queue depth (on logarithmic scales), they leave little to latency. Latency
/// that rises faster than `FASTEST` is noise.
const STEEPEST: f64 = 0.5;
const FASTEST: f64 = 3.0;

/// A slope is known if its standard error is less than this share of it.
const SURE: f64 = 0.5;

/// Factor by which the CI of an open loop's answer is widened. Near the limit, chance helps to decide which
/// confirmations pass, and only those become answers: a selection bias. If only estimates on one side of a threshold
/// are selected, and the threshold is within one standard error of the true value, a 95 % CI covers the true value in
/// 84 to 97 % of cases, and a CI widened by this factor in 90 to 98 %. On the flat curve of a closed loop, passing by
/// chance does not bias the IOPS.
const PICKED: f64 = 1.1;

/// Minimum spare capacity, relative to a rate: what the target gives is not known more exactly.
const LEAST_SPARE: f64 = 0.02;

/// Windows whose rate is within the factor `CLOSE` of the answer's show where another search would meet the limit. A
/// statistic that is off its bound by more than the factor `TELLING` counts as off by that factor.
const CLOSE: f64 = 1.25;
const TELLING: f64 = 2.0;

/// Minimum relative error of the IOPS of a point.
const SUREST: f64 = 1e-3;

/// A point of the curve: its queue depth, or the statistic of the binding limit, and its IOPS.
pub(super) type CurvePlace = (f64, Estimate);

/// The capacity, and how IOPS change with the limit's statistic near it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Capacity {
    pub(super) iops: Estimate,
    /// d ln IOPS / d ln statistic, from 0 to 1.
    pub(super) slope: f64,
}

/// Returns the IOPS at the answer as an estimate of the capacity: the value is the confirmed IOPS, the CI that of the
/// capacity.
///
/// The confirmed queue depth keeps the limit, so the capacity is its IOPS or slightly more: the IOPS at which the curve
/// meets the bound, `IOPS × (bound / statistic)^slope`, with slope = d ln IOPS / d ln statistic. Both the IOPS and the
/// statistic are uncertain. By the delta method, the square of the relative error is `iops² + (slope × statistic)²`,
/// where `iops` and `statistic` are the relative errors of the two. If the curve is flat, the slope is 0 and only the
/// first term is left.
pub(super) fn estimate(iops: Estimate, statistic: &Judged, slope: f64) -> Capacity {
    if iops.n < 2 {
        return Capacity { iops, slope };
    }
    let error = statistic.relative_error().min(UNKNOWN);
    let middle = iops.mean * statistic.share().powf(-slope);
    let half = iops.half_width().hypot(slope * error * iops.mean);
    // The capacity is at least what the confirmed queue depth gives, which is known up to the error of its IOPS.
    let low = (middle - half).max(0.0).min(iops.ci95[0]);
    let iops = Estimate { ci95: [low, (middle + half).max(iops.mean)], ..iops };
    Capacity { iops, slope }
}

/// Relative error of a statistic if it is unknown or larger.
const UNKNOWN: f64 = 1.0;

/// A point of a closed loop's curve.
#[derive(Debug, Clone, Copy)]
pub(super) struct DepthPlace {
    pub(super) queue_depth: u32,
    pub(super) iops: Estimate,
    /// Statistic of the binding limit.
    pub(super) statistic: f64,
}

/// Returns d ln IOPS / d ln statistic of a closed loop at a queue depth.
///
/// Windows at nearly the same queue depth differ by noise, in both IOPS and statistic. So both are fitted against the
/// queue depth, which is known exactly, over points well apart. By Little's law the mean latency is queue depth over
/// IOPS: it grows by what the growth of the IOPS leaves of that of the queue depth. No percentile near a limit grows
/// more slowly. J. D. C. Little, "A Proof for the Queuing Formula: L = λW", Operations Research 9 (1961), 383-387.
pub(super) fn slope_at(queue_depth: u32, curve: impl Iterator<Item = DepthPlace>) -> f64 {
    let is_apart = |place: &DepthPlace| {
        let factor = f64::from(place.queue_depth.max(queue_depth))
            / f64::from(place.queue_depth.min(queue_depth));
        place.queue_depth == queue_depth || (APART[0]..=APART[1]).contains(&factor)
    };
    let apart: Vec<DepthPlace> = curve.filter(is_apart).collect();
    let of_iops: Vec<CurvePlace> =
        apart.iter().map(|at| (f64::from(at.queue_depth), at.iops)).collect();
    let rise = slope(&of_iops).clamp(0.0, STEEPEST);
    let of_statistic: Vec<(f64, f64, f64)> =
        apart.iter().map(|at| (f64::from(at.queue_depth).ln(), at.statistic.ln(), 1.0)).collect();
    let growth = Line::through(&of_statistic).slope;
    let least = 1.0 - rise;
    rise / if growth.is_finite() { growth.clamp(least, FASTEST) } else { least }
}

/// Returns d ln IOPS / d ln statistic of an open loop at a statistic. Used if there is no [`crossing`].
pub(super) fn slope_by_statistic(value: f64, curve: impl Iterator<Item = CurvePlace>) -> f64 {
    let is_near = |place: &CurvePlace| (1.0 / NEAR..=NEAR).contains(&(place.0 / value));
    slope(&curve.filter(is_near).collect::<Vec<_>>()).clamp(0.0, 1.0)
}

/// Returns the slope of the least-squares line through the logarithms, or 0 if there is none.
fn slope(places: &[CurvePlace]) -> f64 {
    let weigh = |(value, iops): &CurvePlace| {
        let error = if iops.n < 2 { f64::INFINITY } else { iops.relative_error().max(SUREST) };
        (value.ln(), iops.mean.ln(), error.powi(-2))
    };
    let known: Vec<_> = places.iter().map(weigh).filter(|(_, _, w)| *w > 0.0).collect();
    let slope = Line::through(&known).slope;
    if slope.is_finite() { slope } else { 0.0 }
}

/// A straight line fitted by weighted least squares.
struct Line {
    /// Sum of the weights; `x` and `y` are the weighted means of the coordinates.
    weight: f64,
    x: f64,
    y: f64,
    /// Weighted sum of the squared deviations of x from its mean.
    along: f64,
    /// Not finite if the points do not determine it.
    slope: f64,
}

impl Line {
    /// Fits a line to points (x, y, weight).
    fn through(points: &[(f64, f64, f64)]) -> Self {
        let sum = |of: &dyn Fn(&(f64, f64, f64)) -> f64| points.iter().map(of).sum::<f64>();
        let weight = sum(&|(_, _, w)| *w);
        let (x, y) = (sum(&|(x, _, w)| w * x) / weight, sum(&|(_, y, w)| w * y) / weight);
        let along = sum(&|(at, _, w)| w * (at - x).powi(2));
        let slope = sum(&|(at, of, w)| w * (at - x) * (of - y)) / along;
        Self { weight, x, y, along, slope }
    }

    /// Returns the weighted sum of the squared residuals.
    fn misfit(&self, points: &[(f64, f64, f64)]) -> f64 {
        let left =
            |(at, of, w): &(f64, f64, f64)| w * (of - self.y - self.slope * (at - self.x)).powi(2);
        points.iter().map(left).sum()
    }
}

/// A point of an open loop's curve, relative to the binding limit.
#[derive(Debug, Clone, Copy)]
pub(super) struct RatePlace {
    /// The offered rate, which is known exactly.
    pub(super) rate_iops: f64,
    /// Statistic divided by bound.
    pub(super) share: f64,
    /// Relative standard error of `share`; infinite if unknown.
    pub(super) error: f64,
    /// Length of its window.
    pub(super) seconds: f64,
}

impl RatePlace {
    /// Returns true if the statistic is within a factor of its bound.
    pub(super) fn is_within(&self, factor: f64) -> bool {
        (1.0 / factor..=factor).contains(&self.share)
    }
}

/// Where the curve of an open loop meets its limit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Met {
    pub(super) rate_iops: f64,
    /// Standard error of `rate_iops`, widened by [`PICKED`].
    pub(super) error_iops: f64,
    /// d ln rate / d ln statistic at this rate.
    pub(super) slope: f64,
    /// Standard error of `slope`.
    slope_error: f64,
}

/// Returns the rate at which the curve meets the limit.
///
/// Fits a straight line of ln statistic over ln rate to the points near the limit. Each window near the answer
/// contributes, including those that were given up early. Windows are weighted by their length, not by their own
/// errors: a window that happened to contain few slow I/Os appears precise. The error of the crossing is that of
/// inverse regression. If the points scatter more than their errors allow, it grows accordingly. Returns `None` with
/// fewer than three points, or if the line does not rise.
///
/// N. R. Draper, H. Smith, Applied Regression Analysis, 3.2 (inverse regression).
pub(super) fn crossing(places: &[RatePlace]) -> Option<Met> {
    // Points close together do not determine the slope of the curve.
    let is_sure = |met: &Met| met.slope_error < SURE * met.slope;
    let within = |factor| crossing_within(places, factor).filter(is_sure);
    within(NEAR).or_else(|| within(FAR))
}

/// Returns an upper bound for d ln rate / d ln statistic of an open loop: response times grow at least as fast as the
/// inverse of the target's spare capacity, as in a queue.
pub(super) fn queue_slope(rate_iops: f64, most_iops: f64) -> f64 {
    (most_iops / rate_iops - 1.0).max(LEAST_SPARE)
}

/// Returns by how much the rate at the limit may differ in another search, as the logarithm of a factor.
///
/// Each window near the answer's rate gives its own estimate of that rate, and so does each window at a smaller rate
/// that broke the limit. For a queue without noise all estimates would agree. The result is 1.96 times the standard
/// deviation of the difference between one window and the average of all; 0 with fewer than two windows.
pub(super) fn apart(places: &[RatePlace], rate_iops: f64, most_iops: f64) -> f64 {
    let tells = |place: &&RatePlace| {
        let off = place.rate_iops / rate_iops;
        (1.0 / CLOSE..=CLOSE).contains(&off) || off < 1.0 && place.share > 1.0
    };
    let at_limit = |place: &RatePlace| {
        let share = place.share.clamp(1.0 / TELLING, TELLING);
        let rate = place.rate_iops.ln() - queue_slope(place.rate_iops, most_iops) * share.ln();
        (rate.min(most_iops.ln()), place.seconds)
    };
    let known: Vec<(f64, f64)> = places.iter().filter(tells).map(at_limit).collect();
    let sum = |of: &dyn Fn(f64, f64) -> f64| known.iter().map(|(at, s)| of(*at, *s)).sum::<f64>();
    let seconds = sum(&|_, seconds| seconds);
    // Effective number of windows if all had the same length.
    let count = seconds.powi(2) / sum(&|_, seconds| seconds.powi(2));
    if known.len() < 2 || !count.is_finite() {
        return 0.0;
    }
    let mean = sum(&|at, seconds| at * seconds) / seconds;
    let variance = sum(&|at, seconds| (at - mean).powi(2) * seconds) / seconds;
    let unbiased = variance * count / (count - 1.0).max(0.5);
    NORMAL_95 * (unbiased * (1.0 + 1.0 / count)).sqrt()
}

fn crossing_within(places: &[RatePlace], factor: f64) -> Option<Met> {
    let near: Vec<&RatePlace> = places.iter().filter(|place| place.is_within(factor)).collect();
    let told: Vec<_> = near.iter().filter(|place| place.error.is_finite()).collect();
    // Variance of a window of one second.
    let second = told.iter().map(|p| p.error.powi(2) * p.seconds).sum::<f64>() / told.len() as f64;
    if second.is_nan() || second <= 0.0 {
        return None;
    }
    let known: Vec<(f64, f64, f64)> = near
        .iter()
        .map(|place| (place.rate_iops.ln(), place.share.ln(), place.seconds / second))
        .collect();
    let line = Line::through(&known);
    let Line { weight, x, y, along, slope } = line;
    if known.len() < 3 || !slope.is_finite() || slope <= 0.0 {
        return None;
    }
    let scatter = (line.misfit(&known) / (known.len() - 2) as f64).max(1.0);
    let off = -y / slope;
    let slope_error = (scatter / along).sqrt() / (slope * slope);
    let variance = scatter * (1.0 / weight + off * off / along);
    let rate_iops = (x + off).exp();
    let error_iops = PICKED * rate_iops * variance.sqrt() / slope;
    Some(Met { rate_iops, error_iops, slope: 1.0 / slope, slope_error })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rate_at_limit_is_found_by_power_law_fit() {
        let place =
            |rate_iops: f64, share| RatePlace { rate_iops, share, error: 0.01, seconds: 1.0 };
        let power = |rate: f64| place(rate, (rate / 1000.0).powi(20));
        let met = crossing(&[power(985.0), power(995.0), power(1005.0)]).unwrap();
        let Met { rate_iops: rate, error_iops: error, slope, .. } = met;
        assert!((slope - 0.05).abs() < 1e-9, "{slope}");
        assert!((rate - 1000.0).abs() < 1e-6, "{rate}");
        // An error of 1 % in the statistic is one of 0.05 % in the rate, and less with three points.
        assert!((0.2..0.5).contains(&error), "{error}");
        let mut scattered = [power(985.0), power(995.0), power(1005.0), power(1000.0)];
        scattered[1].share *= 1.2;
        assert!(crossing(&scattered).unwrap().error_iops > 2.0 * error);
        assert_eq!(crossing(&scattered[..2]), None);
        assert_eq!(crossing(&[power(1005.0), place(995.0, 1.3), place(990.0, 1.4)]), None);
    }

    #[test]
    fn contradictory_windows_increase_the_uncertainty() {
        let place =
            |rate_iops: f64, share| RatePlace { rate_iops, share, error: 0.1, seconds: 1.0 };
        // A queue: the statistic is inversely proportional to the spare capacity and meets its bound at 95 % of the
        // capacity.
        let queue = |rate: f64| place(rate, 5_000.0 / (100_000.0 - rate));
        let quiet = [80_000.0, 90_000.0, 94_000.0, 96_000.0].map(queue);
        assert!(apart(&quiet, 94_000.0, 100_000.0) < 0.05);
        assert!(apart(&quiet[..1], 80_000.0, 100_000.0) < 1e-9);
        // A neighbour that comes and goes decides, whatever the rate.
        let neighbour = [(12.0, 1.1), (13.0, 0.15), (14.0, 1.2), (13.5, 0.9), (12.5, 1.05)];
        let neighbour = neighbour.map(|(rate, share)| place(rate * 1e3, share));
        assert!(apart(&neighbour, 13e3, 77e3) > 5f64.ln());
        // One window broke the limit at half of the rate.
        let broke = [place(90_000.0, 0.9), place(45_000.0, 1.1)];
        assert!(apart(&broke, 90_000.0, 100_000.0) > 2f64.ln());
    }

    #[test]
    fn queue_depth_gives_slope_if_statistic_is_noisy() {
        let at = |queue_depth: u32, mean: f64, statistic: f64| DepthPlace {
            queue_depth,
            iops: Estimate { mean, ci95: [mean - 10.0, mean + 10.0], n: 30 },
            statistic,
        };
        let queue_depths = [32, 64, 91, 128, 256];
        let flat = queue_depths.map(|queue_depth| at(queue_depth, 90e3, f64::from(queue_depth)));
        // Four times the queue depth gives twice the IOPS: the mean latency doubles as well, and the percentile
        // quadruples.
        let root = |queue_depth: u32| f64::from(queue_depth).sqrt();
        let mean = queue_depths
            .map(|queue_depth| at(queue_depth, 1e3 * root(queue_depth), root(queue_depth)));
        let percentile = queue_depths
            .map(|queue_depth| at(queue_depth, 1e3 * root(queue_depth), f64::from(queue_depth)));
        assert!(slope_at(91, flat.into_iter()) < 1e-9);
        assert!((slope_at(91, mean.into_iter()) - 1.0).abs() < 1e-9);
        assert!((slope_at(91, percentile.into_iter()) - 0.5).abs() < 1e-9);
        // A window at nearly the same queue depth that happened to be slow does not affect the slope.
        assert!(slope_at(91, flat.into_iter().chain([at(87, 80e3, 140.0)])) < 1e-9);
        assert_eq!(slope_at(91, [at(91, 90e3, f64::INFINITY)].into_iter()), 0.0);
    }

    #[test]
    fn slope_of_a_power_law_is_recovered() {
        let around = |mean, half| Estimate { mean, ci95: [mean - half, mean + half], n: 30 };
        let power = |value: f64| (value, around(100.0 * value.sqrt(), 1.0));
        let mut line = [power(1.0), power(2.0), power(3.0), power(4.0), power(5.0)];
        assert!((slope(&line) - 0.5).abs() < 1e-12);
        assert_eq!((slope(&line[..1]), slope(&[])), (0.0, 0.0));
        // A point with a large error hardly counts, and one with an unknown error does not count.
        line[0].1 = around(300.0, 200.0);
        assert!((slope(&line) - 0.5).abs() < 0.01);
        line[0].1 = Estimate::exact(300.0);
        assert!((slope(&line) - 0.5).abs() < 1e-12);
    }
}
