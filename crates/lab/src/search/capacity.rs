//! How sure the capacity is.

use super::judge::Judged;
use iogauge_model::result::Estimate;

/// Points whose statistic is within this factor of the answer's tell how the curve runs there.
const NEAR: f64 = 2.5;

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
    let half = iops.half_width().hypot(slope * error * iops.mean);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_its_slope() {
        let line: Vec<_> = (0..5).map(|n| (f64::from(n), 3.0 + 0.5 * f64::from(n))).collect();
        assert!((slope(&line) - 0.5).abs() < 1e-12);
        assert_eq!((slope(&line[..1]), slope(&[])), (0.0, 0.0));
    }
}
