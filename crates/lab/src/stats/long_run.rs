//! Variance of the mean of a long series.

use super::autocorrelation::residual_time;
use std::f64::consts::PI;

/// Minimum length of a series in which slow variation can be distinguished from fast.
pub(super) const LONG: usize = 100;
/// Minimum and maximum number of frequencies used, each with two degrees of freedom. With 5 of them, whatever repeats
/// more than five times in the series counts as fast, and Student's quantile is 14 % above the normal one.
const FEWEST: usize = 2;
const MOST: usize = 5;
/// The shortest period used spans at least this many autocorrelation times.
const TIMES: f64 = 6.0;

/// The long-run variance of a series: *n* times the variance of its mean.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct LongRun {
    pub(super) variance: f64,
    /// Degrees of freedom of the estimate.
    pub(super) degrees: f64,
}

/// Returns the long-run variance of residuals about a mean: the average of their periodogram at the lowest
/// frequencies.
///
/// The slowest Fourier components of a series vary as its mean does, and independently of each other, however
/// neighbouring values are correlated, positively or negatively. The mean has been subtracted, which does not affect
/// these components. So stalls that occur every second do not make the mean over half a minute less certain. A sum of
/// autocovariances that ends at the first negative ones would miss this.
///
/// E. Lazarus, D. J. Lewis, J. H. Stock, M. W. Watson, HAR inference: recommendations for practice, J. Business &
/// Economic Statistics 36 (2018) 541–559 (the equal-weighted periodogram); P. J. Daniell, J. Royal Statistical
/// Society Suppl. 8 (1946) 88–90.
///
/// Cost: 10 products per value and that of [`super::autocorrelation_time`].
pub(super) fn long_run(residuals: &[f64]) -> LongRun {
    let n = residuals.len() as f64;
    let flat = n / (TIMES * residual_time(residuals, 1));
    // If the series is one slow movement, only the lowest frequency shows it.
    let count = if flat < 1.0 { 1 } else { (flat as usize).clamp(FEWEST, MOST) };
    let power = |frequency: usize| {
        let turn = 2.0 * PI * frequency as f64 / n;
        let waves = residuals.iter().enumerate().map(|(index, value)| {
            let (sine, cosine) = (turn * index as f64).sin_cos();
            (sine * value, cosine * value)
        });
        let (sine, cosine) = waves.fold((0.0, 0.0), |sum, wave| (sum.0 + wave.0, sum.1 + wave.1));
        (sine * sine + cosine * cosine) / n
    };
    let variance = (1..=count).map(power).sum::<f64>() / count as f64;
    LongRun { variance, degrees: 2.0 * count as f64 }
}

#[cfg(test)]
mod tests {
    use super::super::synthetic::Random;
    use super::*;

    fn median_variance(series: impl Fn(&mut Random) -> Vec<f64>) -> f64 {
        let of = |seed| {
            let values = series(&mut Random::new(seed));
            let mean = values.iter().sum::<f64>() / values.len() as f64;
            long_run(&values.iter().map(|value| value - mean).collect::<Vec<_>>()).variance
        };
        let mut found: Vec<f64> = (0..201).map(of).collect();
        found.sort_by(f64::total_cmp);
        found[100]
    }

    #[test]
    fn long_run_variance_of_ar1_matches_theory() {
        // AR(1) with variance 1 has (1 + φ) / (1 − φ).
        for (phi, truth) in [(-0.5, 1.0 / 3.0), (0.0, 1.0), (0.5, 3.0), (0.8, 9.0)] {
            let found = median_variance(|random| random.ar1(600, 5.0, phi));
            assert!((found / truth - 1.0).abs() < 0.15, "φ {phi}: {found} for {truth}");
        }
    }

    #[test]
    fn frequent_periodic_stalls_do_not_inflate_variance() {
        let found = median_variance(|random| {
            let noise = random.ar1(440, 0.0, 0.0);
            (0..440).map(|n| noise[n] + if n % 40 < 4 { -30.0 } else { 0.0 }).collect()
        });
        assert!(found < 2.0, "{found} for 1");
    }
}
