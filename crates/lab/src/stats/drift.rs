//! Detection of drift.

use super::autocorrelation::residual_time;
use super::student_t::t_quantile;

/// A straight line fitted to a series.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Drift {
    /// Rise of the line from the first value to the last, in the unit of the series.
    pub rise: f64,
    /// The rise relative to the absolute mean of the series; infinite if that is 0 and the rise is not.
    pub rise_relative: f64,
    /// True if a series without drift shows such a rise in about 1 % of cases at most.
    pub significant: bool,
}

/// Fits a least-squares line to a series and tests whether its slope may be chance.
///
/// The standard error of the slope is that of independent residuals times √τ, where τ is the autocorrelation time
/// of the residuals; the degrees of freedom are reduced accordingly. Residuals are taken about a parabola with the
/// same slope: most drifts are curved, and a curve about a straight line would look like noise and hide them.
/// Returns `None` with fewer than 8 values or 4 effective ones. Compare the rise with what matters: in a long
/// series even small drifts are significant.
///
/// A. M. Law, W. D. Kelton, Simulation Modeling and Analysis, ch. 9; for the correction, H. von Storch, F. Zwiers,
/// Statistical Analysis in Climate Research, 8.2.
///
/// Cost: that of [`super::autocorrelation_time`] and 50 µs.
#[must_use]
pub fn drift(series: &[f64]) -> Option<Drift> {
    if series.len() < 8 {
        return None;
    }
    let n = series.len() as f64;
    let middle = (n - 1.0) / 2.0;
    let mean = series.iter().sum::<f64>() / n;
    let from_middle = |index: usize| index as f64 - middle;
    let squares = n * (n * n - 1.0) / 12.0;
    let products = series.iter().enumerate().map(|(i, y)| from_middle(i) * (y - mean));
    let slope = products.sum::<f64>() / squares;
    // Orthogonal to the line, so that fitting it does not change the slope.
    let bent = |index: usize| from_middle(index).powi(2) - squares / n;
    let bent_squares: f64 = (0..series.len()).map(|i| bent(i).powi(2)).sum();
    let bent_products: f64 = series.iter().enumerate().map(|(i, y)| bent(i) * (y - mean)).sum();
    let bend = bent_products / bent_squares;
    let fitted = |index| mean + slope * from_middle(index) + bend * bent(index);
    let residuals: Vec<f64> = series.iter().enumerate().map(|(i, y)| y - fitted(i)).collect();

    let time = residual_time(&residuals, 3);
    let effective = n / time;
    if effective < 4.0 {
        return None;
    }
    let variance = residuals.iter().map(|r| r * r).sum::<f64>() / (n - 3.0 * time);
    let error = (variance * time / squares).sqrt();
    let rise = slope * (n - 1.0);
    let rise_relative = if rise == 0.0 { 0.0 } else { rise / mean.abs() };
    let significant = slope.abs() > t_quantile(0.995, effective - 3.0) * error;
    Some(Drift { rise, rise_relative, significant })
}

#[cfg(test)]
mod tests {
    use super::super::synthetic::percent_of;
    use super::*;
    use proptest::prelude::*;

    fn flagged(series: &[f64]) -> bool {
        drift(series).is_some_and(|drift| drift.significant)
    }

    #[test]
    fn drift_false_positives_are_rare() {
        for (n, phi) in [(30, 0.0), (100, 0.0), (100, 0.5), (300, 0.8)] {
            let alarms = percent_of(1000, |random| flagged(&random.ar1(n, 10.0, phi)));
            assert!(alarms <= 2.5, "n {n}, φ {phi}: {alarms} %");
        }
    }

    #[test]
    fn linear_drift_in_noise_is_detected() {
        for (n, phi) in [(40, 0.0), (100, 0.5), (300, 0.8)] {
            let found = percent_of(300, |random| {
                let mut series = random.ar1(n, 100.0, phi);
                for (index, value) in series.iter_mut().enumerate() {
                    *value += 3.0 * index as f64 / n as f64;
                }
                flagged(&series)
            });
            assert!(found >= 85.0, "n {n}, φ {phi}: {found} %");
        }
    }

    #[test]
    fn nonlinear_drift_is_detected() {
        // Each second, the time of an I/O grows by 2 % of its initial value.
        let found = percent_of(300, |random| {
            let mut series = random.ar1(60, 0.0, 0.0);
            for (second, value) in series.iter_mut().enumerate() {
                *value += 100.0 / (1.0 + second as f64 / 50.0);
            }
            flagged(&series)
        });
        assert!(found >= 99.0, "{found} %");
    }

    #[test]
    fn drift_rise_spans_first_to_last_value() {
        let line: Vec<f64> = (0..11).map(|n| 95.0 + f64::from(n)).collect();
        let found = drift(&line).unwrap();
        assert!((found.rise - 10.0).abs() < 1e-9 && (found.rise_relative - 0.1).abs() < 1e-9);
        assert!(found.significant);
        let flat = drift(&[5.0; 20]).unwrap();
        assert_eq!((flat.rise, flat.rise_relative, flat.significant), (0.0, 0.0, false));
        assert_eq!(drift(&line[..7]), None);
    }

    proptest! {
        #[test]
        fn reversed_series_has_opposite_drift(series in prop::collection::vec(1.0f64..1e6, 8..60)) {
            let mirrored: Vec<f64> = series.iter().rev().copied().collect();
            if let (Some(a), Some(b)) = (drift(&series), drift(&mirrored)) {
                prop_assert!((a.rise + b.rise).abs() <= 1e-6 * (1.0 + a.rise.abs()));
            }
        }
    }
}
