//! What windows show about the limits, one by one and together.

use super::judge::{FAR, Judged};
use crate::observe::Verdict;
use crate::stats::at_most;
use iogauge_model::limit::Metric;

/// Significance level: what chance causes in more cases than this is not evidence.
const CHANCE: f64 = 0.05;
/// Windows at no more than this share of a queue depth are evidence for the smallest one; the queue depth itself lies
/// near a limit.
pub(super) const SMALLER: f64 = 0.5;

/// Returns true if, for every statistic, the 95 % CI has an upper end and that lies within the bound, or the statistic
/// is at most half of the bound and rests on enough I/Os.
pub(super) fn is_sure(judged: &[Judged]) -> bool {
    judged.iter().all(|judged| {
        let is_within = judged.ci95[1] <= judged.bound();
        let has_samples = judged.n >= judged.limit.metric.samples_wanted();
        judged.n > 0 && (is_within || has_samples && judged.share() <= 1.0 / FAR)
    })
}

/// Returns true if a limit clearly breaks.
pub(super) fn surely_breaks(judged: &[Judged]) -> bool {
    judged.iter().any(|judged| judged.verdict() == Verdict::Breaks)
}

/// Returns true if all limits clearly hold.
pub(super) fn surely_holds(judged: &[Judged]) -> bool {
    judged.iter().all(|judged| judged.verdict() == Verdict::Holds)
}

/// Returns true if a maximum is over its bound. An observed maximum has no sampling error.
pub(super) fn breaks_maximum(judged: &[Judged]) -> bool {
    judged
        .iter()
        .any(|judged| judged.limit.metric == Metric::Max && judged.n > 0 && !judged.is_met())
}

/// Returns true if no maximum is longer than the one that was kept by more than the factor `times` and another tenth.
pub(super) fn are_longer_by(kept: &[Judged], now: &[Judged], times: f64) -> bool {
    const MARGIN: f64 = 1.1;
    let mut maxima = kept.iter().zip(now).filter(|(now, _)| now.limit.metric == Metric::Max);
    maxima.all(|(kept, now)| now.value <= kept.value * times * MARGIN)
}

/// Returns true if windows at several loads together show that the smallest load keeps every limit, because no
/// statistic falls with increasing load. For a percentile, the windows would look like this in at most 5 % of cases if
/// the smallest load did not keep the limit (binomial distribution). If only windows whose percentile is at most half
/// of its bound are used, half as many I/Os are enough.
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

/// Returns every limit as judged by windows at one load together. Windows without I/Os do not count.
pub(super) fn pooled<'a>(windows: impl Iterator<Item = &'a [Judged]>) -> Vec<Judged> {
    let windows: Vec<_> = windows.collect();
    let limits = windows.first().map_or(0, |window| window.len());
    (0..limits).filter_map(|limit| pool(windows.iter().map(|window| window[limit]))).collect()
}

/// Returns the mean of a statistic over windows, weighted by their I/Os. Windows whose interval has no upper end count
/// only if there are no others. A maximum is the maximum of all.
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

/// A window as evidence about a maximum.
#[derive(Debug, Clone, Copy)]
pub(super) struct Watched {
    /// Start, in nanoseconds of the search.
    pub(super) began_ns: u64,
    /// Queue depth or rate.
    pub(super) load: f64,
    pub(super) seconds: f64,
    /// True if a maximum was over its bound.
    pub(super) is_over: bool,
}

/// Returns how much longer the windows up to a load must be, in seconds, to show that a maximum that larger loads broke
/// breaks less often there. Returns 0 or less if they are long enough, and infinity if a window up to the load broke
/// it.
///
/// Some targets stall at a certain rate whatever the load. Then all of `k` stalls fall into the windows of the larger
/// loads with probability (larger / all)^k, with the total lengths of the windows: the conditional test of two Poisson
/// rates (J. Przyborowski, H. Wilenski, Biometrika 31 (1940) 313-323). This probability has to be at most 5 %.
pub(super) fn unwatched_seconds(windows: impl Iterator<Item = Watched>, load: f64) -> f64 {
    let mut windows: Vec<Watched> = windows.collect();
    windows.sort_by_key(|window| window.began_ns);
    let (mut larger_seconds, mut larger_broken, mut seconds) = (0.0, 0, 0.0);
    // A stall that continues into the next window counts once.
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

/// What was seen at a queue depth while I/Os of another one completed.
#[derive(Debug, Clone)]
pub(super) struct Stray {
    /// The larger of the two, because the smaller is not the cause.
    pub(super) queue_depth: u32,
    pub(super) began_ns: u64,
    pub(super) seconds: f64,
    pub(super) judged: Vec<Judged>,
}
