//! How much a number of paired observations tells: its interval, the smallest difference that it detects, and the number
//! that decides.
//!
//! An observation is the difference of two logarithms that were measured one after the other, so drift affects both and
//! cancels. What varies slowly and affects only one of them does not: then neighbouring observations are alike, and tell
//! less than independent ones.

use super::t_quantile;

/// Maximum number of observations worth proposing: nobody measures more.
const MOST_OBSERVATIONS: f64 = 1000.0;
/// Fewer independent observations have no interval.
const LEAST_EFFECTIVE: f64 = 1.5;
/// Largest correlation of neighbours that is believed of a short series.
const MOST_CORRELATED: f64 = 0.9;
/// Number of observations that the estimate of their correlation costs, of six or more. An interval is wider if they look
/// correlated by chance.
const LOST: f64 = 2.0;
/// Share of comparisons in which a difference is to be detected.
const POWER: f64 = 0.8;

/// The spread of observations.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    /// Number of observations.
    pub n: u64,
    /// Their mean.
    pub mean: f64,
    /// Standard deviation of one observation. It is 0 for fewer than two.
    pub deviation: f64,
    /// Number of independent observations that tell as much, at most `n`.
    pub effective: f64,
}

impl Spread {
    /// Returns the spread of observations in order of time; `None` without any.
    #[must_use]
    pub fn of(observations: &[f64]) -> Option<Self> {
        let n = observations.len() as f64;
        let mean = observations.iter().sum::<f64>() / n;
        let squares: f64 = observations.iter().map(|value| (value - mean).powi(2)).sum();
        let deviation = if observations.len() < 2 { 0.0 } else { (squares / (n - 1.0)).sqrt() };
        let effective = (n / inflation(observations, mean)).max(LEAST_EFFECTIVE.min(n));
        let n = observations.len() as u64;
        (n > 0).then_some(Self { n, mean, deviation, effective })
    }

    /// Returns half the width of the two-sided confidence interval of the mean at this level.
    #[must_use]
    pub fn half_width(&self, level: f64) -> f64 {
        t_quantile(1.0 - level / 2.0, self.effective - 1.0) * self.deviation / self.effective.sqrt()
    }

    /// Returns the smallest true mean that a two-sided test of this level distinguishes from 0 in 80 % of cases with as
    /// many observations (J. Cohen, Statistical Power Analysis for the Behavioral Sciences, 1988, with t instead of the
    /// normal distribution). It depends on the deviation and not on the mean. `None` for fewer than two observations.
    #[must_use]
    pub fn smallest_difference(&self, level: f64) -> Option<f64> {
        let lost = LOST * ((self.n as f64 - 2.0) / 4.0).clamp(0.0, 1.0);
        let n = (self.effective - lost).max(LEAST_EFFECTIVE);
        let quantiles = || t_quantile(1.0 - level / 2.0, n - 1.0) + t_quantile(POWER, n - 1.0);
        (self.n >= 2).then(|| quantiles() * self.deviation / n.sqrt())
    }

    /// Returns how many observations are enough for a confidence interval of this level to lie on one side of every
    /// bound if mean, deviation and correlation stay the same. `None` if more than 1000 are needed or for fewer than two
    /// observations.
    #[must_use]
    pub fn wanted(&self, bounds: [f64; 2], level: f64) -> Option<u64> {
        let distances = bounds.map(|bound| (bound - self.mean).abs());
        let room = distances[0].min(distances[1]);
        let share = self.effective / self.n as f64;
        let is_enough = |n: f64| Self { effective: n * share, ..*self }.half_width(level) < room;
        let mut wanted = self.n as f64 + 1.0;
        while !is_enough(wanted) {
            wanted *= 1.1;
            if wanted > MOST_OBSERVATIONS {
                return None;
            }
        }
        (self.n >= 2).then_some(wanted.ceil() as u64)
    }
}

/// Returns how many times as many observations as independent ones tell the same, at least 1, if the observations are a
/// first-order autoregression. The correlation of neighbours is corrected for its bias in short series (F. H. C.
/// Marriott, J. A. Pope, Bias in the Estimation of Autocorrelations, Biometrika 41, 1954).
fn inflation(observations: &[f64], mean: f64) -> f64 {
    let n = observations.len() as f64;
    let squares: f64 = observations.iter().map(|value| (value - mean).powi(2)).sum();
    if squares == 0.0 {
        return 1.0;
    }
    let neighbours = observations.windows(2).map(|pair| (pair[0] - mean) * (pair[1] - mean));
    let correlation = neighbours.sum::<f64>() / squares;
    let correlation = (correlation + (1.0 + 3.0 * correlation) / n).clamp(0.0, MOST_CORRELATED);
    (1.0 + correlation) / (1.0 - correlation)
}

#[cfg(test)]
mod tests {
    use super::super::Looks;
    use super::super::synthetic::Random;
    use super::*;

    fn observations(random: &mut Random, n: u64, mean: f64, deviation: f64) -> Vec<f64> {
        (0..n).map(|_| mean + deviation * random.normal()).collect()
    }

    #[test]
    fn smallest_difference_is_detected_in_four_of_five_cases() {
        let mut random = Random::new(3);
        for n in [6, 20] {
            let looks = Looks::new(n, n, 0.05);
            let mut spreads: Vec<f64> = (0..501)
                .map(|_| {
                    let spread = Spread::of(&observations(&mut random, n, 0.0, 0.02)).unwrap();
                    spread.smallest_difference(0.05).unwrap()
                })
                .collect();
            spreads.sort_by(f64::total_cmp);
            let difference = spreads[250];
            let trials = 2000;
            let detected = (0..trials)
                .filter(|_| {
                    let all = observations(&mut random, n, difference, 0.02);
                    looks.mean(&all).unwrap().ci95[0] > 0.0
                })
                .count();
            let share = detected as f64 / f64::from(trials);
            assert!((POWER - 0.03..POWER + 0.13).contains(&share), "{n}: {share}");
        }
    }

    #[test]
    fn suggested_number_usually_suffices() {
        let mut random = Random::new(12);
        let bounds = [-0.05, 0.05];
        let is_within = |all: &[f64]| {
            let n = all.len() as u64;
            let [low, high] = Looks::new(n, n, 0.05).mean(all).unwrap().ci95;
            low > bounds[0] && high < bounds[1]
        };
        let (mut asked, mut decided) = (0, 0);
        for _ in 0..300 {
            let first = observations(&mut random, 5, 0.0, 0.06);
            if is_within(&first) {
                continue;
            }
            let spread = Spread::of(&first).unwrap();
            let Some(wanted) = spread.wanted(bounds, 0.05) else { continue };
            assert!(wanted > 5);
            asked += 1;
            decided += u32::from(is_within(&observations(&mut random, wanted, 0.0, 0.06)));
        }
        let share = f64::from(decided) / f64::from(asked);
        assert!(share > 0.5, "{decided} of {asked}");
    }

    #[test]
    fn correlated_observations_count_less() {
        let mut random = Random::new(4);
        let mut effective = |correlation: f64| {
            let mut level = 0.0;
            let next = |_| {
                level = correlation * level + random.normal();
                level
            };
            let all: Vec<f64> = (0..2000).map(next).collect();
            Spread::of(&all).unwrap().effective / 2000.0
        };
        assert!(effective(0.0) > 0.9);
        // (1 - 0.6) / (1 + 0.6)
        assert!((effective(0.6) - 0.25).abs() < 0.05);
        assert_eq!(Spread::of(&[1.0, -1.0, 1.0, -1.0]).unwrap().effective, 4.0);
    }

    #[test]
    fn degenerate_observations_tell_nothing() {
        assert_eq!(Spread::of(&[]), None);
        let one = Spread::of(&[1.5]).unwrap();
        assert_eq!((one.mean, one.deviation, one.n), (1.5, 0.0, 1));
        assert_eq!((one.smallest_difference(0.05), one.wanted([0.0, 1.0], 0.05)), (None, None));
        // On the bound itself no number is enough.
        let on = Spread { n: 5, mean: 0.05, deviation: 0.01, effective: 5.0 };
        assert_eq!(on.wanted([-0.05, 0.05], 0.05), None);
    }
}
