//! The worker pool that a search measures with, its time budget, and its observer.

mod full_queue;
mod starvation;
mod window;

use super::evidence::Stray;
use super::exceeding::Exceeding;
use super::judge::Judged;
use super::observed::Observed;
use super::point::FullQueue;
use super::starvation::{Sieve, Starved};
use super::window_length::{SHORTEST_NS, TICK_NS, seconds};
use super::{SearchPlan, judge};
use crate::error::LabError;
use crate::measure::Watch;
use crate::measure::process_pauses::Pauses;
use crate::measure::series::{Series, interval_with_bands};
use crate::observe::Decision;
use crate::observe::{self, Phase, Setting, Status};
use iogauge_io::machine::ProcessCpu;
use iogauge_io::pool::{LiveFigures, WorkerPool};
use iogauge_io::worker::accounting::Window;
use iogauge_model::Limit;
use iogauge_model::limit::Directions;
use iogauge_model::result::{CurvePoint, HostResult, IntervalPoint, StoppedBy};

/// Maximum number of intervals that are kept of a search, and minimum number of ticks in each.
const MOST_INTERVALS: usize = 600;
const TICKS_JOINED: usize = 4;
/// Minimum length of a window in mean latencies, so that slow devices get longer windows.
const LATENCIES: f64 = 20.0;
/// A window needs this many times fewer I/Os of each host than of all together. With hundreds of hosts, it would
/// otherwise take as long as the whole search.
const FEWER_ON_A_HOST: u64 = 10;
/// Number of points that are measured again after a pause of iogauge. In later ones only the time around a pause is
/// left out.
const MOST_REPEATS: u32 = 3;
/// Processor time, in percent, from which a worker cannot do more.
pub(crate) const CLIENT_BOUND_PERCENT: f64 = 95.0;

/// A worker pool under measurement, with its budget.
pub(super) struct Bench<'a, 'b> {
    pub(super) pool: &'a mut dyn WorkerPool,
    pub(super) plan: &'a SearchPlan,
    watch: &'a mut Watch<'b>,
    start_ns: u64,
    /// Start of the current window.
    window_ns: u64,
    pauses: Pauses,
    /// Time left out because of pauses. It stops growing once it contains a whole budget of time in which iogauge ran.
    excluded_ns: u64,
    /// Time spent on points that were measured again.
    spoilt_ns: u64,
    series: Series,
    /// What the last confirmation saw, so that another stretch can continue it.
    pub(super) confirmed: Option<Sieve<Observed>>,
    /// The queue in front of the target, if it was seen to be full.
    pub(super) full_queue: Option<FullQueue>,
    /// What was seen while I/Os of the previous queue depth completed.
    pub(super) strays: Vec<Stray>,
    /// Number of failed I/Os.
    pub(super) errors: u64,
    /// True once I/Os of an earlier queue depth or rate were outstanding until the end of the budget.
    pub(super) is_stuck: bool,
    /// Starved stretches of all windows.
    pub(super) starved: Starved,
    /// True if IOPS rose in the first performance shift, false if they fell; `None` before it.
    pub(super) shift_rose: Option<bool>,
    /// True once the target has shifted back: its shifts are noise.
    pub(super) reverted: bool,
    /// Currently requested queue depth and rate.
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

    /// Ends the current window and adds it to the series of the search. Returns `None` if iogauge was paused during it.
    pub(super) fn take_window(&mut self) -> Result<Option<Window>, LabError> {
        let window = self.pool.take_window()?;
        let paused = self.note(&window)?;
        Ok((!paused).then_some(window))
    }

    /// Sets the queue depth, at most what the pool can reach, and returns it.
    pub(super) fn ask_depth(&mut self, queue_depth: u32) -> Result<u32, LabError> {
        let window = self.pool.set_queue_depth(queue_depth)?;
        self.note(&window)?;
        let reached = self.pool.most_depth().map_or(queue_depth, |most| most.min(queue_depth));
        self.queue_depth_asked = Some(reached);
        Ok(reached)
    }

    /// Returns true if a rise or fall reverses the recorded performance shift.
    pub(super) fn reverts_by(&self, rise: bool) -> bool {
        self.shift_rose.is_some_and(|rose| rose != rise)
    }

    pub(super) fn queue_depth_asked(&self) -> Option<u32> {
        self.queue_depth_asked
    }

    /// Returns true if this queue depth is already set.
    pub(super) fn is_at(&self, queue_depth: u32) -> bool {
        self.queue_depth_asked == Some(queue_depth)
    }

    /// Returns the largest queue depth that may be tried.
    pub(super) fn max_depth(&self) -> u32 {
        let queue = self.full_queue.as_ref().map_or(u32::MAX, |queue| queue.queue_depth);
        self.pool.most_depth().unwrap_or(u32::MAX).min(self.plan.max_depth).min(queue)
    }

    /// Changes the arrival rate.
    pub(super) fn ask_rate(&mut self, rate_iops: f64) -> Result<(), LabError> {
        let window = self.pool.set_rate(Some(rate_iops))?;
        self.note(&window)?;
        self.rate_asked_iops = Some(rate_iops);
        Ok(())
    }

    /// Adds a window that has just ended to the series of the search. If iogauge was paused during it, returns true and
    /// leaves the window out, together with the time until its I/Os have completed.
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

    /// Measures a point with `attempt`, and again each time `attempt` returns `None` because a pause spoilt it. Time
    /// spent on spoilt attempts does not count towards the budget.
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

    /// Returns true if a point that a pause spoilt may be measured again.
    pub(super) fn may_repeat(&self) -> bool {
        self.pauses.repeats < MOST_REPEATS && !self.must_end()
    }

    /// Returns the pauses of iogauge so far.
    pub(super) fn pauses(&self) -> Pauses {
        self.pauses
    }

    /// Returns the search over time.
    pub(super) fn into_series(self) -> Vec<IntervalPoint> {
        self.series.into_points()
    }

    /// Returns the time since the search began, without what is left out because of pauses.
    pub(super) fn elapsed_ns(&self) -> u64 {
        (self.pool.now_ns() - self.start_ns).saturating_sub(self.excluded_ns)
    }

    /// Returns the part of that time spent on points that were measured again.
    pub(super) fn spoilt_ns(&self) -> u64 {
        self.spoilt_ns
    }

    /// Returns the part of the budget that is spent.
    pub(super) fn spent_ns(&self) -> u64 {
        self.elapsed_ns() - self.spoilt_ns
    }

    pub(super) fn left_ns(&self) -> u64 {
        self.plan.budget_ns.saturating_sub(self.spent_ns())
    }

    pub(super) fn interrupted(&self) -> bool {
        self.watch.interrupt.is_set()
    }

    /// Returns what makes the search end at once, whatever it has found: the user, workers that have ended, or I/Os of
    /// an earlier queue depth or rate that were outstanding until the end of the budget.
    pub(super) fn cut_by(&self) -> Option<StoppedBy> {
        if self.interrupted() {
            Some(StoppedBy::Interrupted)
        } else if self.pool.finished() {
            Some(StoppedBy::Ended)
        } else {
            self.is_stuck.then_some(StoppedBy::Budget)
        }
    }

    /// Returns true if the search must end at once.
    pub(super) fn must_end(&self) -> bool {
        self.cut_by().is_some()
    }

    /// Runs the workers until `is_over`, as long as the budget leaves time for another window, but for at least one
    /// tick. If that is too short, the search is stuck.
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

    /// Reports that the time for a phase is used up.
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

    /// Reports a tick, with the mean and the statistics of the latency that the limits apply to.
    pub(super) fn show(
        &mut self,
        tick: &Window,
        phase: Phase,
        queue_depth: u32,
        latency_mean_ns: f64,
        latencies: &Directions<'_>,
    ) {
        let limits = self.plan.limits.iter();
        let limits: Vec<_> = limits.map(|limit| (*limit, limit.statistic_ns(latencies))).collect();
        self.watch.observer.status(&Status {
            phase,
            queue_depth,
            iops: tick.iops(),
            bytes_per_sec: tick.bytes_per_sec(),
            by_direction: observe::by_direction(tick),
            latency_mean_ns,
            limits: &limits,
            left_ns: Some(self.left_ns()),
            total_ns: Some(self.plan.budget_ns),
        });
    }

    /// Returns true if a window is long enough to judge its latencies: all I/Os together are enough for each statistic,
    /// and those of each host are enough for an interval, if a limit bounds each host.
    pub(super) fn spans(&self, seconds: f64, mean_ns: f64, latencies: &Directions<'_>) -> bool {
        let has_samples = |limit: &Limit| {
            let wanted = limit.metric.samples_wanted();
            let mut judged = limit.judged(latencies);
            Limit { each: false, ..*limit }.has_samples(latencies)
                && (!limit.each || judged.all(|host| host.count() >= wanted / FEWER_ON_A_HOST))
        };
        seconds * 1e9 >= mean_ns * LATENCIES && self.plan.limits.iter().all(has_samples)
    }

    /// Judges every limit by a window: its latencies, the same tick by tick, and the I/Os over the bounds.
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

    /// Returns the processor time used so far by those who do the I/O.
    fn cpu(&self) -> ProcessCpu {
        self.pool.cpu().unwrap_or_else(ProcessCpu::now)
    }

    /// Returns the processor time used, in percent of one processor; 0 in virtual time.
    pub(super) fn cpu_percent(&self, since: &Stopwatch) -> f64 {
        if self.pool.is_virtual() {
            return 0.0;
        }
        let used_ns = self.cpu().total_ns().saturating_sub(since.cpu.total_ns());
        used_ns as f64 * 100.0 / self.passed_ns(since).max(1) as f64
    }

    /// Returns the processor time spent polling for arrivals, in percent of one processor.
    pub(super) fn polled_percent(&self, since: &Stopwatch) -> f64 {
        let polled_ns = self.live().polled_ns.saturating_sub(since.polled_ns);
        polled_ns as f64 * 100.0 / self.passed_ns(since).max(1) as f64
    }

    /// Returns whether the workers had no processor time left. `hosts` is empty if there is one.
    pub(super) fn client_bound(
        &self,
        cpu_percent: f64,
        queue_depth: u32,
        hosts: &[HostResult],
    ) -> ClientBound {
        if !hosts.is_empty() {
            return ClientBound::on(hosts);
        }
        let busy = self.pool.is_only_client() && self.workers_are_busy(cpu_percent, queue_depth);
        if busy { ClientBound::All } else { ClientBound::No }
    }

    /// Returns true if the workers of this process had no processor time left at a queue depth.
    fn workers_are_busy(&self, cpu_percent: f64, queue_depth: u32) -> bool {
        // A worker without an I/O of its own sleeps, and one without a processor waits.
        let processors = std::thread::available_parallelism().map_or(u32::MAX, |n| n.get() as u32);
        let busy = self.workers().min(queue_depth).min(processors);
        cpu_percent >= CLIENT_BOUND_PERCENT * f64::from(busy)
    }
}

/// Returns how much of the processor time that its workers could use a host used, in percent, if none was left.
pub(crate) fn client_bound_percent(host: &HostResult) -> Option<f64> {
    host.busy_percent().filter(|percent| *percent >= CLIENT_BOUND_PERCENT)
}

/// Whether workers had no processor time left, on which of the hosts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ClientBound {
    No,
    SomeHosts,
    All,
}

impl ClientBound {
    fn on(hosts: &[HostResult]) -> Self {
        let busy = hosts.iter().filter(|host| !host.is_idle());
        let mut busy = busy.map(|host| client_bound_percent(host).is_some());
        match (busy.clone().any(|bound| bound), busy.all(|bound| bound)) {
            (false, _) => Self::No,
            (true, false) => Self::SomeHosts,
            (true, true) => Self::All,
        }
    }
}

/// The start of a window. Times exclude pauses.
pub(super) struct Stopwatch {
    cpu: ProcessCpu,
    polled_ns: u64,
    begin_ns: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn client_is_the_bottleneck_on_none_some_or_all_busy_hosts() {
        let host = |cpu_percent| HostResult {
            ios: 1,
            queue_depth: 8.0,
            processors: 2,
            cpu_percent,
            ..HostResult::default()
        };
        let idle = HostResult { processors: 2, ..HostResult::default() };
        assert_eq!(ClientBound::on(&[host(50.0), host(189.0)]), ClientBound::No);
        assert_eq!(ClientBound::on(&[host(50.0), host(191.0)]), ClientBound::SomeHosts);
        assert_eq!(ClientBound::on(&[host(199.0), idle, host(191.0)]), ClientBound::All);
        // Nothing is known of hosts in virtual time.
        assert_eq!(
            ClientBound::on(&[HostResult { processors: 0, ..host(200.0) }]),
            ClientBound::No
        );
    }
}
