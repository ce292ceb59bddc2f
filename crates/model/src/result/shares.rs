//! Latencies as shares of the I/Os between a few fixed bounds, for tables and charts.

use crate::histogram::Histogram;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The share of I/Os that completed in less than `below_ns`, but not in less than the next smaller bound.
#[derive(Debug, Clone, Copy, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct LatencyShare {
    /// Upper bound, exclusive; `None` for 2 s and more.
    pub below_ns: Option<u64>,
    /// Share in percent, above 0.
    pub percent: f64,
}

const US: u64 = 1_000;
const MS: u64 = 1_000_000;

/// Upper bounds of the shares, exclusive, in nanoseconds; the last share has none. Those that fio reports fit
/// between them.
pub const LATENCY_SHARE_BOUNDS_NS: [Option<u64>; 16] = [
    Some(50 * US),
    Some(100 * US),
    Some(250 * US),
    Some(500 * US),
    Some(MS),
    Some(2 * MS),
    Some(4 * MS),
    Some(10 * MS),
    Some(20 * MS),
    Some(50 * MS),
    Some(100 * MS),
    Some(250 * MS),
    Some(500 * MS),
    Some(1000 * MS),
    Some(2000 * MS),
    None,
];

impl LatencyShare {
    /// Folds a histogram into the shares between [`LATENCY_SHARE_BOUNDS_NS`] that have I/Os, ascending. They are as
    /// exact as the histogram's buckets. Empty if the histogram is.
    #[must_use]
    pub fn all_of(histogram: &Histogram) -> Vec<Self> {
        let mut below = 0;
        let shares = LATENCY_SHARE_BOUNDS_NS.iter().filter_map(|bound| {
            let counted =
                bound.map_or(histogram.count(), |bound| histogram.count_at_or_below(bound - 1));
            let here = counted - below;
            below = counted;
            let percent = here as f64 / histogram.count() as f64 * 100.0;
            (here > 0).then_some(Self { below_ns: *bound, percent })
        });
        shares.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn shares_are_counted_between_fixed_bounds() {
        let mut histogram = Histogram::new();
        for (latency_ns, n) in [(40 * US, 1), (900 * US, 6), (3000 * MS, 3)] {
            histogram.record_n(latency_ns, n);
        }
        let share = |below_ns, percent| LatencyShare { below_ns, percent };
        let expected = [share(Some(50 * US), 10.0), share(Some(MS), 60.0), share(None, 30.0)];
        assert_eq!(LatencyShare::all_of(&histogram), expected);
        assert_eq!(LatencyShare::all_of(&Histogram::new()), []);
    }

    proptest! {
        #[test]
        fn shares_sum_to_100_percent(values in prop::collection::vec(0u64..1 << 41, 1..100)) {
            let mut histogram = Histogram::new();
            values.iter().for_each(|value| histogram.record(*value));
            let shares = LatencyShare::all_of(&histogram);
            prop_assert!(shares.len() <= LATENCY_SHARE_BOUNDS_NS.len());
            prop_assert!((shares.iter().map(|s| s.percent).sum::<f64>() - 100.0).abs() < 1e-6);
        }
    }
}
