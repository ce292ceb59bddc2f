//! How sure the capacity is.

use super::judge::Judged;
use iogauge_model::result::Estimate;

/// Points whose statistic is within this factor of the answer's tell how the curve runs there.
const NEAR: f64 = 1.5;

/// Widening of an answer's interval. What is held near the limit passes or fails by chance too, and
/// only what passed is an answer: it was picked for its luck. An estimate picked from one side of a
/// point between one standard error below it and one above is covered by its 95 % interval in 84 to
/// 97 % of cases, and by one so much wider in 90 to 98 %.
const PICKED: f64 = 1.1;

/// A point of the curve: the statistic of the limit that binds, and the IOPS.
pub(super) type Place = (f64, f64);

/// The IOPS at the answer as an estimate of the capacity: the value is what was held, the interval
/// is the capacity's.
///
/// What was held keeps the limit, so the capacity lies at it or a little above: at the IOPS where the
/// curve through the points near the answer meets the bound, `IOPS × (bound / statistic)^slope`,
/// slope being d ln IOPS / d ln statistic by least squares. Two things about it are uncertain: the
/// IOPS themselves, and the statistic. By the delta method their relative errors add as `x² = iops² +
/// (slope × statistic)²`. Where the curve is flat, slope is 0 and only the first is left.
pub(super) fn estimate(
    iops: Estimate,
    statistic: &Judged,
    curve: impl Iterator<Item = Place>,
) -> Estimate {
    let error = statistic.error() / statistic.share();
    if iops.n < 2 || !error.is_finite() {
        return iops;
    }
    let is_near = |place: &Place| (1.0 / NEAR..=NEAR).contains(&(place.0 / statistic.value));
    let logs: Vec<_> = curve.filter(is_near).map(|(value, iops)| (value.ln(), iops.ln())).collect();
    let slope = slope(&logs).clamp(0.0, 1.0);
    let middle = iops.mean * statistic.share().powf(-slope);
    let half = PICKED * iops.half_width().hypot(slope * error * iops.mean);
    let [low, high] = [(middle - half).max(0.0), middle + half];
    Estimate { ci95: [low.min(iops.mean), high.max(iops.mean)], ..iops }
}

/// Slope of the least-squares line; 0 where there is none.
fn slope(pairs: &[(f64, f64)]) -> f64 {
    let n = pairs.len() as f64;
    let (x, y) = pairs.iter().fold((0.0, 0.0), |sum, pair| (sum.0 + pair.0, sum.1 + pair.1));
    let (x, y) = (x / n, y / n);
    let (across, along) = pairs.iter().fold((0.0, 0.0), |(across, along), pair| {
        (across + (pair.0 - x) * (pair.1 - y), along + (pair.0 - x).powi(2))
    });
    let slope = across / along;
    if slope.is_finite() { slope } else { 0.0 }
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

/// The rate at which the curve meets the limit, and its standard error, widened as an answer's.
///
/// A straight line of ln statistic over ln rate through the points near the limit: each window near
/// the answer says something about it, also those that were given up early. Windows weigh by their
/// length, not by the error each found for itself: one that by chance saw few slow I/Os finds itself
/// precise. The error of the crossing is that of inverse regression; where the points scatter more
/// than their errors allow, it grows as they do. `None` with fewer than three points or a line that
/// does not rise.
///
/// N. R. Draper, H. Smith, Applied Regression Analysis, 3.2 (inverse regression).
pub(super) fn crossing(places: &[RatePlace]) -> Option<(f64, f64)> {
    let near = |place: &&RatePlace| (1.0 / NEAR..=NEAR).contains(&place.share);
    let near: Vec<&RatePlace> = places.iter().filter(near).collect();
    let told: Vec<_> = near.iter().filter(|place| place.error.is_finite()).collect();
    // Variance of a second.
    let per_second =
        told.iter().map(|p| p.error.powi(2) * p.seconds).sum::<f64>() / told.len() as f64;
    if per_second.is_nan() || per_second <= 0.0 {
        return None;
    }
    let known: Vec<(f64, f64, f64)> = near
        .iter()
        .map(|place| (place.rate_iops.ln(), place.share.ln(), place.seconds / per_second))
        .collect();
    let sum = |of: &dyn Fn(&(f64, f64, f64)) -> f64| known.iter().map(of).sum::<f64>();
    let weight = sum(&|(_, _, w)| *w);
    let (x, y) = (sum(&|(x, _, w)| w * x) / weight, sum(&|(_, y, w)| w * y) / weight);
    let along = sum(&|(at, _, w)| w * (at - x).powi(2));
    let slope = sum(&|(at, of, w)| w * (at - x) * (of - y)) / along;
    if known.len() < 3 || !slope.is_finite() || slope <= 0.0 {
        return None;
    }
    let misfit = sum(&|(at, of, w)| w * (of - y - slope * (at - x)).powi(2));
    let scatter = (misfit / (known.len() - 2) as f64).max(1.0);
    let off = -y / slope;
    let variance = scatter * (1.0 / weight + off * off * slope * slope / (slope * slope * along));
    let rate_iops = (x + off).exp();
    Some((rate_iops, PICKED * rate_iops * variance.sqrt() / slope))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_meets_its_limit_where_it_does() {
        let place =
            |rate_iops: f64, share| RatePlace { rate_iops, share, error: 0.01, seconds: 1.0 };
        let power = |rate: f64| place(rate, (rate / 1000.0).powi(20));
        let (rate, error) = crossing(&[power(985.0), power(995.0), power(1005.0)]).unwrap();
        assert!((rate - 1000.0).abs() < 1e-6, "{rate}");
        // A percent of the statistic is a twentieth of that of the rate, less for three points.
        assert!((0.2..0.5).contains(&error), "{error}");
        let mut scattered = [power(985.0), power(995.0), power(1005.0), power(1000.0)];
        scattered[1].share *= 1.2;
        assert!(crossing(&scattered).unwrap().1 > 2.0 * error);
        assert_eq!(crossing(&scattered[..2]), None);
        assert_eq!(crossing(&[power(1005.0), place(995.0, 1.3), place(990.0, 1.4)]), None);
    }

    #[test]
    fn a_line_has_its_slope() {
        let line: Vec<_> = (0..5).map(|n| (f64::from(n), 3.0 + 0.5 * f64::from(n))).collect();
        assert!((slope(&line) - 0.5).abs() < 1e-12);
        assert_eq!((slope(&line[..1]), slope(&[])), (0.0, 0.0));
    }
}
