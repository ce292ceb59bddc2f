//! What a search measures on: a pool, the time it has, and those who watch.

mod full_queue;
mod starvation;
mod window;

use super::evidence::Stray;
use super::exceeding::Exceeding;
use super::judge::Judged;
use super::observed::Observed;
use super::point::FullQueue;
use super::starvation::{Sieve, Starved};
use super::time::{SHORTEST_NS, TICK_NS, seconds};
use super::{SearchPlan, judge};
use crate::error::LabError;
use crate::measure::Watch;
use crate::measure::process_pauses::Pauses;
use crate::measure::series::{Series, interval_with_bands};
use crate::observe::Decision;
use crate::observe::{Phase, Setting, Status};
use iogauge_io::machine::ProcessCpu;
use iogauge_io::pool::{LiveFigures, WorkerPool};
use iogauge_io::worker::accounting::Window;
use iogauge_model::limit::Directions;
use iogauge_model::result::{CurvePoint, IntervalPoint, StoppedBy};

pub(super) use window::WindowLength;

/// Intervals of a search that are kept, at most, and ticks in each at least.
const MOST_INTERVALS: usize = 600;
const TICKS_JOINED: usize = 4;
/// Latencies a window has to span, so that slow devices get longer ones.
const LATENCIES: f64 = 20.0;
/// So many points of a search are measured again because iogauge was paused meanwhile. Of later ones
/// only what the pauses touched is left out.
const MOST_REPEATS: u32 = 3;
/// A worker that spends this share of its time on the processor cannot do more.
pub(crate) const CLIENT_BOUND_PERCENT: f64 = 95.0;

/// A pool under measurement, with its budget.
pub(super) struct Bench<'a, 'b> {
    pub(super) pool: &'a mut dyn WorkerPool,
    pub(super) plan: &'a SearchPlan,
    watch: &'a mut Watch<'b>,
    start_ns: u64,
    /// Begin of the window under way.
    window_ns: u64,
    pauses: Pauses,
    /// Time left out for pauses, as long as that is not a whole budget of work.
    excluded_ns: u64,
    /// Time spent on points that were measured again.
    spoilt_ns: u64,
    series: Series,
    /// What the last hold saw, for another stretch of it.
    pub(super) confirmed: Option<Sieve<Observed>>,
    /// The queue in front of the target, once it was seen to be full.
    pub(super) full_queue: Option<FullQueue>,
    /// Waits for I/Os of the depth before.
    pub(super) strays: Vec<Stray>,
    /// I/Os that failed.
    pub(super) errors: u64,
    /// True once I/Os of an earlier depth or rate were outstanding for all of the budget.
    pub(super) is_stuck: bool,
    /// Stretches of all windows.
    pub(super) starved: Starved,
    /// Whether the target rose or fell to another level, once it has come to one.
    pub(super) shift_rose: Option<bool>,
    /// True once it has gone the other way again: its levels are noise.
    pub(super) reverted: bool,
    /// Depth and rate asked at present.
    queue_depth_asked: Option<u32>,
    rate_asked_iops: Option<f64>,
}

impl<'a, 'b> Bench<'a, 'b> {
    pub(super) fn new(
        pool: &'a mut dyn WorkerPool,
        plan: &'a SearchPlan,
        watch: &'a mut Watch<'b>,
    ) -> Self {
        let start_ns = pool.now_ns();
        Self {
            pool,
            plan,
            watch,
            start_ns,
            window_ns: start_ns,
            pauses: Pauses::default(),
            excluded_ns: 0,
            spoilt_ns: 0,
            series: Series::of(MOST_INTERVALS, TICKS_JOINED),
            confirmed: None,
            full_queue: None,
            strays: Vec::new(),
            errors: 0,
            is_stuck: false,
            starved: Starved::default(),
            shift_rose: None,
            reverted: false,
            queue_depth_asked: None,
            rate_asked_iops: None,
        }
    }

    /// Ends the window under way, which goes into the search's series whether it is measured or not.
    /// `None` where iogauge was paused in it.
    pub(super) fn take_window(&mut self) -> Result<Option<Window>, LabError> {
        let window = self.pool.take_window()?;
        let paused = self.note(&window)?;
        Ok((!paused).then_some(window))
    }

    /// Changes the depth, to what the pool can reach of it.
    pub(super) fn ask_depth(&mut self, queue_depth: u32) -> Result<u32, LabError> {
        let window = self.pool.set_queue_depth(queue_depth)?;
        self.note(&window)?;
        let reached = self.pool.most_depth().map_or(queue_depth, |most| most.min(queue_depth));
        self.queue_depth_asked = Some(reached);
        Ok(reached)
    }

    /// True where a rise or fall takes back the change of level there was.
    pub(super) fn reverts_by(&self, rise: bool) -> bool {
        self.shift_rose.is_some_and(|rose| rose != rise)
    }

    /// The depth asked at present.
    pub(super) fn queue_depth_asked(&self) -> Option<u32> {
        self.queue_depth_asked
    }

    /// True where this depth is asked already.
    pub(super) fn is_at(&self, queue_depth: u32) -> bool {
        self.queue_depth_asked == Some(queue_depth)
    }

    /// The largest depth there is to try.
    pub(super) fn max_depth(&self) -> u32 {
        let queue = self.full_queue.as_ref().map_or(u32::MAX, |queue| queue.queue_depth);
        self.pool.most_depth().unwrap_or(u32::MAX).min(self.plan.max_depth).min(queue)
    }

    /// Changes the rate of arrivals.
    pub(super) fn ask_rate(&mut self, rate_iops: f64) -> Result<(), LabError> {
        let window = self.pool.set_rate(Some(rate_iops))?;
        self.note(&window)?;
        self.rate_asked_iops = Some(rate_iops);
        Ok(())
    }

    /// Takes a window that has just ended into the search's series. True where iogauge was paused in
    /// it: it is left out then, and so is what was done until its I/Os had come back.
    pub(super) fn note(&mut self, window: &Window) -> Result<bool, LabError> {
        self.errors += window.errors();
        let before_ns = self.pauses.paused.ns;
        let interrupt = self.watch.interrupt;
        let paused = self.pauses.leave_out(self.pool, window, self.window_ns, interrupt)?;
        self.window_ns = self.pool.now_ns();
        if paused {
            if self.pauses.worked_ns() <= self.plan.budget_ns {
                self.excluded_ns = self.pauses.left_out_ns;
            }
            let paused_seconds = seconds(self.pauses.paused.ns - before_ns);
            self.decide(Decision::Paused { seconds: paused_seconds });
        } else if window.seconds() > 0.0 {
            let asked = IntervalPoint {
                queue_depth_asked: self.queue_depth_asked.map(f64::from),
                rate_asked_iops: self.rate_asked_iops,
                ..interval_with_bands(window, seconds(self.elapsed_ns()))
            };
            self.series.append(asked);
        }
        Ok(paused)
    }

    /// Measures a point, and again where `attempt` is spoilt by a pause, which it says by `None`. What
    /// was spent on it is given back to the budget.
    pub(super) fn unspoilt<P>(
        &mut self,
        mut attempt: impl FnMut(&mut Self) -> Result<Option<P>, LabError>,
    ) -> Result<P, LabError> {
        loop {
            let begin_ns = self.elapsed_ns();
            if let Some(point) = attempt(self)? {
                return Ok(point);
            }
            self.pauses.repeats += 1;
            self.spoilt_ns += self.elapsed_ns() - begin_ns;
        }
    }

    /// True where a point that a pause spoilt is measured again.
    pub(super) fn may_repeat(&self) -> bool {
        self.pauses.repeats < MOST_REPEATS && !self.must_end()
    }

    /// Pauses of iogauge so far.
    pub(super) fn pauses(&self) -> Pauses {
        self.pauses
    }

    /// The search over time.
    pub(super) fn into_series(self) -> Vec<IntervalPoint> {
        self.series.into_points()
    }

    /// Time since the search began, without what is left out for pauses.
    pub(super) fn elapsed_ns(&self) -> u64 {
        (self.pool.now_ns() - self.start_ns).saturating_sub(self.excluded_ns)
    }

    /// Part of that spent on points that were measured again.
    pub(super) fn spoilt_ns(&self) -> u64 {
        self.spoilt_ns
    }

    /// Part of the budget that is spent.
    pub(super) fn spent_ns(&self) -> u64 {
        self.elapsed_ns() - self.spoilt_ns
    }

    pub(super) fn left_ns(&self) -> u64 {
        self.plan.budget_ns.saturating_sub(self.spent_ns())
    }

    pub(super) fn interrupted(&self) -> bool {
        self.watch.interrupt.is_set()
    }

    /// What makes the search end at once, whatever it has found: the user, workers that have ended, or I/Os of an
    /// earlier depth or rate that were outstanding for all of the budget.
    pub(super) fn cut_by(&self) -> Option<StoppedBy> {
        if self.interrupted() {
            Some(StoppedBy::Interrupted)
        } else if self.pool.finished() {
            Some(StoppedBy::Ended)
        } else {
            self.is_stuck.then_some(StoppedBy::Budget)
        }
    }

    /// True where something makes the search end at once.
    pub(super) fn must_end(&self) -> bool {
        self.cut_by().is_some()
    }

    /// Lets the workers go on until `is_over`, for as long as the budget leaves time for a window behind it, or for a
    /// tick. The search is stuck where that is too short.
    pub(super) fn wait_for(
        &mut self,
        step_ns: u64,
        is_over: impl Fn(&dyn WorkerPool) -> bool,
    ) -> Result<(), LabError> {
        let longest_ns = self.left_ns().saturating_sub(SHORTEST_NS).max(TICK_NS);
        let end_ns = self.pool.now_ns() + longest_ns;
        while !is_over(self.pool) && self.pool.now_ns() < end_ns && !self.must_end() {
            self.pool.advance(step_ns)?;
        }
        self.is_stuck |= !is_over(self.pool) && !self.must_end();
        Ok(())
    }

    pub(super) fn live(&self) -> LiveFigures {
        self.pool.live()
    }

    pub(super) fn workers(&self) -> u32 {
        self.pool.workers() as u32
    }

    pub(super) fn could_add_worker(&self) -> bool {
        self.pool.could_add_worker()
    }

    pub(super) fn decide(&mut self, decision: Decision) {
        self.watch.observer.decision(&decision);
    }

    /// The time for a phase is used up.
    pub(super) fn decide_over(&mut self, phase: Phase) {
        let (spent_seconds, left_seconds) = (seconds(self.spent_ns()), seconds(self.left_ns()));
        self.decide(Decision::Budget { phase, spent_seconds, left_seconds });
    }

    pub(super) fn keep(&mut self, point: &CurvePoint) {
        self.watch.observer.point(point);
    }

    pub(super) fn window_begins(&mut self) {
        self.watch.observer.window_begins();
    }

    pub(super) fn window_ends(&mut self, window: &Window, place: Setting) {
        self.watch.observer.window_ends(window, place);
    }

    /// Tells of a tick, with the mean latency that the limits mean.
    pub(super) fn show(
        &mut self,
        tick: &Window,
        phase: Phase,
        queue_depth: u32,
        latency_mean_ns: f64,
    ) {
        self.watch.observer.status(&Status {
            phase,
            queue_depth,
            iops: tick.iops(),
            bytes_per_sec: tick.bytes_per_sec(),
            latency_mean_ns,
            limits: &self.plan.limits,
            left_ns: Some(self.left_ns()),
        });
    }

    /// True once a window is long enough for its latencies to be judged.
    pub(super) fn spans(&self, seconds: f64, mean_ns: f64, latencies: &Directions<'_>) -> bool {
        seconds * 1e9 >= mean_ns * LATENCIES
            && self.plan.limits.iter().all(|limit| limit.has_samples(latencies))
    }

    /// Judges every limit by a window: its latencies, the same tick by tick, and those over the
    /// bounds.
    pub(super) fn judge(
        &self,
        latencies: &Directions<'_>,
        series: &[IntervalPoint],
        exceeding: &Exceeding,
    ) -> Vec<Judged> {
        judge::all(&self.plan.limits, latencies, series, exceeding)
    }

    pub(super) fn stopwatch(&self) -> Stopwatch {
        Stopwatch { cpu: self.cpu(), polled_ns: self.live().polled_ns, begin_ns: self.elapsed_ns() }
    }

    pub(super) fn passed_ns(&self, since: &Stopwatch) -> u64 {
        self.elapsed_ns() - since.begin_ns
    }

    /// Processor time of those who do the I/O so far.
    fn cpu(&self) -> ProcessCpu {
        self.pool.cpu().unwrap_or_else(ProcessCpu::now)
    }

    /// Processor time used, in percent of one processor; 0 in virtual time.
    pub(super) fn cpu_percent(&self, since: &Stopwatch) -> f64 {
        if self.pool.is_virtual() {
            return 0.0;
        }
        let used_ns = self.cpu().total_ns().saturating_sub(since.cpu.total_ns());
        used_ns as f64 * 100.0 / self.passed_ns(since).max(1) as f64
    }

    /// The part of the processor time that was spent polling for arrivals, in percent of one processor.
    pub(super) fn polled_percent(&self, since: &Stopwatch) -> f64 {
        let polled_ns = self.live().polled_ns.saturating_sub(since.polled_ns);
        polled_ns as f64 * 100.0 / self.passed_ns(since).max(1) as f64
    }

    /// True where the workers had no more processor time to use at a depth.
    pub(super) fn client_bound(&self, cpu_percent: f64, queue_depth: u32) -> bool {
        if !self.pool.is_only_client() {
            return false;
        }
        // A worker without an I/O of its own rests, and one without a processor waits.
        let processors = std::thread::available_parallelism().map_or(u32::MAX, |n| n.get() as u32);
        let busy = self.workers().min(queue_depth).min(processors);
        cpu_percent >= CLIENT_BOUND_PERCENT * f64::from(busy)
    }
}

/// The begin of a window, in time without pauses.
pub(super) struct Stopwatch {
    cpu: ProcessCpu,
    polled_ns: u64,
    begin_ns: u64,
}
