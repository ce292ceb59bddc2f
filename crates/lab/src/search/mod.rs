//! Searches for the capacity: the highest IOPS at which every limit holds.
//!
//! One worker pool runs throughout, and its queue depth changes while it works. The queue depth doubles until a limit
//! breaks. The search then narrows the gap, guided by the curve so far, and measures the resulting queue depth for
//! longer: the confirmation. If the confirmation fails, the search tries a smaller queue depth. After a performance
//! shift it starts again from the current one. `docs/search.md` describes the search for users.

mod all_windows;
mod bench;
mod bracket;
mod capacity;
mod change;
mod check;
mod conclude;
mod confirm;
mod evidence;
mod exceeding;
mod host_ticks;
mod judge;
mod knee;
mod narrow;
mod observed;
mod open_loop;
mod point;
mod prediction;
mod shift;
mod starvation;
mod window_length;

use crate::error::LabError;
use crate::measure::Watch;
use crate::measure::process_pauses::Pauses;
use crate::observe::{Decision, Next, Phase, Why};
use bench::{Bench, ClientBound};
pub(crate) use bench::{CLIENT_BOUND_PERCENT, client_bound_percent};
use bracket::Bracket;
pub use check::{CheckPlan, Checked, check};
use conclude::{Ended, Near, Told};
use iogauge_io::pool::WorkerPool;
use iogauge_model::Limit;
use iogauge_model::caveat::Straggler;
use iogauge_model::load::{ArrivalProcess, Load};
use iogauge_model::result::{CurvePoint, Estimate, PerformanceShift, Search, StoppedBy};
pub(crate) use judge::limit_value;
pub use open_loop::find_open;
use point::{Point, longest_of_each_depth};
use shift::{Shift, Windows};
use std::ops::RangeBounds;
use window_length::{SHORTEST_NS, WindowLength};

pub use judge::CARE;
pub use starvation::{Starved, WithStarved};

/// Settings of a search.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchPlan {
    /// Limits that must all hold; at least one.
    pub limits: Vec<Limit>,
    /// Largest queue depth to try. In an open loop: the maximum number of outstanding I/Os.
    pub max_depth: u32,
    /// Time to spend measuring, in nanoseconds.
    pub budget_ns: u64,
    /// Requested half-width of the CI of the IOPS, relative to the IOPS.
    pub precision: f64,
    /// Share of its time for which the client may lack a processor. Stretches that exceed it are left out. 1 or more
    /// turns this off.
    pub max_starvation: f64,
    /// `Some` searches for the highest rate of such arrivals, by response time. `None` searches for the queue depth of
    /// a closed loop.
    pub open_loop: Option<ArrivalProcess>,
}

impl SearchPlan {
    /// Returns a workload at the largest queue depth of the search.
    #[must_use]
    pub fn deepest(&self, load: &Load) -> Load {
        Load { iodepth: self.max_depth.div_ceil(load.numjobs), ..load.clone() }
    }

    /// Returns true if the curve is part of the result. An open loop only starts with a closed-loop curve.
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

/// Result of a search.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchOutcome {
    /// What was found. `measured_seconds` does not count what was left out because of pauses. Without samples of
    /// the machine, which the search does not take.
    pub search: Search,
    /// The points of the curve that contradict each other most.
    pub drift: Option<Drift>,
    /// Pauses of iogauge during the search.
    pub pauses: Pauses,
    /// Part of `measured_seconds` spent on points that a pause spoilt. It does not count towards the budget.
    pub spoilt_seconds: f64,
    /// Stretches in which the client lacked processor time. They are left out.
    pub starved: Starved,
    /// The answer's figures including the stretches that were left out; `None` if there were none.
    pub with_starved: Option<WithStarved>,
    /// The host without which a limit would be kept: at the answer if it breaks one, otherwise at the next larger load
    /// that does.
    pub straggler: Option<Straggler>,
    /// Number of windows with more load than the answer that broke a limit and are not in the curve: windows with as
    /// much load kept it afterwards, so that they are taken for noise.
    pub set_aside: usize,
    /// Number of failed I/Os.
    pub errors: u64,
    /// Number of I/Os completed and bytes moved during the whole search.
    pub logical: (u64, u64),
    /// True if the user ended the search.
    pub interrupted: bool,
}

/// A queue depth that gave clearly fewer IOPS than an earlier, smaller one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Drift {
    /// The earlier and the later queue depth.
    pub queue_depths: [u32; 2],
    /// IOPS of the earlier one.
    pub before_iops: f64,
    /// IOPS of the later one.
    pub after_iops: f64,
}

impl Drift {
    /// Returns the later IOPS divided by the earlier IOPS.
    #[must_use]
    pub fn share(&self) -> f64 {
        self.after_iops / self.before_iops
    }
}

/// Share of the budget available for the doubling, and for doubling and narrowing together.
const DOUBLING_SHARE: f64 = 0.5;
const NARROWING_SHARE: f64 = 0.75;
/// The search starts again after a performance shift if at least this share of the budget is left.
const RESTART_SHARE: f64 = 0.25;
/// From one doubling to the next, IOPS count as rising only if they grow by more than this factor.
const FLAT: f64 = 1.02;
/// If their error exceeds this share of the IOPS, they cannot show that the curve is flat.
const UNSURE: f64 = 0.1;
/// A queue depth larger by this factor gives more IOPS unless the curve is flat.
const MUCH_DEEPER: f64 = 1.4;

/// Returns true if IOPS rise from one queue depth to a larger one by clearly more than their errors explain.
fn rises(from: &Estimate, to: &Estimate) -> bool {
    let error = if from.n > 1 && to.n > 1 { from.half_width().hypot(to.half_width()) } else { 0.0 };
    // Errors this large hide a rise, so the means decide.
    let is_known = error < UNSURE * from.mean;
    to.mean > from.mean * FLAT && (to.mean - from.mean > CARE * error || !is_known)
}

/// Returns true if a curve, sorted by queue depth, is known to be flat at its end.
fn is_flat(curve: &[CurvePoint]) -> bool {
    let Some(last) = curve.last() else { return false };
    let is_shallower =
        |p: &&CurvePoint| f64::from(p.queue_depth) * MUCH_DEEPER <= f64::from(last.queue_depth);
    let before = curve.iter().rev().find(is_shallower);
    before.is_some_and(|before| {
        let error = before.iops.half_width().hypot(last.iops.half_width());
        let is_known = before.iops.n > 1 && last.iops.n > 1 && error < UNSURE * before.iops.mean;
        is_known && !rises(&before.iops, &last.iops)
    })
}

/// Searches for the capacity with a pool that was started at queue depth 1.
///
/// # Errors
/// If a worker's engine fails.
pub fn find(
    pool: &mut dyn WorkerPool,
    plan: &SearchPlan,
    watch: &mut Watch<'_>,
) -> Result<SearchOutcome, LabError> {
    let start = pool.live();
    let mut search = ClosedLoop {
        bench: Bench::new(pool, plan, watch),
        points: Vec::new(),
        before: Vec::new(),
        aside: Vec::new(),
        shifts: Vec::new(),
    };
    let end = search.run(plan)?;
    // If the target stalls only after the confirmation, the confirmed answer stands.
    let cut_by = search.bench.cut_by().filter(|by| end.is_cut || *by != StoppedBy::Budget);
    let measured_seconds = search.bench.elapsed_ns() as f64 / 1e9;
    let spoilt_seconds = search.bench.spoilt_ns() as f64 / 1e9;
    let pauses = search.bench.pauses();
    let interrupted = search.bench.interrupted();
    let is_told = search.unwatched_seconds(&end.answer) <= 0.0 && search.is_sure(&end.answer);
    let is_undecided = end.answer.met && !is_told;
    let set_aside = search.set_aside_above(&end.answer);
    let live = search.bench.live();
    let logical = (live.ios - start.ios, live.bytes - start.bytes);
    let Told { mut points, near, shifts, drift } = search.told(&end.answer);
    let ClosedLoop { bench, .. } = search;
    let starved = bench.starved;
    let full_queue = bench.full_queue.clone();
    let row = points.iter_mut().find(|point| point.queue_depth == end.answer.queue_depth);
    let place = match row {
        // A window that was cut short says less about its queue depth than an earlier, longer one.
        Some(longest) if cut_by.is_some() && longest.met == end.answer.met => longest.clone(),
        // The curve contains the very window that the answer rests on, so that the two agree.
        Some(row) => {
            *row = end.answer;
            row.clone()
        }
        None => end.answer,
    };
    let broken = points.iter().filter(|point| point.queue_depth > place.queue_depth && !point.met);
    let broken = broken.map(|point| point.starved);
    let starved_decides = conclude::starved_decides(place.met, place.starved, broken);
    let straggler =
        conclude::straggler(&place, points.iter().filter(|p| p.queue_depth > place.queue_depth));
    let is_starved = starved.is_most() || starved_decides;
    let is_empty = place.latency.n == 0;
    let stopped_by = conclude::why(end.stopped_by, cut_by, is_empty, is_starved, is_undecided);
    let ended = Ended { stopped_by, near: &near, seconds: measured_seconds };
    let mut answer = conclude::answer(&place, ended, &points);
    answer.queue =
        full_queue.filter(|_| stopped_by == StoppedBy::QueueFull).map(|queue| queue.bound);
    let knee = knee::of(&points, &place).filter(|_| answer.is_given());
    let curve = points.iter().map(Point::curve_point).collect();
    let with_starved = place.with_starved;
    Ok(SearchOutcome {
        errors: bench.errors,
        search: Search {
            limits: plan.limits.clone(),
            answer,
            knee,
            curve,
            series: bench.into_series(),
            shifts,
            measured_seconds,
            system: Vec::new(),
            trace: None,
        },
        drift,
        pauses,
        spoilt_seconds,
        starved,
        with_starved,
        straggler,
        set_aside,
        logical,
        interrupted,
    })
}

/// Result of the last pass of a search.
struct End {
    answer: Point,
    stopped_by: StoppedBy,
    /// True if something made the search end at once.
    is_cut: bool,
}

/// Outcome of one pass of the search.
enum Pass {
    Over(Box<End>),
    /// The next pass starts at this queue depth.
    Again(Next),
}

impl Pass {
    fn over(answer: Point, stopped_by: StoppedBy) -> Self {
        Self::Over(Box::new(End { answer, stopped_by, is_cut: false }))
    }

    /// Starts the next pass after a performance shift.
    fn after_shift(queue_depth: u32) -> Self {
        Self::Again(Next { queue_depth, why: Why::Again })
    }
}

struct ClosedLoop<'a, 'b> {
    bench: Bench<'a, 'b>,
    /// Points since the last performance shift.
    points: Vec<Point>,
    /// Points from before the last performance shift.
    before: Vec<Point>,
    /// Windows that are no longer points of the curve: noise broke a limit in them, an interrupt cut them short, or a
    /// longer window replaced them. The intervals still count them. The number is how many performance shifts came
    /// before.
    aside: Vec<(usize, Point)>,
    shifts: Vec<Shift>,
}

impl ClosedLoop<'_, '_> {
    fn run(&mut self, plan: &SearchPlan) -> Result<End, LabError> {
        self.bench.warm_up()?;
        let mut from = 1;
        loop {
            match self.pass(plan, from)? {
                Pass::Over(end) if self.bench.must_end() => {
                    let answer = self.known_instead(end.answer);
                    return Ok(End { answer, is_cut: true, ..*end });
                }
                Pass::Over(end) => match self.complete_curve(plan, &end.answer)? {
                    None => return Ok(*end),
                    Some(queue_depth) => {
                        from = self.begins_at(Next { queue_depth, why: Why::Again })
                    }
                },
                Pass::Again(next) => from = self.begins_at(next),
            }
        }
    }

    fn begins_at(&mut self, next: Next) -> u32 {
        self.bench.decide(Decision::Next(next));
        next.queue_depth
    }

    /// Returns the answer of an interrupted search. If the last window broke a limit or was cut short, this is the
    /// point with the largest queue depth below every failed confirmation. At one queue depth the longest window
    /// decides. If no point kept the limits, the answer is the longest window.
    fn known_instead(&mut self, last: Point) -> Point {
        if self.points.iter().any(Point::is_whole) {
            self.set_aside(|point| !point.is_whole());
        }
        let longer = |p: &&Point| p.queue_depth == last.queue_depth && p.seconds > last.seconds;
        let is_contradicted = self.points.iter().filter(longer).any(|point| !point.met);
        if last.met && last.is_whole() && !is_contradicted {
            return last;
        }
        let broken =
            self.points.iter().filter(|p| p.own.confirmed && !p.met).map(|p| p.queue_depth);
        let broken = broken.chain((last.is_whole() && !last.met).then_some(last.queue_depth));
        let most_depth = broken.min().map_or(u32::MAX, |queue_depth| queue_depth - 1);
        let longest = || self.points.iter().max_by(|a, b| a.seconds.total_cmp(&b.seconds)).cloned();
        bracket::deepest_met(self.points.clone(), most_depth).or_else(longest).unwrap_or(last)
    }

    fn pass(&mut self, plan: &SearchPlan, from: u32) -> Result<Pass, LabError> {
        let share = |share| self.bench.spent_ns() + (self.bench.left_ns() as f64 * share) as u64;
        let (doubling_until, narrowing_until) = (share(DOUBLING_SHARE), share(NARROWING_SHARE));
        match self.bracket(plan, from, doubling_until)? {
            Bracket::Again(queue_depth) => Ok(Pass::after_shift(queue_depth)),
            Bracket::Cut(last) => Ok(Pass::over(last, StoppedBy::Interrupted)),
            Bracket::Nothing => self.look_longer_at_one(plan),
            Bracket::Below(good) => {
                if self.bench.must_end() {
                    return Ok(Pass::over(good, StoppedBy::Interrupted));
                }
                if self.bench.left_ns() < SHORTEST_NS {
                    return Ok(Pass::over(good, StoppedBy::Budget));
                }
                let stopped_by = self.why_doubling_ended(&good);
                self.confirm(plan, good.queue_depth, stopped_by)
            }
            Bracket::Between(mut good, mut bad) => {
                if let Some(queue_depth) =
                    self.narrow(plan, &mut good, &mut bad, narrowing_until)?
                {
                    return Ok(Pass::after_shift(queue_depth));
                }
                if self.bench.must_end() {
                    return Ok(Pass::over(good, StoppedBy::Interrupted));
                }
                if self.bench.left_ns() < SHORTEST_NS {
                    return Ok(Pass::over(good, StoppedBy::Budget));
                }
                let stopped_by = self.short_of_client(&bad).unwrap_or(StoppedBy::Limit);
                let confirmation_seconds = window_length::seconds(self.bench.left_ns() / 2);
                let queue_depth =
                    narrow::with_care(&self.points, &good, confirmation_seconds, plan.precision);
                self.confirm(plan, queue_depth, stopped_by)
            }
        }
    }

    /// Measures what the curve up to the answer still lacks, as long as there is time for whole windows. After a
    /// performance shift, returns the queue depth to start again from.
    fn complete_curve(
        &mut self,
        plan: &SearchPlan,
        answer: &Point,
    ) -> Result<Option<u32>, LabError> {
        while plan.wants_curve() {
            let mut curve = self.points.clone();
            longest_of_each_depth(&mut curve);
            let Some(next) = knee::next(&curve, answer) else { break };
            let enough = self.bench.has_time_for_window(answer.latency.p99);
            if !enough || self.bench.must_end() {
                break;
            }
            self.bench.decide(Decision::Next(next));
            let point = self.look_at(next.queue_depth, Phase::Narrowing)?;
            self.keep(point.clone());
            if let Some(queue_depth) = self.finds_shift(plan, &point)? {
                return Ok(Some(queue_depth));
            }
        }
        Ok(None)
    }

    /// If a point contradicts an earlier one of the curve, measures the earlier queue depth again. If that has changed
    /// as well, the target has: returns the queue depth to start again from.
    fn finds_shift(&mut self, plan: &SearchPlan, point: &Point) -> Result<Option<u32>, LabError> {
        let earlier = self.points.iter().filter(|earlier| earlier.began_ns < point.began_ns);
        let Some(before) = shift::contradicted(earlier, point).cloned() else { return Ok(None) };
        let is_known = self.bench.shift_rose.is_some();
        let reverts = self.bench.reverts_by(false) && !self.bench.reverted;
        let matters = (!is_known || reverts) && point.latency.n > 0;
        if !matters || !self.may_begin_again(plan) {
            return Ok(None);
        }
        let at_seconds = window_length::seconds(point.began_ns);
        let why =
            Why::Contradicted { before: before.iops, by: point.queue_depth, iops: point.iops };
        self.bench.decide(Decision::Next(Next { queue_depth: before.queue_depth, why }));
        let again = self.measure(before.queue_depth, Phase::Narrowing)?;
        if again.latency.n == 0 || !shift::differs(&before, &again) {
            return Ok(None);
        }
        if is_known {
            self.bench.reverted = true;
            return Ok(None);
        }
        let windows = Some(Windows::of(&before, &again));
        let reported = PerformanceShift {
            at_seconds,
            before_iops: before.iops.mean,
            after_iops: again.iops.mean,
        };
        let queue_depth = narrow::retreat_if_broken(&again);
        self.forget_before(Shift { reported, windows }, again);
        Ok(Some(queue_depth))
    }

    /// Handles a confirmation that contradicts an earlier point when there is no time to measure that again: notes a
    /// performance shift, after which the earlier points no longer count.
    fn notes_late_shift(&mut self, confirmed: &Point) {
        let earlier = self.points.iter().filter(|earlier| earlier.began_ns < confirmed.began_ns);
        let Some(before) = shift::contradicted(earlier, confirmed) else { return };
        if self.bench.shift_rose.is_some() || confirmed.latency.n == 0 {
            return;
        }
        let windows = Some(Windows::of(before, confirmed));
        let (before_iops, after_iops) = (before.iops.mean, confirmed.iops.mean);
        let at_seconds = window_length::seconds(confirmed.began_ns);
        let reported = PerformanceShift { at_seconds, before_iops, after_iops };
        let shift = Shift { reported, windows };
        if !shift.is_noise(&Near::among(self.points.iter(), confirmed).windows()) {
            self.forget_before(shift, confirmed.clone());
        }
    }

    /// Records the performance shift and drops the points before it from the curve.
    fn forget_before(&mut self, shift: Shift, first: Point) {
        let PerformanceShift { at_seconds, before_iops, after_iops } = shift.reported;
        self.shifts.push(shift);
        self.before.append(&mut self.points);
        self.before.retain(|point| point.began_ns != first.began_ns);
        self.points.push(first);
        self.bench.strays.clear();
        self.bench.shift_rose.get_or_insert(after_iops > before_iops);
        self.bench.decide(Decision::PerformanceShift { at_seconds, before_iops, after_iops });
    }

    fn may_begin_again(&self, plan: &SearchPlan) -> bool {
        let least_ns = plan.budget_ns as f64 * RESTART_SHARE;
        self.bench.left_ns() as f64 >= least_ns && !self.bench.must_end()
    }

    /// Measures a queue depth, and again with more workers if the workers were the bottleneck.
    fn measure(&mut self, queue_depth: u32, phase: Phase) -> Result<Point, LabError> {
        let mut point = self.look_at(queue_depth, phase)?;
        let is_bound = |search: &Self, point: &Point| search.client_bound(point) != ClientBound::No;
        while phase != Phase::Confirming && is_bound(self, &point) && self.bench.add_workers()? {
            let (workers, cpu_percent) = (self.bench.workers(), point.cpu_percent);
            self.bench.decide(Decision::WorkersAdded { workers, cpu_percent });
            // What fewer workers gave at this or a larger queue depth is the workers' limit, not the target's.
            self.points.retain(|earlier| earlier.queue_depth < queue_depth);
            point = self.look_at(queue_depth, phase)?;
        }
        self.keep(point.clone());
        Ok(point)
    }

    fn look_at(&mut self, queue_depth: u32, phase: Phase) -> Result<Point, LabError> {
        let stretch = self.bench.stretch(phase);
        self.look_for(queue_depth, phase, stretch)
    }

    fn look_for(
        &mut self,
        queue_depth: u32,
        phase: Phase,
        stretch: WindowLength,
    ) -> Result<Point, LabError> {
        let mut point = self.bench.measure_depth(queue_depth, phase, stretch)?;
        self.bench.decide(Decision::Measured(point.measured(phase)));
        let tells_nothing = point.starved && !point.met && phase != Phase::Confirming;
        if tells_nothing && self.bench.has_time_for_window(point.latency.p99) {
            self.bench.decide(Decision::Next(Next { queue_depth, why: Why::Starved }));
            point = self.bench.measure_depth(queue_depth, phase, stretch)?;
            self.bench.decide(Decision::Measured(point.measured(phase)));
        }
        Ok(point)
    }

    /// Returns how many windows at a queue depth broke a limit.
    fn times_broken(&self, queue_depth: u32) -> usize {
        self.points.iter().filter(|point| point.queue_depth == queue_depth && !point.met).count()
    }

    /// Moves points from the curve to `aside`.
    fn set_aside(&mut self, is_over: impl Fn(&Point) -> bool) {
        let count = self.shifts.len();
        let over = self.points.extract_if(.., |point| is_over(point));
        self.aside.extend(over.map(|point| (count, point)));
    }

    /// Sets aside the points at these queue depths that broke a limit because of noise. Broken maxima stay.
    fn set_noise_aside(&mut self, queue_depths: impl RangeBounds<u32>) {
        self.set_aside(|p| !p.met && queue_depths.contains(&p.queue_depth) && !p.breaks_maximum());
    }

    /// Returns how many windows since the last performance shift broke a limit at more load than the answer's and were
    /// set aside.
    fn set_aside_above(&self, answer: &Point) -> usize {
        let broke = |point: &&Point| {
            let is_above = point.queue_depth > answer.queue_depth;
            is_above && !point.met && point.is_whole() && !point.starved
        };
        conclude::since(&self.aside, self.shifts.len()).filter(broke).count()
    }

    fn keep(&mut self, point: Point) {
        self.bench.keep(&point.curve_point());
        self.points.push(point);
    }

    fn client_bound(&self, point: &Point) -> ClientBound {
        self.bench.client_bound(point.cpu_percent, point.queue_depth, &point.hosts)
    }

    /// If the workers were the bottleneck at a point, returns the matching stop reason: either no time was left to
    /// measure with more workers, or no more can be added.
    fn short_of_client(&self, point: &Point) -> Option<StoppedBy> {
        let more = self.bench.could_add_worker();
        let stopped_by = if more { StoppedBy::Budget } else { StoppedBy::Client };
        (self.client_bound(point) == ClientBound::All).then_some(stopped_by)
    }

    fn why_doubling_ended(&self, last: &Point) -> StoppedBy {
        if let Some(stopped_by) = self.short_of_client(last) {
            return stopped_by;
        }
        if last.queue_depth < self.bench.max_depth() {
            return StoppedBy::Budget;
        }
        if self.bench.full_queue.as_ref().is_some_and(|queue| queue.queue_depth <= last.queue_depth)
        {
            return StoppedBy::QueueFull;
        }
        let shallower =
            |p: &&Point| f64::from(p.queue_depth) * MUCH_DEEPER <= f64::from(last.queue_depth);
        let before = self.points.iter().filter(shallower).max_by_key(|point| point.queue_depth);
        let flat = before.is_some_and(|before| !rises(&before.iops, &last.iops));
        if flat { StoppedBy::Saturated } else { StoppedBy::MaxDepth }
    }
}
