//! The search for the capacity: the highest IOPS at which every limit holds.
//!
//! One crew runs throughout; its depth is changed while it works. The depth doubles until a limit
//! breaks, the gap is narrowed by what the curve so far predicts, and the answer is held for a
//! longer window before it is given. Where the hold fails, the search goes back below it; where the
//! target has come to another level meanwhile, it begins again from there.

mod bench;
mod capacity;
mod decision;
mod exceeding;
mod hold;
mod judge;
mod knee;
mod narrow;
mod open;
mod point;
mod prediction;
mod queue;
mod regime;
mod starvation;

use crate::error::LabError;
use crate::measure::Watch;
use crate::observe::Phase;
use crate::pauses::Pauses;
use bench::Bench;
pub(crate) use bench::CLIENT_BOUND_PERCENT;
use capacity::{Capacity, DepthPlace};
use iogauge_io::crew::Crew;
use iogauge_model::Limit;
use iogauge_model::load::ArrivalProcess;
use iogauge_model::result::{Answer, CurvePoint, IntervalPoint, Knee, Regime, StoppedBy};
use judge::Judged;
pub(crate) use judge::limit_value;
pub use open::find_open;
use point::{Point, Stretch};
use prediction::{Answered, Ticks};
use queue::FullQueue;
use regime::{Level, Windows};

pub use decision::{Crossing, Decision, Judgement, Measured, MeasuredRate, Next, Why};
pub use judge::{CARE, Verdict};
pub use starvation::{Starved, WithStarved};

/// How a search is to go.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchPlan {
    /// Bounds that all have to hold; at least one.
    pub limits: Vec<Limit>,
    /// Largest depth to try; in an open loop the most I/Os that may be outstanding.
    pub max_depth: u32,
    /// Time to spend measuring, in nanoseconds.
    pub budget_ns: u64,
    /// Half width of the interval of the IOPS to aim for, relative to them.
    pub precision: f64,
    /// Share of its time that the client may lack a processor; stretches in which it lacks one for longer
    /// are left out. At 1 and above nothing is.
    pub max_starvation: f64,
    /// Searches the rate of such arrivals, by response time; `None` searches the depth of a closed
    /// loop.
    pub open_loop: Option<ArrivalProcess>,
}

impl SearchPlan {
    /// True where the curve of a closed loop is part of the result. An open loop only begins with one.
    fn wants_curve(&self) -> bool {
        self.open_loop.is_none()
    }
}

impl Default for SearchPlan {
    fn default() -> Self {
        Self {
            limits: vec![Limit::default()],
            max_depth: 16_384,
            budget_ns: 30_000_000_000,
            precision: 0.02,
            max_starvation: 0.05,
            open_loop: None,
        }
    }
}

/// What a search found.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// The capacity.
    pub answer: Answer,
    /// The smallest depth measured that gives nearly all of the answer.
    pub knee: Option<Knee>,
    /// Every point measured, by rising depth; of several at one depth the longest.
    pub curve: Vec<CurvePoint>,
    /// All that was done from the begin of the search to its end, between the points as well.
    pub series: Vec<IntervalPoint>,
    /// Changes of the target's level that the search lived through; the answer and the curve are
    /// those after the last.
    pub regimes: Vec<Regime>,
    /// Points of the curve that contradict each other.
    pub drift: Option<Drift>,
    /// Time spent measuring, in seconds, without what was left out for pauses.
    pub measured_seconds: f64,
    /// Pauses of iogauge during the search.
    pub pauses: Pauses,
    /// Part of `measured_seconds` spent on points that a pause spoilt, which the budget does not count.
    pub spoilt_seconds: f64,
    /// Stretches in which the client lacked processor time, which are left out.
    pub starved: Starved,
    /// The answer with what is left out of it; `None` where nothing is.
    pub with_starved: Option<WithStarved>,
    /// I/Os completed and bytes moved during the whole search.
    pub logical: (u64, u64),
    /// True where the user ended it.
    pub interrupted: bool,
}

/// A depth that gave clearly fewer IOPS than one no deeper had given before.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Drift {
    /// The earlier depth and the later.
    pub depths: [u32; 2],
    /// IOPS of the earlier.
    pub before_iops: f64,
    /// IOPS of the later.
    pub after_iops: f64,
}

impl Drift {
    /// What was left of the earlier IOPS.
    #[must_use]
    pub fn share(&self) -> f64 {
        self.after_iops / self.before_iops
    }
}

/// Share of the budget the doubling may use, and the narrowing with it.
const DOUBLING_SHARE: f64 = 0.5;
const NARROWING_SHARE: f64 = 0.75;
/// A search begins again after a change of level as long as this share of the budget is left.
const RESTART_SHARE: f64 = 0.25;
/// IOPS that rise by less than this from one doubling to the next do not rise.
const FLAT: f64 = 1.02;

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
    let mut search = Search {
        bench: Bench::new(crew, plan, watch),
        points: Vec::new(),
        before: Vec::new(),
        levels: Vec::new(),
    };
    let end = search.run(plan)?;
    if plan.wants_curve() {
        search.complete_curve(&end.answer)?;
    }
    let measured_seconds = search.bench.elapsed_ns() as f64 / 1e9;
    let spoilt_seconds = search.bench.spoilt_ns() as f64 / 1e9;
    let pauses = search.bench.pauses();
    let interrupted = search.bench.interrupted();
    let live = search.bench.live();
    let logical = (live.ios - start.ios, live.bytes - start.bytes);
    let Search { mut points, before, mut levels, bench } = search;
    let all_points: Vec<Point> = before.iter().chain(&points).cloned().collect();
    let starved = bench.starved;
    let full_queue = bench.full_queue.clone();
    let came_back = bench.came_back;
    let series = bench.into_series();
    // What comes and goes is noise, and so is what the rate wanders by anyway.
    let of_last: Vec<&Ticks> =
        near_limit(&points, &end.answer).iter().filter_map(|point| point.ticks.as_ref()).collect();
    levels.retain(|level| !came_back && !level.is_noise(&of_last));
    let is_noise = levels.is_empty();
    let near = near_limit(if is_noise { &all_points } else { &points }, &end.answer);
    let windows: Vec<Ticks> = near.iter().filter_map(|point| point.ticks.clone()).collect();
    let began_ns = near.iter().map(|point| point.began_ns).min();
    let regimes = levels.into_iter().map(|level| level.regime).collect();
    longest_of_each_depth(&mut points);
    let drift = regime::drift(&points);
    let row = points.iter_mut().find(|point| point.depth == end.answer.depth);
    let place = match row {
        // A window cut short says less of its depth than a longer one did before.
        Some(longest) if interrupted => longest.clone(),
        // One answer: the curve has the very window that the answer rests on.
        Some(row) => {
            *row = end.answer;
            row.clone()
        }
        None => end.answer,
    };
    let undecided = starved.is_most() || starved_decides(&place, &points);
    let stopped_by = why(end.stopped_by, interrupted, place.latency.n == 0, undecided);
    let ended = Ended {
        stopped_by,
        windows: &windows.iter().collect::<Vec<_>>(),
        began_ns,
        seconds: measured_seconds,
    };
    let mut answer = answer(&place, ended, &points);
    answer.queue =
        full_queue.filter(|_| stopped_by == StoppedBy::QueueFull).map(|queue| queue.bound);
    let knee = knee::of(&points, &place).filter(|_| answer.is_given());
    let curve = points.iter().map(Point::curve_point).collect();
    let with_starved = place.with_starved;
    Ok(Found {
        answer,
        knee,
        curve,
        series,
        regimes,
        drift,
        measured_seconds,
        pauses,
        spoilt_seconds,
        starved,
        with_starved,
        logical,
        interrupted,
    })
}

/// All holds and other windows near the limit whose ticks are known, in order of time and the answer last.
fn near_limit<'a>(points: &'a [Point], answer: &'a Point) -> Vec<&'a Point> {
    let others = points.iter().filter(|point| point.began_ns != answer.began_ns);
    let near = others.filter(|point| {
        let is_near = |ticks: &Ticks| point.held || ticks.is_near(point.depth, answer.depth);
        point.ticks.as_ref().is_some_and(is_near)
    });
    near.chain(Some(answer).filter(|answer| answer.ticks.is_some())).collect()
}

/// Sorts points by depth, and keeps of several at one depth the longest.
fn longest_of_each_depth(points: &mut Vec<Point>) {
    points.sort_by(|a, b| a.depth.cmp(&b.depth).then(b.seconds.total_cmp(&a.seconds)));
    points.dedup_by_key(|point| point.depth);
}

/// Why a search ended: nothing is known of a limit where no I/O was completed.
fn why(stopped_by: StoppedBy, interrupted: bool, is_empty: bool, is_starved: bool) -> StoppedBy {
    match stopped_by {
        _ if interrupted => StoppedBy::Interrupted,
        _ if is_empty => StoppedBy::Budget,
        _ if is_starved => StoppedBy::Starved,
        stopped_by => stopped_by,
    }
}

/// Where a search came to rest.
struct End {
    answer: Point,
    stopped_by: StoppedBy,
}

/// How one pass of the search ended.
enum Pass {
    Over(Box<End>),
    /// The next pass begins at this depth.
    Again(Next),
}

impl Pass {
    fn over(answer: Point, stopped_by: StoppedBy) -> Self {
        Self::Over(Box::new(End { answer, stopped_by }))
    }

    /// The target came to another level.
    fn at_another_level(depth: u32) -> Self {
        Self::Again(Next { depth, why: Why::Again })
    }
}

/// A depth that holds and one that does not, as far as there are such.
enum Bracket {
    Between(Point, Box<Point>),
    /// Everything tried holds.
    Below(Point),
    /// Depth 1 breaks a limit.
    Nothing,
    Again(u32),
}

struct Search<'a, 'b> {
    bench: Bench<'a, 'b>,
    /// Points of the present level.
    points: Vec<Point>,
    /// Those of the level before.
    before: Vec<Point>,
    levels: Vec<Level>,
}

impl Search<'_, '_> {
    fn run(&mut self, plan: &SearchPlan) -> Result<End, LabError> {
        self.bench.warm_up()?;
        let mut from = 1;
        loop {
            match self.pass(plan, from)? {
                Pass::Over(end) => return Ok(*end),
                Pass::Again(next) => {
                    self.bench.decide(Decision::Next(next));
                    from = next.depth;
                }
            }
        }
    }

    fn pass(&mut self, plan: &SearchPlan, from: u32) -> Result<Pass, LabError> {
        let share = |share| self.bench.spent_ns() + (self.bench.left_ns() as f64 * share) as u64;
        let (doubling_until, narrowing_until) = (share(DOUBLING_SHARE), share(NARROWING_SHARE));
        match self.bracket(plan, from, doubling_until)? {
            Bracket::Again(depth) => Ok(Pass::at_another_level(depth)),
            Bracket::Nothing => self.look_longer_at_one(plan),
            Bracket::Below(good) => {
                let stopped_by = self.why_doubling_ended(&good);
                self.hold(plan, good.depth, stopped_by)
            }
            Bracket::Between(mut good, mut bad) => {
                if let Some(depth) = self.narrow(plan, &mut good, &mut bad, narrowing_until)? {
                    return Ok(Pass::at_another_level(depth));
                }
                let stopped_by = self.short_of_client(&bad).unwrap_or(StoppedBy::Limit);
                let hold_seconds = bench::seconds(self.bench.left_ns() / 2);
                let depth = narrow::with_care(&self.points, &good, hold_seconds, plan.precision);
                self.hold(plan, depth, stopped_by)
            }
        }
    }

    /// Measures what the curve up to the answer still lacks, as long as there is time for whole windows.
    fn complete_curve(&mut self, answer: &Point) -> Result<(), LabError> {
        loop {
            let mut curve = self.points.clone();
            longest_of_each_depth(&mut curve);
            let Some(next) = knee::next(&curve, answer) else { return Ok(()) };
            let enough = self.bench.has_time_for_window(answer.latency.p99);
            if !enough || self.bench.interrupted() {
                return Ok(());
            }
            self.bench.decide(Decision::Next(next));
            let point = self.look_at(next.depth, Phase::Narrowing)?;
            self.keep(point);
        }
    }

    /// Looks for a depth that holds and a deeper one that does not: upwards by doubling from one
    /// that holds, downwards from one that does not.
    fn bracket(
        &mut self,
        plan: &SearchPlan,
        from: u32,
        until_ns: u64,
    ) -> Result<Bracket, LabError> {
        let (mut good, mut bad): (Option<Point>, Option<Point>) = (None, None);
        let mut depth = from;
        // What a pass before it has just measured there.
        let mut known = self.points.iter().rfind(|p| p.depth == from && p.met).cloned();
        loop {
            let point = match known.take() {
                Some(known) => known,
                None => {
                    let point = self.measure(depth, Phase::Doubling)?;
                    if let Some(again) = self.finds_another_level(plan, &point)? {
                        return Ok(Bracket::Again(again));
                    }
                    point
                }
            };
            let over = self.bench.spent_ns() >= until_ns || self.bench.interrupted();
            if let Some(most) = self.finds_full_queue(&point) {
                if let Some(good) = good.take_if(|good| good.depth == most) {
                    return Ok(Bracket::Below(good));
                }
                good.take_if(|good| good.depth > most);
                (depth, bad) = (most, None);
                continue;
            }
            if point.met {
                if let Some(bad) = bad {
                    return Ok(Bracket::Between(point, Box::new(bad)));
                }
                let max_depth = self.bench.max_depth();
                if point.depth >= max_depth || over {
                    if point.depth < max_depth {
                        self.bench.decide_over(Phase::Doubling);
                    }
                    return Ok(Bracket::Below(point));
                }
                let left_ns = until_ns.saturating_sub(self.bench.spent_ns());
                let left_seconds = if plan.wants_curve() { bench::seconds(left_ns) } else { 0.0 };
                let next = narrow::next_doubling(good.as_ref(), &point, left_seconds);
                let next = next.at_most(max_depth);
                self.bench.decide(Decision::Next(next));
                depth = next.depth;
                good = Some(point);
            } else {
                if let Some(below) = good.take() {
                    let Some(deeper) = self.looks_beyond(&below, &point, over)? else {
                        return Ok(Bracket::Between(below, Box::new(point)));
                    };
                    (depth, good) = (deeper.depth, Some(below));
                    known = Some(deeper);
                    continue;
                }
                if point.depth == 1 || self.bench.interrupted() {
                    return Ok(Bracket::Nothing);
                }
                if let Some(good) = self.best_below(point.depth) {
                    return Ok(Bracket::Between(good, Box::new(point)));
                }
                depth = narrow::retreat(&point, None, 0);
                self.bench.decide(point.going_back(depth));
                bad = Some(point);
            }
        }
    }

    /// Where a statistic grew from one depth to the next by far more than depth explains, measures one deeper.
    /// Returns that where it keeps the limit: then noise broke it before, and that point is forgotten.
    fn looks_beyond(
        &mut self,
        good: &Point,
        bad: &Point,
        is_over: bool,
    ) -> Result<Option<Point>, LabError> {
        let depth = bad.depth.saturating_mul(2);
        let is_plausible = narrow::is_plausible(good, bad);
        if is_plausible || is_over || depth > self.bench.max_depth() {
            return Ok(None);
        }
        self.bench.decide(Decision::Next(Next { depth, why: Why::Beyond { broke: bad.depth } }));
        let deeper = self.measure(depth, Phase::Doubling)?;
        if !deeper.met {
            return Ok(None);
        }
        self.points.retain(|point| point.met || point.depth >= depth);
        Ok(Some(deeper))
    }

    /// Where the queue in front of the target was full at a point, forgets it and all that were as deep:
    /// their depth was none of the target's. Returns the most that the queue takes.
    fn finds_full_queue(&mut self, point: &Point) -> Option<u32> {
        if self.bench.full_queue.is_some() || self.client_bound(point) {
            return None;
        }
        let takes_no_more = || self.bench.takes_no_more(&self.points, point);
        let queue = point.full_queue.clone().or_else(takes_no_more)?;
        if queue.depth >= point.depth {
            return None;
        }
        let FullQueue { depth, bound } = queue.clone();
        self.points.retain(|point| point.depth <= depth);
        self.bench.decide(Decision::QueueFull { asked: point.depth, depth, bound });
        self.bench.full_queue = Some(queue);
        Some(depth)
    }

    /// Closes the gap between a depth that holds and one that does not. Returns where to begin
    /// again, where the target comes to another level.
    fn narrow(
        &mut self,
        plan: &SearchPlan,
        good: &mut Point,
        bad: &mut Point,
        until_ns: u64,
    ) -> Result<Option<u32>, LabError> {
        while let Some(next) = narrow::between(good, bad, plan.precision) {
            if self.bench.interrupted() || self.bench.spent_ns() >= until_ns {
                self.bench.decide_over(Phase::Narrowing);
                break;
            }
            self.bench.decide(Decision::Next(next));
            let point = self.measure(next.depth, Phase::Narrowing)?;
            if let Some(again) = self.finds_another_level(plan, &point)? {
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

    /// Where a point contradicts an earlier one of the curve, measures that one again. If it has
    /// changed as well, the target has: returns the depth to begin again at.
    fn finds_another_level(
        &mut self,
        plan: &SearchPlan,
        point: &Point,
    ) -> Result<Option<u32>, LabError> {
        let earlier = &self.points[..self.points.len() - 1];
        let Some(before) = regime::contradicted(earlier, point).cloned() else { return Ok(None) };
        self.bench.came_back |= self.bench.comes_back_by(false);
        let is_known = self.bench.level_rose.is_some();
        if self.bench.interrupted() || is_known || !self.may_begin_again(plan) {
            return Ok(None);
        }
        let why = Why::Contradicted { before: before.iops, by: point.depth, iops: point.iops };
        self.bench.decide(Decision::Next(Next { depth: before.depth, why }));
        let again = self.measure(before.depth, Phase::Narrowing)?;
        if !regime::differs(&before, &again) {
            return Ok(None);
        }
        let windows = Some(Windows {
            seconds: before.seconds.min(again.seconds),
            apart_seconds: bench::seconds(again.began_ns.saturating_sub(before.began_ns)),
        });
        self.comes_to_another_level(before.iops.mean, again.iops.mean, windows, &again);
        Ok(Some(narrow::retreat_if_broken(&again)))
    }

    /// Notes the change and forgets the points before it.
    fn comes_to_another_level(
        &mut self,
        before_iops: f64,
        after_iops: f64,
        windows: Option<Windows>,
        first: &Point,
    ) {
        let at_seconds = self.bench.elapsed_ns() as f64 / 1e9;
        let regime = Regime { at_seconds, before_iops, after_iops };
        self.levels.push(Level { regime, windows });
        self.before.append(&mut self.points);
        self.points.push(first.clone());
        self.bench.level_rose.get_or_insert(after_iops > before_iops);
        self.bench.decide(Decision::AnotherLevel { at_seconds, before_iops, after_iops });
    }

    fn may_begin_again(&self, plan: &SearchPlan) -> bool {
        self.bench.left_ns() as f64 >= plan.budget_ns as f64 * RESTART_SHARE
    }

    /// Measures a depth; again with more workers where those there were could do no more.
    fn measure(&mut self, depth: u32, phase: Phase) -> Result<Point, LabError> {
        let mut point = self.look_at(depth, phase)?;
        while phase != Phase::Holding && self.client_bound(&point) && self.bench.add_workers()? {
            let (workers, cpu_percent) = (self.bench.workers(), point.cpu_percent);
            self.bench.decide(Decision::WorkersAdded { workers, cpu_percent });
            // What fewer workers gave at no smaller depth is their limit and not the target's.
            self.points.retain(|earlier| earlier.depth < depth);
            point = self.look_at(depth, phase)?;
        }
        self.keep(point.clone());
        Ok(point)
    }

    fn look_at(&mut self, depth: u32, phase: Phase) -> Result<Point, LabError> {
        let stretch = self.bench.stretch(phase);
        self.look_for(depth, phase, stretch)
    }

    fn look_for(&mut self, depth: u32, phase: Phase, stretch: Stretch) -> Result<Point, LabError> {
        let mut point = self.bench.measure_depth(depth, phase, stretch)?;
        self.bench.decide(Decision::Measured(point.measured(phase)));
        let tells_nothing = point.starved && !point.met && phase != Phase::Holding;
        if tells_nothing && self.bench.has_time_for_window(point.latency.p99) {
            self.bench.decide(Decision::Next(Next { depth, why: Why::Starved }));
            point = self.bench.measure_depth(depth, phase, stretch)?;
            self.bench.decide(Decision::Measured(point.measured(phase)));
        }
        Ok(point)
    }

    fn keep(&mut self, point: Point) {
        self.bench.keep(&point.curve_point());
        self.points.push(point);
    }

    /// The deepest point below a depth that held, by the longest window at its own depth.
    fn best_below(&self, depth: u32) -> Option<Point> {
        let mut below: Vec<Point> =
            self.points.iter().filter(|p| p.depth < depth).cloned().collect();
        longest_of_each_depth(&mut below);
        below.into_iter().rfind(|p| p.met)
    }

    fn client_bound(&self, point: &Point) -> bool {
        self.bench.client_bound(point.cpu_percent, point.depth)
    }

    /// Why the workers could do no more at a point, if that is so: either there was no time left to
    /// measure with more of them, or no more are to be had.
    fn short_of_client(&self, point: &Point) -> Option<StoppedBy> {
        let more = self.bench.could_add_worker();
        let stopped_by = if more { StoppedBy::Budget } else { StoppedBy::Client };
        self.client_bound(point).then_some(stopped_by)
    }

    fn why_doubling_ended(&self, last: &Point) -> StoppedBy {
        if let Some(stopped_by) = self.short_of_client(last) {
            return stopped_by;
        }
        if last.depth < self.bench.max_depth() {
            return StoppedBy::Budget;
        }
        if self.bench.full_queue.as_ref().is_some_and(|queue| queue.depth <= last.depth) {
            return StoppedBy::QueueFull;
        }
        let before = self.points.iter().rev().nth(1);
        let flat = before.is_some_and(|b| last.iops.mean < b.iops.mean * FLAT);
        if flat { StoppedBy::Saturated } else { StoppedBy::MaxDepth }
    }
}

/// The limit that ended a search: the one an answer breaks, or the next deeper point that breaks
/// any.
fn binding(answer: &Point, curve: &[Point]) -> Option<Limit> {
    let broken = curve.iter().find(|point| point.depth > answer.depth && !point.met);
    let breaks = broken.filter(|_| answer.met).unwrap_or(answer);
    breaks.tightest().map(|judged| judged.limit)
}

/// True where only windows in which the client was starved say that a limit breaks.
fn starved_decides(answer: &Point, curve: &[Point]) -> bool {
    let broken = curve.iter().find(|point| point.depth > answer.depth && !point.met);
    let breaks = if answer.met { broken } else { Some(answer) };
    breaks.is_some_and(|point| point.starved)
}

/// The IOPS at the answer, as sure as the limit's statistic lets it be.
fn capacity(answer: &Point, curve: &[Point]) -> Capacity {
    let Some(limit) = judge::tightest(&answer.judged) else {
        return Capacity { iops: answer.iops, slope: 0.0 };
    };
    let places = curve.iter().map(|p| DepthPlace {
        depth: p.depth,
        iops: p.iops,
        statistic: p.judged[limit].value,
    });
    let slope = capacity::slope_at(answer.depth, places);
    capacity::estimate(answer.iops, &answer.judged[limit], slope)
}

fn answer(place: &Point, end: Ended<'_>, curve: &[Point]) -> Answer {
    let Ended { stopped_by, windows, began_ns, seconds } = end;
    let by_limit = stopped_by.is_limit();
    let capacity = match by_limit {
        true => capacity(place, curve),
        false => Capacity { iops: place.iops, slope: 0.0 },
    };
    let held =
        Answered { iops: place.iops.mean, share: place.tightest().map_or(1.0, Judged::share) };
    let predicted = prediction::predict(windows, &held, &capacity, seconds, by_limit);
    let before_ns =
        began_ns.filter(|_| predicted.over_all).map(|ns| place.began_ns.saturating_sub(ns));
    Answer {
        met: place.met,
        iops: predicted.iops,
        pi95: predicted.pi95,
        observed_seconds: Some(place.observed_seconds + bench::seconds(before_ns.unwrap_or(0))),
        wander: predicted.wander,
        bytes_per_sec: place.bytes_per_sec,
        depth: place.depth,
        rate_iops: None,
        depth_achieved: place.depth_achieved,
        latency_ns: place.latency,
        limits: place.curve_point().limits,
        queue: None,
        service_ns: None,
        stopped_by,
        stopped_by_limit: binding(place, curve).filter(|_| by_limit),
    }
}

/// How a search ended.
struct Ended<'a> {
    stopped_by: StoppedBy,
    /// Its windows near the limit in order of time, the answer's last.
    windows: &'a [&'a Ticks],
    /// When the first of them began, in nanoseconds of the search.
    began_ns: Option<u64>,
    /// How long it took.
    seconds: f64,
}
