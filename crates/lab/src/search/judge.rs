//! What a window shows about a limit: the statistic, its uncertainty, and the verdict.

use super::exceeding::Exceeding;
use crate::measure::estimates::{self, Which};
use crate::observe::{Judgement, Verdict};
use crate::stats::{effective_ios, quantile};
use iogauge_io::engine::Op;
use iogauge_model::limit::{Directions, Metric, Side};
use iogauge_model::result::{Estimate, IntervalPoint, LatencySummary, LimitValue};
use iogauge_model::{Histogram, Limit};

/// Factor by which a 95 % interval is widened because a growing window is checked about a dozen times, so that all
/// checks together are as reliable as a single one at 95 % (P. C. O'Brien, T. R. Fleming, A multiple testing procedure
/// for clinical trials, Biometrics 35 (1979) 549–556, whose bounds are as strict in early checks).
pub const CARE: f64 = 1.5;

/// A statistic is far from its bound if one is at least this many times the other.
pub(super) const FAR: f64 = 2.0;

/// A limit's statistic in a window, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Judged {
    pub(super) limit: Limit,
    /// Infinite if the window contains no I/O.
    pub(super) value: f64,
    /// 95 % CI; from 0 to infinity if unknown.
    pub(super) ci95: [f64; 2],
    /// Number of I/Os that the statistic rests on.
    pub(super) n: u64,
    /// Number of I/Os over the bound.
    pub(super) over: u64,
}

impl Judged {
    /// Judges a limit by the latencies of its own direction in a window and by the estimate of their mean. `effective`
    /// is the number of independent latencies for a percentile; if unknown, it is derived from the mean.
    pub(super) fn of(
        limit: Limit,
        service: &Histogram,
        mean: &Estimate,
        effective: Option<f64>,
    ) -> Self {
        let n = service.count();
        if n == 0 {
            return Self { limit, value: f64::INFINITY, ci95: [0.0, f64::INFINITY], n, over: 0 };
        }
        let over = n - service.count_at_or_below(limit.bound_ns);
        let value = limit.metric.of(service);
        let ci95 = match limit.metric {
            // An observed maximum has no sampling error.
            Metric::Max => [value, value],
            _ if mean.n < 2 => [0.0, f64::INFINITY],
            Metric::Mean => mean.ci95,
            Metric::Percentile(percent) => {
                let effective = effective.unwrap_or_else(|| effective_ios(service, mean));
                let found = quantile(service, percent, effective);
                let bound = |of: Option<u64>, none: f64| of.map_or(none, |ns| ns as f64);
                found.map_or([0.0, f64::INFINITY], |q| {
                    [bound(q.low_ns, 0.0), bound(q.high_ns, f64::INFINITY)]
                })
            }
        };
        Self { limit, value, ci95, n, over }
    }

    /// Returns true if the statistic itself does not exceed the bound.
    pub(super) fn is_met(&self) -> bool {
        self.value <= self.bound()
    }

    /// Returns the verdict of the CI, made [`CARE`] times as wide because a growing window is checked repeatedly. If a
    /// statistic has no upper end of its CI, it must be half or twice the bound.
    pub(super) fn verdict(&self) -> Verdict {
        if self.ci95[1].is_infinite() && self.value.is_finite() {
            return match self.share() {
                share if share <= 1.0 / FAR => Verdict::Holds,
                share if share >= FAR => Verdict::Breaks,
                _ => Verdict::Open,
            };
        }
        if !self.value.is_finite() {
            return Verdict::Open;
        }
        let [low, high] = self.widened(CARE).ci95;
        match (low, high) {
            (_, high) if high <= self.bound() => Verdict::Holds,
            (low, _) if low > self.bound() => Verdict::Breaks,
            _ => Verdict::Open,
        }
    }

    /// Returns the statistic with its CI made `times` as wide. The lower end is widened as a ratio, because a latency is
    /// above zero. If the interval reaches zero, its upper half gives the ratio. Unknown ends stay unknown.
    pub(super) fn widened(self, times: f64) -> Self {
        let [low, high] = self.ci95;
        if times <= 1.0 || self.value <= 0.0 || high.is_infinite() && low <= 0.0 {
            return self;
        }
        let ratio = if low > 0.0 { low / self.value } else { (1.0 - high / self.value).exp() };
        let low = self.value * ratio.powf(times);
        let high = self.value + (high - self.value) * times;
        Self { ci95: [low, high], ..self }
    }

    /// Returns the verdict of the CI as it is.
    pub(super) fn plain_verdict(&self) -> Verdict {
        let [low, high] = self.ci95;
        match () {
            () if self.n > 0 && high <= self.bound() => Verdict::Holds,
            () if self.n > 0 && low > self.bound() => Verdict::Breaks,
            () => Verdict::Open,
        }
    }

    /// Returns the statistic divided by the bound.
    pub(super) fn share(&self) -> f64 {
        self.value / self.bound()
    }

    /// Returns the half-width of the CI, relative to the bound.
    pub(super) fn error(&self) -> f64 {
        (self.ci95[1] - self.ci95[0]) / 2.0 / self.bound()
    }

    /// Converts to the form used by decisions.
    pub(super) fn judgement(&self) -> Judgement {
        Judgement { value: self.limit_value(), verdict: self.verdict() }
    }

    /// Returns the half-width of the CI, relative to the value. Without an upper end, twice the distance from the lower
    /// end to the value stands in for it.
    pub(super) fn relative_error(&self) -> f64 {
        let [low, high] = self.ci95;
        let half = if high.is_finite() { (high - low) / 2.0 } else { 2.0 * (self.value - low) };
        if low > 0.0 { half / self.value } else { f64::INFINITY }
    }

    /// Converts to the form used by results.
    pub(super) fn limit_value(&self) -> LimitValue {
        let Self { limit, value, ci95, n, .. } = *self;
        let finite = |ns: &f64| ns.is_finite();
        LimitValue {
            limit,
            value_ns: Some(value).filter(finite),
            ci95_ns: Some(ci95).filter(|ends| ends.iter().all(finite)),
            n,
        }
    }

    pub(super) fn bound(&self) -> f64 {
        self.limit.bound_ns as f64
    }
}

/// Judges limits by a window: its latencies, the same tick by tick, and the I/Os over the bounds.
pub(super) fn all(
    limits: &[Limit],
    latencies: &Directions<'_>,
    series: &[IntervalPoint],
    exceeding: &Exceeding,
) -> Vec<Judged> {
    all_with_care(limits, latencies, series, exceeding, (1.0, Judged::verdict))
}

/// As [`all`], with CIs made several times as wide, and another verdict by which the worst host is found.
pub(super) fn all_with_care(
    limits: &[Limit],
    latencies: &Directions<'_>,
    series: &[IntervalPoint],
    exceeding: &Exceeding,
    (times, verdict): (f64, fn(&Judged) -> Verdict),
) -> Vec<Judged> {
    let judge = |(place, limit): (usize, &Limit)| {
        let hosts = latencies.hosts().iter().filter(|_| limit.each);
        let of_host = |(number, own): &(usize, Directions<'_>)| {
            let of_side = own.of(limit.side);
            let (mean, effective) = exceeding.of_host(place, *number, of_side.mean_ns());
            Judged::of(*limit, of_side, &mean, effective).widened(times)
        };
        if let Some(worst) = worst(hosts.map(of_host), verdict) {
            return worst;
        }
        let of_side = latencies.of(limit.side);
        let mean = estimates::latency_mean(series, which(limit.side), of_side.mean_ns());
        Judged::of(*limit, of_side, &mean, exceeding.effective_ios(place)).widened(times)
    };
    limits.iter().enumerate().map(judge).collect()
}

/// Returns the verdict on a limit on each host: it breaks if one host surely breaks it, and holds if it surely holds on
/// all. It is that of the host with the largest statistic among those with the worst verdict. The intervals are those
/// of each host alone. Of many equal hosts, the largest statistic is above their common one by chance, so a limit on
/// each host allows somewhat less load, the more hosts there are and the shorter the window is.
fn worst(hosts: impl Iterator<Item = Judged>, verdict: fn(&Judged) -> Verdict) -> Option<Judged> {
    let rank = |judged: &Judged| match verdict(judged) {
        Verdict::Breaks => 2,
        Verdict::Open => 1,
        Verdict::Holds => 0,
    };
    hosts.max_by(|a, b| rank(a).cmp(&rank(b)).then(a.share().total_cmp(&b.share())))
}

/// Returns a limit's statistic in a step, from its latencies and the same interval by interval.
pub(crate) fn limit_value(
    limit: &Limit,
    latencies: &Directions<'_>,
    series: &[IntervalPoint],
) -> LimitValue {
    let of_side = latencies.of(limit.side);
    let mean = estimates::latency_mean(series, which(limit.side), of_side.mean_ns());
    Judged::of(*limit, of_side, &mean, None).limit_value()
}

/// Returns which I/Os of a series belong to a side.
pub(super) fn which(side: Side) -> Which {
    match side {
        Side::Any => Which::All,
        Side::Read => Which::Only(Op::Read),
        Side::Write => Which::Only(Op::Write),
        Side::Sync => Which::Only(Op::Sync),
    }
}

/// Replaces the percentile intervals of a summary of the same latencies by those that the limits were judged by, which
/// take into account how slow I/Os cluster.
pub(super) fn agreeing(mut summary: LatencySummary, judged: &[Judged]) -> LatencySummary {
    let Some(intervals) = &mut summary.percentiles_ci95 else { return summary };
    let of_all = |judged: &&Judged| judged.limit.side == Side::Any && !judged.limit.each;
    for judged in judged.iter().filter(of_all) {
        let Metric::Percentile(percent) = judged.limit.metric else { continue };
        let named = [
            (50.0, &mut intervals.p50),
            (95.0, &mut intervals.p95),
            (99.0, &mut intervals.p99),
            (99.9, &mut intervals.p999),
            (99.99, &mut intervals.p9999),
        ];
        let end = |ns: f64| (ns > 0.0 && ns.is_finite()).then_some(ns as u64);
        for (_, interval) in named.into_iter().filter(|(name, _)| *name == percent) {
            *interval = judged.ci95.map(end);
        }
    }
    summary
}

/// Returns the index of the limit closest to its bound, or furthest over it.
pub(super) fn tightest(judged: &[Judged]) -> Option<usize> {
    (0..judged.len()).max_by(|&a, &b| judged[a].share().total_cmp(&judged[b].share()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(limit: &str, values_ms: &[u64], mean: Estimate) -> Judged {
        let mut histogram = Histogram::new();
        values_ms.iter().for_each(|ms| histogram.record(ms * 1_000_000));
        Judged::of(limit.parse().unwrap(), &histogram, &mean, None)
    }

    fn around(mean: f64, half: f64) -> Estimate {
        Estimate { mean, ci95: [mean - half, mean + half], n: 30 }
    }

    #[test]
    fn verdict_follows_confidence_interval() {
        let verdict = |mean, half| judged("mean<=10ms", &[9], around(mean, half)).verdict();
        assert_eq!(verdict(9e6, 0.5e6), Verdict::Holds);
        assert_eq!(verdict(9e6, 1.5e6), Verdict::Open);
        assert_eq!(verdict(11e6, 0.5e6), Verdict::Breaks);
    }

    #[test]
    fn bound_inside_confidence_interval_stays_open() {
        let near = judged("mean<=2500us", &[10], around(10e6, 8e6)).verdict();
        assert_eq!(near, Verdict::Open);
    }

    #[test]
    fn interval_reaching_zero_still_breaks_a_far_lower_bound() {
        let verdict = |half| judged("mean<=1us", &[9], around(9e6, half)).verdict();
        assert_eq!((verdict(7e6), verdict(9e6)), (Verdict::Breaks, Verdict::Breaks));
        // A stall in one of two batches.
        let clamped = Estimate { mean: 9e6, ci95: [0.0, 60e6], n: 2 };
        let of = |limit| judged(limit, &[9], clamped).verdict();
        assert_eq!((of("mean<=1ns"), of("mean<=5us")), (Verdict::Breaks, Verdict::Open));
    }

    #[test]
    fn too_few_samples_leave_verdict_open() {
        assert_eq!(judged("mean<=10ms", &[9], Estimate::exact(9e6)).verdict(), Verdict::Open);
        assert_eq!(judged("mean<=20ms", &[9], Estimate::exact(9e6)).verdict(), Verdict::Holds);
        assert_eq!(judged("mean<=4ms", &[9], Estimate::exact(9e6)).verdict(), Verdict::Breaks);
        let empty = judged("mean<=10ms", &[], Estimate::exact(0.0));
        assert_eq!((empty.verdict(), empty.is_met()), (Verdict::Open, false));
        // Ten values say nothing about the upper end of p99.
        let few = judged("p99<=10ms", &[1, 2, 3, 4, 5, 6, 7, 8, 9, 9], around(5e6, 2e6));
        assert_eq!(few.verdict(), Verdict::Open);
    }

    #[test]
    fn limit_on_each_host_has_the_worst_verdict_of_all_hosts() {
        let of = |mean: f64, half| judged("each:mean<=10ms", &[9], around(mean, half));
        let at = |value: f64, half| Judged { value, ..of(value, half) };
        let (holds, open, breaks) = (at(9e6, 0.1e6), at(9.5e6, 2e6), at(11e6, 0.1e6));
        let high = at(12e6, 9e6);
        let worst = |hosts: &[Judged]| worst(hosts.iter().copied(), Judged::verdict);
        assert_eq!(worst(&[holds, open, breaks, high]), Some(breaks));
        assert_eq!(worst(&[holds, open, high]), Some(high));
        assert_eq!(worst(&[holds, at(8e6, 0.1e6)]), Some(holds));
        assert_eq!(worst(&[]), None);
    }

    #[test]
    fn maximum_limit_is_judged_by_observed_maximum() {
        assert_eq!(judged("max<=10ms", &[1, 11], around(6e6, 9e6)).verdict(), Verdict::Breaks);
        assert_eq!(judged("max<=12ms", &[1, 11], around(6e6, 9e6)).verdict(), Verdict::Holds);
    }
}
