//! Prediction of what another search like this one would answer.

use super::capacity::Capacity;
use super::judge::{Judged, which};
use crate::stats::{Batch, Difference, NORMAL_95, Wander};
use iogauge_model::Histogram;
use iogauge_model::limit::{Directions, Metric, Side};
use iogauge_model::result::{self, Estimate, IntervalPoint};

/// Intervals reach no further than this factor from the answer: that means that nothing is known.
pub(super) const WIDEST: f64 = 10.0;
/// Ticks are averaged to about this many values.
const JOINED: usize = 240;
/// The density of latencies at a percentile is taken from those within this factor of it.
const AROUND: f64 = 1.2;
/// A rate wanders if its next average may be off by `WANDERS` times what white noise explains, and by more than
/// [`NOTABLE`] of the rate.
const WANDERS: f64 = 1.5;
const NOTABLE: f64 = 0.05;
/// Probability of both intervals.
const PROBABILITY: f64 = 0.95;
/// Length of the windows whose rates show what a target kept, and their minimum number.
const KEPT_SECONDS: f64 = 1.0;
const FEWEST_KEPT: usize = 5;
/// Share of the windows that may lie below the rate kept.
const BELOW_KEPT: f64 = 0.05;

/// A statistic further from its bound than this factor says no more about where the limit is met.
const FAR: f64 = 2.0;

/// A window that is not a confirmation counts if its statistic is within the factor `NEAR` of the bound, or if its
/// queue depth is at most `NEAR` times the answer's: intermittent noise may take the statistic far from its bound. No
/// window counts, confirmation or not, if its queue depth is smaller than the answer's by more than `NEAR_BELOW`: it
/// may give fewer IOPS.
const NEAR: f64 = 1.25;
const NEAR_BELOW: f64 = 1.1;

/// The ticks of a window, as relative deviations from the window's figures.
#[derive(Debug, Clone)]
pub(super) struct Ticks {
    /// IOPS of the window.
    iops: f64,
    /// Statistic of the binding limit divided by its bound.
    share: f64,
    rates: Vec<f64>,
    /// Contribution of each tick to that statistic.
    statistic: Vec<f64>,
    /// Length of a tick, in seconds.
    seconds: f64,
}

impl Ticks {
    /// Computes the ticks of a window. `over` contains the I/Os over the bound and all I/Os, tick by tick, if the limit
    /// is a percentile.
    pub(super) fn of(
        series: &[IntervalPoint],
        over: &[Batch],
        judged: &Judged,
        latencies: &Directions<'_>,
    ) -> Self {
        let total_seconds: f64 = series.iter().map(|tick| tick.seconds).sum();
        let ios = |tick: &IntervalPoint| (tick.reads + tick.writes) as f64;
        let iops = series.iter().map(ios).sum::<f64>() / total_seconds;
        let rates = series.iter().map(|tick| ios(tick) / (iops * tick.seconds) - 1.0);
        let statistic = match judged.limit.metric {
            Metric::Mean => {
                of_mean(series, judged.limit.side, latencies.of(judged.limit.side).mean_ns())
            }
            Metric::Percentile(_) => of_percentile(over, judged, latencies.of(judged.limit.side)),
            Metric::Max => Vec::new(),
        };
        let none = vec![0.0; series.len()];
        Self {
            iops,
            share: judged.share(),
            rates: finite(rates).unwrap_or_else(|| none.clone()),
            statistic: if statistic.len() == series.len() { statistic } else { none },
            seconds: total_seconds / series.len().max(1) as f64,
        }
    }

    /// Returns true if a window at this queue depth is informative about the capacity. A confirmation is, whatever its
    /// statistic.
    pub(super) fn is_near(
        &self,
        is_confirmation: bool,
        queue_depth: u32,
        answer_depth: u32,
    ) -> bool {
        let deeper = f64::from(queue_depth) / f64::from(answer_depth);
        let is_near = deeper <= NEAR || (1.0 / NEAR..=NEAR).contains(&self.share);
        self.iops > 0.0 && deeper >= 1.0 / NEAR_BELOW && (is_confirmation || is_near)
    }

    /// Returns the logarithm of the rate at the limit, tick by tick: the rate of the window, moved along the curve to
    /// where the statistic meets its bound.
    fn rate(&self, slope: f64) -> impl Iterator<Item = f64> + '_ {
        let centre = self.iops.ln() - slope * self.share.clamp(1.0 / FAR, FAR).ln();
        self.rates.iter().map(move |rate| centre + rate)
    }

    /// Returns the logarithm of the capacity, tick by tick: the rate, corrected for the deviation of the statistic.
    fn capacity(&self, slope: f64) -> impl Iterator<Item = f64> + '_ {
        self.rate(slope).zip(&self.statistic).map(move |(rate, off)| rate - slope * off)
    }
}

/// The answer of a search.
pub(super) struct Answered {
    pub(super) iops: f64,
    /// Statistic of the binding limit divided by its bound.
    pub(super) share: f64,
}

/// The intervals of an answer.
pub(super) struct Prediction {
    /// IOPS of the answer, with the 95 % CI of the capacity.
    pub(super) iops: Estimate,
    /// True if the CI is that of the capacity averaged over all windows.
    pub(super) over_all: bool,
    /// `None` if the windows are too short or not informative.
    pub(super) pi95: Option<[f64; 2]>,
    pub(super) wander: Option<result::Wander>,
}

impl Prediction {
    /// Widens the prediction interval so that the next answer may be off by at least `off` in both directions, as a
    /// logarithm.
    pub(super) fn no_surer_than(self, off: f64) -> Self {
        let factor = off.exp().min(WIDEST);
        let reached = [self.iops.mean / factor, self.iops.mean * factor];
        Self { pi95: self.pi95.map(|pi95| enclosing(pi95, reached)), ..self }
    }
}

/// Returns what the windows of a search near its limit, in order of time with the answer's last, show about the
/// capacity. The next search begins `apart_seconds` after this one began. If no limit ended the search, the CI of the
/// capacity is the answer's own.
pub(super) fn predict(
    windows: &[&Ticks],
    answer: &Answered,
    capacity: &Capacity,
    apart_seconds: f64,
    by_limit: bool,
) -> Prediction {
    let own = capacity.iops;
    let Some(found) = of_windows(windows, answer, capacity, apart_seconds) else {
        return Prediction { iops: own, over_all: false, pi95: None, wander: None };
    };
    let ci95 = if by_limit { found.ci95 } else { own.ci95 };
    Prediction {
        iops: Estimate { ci95, ..own },
        over_all: by_limit,
        pi95: Some(enclosing(found.pi95, ci95)),
        wander: found.wander,
    }
}

/// What all windows together show about the capacity.
struct OfWindows {
    /// 95 % CI of its average over all of them.
    ci95: [f64; 2],
    pi95: [f64; 2],
    wander: Option<result::Wander>,
}

/// The noise of the capacity is that of the rate plus that of the statistic, which the slope of the curve converts into
/// one of the rate. A window that broke its limit counts like one that kept it: leaving it out would select the lucky
/// ones. [`Wander`] gives the error of the average and how much the next one may differ. Neither interval is narrower
/// than the answer's own. The prediction also includes the distance of the confirmed queue depth from the limit:
/// another search may stop as far from it.
fn of_windows(
    windows: &[&Ticks],
    answer: &Answered,
    capacity: &Capacity,
    apart_seconds: f64,
) -> Option<OfWindows> {
    let last = windows.last()?;
    let slope = capacity.slope;
    let noise = Joined::of(windows.iter().flat_map(|window| window.capacity(slope)), last.seconds);
    let noise_of = Wander::of(&noise.values)?;
    let own = capacity.iops.half_width() / answer.iops;
    let mean = noise.values.iter().sum::<f64>() / noise.values.len() as f64;
    let lowest = answer.iops.min(capacity.iops.ci95[0]);
    let around = |half: f64| {
        let half = half.min(WIDEST.ln());
        let [low, high] = [(mean - half).exp(), (mean + half).exp()];
        (mean.is_finite() && high.is_finite()).then_some([low.min(lowest), high.max(answer.iops)])
    };
    let ci_half = or_own(&noise_of.mean_error(), own);
    let off = slope * answer.share.clamp(1.0 / FAR, 1.0).ln();
    let next = noise_of.next(apart_seconds / noise.seconds).half_width(PROBABILITY);
    let own_next = std::f64::consts::SQRT_2 * own;
    // An unknown error of the answer is not a bound.
    let pi_half = if own_next.is_finite() { next.max(own_next) } else { next }.hypot(off);
    let rates = Joined::of(windows.iter().flat_map(|window| window.rate(slope)), last.seconds);
    Some(OfWindows { ci95: around(ci_half)?, pi95: around(pi_half)?, wander: wander(&rates, last) })
}

/// Values at equal distances in time.
struct Joined {
    values: Vec<f64>,
    /// Distance between two values.
    seconds: f64,
}

impl Joined {
    /// Averages values over about [`JOINED`] parts of equal length.
    fn of(ticks: impl Iterator<Item = f64>, tick_seconds: f64) -> Self {
        let values: Vec<f64> = ticks.collect();
        let count = values.len().div_ceil(JOINED).max(1);
        Self { values: join(&values, count), seconds: count as f64 * tick_seconds }
    }
}

/// Returns a prediction interval that contains the CI: the next answer is no more certain than this one.
fn enclosing(pi95: [f64; 2], ci95: [f64; 2]) -> [f64; 2] {
    let ends = [pi95[0].min(ci95[0]), pi95[1].max(ci95[1])];
    if ends.iter().all(|end| end.is_finite()) { ends } else { pi95 }
}

/// Returns the answer's own half-width, which is known more exactly, or the typical half-width that allows for noise of
/// all time scales, if that is clearly larger.
fn or_own(wandering: &Difference, own: f64) -> f64 {
    let typical = wandering.typical_half_width(PROBABILITY);
    if typical > WANDERS * own || !own.is_finite() { typical } else { own }
}

/// Returns how the rate wandered, if it did.
fn wander(rates: &Joined, answer: &Ticks) -> Option<result::Wander> {
    let wander = Wander::of(&rates.values)?;
    let ticks = rates.values.len() as f64;
    let next = wander.neighbours(ticks).typical();
    let kept = answer.by_second();
    let wanders = next > WANDERS * wander.white() && NORMAL_95 * next > NOTABLE;
    let kept_iops = kept.get((kept.len() as f64 * BELOW_KEPT) as usize);
    let kept_iops = kept_iops.filter(|_| wanders && kept.len() >= FEWEST_KEPT)?;
    Some(result::Wander {
        deviation: wander.deviation(ticks / 2.0),
        over_seconds: ticks * rates.seconds / 2.0,
        kept_iops: *kept_iops,
        windows: kept.len() as u64,
    })
}

/// Returns true if a performance shift may be noise: with this probability, noise explains a change of that size in the
/// rate near the limit, and the rate came back by at least half of it.
///
/// `change` is a difference of logarithms. The two windows that showed it are `seconds` long and start `apart_seconds`
/// apart.
pub(super) fn comes_and_goes(
    near: &[&Ticks],
    change: f64,
    [seconds, apart_seconds]: [f64; 2],
    probability: f64,
) -> bool {
    let Some(last) = near.last() else { return false };
    let rates = Joined::of(near.iter().flat_map(|window| window.rate(0.0)), last.seconds);
    let ticks = |seconds: f64| seconds / rates.seconds;
    // A shorter series does not show noise over that time.
    let is_long = rates.values.len() as f64 >= ticks(apart_seconds);
    let Some(wander) = Wander::of(&rates.values).filter(|_| is_long) else { return false };
    let explained = wander.apart(ticks(seconds), ticks(apart_seconds)).half_width(probability);
    let windows = join(&rates.values, (ticks(seconds).round() as usize).max(1));
    change.abs() <= explained && taken_back(&windows, change) >= change.abs() / 2.0
}

/// Returns the largest movement against a change, from one value to a later one.
fn taken_back(values: &[f64], change: f64) -> f64 {
    let against = values.iter().map(|value| -value * change.signum());
    let mut lowest = f64::INFINITY;
    against.fold(0.0, |most: f64, value| {
        lowest = lowest.min(value);
        most.max(value - lowest)
    })
}

/// Returns each tick's contribution to the mean latency, relative to it, times the number of ticks.
fn of_mean(series: &[IntervalPoint], side: Side, mean_ns: f64) -> Vec<f64> {
    let which = which(side);
    let ios = |tick: &IntervalPoint| which.ios(tick) as f64;
    let per_tick = series.iter().map(ios).sum::<f64>() / series.len() as f64;
    let off = |tick: &IntervalPoint| {
        which.latency_sum_ns(tick) as f64 / (mean_ns * per_tick) - ios(tick) / per_tick
    };
    finite(series.iter().map(off)).unwrap_or_default()
}

/// Returns each tick's contribution to a percentile, relative to it, times the number of ticks: its excess of I/Os over
/// the bound, divided by the density of the logarithms of latencies there (the influence function of a quantile; P. J.
/// Huber, Robust Statistics, 3.3).
fn of_percentile(over: &[Batch], judged: &Judged, latencies: &Histogram) -> Vec<f64> {
    let total: f64 = over.iter().map(|tick| tick.weight).sum();
    let share = over.iter().map(|tick| tick.sum).sum::<f64>() / total;
    let per_tick = total / over.len() as f64;
    let up_to = |ns: f64| latencies.count_at_or_below(ns as u64) as f64;
    let around = |ns: f64| up_to(ns * AROUND) - up_to(ns / AROUND);
    let at_bound = around(judged.limit.bound_ns as f64);
    let near = if at_bound > 0.0 { at_bound } else { around(judged.value) };
    let density = near / latencies.count() as f64 / (2.0 * AROUND.ln());
    let off = |tick: &Batch| (tick.sum - share * tick.weight) / (per_tick * density);
    finite(over.iter().map(off)).unwrap_or_default()
}

/// Returns `None` if a value is not finite.
fn finite(values: impl Iterator<Item = f64>) -> Option<Vec<f64>> {
    let values: Vec<f64> = values.collect();
    values.iter().all(|value| value.is_finite()).then_some(values)
}

/// Returns averages of `count` values each. The remainder at the end is left out.
fn join(values: &[f64], count: usize) -> Vec<f64> {
    values.chunks_exact(count).map(|part| part.iter().sum::<f64>() / count as f64).collect()
}

impl Ticks {
    /// Returns I/Os per second over windows of [`KEPT_SECONDS`], in ascending order.
    fn by_second(&self) -> Vec<f64> {
        let count = ((KEPT_SECONDS / self.seconds).round() as usize).max(1);
        let mut rates: Vec<f64> =
            join(&self.rates, count).iter().map(|off| self.iops * (1.0 + off)).collect();
        rates.sort_by(f64::total_cmp);
        rates
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::synthetic::Random;
    use iogauge_model::result::Estimate;

    const ANSWERED: Answered = Answered { iops: 1000.0, share: 1.0 };

    fn capacity(half: f64) -> Capacity {
        let iops = Estimate { mean: 1000.0, ci95: [1000.0 - half, 1000.0 + half], n: 400 };
        Capacity { iops, slope: 0.0 }
    }

    /// A confirmation of ten seconds whose rate deviates by these shares.
    fn confirm(rates: Vec<f64>) -> Ticks {
        let statistic = vec![0.0; rates.len()];
        Ticks { iops: 1000.0, share: 1.0, seconds: 10.0 / rates.len() as f64, rates, statistic }
    }

    fn white(seed: u64) -> Ticks {
        confirm(Random::new(seed).ar1(400, 0.0, 0.0).iter().map(|off| off / 20.0).collect())
    }

    #[test]
    fn taken_back_is_largest_reversal_against_the_trend() {
        let fall = -0.3;
        assert_eq!(taken_back(&[], fall), 0.0);
        assert_eq!(taken_back(&[3.0, 2.0, 1.0], fall), 0.0);
        assert_eq!(taken_back(&[3.0, 1.0, 2.0, 1.5], fall), 1.0);
        assert_eq!(taken_back(&[3.0, 1.0, 2.0, 1.5], 0.3), 2.0);
    }

    #[test]
    fn without_slow_noise_prediction_uses_the_answers_error() {
        let half = 1000.0 * 0.05 * NORMAL_95 / 20.0;
        let width = |[low, high]: [f64; 2]| (high - low) / 2.0 / half;
        let of = |seed| of_windows(&[&white(seed)], &ANSWERED, &capacity(half), 20.0).unwrap();
        let found: Vec<OfWindows> = (0..101).map(of).collect();
        let median = |of: &dyn Fn(&OfWindows) -> f64| {
            let mut values: Vec<f64> = found.iter().map(of).collect();
            values.sort_by(f64::total_cmp);
            values[50]
        };
        let (ci, pi) = (median(&|p| width(p.ci95)), median(&|p| width(p.pi95)));
        // Both searches are off, and noise slower than one of them may be unseen: the next search begins twice the
        // length of the confirmation after this one.
        assert!((0.95..1.1).contains(&ci) && (1.35..3.7).contains(&pi), "{ci} {pi}");
        let wandering = found.iter().filter(|found| found.wander.is_some()).count();
        assert!(wandering <= 5, "{wandering}");
    }

    #[test]
    fn wandering_rate_widens_prediction_and_is_reported() {
        let slow = Random::new(5).ar1(400, 0.0, 0.995).iter().map(|off| off / 10.0).collect();
        let found = of_windows(&[&confirm(slow)], &ANSWERED, &capacity(5.0), 20.0).unwrap();
        let wander = found.wander.unwrap();
        assert!(found.pi95[1] - found.pi95[0] > 100.0, "{:?}", found.pi95);
        assert_eq!((wander.windows, wander.over_seconds.round()), (10, 5.0));
        assert!(wander.deviation > 0.01 && wander.kept_iops < 1000.0, "{wander:?}");
    }

    /// A confirmation that exceeded its bound by a third shows that the capacity is lower.
    #[test]
    fn failed_confirmations_lower_the_interval() {
        let failed = Ticks { share: 1.33, ..white(2) };
        let capacity = Capacity { slope: 0.5, ..capacity(5.0) };
        let alone = of_windows(&[&white(1)], &ANSWERED, &capacity, 20.0).unwrap();
        let both = of_windows(&[&failed, &white(1)], &ANSWERED, &capacity, 20.0).unwrap();
        assert!(both.ci95[0] < alone.ci95[0] - 50.0, "{:?} {:?}", both.ci95, alone.ci95);
    }

    #[test]
    fn no_prediction_without_usable_windows() {
        assert!(of_windows(&[], &ANSWERED, &capacity(5.0), 20.0).is_none());
        let short = confirm(vec![0.0; 8]);
        assert!(of_windows(&[&short], &ANSWERED, &capacity(5.0), 20.0).is_none());
        let nothing = Ticks { iops: 0.0, ..white(1) };
        let answered = Answered { iops: 0.0, share: f64::INFINITY };
        assert!(of_windows(&[&nothing], &answered, &capacity(5.0), 20.0).is_none());
    }
}
