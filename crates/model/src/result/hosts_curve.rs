//! Findings of `iogauge hosts-curve`: the capacity of one, two, four and more hosts.

use super::Estimate;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The capacity by number of hosts.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct HostsCurveFindings {
    /// The searches, by number of hosts.
    pub hosts_curve: Vec<HostsPoint>,
    /// What the curve shows; `None` if nothing was measured.
    pub outcome: Option<HostsOutcome>,
}

/// What the capacities of several numbers of hosts show.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HostsOutcome {
    /// This number of hosts reaches the capacity, and more hosts do not exceed it.
    SaturatesAt(u32),
    /// This number, the largest measured, exceeds all others.
    ScalesAt(u32),
    /// The search on this number of hosts has no capacity to compare.
    UndecidedAt(u32),
}

/// The capacity of a number of hosts.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct HostsPoint {
    /// Number of hosts.
    pub hosts: u32,
    /// True if the search found a capacity.
    pub given: bool,
    /// True if the search ended before it found the largest load, so that the capacity may be larger.
    pub at_least: bool,
    /// I/Os per second of all hosts.
    pub iops: Estimate,
    /// I/Os per second of a host, on average.
    pub iops_per_host: f64,
    /// Queue depth over all hosts; in an open loop, the maximum number of I/Os outstanding.
    #[serde(rename = "depth")]
    pub queue_depth: u32,
    /// Mean latency, in nanoseconds: service time in a closed loop, response time in an open loop.
    pub latency_ns_mean: f64,
    /// 99th percentile.
    pub latency_ns_p99: u64,
    /// IOPS in relation to those of one host times the number of hosts: 1 if hosts do not slow each other down. `None`
    /// if one host has no capacity.
    pub scaling_efficiency: Option<f64>,
    /// True if the processors of the hosts may have been the bottleneck.
    pub client_bound: bool,
}

impl HostsPoint {
    /// Capacities that differ by less than this share of the larger one count as equal.
    pub const LEVEL: f64 = 0.05;

    /// True if the capacity of other hosts is significantly larger: by more than 5 %, and the 95 % confidence interval of
    /// the ratio excludes 1.
    #[must_use]
    pub fn is_exceeded_by(&self, other: &Self) -> bool {
        let ratio = other.iops.mean / self.iops.mean;
        let error = self.iops.relative_error().hypot(other.iops.relative_error());
        ratio > 1.0 / (1.0 - Self::LEVEL) && ratio * (1.0 - error) > 1.0
    }
}

impl HostsOutcome {
    /// Judges the points of a curve, by rising number of hosts: the smallest number that no larger one exceeds, or the
    /// first number whose search does not allow a verdict. `None` without any points.
    #[must_use]
    pub fn of(points: &[HostsPoint]) -> Option<Self> {
        if let Some(point) = points.iter().find(|point| !point.given) {
            return Some(Self::UndecidedAt(point.hosts));
        }
        let last = points.last()?;
        for (index, point) in points.iter().enumerate() {
            let is_exceeded = points[index + 1..].iter().any(|more| point.is_exceeded_by(more));
            match (is_exceeded, point.hosts == last.hosts) {
                // It may have had more than was found.
                (true, _) if point.at_least => return Some(Self::UndecidedAt(point.hosts)),
                (true, _) => {}
                (false, true) => return Some(Self::ScalesAt(point.hosts)),
                (false, false) => return Some(Self::SaturatesAt(point.hosts)),
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(hosts: u32, iops: f64, percent: f64) -> HostsPoint {
        let half = iops * percent / 100.0;
        HostsPoint {
            hosts,
            given: true,
            at_least: false,
            iops: Estimate { mean: iops, ci95: [iops - half, iops + half], n: 20 },
            iops_per_host: iops / f64::from(hosts),
            queue_depth: 8,
            latency_ns_mean: 1e6,
            latency_ns_p99: 2_000_000,
            scaling_efficiency: None,
            client_bound: false,
        }
    }

    fn outcome(capacities: &[f64], percent: f64) -> HostsOutcome {
        let hosts = (0..).map(|power| 1 << power);
        let points = hosts.zip(capacities).map(|(hosts, iops)| point(hosts, *iops, percent));
        HostsOutcome::of(&points.collect::<Vec<_>>()).unwrap()
    }

    #[test]
    fn smallest_number_that_no_larger_one_exceeds_saturates() {
        use HostsOutcome::{SaturatesAt, ScalesAt, UndecidedAt};
        assert_eq!(outcome(&[1000.0, 2000.0, 4000.0, 8000.0], 1.0), ScalesAt(8));
        assert_eq!(outcome(&[1000.0, 2000.0, 2500.0, 2550.0], 1.0), SaturatesAt(4));
        assert_eq!(outcome(&[1000.0, 990.0, 1010.0], 1.0), SaturatesAt(1));
        // Less than 5 % more is not more, however exactly it is known.
        assert_eq!(outcome(&[1000.0, 1045.0], 0.01), SaturatesAt(1));
        assert_eq!(outcome(&[1000.0, 1060.0], 0.01), ScalesAt(2));
        // 10 % more is not more if it is not certain.
        assert_eq!(outcome(&[1000.0, 1100.0], 8.0), SaturatesAt(1));
        // A larger number than the next one decides, too.
        assert_eq!(outcome(&[1000.0, 1040.0, 1082.0], 0.1), SaturatesAt(2));
        assert_eq!(HostsOutcome::of(&[]), None);
        let mut points = vec![point(1, 1000.0, 1.0), point(2, 2000.0, 1.0)];
        points[0].at_least = true;
        assert_eq!(HostsOutcome::of(&points), Some(UndecidedAt(1)));
        points[1].iops.mean = 1000.0;
        assert_eq!(HostsOutcome::of(&points), Some(SaturatesAt(1)));
        points[1].given = false;
        assert_eq!(HostsOutcome::of(&points), Some(UndecidedAt(2)));
    }
}
