//! Detection of a temporary change of the mean.

use super::autocorrelation::bridge_scale;

/// 99 % quantile of the range of the Brownian bridge (Kuiper's distribution).
const CRITICAL_99: f64 = 2.001;
/// Minimum number of values before, within, and after the excursion.
const MIN_PART: usize = 5;

/// A temporary change of the mean.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Excursion {
    /// Index of the first value within it.
    pub from: usize,
    /// Index of the first value after it.
    pub to: usize,
    /// Mean before and after it.
    pub outside: f64,
    /// Mean within it.
    pub inside: f64,
}

impl Excursion {
    /// Returns the change relative to the absolute mean outside; infinite if that is 0.
    #[must_use]
    pub fn jump_relative(&self) -> f64 {
        (self.inside - self.outside) / self.outside.abs()
    }
}

/// Returns the single stretch with another mean that explains a series best, for example a neighbour that came and
/// went, or garbage collection. A series without one shows one in about 1 % of cases at most.
///
/// [`super::change_point()`] hardly sees it, because the change back cancels the first change. This test takes the
/// range of the cumulated deviations from the mean, from largest to smallest, divides it by the long-run deviation of
/// the residuals about the two means, and compares it with Kuiper's distribution. Returns `None` with fewer than 20
/// values, or if the stretch lies at an end.
///
/// N. H. Kuiper, Tests concerning random points on a circle, Indagationes Mathematicae 63 (1960) 38–47; B. Levin, J.
/// Kline, The cusum test of homogeneity, Statistics in Medicine 4 (1985) 469–488.
///
/// Cost: that of [`super::autocorrelation_time`].
#[must_use]
pub fn excursion(series: &[f64]) -> Option<Excursion> {
    if series.len() < 4 * MIN_PART {
        return None;
    }
    let n = series.len() as f64;
    let mean = series.iter().sum::<f64>() / n;
    let (mut cumulated, mut most, mut least) = (0.0f64, (0.0f64, 0), (0.0f64, 0));
    for (position, value) in series.iter().enumerate() {
        cumulated += value - mean;
        if cumulated > most.0 {
            most = (cumulated, position + 1);
        }
        if cumulated < least.0 {
            least = (cumulated, position + 1);
        }
    }
    let (from, to) = (most.1.min(least.1), most.1.max(least.1));
    if from < MIN_PART || to - from < MIN_PART || series.len() - to < MIN_PART {
        return None;
    }
    let inside = series[from..to].iter().sum::<f64>() / (to - from) as f64;
    let outside = (mean * n - inside * (to - from) as f64) / (n - (to - from) as f64);
    let level = |index| if (from..to).contains(&index) { inside } else { outside };
    let residuals: Vec<f64> =
        series.iter().enumerate().map(|(index, value)| value - level(index)).collect();
    let found = most.0 - least.0 > CRITICAL_99 * bridge_scale(&residuals);
    found.then_some(Excursion { from, to, outside, inside })
}

#[cfg(test)]
mod tests {
    use super::super::synthetic::percent_of;
    use super::*;
    use crate::stats::change_point;

    #[test]
    fn excursion_false_positives_are_rare() {
        for (n, phi) in [(30, 0.0), (100, 0.0), (100, 0.5), (600, 0.8)] {
            let alarms = percent_of(1000, |random| excursion(&random.ar1(n, 10.0, phi)).is_some());
            assert!(alarms <= 4.0, "n {n}, φ {phi}: {alarms} %");
        }
    }

    #[test]
    fn excursion_is_located_accurately() {
        for (n, phi) in [(60, 0.0), (100, 0.5), (300, 0.8)] {
            let found = percent_of(300, |random| {
                let mut series = random.ar1(n, 10.0, phi);
                series[n / 3..n / 2].iter_mut().for_each(|value| *value -= 6.0);
                excursion(&series).is_some_and(|found| {
                    found.from.abs_diff(n / 3) <= n / 20 + 3
                        && found.to.abs_diff(n / 2) <= n / 20 + 3
                        && (4.0..8.0).contains(&(found.outside - found.inside))
                })
            });
            assert!(found >= 85.0, "n {n}, φ {phi}: {found} %");
        }
    }

    #[test]
    fn temporary_dip_is_an_excursion_not_a_change_point() {
        let mut series: Vec<f64> = (0..120).map(|n| 1000.0 + f64::from(n % 3)).collect();
        series[57..63].iter_mut().for_each(|value| *value = 100.0);
        assert_eq!(change_point(&series), None);
        let found = excursion(&series).unwrap();
        assert_eq!((found.from, found.to, found.inside), (57, 63, 100.0));
        assert!((found.jump_relative() + 0.9).abs() < 0.001);
    }

    #[test]
    fn no_excursion_in_step_constant_or_short_series() {
        let step: Vec<f64> = (0..100).map(|n| if n < 40 { 1.0 } else { 9.0 }).collect();
        assert_eq!(excursion(&step), None);
        assert_eq!(excursion(&[5.0; 100]), None);
        assert_eq!(excursion(&[1.0; 19]), None);
    }
}
