//! The search for the capacity: the highest IOPS at which every limit holds.
//!
//! One crew runs throughout; its depth is changed while it works. The depth doubles until a limit
//! breaks, the gap is narrowed by what the curve so far predicts, and the answer is held for a
//! longer window before it is given. Where the hold fails, the search goes back below it.

mod knee;
mod narrow;
mod point;

use crate::error::LabError;
use crate::measure::Watch;
use crate::observe::Phase;
use iogauge_io::crew::Crew;
use iogauge_model::Limit;
use iogauge_model::result::{Answer, CurvePoint, Knee, StoppedBy};
use point::{Bench, Point};

/// How a search is to go.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchPlan {
    /// Bounds that all have to hold; at least one.
    pub limits: Vec<Limit>,
    /// Largest depth to try.
    pub max_depth: u32,
    /// Time to spend measuring, in nanoseconds.
    pub budget_ns: u64,
    /// Half width of the interval of the IOPS to aim for, relative to them.
    pub precision: f64,
}

impl Default for SearchPlan {
    fn default() -> Self {
        Self {
            limits: vec![Limit::default()],
            max_depth: 16_384,
            budget_ns: 30_000_000_000,
            precision: 0.02,
        }
    }
}

/// What a search found.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// The capacity.
    pub answer: Answer,
    /// Where more depth begins to buy latency and no IOPS.
    pub knee: Option<Knee>,
    /// Every point measured, by rising depth; of several at one depth the longest.
    pub curve: Vec<CurvePoint>,
    /// Time spent measuring, in seconds.
    pub measured_seconds: f64,
    /// I/Os completed and bytes moved during the whole search.
    pub logical: (u64, u64),
    /// True where the user ended it.
    pub interrupted: bool,
}

/// Share of the budget the doubling may use, and the narrowing with it.
const DOUBLING_SHARE: f64 = 0.5;
const NARROWING_SHARE: f64 = 0.75;
/// IOPS that rise by less than this from one doubling to the next do not rise.
const FLAT: f64 = 1.02;
/// A worker that spends this share of its time on the processor cannot do more.
const CLIENT_BOUND_PERCENT: f64 = 95.0;

/// Searches the capacity on a crew that was started at depth 1.
///
/// # Errors
/// Where a worker's engine fails.
pub fn find(
    crew: &mut dyn Crew,
    plan: &SearchPlan,
    watch: &mut Watch<'_>,
) -> Result<Found, LabError> {
    let start = crew.live();
    let mut search = Search { bench: Bench::new(crew, plan, watch), points: Vec::new() };
    let end = search.run(plan)?;
    let measured_seconds = search.bench.spent_ns() as f64 / 1e9;
    let interrupted = search.bench.interrupted();
    let live = search.bench.live();
    let logical = (live.ios - start.ios, live.bytes - start.bytes);
    let Search { mut points, .. } = search;
    let stopped_by = if interrupted { StoppedBy::Interrupted } else { end.stopped_by };
    points.sort_by(|a, b| a.depth.cmp(&b.depth).then(b.seconds.total_cmp(&a.seconds)));
    points.dedup_by_key(|point| point.depth);
    // A window cut short says less of its depth than a longer one did before.
    let longest = points.iter().find(|point| interrupted && point.depth == end.answer.depth);
    let answer = answer(longest.unwrap_or(&end.answer), stopped_by);
    let knee = knee::of(&points);
    let curve = points.iter().map(Point::curve_point).collect();
    Ok(Found { answer, knee, curve, measured_seconds, logical, interrupted })
}

/// Where a search came to rest.
struct End {
    answer: Point,
    stopped_by: StoppedBy,
}

struct Search<'a, 'b> {
    bench: Bench<'a, 'b>,
    points: Vec<Point>,
}

impl Search<'_, '_> {
    fn run(&mut self, plan: &SearchPlan) -> Result<End, LabError> {
        let budget = plan.budget_ns as f64;
        self.bench.warm_up()?;
        let (good, bad) = self.double(plan, (budget * DOUBLING_SHARE) as u64)?;
        let Some(good) = good else {
            // Depth 1 breaks the limit: one longer look decides.
            let answer = self.measure(1, Phase::Holding, self.hold_ns(plan))?;
            let stopped_by = if answer.met { StoppedBy::Limit } else { StoppedBy::Unattainable };
            return Ok(End { answer, stopped_by });
        };
        let Some(mut bad) = bad else {
            let stopped_by = self.why_doubling_ended(plan, &good);
            return self.hold(plan, good.depth, stopped_by);
        };
        let mut good = good;
        self.narrow(plan, &mut good, &mut bad, (budget * NARROWING_SHARE) as u64)?;
        let stopped_by = if self.client_bound(&bad) { StoppedBy::Client } else { StoppedBy::Limit };
        self.hold(plan, good.depth, stopped_by)
    }

    /// Holds a depth; where it breaks the limit, goes back by as much as the hold shows, until a
    /// depth holds or the budget ends.
    fn hold(
        &mut self,
        plan: &SearchPlan,
        mut depth: u32,
        stopped_by: StoppedBy,
    ) -> Result<End, LabError> {
        loop {
            let answer = self.measure(depth, Phase::Holding, self.hold_ns(plan))?;
            if answer.met || self.bench.interrupted() {
                return Ok(End { answer, stopped_by });
            }
            if depth == 1 {
                return Ok(End { answer, stopped_by: StoppedBy::Unattainable });
            }
            if self.bench.left_ns() < point::SHORTEST_NS {
                let stopped_by = StoppedBy::Budget;
                return Ok(End { answer: self.best_below(depth).unwrap_or(answer), stopped_by });
            }
            depth = narrow::retreat(&answer, &plan.limits);
            self.bench.note(&format!(
                "depth {} did not hold, {}: going back to {depth}",
                answer.depth,
                answer.worst_metric()
            ));
        }
    }

    /// Doubles the depth from 1 until a limit breaks. Returns the last point that held and the
    /// first that did not.
    fn double(
        &mut self,
        plan: &SearchPlan,
        until_ns: u64,
    ) -> Result<(Option<Point>, Option<Point>), LabError> {
        let mut good: Option<Point> = None;
        let mut depth = 1;
        loop {
            let point = self.measure(depth, Phase::Doubling, u64::MAX)?;
            if !point.met {
                return Ok((good, Some(point)));
            }
            let next = narrow::next_doubling(good.as_ref(), &point, &plan.limits);
            good = Some(point);
            let over = self.bench.spent_ns() >= until_ns;
            if depth >= plan.max_depth || over || self.bench.interrupted() {
                return Ok((good, None));
            }
            depth = next.min(plan.max_depth);
        }
    }

    /// Closes the gap between a depth that holds and one that does not.
    fn narrow(
        &mut self,
        plan: &SearchPlan,
        good: &mut Point,
        bad: &mut Point,
        until_ns: u64,
    ) -> Result<(), LabError> {
        while let Some(depth) = narrow::between(good, bad, &plan.limits, plan.precision) {
            if self.bench.interrupted() || self.bench.spent_ns() >= until_ns {
                break;
            }
            let point = self.measure(depth, Phase::Narrowing, u64::MAX)?;
            if point.met {
                *good = point;
            } else {
                *bad = point;
            }
        }
        Ok(())
    }

    fn measure(&mut self, depth: u32, phase: Phase, hold_ns: u64) -> Result<Point, LabError> {
        let point = self.bench.measure(depth, phase, hold_ns)?;
        self.bench.note(&point.sentence(phase));
        self.bench.keep(&point);
        self.points.push(point.clone());
        Ok(point)
    }

    /// The longest hold the budget leaves room for.
    fn hold_ns(&self, plan: &SearchPlan) -> u64 {
        // A failed hold must leave time for another one, as long as there is time for two.
        let left_ns = self.bench.left_ns();
        (left_ns / 2).max(plan.budget_ns / 12).min(left_ns)
    }

    /// The deepest point below a depth that held.
    fn best_below(&self, depth: u32) -> Option<Point> {
        let held = self.points.iter().filter(|p| p.met && p.depth < depth);
        held.max_by_key(|p| p.depth).cloned()
    }

    fn client_bound(&self, point: &Point) -> bool {
        point.cpu_percent >= CLIENT_BOUND_PERCENT * f64::from(self.bench.workers())
    }

    fn why_doubling_ended(&self, plan: &SearchPlan, last: &Point) -> StoppedBy {
        if self.client_bound(last) {
            return StoppedBy::Client;
        }
        if last.depth < plan.max_depth {
            return StoppedBy::Budget;
        }
        let before = self.points.iter().rev().nth(1);
        let flat = before.is_some_and(|b| last.iops.mean < b.iops.mean * FLAT);
        if flat { StoppedBy::Saturated } else { StoppedBy::MaxDepth }
    }
}

fn answer(point: &Point, stopped_by: StoppedBy) -> Answer {
    Answer {
        met: point.met,
        iops: point.iops,
        bytes_per_sec: point.bytes_per_sec,
        depth: point.depth,
        rate_iops: None,
        depth_achieved: point.depth_achieved,
        latency_ns: point.latency,
        stopped_by,
    }
}
