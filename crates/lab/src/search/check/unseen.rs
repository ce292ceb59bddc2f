//! What a check has not seen: stretches of time so rare that none of them may have occurred yet.

use crate::measure::estimates::Which;
use crate::search::judge::{FAR, Judged, which};
use crate::search::window_length::{TICK_NS, seconds};
use crate::stats::correlation_time;
use iogauge_model::limit::Metric;
use iogauge_model::result::IntervalPoint;

/// Number of independent observations, as a multiple of 1 / share, none of which is of a kind with this share in 2.5 % of
/// cases.
pub(super) const NONE_SEEN: f64 = 3.69;
/// Share of the time that can decide a mean, if the latencies in it are several times as high.
const SHARE_OF_MEAN: f64 = 0.01;
/// Number of ticks in which slow variation shows.
const LEAST_TICKS: f64 = NONE_SEEN / 0.01;

/// Why a limit that seems kept is not proven.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Unseen {
    /// The time over which latencies vary, in seconds; 0 if it cannot be told yet.
    pub(super) varies_over_seconds: f64,
    /// How many times as long the measurement has to be.
    pub(super) longer: f64,
}

/// Returns why a limit is not proven although its interval is within the bound; `None` if nothing stands against it.
///
/// An interval says how well a statistic is known if all kinds of stretches occurred. Latencies that resemble those of
/// a second ago come from something that changes over seconds: a neighbour, a cache, the load of the device. In a
/// minute, about 60 of its states were seen, and one that takes 3 % of the time may not have been among them. p99 is
/// proven only if states that take 1 % of the time would have been seen. With n independent stretches, none of which
/// was of a kind with share p, p is below 3.7 / n with a confidence of 97.5 % (as the rule of three for 95 %; J. A.
/// Hanley, A. Lippman-Hand, If nothing goes wrong, is everything all right?, JAMA 249 (1983) 1743–1745).
///
/// A statistic of half its bound or less has room for such stretches, and variation within two ticks is none of them.
pub(super) fn unseen(judged: &Judged, series: &[IntervalPoint]) -> Option<Unseen> {
    let share = match judged.limit.metric {
        Metric::Percentile(percent) => 1.0 - percent / 100.0,
        Metric::Mean => SHARE_OF_MEAN,
        Metric::Max => return None,
    };
    if judged.share() <= 1.0 / FAR {
        return None;
    }
    let latencies = mean_latencies(series, which(judged.limit.side));
    let ticks = latencies.len() as f64;
    let (lags, wanted) = match correlation_time(&latencies) {
        0 | 1 => (0.0, LEAST_TICKS),
        lags => (lags as f64, LEAST_TICKS.max(lags as f64 * NONE_SEEN / share)),
    };
    (ticks < wanted).then(|| Unseen {
        varies_over_seconds: lags * seconds(TICK_NS),
        longer: wanted / ticks.max(1.0),
    })
}

/// Returns the mean latencies of ticks with I/Os.
fn mean_latencies(series: &[IntervalPoint], which: Which) -> Vec<f64> {
    let with_ios = series.iter().filter(|point| which.ios(point) > 0);
    with_ios.map(|point| which.latency_sum_ns(point) as f64 / which.ios(point) as f64).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::synthetic::Random;

    /// A limit whose statistic is `share` of its bound.
    fn judged(limit: &str, share: f64) -> Judged {
        let limit: iogauge_model::Limit = limit.parse().unwrap();
        let value = limit.bound_ns as f64 * share;
        Judged { limit, value, ci95: [value * 0.9, value * 1.05], n: 100_000, over: 100 }
    }

    /// Ticks of 100 I/Os, whose mean latency resembles that of the tick before with correlation `phi`.
    fn ticks(count: usize, phi: f64) -> Vec<IntervalPoint> {
        let mean_us = Random::new(7).ar1(count, 1000.0, phi);
        let point = |us: &f64| IntervalPoint {
            reads: 100,
            read_latency_sum_ns: (us * 1e5) as u64,
            ..IntervalPoint::default()
        };
        mean_us.iter().map(point).collect()
    }

    #[test]
    fn slow_variation_holds_back_what_is_near_its_bound() {
        let near = judged("p99<=10ms", 0.8);
        let minute = ticks(2400, 0.9);
        let found = unseen(&near, &minute).unwrap();
        // A correlation of 0.9 falls to a third of it in about 10 ticks.
        assert!((0.15..0.35).contains(&found.varies_over_seconds), "{found:?}");
        assert!((1.0..2.5).contains(&found.longer), "{found:?}");
        assert!(unseen(&judged("mean<=10ms", 0.8), &minute).is_some());
        assert_eq!(unseen(&near, &ticks(6000, 0.9)), None, "two and a half minutes are enough");
        assert!(unseen(&judged("p99.9<=10ms", 0.8), &ticks(6000, 0.9)).is_some());
        assert_eq!(unseen(&judged("p99<=10ms", 0.5), &minute), None, "there is room");
        assert_eq!(unseen(&judged("max<=10ms", 0.8), &minute), None);
    }

    #[test]
    fn independent_ticks_need_ten_seconds() {
        let near = judged("p99<=10ms", 0.8);
        let found = unseen(&near, &ticks(100, 0.0)).unwrap();
        assert_eq!(found.varies_over_seconds, 0.0);
        assert!((found.longer - 3.69).abs() < 0.01, "{found:?}");
        assert_eq!(unseen(&near, &ticks(400, 0.0)), None);
        assert_eq!(unseen(&judged("p99.9<=10ms", 0.8), &ticks(400, 0.0)), None);
        assert_eq!(unseen(&judged("p99<=10ms", 0.4), &ticks(10, 0.0)), None);
        // Ticks without I/Os say nothing.
        let idle = ticks(400, 0.0).into_iter().map(|point| IntervalPoint { reads: 0, ..point });
        assert!(unseen(&near, &idle.collect::<Vec<_>>()).is_some());
    }
}
