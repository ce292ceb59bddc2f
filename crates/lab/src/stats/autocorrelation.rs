//! Autocorrelation: how many neighbouring values carry the information of one independent value.

use std::ops::Range;

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
    residual_time(&about_mean(series), 1)
}

/// How values resemble those before them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SegmentCorrelation {
    /// The integrated autocorrelation time, as [`autocorrelation_time`] returns it.
    pub time: f64,
    /// The correlation of neighbours, if it is above 0 by more than chance.
    pub beyond_chance: Option<f64>,
}

/// Returns the correlation of a series about the means of segments, which cover it. That of independent values has a
/// standard deviation of about 1/√n; twice this is beyond chance (M. S. Bartlett, On the theoretical specification and
/// sampling properties of autocorrelated time-series, Suppl. J. Royal Statistical Society 8 (1946) 27–41). Means that
/// follow slow variation hide a part of it.
#[must_use]
pub fn segment_correlation(series: &[f64], segments: &[Range<usize>]) -> SegmentCorrelation {
    let mut residuals = Vec::with_capacity(series.len());
    for segment in segments {
        let values = &series[segment.clone()];
        let mean = values.iter().sum::<f64>() / values.len().max(1) as f64;
        residuals.extend(values.iter().map(|value| value - mean));
    }
    let variance = covariance(&residuals, 0);
    let largest = series.iter().fold(0.0f64, |largest, value| largest.max(value.abs()));
    // Rounding errors are no variation.
    if variance.sqrt() <= 1e-9 * largest {
        return SegmentCorrelation { time: 1.0, beyond_chance: None };
    }
    let correlation = covariance(&residuals, 1) / variance;
    let chance = 2.0 / (residuals.len() as f64).sqrt();
    SegmentCorrelation {
        time: residual_time(&residuals, segments.len()),
        beyond_chance: Some(correlation).filter(|correlation| *correlation > chance),
    }
}

/// Returns the correlation time of a series, in values: the lag before the one at which the correlation is below 1/e of
/// that of neighbours. It is 0 if neighbours do not resemble each other beyond chance, which is the case for 97 % of
/// series of independent values: twice the standard deviation of their correlation, about 1/√n.
///
/// It does not depend on how much of the variation is slow. [`autocorrelation_time`] does: independent noise on top of a
/// slow variation makes that time shorter, and leaves this one as it is.
///
/// Values must be finite. Cost: n times the result, at most n²/3.
#[must_use]
pub fn correlation_time(series: &[f64]) -> usize {
    let n = series.len();
    let residuals = about_mean(series);
    let chance = 2.0 / (n as f64).sqrt() * covariance(&residuals, 0);
    let bound = chance.max(covariance(&residuals, 1) / std::f64::consts::E);
    (1..n / 3).find(|lag| covariance(&residuals, *lag) <= bound).map_or(n / 3, |lag| lag - 1)
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

fn about_mean(series: &[f64]) -> Vec<f64> {
    let mean = series.iter().sum::<f64>() / series.len().max(1) as f64;
    series.iter().map(|value| value - mean).collect()
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
    fn correlation_time_of_ar1_does_not_depend_on_its_length() {
        // φ to the power of 2.4, 5.5 and 10.5 is φ / e.
        for (phi, lags) in [(0.0, 0..1), (0.5, 2..3), (0.8, 4..7), (0.9, 8..13)] {
            for n in [800, 5000] {
                let of = |seed| correlation_time(&Random::new(seed).ar1(n, 5.0, phi));
                let mut found: Vec<usize> = (0..60).map(of).collect();
                found.sort_unstable();
                assert!(lags.contains(&found[30]), "φ {phi}, n {n}: {found:?}");
            }
        }
        // Noise that is added to it does not hide it.
        let slow = Random::new(1).ar1(5000, 5.0, 0.9);
        let noise = Random::new(2).ar1(5000, 0.0, 0.0);
        let noisy: Vec<f64> = slow.iter().zip(noise).map(|(a, b)| a + b).collect();
        assert!((7..15).contains(&correlation_time(&noisy)));
        assert_eq!([correlation_time(&[]), correlation_time(&[1.0; 50])], [0, 0]);
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
