//! Tables of shares, in percent: latencies by decade, queue depths by power of two.

use iogauge_model::histogram::{Histogram, bucket_mid};
use iogauge_model::result::{DirectionResult, WorkerResult};
use serde::{Serialize, Serializer};

/// Names with their shares, in fio's order.
#[derive(Debug)]
pub(super) struct Table(Vec<(&'static str, f64)>);

impl Serialize for Table {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, share)| (name, share)))
    }
}

/// Upper bounds, exclusive; each is the lower bound of the next one.
const BELOW: [(&str, u64); 10] = [
    ("2", 2),
    ("4", 4),
    ("10", 10),
    ("20", 20),
    ("50", 50),
    ("100", 100),
    ("250", 250),
    ("500", 500),
    ("750", 750),
    ("1000", 1000),
];
const BELOW_MS: [(&str, u64); 2] = [("2000", 2000), (">=2000", u64::MAX)];

/// Latencies of reads and writes together: nanoseconds, microseconds, milliseconds.
pub(super) struct LatencyTables {
    pub(super) ns: Table,
    pub(super) us: Table,
    pub(super) ms: Table,
}

pub(super) fn latency<'a>(directions: impl Iterator<Item = &'a DirectionResult>) -> LatencyTables {
    let mut all = Histogram::new();
    directions.for_each(|direction| all.merge(&direction.service_histogram));
    let of = |unit_ns: u64, from: u64, bounds: &[(&'static str, u64)]| {
        let mut low = from;
        let shares = bounds.iter().map(|(name, below)| {
            let high = unit_ns.saturating_mul(*below);
            let share = share_between(&all, low, high);
            low = high;
            (*name, share)
        });
        Table(shares.collect())
    };
    let with_ms = [&BELOW[..], &BELOW_MS[..]].concat();
    LatencyTables {
        ns: of(1, 0, &BELOW),
        us: of(1000, 1000, &BELOW),
        ms: of(1_000_000, 1_000_000, &with_ms),
    }
}

/// Returns the share of the values from `low` to `high`, exclusive. A bucket belongs where its middle lies.
fn share_between(histogram: &Histogram, low: u64, high: u64) -> f64 {
    let within = |index: usize| (low..high).contains(&bucket_mid(index));
    let mut n: u64 = histogram.buckets().filter(|(i, _)| within(*i)).map(|(_, n)| n).sum();
    if high == u64::MAX {
        n += histogram.overflow();
    }
    percent(n, histogram.count())
}

fn percent(n: u64, all: u64) -> f64 {
    if all == 0 { 0.0 } else { n as f64 * 100.0 / all as f64 }
}

/// Returns the shares of the I/Os by queue depth. All I/Os of a worker count at its average queue depth,
/// because the depth at each I/O is not recorded.
pub(super) fn depth_level(workers: &[&WorkerResult]) -> Table {
    const FROM: [(&str, u64); 7] =
        [("1", 0), ("2", 2), ("4", 4), ("8", 8), ("16", 16), ("32", 32), (">=64", 64)];
    let mut ios = [0; FROM.len()];
    for worker in workers {
        let queue_depth = worker.queue_depth_achieved.round() as u64;
        let level = FROM.iter().rposition(|(_, from)| queue_depth >= *from).unwrap_or(0);
        ios[level] += worker.ios;
    }
    let all = ios.iter().sum();
    Table(FROM.iter().zip(ios).map(|((name, _), n)| (*name, percent(n, all))).collect())
}

/// Returns a table of zeros: the number of I/Os per call is not recorded.
pub(super) fn uncounted_batches() -> Table {
    Table(["0", "4", "8", "16", "32", "64", ">=64"].map(|name| (name, 0.0)).to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;
    use iogauge_model::result::{Estimate, LatencySummary};
    use proptest::prelude::*;

    fn direction(values: &[u64]) -> DirectionResult {
        let mut histogram = Histogram::new();
        values.iter().for_each(|value| histogram.record(*value));
        DirectionResult {
            ios: values.len() as u64,
            bytes: 0,
            errors: 0,
            short: 0,
            iops: Estimate::exact(0.0),
            bytes_per_sec: 0.0,
            service_ns: LatencySummary::of(&histogram, [0.0; 2]),
            response_ns: None,
            service_histogram: histogram,
            response_histogram: None,
        }
    }

    fn share(table: &Table, name: &str) -> f64 {
        table.0.iter().find(|(n, _)| *n == name).unwrap().1
    }

    #[test]
    fn latencies_fall_below_bucket_upper_bound() {
        let (read, write) = (direction(&[1, 3, 999, 150_000]), direction(&[3_000_000_000]));
        let tables = latency([&read, &write].into_iter());
        for (table, name) in [
            (&tables.ns, "2"),
            (&tables.ns, "4"),
            (&tables.ns, "1000"),
            (&tables.us, "250"),
            (&tables.ms, ">=2000"),
        ] {
            assert_eq!(share(table, name), 20.0, "{name}");
        }
        assert_eq!((tables.ns.0.len(), tables.us.0.len(), tables.ms.0.len()), (10, 10, 12));
    }

    #[test]
    fn queue_depths_are_bucketed_by_power_of_two() {
        let worker = |queue_depth_achieved, ios| WorkerResult {
            job: 0,
            worker: 0,
            ios,
            bytes: 0,
            errors: 0,
            queue_depth_achieved,
            iops: 0.0,
        };
        let workers = [worker(31.9, 3), worker(0.8, 1)];
        let table = depth_level(&workers.iter().collect::<Vec<_>>());
        assert_eq!((share(&table, "32"), share(&table, "1")), (75.0, 25.0));
        assert_eq!(share(&depth_level(&[]), "1"), 0.0);
        assert_eq!(share(&depth_level(&[&worker(500.0, 1)]), ">=64"), 100.0);
    }

    proptest! {
        #[test]
        fn latency_percentages_sum_to_100(values in prop::collection::vec(0u64..1 << 43, 1..200)) {
            let tables = latency([&direction(&values)].into_iter());
            let all = [tables.ns, tables.us, tables.ms];
            let sum: f64 = all.iter().flat_map(|t| &t.0).map(|(_, share)| share).sum();
            prop_assert!((sum - 100.0).abs() < 1e-6, "{}", sum);
        }
    }
}
