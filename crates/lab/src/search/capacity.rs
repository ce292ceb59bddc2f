//! How sure the capacity is.

use super::point::Point;
use iogauge_model::result::Estimate;

/// Points whose depth is within this factor of the answer's tell how the curve runs there.
const NEAR: u32 = 2;

/// The IOPS at the answer as an estimate of the capacity.
///
/// Two things are uncertain: the IOPS at the depth that was held, and whether that depth is the
/// one at which the limit binds, since the limit's statistic has an interval itself. Where the
/// curve is flat the second does not matter; where IOPS still rise with depth it does. By the
/// delta method the relative errors add as `x² = iops² + (slope × statistic)²`, slope being d ln
/// IOPS / d ln statistic along the curve, fitted by least squares to the points near the answer.
pub(super) fn estimate(answer: &Point, curve: &[Point]) -> Estimate {
    let iops = answer.iops;
    let Some(limit) = (0..answer.judged.len())
        .max_by(|&a, &b| answer.judged[a].share().total_cmp(&answer.judged[b].share()))
    else {
        return iops;
    };
    let statistic = &answer.judged[limit];
    let error = statistic.error() / statistic.share();
    if iops.n < 2 || !error.is_finite() {
        return iops;
    }
    let near = |p: &&Point| {
        p.depth <= answer.depth.saturating_mul(NEAR) && p.depth.saturating_mul(NEAR) >= answer.depth
    };
    let logs = curve.iter().filter(near).map(|p| (p.judged[limit].value.ln(), p.iops.mean.ln()));
    let slope = slope(&logs.collect::<Vec<_>>()).clamp(0.0, 1.0);
    let half = iops.half_width().hypot(slope * error * iops.mean);
    Estimate { ci95: [(iops.mean - half).max(0.0), iops.mean + half], ..iops }
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
