//! One point of the curve: set the depth, let the old I/Os drain, measure as long as it takes.

use super::bench::{Bench, LONGEST_NS, SHORTEST_NS, TICK_NS, is_whole, next_look_ns, seconds};
use super::evidence::{Stray, breaks_maximum, surely_breaks, surely_holds};
use super::exceeding::Exceeding;
use super::judge::{self, Judged, tightest};
use super::prediction::Ticks;
use super::queue::FullQueue;
use super::shift::Change;
use super::starvation::{Show, Sieve, WithStarved};
use crate::error::LabError;
use crate::measure::estimates::{self, Which};
use crate::measure::series::interval;
use crate::observe::Verdict;
use crate::observe::{Decision, Measured};
use crate::observe::{Phase, Setting};
use crate::stats::mser5;
use iogauge_io::engine::Op;
use iogauge_io::worker::accounting::Window;
use iogauge_model::Limit;
use iogauge_model::limit::Directions;
use iogauge_model::result::{CurvePoint, Estimate, IntervalPoint, LatencySummary};

/// A window of the search is no longer than this share of the budget; a hold is.
const LONGEST_SHARE: u64 = 16;
/// Time between the first I/O and the first window, in which caches and queues settle: at least
/// and at most.
const WARM_UP_NS: u64 = 200_000_000;
const WARM_UP_AT_MOST_NS: u64 = 2_000_000_000;
/// Parts of a hold that are kept apart, so that what precedes a change of shift can be left out.
const CONFIRMATION_PARTS: u64 = 48;
/// Share of the budget that the first stretch of a hold takes.
const FIRST_SHARE: u64 = 12;
/// A shorter wait is not worth a word.
const NOTABLE_DRAIN_NS: u64 = 100_000_000;
/// Workers are added as long as this part of the budget is left.
const WORKERS_SHARE: u64 = 4;
/// Where the verdict is clear the IOPS need be this many times less precise than asked.
const COARSE: f64 = 5.0;

/// A measured point: of a closed loop by default, of an open one with its [`Rate`].
#[derive(Debug, Clone)]
pub(super) struct Point<L = Depth> {
    /// Depth asked; in an open loop the most I/Os that may be outstanding.
    pub(super) queue_depth: u32,
    /// What only its kind of loop has.
    pub(super) own: L,
    pub(super) queue_depth_achieved: f64,
    pub(super) iops: Estimate,
    pub(super) bytes_per_sec: f64,
    /// Latencies that the limits bound: service times, in an open loop response times.
    pub(super) latency: LatencySummary,
    /// The limits' statistics, in order.
    pub(super) judged: Vec<Judged>,
    /// Every limit is kept, and no arrivals are left behind.
    pub(super) met: bool,
    pub(super) cpu_percent: f64,
    pub(super) steady: bool,
    pub(super) seconds: f64,
    /// When its first window began, in nanoseconds of the search.
    pub(super) began_ns: u64,
    /// Time that its windows took, in seconds, with what lies between them.
    pub(super) observed_seconds: f64,
    /// True where I/Os of an earlier depth or rate may be among its own.
    pub(super) has_others: bool,
    /// How its ticks lie off its figures; `None` where another level has come since, and in an open loop for
    /// windows that are no holds.
    pub(super) ticks: Option<Ticks>,
    /// True where the client was starved all the time, so that a broken limit tells nothing.
    pub(super) starved: bool,
    /// The same with the stretches that are left out; `None` where nothing is.
    pub(super) with_starved: Option<WithStarved>,
    pub(super) errors: u64,
}

/// What only a point of a closed loop has.
#[derive(Debug, Clone, Default)]
pub(super) struct Depth {
    /// A change of level within the window of a hold; the figures are those after it.
    pub(super) change: Option<Change>,
    /// True where the last stretch of a hold by itself has I/Os of every limit, and where the limits hold in it.
    pub(super) told_at_last: bool,
    pub(super) met_at_last: bool,
    /// True for a hold.
    pub(super) confirmed: bool,
    /// The queue in front of the target, where it was full.
    pub(super) full_queue: Option<FullQueue>,
}

/// What only a point of an open loop has.
#[derive(Debug, Clone)]
pub(super) struct Rate {
    /// Rate asked.
    pub(super) rate_iops: f64,
    /// I/Os that came due, per second.
    pub(super) offered_iops: f64,
    /// Most that waited at one time for one of the outstanding to end.
    pub(super) backlog_max: u64,
    /// Too many of them were not served.
    pub(super) falls_short: bool,
    pub(super) service: LatencySummary,
    /// Processor time without what was spent polling for the next arrival, in percent of one processor.
    pub(super) busy_percent: f64,
}

/// A kind of loop.
pub(super) trait Loop {
    /// The rate, in an open loop.
    fn rate(&self) -> Option<&Rate>;
}

impl Loop for Depth {
    fn rate(&self) -> Option<&Rate> {
        None
    }
}

impl Loop for Rate {
    fn rate(&self) -> Option<&Rate> {
        Some(self)
    }
}

impl<L: Loop> Point<L> {
    pub(super) fn curve_point(&self) -> CurvePoint {
        let rate = self.own.rate();
        CurvePoint {
            queue_depth: self.queue_depth,
            rate_iops: rate.map(|rate| rate.rate_iops),
            offered_iops: rate.map(|rate| rate.offered_iops),
            backlog_max: rate.map(|rate| rate.backlog_max),
            queue_depth_achieved: self.queue_depth_achieved,
            iops: self.iops,
            latency_ns: self.latency,
            limits: self.judged.iter().map(Judged::limit_value).collect(),
            service_ns: rate.map(|rate| rate.service),
            met: self.met,
            cpu_percent: self.cpu_percent,
            steady: self.steady,
            seconds: self.seconds,
            errors: self.errors,
        }
    }

    pub(super) fn measured(&self, phase: Phase) -> Measured {
        let rate = self.own.rate();
        Measured {
            phase,
            queue_depth: self.queue_depth,
            rate_iops: rate.map(|rate| rate.rate_iops),
            iops: self.iops,
            seconds: self.seconds,
            limits: self.judged.iter().map(Judged::judgement).collect(),
            met: self.met,
            falls_short: rate.is_some_and(|rate| rate.falls_short),
        }
    }

    /// True where no interrupt has cut it short, and all its I/Os were issued at its depth or rate.
    pub(super) fn is_whole(&self) -> bool {
        is_whole(self.seconds) && !self.has_others
    }
}

impl Point {
    /// The limit nearest to its bound, or furthest over it.
    pub(super) fn tightest(&self) -> Option<&Judged> {
        tightest(&self.judged).map(|limit| &self.judged[limit])
    }

    /// True where a limit is clearly broken.
    pub(super) fn breaks(&self) -> bool {
        surely_breaks(&self.judged)
    }

    /// True where a maximum is over its bound: what was seen was seen.
    pub(super) fn breaks_maximum(&self) -> bool {
        breaks_maximum(&self.judged)
    }

    /// True where all limits clearly hold.
    pub(super) fn holds(&self) -> bool {
        surely_holds(&self.judged)
    }

    pub(super) fn going_back(&self, to: u32) -> Decision {
        let because = self.tightest().map(Judged::judgement);
        Decision::GoingBack { from: self.queue_depth, to, because }
    }
}

impl Bench<'_, '_> {
    /// Lets the pool work until its rate has settled, before the first window.
    pub(super) fn warm_up(&mut self) -> Result<(), LabError> {
        let mut rates = Vec::new();
        while self.spent_ns() < WARM_UP_AT_MOST_NS.min(self.plan.budget_ns / 8) {
            self.pool.advance(WARM_UP_NS / 40)?;
            rates.extend(self.take_window()?.map(|window| window.iops()));
            let settled = mser5(&rates).is_some() && self.spent_ns() >= WARM_UP_NS;
            if settled || self.must_end() {
                break;
            }
        }
        Ok(())
    }

    /// Gives the load up to twice the workers, as long as there is time to measure what came of it.
    /// Returns false where there is none to be had.
    pub(super) fn add_workers(&mut self) -> Result<bool, LabError> {
        let before = self.workers();
        if self.must_end() || self.left_ns() < self.plan.budget_ns / WORKERS_SHARE {
            return Ok(false);
        }
        while self.workers() < 2 * before {
            let Some(window) = self.pool.add_worker()? else { break };
            self.note(&window)?;
        }
        Ok(self.workers() > before)
    }

    /// True where the budget has room for a window that is no hold, once I/Os of such a latency have come
    /// back.
    pub(super) fn has_time_for_window(&self, latency_ns: u64) -> bool {
        self.left_ns() >= self.stretch(Phase::Narrowing).longest_ns + latency_ns
    }

    /// Measures one depth for a stretch.
    pub(super) fn measure_depth(
        &mut self,
        queue_depth: u32,
        phase: Phase,
        stretch: Stretch,
    ) -> Result<Point, LabError> {
        self.unspoilt(|bench| bench.try_depth(queue_depth, phase, stretch))
    }

    /// `None` where a pause of iogauge spoils the window, and it may be measured again.
    fn try_depth(
        &mut self,
        queue_depth: u32,
        phase: Phase,
        length: Stretch,
    ) -> Result<Option<Point>, LabError> {
        let (queue_depth, length) = self.come_to(queue_depth, length)?;
        self.take_window()?;
        self.window_begins();
        let stopwatch = self.stopwatch();
        let queue = self.queue_begins();
        let mut look_ns = length.shortest_ns;
        let before = self.confirmed.clone().filter(|_| length.resumes);
        let mut alone = before.is_some().then(Sieve::<Observed>::default);
        let mut sieve = before.unwrap_or_else(|| {
            let parts = Parts::new(self.left_ns().max(length.longest_ns) / CONFIRMATION_PARTS);
            Sieve::of(Observed {
                began_ns: self.elapsed_ns(),
                parts: (phase == Phase::Confirming).then_some(parts),
                ..Observed::default()
            })
        });
        let mut stretches = self.stretches(&mut sieve, length.longest_ns);
        loop {
            self.pool.advance(TICK_NS)?;
            let window = self.take_window()?;
            if window.is_none() && self.may_repeat() {
                return Ok(None);
            }
            if let Some(window) = window {
                self.show(&window, phase, queue_depth, window.service().mean_ns());
                for sieve in alone.iter_mut().chain([&mut sieve]) {
                    sieve.append(&window, &self.plan.limits);
                }
            }
            let starved = self.end_stretch(&mut stretches, false);
            alone.iter_mut().chain([&mut sieve]).for_each(|sieve| sieve.sift(starved));
            let passed_ns = self.passed_ns(&stopwatch);
            let elapsed_ns = passed_ns.saturating_sub(stretches.left_out_ns);
            if elapsed_ns >= length.longest_ns
                || passed_ns >= stretches.longest_ns
                || self.must_end()
            {
                break;
            }
            if elapsed_ns >= look_ns {
                if self.is_enough(phase, &sieve.seen) {
                    break;
                }
                look_ns = next_look_ns(elapsed_ns);
            }
        }
        let starved = self.end_stretch(&mut stretches, true);
        alone.iter_mut().chain([&mut sieve]).for_each(|sieve| sieve.end(starved));
        let cpu_percent = self.cpu_percent(&stopwatch);
        // Who traces has seen this stretch alone.
        let stretch = alone.as_ref().unwrap_or(&sieve).whole();
        self.window_ends(stretch, Setting { queue_depth, rate_iops: None });
        let full_queue = self.full_queue(queue, stretch);
        let with_starved = sieve.all().map(|all| self.with_starved(all));
        let mut seen = sieve.judged().clone();
        let change = match phase {
            Phase::Confirming => {
                let later = Change::in_series(&seen.series, 0.0);
                self.reverted |= later.is_some_and(|later| self.reverts_by(later.rises()));
                self.change_in(&seen.series)
            }
            _ => None,
        };
        // The whole of it tells how the target varies, and the part after a change what it gives now.
        let ticks = self.ticks(&seen);
        if let Some(change) = &change {
            seen.forget_first(change.index);
        }
        let mut point = self.point(queue_depth, &seen, cpu_percent);
        (point.own.change, point.ticks, point.own.confirmed) =
            (change, ticks, phase == Phase::Confirming);
        (point.starved, point.with_starved) = (sieve.is_all_starved(), with_starved);
        point.own.full_queue = full_queue;
        if let Some(alone) = alone {
            let alone = alone.judged();
            let judged = self.judge(&directions(&alone.total), &alone.series, &alone.exceeding);
            point.own.told_at_last = judged.iter().all(|judged| judged.n > 0);
            point.own.met_at_last = judged.iter().all(Judged::is_met);
        }
        if phase == Phase::Confirming {
            self.confirmed = change.is_none().then_some(sieve);
        }
        Ok(Some(point))
    }

    /// Changes the depth, unless the window goes on at the same one. Returns the depth reached, and the stretch that
    /// there is still time for.
    fn come_to(&mut self, queue_depth: u32, length: Stretch) -> Result<(u32, Stretch), LabError> {
        if length.resumes && self.is_at(queue_depth) {
            return Ok((queue_depth, length));
        }
        let (before, began_ns) = (self.queue_depth_asked(), self.elapsed_ns());
        let queue_depth = self.ask_depth(queue_depth)?;
        self.drain(queue_depth)?;
        if let Some((before, strays)) = before.zip(self.take_window()?) {
            let judged = self.judge(&directions(&strays), &[], &Exceeding::default());
            let seconds = strays.seconds();
            self.strays.push(Stray {
                queue_depth: before.max(queue_depth),
                began_ns,
                seconds,
                judged,
            });
        }
        // What the old depth's I/Os took of the budget is not there any more.
        let longest_ns = length.longest_ns.min(self.left_ns()).max(SHORTEST_NS);
        Ok((queue_depth, Stretch { longest_ns, ..length }))
    }

    /// A point by all that was seen of it.
    fn with_starved(&self, all: &Observed) -> WithStarved {
        let judged = self.judge(&directions(&all.total), &all.series, &all.exceeding);
        let limits = judged.iter().map(Judged::limit_value).collect();
        WithStarved { iops: all.total.iops(), limits }
    }

    /// How the ticks of a window lie off its figures, by the limit nearest to its bound.
    fn ticks(&self, seen: &Observed) -> Option<Ticks> {
        let latencies = directions(&seen.total);
        let judged = self.judge(&latencies, &seen.series, &seen.exceeding);
        let limit = tightest(&judged)?;
        Some(Ticks::of(&seen.series, seen.exceeding.of(limit), &judged[limit], &latencies))
    }

    /// Waits until no I/O of the old depth is outstanding, so that the new window is its own. If the budget ends
    /// before, the search is stuck.
    fn drain(&mut self, queue_depth: u32) -> Result<(), LabError> {
        let begin_ns = self.pool.now_ns();
        self.wait_for(TICK_NS / 5, |pool| pool.drained())?;
        let (waited_ns, whole) = (self.pool.now_ns() - begin_ns, self.pool.drained());
        if waited_ns >= NOTABLE_DRAIN_NS || !whole {
            self.decide(Decision::Drained { queue_depth, seconds: seconds(waited_ns), whole });
        }
        Ok(())
    }

    /// How long a phase may look at one depth.
    pub(super) fn stretch(&self, phase: Phase) -> Stretch {
        let (budget_ns, left_ns) = (self.plan.budget_ns, self.left_ns());
        let (shortest_ns, longest_ns) = match phase {
            // A hold is there to see what short windows miss: stalls, credits, caches. One that
            // fails must leave time for another, as long as there is time for two.
            Phase::Confirming => ((left_ns / 2).max(budget_ns / FIRST_SHARE).min(left_ns), left_ns),
            _ => (SHORTEST_NS, (budget_ns / LONGEST_SHARE).min(LONGEST_NS)),
        };
        let shortest_ns = shortest_ns.max(SHORTEST_NS);
        Stretch { shortest_ns, longest_ns: longest_ns.max(shortest_ns), resumes: false }
    }

    /// The first stretch of a hold, by which is seen whether the depth is about the right one.
    pub(super) fn first_stretch(&self) -> Stretch {
        let first_ns = (self.plan.budget_ns / FIRST_SHARE).min(self.left_ns()).max(SHORTEST_NS);
        Stretch { shortest_ns: first_ns, longest_ns: first_ns, resumes: false }
    }

    /// The rest of a hold, of which so much has to be at least.
    pub(super) fn rest_of_confirmation(&self, shortest_ns: u64) -> Stretch {
        let (left_ns, first_ns) = (self.left_ns(), self.plan.budget_ns / FIRST_SHARE);
        // Half of it, so that there is time to go where the hold shows that there is room.
        let longest_ns = if left_ns > 2 * first_ns { left_ns / 2 } else { left_ns };
        Stretch { shortest_ns: shortest_ns.min(longest_ns), longest_ns, resumes: true }
    }

    /// The change of level in a hold, as long as the search has seen none before: what comes and goes is
    /// noise, and belongs into the average.
    fn change_in(&self, series: &[IntervalPoint]) -> Option<Change> {
        let stays_seconds = seconds(self.plan.budget_ns / FIRST_SHARE);
        Change::in_series(series, stays_seconds).filter(|_| self.shift_rose.is_none())
    }

    /// True once a longer window would change nothing.
    fn is_enough(&self, phase: Phase, seen: &Observed) -> bool {
        let Observed { total, series, .. } = seen;
        let latencies = directions(total);
        let spans = || self.spans(total.seconds(), total.service().mean_ns(), &latencies);
        if phase != Phase::Confirming && !spans() {
            return false;
        }
        let iops = estimates::iops(series, Which::All, total.iops());
        let judged = self.judge(&latencies, series, &seen.exceeding);
        let precision = self.plan.precision;
        if phase == Phase::Confirming {
            let fails = !judged.iter().all(Judged::is_met);
            let is_known = estimates::known_error(&iops) <= precision;
            return fails || is_known || self.change_in(series).is_some();
        }
        let iops = iops.relative_error();
        let clear = judged.iter().all(|j| j.verdict() != Verdict::Open);
        let precise = judged.iter().all(|j| j.error() <= precision);
        clear && iops <= COARSE * precision || precise && iops <= precision
    }

    fn point(&self, queue_depth: u32, seen: &Observed, cpu_percent: f64) -> Point {
        let Observed { total, series, .. } = seen;
        let service = total.service();
        let judged = self.judge(&directions(total), series, &seen.exceeding);
        let judged_met = judged.iter().all(Judged::is_met);
        let told_at_last = judged.iter().all(|judged| judged.n > 0);
        let mean = estimates::latency_mean(series, Which::All, service.mean_ns());
        Point {
            queue_depth,
            queue_depth_achieved: match self.pool.estimates_depth() {
                // No more than asked can be.
                true => total.queue_depth().min(f64::from(queue_depth)),
                false => total.queue_depth(),
            },
            iops: estimates::iops(series, Which::All, total.iops()),
            bytes_per_sec: total.bytes_per_sec(),
            latency: judge::agreeing(estimates::latency_summary(&service, &mean), &judged),
            met: judged_met,
            judged,
            cpu_percent,
            steady: estimates::is_steady(series),
            seconds: total.seconds(),
            own: Depth { told_at_last, met_at_last: judged_met, ..Depth::default() },
            began_ns: seen.began_ns,
            observed_seconds: seconds(self.elapsed_ns() - seen.began_ns),
            has_others: self.is_stuck,
            ticks: None,
            starved: false,
            with_starved: None,
            errors: total.errors(),
        }
    }
}

/// Latencies of a window, for limits to be judged by.
fn directions(window: &Window) -> Directions<'_> {
    let of = |op| &window.tally(op).service;
    Directions::new(of(Op::Read), of(Op::Write), of(Op::Sync))
}

/// What a window, or a hold of several stretches, has shown so far.
#[derive(Debug, Clone, Default)]
pub(super) struct Observed {
    began_ns: u64,
    total: Window,
    series: Vec<IntervalPoint>,
    exceeding: Exceeding,
    /// The same in parts, of a hold.
    parts: Option<Parts>,
}

impl Show for Observed {
    fn append(&mut self, tick: &Window, limits: &[Limit]) {
        self.total.append(tick);
        // Workers that have ended take no time.
        if tick.seconds() <= 0.0 {
            return;
        }
        self.series.push(interval(tick, self.total.seconds()));
        self.exceeding.append(limits, &directions(tick));
        if let Some(parts) = &mut self.parts {
            parts.append(tick);
        }
    }

    fn total(&self) -> &Window {
        &self.total
    }
}

impl Observed {
    /// Forgets the first ticks of a hold, in whole parts.
    fn forget_first(&mut self, ticks: usize) {
        let Some(parts) = &self.parts else { return };
        let left_out = parts.without_first(ticks, &mut self.total);
        self.series.drain(..left_out);
        self.exceeding.without_first(left_out);
    }
}

/// How long a window may be; the longest is no shorter than the shortest.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stretch {
    pub(super) shortest_ns: u64,
    pub(super) longest_ns: u64,
    /// True where it adds to what the hold before saw at the same depth.
    pub(super) resumes: bool,
}

/// A window in parts, each of several ticks.
#[derive(Debug, Clone)]
struct Parts {
    length_ns: u64,
    parts: Vec<(Window, usize)>,
    ended_ns: u64,
}

impl Parts {
    fn new(length_ns: u64) -> Self {
        Self { length_ns, parts: Vec::new(), ended_ns: 0 }
    }

    fn append(&mut self, tick: &Window) {
        if self.parts.is_empty() || tick.ended_ns >= self.ended_ns + self.length_ns {
            self.ended_ns = tick.ended_ns;
            self.parts.push((Window::default(), 0));
        }
        if let Some((part, ticks)) = self.parts.last_mut() {
            part.append(tick);
            *ticks += 1;
        }
    }

    /// Sums up the parts that lie wholly behind the first `ticks`; returns the ticks left out.
    fn without_first(&self, ticks: usize, total: &mut Window) -> usize {
        *total = Window::default();
        let mut before = 0;
        let mut left_out = 0;
        for (part, length) in &self.parts {
            if before >= ticks {
                total.append(part);
            } else {
                left_out = before + length;
            }
            before += length;
        }
        left_out
    }
}

/// Sorts points by depth, and keeps of several at one depth the longest.
pub(super) fn longest_of_each_depth(points: &mut Vec<Point>) {
    points.sort_by(|a, b| a.queue_depth.cmp(&b.queue_depth).then(b.seconds.total_cmp(&a.seconds)));
    points.dedup_by_key(|point| point.queue_depth);
}
