//! Mean of a series of batches, with its CI.

use super::autocorrelation::residual_time;
use super::long_run::{LONG, LongRun, long_run};
use super::student_t::t_quantile;
use iogauge_model::result::Estimate;

/// One interval of a series: a sum and what to divide it by. I/Os over seconds give a rate, latencies over I/Os a mean
/// latency.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Batch {
    /// The sum; finite.
    pub sum: f64,
    /// What it is divided by; finite and not negative.
    pub weight: f64,
}

/// Returns Σ sum / Σ weight with its 95 % CI.
///
/// Ratio estimator: to first order its error is the mean of the residuals `sum − ratio × weight` divided by the
/// mean weight, as in regenerative simulation. The variance of that mean takes autocorrelation into account. In a
/// series of fewer than 100 batches this is done by [`super::autocorrelation_time`], and the CI is Student's with
/// `n − 1` degrees of freedom, where `n` is the effective number of batches. In a longer one it is done by the
/// variance of its slowest components, which also recognizes negative correlation. With fewer than 2 effective
/// batches the CI is the value itself and has no meaning, as [`Estimate::n`] shows. Batches with weight 0 and sum 0
/// count as batches. If Σ weight = 0, the result is 0.
///
/// A. M. Law, W. D. Kelton, Simulation Modeling and Analysis, 9.5; C. Alexopoulos, A. F. Seila, Output data
/// analysis, in Handbook of Simulation (1998) ch. 7.
///
/// Cost: that of [`super::autocorrelation_time`] and 50 µs.
#[must_use]
pub fn ratio(batches: &[Batch]) -> Estimate {
    let weight: f64 = batches.iter().map(|batch| batch.weight).sum();
    if weight <= 0.0 {
        return Estimate::exact(0.0);
    }
    let ratio = batches.iter().map(|batch| batch.sum).sum::<f64>() / weight;
    let residuals: Vec<f64> =
        batches.iter().map(|batch| batch.sum - ratio * batch.weight).collect();
    let n = batches.len() as f64;
    let spread = if batches.len() < LONG { short(&residuals) } else { long(&residuals) };
    let effective = spread.effective.floor();
    if effective < 2.0 {
        return Estimate { mean: ratio, ci95: [ratio, ratio], n: effective as u64 };
    }
    let error = (spread.variance / n).sqrt() / (weight / n);
    let half = t_quantile(0.975, spread.degrees) * error;
    Estimate { mean: ratio, ci95: [ratio - half, ratio + half], n: effective as u64 }
}

/// What residuals show about the uncertainty of their mean.
struct Spread {
    /// n times the variance of the mean.
    variance: f64,
    degrees: f64,
    /// Number of independent residuals with the same information, at most n.
    effective: f64,
}

fn short(residuals: &[f64]) -> Spread {
    let n = residuals.len() as f64;
    let time = residual_time(residuals, 1);
    let effective = n / time;
    // Residuals vary about a mean fitted to them. If they are independent, the divisor is n − 1.
    let variance = residuals.iter().map(|r| r * r).sum::<f64>() / (n - time).max(1.0) * time;
    Spread { variance, degrees: (effective.floor() - 1.0).max(1.0), effective }
}

fn long(residuals: &[f64]) -> Spread {
    let n = residuals.len() as f64;
    let LongRun { variance, degrees } = long_run(residuals);
    let squares = residuals.iter().map(|r| r * r).sum::<f64>();
    let effective = if variance > 0.0 { (squares / variance).min(n) } else { n };
    Spread { variance, degrees, effective }
}

/// Returns the mean of a series of intervals of equal length, with its CI; see [`ratio`].
#[must_use]
pub fn mean(series: &[f64]) -> Estimate {
    let batches: Vec<Batch> = series.iter().map(|&sum| Batch { sum, weight: 1.0 }).collect();
    ratio(&batches)
}

#[cfg(test)]
mod tests {
    use super::super::synthetic::{Random, percent_of};
    use super::*;
    use iogauge_model::result::IntervalPoint;
    use proptest::prelude::*;

    fn covers(estimate: Estimate, truth: f64) -> bool {
        estimate.n >= 2 && (estimate.ci95[0]..=estimate.ci95[1]).contains(&truth)
    }

    /// Returns the coverage of the nominal 95 % CI, in percent of 1000 seeded series.
    fn coverage(n: usize, phi: f64) -> f64 {
        percent_of(1000, |random| covers(mean(&random.ar1(n, 10.0, phi)), 10.0))
    }

    #[test]
    fn interval_covers_mean_of_independent_values() {
        for n in [10, 30, 100, 300] {
            let percent = coverage(n, 0.0);
            assert!((93.0..=98.5).contains(&percent), "n {n}: {percent} %");
        }
        for n in [30, 100] {
            let percent = percent_of(1000, |random| {
                let series: Vec<f64> = (0..n).map(|_| random.exponential()).collect();
                covers(mean(&series), 1.0)
            });
            assert!((93.0..=98.0).contains(&percent), "exponential, n {n}: {percent} %");
        }
    }

    #[test]
    fn interval_covers_mean_of_correlated_values() {
        for (n, phi) in [(60, 0.5), (300, 0.5), (200, 0.8), (600, 0.8)] {
            let percent = coverage(n, phi);
            assert!((91.5..=97.0).contains(&percent), "n {n}, φ {phi}: {percent} %");
        }
    }

    #[test]
    fn effective_sample_size_of_ar1_matches_theory() {
        let mut effective: Vec<u64> =
            (0..101).map(|seed| mean(&Random::new(seed).ar1(900, 10.0, 0.8)).n).collect();
        effective.sort_unstable();
        assert!((75..=125).contains(&effective[50]), "{} for 100", effective[50]);
    }

    /// A closed loop: the mean latency varies, and each second has as many I/Os as fit into it.
    fn closed_loop(random: &mut Random, n: usize) -> Vec<IntervalPoint> {
        let levels = random.ar1(n, 0.0, 0.5);
        let point = |level: &f64| {
            let latency_ns = 1e6 * (0.2 * level).exp();
            let reads = (1e9 / latency_ns) as u64;
            IntervalPoint {
                seconds: 1.0,
                reads,
                read_latency_sum_ns: (reads as f64 * latency_ns) as u64,
                ..IntervalPoint::default()
            }
        };
        levels.iter().map(point).collect()
    }

    #[test]
    fn ratio_of_sums_is_covered_by_its_interval() {
        // The mean rate is E[1/latency], and the mean latency is 1 over it, since each second is full.
        let rate = 1000.0 * (0.02f64).exp();
        let percent = percent_of(500, |random| {
            let series = closed_loop(random, 200);
            let rates = series.iter().map(|p| Batch { sum: p.reads as f64, weight: p.seconds });
            let latencies = series
                .iter()
                .map(|p| Batch { sum: p.read_latency_sum_ns as f64, weight: p.reads as f64 });
            let iops = ratio(&rates.collect::<Vec<_>>());
            let latency = ratio(&latencies.collect::<Vec<_>>());
            assert!((iops.mean * latency.mean / 1e9 - 1.0).abs() < 2e-3);
            covers(latency, 1e9 / rate) && covers(iops, rate)
        });
        assert!((91.0..=98.0).contains(&percent), "{percent} %");
    }

    #[test]
    fn unequal_batches_are_weighted_by_length() {
        let batches = [Batch { sum: 30.0, weight: 3.0 }, Batch { sum: 50.0, weight: 1.0 }];
        let estimate = ratio(&batches);
        assert_eq!((estimate.mean, estimate.n), (20.0, 2));
        // Residuals: −30 and 30. Mean weight: 2. Student's quantile for one degree of freedom: 12.7.
        let half = 12.706_204_736_174_7 * 30.0 / 2.0;
        assert!((estimate.half_width() - half).abs() < 1e-6, "{}", estimate.half_width());
    }

    #[test]
    fn too_few_values_yield_a_small_sample_size() {
        assert_eq!(mean(&[]), Estimate::exact(0.0));
        assert_eq!(ratio(&[Batch { sum: 0.0, weight: 0.0 }; 9]), Estimate::exact(0.0));
        assert_eq!(mean(&[4.0]), Estimate { mean: 4.0, ci95: [4.0, 4.0], n: 1 });
        let rising: Vec<f64> = (0..100).map(f64::from).collect();
        assert!(mean(&rising).n < 5, "a ramp is not a sample of a hundred");
        assert_eq!(mean(&[4.0; 10]), Estimate { mean: 4.0, ci95: [4.0, 4.0], n: 10 });
    }

    proptest! {
        #[test]
        fn interval_contains_the_mean_and_scales_with_the_unit(
            series in prop::collection::vec(1.0f64..1e6, 1..80), unit in 1e-3f64..1e3,
        ) {
            let estimate = mean(&series);
            prop_assert!(estimate.ci95[0] <= estimate.mean && estimate.mean <= estimate.ci95[1]);
            prop_assert!(estimate.n as usize <= series.len());
            let scaled: Vec<f64> = series.iter().map(|value| value * unit).collect();
            let other = mean(&scaled);
            prop_assert!((other.half_width() - estimate.half_width() * unit).abs()
                <= 1e-6 * (other.half_width() + other.mean));
        }
    }
}
