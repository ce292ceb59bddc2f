//! Intervals of percentiles without an assumed distribution.

use super::standard_error::{NORMAL_95, standard_error};
use super::student_t::incomplete_beta;
use iogauge_model::Histogram;
use iogauge_model::result::Estimate;

/// Probability left out on each side of an interval.
const TAIL: f64 = 0.025;
/// Variance of the binomial distribution from which its normal approximation is within one or two ranks.
const NORMAL_FROM: f64 = 10_000.0;

/// A percentile with its 95 % CI.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct QuantileEstimate {
    /// The percentile, within 1/256.
    pub value_ns: u64,
    /// Lower end; `None` if the sample is too small.
    pub low_ns: Option<u64>,
    /// Upper end; `None` if the sample is too small: the true percentile may lie beyond everything seen.
    pub high_ns: Option<u64>,
    /// Number of independent latencies that the CI rests on.
    pub n_eff: f64,
}

/// Returns a percentile of a histogram and its CI by order statistics: of *n* independent values, the number below the
/// true percentile is binomial whatever the distribution, so two ranks enclose it with the required probability.
///
/// `percent` is above 0 and below 100. `n_eff` is the number of independent values that the histogram counts for
/// ([`effective_ios`]), at most its count. Ranks are computed for `n_eff` values and scaled to the count. Returns
/// `None` for an empty histogram.
///
/// H. A. David, H. N. Nagaraja, Order Statistics, 7.1; J. Y. Le Boudec, Performance Evaluation of Computer and
/// Communication Systems, 2.2.
///
/// Cost: about 40 incomplete beta functions and three passes over the histogram, less than 0.2 ms.
#[must_use]
pub fn quantile(histogram: &Histogram, percent: f64, n_eff: f64) -> Option<QuantileEstimate> {
    let count = histogram.count();
    if count == 0 {
        return None;
    }
    let n_eff = n_eff.clamp(1.0, count as f64);
    let n = n_eff.floor();
    let p = percent / 100.0;
    // Expected rank, among `count` values, of rank k of n; k itself if n is the count.
    let place = |rank: f64| rank * (count as f64 + 1.0) / (n + 1.0);
    let low = low_rank(n, p).map(|rank| histogram.value_at_rank(place(rank).floor() as u64));
    let high = high_rank(n, p).map(|rank| histogram.value_at_rank(place(rank).ceil() as u64));
    Some(QuantileEstimate {
        value_ns: histogram.percentile_ns(percent),
        low_ns: low,
        high_ns: high,
        n_eff,
    })
}

/// Returns the number of independent latencies that a histogram counts for: as many as would give its mean the error
/// found from the series of its intervals, at most its count. Returns 1 if that error is unknown. Tails may cluster
/// differently from the mean; a histogram and its intervals show no more than this.
#[must_use]
pub fn effective_ios(histogram: &Histogram, mean: &Estimate) -> f64 {
    let count = histogram.count() as f64;
    let Some(error) = standard_error(mean).filter(|_| count >= 2.0) else { return 1.0 };
    let stddev = histogram.stddev_ns();
    if error <= 0.0 { count } else { (stddev / error).powi(2).clamp(1.0, count) }
}

/// Returns the probability that at least `rank` of `n` values lie below the percentile, 1 ≤ rank ≤ n.
fn at_least(rank: f64, n: f64, p: f64) -> f64 {
    incomplete_beta(rank, n - rank + 1.0, p)
}

/// Returns the probability that at most `count` of `n` independent events of probability `p` occur (binomial
/// distribution); 1 if `count` is at least `n`.
#[must_use]
pub fn at_most(count: u64, n: u64, p: f64) -> f64 {
    if count >= n { 1.0 } else { 1.0 - at_least(count as f64 + 1.0, n as f64, p) }
}

/// Returns the largest rank whose value lies below the true percentile with probability 97.5 %.
fn low_rank(n: f64, p: f64) -> Option<f64> {
    let variance = n * p * (1.0 - p);
    if variance >= NORMAL_FROM {
        return Some((n * p - NORMAL_95 * variance.sqrt()).floor().max(1.0));
    }
    let below = first_rank(n, |rank| at_least(rank, n, p) < 1.0 - TAIL) - 1.0;
    (below >= 1.0).then_some(below)
}

/// Returns the smallest rank whose value lies above the true percentile with probability 97.5 %.
fn high_rank(n: f64, p: f64) -> Option<f64> {
    let variance = n * p * (1.0 - p);
    if variance >= NORMAL_FROM {
        return Some((n * p + NORMAL_95 * variance.sqrt()).ceil() + 1.0).filter(|rank| *rank <= n);
    }
    Some(first_rank(n, |rank| at_least(rank, n, p) <= TAIL)).filter(|rank| *rank <= n)
}

/// Returns the first rank in 1 to `n` from which on `holds` is true; `n + 1` if there is none.
fn first_rank(n: f64, holds: impl Fn(f64) -> bool) -> f64 {
    let (mut low, mut high) = (1.0, n + 1.0);
    while low < high {
        let middle = ((low + high) / 2.0f64).floor();
        if holds(middle) {
            high = middle;
        } else {
            low = middle + 1.0;
        }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::super::batch_means::mean;
    use super::super::synthetic::{Random, percent_of};
    use super::*;
    use proptest::prelude::*;

    fn of(values: impl IntoIterator<Item = u64>) -> Histogram {
        let mut histogram = Histogram::new();
        values.into_iter().for_each(|value| histogram.record(value));
        histogram
    }

    #[test]
    fn quantile_ranks_match_published_tables() {
        // Le Boudec, table A.1: 95 % ranks of the median.
        for (n, low, high) in
            [(6.0, 1.0, 6.0), (10.0, 2.0, 9.0), (20.0, 6.0, 15.0), (50.0, 18.0, 33.0)]
        {
            assert_eq!((low_rank(n, 0.5), high_rank(n, 0.5)), (Some(low), Some(high)), "n {n}");
        }
        assert_eq!((low_rank(5.0, 0.5), high_rank(5.0, 0.5)), (None, None));
    }
    #[test]
    fn normal_approximation_ranks_are_close_to_exact() {
        for (n, p) in [(112_000.0, 0.9), (1_020_000.0, 0.99), (10_100_000.0, 0.999)] {
            assert!(n * p * (1.0 - p) >= NORMAL_FROM, "the approximation is used here");
            let exact_low = first_rank(n, |rank| at_least(rank, n, p) < 1.0 - TAIL) - 1.0;
            let exact_high = first_rank(n, |rank| at_least(rank, n, p) <= TAIL);
            let (low, high) = (low_rank(n, p).unwrap(), high_rank(n, p).unwrap());
            assert!((low - exact_low).abs() <= 2.0, "n {n}: {low} for {exact_low}");
            assert!((high - exact_high).abs() <= 2.0, "n {n}: {high} for {exact_high}");
        }
    }

    /// Returns true if the interval contains the truth, within the histogram's resolution.
    fn encloses(estimate: QuantileEstimate, truth: f64) -> bool {
        let above = |low: u64| low as f64 <= truth * (1.0 + 1.0 / 256.0);
        let below = |high: u64| high as f64 >= truth * (1.0 - 1.0 / 256.0);
        estimate.low_ns.is_none_or(above) && estimate.high_ns.is_none_or(below)
    }

    #[test]
    fn quantile_interval_covers_independent_latencies() {
        for (n, percent) in [(50, 50.0), (200, 90.0), (1000, 99.0)] {
            let truth = -1e6 * (1.0f64 - percent / 100.0).ln();
            let covered = percent_of(400, |random| {
                let histogram = of((0..n).map(|_| (random.exponential() * 1e6) as u64));
                encloses(quantile(&histogram, percent, n as f64).unwrap(), truth)
            });
            assert!(covered >= 92.5, "n {n}, p{percent}: {covered} %");
        }
    }

    /// Normal latencies around a mean that varies from interval to interval. All together are normal with mean 1 ms and
    /// standard deviation 0.1 ms.
    fn clustered(
        random: &mut Random,
        intervals: usize,
        per_interval: usize,
    ) -> (Histogram, Estimate) {
        let levels = random.ar1(intervals, 0.0, 0.5);
        let mut histogram = Histogram::new();
        let mut means = Vec::new();
        for level in levels {
            let mut sum = 0.0;
            for _ in 0..per_interval {
                let latency = 1e6 + 1e5 * (0.3f64.sqrt() * level + 0.7f64.sqrt() * random.normal());
                histogram.record(latency as u64);
                sum += latency;
            }
            means.push(sum / per_interval as f64);
        }
        (histogram, mean(&means))
    }

    #[test]
    fn clustered_latencies_reduce_sample_size_and_are_covered() {
        for (percent, truth) in [(50.0, 1e6), (95.0, 1e6 + 1.644_854e5)] {
            let covered = percent_of(200, |random| {
                let (histogram, mean) = clustered(random, 100, 40);
                let effective = effective_ios(&histogram, &mean);
                assert!((20.0..1000.0).contains(&effective), "{effective} of 4000");
                encloses(quantile(&histogram, percent, effective).unwrap(), truth)
            });
            assert!(covered >= 90.0, "p{percent}: {covered} %");
        }
    }

    #[test]
    fn independent_latencies_have_nearly_full_sample_size() {
        let mut random = Random::new(7);
        let values: Vec<f64> = (0..4000).map(|_| 1e6 * random.exponential()).collect();
        let histogram = of(values.iter().map(|value| *value as u64));
        let effective = effective_ios(&histogram, &mean(&values));
        assert!((2500.0..=4000.0).contains(&effective), "{effective}");
        assert_eq!(effective_ios(&histogram, &Estimate::exact(1.0)), 1.0);
    }

    #[test]
    fn unreached_tail_quantile_has_no_upper_bound() {
        let histogram = of(1..=500);
        let estimate = quantile(&histogram, 99.9, 500.0).unwrap();
        assert_eq!(estimate.high_ns, None);
        assert!(estimate.low_ns.is_some_and(|low| low > 480));
        let alone = quantile(&histogram, 50.0, 1.0).unwrap();
        assert_eq!((alone.low_ns, alone.high_ns), (None, None));
        assert_eq!(quantile(&Histogram::new(), 50.0, 1.0), None);
    }

    proptest! {
        #[test]
        fn quantile_interval_contains_its_estimate(
            values in prop::collection::vec(1u64..1 << 36, 1..300),
            percent in 0.1f64..99.9,
            share in 0.0f64..1.0,
        ) {
            let n_eff = share * values.len() as f64;
            let estimate = quantile(&of(values), percent, n_eff).unwrap();
            prop_assert!(estimate.low_ns.is_none_or(|low| low <= estimate.value_ns));
            prop_assert!(estimate.high_ns.is_none_or(|high| high >= estimate.value_ns));
        }
    }
}
