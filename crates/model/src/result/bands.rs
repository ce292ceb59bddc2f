//! Latencies of an interval in coarse bands, for charts of latency over time.

use crate::histogram::{Histogram, bucket_low};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Upper end of the first band.
const FIRST_NS: u64 = 128;
/// Start of the second half of an octave: √2 times its lower end, to the nearest bucket edge of a
/// [`Histogram`].
const MIDDLE_NS: u64 = 181;

/// Number of bands.
pub const LATENCY_BANDS: usize = 68;

/// Returns the lower end of a band below [`LATENCY_BANDS`] in nanoseconds: 0, 128, 181, 256, 362 and so on,
/// two bands per power of two. The last band, from 2⁴⁰ ns (18 minutes), has no upper end.
#[must_use]
pub const fn latency_band_low_ns(band: usize) -> u64 {
    match band.checked_sub(1) {
        None => 0,
        Some(half) => {
            let low = if half % 2 == 0 { FIRST_NS } else { MIDDLE_NS };
            low << (half / 2)
        }
    }
}

/// Returns the band of a latency.
#[must_use]
pub const fn latency_band_of(latency_ns: u64) -> usize {
    if latency_ns < FIRST_NS {
        return 0;
    }
    let octave = (latency_ns / FIRST_NS).ilog2() as usize;
    let band = 1 + 2 * octave + (latency_ns >> octave >= MIDDLE_NS) as usize;
    if band < LATENCY_BANDS { band } else { LATENCY_BANDS - 1 }
}

/// Latencies of the I/Os of an interval: counts from the first to the last band that has any (`first` is the
/// number of the first band), and the maximum. In JSON, 40 bytes and 2 to 6 for each of these bands: usually
/// 50 to 100 bytes.
#[derive(Debug, Clone, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(try_from = "Stored")]
#[schemars(!try_from)]
pub struct LatencyBands {
    max_ns: u64,
    first: usize,
    counts: Vec<u64>,
}

/// The stored form, before validation.
#[derive(Deserialize)]
struct Stored {
    max_ns: u64,
    first: usize,
    counts: Vec<u64>,
}

impl TryFrom<Stored> for LatencyBands {
    type Error = String;

    fn try_from(stored: Stored) -> Result<Self, String> {
        let Stored { max_ns, first, counts } = stored;
        if first.checked_add(counts.len()).is_none_or(|end| end > LATENCY_BANDS) {
            return Err(format!("latencies from band {first} on leave the {LATENCY_BANDS} bands"));
        }
        Ok(Self { max_ns, first, counts })
    }
}

impl LatencyBands {
    /// Converts a histogram. Exact, because each of its buckets lies within one band.
    #[must_use]
    pub fn of(histogram: &Histogram) -> Self {
        let mut bands = Self { max_ns: histogram.max_ns(), ..Self::default() };
        for (bucket, count) in histogram.buckets() {
            bands.add(latency_band_of(bucket_low(bucket)), count);
        }
        if histogram.overflow() > 0 {
            bands.add(LATENCY_BANDS - 1, histogram.overflow());
        }
        bands
    }

    /// True if no I/O is counted.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }

    /// Maximum latency in nanoseconds; 0 if there is none.
    #[must_use]
    pub fn max_ns(&self) -> u64 {
        self.max_ns
    }

    /// Number of I/Os in all bands.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.counts.iter().fold(0, |sum, count| sum.saturating_add(*count))
    }

    /// Returns the bands from the first to the last that has I/Os, as number and count.
    pub fn iter(&self) -> impl Iterator<Item = (usize, u64)> + '_ {
        (self.first..).zip(self.counts.iter().copied())
    }

    /// Adds the latencies of another interval.
    pub fn append(&mut self, other: &Self) {
        self.max_ns = self.max_ns.max(other.max_ns);
        for (band, count) in other.iter() {
            self.add(band, count);
        }
    }

    fn add(&mut self, band: usize, count: u64) {
        if self.counts.is_empty() {
            self.first = band;
        }
        if band < self.first {
            self.counts.splice(0..0, std::iter::repeat_n(0, self.first - band));
            self.first = band;
        }
        let place = band - self.first;
        if place >= self.counts.len() {
            self.counts.resize(place + 1, 0);
        }
        self.counts[place] = self.counts[place].saturating_add(count);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn bands_cover_all_latencies_without_gaps() {
        let lows: Vec<u64> = (0..LATENCY_BANDS).map(latency_band_low_ns).collect();
        assert_eq!(lows[..6], [0, 128, 181, 256, 362, 512]);
        assert_eq!(lows[LATENCY_BANDS - 1], 1 << 40);
        for (band, low) in lows.iter().enumerate() {
            assert_eq!(latency_band_of(*low), band);
            assert_eq!(latency_band_of(low.saturating_sub(1)), band.saturating_sub(1));
        }
        assert_eq!(latency_band_of(u64::MAX), LATENCY_BANDS - 1);
        // Evenly spaced on a logarithmic scale: a factor of √2 each.
        for pair in lows[1..].windows(2) {
            let ratio = pair[1] as f64 / pair[0] as f64;
            assert!((ratio / 2f64.sqrt() - 1.0).abs() < 0.001, "{pair:?}");
        }
    }

    #[test]
    fn stored_bands_are_compact_and_invalid_ones_are_rejected() {
        let mut histogram = Histogram::new();
        for (latency_ns, n) in [(90_000, 800), (130_000, 3000), (4_000_000, 2)] {
            histogram.record_n(latency_ns, n);
        }
        let text = serde_json::to_string(&LatencyBands::of(&histogram)).unwrap();
        assert_eq!(
            text,
            r#"{"max_ns":4000000,"first":19,"counts":[800,3000,0,0,0,0,0,0,0,0,0,2]}"#
        );
        let read = |text: &str| serde_json::from_str::<LatencyBands>(text);
        assert_eq!(read(&text).unwrap().count(), 3802);
        assert!(read(r#"{"max_ns":1,"first":67,"counts":[1,1]}"#).is_err());
        assert!(read(r#"{"max_ns":1,"first":18446744073709551615,"counts":[1]}"#).is_err());
    }

    fn latencies() -> impl Strategy<Value = Vec<(u32, u64)>> {
        prop::collection::vec((0u32..64, 1u64..1000), 0..40)
    }

    fn histogram(latencies: &[(u32, u64)]) -> Histogram {
        let mut histogram = Histogram::new();
        latencies.iter().for_each(|(bits, n)| histogram.record_n((1u64 << bits) + n, *n));
        histogram
    }

    proptest! {
        #[test]
        fn joining_bands_equals_recording_all_latencies(a in latencies(), b in latencies()) {
            let mut joined = LatencyBands::of(&histogram(&a));
            joined.append(&LatencyBands::of(&histogram(&b)));
            let together = histogram(&[a, b].concat());
            prop_assert_eq!(joined.count(), together.count());
            prop_assert_eq!(&joined, &LatencyBands::of(&together));
            let stored = serde_json::to_value(&joined).unwrap();
            prop_assert_eq!(serde_json::from_value::<LatencyBands>(stored).unwrap(), joined);
        }
    }
}
