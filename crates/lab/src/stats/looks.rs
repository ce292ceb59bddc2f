//! Intervals for data that is looked at several times, each time with one observation more.
//!
//! The error is spent over the looks in proportion to the square of the observations (K. K. G. Lan, D. L. DeMets, Discrete
//! Sequential Boundaries for Clinical Trials, Biometrika 70, 1983; K. Kim, D. L. DeMets, Design and Analysis of Group
//! Sequential Tests Based on the Type I Error Spending Rate Function, Biometrika 74, 1987): little of it early, so that
//! the interval of the last look is about an eighth wider than that of a single one, and enough for an early look to tell. The
//! critical values follow from the recursion of P. Armitage, C. K. McPherson and B. C. Rowe (Repeated Significance Tests
//! on Accumulating Data, Journal of the Royal Statistical Society A 132, 1969).

use super::{NORMAL_95, Spread};
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
        Self::spending(first, most, |part| alpha * part.powi(2))
    }

    /// As [`Self::new`]; `spent_at` is the error spent up to a part of the observations.
    fn spending(first: u64, most: u64, spent_at: impl Fn(f64) -> f64) -> Self {
        let (first, most) = (first.max(2), most.max(first.max(2)));
        let mut levels = Vec::new();
        let (mut density, mut spent): (Option<Density>, f64) = (None, 0.0);
        for n in first..=most {
            let due = spent_at(n as f64 / most as f64);
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

    /// Returns the two-sided level of the look after this many observations, taken by itself; `None` before the first
    /// look and after the last one.
    #[must_use]
    pub fn level(&self, observations: u64) -> Option<f64> {
        let look = observations.checked_sub(self.first)?;
        self.levels.get(usize::try_from(look).ok()?).copied()
    }

    /// Returns the mean of the observations so far, with an interval that contains the true mean at this look and at
    /// all earlier ones with the planned confidence, if the observations are about normal, and independent or a
    /// first-order autoregression. Returns `None` before the first look and after the last one.
    #[must_use]
    pub fn mean(&self, observations: &[f64]) -> Option<Estimate> {
        let level = self.level(observations.len() as u64)?;
        let spread = Spread::of(observations)?;
        let (mean, half) = (spread.mean, spread.half_width(level));
        Some(Estimate { mean, ci95: [mean - half, mean + half], n: spread.n })
    }
}

/// Returns how many times as wide as a 95 % CI an interval has to be after `part` of the planned time, so that with a
/// probability of at most `error` it excludes the truth on one side at any look, however often the data is looked at
/// until the end of that time. The estimate has to vary like a mean: its error falls with the square root of the time.
///
/// The boundary of O'Brien and Fleming with continuous looks. By the reflection principle, a Wiener process exceeds a
/// level before a time with twice the probability with which it exceeds it at that time.
#[must_use]
pub fn widening(part: f64, error: f64) -> f64 {
    z_of(error) / part.clamp(f64::MIN_POSITIVE, 1.0).sqrt() / NORMAL_95
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

    /// Returns the error spent up to a part of the observations by boundaries like those of O'Brien and Fleming.
    fn obrien_fleming(part: f64, alpha: f64) -> f64 {
        4.0 * upper_tail(z_of(alpha / 2.0) / part.sqrt())
    }

    /// Returns the critical values of the looks.
    fn bounds(looks: &Looks) -> Vec<f64> {
        looks.levels.iter().map(|level| z_of(*level)).collect()
    }

    #[test]
    fn critical_values_are_those_of_other_programs() {
        // Of the R packages ldbounds and gsDesign: five equal steps, two-sided error of 0.05.
        let mut looks = Looks::spending(2, 5, |part| obrien_fleming(part, 0.05));
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
            assert!(share < 0.065 && share > 0.015, "{first} to {most}: {share}");
        }
    }

    #[test]
    fn widening_agrees_with_many_looks() {
        // Two sides of 2.5 % each. With very many looks, the last one needs as much as continuous looks.
        let looks = Looks::spending(2, 200, |part| obrien_fleming(part, 0.05));
        let last = *bounds(&looks).last().unwrap();
        let continuous = widening(1.0, 0.025) * NORMAL_95;
        assert!((continuous - 2.2414).abs() < 1e-4, "{continuous}");
        assert!(last < continuous && last > 0.93 * continuous, "{last} {continuous}");
        assert!((widening(0.25, 0.025) / widening(1.0, 0.025) - 2.0).abs() < 1e-9);
    }

    #[test]
    fn widened_intervals_of_all_looks_rarely_exclude_the_mean() {
        let mut random = Random::new(6);
        let (most, trials) = (200, 4000);
        let missed = (0..trials).filter(|_| {
            let mut sum = 0.0;
            (1..=most).any(|n| {
                sum += random.normal();
                let half = NORMAL_95 / f64::from(n).sqrt();
                sum / f64::from(n) > half * widening(f64::from(n) / f64::from(most), 0.025)
            })
        });
        let share = missed.count() as f64 / f64::from(trials);
        // 2.5 % and three standard errors, 0.75 %.
        assert!(share < 0.0325 && share > 0.01, "{share}");
    }

    #[test]
    fn last_interval_is_little_wider_than_that_of_one_look() {
        let looks = Looks::new(3, 20, 0.05);
        let last = bounds(&looks)[17];
        assert!(last < 1.96 * 1.15, "{last}");
        assert_eq!((looks.first(), looks.most()), (3, 20));
        assert_eq!(looks.mean(&[1.0, 2.0]), None);
        assert_eq!(looks.mean(&[1.0; 21]), None);
    }
}
