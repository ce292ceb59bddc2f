//! The latency histogram: log-linear, mergeable by addition, foldable onto fio's buckets.
//!
//! Each power of two has 128 equal buckets. A bucket is at most 1/128 of its lower edge wide, and its middle
//! is within 1/256 of every value in it. Each value below 256 ns has its own bucket. The layout is fio's with
//! twice the resolution: two adjacent buckets form exactly one of fio's.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Base-2 logarithm of the number of buckets per power of two.
pub const PRECISION_BITS: u32 = 7;
const PER_OCTAVE: usize = 1 << PRECISION_BITS;
/// Values of 2⁴⁰ ns (18 minutes) or more are counted as overflow.
const RANGE_BITS: u32 = 40;

/// Number of buckets of a histogram.
pub const BUCKETS: usize = PER_OCTAVE * (RANGE_BITS - PRECISION_BITS + 1) as usize;

/// Number of buckets of fio's histograms (29 groups of 64).
pub const FIO_BUCKETS: usize = 29 * 64;

/// Returns the bucket of a value, or `None` if the value exceeds the range. Takes a few instructions.
#[inline(always)]
#[must_use]
pub const fn bucket_of(value_ns: u64) -> Option<usize> {
    // With the precision bit set, small values get exponent 0 without a branch.
    let exponent = (63 - (value_ns | PER_OCTAVE as u64).leading_zeros()) - PRECISION_BITS;
    let index = ((exponent as usize) << PRECISION_BITS) + (value_ns >> exponent) as usize;
    if index < BUCKETS { Some(index) } else { None }
}

/// Returns the lowest value of a bucket, in nanoseconds.
#[must_use]
pub const fn bucket_low(index: usize) -> u64 {
    if index < 2 * PER_OCTAVE {
        return index as u64;
    }
    let exponent = (index >> PRECISION_BITS) - 1;
    ((index & (PER_OCTAVE - 1)) as u64 + PER_OCTAVE as u64) << exponent
}

/// Returns the number of nanosecond values in a bucket.
#[must_use]
pub const fn bucket_width(index: usize) -> u64 {
    if index < 2 * PER_OCTAVE { 1 } else { 1 << ((index >> PRECISION_BITS) - 1) }
}

/// Returns the middle of a bucket, which represents it. It is within 1/256 of every value in the bucket.
#[must_use]
pub const fn bucket_mid(index: usize) -> u64 {
    bucket_low(index) + (bucket_width(index) - 1) / 2
}

/// Counts of latencies with their exact minimum, maximum and sum.
///
/// Merging is associative and commutative, so histograms of workers, windows and hosts can be merged in any
/// order. A histogram takes 35 KiB of memory if it was made by [`Histogram::new`]; otherwise 1 KiB for each power of
/// two between its smallest and largest value.
#[derive(Clone, JsonSchema)]
#[schemars(into = "Stored", from = "Stored")]
pub struct Histogram {
    /// Counts of the buckets from `first` on, in whole powers of two.
    counts: Vec<u64>,
    first: usize,
    overflow: u64,
    count: u64,
    sum_ns: u128,
    min_ns: u64,
    max_ns: u64,
}

impl std::fmt::Debug for Histogram {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Histogram")
            .field("count", &self.count)
            .field("min_ns", &self.min_ns())
            .field("max_ns", &self.max_ns())
            .field("mean_ns", &self.mean_ns())
            .finish_non_exhaustive()
    }
}

impl Default for Histogram {
    fn default() -> Self {
        Self::empty()
    }
}

impl PartialEq for Histogram {
    fn eq(&self, other: &Self) -> bool {
        let figures = |h: &Self| (h.overflow, h.count, h.sum_ns, h.min_ns, h.max_ns);
        figures(self) == figures(other) && self.buckets().eq(other.buckets())
    }
}

impl Eq for Histogram {}

impl Histogram {
    /// Creates an empty histogram with its buckets allocated.
    #[must_use]
    pub fn new() -> Self {
        Self { counts: vec![0; BUCKETS], ..Self::empty() }
    }

    /// Creates an empty histogram that allocates buckets when a value near them is counted.
    #[must_use]
    pub const fn empty() -> Self {
        Self {
            counts: Vec::new(),
            first: 0,
            overflow: 0,
            count: 0,
            sum_ns: 0,
            min_ns: u64::MAX,
            max_ns: 0,
        }
    }

    /// Returns the counts of the buckets from `low` to `high`, allocating them if necessary.
    fn counts_mut(&mut self, low: usize, high: usize) -> &mut [u64] {
        if low < self.first || high >= self.first + self.counts.len() {
            self.widen(low, high);
        }
        &mut self.counts[low - self.first..=high - self.first]
    }

    /// Allocates the buckets from `low` to `high`, in whole powers of two.
    #[cold]
    fn widen(&mut self, low: usize, high: usize) {
        let (mut first, mut end) =
            (low / PER_OCTAVE * PER_OCTAVE, (high / PER_OCTAVE + 1) * PER_OCTAVE);
        if !self.counts.is_empty() {
            first = first.min(self.first);
            end = end.max(self.first + self.counts.len());
        }
        let mut counts = vec![0; end - first];
        if !self.counts.is_empty() {
            counts[self.first - first..][..self.counts.len()].copy_from_slice(&self.counts);
        }
        (self.counts, self.first) = (counts, first);
    }

    /// Counts one value.
    #[inline]
    pub fn record(&mut self, value_ns: u64) {
        self.record_n(value_ns, 1);
    }

    /// Counts one value `n` times.
    pub fn record_n(&mut self, value_ns: u64, n: u64) {
        if n == 0 {
            return;
        }
        match bucket_of(value_ns) {
            Some(index) => match self.counts.get_mut(index.wrapping_sub(self.first)) {
                Some(count) => *count += n,
                None => self.counts_mut(index, index)[0] += n,
            },
            None => self.overflow += n,
        }
        self.count += n;
        self.sum_ns += u128::from(value_ns) * u128::from(n);
        self.min_ns = self.min_ns.min(value_ns);
        self.max_ns = self.max_ns.max(value_ns);
    }

    /// Adds counts in the same layout, with their exact sum and extremes.
    pub fn add_raw(
        &mut self,
        counts: impl IntoIterator<Item = (usize, u64)>,
        overflow: u64,
        sum_ns: u128,
        min_ns: u64,
        max_ns: u64,
    ) {
        if let (Some(low), Some(high), true) =
            (bucket_of(min_ns), bucket_of(max_ns), min_ns <= max_ns)
        {
            // So that the buckets grow once.
            self.counts_mut(low, high);
        }
        let mut added = overflow;
        for (index, n) in counts {
            self.counts_mut(index, index)[0] += n;
            added += n;
        }
        if added > 0 {
            self.overflow += overflow;
            self.count += added;
            self.sum_ns += sum_ns;
            self.min_ns = self.min_ns.min(min_ns);
            self.max_ns = self.max_ns.max(max_ns);
        }
    }

    /// Adds another histogram to this one.
    pub fn merge(&mut self, other: &Self) {
        if other.count > other.overflow {
            let mine = self.counts_mut(other.first, other.first + other.counts.len() - 1);
            for (mine, theirs) in mine.iter_mut().zip(&other.counts) {
                *mine += theirs;
            }
        }
        self.overflow += other.overflow;
        self.count += other.count;
        self.sum_ns += other.sum_ns;
        self.min_ns = self.min_ns.min(other.min_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
    }

    /// Removes all values and keeps the memory.
    pub fn clear(&mut self) {
        self.counts.fill(0);
        self.overflow = 0;
        self.count = 0;
        self.sum_ns = 0;
        self.min_ns = u64::MAX;
        self.max_ns = 0;
    }

    /// Number of values counted, including overflow.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Number of values of 2⁴⁰ ns or more. They are included in `count`, `sum_ns` and `max_ns`.
    #[must_use]
    pub fn overflow(&self) -> u64 {
        self.overflow
    }

    /// Exact sum of all values.
    #[must_use]
    pub fn sum_ns(&self) -> u128 {
        self.sum_ns
    }

    /// Exact minimum; 0 if empty.
    #[must_use]
    pub fn min_ns(&self) -> u64 {
        if self.count == 0 { 0 } else { self.min_ns }
    }

    /// Exact maximum; 0 if empty.
    #[must_use]
    pub fn max_ns(&self) -> u64 {
        self.max_ns
    }

    /// Exact mean; 0 if empty.
    #[must_use]
    pub fn mean_ns(&self) -> f64 {
        if self.count == 0 { 0.0 } else { self.sum_ns as f64 / self.count as f64 }
    }

    /// Sample standard deviation, computed from the bucket middles; its error is at most 1/256 of the mean.
    /// Overflowed values count as the maximum.
    #[must_use]
    pub fn stddev_ns(&self) -> f64 {
        if self.count < 2 {
            return 0.0;
        }
        let mean = self.mean_ns();
        let square = |value: u64| (value as f64 - mean).powi(2);
        let within: f64 = self.buckets().map(|(i, n)| n as f64 * square(bucket_mid(i))).sum();
        let beyond = self.overflow as f64 * square(self.max_ns);
        ((within + beyond) / (self.count - 1) as f64).sqrt()
    }

    /// Returns the smallest recorded value that at least `percent` of all values do not exceed (nearest
    /// rank), within 1/256. The result is between the minimum and the maximum; 0 if empty. Takes one pass
    /// over the buckets.
    #[must_use]
    pub fn percentile_ns(&self, percent: f64) -> u64 {
        if self.count == 0 {
            return 0;
        }
        // 99.9 / 100 × 1000 is 999.0000000000001 in binary. The subtraction keeps the rank at 999.
        let exact = percent / 100.0 * self.count as f64;
        let rank = ((exact - exact * 1e-12).ceil() as u64).clamp(1, self.count);
        self.value_at_rank(rank)
    }

    /// Returns the `rank`-th smallest value, within 1/256. `rank` is from 1 to `count`.
    #[must_use]
    pub fn value_at_rank(&self, rank: u64) -> u64 {
        if rank >= self.count {
            return self.max_ns;
        }
        let mut seen = 0;
        for (index, n) in self.buckets() {
            seen += n;
            if seen >= rank {
                return bucket_mid(index).clamp(self.min_ns, self.max_ns);
            }
        }
        self.max_ns
    }

    /// Returns the number of values at or below `value_ns`, to the resolution of a bucket.
    #[must_use]
    pub fn count_at_or_below(&self, value_ns: u64) -> u64 {
        let end = bucket_of(value_ns).map_or(BUCKETS, |index| index + 1);
        self.counts.iter().take(end.saturating_sub(self.first)).sum()
    }

    /// Returns the non-empty buckets in ascending order, as index and count.
    pub fn buckets(&self) -> impl Iterator<Item = (usize, u64)> + '_ {
        let held = if self.count > self.overflow { &self.counts[..] } else { &[] };
        let numbered = held.iter().copied().enumerate();
        numbered.filter(|(_, n)| *n > 0).map(|(index, n)| (self.first + index, n))
    }

    /// Returns the counts in fio's 1856 buckets. Values beyond fio's range (2³⁴ ns, 17 s) are in the last
    /// bucket, as in fio.
    #[must_use]
    pub fn fold_to_fio(&self) -> Vec<u64> {
        let mut folded = vec![0; FIO_BUCKETS];
        for (index, n) in self.buckets() {
            folded[fio_bucket_of(bucket_low(index))] += n;
        }
        folded[FIO_BUCKETS - 1] += self.overflow;
        folded
    }
}

/// Returns the bucket of a value in fio's layout (documented in fio's `stat.c`): exact below 128 ns, then 64
/// buckets per power of two. The last bucket has all larger values.
#[must_use]
pub fn fio_bucket_of(value_ns: u64) -> usize {
    if value_ns < 128 {
        return value_ns as usize;
    }
    let exponent = (63 - value_ns.leading_zeros() - 6) as usize;
    let index = (exponent + 1) * 64 + ((value_ns >> exponent) & 63) as usize;
    index.min(FIO_BUCKETS - 1)
}

/// Returns the value that fio's JSON uses as the name of a bucket: the middle of the bucket, rounded up.
#[must_use]
pub fn fio_bucket_value(index: usize) -> u64 {
    if index < 128 {
        return index as u64;
    }
    let exponent = index / 64 - 1;
    (((index & 63) as u64 + 64) << exponent) + (1 << (exponent - 1))
}

/// A histogram as stored: only non-empty buckets, as pairs of index and count.
#[derive(JsonSchema, Serialize, Deserialize)]
struct Stored {
    precision_bits: u32,
    overflow: u64,
    sum_ns: u64,
    min_ns: u64,
    max_ns: u64,
    counts: Vec<(usize, u64)>,
}

impl Serialize for Histogram {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Stored {
            precision_bits: PRECISION_BITS,
            overflow: self.overflow,
            // 2⁶⁴ ns are 584 years; the latencies of a step do not sum up to that.
            sum_ns: u64::try_from(self.sum_ns).unwrap_or(u64::MAX),
            min_ns: self.min_ns(),
            max_ns: self.max_ns,
            counts: self.buckets().collect(),
        }
        .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Histogram {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        use serde::de::Error;
        let stored = Stored::deserialize(deserializer)?;
        if stored.precision_bits != PRECISION_BITS {
            return Err(D::Error::custom(format!(
                "histogram with {} precision bits; this version reads {PRECISION_BITS}",
                stored.precision_bits
            )));
        }
        if let Some((index, _)) = stored.counts.iter().find(|(index, _)| *index >= BUCKETS) {
            return Err(D::Error::custom(format!("histogram bucket {index} out of {BUCKETS}")));
        }
        let counts = stored.counts.iter().map(|(_, n)| *n);
        let count = counts.chain([stored.overflow]).try_fold(0u64, u64::checked_add);
        if count.is_none() || (count > Some(0) && stored.min_ns > stored.max_ns) {
            return Err(D::Error::custom("histogram with impossible counts or extremes"));
        }
        let mut histogram = Self::empty();
        histogram.add_raw(
            stored.counts,
            stored.overflow,
            u128::from(stored.sum_ns),
            stored.min_ns,
            stored.max_ns,
        );
        Ok(histogram)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(values: &[u64]) -> Histogram {
        let mut histogram = Histogram::new();
        values.iter().for_each(|v| histogram.record(*v));
        histogram
    }

    #[test]
    fn inconsistent_stored_histogram_is_rejected() {
        let stored = |overflow: u64, min_ns: u64, counts: &str| {
            format!(
                r#"{{"precision_bits":7,"overflow":{overflow},"sum_ns":1,"min_ns":{min_ns},"max_ns":9,"counts":{counts}}}"#
            )
        };
        let read = |text: String| serde_json::from_str::<Histogram>(&text);
        assert_eq!(read(stored(0, 1, "[[1,1]]")).unwrap().count(), 1);
        assert!(read(stored(0, 10, "[[1,1]]")).is_err(), "a minimum above the maximum");
        assert!(read(stored(u64::MAX, 1, "[[1,1]]")).is_err(), "more than can be counted");
        assert!(read(stored(0, 1, "[[99999,1]]")).is_err(), "no such bucket");
    }

    #[test]
    fn buckets_cover_the_range_without_gaps() {
        let mut next = 0;
        for index in 0..BUCKETS {
            assert_eq!(bucket_low(index), next);
            assert_eq!(bucket_of(next), Some(index));
            next += bucket_width(index);
            assert_eq!(bucket_of(next - 1), Some(index));
        }
        assert_eq!(next, 1 << RANGE_BITS);
        assert_eq!(bucket_of(next), None);
        assert_eq!(bucket_of(u64::MAX), None);
    }

    #[test]
    fn overflow_is_counted_not_clamped() {
        let histogram = of(&[5, 1 << 41]);
        assert_eq!((histogram.count(), histogram.overflow()), (2, 1));
        assert_eq!(histogram.max_ns(), 1 << 41);
        assert_eq!(histogram.percentile_ns(100.0), 1 << 41);
    }

    #[test]
    fn empty_histogram_returns_zeros() {
        let histogram = Histogram::new();
        assert_eq!(histogram.min_ns(), 0);
        assert_eq!(histogram.max_ns(), 0);
        assert_eq!(histogram.percentile_ns(99.0), 0);
        assert_eq!(histogram.mean_ns(), 0.0);
    }

    #[test]
    fn buckets_are_allocated_on_first_record() {
        let mut histogram = Histogram::empty();
        assert_eq!(histogram, Histogram::new());
        assert_eq!((histogram.count_at_or_below(u64::MAX), histogram.buckets().count()), (0, 0));
        histogram.merge(&Histogram::empty());
        histogram.clear();
        assert_eq!(histogram.counts.capacity(), 0);
        let mut narrow = Histogram::empty();
        narrow.record(1_000_000);
        narrow.record(1_040_000);
        assert_eq!(narrow.counts.capacity(), PER_OCTAVE, "one power of two");
        assert_eq!(narrow.count_at_or_below(1_010_000), 1);
        let recorded = of(&[7, 1 << 41]);
        let mut merged = histogram.clone();
        merged.merge(&recorded);
        histogram.record(7);
        histogram.record(1 << 41);
        assert_eq!((&histogram, &merged), (&recorded, &recorded));
        assert_ne!(histogram, Histogram::empty());
    }

    #[test]
    fn fio_bucket_layout_matches_its_formula() {
        assert_eq!(fio_bucket_of(127), 127);
        assert_eq!(fio_bucket_of(128), 128);
        assert_eq!(fio_bucket_of(130), 129);
        assert_eq!(fio_bucket_of((1 << 34) - 1), FIO_BUCKETS - 1);
        assert_eq!(fio_bucket_of(u64::MAX), FIO_BUCKETS - 1);
        for index in 0..FIO_BUCKETS {
            assert_eq!(fio_bucket_of(fio_bucket_value(index)), index);
        }
        // The values that fio 3.33 prints.
        assert_eq!(fio_bucket_value(fio_bucket_of(210)), 211);
        assert_eq!(fio_bucket_value(fio_bucket_of(220_000)), 220_160);
        assert_eq!(fio_bucket_value(FIO_BUCKETS - 1), 17_112_760_320);
    }

    proptest! {
        #[test]
        fn bucket_midpoint_error_is_at_most_1_in_256(value in 1u64..(1 << RANGE_BITS)) {
            let mid = bucket_mid(bucket_of(value).unwrap());
            prop_assert!(mid.abs_diff(value) as f64 <= value as f64 / 256.0);
        }

        #[test]
        fn merging_equals_recording_all_values(a in prop::collection::vec(0u64..1 << 42, 0..200),
                             b in prop::collection::vec(0u64..1 << 42, 0..200)) {
            let mut merged = of(&a);
            merged.merge(&of(&b));
            let together = of(&[a.as_slice(), b.as_slice()].concat());
            prop_assert_eq!(&merged, &together);
            let mut reverse = of(&b);
            reverse.merge(&of(&a));
            prop_assert_eq!(&reverse, &together);
            let mut narrow = Histogram::empty();
            [&b, &a].iter().copied().flatten().for_each(|value| narrow.record(*value));
            merged = Histogram::empty();
            merged.merge(&narrow);
            prop_assert_eq!((&merged, &narrow), (&together, &together));
        }

        #[test]
        fn min_max_and_sum_are_exact(values in prop::collection::vec(0u64..1 << 45, 1..300)) {
            let histogram = of(&values);
            prop_assert_eq!(histogram.min_ns(), *values.iter().min().unwrap());
            prop_assert_eq!(histogram.max_ns(), *values.iter().max().unwrap());
            prop_assert_eq!(histogram.sum_ns(), values.iter().map(|v| u128::from(*v)).sum::<u128>());
        }

        #[test]
        fn percentiles_agree_with_sorted_values(mut values in prop::collection::vec(1u64..1 << 36, 1..400),
                                          percent in 0.1f64..100.0) {
            let histogram = of(&values);
            values.sort_unstable();
            let rank = ((percent / 100.0 * values.len() as f64).ceil() as usize).clamp(1, values.len());
            let truth = values[rank - 1];
            let got = histogram.percentile_ns(percent);
            prop_assert!(got.abs_diff(truth) as f64 <= truth as f64 / 256.0 + 1e-9, "{} {}", got, truth);
        }

        #[test]
        fn agrees_with_hdrhistogram(values in prop::collection::vec(1u64..1 << 36, 1..400)) {
            let mut oracle = hdrhistogram::Histogram::<u64>::new(4).unwrap();
            values.iter().for_each(|v| oracle.record(*v).unwrap());
            let histogram = of(&values);
            for percent in [50.0, 90.0, 95.0, 99.0, 99.9] {
                let theirs = oracle.value_at_percentile(percent) as f64;
                let ours = histogram.percentile_ns(percent) as f64;
                prop_assert!((ours - theirs).abs() <= theirs * (1.0 / 256.0 + 2e-4) + 1.0,
                             "p{}: {} {}", percent, ours, theirs);
            }
            prop_assert!((histogram.mean_ns() - oracle.mean()).abs() <= oracle.mean() * 1e-3 + 1.0);
            prop_assert!((histogram.stddev_ns() - sample_stddev(&values)).abs()
                         <= sample_stddev(&values) * 0.01 + histogram.mean_ns() / 128.0);
        }

        #[test]
        fn folding_to_fio_buckets_is_exact(values in prop::collection::vec(0u64..1 << 36, 1..300)) {
            let mut expected = vec![0; FIO_BUCKETS];
            values.iter().for_each(|v| expected[fio_bucket_of(*v)] += 1);
            prop_assert_eq!(of(&values).fold_to_fio(), expected);
        }

        #[test]
        fn stored_histogram_round_trips(values in prop::collection::vec(0u64..1 << 45, 0..100)) {
            let histogram = of(&values);
            let text = serde_json::to_string(&histogram).unwrap();
            prop_assert_eq!(serde_json::from_str::<Histogram>(&text).unwrap(), histogram);
        }
    }

    fn sample_stddev(values: &[u64]) -> f64 {
        if values.len() < 2 {
            return 0.0;
        }
        let mean = values.iter().map(|v| *v as f64).sum::<f64>() / values.len() as f64;
        let squares: f64 = values.iter().map(|v| (*v as f64 - mean).powi(2)).sum();
        (squares / (values.len() - 1) as f64).sqrt()
    }
}
