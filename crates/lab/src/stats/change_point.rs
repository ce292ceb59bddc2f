//! Whether a series changes its level once.

use super::autocorrelation::bridge_scale;

/// Quantile 99 % of the supremum of the absolute Brownian bridge (Kolmogorov's distribution).
const CRITICAL_99: f64 = 1.628;
/// Fewest values on each side of a change.
const MIN_SIDE: usize = 5;

/// A change of level.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ChangePoint {
    /// Index of the first value of the new level.
    pub index: usize,
    /// Mean before it.
    pub before: f64,
    /// Mean from it on.
    pub after: f64,
}

impl ChangePoint {
    /// New level less old one, relative to the absolute old one; infinite where that is 0.
    #[must_use]
    pub fn jump_relative(&self) -> f64 {
        (self.after - self.before) / self.before.abs()
    }
}

/// The single change of level that explains a series best, where a series without one would show
/// it in at most about one case of a hundred: burst credits that run out, a cache that fills, a
/// throttle that sets in.
///
/// The largest cumulated deviation from the mean (CUSUM), scaled by the long-run deviation of
/// the residuals about the two levels, against Kolmogorov's distribution. A lasting drift is
/// found as a change too: ask [`super::drift()`] which of them fits. `None` with fewer than 20
/// values.
///
/// E. S. Page, Continuous inspection schemes, Biometrika 41 (1954) 100–115; A. Aue, L. Horváth,
/// Structural breaks in time series, J. Time Series Analysis 34 (2013) 1–16.
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
    fn false_alarms_are_rare() {
        for (n, phi) in [(30, 0.0), (100, 0.0), (100, 0.5), (600, 0.8)] {
            let alarms =
                percent_of(1000, |random| change_point(&random.ar1(n, 10.0, phi)).is_some());
            assert!(alarms <= 4.0, "n {n}, φ {phi}: {alarms} %");
        }
    }

    #[test]
    fn a_change_is_found_where_it_is() {
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
    fn credits_that_run_out_are_a_jump() {
        let mut series = vec![3000.0; 70];
        series.resize(100, 300.0);
        let change = change_point(&series).unwrap();
        assert_eq!((change.index, change.before, change.after), (70, 3000.0, 300.0));
        assert!((change.jump_relative() + 0.9).abs() < 1e-12);
    }

    #[test]
    fn nothing_changes_in_a_constant_or_a_scrap() {
        assert_eq!(change_point(&[5.0; 100]), None);
        assert_eq!(change_point(&[1.0; 19]), None);
    }

    proptest! {
        #[test]
        fn both_sides_have_values(series in prop::collection::vec(-1e6f64..1e6, 0..120)) {
            if let Some(change) = change_point(&series) {
                prop_assert!((MIN_SIDE..=series.len() - MIN_SIDE).contains(&change.index));
            }
        }
    }
}
