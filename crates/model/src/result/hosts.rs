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
    /// Processor time that iogauge used on the host, in percent of one processor, without that spent polling for
    /// arrivals; 0 if unknown.
    #[serde(default)]
    pub cpu_percent: f64,
    /// Processors that the host's workers could use at once; 0 if unknown.
    #[serde(default)]
    pub processors: u32,
    /// Error of the host's clock against that of the leading host, in nanoseconds; 0 if they have one clock.
    #[serde(default)]
    pub clock_error_ns: u64,
    /// True if the host has the kernel of the leading host. The counters of devices in a result contain the I/O of
    /// these hosts only.
    #[serde(default)]
    pub same_kernel: bool,
}

/// The part of the load that one of several hosts has, by what it reaches alone.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct HostPart {
    /// Name of the host.
    pub name: String,
    /// Reads and writes per second that the host reached while the others did nothing.
    pub alone_iops: f64,
    /// Part of the queue depth and of the arrival rate, from 0 to 1.
    pub part: f64,
}

impl HostPart {
    /// Returns parts in proportion to what each host reached alone.
    #[must_use]
    pub fn of(alone: impl IntoIterator<Item = (String, f64)>) -> Vec<Self> {
        let alone: Vec<(String, f64)> = alone.into_iter().collect();
        let sum: f64 = alone.iter().map(|(_, iops)| iops).sum();
        let part = |(name, alone_iops): (String, f64)| {
            let part = if sum > 0.0 { alone_iops / sum } else { 0.0 };
            Self { name, alone_iops, part }
        };
        alone.into_iter().map(part).collect()
    }
}

impl HostResult {
    /// True if the host did no I/O and was not asked to.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.ios == 0 && self.errors == 0 && self.queue_depth == 0.0
    }

    /// Returns the processor time that iogauge used, in percent of what its workers could use with the I/Os that they
    /// had; `None` if unknown. A worker without an I/O of its own sleeps, and one without a processor waits.
    #[must_use]
    pub fn busy_percent(&self) -> Option<f64> {
        let busy = f64::from(self.processors).min(self.queue_depth.ceil()).max(1.0);
        (self.processors > 0).then(|| self.cpu_percent / busy)
    }
}

/// Returns the share of the bytes that was moved by hosts with the kernel of the leading host, from 0 to 1; 1 if there
/// is one host.
#[must_use]
pub fn share_with_kernel(hosts: &[HostResult]) -> f64 {
    let sum = |hosts: &mut dyn Iterator<Item = &HostResult>| -> f64 {
        hosts.map(|host| host.bytes_per_sec).sum()
    };
    let all = sum(&mut hosts.iter());
    if all > 0.0 { sum(&mut hosts.iter().filter(|host| host.same_kernel)) / all } else { 1.0 }
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

    #[test]
    fn share_of_hosts_with_one_kernel_is_that_of_their_bytes() {
        let host = |bytes_per_sec, same_kernel| HostResult {
            bytes_per_sec,
            same_kernel,
            ..HostResult::default()
        };
        assert_eq!(share_with_kernel(&[host(3.0, true), host(1.0, false)]), 0.75);
        assert_eq!((share_with_kernel(&[]), share_with_kernel(&[host(0.0, true)])), (1.0, 1.0));
    }

    #[test]
    fn host_is_busy_in_relation_to_the_workers_that_have_ios() {
        let host = HostResult {
            cpu_percent: 190.0,
            processors: 4,
            queue_depth: 1.6,
            ..HostResult::default()
        };
        assert_eq!(host.busy_percent(), Some(95.0));
        assert_eq!(HostResult { queue_depth: 32.0, ..host.clone() }.busy_percent(), Some(47.5));
        assert_eq!(HostResult { processors: 0, ..host }.busy_percent(), None);
    }

    proptest! {
        #[test]
        fn fairness_is_between_one_nth_and_one(shares in prop::collection::vec(0.0f64..1e9, 1..50)) {
            let index = fairness(shares.iter().copied());
            prop_assert!(index <= 1.0 + 1e-9 && index >= 1.0 / shares.len() as f64 - 1e-9);
        }
    }
}
