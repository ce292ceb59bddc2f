//! What windows say of the limits, one by one and together.

use super::judge::{FAR, Judged};
use crate::observe::Verdict;
use crate::stats::at_most;
use iogauge_model::limit::Metric;

/// What chance does in so many cases at most shows nothing.
const CHANCE: f64 = 0.05;
/// Windows of no larger share of a depth say what the smallest depth does: the depth itself lies near a limit.
pub(super) const SMALLER: f64 = 0.5;

/// True where the 95 % interval of every statistic has an upper end, and that lies within the bound; or where the
/// statistic is half of the bound or less, and rests on as many I/Os as it takes.
pub(super) fn is_sure(judged: &[Judged]) -> bool {
    judged.iter().all(|judged| {
        let is_within = judged.ci95[1] <= judged.bound();
        let has_samples = judged.n >= judged.limit.metric.samples_wanted();
        judged.n > 0 && (is_within || has_samples && judged.share() <= 1.0 / FAR)
    })
}

/// True where a limit is clearly broken.
pub(super) fn surely_breaks(judged: &[Judged]) -> bool {
    judged.iter().any(|judged| judged.verdict() == Verdict::Breaks)
}

/// True where all limits clearly hold.
pub(super) fn surely_holds(judged: &[Judged]) -> bool {
    judged.iter().all(|judged| judged.verdict() == Verdict::Holds)
}

/// True where a maximum is over its bound: what was seen was seen.
pub(super) fn breaks_maximum(judged: &[Judged]) -> bool {
    judged
        .iter()
        .any(|judged| judged.limit.metric == Metric::Max && judged.n > 0 && !judged.is_met())
}

/// True where no maximum is longer than one that was kept by more than so many times, and a tenth.
pub(super) fn are_longer_by(kept: &[Judged], now: &[Judged], times: f64) -> bool {
    const MARGIN: f64 = 1.1;
    let mut maxima = kept.iter().zip(now).filter(|(now, _)| now.limit.metric == Metric::Max);
    maxima.all(|(kept, now)| now.value <= kept.value * times * MARGIN)
}

/// True where windows at several loads together show that the smallest keeps every limit, for no statistic falls with
/// the load: in 5 % of cases at most they would do where it does not. Of windows whose percentile is half of its bound
/// or less half as many I/Os say so.
pub(super) fn is_smallest_sure<'a>(windows: impl Iterator<Item = &'a [Judged]>) -> bool {
    let windows: Vec<_> = windows.collect();
    let limits = windows.first().map_or(0, |window| window.len());
    let is_limit_sure = |limit: usize| {
        let seen: Vec<Judged> = windows.iter().map(|w| w[limit]).filter(|w| w.n > 0).collect();
        let Some(first) = seen.first() else { return false };
        match first.limit.metric {
            Metric::Max => seen.iter().all(Judged::is_met),
            Metric::Mean => pool(seen.into_iter()).is_some_and(|pooled| is_sure(&[pooled])),
            Metric::Percentile(percent) => {
                let far = || seen.iter().filter(|window| window.share() <= 1.0 / FAR);
                let (over, n) = seen.iter().fold((0, 0), |(over, n), w| (over + w.over, n + w.n));
                let (far_over, far_n) =
                    far().fold((0, 0), |(over, n), w| (over + w.over, n + 2 * w.n));
                let is_unlikely = |over, n| at_most(over, n, 1.0 - percent / 100.0) <= CHANCE;
                is_unlikely(over, n) || is_unlikely(far_over, far_n)
            }
        }
    };
    limits > 0 && (0..limits).all(is_limit_sure)
}

/// What windows at one load say of every limit together. Those without an I/O say nothing.
pub(super) fn pooled<'a>(windows: impl Iterator<Item = &'a [Judged]>) -> Vec<Judged> {
    let windows: Vec<_> = windows.collect();
    let limits = windows.first().map_or(0, |window| window.len());
    (0..limits).filter_map(|limit| pool(windows.iter().map(|window| window[limit]))).collect()
}

/// The mean of a statistic over windows, weighed by their I/Os. Those whose interval has no end count where there are
/// no others. A maximum is that of all.
fn pool(windows: impl Iterator<Item = Judged>) -> Option<Judged> {
    let seen: Vec<Judged> = windows.filter(|window| window.n > 0).collect();
    let longest = *seen.iter().max_by_key(|window| window.n)?;
    let known: Vec<&Judged> = seen.iter().filter(|window| window.ci95[1].is_finite()).collect();
    if longest.limit.metric == Metric::Max {
        return seen.into_iter().max_by(|a, b| a.value.total_cmp(&b.value));
    }
    if known.is_empty() {
        return Some(longest);
    }
    let over = known.iter().map(|window| window.over).sum();
    let n: u64 = known.iter().map(|window| window.n).sum();
    let weight = |window: &Judged| window.n as f64 / n as f64;
    let value: f64 = known.iter().map(|window| weight(window) * window.value).sum();
    let reach = |end: usize| {
        let square = |w: &&Judged| (weight(w) * (w.ci95[end] - w.value)).powi(2);
        known.iter().map(square).sum::<f64>().sqrt()
    };
    let ci95 = [(value - reach(0)).max(0.0), value + reach(1)];
    Some(Judged { value, ci95, n, over, ..longest })
}

/// A window, as far as a maximum goes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Watched {
    /// When it began, in nanoseconds of the search.
    pub(super) began_ns: u64,
    /// Depth or rate.
    pub(super) load: f64,
    pub(super) seconds: f64,
    /// A maximum was over its bound.
    pub(super) is_over: bool,
}

/// How much longer the windows up to a load have to be, in seconds, before they show that a maximum that larger loads
/// broke is not broken there as often. 0 and less where they do; infinite where a window up to the load broke it.
///
/// Stalls of the target come at some rate, whatever the load. If so, all of `k` fall into the windows of the
/// larger loads with probability (larger / all)^k, by their lengths: the conditional test of two Poisson rates
/// (J. Przyborowski, H. Wilenski, Biometrika 31 (1940) 313-323). It has to be 5 % at most.
pub(super) fn unwatched_seconds(windows: impl Iterator<Item = Watched>, load: f64) -> f64 {
    let mut windows: Vec<Watched> = windows.collect();
    windows.sort_by_key(|window| window.began_ns);
    let (mut larger_seconds, mut larger_broken, mut seconds) = (0.0, 0, 0.0);
    // A stall that goes on into the next window is one.
    let mut goes_on = false;
    for window in windows {
        let begins = window.is_over && !goes_on;
        goes_on = window.is_over;
        if window.load > load {
            larger_seconds += window.seconds;
            larger_broken += i32::from(begins);
        } else if window.is_over {
            return f64::INFINITY;
        } else {
            seconds += window.seconds;
        }
    }
    if larger_broken == 0 {
        return 0.0;
    }
    larger_seconds * (CHANCE.powf(-1.0 / f64::from(larger_broken)) - 1.0) - seconds
}

/// What was seen at a depth while I/Os of another were waited for.
#[derive(Debug, Clone)]
pub(super) struct Stray {
    /// The larger of the two: the smaller is not to blame.
    pub(super) queue_depth: u32,
    pub(super) began_ns: u64,
    pub(super) seconds: f64,
    pub(super) judged: Vec<Judged>,
}
