//! Detection of a single lasting change of the mean.

use super::autocorrelation::bridge_scale;

/// 99 % quantile of the supremum of the absolute Brownian bridge (Kolmogorov's distribution).
const CRITICAL_99: f64 = 1.628;
/// Minimum number of values on each side of a change.
const MIN_SIDE: usize = 5;

/// A lasting change of the mean.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ChangePoint {
    /// Index of the first value after the change.
    pub index: usize,
    /// Mean before the change.
    pub before: f64,
    /// Mean after the change.
    pub after: f64,
}

impl ChangePoint {
    /// Returns the change relative to the absolute mean before it; infinite if that is 0.
    #[must_use]
    pub fn jump_relative(&self) -> f64 {
        (self.after - self.before) / self.before.abs()
    }
}

/// Returns the single change of the mean that explains a series best, for example burst credits that run out, a cache
/// that fills, or a throttle that sets in. A series without a change shows one in about 1 % of cases at most.
///
/// The largest cumulated deviation from the mean (CUSUM) is divided by the long-run deviation of the residuals about
/// the two means and compared with Kolmogorov's distribution. A lasting drift appears as a change as well: compare with
/// [`super::drift()`]. Returns `None` with fewer than 20 values.
///
/// E. S. Page, Continuous inspection schemes, Biometrika 41 (1954) 100–115; A. Aue, L. Horváth, Structural breaks in
/// time series, J. Time Series Analysis 34 (2013) 1–16.
///
/// Cost: that of [`super::autocorrelation_time`].
#[must_use]
pub fn change_point(series: &[f64]) -> Option<ChangePoint> {
    if series.len() < 4 * MIN_SIDE {
        return None;
    }
    let n = series.len() as f64;
    let mean = series.iter().sum::<f64>() / n;
    let (mut cumulated, mut largest, mut index) = (0.0f64, 0.0, 0);
    for (position, value) in series.iter().enumerate() {
        cumulated += value - mean;
        let first_of_new = position + 1;
        let within = (MIN_SIDE..=series.len() - MIN_SIDE).contains(&first_of_new);
        if within && cumulated.abs() > largest {
            (largest, index) = (cumulated.abs(), first_of_new);
        }
    }
    if index == 0 {
        return None;
    }
    let (old, new) = series.split_at(index);
    let level = |part: &[f64]| part.iter().sum::<f64>() / part.len() as f64;
    let (before, after) = (level(old), level(new));
    let residuals: Vec<f64> = old
        .iter()
        .map(|value| value - before)
        .chain(new.iter().map(|value| value - after))
        .collect();

    let found = largest > CRITICAL_99 * bridge_scale(&residuals);
    found.then_some(ChangePoint { index, before, after })
}

#[cfg(test)]
mod tests {
    use super::super::synthetic::percent_of;
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn change_point_false_positives_are_rare() {
        for (n, phi) in [(30, 0.0), (100, 0.0), (100, 0.5), (600, 0.8)] {
            let alarms =
                percent_of(1000, |random| change_point(&random.ar1(n, 10.0, phi)).is_some());
            assert!(alarms <= 4.0, "n {n}, φ {phi}: {alarms} %");
        }
    }

    #[test]
    fn change_point_is_located_accurately() {
        for (n, phi) in [(40, 0.0), (100, 0.5), (300, 0.8)] {
            let found = percent_of(300, |random| {
                let mut series = random.ar1(n, 10.0, phi);
                series[n / 4..].iter_mut().for_each(|value| *value += 3.0);
                change_point(&series).is_some_and(|change| {
                    change.index.abs_diff(n / 4) <= n / 20 + 3
                        && (1.5..4.5).contains(&(change.after - change.before))
                })
            });
            assert!(found >= 85.0, "n {n}, φ {phi}: {found} %");
        }
    }

    #[test]
    fn exhausted_burst_credits_are_detected_as_a_jump() {
        let mut series = vec![3000.0; 70];
        series.resize(100, 300.0);
        let change = change_point(&series).unwrap();
        assert_eq!((change.index, change.before, change.after), (70, 3000.0, 300.0));
        assert!((change.jump_relative() + 0.9).abs() < 1e-12);
    }

    #[test]
    fn no_change_point_in_constant_or_short_series() {
        assert_eq!(change_point(&[5.0; 100]), None);
        assert_eq!(change_point(&[1.0; 19]), None);
    }

    proptest! {
        #[test]
        fn both_sides_of_change_point_have_minimum_length(series in prop::collection::vec(-1e6f64..1e6, 0..120)) {
            if let Some(change) = change_point(&series) {
                prop_assert!((MIN_SIDE..=series.len() - MIN_SIDE).contains(&change.index));
            }
        }
    }
}
