//! The clock of another host, from messages to it and back.
//!
//! The time at which the other host answered is taken to be the middle between sending and receiving. The error of that
//! is at most half of the round trip, so the shortest round trip of several counts (D. L. Mills, RFC 5905, 10). Clocks
//! drift apart; a line through the samples of some minutes corrects that.

use std::collections::VecDeque;

/// Number of samples that are kept.
const MOST_SAMPLES: usize = 32;
/// Time that the samples must span before a drift is estimated.
const SPAN_NS: u64 = 20_000_000_000;
/// Samples with round trips of up to this many times the shortest one count for the drift.
const GOOD: u64 = 2;
/// Assumed drift before it is estimated, in parts per million: twice what crystals are specified for.
const UNKNOWN_DRIFT_PPM: f64 = 100.0;
/// Largest drift of an estimate, in parts per million. A larger one is a jump of a clock.
const MOST_DRIFT_PPM: f64 = 1000.0;

/// A message to another host and back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RoundTrip {
    /// Time here when the message was sent, in nanoseconds.
    pub sent_ns: u64,
    /// Time there when it was answered.
    pub answered_ns: u64,
    /// Time here when the answer arrived.
    pub received_ns: u64,
}

impl RoundTrip {
    fn length_ns(&self) -> u64 {
        self.received_ns.saturating_sub(self.sent_ns)
    }

    fn middle_ns(&self) -> u64 {
        self.sent_ns + self.length_ns() / 2
    }

    /// Time there minus time here.
    fn offset_ns(&self) -> i64 {
        self.answered_ns.wrapping_sub(self.middle_ns()).cast_signed()
    }
}

/// How the clock of another host is ahead of the one here.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Offset {
    /// Time there minus time here, in nanoseconds.
    pub ns: i64,
    /// Bound of the error, in nanoseconds.
    pub error_ns: u64,
}

/// The clock of another host.
#[derive(Debug, Clone, Default)]
pub struct PeerClock {
    samples: VecDeque<RoundTrip>,
}

impl PeerClock {
    /// Adds the shortest of some round trips that followed each other.
    pub fn add(&mut self, sample: RoundTrip) {
        if self.samples.len() == MOST_SAMPLES {
            self.samples.pop_front();
        }
        self.samples.push_back(sample);
    }

    /// Returns the offset at a time here; `None` without a sample.
    #[must_use]
    pub fn offset_at(&self, now_ns: u64) -> Option<Offset> {
        let drift = self.drift();
        let at = |sample: &RoundTrip| {
            let age_ns = now_ns.abs_diff(sample.middle_ns()) as f64;
            let later_ns = now_ns as f64 - sample.middle_ns() as f64;
            let ns = sample.offset_ns() + (later_ns * drift.unwrap_or(0.0)) as i64;
            // The drift of crystals changes with the temperature, by some parts per million.
            let ppm = if drift.is_some() { UNKNOWN_DRIFT_PPM / 10.0 } else { UNKNOWN_DRIFT_PPM };
            Offset { ns, error_ns: sample.length_ns() / 2 + (age_ns * ppm / 1e6) as u64 }
        };
        self.samples.iter().map(at).min_by_key(|offset| offset.error_ns)
    }

    /// Returns by how much the other clock is faster, as a ratio; `None` before it is known.
    #[must_use]
    pub fn drift(&self) -> Option<f64> {
        let shortest_ns = self.samples.iter().map(RoundTrip::length_ns).min()?;
        let good = |sample: &&RoundTrip| sample.length_ns() <= shortest_ns.max(1) * GOOD;
        let good: Vec<&RoundTrip> = self.samples.iter().filter(good).collect();
        let (first, last) = (good.first()?, good.last()?);
        if good.len() < 3 || last.middle_ns() - first.middle_ns() < SPAN_NS {
            return None;
        }
        // Relative to the first sample, so that no digits are lost.
        let points = good.iter().map(|sample| {
            let later_ns = (sample.middle_ns() - first.middle_ns()) as f64;
            (later_ns, sample.offset_ns().wrapping_sub(first.offset_ns()) as f64)
        });
        let points: Vec<(f64, f64)> = points.collect();
        let slope = slope(&points);
        (slope.abs() * 1e6 <= MOST_DRIFT_PPM).then_some(slope)
    }
}

/// Returns the slope of the least-squares line.
fn slope(points: &[(f64, f64)]) -> f64 {
    let n = points.len() as f64;
    let mean_x = points.iter().map(|(x, _)| x).sum::<f64>() / n;
    let mean_y = points.iter().map(|(_, y)| y).sum::<f64>() / n;
    let products: f64 = points.iter().map(|(x, y)| (x - mean_x) * (y - mean_y)).sum();
    let squares: f64 = points.iter().map(|(x, _)| (x - mean_x).powi(2)).sum();
    if squares > 0.0 { products / squares } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SECOND_NS: u64 = 1_000_000_000;

    /// A round trip to a clock that is ahead and drifts.
    fn trip(at_ns: u64, there_ns: u64, back_ns: u64, ahead_ns: i64, ppm: f64) -> RoundTrip {
        let answered = at_ns + there_ns;
        let drifted_ns = (answered as f64 * ppm / 1e6) as i64;
        let answered_ns = answered.wrapping_add_signed(ahead_ns + drifted_ns);
        RoundTrip { sent_ns: at_ns, answered_ns, received_ns: at_ns + there_ns + back_ns }
    }

    #[test]
    fn nothing_is_known_without_a_round_trip() {
        assert_eq!(PeerClock::default().offset_at(5), None);
    }

    #[test]
    fn shortest_round_trip_decides() {
        let mut clock = PeerClock::default();
        clock.add(trip(SECOND_NS, 1_000_000, 10_000, -5_000_000, 0.0));
        clock.add(trip(SECOND_NS * 2, 10_000, 10_000, -5_000_000, 0.0));
        let offset = clock.offset_at(SECOND_NS * 2).unwrap();
        assert_eq!(offset.ns, -5_000_000);
        assert!(offset.error_ns < 20_000, "{offset:?}");
    }

    #[test]
    fn drift_is_estimated_from_samples_over_minutes() {
        let mut clock = PeerClock::default();
        for second in 0..30 {
            clock.add(trip(second * 2 * SECOND_NS, 20_000 + second % 3, 20_000, 7_000_000, 40.0));
        }
        let drift = clock.drift().unwrap();
        assert!((drift * 1e6 - 40.0).abs() < 0.5, "{drift}");
        // An hour's drift of 40 ppm is 144 ms; ten seconds ahead is predicted to the microsecond.
        let at_ns = 70 * SECOND_NS;
        let true_ns = 7_000_000 + (at_ns as f64 * 40.0 / 1e6) as i64;
        let offset = clock.offset_at(at_ns).unwrap();
        assert!((offset.ns - true_ns).abs() < 3_000, "{offset:?} {true_ns}");
    }

    proptest! {
        #[test]
        fn true_offset_lies_within_the_error(
            trips in prop::collection::vec((1u64..5_000_000, 1u64..5_000_000), 1..40),
            ahead_ns in -1i64 << 50..1 << 50, ppm in -50.0f64..50.0,
        ) {
            let mut clock = PeerClock::default();
            let start_ns = 1u64 << 51;
            for (index, (there, back)) in trips.iter().enumerate() {
                clock.add(trip(start_ns + index as u64 * 5 * SECOND_NS, *there, *back, ahead_ns, ppm));
            }
            let now_ns = start_ns + trips.len() as u64 * 5 * SECOND_NS;
            let offset = clock.offset_at(now_ns).unwrap();
            let true_ns = ahead_ns + (now_ns as f64 * ppm / 1e6) as i64;
            // While the drift is estimated from bad round trips, its own error adds to that of the offset.
            let slack_ns = if clock.drift().is_some() { 10_000_000 } else { 1_000 };
            prop_assert!(
                offset.ns.abs_diff(true_ns) <= offset.error_ns + slack_ns, "{:?} {}", offset, true_ns
            );
        }
    }
}
