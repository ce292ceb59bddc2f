//! The difference of two means whose variances may differ.

use super::{Spread, t_quantile};
use iogauge_model::result::Estimate;

/// Returns the difference of the mean of `subject` to that of `baseline` with a confidence interval of this level
/// (B. L. Welch, The Generalization of "Student's" Problem When Several Different Population Variances Are Involved,
/// Biometrika 34, 1947). `n` is the number of observations of both. `time` is the number of observations that carry the
/// information of one independent one, at least 1. `None` for fewer than two on a side.
#[must_use]
pub fn welch(baseline: &[f64], subject: &[f64], level: f64, time: f64) -> Option<Estimate> {
    let sides = [Spread::of(baseline)?, Spread::of(subject)?];
    if sides.iter().any(|side| side.n < 2) {
        return None;
    }
    let shares = sides.map(|side| side.deviation.powi(2) * time / side.n as f64);
    let variance = shares[0] + shares[1];
    let mean = sides[1].mean - sides[0].mean;
    let n = sides[0].n + sides[1].n;
    if variance == 0.0 {
        return Some(Estimate { mean, ci95: [mean, mean], n });
    }
    let freedom = |index: usize| (sides[index].n as f64 / time - 1.0).max(1.0);
    let by_side = |index: usize| shares[index].powi(2) / freedom(index);
    let degrees = variance.powi(2) / (by_side(0) + by_side(1));
    let half = t_quantile(1.0 - level / 2.0, degrees) * variance.sqrt();
    Some(Estimate { mean, ci95: [mean - half, mean + half], n })
}

/// Returns the ratio of the second to the first of two groups of values above 0: of their geometric means, with the 95 %
/// CI of [`welch`] of the logarithms. `time` is as there. `None` for fewer than two in a group.
#[must_use]
pub fn ratio_of_levels(before: &[f64], after: &[f64], time: f64) -> Option<Estimate> {
    let logs = |values: &[f64]| values.iter().map(|value| value.ln()).collect::<Vec<f64>>();
    let [before, after] = [logs(before), logs(after)];
    let log = welch(&before, &after, 0.05, time)?;
    Some(Estimate { mean: log.mean.exp(), ci95: log.ci95.map(f64::exp), n: log.n })
}

#[cfg(test)]
mod tests {
    use super::super::synthetic::percent_of;
    use super::*;

    #[test]
    fn interval_is_that_of_other_programs() {
        // Of SciPy 1.17, ttest_ind with equal_var=False.
        let a = [27.5, 21.0, 19.0, 23.6, 17.0, 17.9, 16.9];
        let b = [27.1, 22.0, 20.8, 23.4, 30.5];
        for (level, ends) in [(0.05, [-0.935_629, 9.627_058]), (0.01, [-3.267_956, 11.959_384])] {
            let found = welch(&a, &b, level, 1.0).unwrap();
            for (end, published) in found.ci95.iter().zip(ends) {
                assert!((end - published).abs() < 1e-5, "{level}: {found:?}");
            }
        }
    }

    #[test]
    fn degenerate_sides_have_no_interval() {
        assert_eq!(welch(&[1.0], &[1.0, 2.0], 0.05, 1.0), None);
        assert_eq!(welch(&[1.0, 1.0], &[3.0, 3.0], 0.05, 1.0).unwrap().ci95, [2.0, 2.0]);
    }

    #[test]
    fn intervals_contain_the_true_ratio() {
        for (before, after) in [(50, 50), (50, 5), (5, 50)] {
            let covered = percent_of(2000, |random| {
                let mut values = |n: usize, level: f64| {
                    (0..n).map(|_| level * (0.02 * random.normal()).exp()).collect::<Vec<_>>()
                };
                let (before, after) = (values(before, 100.0), values(after, 110.0));
                let [low, high] = ratio_of_levels(&before, &after, 1.0).unwrap().ci95;
                (low..=high).contains(&1.1)
            });
            assert!((93.5..=97.0).contains(&covered), "{before}, {after}: {covered} %");
        }
    }
}
