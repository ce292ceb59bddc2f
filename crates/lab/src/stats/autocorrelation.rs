//! Autocorrelation: how many neighbouring values carry the information of one independent value.

/// Returns the integrated autocorrelation time of a series, τ ≥ 1: the variance of its mean is τ times that of
/// independent values, so that *n* values count as *n*/τ.
///
/// Geyer's initial positive monotone sequence: autocovariances are added in pairs of lags as long as the pairs are
/// positive, and no pair counts more than the one before it. Negative correlation would make an interval narrower than
/// for independent values and is ignored: τ is at least 1. Sample autocovariances are too small, because the mean is
/// estimated from the same values. This is corrected to first order.
///
/// C. J. Geyer, Practical Markov Chain Monte Carlo, Statistical Science 7 (1992) 473–483; A. M. Law, W. D. Kelton,
/// Simulation Modeling and Analysis, ch. 4 and 9 (bias).
///
/// Values must be finite. Cost: n times the number of lags added, at most n²/3. 1200 independent values take
/// microseconds, strongly correlated ones less than a millisecond.
#[must_use]
pub fn autocorrelation_time(series: &[f64]) -> f64 {
    let mean = series.iter().sum::<f64>() / series.len().max(1) as f64;
    let residuals: Vec<f64> = series.iter().map(|value| value - mean).collect();
    residual_time(&residuals, 1)
}

/// Returns the scale for the cumulated deviations of a series from its mean, from the residuals about its two means:
/// divided by it, those of a series with one mean form a Brownian bridge. Cost: that of [`autocorrelation_time`].
pub(super) fn bridge_scale(residuals: &[f64]) -> f64 {
    let (n, time) = (residuals.len() as f64, residual_time(residuals, 2));
    let variance = residuals.iter().map(|r| r * r).sum::<f64>() / (n - 2.0 * time).max(1.0);
    (n * variance * time).sqrt()
}

/// Like [`autocorrelation_time`], for residuals of a model with `fitted` parameters (1 for a mean, 2 for a line). Each
/// parameter absorbs some of the slow variation.
pub(super) fn residual_time(residuals: &[f64], fitted: usize) -> f64 {
    let n = residuals.len();
    let variance = covariance(residuals, 0);
    if n < 4 || variance <= 0.0 {
        return 1.0;
    }
    let mut sum = 0.0;
    let mut lags = 0;
    let mut last = f64::INFINITY;
    while lags < n / 3 {
        let pair = covariance(residuals, lags) + covariance(residuals, lags + 1);
        if pair <= 0.0 {
            break;
        }
        last = pair.min(last);
        sum += last;
        lags += 2;
    }
    let raw = 2.0 * sum / variance - 1.0;
    let swallowed = (fitted * (2 * lags).saturating_sub(1)) as f64 / n as f64;
    // The first-order correction is not valid beyond a half.
    (raw / (1.0 - swallowed.min(0.5))).clamp(1.0, n as f64)
}

/// Returns the mean product of residuals `lag` apart, divided by all n (the positive semidefinite estimate).
fn covariance(residuals: &[f64], lag: usize) -> f64 {
    let products = residuals.iter().zip(&residuals[lag.min(residuals.len())..]);
    products.map(|(a, b)| a * b).sum::<f64>() / residuals.len() as f64
}

#[cfg(test)]
mod tests {
    use super::super::synthetic::Random;
    use super::*;

    /// τ of AR(1) is (1 + φ) / (1 − φ).
    #[test]
    fn autocorrelation_time_of_ar1_matches_theory() {
        for (phi, truth) in [(0.0, 1.0), (0.5, 3.0), (0.8, 9.0)] {
            let mut times: Vec<f64> = (0..60)
                .map(|seed| autocorrelation_time(&Random::new(seed).ar1(1000, 5.0, phi)))
                .collect();
            times.sort_by(f64::total_cmp);
            let median = times[30];
            assert!((median / truth - 1.0).abs() < 0.15, "φ {phi}: {median} for {truth}");
        }
    }

    #[test]
    fn alternating_and_constant_series_count_as_independent() {
        let alternating: Vec<f64> = (0..100).map(|n| f64::from(n % 2)).collect();
        assert_eq!(autocorrelation_time(&alternating), 1.0);
        assert_eq!(autocorrelation_time(&[3.0; 50]), 1.0);
        assert_eq!(autocorrelation_time(&[]), 1.0);
        assert_eq!(autocorrelation_time(&[1.0, 2.0]), 1.0);
    }
}
