//! Intervals for data that is looked at several times, each time with one observation more.
//!
//! The error is spent over the looks by the function of K. K. G. Lan and D. L. DeMets (Discrete Sequential Boundaries
//! for Clinical Trials, Biometrika 70, 1983) that resembles the boundaries of O'Brien and Fleming: little of it early,
//! so that the interval of the last look is hardly wider than that of a single one. The critical values follow from the
//! recursion of P. Armitage, C. K. McPherson and B. C. Rowe (Repeated Significance Tests on Accumulating Data, Journal
//! of the Royal Statistical Society A 132, 1969).

use super::t_quantile;
use iogauge_model::result::Estimate;

/// Number of points of a density, odd.
const POINTS: usize = 801;
/// Standard deviations beyond which nothing is left of a density.
const FAR: f64 = 8.0;

/// The looks of a sequential test.
#[derive(Debug, Clone, PartialEq)]
pub struct Looks {
    /// Number of observations at the first look.
    first: u64,
    /// Two-sided level of each look by itself.
    levels: Vec<f64>,
}

impl Looks {
    /// Plans looks after `first`, `first` + 1, … and `most` observations, at least 2, with an error of at most `alpha`
    /// over all of them together. Costs about a millisecond for each look.
    #[must_use]
    pub fn new(first: u64, most: u64, alpha: f64) -> Self {
        let (first, most) = (first.max(2), most.max(first.max(2)));
        let mut levels = Vec::new();
        let (mut density, mut spent): (Option<Density>, f64) = (None, 0.0);
        for n in first..=most {
            let due = spending(n as f64 / most as f64, alpha);
            let bound = match &density {
                None => z_of(due) * (n as f64).sqrt(),
                Some(density) => density.bound_of((due - spent) / 2.0, n),
            };
            spent = due;
            levels.push(2.0 * upper_tail(bound / (n as f64).sqrt()));
            density = Some(Density::within(bound, |s| match &density {
                None => normal(s / (n as f64).sqrt()) / (n as f64).sqrt(),
                Some(density) => density.step_to(s),
            }));
        }
        Self { first, levels }
    }

    /// Number of observations at the first look.
    #[must_use]
    pub fn first(&self) -> u64 {
        self.first
    }

    /// Number of observations at the last look.
    #[must_use]
    pub fn most(&self) -> u64 {
        self.first + self.levels.len() as u64 - 1
    }

    /// Returns the mean of the observations so far, with an interval that contains the true mean at this look and at
    /// all earlier ones with the planned confidence, if the observations are independent and about normal. Returns
    /// `None` before the first look and after the last one.
    #[must_use]
    pub fn mean(&self, observations: &[f64]) -> Option<Estimate> {
        let look = (observations.len() as u64).checked_sub(self.first)?;
        let level = self.levels.get(usize::try_from(look).ok()?)?;
        let n = observations.len() as f64;
        let mean = observations.iter().sum::<f64>() / n;
        let half =
            t_quantile(1.0 - level / 2.0, n - 1.0) * deviation(observations, mean) / n.sqrt();
        Some(Estimate { mean, ci95: [mean - half, mean + half], n: observations.len() as u64 })
    }
}

/// Returns the standard deviation of observations with this mean.
pub(super) fn deviation(observations: &[f64], mean: f64) -> f64 {
    let squares: f64 = observations.iter().map(|x| (x - mean).powi(2)).sum();
    (squares / (observations.len() as f64 - 1.0)).sqrt()
}

/// Returns the error spent up to a part of the observations, half of it on each side.
fn spending(part: f64, alpha: f64) -> f64 {
    4.0 * upper_tail(z_of(alpha / 2.0) / part.sqrt())
}

fn normal(z: f64) -> f64 {
    (-z * z / 2.0).exp() / std::f64::consts::TAU.sqrt()
}

/// Returns the probability that a standard normal variable exceeds `z`.
fn upper_tail(z: f64) -> f64 {
    libm::erfc(z / std::f64::consts::SQRT_2) / 2.0
}

/// Returns the value that a standard normal variable exceeds in size with this probability.
fn z_of(alpha: f64) -> f64 {
    bisected(0.0, 40.0, |z| 2.0 * upper_tail(z) > alpha)
}

/// Returns where `is_below` turns false between two values.
fn bisected(mut low: f64, mut high: f64, is_below: impl Fn(f64) -> bool) -> f64 {
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if is_below(middle) { low = middle } else { high = middle }
    }
    f64::midpoint(low, high)
}

/// Density of a sum of standard normal observations that has stayed within its bounds so far.
struct Density {
    /// Sums and their densities, each multiplied by its weight for integration (Simpson's rule).
    points: Vec<(f64, f64)>,
}

impl Density {
    fn within(bound: f64, density: impl Fn(f64) -> f64) -> Self {
        let step = 2.0 * bound / (POINTS - 1) as f64;
        let point = |index: usize| {
            let s = -bound + step * index as f64;
            let weight = match index {
                0 => 1.0,
                index if index == POINTS - 1 => 1.0,
                index if index % 2 == 1 => 4.0,
                _ => 2.0,
            };
            (s, weight * step / 3.0 * density(s))
        };
        Self { points: (0..POINTS).map(point).collect() }
    }

    /// Returns the density of the sum with one observation more.
    fn step_to(&self, s: f64) -> f64 {
        self.points.iter().map(|(u, mass)| mass * normal(s - u)).sum()
    }

    /// Returns what the sum with one observation more, the `n`th, exceeds with this probability.
    fn bound_of(&self, probability: f64, n: u64) -> f64 {
        let beyond = |bound: f64| -> f64 {
            self.points.iter().map(|(u, mass)| mass * upper_tail(bound - u)).sum()
        };
        bisected(0.0, FAR * (n as f64).sqrt(), |bound| beyond(bound) > probability)
    }
}

#[cfg(test)]
mod tests {
    use super::super::synthetic::Random;
    use super::*;

    /// Returns the critical values of the looks.
    fn bounds(looks: &Looks) -> Vec<f64> {
        looks.levels.iter().map(|level| z_of(*level)).collect()
    }

    #[test]
    fn critical_values_are_those_of_other_programs() {
        // Of the R packages ldbounds and gsDesign: five equal steps, two-sided error of 0.05.
        let mut looks = Looks::new(2, 5, 0.05);
        let published = [3.3569, 2.6803, 2.2898, 2.0310];
        for (bound, published) in bounds(&looks).iter().zip(published) {
            assert!((bound - published).abs() < 2e-3, "{bound} {published}");
        }
        // One look is a single test.
        looks = Looks::new(7, 7, 0.05);
        assert!((looks.levels[0] - 0.05).abs() < 1e-9);
    }

    #[test]
    fn intervals_of_all_looks_contain_the_mean_together() {
        let mut random = Random::new(5);
        for (first, most) in [(3, 6), (3, 20), (4, 60)] {
            let looks = Looks::new(first, most, 0.05);
            let trials = 2000;
            let missed = (0..trials)
                .filter(|_| {
                    let all: Vec<f64> = (0..most).map(|_| random.normal()).collect();
                    (first..=most).any(|n| {
                        let [low, high] = looks.mean(&all[..n as usize]).unwrap().ci95;
                        low > 0.0 || high < 0.0
                    })
                })
                .count();
            let share = missed as f64 / f64::from(trials);
            // 5 % and three standard errors, 1.5 %.
            assert!(share < 0.065 && share > 0.02, "{first} to {most}: {share}");
        }
    }

    #[test]
    fn last_interval_is_hardly_wider_than_that_of_one_look() {
        let looks = Looks::new(3, 20, 0.05);
        let last = bounds(&looks)[17];
        assert!(last < 1.96 * 1.1, "{last}");
        assert_eq!((looks.first(), looks.most()), (3, 20));
        assert_eq!(looks.mean(&[1.0, 2.0]), None);
        assert_eq!(looks.mean(&[1.0; 21]), None);
    }
}
