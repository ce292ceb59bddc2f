//! What all windows together say of the limits.
//!
//! An answer is a claim. Some load up to it has to keep the limits surely, and what bounds it from above has to break
//! one surely, or to give no more.

use super::Search;
use super::judge::{FAR, Judged};
use super::narrow::WORTH;
use super::point::Point;
use crate::observe::Verdict;
use crate::stats::at_most;
use iogauge_model::limit::Metric;

/// What chance does in so many cases at most shows nothing.
const CHANCE: f64 = 0.05;
/// Windows of no larger share of a depth say what the smallest depth does: the depth itself lies near a limit.
pub(super) const SMALLER: f64 = 0.5;

/// A depth that is no larger by this factor hardly gives more.
const MUCH_MORE: f64 = 1.2;

/// IOPS that are known no better may be any others.
const KNOWN: f64 = 0.5;

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

impl Search<'_, '_> {
    /// All windows of the present level.
    fn windows(&self) -> impl Iterator<Item = &Point> {
        let count = self.shifts.len();
        let aside = self.aside.iter().filter(move |(at, _)| *at >= count);
        self.points.iter().chain(aside.map(|(_, point)| point)).filter(|point| !point.starved)
    }

    /// True where some depth up to a point's surely keeps the limits: its own, or by all windows of clearly smaller
    /// ones the smallest, whatever the level.
    pub(super) fn is_sure(&self, answer: &Point) -> bool {
        let aside = self.aside.iter().map(|(_, point)| point);
        let all = self.points.iter().chain(&self.before).chain(aside);
        let most = f64::from(answer.queue_depth) * SMALLER;
        let smaller = all.filter(|p| !p.starved && f64::from(p.queue_depth) <= most);
        is_sure(&answer.judged) || is_smallest_sure(smaller.map(|point| &point.judged[..]))
    }

    /// How much longer the windows up to a depth have to be, in seconds, until they tell of a maximum.
    pub(super) fn unwatched_seconds(&self, confirmed: &Point) -> f64 {
        let stalls = |queue_depth: u32, judged: &[Judged]| {
            breaks_maximum(judged)
                && (queue_depth <= confirmed.queue_depth
                    || !self.depth_explains(queue_depth, judged))
        };
        let points = self.windows().map(|p| Watched {
            began_ns: p.began_ns,
            load: p.queue_depth.into(),
            seconds: p.seconds,
            is_over: stalls(p.queue_depth, &p.judged),
        });
        let strays = self.bench.strays.iter().map(|stray| Watched {
            began_ns: stray.began_ns,
            load: stray.queue_depth.into(),
            seconds: stray.seconds,
            is_over: stalls(stray.queue_depth, &stray.judged),
        });
        unwatched_seconds(points.chain(strays), confirmed.queue_depth.into())
    }

    /// True where the maxima at a depth are those of a somewhat smaller one that kept the limits, and about as much longer
    /// as it is deeper: past saturation latency is in proportion to depth.
    fn depth_explains(&self, queue_depth: u32, judged: &[Judged]) -> bool {
        const NEAR: f64 = 2.0;
        self.windows().filter(|point| point.met && point.queue_depth < queue_depth).any(|point| {
            let times = f64::from(queue_depth) / f64::from(point.queue_depth);
            times <= NEAR && are_longer_by(&point.judged, judged, times)
        })
    }

    /// What all windows at a depth say together.
    fn pooled_at(&self, queue_depth: u32) -> Vec<Judged> {
        pooled(
            self.windows().filter(|p| p.queue_depth == queue_depth).map(|point| &point.judged[..]),
        )
    }

    /// True where all windows at a depth together keep the limits.
    pub(super) fn is_kept_at(&self, queue_depth: u32) -> bool {
        let pooled = self.pooled_at(queue_depth);
        !pooled.is_empty() && pooled.iter().all(Judged::is_met)
    }

    /// True where a window at a depth is long enough to say that noise broke the limits there before.
    pub(super) fn outweighs(&self, again: &Point) -> bool {
        const SHORTER: f64 = 4.0;
        let broken = self.windows().filter(|p| p.queue_depth == again.queue_depth && !p.met);
        broken.map(|p| p.seconds).fold(0.0, f64::max) <= again.seconds * SHORTER
    }

    /// The next depth above one that was held, where it broke a limit by no more than chance may explain, and may
    /// give clearly more. IOPS rise no faster than depth, since latency does not fall.
    pub(super) fn open_above(&self, confirmed: &Point) -> Option<u32> {
        let ceiling = self.ceiling(confirmed.queue_depth)?;
        let is_known = ceiling.iops.n > 1 && ceiling.iops.relative_error() <= KNOWN;
        let gives_more = !is_known || ceiling.iops.mean > confirmed.iops.mean * (1.0 + WORTH);
        let is_deeper =
            f64::from(ceiling.queue_depth) > f64::from(confirmed.queue_depth) * MUCH_MORE;
        let is_over =
            self.windows().any(|p| p.queue_depth == ceiling.queue_depth && p.breaks_maximum());
        let breaks = surely_breaks(&self.pooled_at(ceiling.queue_depth));
        (gives_more && is_deeper && !is_over && !breaks).then_some(ceiling.queue_depth)
    }
}
