//! Ratio of two figures that were measured in pairs.

use super::t_quantile;
use iogauge_model::result::Estimate;

/// Maximum number of pairs worth proposing: nobody measures more.
const MOST_PAIRS: f64 = 1000.0;

/// Returns the ratio of the first to the second of each pair: the geometric mean, with the 95 % CI of Student's t of
/// the logarithms. Pairs are measured in turn, so drift affects both of a pair and cancels. `n` is the number of pairs;
/// with fewer than two there is no CI. Returns `None` without pairs, or if a figure is not above 0.
#[must_use]
pub fn paired_ratio(pairs: &[(f64, f64)]) -> Option<Estimate> {
    let positive = |value: f64| value > 0.0 && value.is_finite();
    if pairs.is_empty() || !pairs.iter().all(|(a, b)| positive(*a) && positive(*b)) {
        return None;
    }
    let logs: Vec<f64> = pairs.iter().map(|(a, b)| (a / b).ln()).collect();
    let n = logs.len() as f64;
    let mean = logs.iter().sum::<f64>() / n;
    if logs.len() < 2 {
        return Some(Estimate { n: 1, ..Estimate::exact(mean.exp()) });
    }
    let variance = logs.iter().map(|log| (log - mean).powi(2)).sum::<f64>() / (n - 1.0);
    let half = t_quantile(0.975, n - 1.0) * (variance / n).sqrt();
    let ci95 = [(mean - half).exp(), (mean + half).exp()];
    Some(Estimate { mean: mean.exp(), ci95, n: logs.len() as u64 })
}

/// Returns how many pairs are enough for the CI of such a ratio to lie on one side of both bounds, if the ratio and the
/// variation of the pairs stay the same. Returns `None` if more than 1000 are needed or if the variation is unknown.
#[must_use]
pub fn pairs_wanted(ratio: &Estimate, bounds: [f64; 2]) -> Option<u64> {
    if ratio.n < 2 {
        return None;
    }
    let mean = ratio.mean.ln();
    let room = bounds.iter().map(|bound| (bound.ln() - mean).abs()).fold(f64::INFINITY, f64::min);
    let t = |n: f64| t_quantile(0.975, n - 1.0);
    let n = ratio.n as f64;
    // Standard deviation of a pair, derived from the CI.
    let spread = (ratio.ci95[1].ln() - ratio.ci95[0].ln()) / 2.0 / t(n) * n.sqrt();
    let enough = |pairs: f64| t(pairs) * spread / pairs.sqrt() < room;
    let mut pairs = n + 1.0;
    while !enough(pairs) {
        pairs *= 1.1;
        if pairs > MOST_PAIRS {
            return None;
        }
    }
    Some(pairs.ceil() as u64)
}

#[cfg(test)]
mod tests {
    use super::super::synthetic::Random;
    use super::*;

    fn pairs(random: &mut Random, n: usize, ratio: f64, spread: f64) -> Vec<(f64, f64)> {
        let pair = |_| {
            // What both of a pair have in common cancels.
            let level = 1000.0 * (0.5 * random.normal()).exp();
            (level * ratio * (spread * random.normal()).exp(), level)
        };
        (0..n).map(pair).collect()
    }

    #[test]
    fn paired_ratio_interval_has_nominal_coverage() {
        let mut random = Random::new(11);
        for (n, ratio, spread) in [(3, 1.0, 0.05), (5, 1.25, 0.02), (12, 0.7, 0.3)] {
            let trials = 4000;
            let covered = (0..trials)
                .filter(|_| {
                    let estimate = paired_ratio(&pairs(&mut random, n, ratio, spread)).unwrap();
                    (estimate.ci95[0]..=estimate.ci95[1]).contains(&ratio)
                })
                .count();
            let share = covered as f64 / f64::from(trials);
            assert!((share - 0.95).abs() < 0.015, "n {n}: {share}");
        }
    }

    #[test]
    fn suggested_pair_count_usually_suffices() {
        let mut random = Random::new(12);
        let bounds = [0.95, 1.05];
        let (mut asked, mut decided) = (0, 0);
        for _ in 0..500 {
            let first = paired_ratio(&pairs(&mut random, 5, 1.0, 0.06)).unwrap();
            if first.ci95[0] > bounds[0] && first.ci95[1] < bounds[1] {
                continue;
            }
            let Some(wanted) = pairs_wanted(&first, bounds) else { continue };
            assert!(wanted > 5);
            asked += 1;
            let again = paired_ratio(&pairs(&mut random, wanted as usize, 1.0, 0.06)).unwrap();
            decided += u32::from(again.ci95[0] > bounds[0] && again.ci95[1] < bounds[1]);
        }
        let share = f64::from(decided) / f64::from(asked);
        assert!(share > 0.5, "{decided} of {asked}");
    }

    #[test]
    fn paired_ratio_handles_degenerate_input() {
        assert_eq!(paired_ratio(&[]), None);
        assert_eq!(paired_ratio(&[(1.0, 0.0)]), None);
        let one = paired_ratio(&[(3.0, 2.0)]).unwrap();
        assert_eq!((one.mean, one.n), (1.5, 1));
        assert_eq!(pairs_wanted(&one, [0.9, 1.1]), None);
        let same = paired_ratio(&[(2.0, 2.0), (2.0, 2.0)]).unwrap();
        assert_eq!(same.ci95, [1.0, 1.0]);
        // On the bound itself no number is enough.
        let on = Estimate { mean: 1.05, ci95: [1.0, 1.1025], n: 5 };
        assert_eq!(pairs_wanted(&on, [0.95, 1.05]), None);
    }
}
