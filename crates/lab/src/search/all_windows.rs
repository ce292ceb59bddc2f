//! Evidence from all windows of a search together.
//!
//! An answer needs evidence: some load up to it must surely keep the limits, and what bounds it from above must surely
//! break a limit or give no more IOPS.

use super::ClosedLoop;
use super::conclude::since;
use super::evidence::{
    SMALLER, Watched, are_longer_by, breaks_maximum, is_smallest_sure, is_sure, pooled,
    surely_breaks, unwatched_seconds,
};
use super::judge::Judged;
use super::narrow::WORTH;
use super::point::Point;

/// A queue depth larger by at most this factor hardly gives more IOPS.
const MUCH_MORE: f64 = 1.2;

/// IOPS with a larger relative error count as unknown.
const KNOWN: f64 = 0.5;

impl ClosedLoop<'_, '_> {
    /// Returns all windows since the last performance shift, except starved ones.
    fn windows(&self) -> impl Iterator<Item = &Point> {
        let aside = since(&self.aside, self.shifts.len());
        self.points.iter().chain(aside).filter(|point| !point.starved)
    }

    /// Returns true if some queue depth up to a point's surely keeps the limits: its own, or the smallest one, as shown
    /// by all windows at clearly smaller queue depths, including those from before performance shifts.
    pub(super) fn is_sure(&self, answer: &Point) -> bool {
        let aside = self.aside.iter().map(|(_, point)| point);
        let all = self.points.iter().chain(&self.before).chain(aside);
        let most = f64::from(answer.queue_depth) * SMALLER;
        let smaller = all.filter(|p| !p.starved && f64::from(p.queue_depth) <= most);
        is_sure(&answer.judged) || is_smallest_sure(smaller.map(|point| &point.judged[..]))
    }

    /// Returns how much longer the windows up to a queue depth must be, in seconds, to be evidence about a maximum.
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

    /// Returns true if the queue depth explains the maxima: a smaller one, by at most a factor of two, kept the limits,
    /// and the maxima grew about in proportion to the queue depth, as latency does past saturation.
    fn depth_explains(&self, queue_depth: u32, judged: &[Judged]) -> bool {
        const NEAR: f64 = 2.0;
        self.windows().filter(|point| point.met && point.queue_depth < queue_depth).any(|point| {
            let times = f64::from(queue_depth) / f64::from(point.queue_depth);
            times <= NEAR && are_longer_by(&point.judged, judged, times)
        })
    }

    /// Returns the limits as judged by all windows at a queue depth together.
    fn pooled_at(&self, queue_depth: u32) -> Vec<Judged> {
        pooled(
            self.windows().filter(|p| p.queue_depth == queue_depth).map(|point| &point.judged[..]),
        )
    }

    /// Returns true if all windows at a queue depth together keep the limits.
    pub(super) fn is_kept_at(&self, queue_depth: u32) -> bool {
        let pooled = self.pooled_at(queue_depth);
        !pooled.is_empty() && pooled.iter().all(Judged::is_met)
    }

    /// Returns true if a window at a queue depth is long enough to show that noise broke the limits there before.
    pub(super) fn outweighs(&self, again: &Point) -> bool {
        const SHORTER: f64 = 4.0;
        let broken = self.windows().filter(|p| p.queue_depth == again.queue_depth && !p.met);
        broken.map(|p| p.seconds).fold(0.0, f64::max) <= again.seconds * SHORTER
    }

    /// Returns the next queue depth above a confirmed one, if chance may have broken a limit there and it may give
    /// clearly more IOPS. IOPS rise no faster than the queue depth, because latency does not fall.
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
