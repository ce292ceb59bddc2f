//! How sure the capacity is.

use super::judge::Judged;
use crate::stats::NORMAL_95;
use iogauge_model::result::Estimate;

/// Points whose statistic is within this factor of the answer's tell how the curve of an open loop runs there.
const NEAR: f64 = 1.5;

/// Where those do not tell its slope, within this one.
const FAR: f64 = 4.0;

/// Points of a closed loop tell whose depth is off the answer's by a factor between these. Between closer ones
/// noise says more than depth does; of each two doublings in a row one is in between.
const APART: [f64; 2] = [1.4, 3.0];

/// IOPS that rise faster than this with depth leave little to latency. Latency that rises faster than this is noise.
const STEEPEST: f64 = 0.5;
const FASTEST: f64 = 3.0;

/// A slope is told by points that leave its standard error below this share of it.
const SURE: f64 = 0.5;

/// Widening of the interval of an open loop's answer. What is held near the limit passes or fails by
/// chance too, and only what passed is an answer: it was picked for its luck. An estimate picked from
/// one side of a point between one standard error below it and one above is covered by its 95 %
/// interval in 84 to 97 % of cases, and by one so much wider in 90 to 98 %. On the flat curve of a closed
/// loop luck with the limit is no luck with the IOPS.
const PICKED: f64 = 1.1;

/// A target has this share of a rate to spare at least: no closer is it known what the target gives.
const LEAST_SPARE: f64 = 0.02;

/// Windows whose rate is within this factor of an answer's say where the limit is met in another search. A statistic
/// further from its bound than by the second one says no more of that.
const CLOSE: f64 = 1.25;
const TELLING: f64 = 2.0;

/// No point is taken for surer than this, relative to its IOPS.
const SUREST: f64 = 1e-3;

/// A point of the curve: its depth, or the statistic of the limit that binds, and the IOPS.
pub(super) type CurvePlace = (f64, Estimate);

/// The capacity, and how the IOPS follow the limit's statistic near it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Capacity {
    pub(super) iops: Estimate,
    /// d ln IOPS / d ln statistic, from 0 to 1.
    pub(super) slope: f64,
}

/// The IOPS at the answer as an estimate of the capacity: the value is what was held, the interval
/// is the capacity's.
///
/// What was held keeps the limit, so the capacity lies at it or a little above: at the IOPS where the
/// curve meets the bound, `IOPS × (bound / statistic)^slope`, slope being d ln IOPS / d ln statistic. Two
/// things about it are uncertain: the IOPS themselves, and the statistic. By the delta method
/// their relative errors add as `x² = iops² + (slope × statistic)²`. Where the curve is flat, slope is
/// 0 and only the first is left.
pub(super) fn estimate(iops: Estimate, statistic: &Judged, slope: f64) -> Capacity {
    if iops.n < 2 {
        return Capacity { iops, slope };
    }
    let error = statistic.relative_error().min(UNKNOWN);
    let middle = iops.mean * statistic.share().powf(-slope);
    let half = iops.half_width().hypot(slope * error * iops.mean);
    // The capacity is no less than what the held depth gives, which is known up to the error of its IOPS.
    let low = (middle - half).max(0.0).min(iops.ci95[0]);
    let iops = Estimate { ci95: [low, (middle + half).max(iops.mean)], ..iops };
    Capacity { iops, slope }
}

/// A statistic whose error is not known, or larger, counts as uncertain by this factor of itself.
const UNKNOWN: f64 = 1.0;

/// A point of a closed loop's curve.
#[derive(Debug, Clone, Copy)]
pub(super) struct DepthPlace {
    pub(super) queue_depth: u32,
    pub(super) iops: Estimate,
    /// Statistic of the limit that binds.
    pub(super) statistic: f64,
}

/// d ln IOPS / d ln statistic of a closed loop at a depth.
///
/// Windows at nearly one depth differ by noise, in both. So both are set against the depth, which is known exactly,
/// by points well apart. By Little's law the mean latency is depth over IOPS, and takes what of the depth the
/// IOPS do not; no percentile near a limit grows more slowly.
/// J. D. C. Little, "A Proof for the Queuing Formula: L = λW", Operations Research 9 (1961), 383-387.
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

/// d ln IOPS / d ln statistic of an open loop at a statistic, where no line tells more.
pub(super) fn slope_by_statistic(value: f64, curve: impl Iterator<Item = CurvePlace>) -> f64 {
    let is_near = |place: &CurvePlace| (1.0 / NEAR..=NEAR).contains(&(place.0 / value));
    slope(&curve.filter(is_near).collect::<Vec<_>>()).clamp(0.0, 1.0)
}

/// Slope of the least-squares line through the logarithms; 0 where there is none.
fn slope(places: &[CurvePlace]) -> f64 {
    let weigh = |(value, iops): &CurvePlace| {
        let error = if iops.n < 2 { f64::INFINITY } else { iops.relative_error().max(SUREST) };
        (value.ln(), iops.mean.ln(), error.powi(-2))
    };
    let known: Vec<_> = places.iter().map(weigh).filter(|(_, _, w)| *w > 0.0).collect();
    let slope = Line::through(&known).slope;
    if slope.is_finite() { slope } else { 0.0 }
}

/// A straight line by weighted least squares.
struct Line {
    /// Sum of the weights, and the weighted means of the coordinates.
    weight: f64,
    x: f64,
    y: f64,
    /// Weighted sum of the squares of x about its mean.
    along: f64,
    /// Not finite where the points do not tell.
    slope: f64,
}

impl Line {
    /// The line through points (x, y, weight).
    fn through(points: &[(f64, f64, f64)]) -> Self {
        let sum = |of: &dyn Fn(&(f64, f64, f64)) -> f64| points.iter().map(of).sum::<f64>();
        let weight = sum(&|(_, _, w)| *w);
        let (x, y) = (sum(&|(x, _, w)| w * x) / weight, sum(&|(_, y, w)| w * y) / weight);
        let along = sum(&|(at, _, w)| w * (at - x).powi(2));
        let slope = sum(&|(at, of, w)| w * (at - x) * (of - y)) / along;
        Self { weight, x, y, along, slope }
    }

    /// Weighted sum of the squares of what the line leaves over.
    fn misfit(&self, points: &[(f64, f64, f64)]) -> f64 {
        let left =
            |(at, of, w): &(f64, f64, f64)| w * (of - self.y - self.slope * (at - self.x)).powi(2);
        points.iter().map(left).sum()
    }
}

/// A point of an open loop's curve, relative to the limit that binds.
#[derive(Debug, Clone, Copy)]
pub(super) struct RatePlace {
    /// The rate offered, known exactly.
    pub(super) rate_iops: f64,
    /// Statistic over bound.
    pub(super) share: f64,
    /// Standard error of that, relative to it; infinite where unknown.
    pub(super) error: f64,
    /// Length of its window.
    pub(super) seconds: f64,
}

impl RatePlace {
    /// True where the statistic is within a factor of its bound.
    pub(super) fn is_within(&self, factor: f64) -> bool {
        (1.0 / factor..=factor).contains(&self.share)
    }
}

/// Where the curve of an open loop meets its limit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Met {
    pub(super) rate_iops: f64,
    /// Standard error of that, widened as an answer's.
    pub(super) error_iops: f64,
    /// d ln rate / d ln statistic there.
    pub(super) slope: f64,
    /// Standard error of that.
    slope_error: f64,
}

/// The rate at which the curve meets the limit.
///
/// A straight line of ln statistic over ln rate through the points near the limit: each window near
/// the answer says something about it, also those that were given up early. Windows weigh by their
/// length, not by the error each found for itself: one that by chance saw few slow I/Os finds itself
/// precise. The error of the crossing is that of inverse regression; where the points scatter more
/// than their errors allow, it grows as they do. `None` with fewer than three points or a line that
/// does not rise.
///
/// N. R. Draper, H. Smith, Applied Regression Analysis, 3.2 (inverse regression).
pub(super) fn crossing(places: &[RatePlace]) -> Option<Met> {
    // Points close together say little of how the curve runs.
    let is_sure = |met: &Met| met.slope_error < SURE * met.slope;
    let within = |factor| crossing_within(places, factor).filter(is_sure);
    within(NEAR).or_else(|| within(FAR))
}

/// d ln rate / d ln statistic of an open loop at most: response times grow at least as the inverse of what the target
/// has to spare, as in a queue.
pub(super) fn queue_slope(rate_iops: f64, most_iops: f64) -> f64 {
    (most_iops / rate_iops - 1.0).max(LEAST_SPARE)
}

/// By how much the rate at the limit may differ in another search, as the logarithm of a factor: by what windows near
/// an answer's rate say of it, each by itself, and those at smaller rates that broke the limit all the same.
///
/// Were the target a queue without noise, all would say the same. Twice the standard deviation of a window and of the
/// average of all; 0 where there is but one.
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
    // So many windows of one length say as much.
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
    // Variance of a second.
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
    fn a_line_meets_its_limit_where_it_does() {
        let place =
            |rate_iops: f64, share| RatePlace { rate_iops, share, error: 0.01, seconds: 1.0 };
        let power = |rate: f64| place(rate, (rate / 1000.0).powi(20));
        let met = crossing(&[power(985.0), power(995.0), power(1005.0)]).unwrap();
        let Met { rate_iops: rate, error_iops: error, slope, .. } = met;
        assert!((slope - 0.05).abs() < 1e-9, "{slope}");
        assert!((rate - 1000.0).abs() < 1e-6, "{rate}");
        // A percent of the statistic is a twentieth of that of the rate, less for three points.
        assert!((0.2..0.5).contains(&error), "{error}");
        let mut scattered = [power(985.0), power(995.0), power(1005.0), power(1000.0)];
        scattered[1].share *= 1.2;
        assert!(crossing(&scattered).unwrap().error_iops > 2.0 * error);
        assert_eq!(crossing(&scattered[..2]), None);
        assert_eq!(crossing(&[power(1005.0), place(995.0, 1.3), place(990.0, 1.4)]), None);
    }

    #[test]
    fn windows_that_contradict_each_other_leave_the_next_answer_open() {
        let place =
            |rate_iops: f64, share| RatePlace { rate_iops, share, error: 0.1, seconds: 1.0 };
        // A queue: the statistic is what 95 % of the capacity would have over what is left.
        let queue = |rate: f64| place(rate, 5_000.0 / (100_000.0 - rate));
        let quiet = [80_000.0, 90_000.0, 94_000.0, 96_000.0].map(queue);
        assert!(apart(&quiet, 94_000.0, 100_000.0) < 0.05);
        assert!(apart(&quiet[..1], 80_000.0, 100_000.0) < 1e-9);
        // A neighbour who comes and goes decides, whatever the rate.
        let neighbour = [(12.0, 1.1), (13.0, 0.15), (14.0, 1.2), (13.5, 0.9), (12.5, 1.05)];
        let neighbour = neighbour.map(|(rate, share)| place(rate * 1e3, share));
        assert!(apart(&neighbour, 13e3, 77e3) > 5f64.ln());
        // One broke the limit at half of the rate.
        let broke = [place(90_000.0, 0.9), place(45_000.0, 1.1)];
        assert!(apart(&broke, 90_000.0, 100_000.0) > 2f64.ln());
    }

    #[test]
    fn depth_gives_the_slope_where_a_statistic_is_noise() {
        let at = |queue_depth: u32, mean: f64, statistic: f64| DepthPlace {
            queue_depth,
            iops: Estimate { mean, ci95: [mean - 10.0, mean + 10.0], n: 30 },
            statistic,
        };
        let queue_depths = [32, 64, 91, 128, 256];
        let flat = queue_depths.map(|queue_depth| at(queue_depth, 90e3, f64::from(queue_depth)));
        // Twice the IOPS for four times the depth: the mean latency doubles as well, and a percentile four times.
        let root = |queue_depth: u32| f64::from(queue_depth).sqrt();
        let mean = queue_depths
            .map(|queue_depth| at(queue_depth, 1e3 * root(queue_depth), root(queue_depth)));
        let percentile = queue_depths
            .map(|queue_depth| at(queue_depth, 1e3 * root(queue_depth), f64::from(queue_depth)));
        assert!(slope_at(91, flat.into_iter()) < 1e-9);
        assert!((slope_at(91, mean.into_iter()) - 1.0).abs() < 1e-9);
        assert!((slope_at(91, percentile.into_iter()) - 0.5).abs() < 1e-9);
        // A window at nearly the same depth which was slow by chance says nothing of depth.
        assert!(slope_at(91, flat.into_iter().chain([at(87, 80e3, 140.0)])) < 1e-9);
        assert_eq!(slope_at(91, [at(91, 90e3, f64::INFINITY)].into_iter()), 0.0);
    }

    #[test]
    fn a_line_has_its_slope() {
        let around = |mean, half| Estimate { mean, ci95: [mean - half, mean + half], n: 30 };
        let power = |value: f64| (value, around(100.0 * value.sqrt(), 1.0));
        let mut line = [power(1.0), power(2.0), power(3.0), power(4.0), power(5.0)];
        assert!((slope(&line) - 0.5).abs() < 1e-12);
        assert_eq!((slope(&line[..1]), slope(&[])), (0.0, 0.0));
        // What is hardly known hardly counts, and what is not known does not.
        line[0].1 = around(300.0, 200.0);
        assert!((slope(&line) - 0.5).abs() < 0.01);
        line[0].1 = Estimate::exact(300.0);
        assert!((slope(&line) - 0.5).abs() < 1e-12);
    }
}
