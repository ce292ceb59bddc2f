//! The bracket: a queue depth that keeps the limits and a larger one that breaks one, and how the gap is narrowed.

use super::bench::ClientBound;
use super::point::{FullQueue, Point, longest_of_each_depth};
use super::window_length;

use super::{ClosedLoop, SearchPlan, narrow};
use crate::error::LabError;
use crate::observe::Phase;
use crate::observe::{Decision, Next, Why};

/// Result of the doubling.
pub(super) enum Bracket {
    Between(Point, Box<Point>),
    /// Everything tried keeps the limits.
    Below(Point),
    /// Queue depth 1 breaks a limit.
    Nothing,
    /// The search had to end in this window, which broke a limit.
    Cut(Point),
    Again(u32),
}

impl ClosedLoop<'_, '_> {
    /// Finds a queue depth that keeps the limits and a larger one that breaks one: upwards by doubling from one that
    /// keeps them, downwards from one that does not.
    pub(super) fn bracket(
        &mut self,
        plan: &SearchPlan,
        from: u32,
        until_ns: u64,
    ) -> Result<Bracket, LabError> {
        let (mut good, mut bad): (Option<Point>, Option<Point>) = (None, None);
        let mut queue_depth = from;
        // The previous pass may just have measured this queue depth.
        let mut known = self.points.iter().rfind(|p| p.queue_depth == from && p.met).cloned();
        loop {
            let point = match known.take() {
                Some(known) => known,
                None => {
                    let point = self.measure(queue_depth, Phase::Doubling)?;
                    if let Some(again) = self.finds_shift(plan, &point)? {
                        return Ok(Bracket::Again(again));
                    }
                    point
                }
            };
            let over = self.bench.spent_ns() >= until_ns || self.bench.must_end();
            if let Some(most) = self.finds_full_queue(&point) {
                if let Some(good) = good.take_if(|good| good.queue_depth == most) {
                    return Ok(Bracket::Below(good));
                }
                good.take_if(|good| good.queue_depth > most);
                (queue_depth, bad) = (most, None);
                continue;
            }
            if point.met {
                if let Some(bad) = bad {
                    return Ok(Bracket::Between(point, Box::new(bad)));
                }
                let max_depth = self.bench.max_depth();
                if point.queue_depth >= max_depth || over {
                    if point.queue_depth < max_depth {
                        self.bench.decide_over(Phase::Doubling);
                    }
                    return Ok(Bracket::Below(point));
                }
                let left_ns = until_ns.saturating_sub(self.bench.spent_ns());
                let left_seconds =
                    if plan.wants_curve() { window_length::seconds(left_ns) } else { 0.0 };
                let next = narrow::next_doubling(good.as_ref(), &point, left_seconds);
                let next = next.at_most(max_depth);
                if narrow::turnover_ns(&point, next.queue_depth) > left_ns as f64 {
                    self.bench.decide_over(Phase::Doubling);
                    return Ok(Bracket::Below(point));
                }
                if let Some(bad) = self.maximum_broken(point.queue_depth, next.queue_depth) {
                    return Ok(Bracket::Between(point, Box::new(bad)));
                }
                self.bench.decide(Decision::Next(next));
                queue_depth = next.queue_depth;
                good = Some(point);
            } else {
                if let Some(below) = good.take() {
                    let Some(deeper) = self.looks_beyond(&below, &point, over)? else {
                        return Ok(Bracket::Between(below, Box::new(point)));
                    };
                    (queue_depth, good) = (deeper.queue_depth, Some(below));
                    known = Some(deeper);
                    continue;
                }
                if self.bench.must_end() {
                    return Ok(Bracket::Cut(point));
                }
                if point.queue_depth == 1 {
                    return Ok(Bracket::Nothing);
                }
                if let Some(good) = self.best_below(point.queue_depth) {
                    return Ok(Bracket::Between(good, Box::new(point)));
                }
                queue_depth = narrow::retreat(&point, None, 0);
                self.bench.decide(point.going_back(queue_depth));
                bad = Some(point);
            }
        }
    }

    /// If a statistic grew between two queue depths by far more than the queue depth explains, measures a larger one.
    /// If that keeps the limits, noise broke them before: sets the broken point aside and returns the new one.
    fn looks_beyond(
        &mut self,
        good: &Point,
        bad: &Point,
        is_over: bool,
    ) -> Result<Option<Point>, LabError> {
        let queue_depth = bad.queue_depth.saturating_mul(2);
        let is_plausible = narrow::is_plausible(good, bad);
        if is_plausible || bad.breaks_maximum() || is_over || queue_depth > self.bench.max_depth() {
            return Ok(None);
        }
        self.bench.decide(Decision::Next(Next {
            queue_depth,
            why: Why::Beyond { broke: bad.queue_depth },
        }));
        let deeper = self.measure(queue_depth, Phase::Doubling)?;
        if !deeper.met {
            return Ok(None);
        }
        self.set_noise_aside(..queue_depth);
        Ok(Some(deeper))
    }

    /// If the queue in front of the target was full at a point, removes that point and others with larger queue depths
    /// than fit into the queue: the target did not see those. Returns the queue depth that fits.
    fn finds_full_queue(&mut self, point: &Point) -> Option<u32> {
        if self.bench.full_queue.is_some() || self.client_bound(point) != ClientBound::No {
            return None;
        }
        let takes_no_more = || self.bench.takes_no_more(&self.points, point);
        let queue = point.own.full_queue.clone().or_else(takes_no_more)?;
        if queue.queue_depth >= point.queue_depth {
            return None;
        }
        let FullQueue { queue_depth, bound } = queue.clone();
        self.points.retain(|point| point.queue_depth <= queue_depth);
        self.bench.decide(Decision::QueueFull { asked: point.queue_depth, queue_depth, bound });
        self.bench.full_queue = Some(queue);
        Some(queue_depth)
    }

    /// Narrows the gap between a queue depth that keeps the limits and one that breaks one. After a performance shift,
    /// returns the queue depth to start again from.
    pub(super) fn narrow(
        &mut self,
        plan: &SearchPlan,
        good: &mut Point,
        bad: &mut Point,
        until_ns: u64,
    ) -> Result<Option<u32>, LabError> {
        while let Some(next) = narrow::between(good, bad, plan.precision) {
            if self.bench.must_end() || self.bench.spent_ns() >= until_ns {
                self.bench.decide_over(Phase::Narrowing);
                break;
            }
            self.bench.decide(Decision::Next(next));
            let point = self.measure(next.queue_depth, Phase::Narrowing)?;
            if let Some(again) = self.finds_shift(plan, &point)? {
                return Ok(Some(again));
            }
            if point.met {
                *good = point;
            } else {
                *bad = point;
            }
        }
        Ok(None)
    }

    /// Returns the point with the smallest queue depth in `above + 1..=up_to` at which a maximum was over its bound.
    fn maximum_broken(&self, above: u32, up_to: u32) -> Option<Point> {
        let between =
            self.points.iter().filter(|p| p.queue_depth > above && p.queue_depth <= up_to);
        between.filter(|p| p.breaks_maximum()).min_by_key(|p| p.queue_depth).cloned()
    }

    /// Returns the point with the smallest queue depth above this one that broke a limit.
    pub(super) fn ceiling(&self, queue_depth: u32) -> Option<&Point> {
        let broken =
            self.points.iter().filter(|point| point.queue_depth > queue_depth && !point.met);
        broken.min_by_key(|point| point.queue_depth)
    }

    /// Returns the point with the largest queue depth below this one that kept the limits, judged by the longest window
    /// at each queue depth.
    pub(super) fn best_below(&self, queue_depth: u32) -> Option<Point> {
        deepest_met(self.points.clone(), queue_depth.saturating_sub(1))
    }
}

/// Returns the point with the largest queue depth, of at most `most_depth`, that kept the limits. At each queue depth
/// the longest window decides. A window that an interrupt cut short counts only if there is no other.
pub(super) fn deepest_met(mut points: Vec<Point>, most_depth: u32) -> Option<Point> {
    points.retain(|point| point.queue_depth <= most_depth);
    longest_of_each_depth(&mut points);
    points.retain(|point| point.met);
    points.iter().rfind(|point| point.is_whole()).or(points.last()).cloned()
}
