//! Results of each of several hosts, and how evenly they share the I/O.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Results of one of several hosts.
#[derive(Debug, Clone, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct HostResult {
    /// Name of the host.
    pub name: String,
    /// Reads and writes completed.
    pub ios: u64,
    /// Reads and writes completed per second.
    pub iops: f64,
    /// Bytes read and written per second.
    pub bytes_per_sec: f64,
    /// Queue depth achieved: time average of the host's I/Os outstanding.
    pub queue_depth: f64,
    /// Mean latency of reads and writes, in nanoseconds; 0 if none completed, like the other latencies. Latencies are
    /// service times in a closed loop, response times in an open loop.
    pub latency_ns_mean: f64,
    /// Median.
    pub latency_ns_p50: u64,
    /// 99th percentile.
    pub latency_ns_p99: u64,
    /// Exact maximum.
    pub latency_ns_max: u64,
    /// I/Os that failed.
    pub errors: u64,
    /// Share of the IOPS of all hosts, from 0 to 1.
    pub share: f64,
}

impl HostResult {
    /// True if the host did no I/O and was not asked to.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.ios == 0 && self.errors == 0 && self.queue_depth == 0.0
    }
}

/// Returns Jain's fairness index of shares, (Σx)² / (n · Σx²): 1 if all are equal, 1/k if k equal ones have everything.
/// Returns 1 if there are none, or all are 0.
///
/// R. Jain, D. Chiu, W. Hawe, A Quantitative Measure of Fairness and Discrimination for Resource Allocation in Shared
/// Computer Systems, DEC-TR-301 (1984).
#[must_use]
pub fn fairness(shares: impl IntoIterator<Item = f64>) -> f64 {
    let sums = |(n, sum, squares): (f64, f64, f64), x: f64| (n + 1.0, sum + x, squares + x * x);
    let (n, sum, squares) = shares.into_iter().fold((0.0, 0.0, 0.0), sums);
    if squares > 0.0 { sum * sum / (n * squares) } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn fairness_matches_the_examples_of_its_source() {
        assert_eq!(fairness([3.0, 3.0, 3.0]), 1.0);
        // Of 100 users, 10 get everything.
        assert!((fairness((0..100).map(|user| f64::from(user % 10 / 9))) - 0.1).abs() < 1e-12);
        assert!((fairness([1000.0, 700.0, 300.0]) - 4e6 / (3.0 * 1.58e6)).abs() < 1e-12);
        assert_eq!((fairness([]), fairness([0.0; 4])), (1.0, 1.0));
    }

    proptest! {
        #[test]
        fn fairness_is_between_one_nth_and_one(shares in prop::collection::vec(0.0f64..1e9, 1..50)) {
            let index = fairness(shares.iter().copied());
            prop_assert!(index <= 1.0 + 1e-9 && index >= 1.0 / shares.len() as f64 - 1e-9);
        }
    }
}
