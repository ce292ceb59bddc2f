//! What all windows of a search together say of the limits.
//!
//! An answer is a claim. Some load up to it must surely keep the limits, and what bounds it from above must surely
//! break one, or give no more.

use super::Search;
use super::evidence::{
    SMALLER, Watched, are_longer_by, breaks_maximum, is_smallest_sure, is_sure, pooled,
    surely_breaks, unwatched_seconds,
};
use super::judge::Judged;
use super::narrow::WORTH;
use super::point::Point;

/// A depth that is no larger by this factor hardly gives more.
const MUCH_MORE: f64 = 1.2;

/// IOPS that are known no better may be any others.
const KNOWN: f64 = 0.5;

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
