//! Shares of I/Os by latency, folded into columns.

use iogauge_model::Histogram;
use iogauge_model::classic::{BOUNDS_NS, PRINTED_BOUNDS_NS};
use iogauge_model::result::LatencyShare;

/// Columns as upper bounds in nanoseconds; the last one has no bound.
pub(crate) type Bounds<const N: usize> = [Option<u64>; N];

/// Columns of the plain table: 50us 1ms 4ms 10ms 20ms 50ms .1s 1s 2s 2s+.
pub(crate) const WIDE: Bounds<10> = PRINTED_BOUNDS_NS;

/// Columns of the R and CSV tables: us50 … s2, and s5 for the rest.
pub(crate) const FINE: Bounds<16> = BOUNDS_NS;

/// Percentage in a column.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Fold {
    percent: f64,
    /// True if there are I/Os, perhaps too few for a whole percentage.
    any: bool,
}

impl Fold {
    /// Returns the exact value.
    pub(crate) fn percent(self) -> f64 {
        self.percent
    }

    /// Formats the percentage truncated to an integer, 0 if there is none.
    pub(crate) fn zero(self) -> String {
        // A sum of shares in hundredths that should be 23 may be 22.999999999999996.
        format!("{:.0}", (self.percent + 1e-6).floor())
    }

    /// Like [`Self::zero`], but blank if there is none.
    pub(crate) fn blank(self) -> String {
        if self.any { self.zero() } else { String::new() }
    }
}

/// Adds shares up into columns.
pub(super) fn fold<const N: usize>(shares: &[LatencyShare], bounds: &Bounds<N>) -> [Fold; N] {
    folded(shares, bounds, |share| share.percent > 0.0)
}

/// Like [`fold`], for whole percentages of a table: less than one is 0 there.
pub(super) fn fold_whole<const N: usize>(shares: &[LatencyShare], bounds: &Bounds<N>) -> [Fold; N] {
    folded(shares, bounds, |_| true)
}

/// Adds shares up into columns; `is_any` returns true for a share that has I/Os.
fn folded<const N: usize>(
    shares: &[LatencyShare],
    bounds: &Bounds<N>,
    is_any: fn(&LatencyShare) -> bool,
) -> [Fold; N] {
    let mut folded = [Fold::default(); N];
    for share in shares {
        let fits = |bound: &Option<u64>| match (bound, share.below_ns) {
            (None, _) => true,
            (Some(bound), Some(below_ns)) => below_ns <= *bound,
            (Some(_), None) => false,
        };
        if let Some(column) = bounds.iter().position(fits) {
            folded[column].percent += share.percent;
            folded[column].any |= is_any(share);
        }
    }
    folded
}

/// Returns the shares of a histogram between the bounds of [`FINE`]; `None` if the histogram is empty.
pub(super) fn of_histogram(histogram: &Histogram) -> Option<Vec<LatencyShare>> {
    Some(LatencyShare::all_of(histogram)).filter(|shares| !shares.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const US: u64 = 1_000;
    const MS: u64 = 1_000_000;

    #[test]
    fn share_columns_are_truncated_not_rounded() {
        let share = |below_ns, percent| LatencyShare { below_ns, percent };
        let shares = [
            share(Some(2 * US), 0.04),
            share(Some(4 * US), 0.92),
            share(Some(50 * US), 0.05),
            share(Some(MS), 98.98),
            share(None, 0.01),
        ];
        let wide = fold(&shares, &WIDE).map(Fold::blank);
        assert_eq!(wide, ["1", "98", "", "", "", "", "", "", "", "0"]);
        let fine = fold(&shares, &FINE).map(Fold::zero);
        assert_eq!(fine[..5], ["1", "0", "0", "0", "98"]);
        assert_eq!(fine[15], "0");
    }

    #[test]
    fn whole_percentage_sums_survive_float_errors() {
        let share = |percent| LatencyShare { below_ns: Some(MS), percent };
        for parts in [[22.97, 0.02, 0.01], [57.0, 0.0, 0.0], [0.1, 0.2, 0.7]] {
            let whole = parts.iter().sum::<f64>().round();
            assert_eq!(fold(&parts.map(share), &WIDE)[1].zero(), whole.to_string());
        }
    }

    #[test]
    fn whole_percentages_of_less_than_one_are_0_and_not_blank() {
        let shares = [(50 * US, 0.0), (MS, 52.0)]
            .map(|(below_ns, percent)| LatencyShare { below_ns: Some(below_ns), percent });
        assert_eq!(fold_whole(&shares, &WIDE).map(Fold::blank)[..3], ["0", "52", ""]);
        assert_eq!(fold(&shares, &WIDE).map(Fold::blank)[..3], ["", "52", ""]);
    }

    proptest! {
        #[test]
        fn histogram_shares_sum_to_100_percent(values in prop::collection::vec(0u64..1 << 41, 1..100)) {
            let mut histogram = Histogram::new();
            values.iter().for_each(|value| histogram.record(*value));
            let shares = of_histogram(&histogram).unwrap();
            prop_assert!((shares.iter().map(|s| s.percent).sum::<f64>() - 100.0).abs() < 1e-6);
            let below_2_s = values.iter().filter(|v| **v < 1_990_000_000).count() as f64;
            let folded: f64 = fold(&shares, &WIDE)[..9].iter().map(|fold| fold.percent).sum();
            prop_assert!(folded >= below_2_s / values.len() as f64 * 100.0 - 1e-6);
        }
    }
}
