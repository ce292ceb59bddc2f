//! One window of a closed loop: set the queue depth, let the old I/Os complete, measure for as long as needed.

use super::Bench;
use crate::error::LabError;
use crate::measure::estimates::{self, Which};
use crate::measure::hosts;
use crate::measure::straggler::straggler;
use crate::observe::{Decision, Phase, Setting, Verdict};
use crate::search::change::Change;
use crate::search::evidence::Stray;
use crate::search::exceeding::Exceeding;
use crate::search::judge::{self, Judged, tightest};
use crate::search::observed::{Observed, directions};
use crate::search::point::{Depth, Point};
use crate::search::prediction::Ticks;
use crate::search::starvation::{Sieve, WithStarved};
use crate::search::window_length::{
    LONGEST_NS, SHORTEST_NS, TICK_NS, WindowLength, next_look_ns, seconds,
};
use crate::stats::mser5;
use iogauge_model::result::{IntervalPoint, LatencyShare};

/// The budget divided by this is the maximum length of a window, except in a confirmation.
const LONGEST_SHARE: u64 = 16;
/// Minimum and maximum time between the first I/O and the first window, in which caches and queues settle.
const WARM_UP_NS: u64 = 200_000_000;
const WARM_UP_AT_MOST_NS: u64 = 2_000_000_000;
/// Parts of a confirmation that are kept separately, so that what precedes a performance shift can be left out.
const CONFIRMATION_PARTS: u64 = 48;
/// Up to this many hosts, a confirmation has all its parts.
const HOSTS_IN_PARTS: u64 = 64;
/// The budget divided by this is the length of a confirmation's first stretch.
const FIRST_SHARE: u64 = 12;
/// Shorter waits are not reported.
const NOTABLE_DRAIN_NS: u64 = 100_000_000;
/// Workers are added if at least the budget divided by this is left.
const WORKERS_SHARE: u64 = 4;
/// If the verdict is clear, the IOPS may be this many times less precise than requested.
const COARSE: f64 = 5.0;

impl Bench<'_, '_> {
    /// Runs the pool until its rate has settled, before the first window.
    pub(in crate::search) fn warm_up(&mut self) -> Result<(), LabError> {
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

    /// Adds workers, up to twice as many, if there is time to measure the effect. Returns false if none were added.
    pub(in crate::search) fn add_workers(&mut self) -> Result<bool, LabError> {
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

    /// Returns true if the budget has room for a window outside a confirmation, after I/Os with this latency have
    /// completed.
    pub(in crate::search) fn has_time_for_window(&self, latency_ns: u64) -> bool {
        self.left_ns() >= self.stretch(Phase::Narrowing).longest_ns + latency_ns
    }

    /// Measures one queue depth.
    pub(in crate::search) fn measure_depth(
        &mut self,
        queue_depth: u32,
        phase: Phase,
        stretch: WindowLength,
    ) -> Result<Point, LabError> {
        self.unspoilt(|bench| bench.try_depth(queue_depth, phase, stretch))
    }

    /// Returns `None` if a pause of iogauge spoilt the window and it may be measured again.
    fn try_depth(
        &mut self,
        queue_depth: u32,
        phase: Phase,
        length: WindowLength,
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
            let part_ns = self.left_ns().max(length.longest_ns) / self.confirmation_parts();
            let part_ns = (phase == Phase::Confirming).then_some(part_ns);
            Sieve::of(Observed::since(self.elapsed_ns(), part_ns))
        });
        let mut stretches = self.stretches(&mut sieve, length.longest_ns);
        loop {
            self.pool.advance(TICK_NS)?;
            let window = self.take_window()?;
            if window.is_none() && self.may_repeat() {
                return Ok(None);
            }
            if let Some(window) = window {
                let latencies = directions(&window);
                self.show(&window, phase, queue_depth, window.service().mean_ns(), &latencies);
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
        // A trace contains this stretch only.
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
        // The whole window shows how the target varies. The part after a shift shows what it gives now.
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

    /// Returns the number of parts of a confirmation. A part has histograms of each host, so with many hosts there are
    /// fewer, longer ones.
    fn confirmation_parts(&self) -> u64 {
        let hosts = self.pool.host_names().len().max(1) as u64;
        (CONFIRMATION_PARTS * HOSTS_IN_PARTS / hosts)
            .clamp(CONFIRMATION_PARTS / 6, CONFIRMATION_PARTS)
    }

    /// Changes the queue depth, unless the window continues at the same one. Returns the queue depth reached and the
    /// window length that there is still time for.
    fn come_to(
        &mut self,
        queue_depth: u32,
        length: WindowLength,
    ) -> Result<(u32, WindowLength), LabError> {
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
        // The I/Os of the old queue depth used part of the budget.
        let longest_ns = length.longest_ns.min(self.left_ns()).max(SHORTEST_NS);
        Ok((queue_depth, WindowLength { longest_ns, ..length }))
    }

    /// Returns the figures of a point including its starved stretches.
    fn with_starved(&self, all: &Observed) -> WithStarved {
        let judged = self.judge(&directions(&all.total), &all.series, &all.exceeding);
        let limits = judged.iter().map(Judged::limit_value).collect();
        WithStarved { iops: all.total.iops(), limits }
    }

    /// Returns how the ticks of a window deviate from its figures, for the limit closest to its bound.
    fn ticks(&self, seen: &Observed) -> Option<Ticks> {
        let latencies = directions(&seen.total);
        let judged = self.judge(&latencies, &seen.series, &seen.exceeding);
        let limit = tightest(&judged)?;
        Some(Ticks::of(&seen.series, seen.exceeding.of(limit), &judged[limit], &latencies))
    }

    /// Waits until no I/O of the old queue depth is outstanding, so that all I/Os in the new window are its own. If the
    /// budget ends first, the search is stuck.
    pub(in crate::search) fn drain(&mut self, queue_depth: u32) -> Result<(), LabError> {
        let begin_ns = self.pool.now_ns();
        self.wait_for(TICK_NS / 5, |pool| pool.drained())?;
        let (waited_ns, whole) = (self.pool.now_ns() - begin_ns, self.pool.drained());
        if waited_ns >= NOTABLE_DRAIN_NS || !whole {
            self.decide(Decision::Drained { queue_depth, seconds: seconds(waited_ns), whole });
        }
        Ok(())
    }

    /// Returns the allowed length of a window in a phase.
    pub(in crate::search) fn stretch(&self, phase: Phase) -> WindowLength {
        let (budget_ns, left_ns) = (self.plan.budget_ns, self.left_ns());
        let (shortest_ns, longest_ns) = match phase {
            // A confirmation must see what short windows miss: stalls, burst credits, caches. A failed one must leave
            // time for another, as long as there is time for two.
            Phase::Confirming => ((left_ns / 2).max(budget_ns / FIRST_SHARE).min(left_ns), left_ns),
            _ => (SHORTEST_NS, (budget_ns / LONGEST_SHARE).min(LONGEST_NS)),
        };
        let shortest_ns = shortest_ns.max(SHORTEST_NS);
        WindowLength { shortest_ns, longest_ns: longest_ns.max(shortest_ns), resumes: false }
    }

    /// Returns the length of a confirmation's first stretch, which shows whether the queue depth is about right.
    pub(in crate::search) fn first_stretch(&self) -> WindowLength {
        let first_ns = (self.plan.budget_ns / FIRST_SHARE).min(self.left_ns()).max(SHORTEST_NS);
        WindowLength { shortest_ns: first_ns, longest_ns: first_ns, resumes: false }
    }

    /// Returns the length of the rest of a confirmation, at least `shortest_ns`.
    pub(in crate::search) fn rest_of_confirmation(&self, shortest_ns: u64) -> WindowLength {
        let (left_ns, first_ns) = (self.left_ns(), self.plan.budget_ns / FIRST_SHARE);
        // Half of the time left, so that there is time for a larger queue depth if the confirmation leaves room for
        // one.
        let longest_ns = if left_ns > 2 * first_ns { left_ns / 2 } else { left_ns };
        WindowLength { shortest_ns: shortest_ns.min(longest_ns), longest_ns, resumes: true }
    }

    /// Returns the performance shift in a confirmation, unless the search has seen one before: what comes and goes is
    /// noise and belongs in the average.
    fn change_in(&self, series: &[IntervalPoint]) -> Option<Change> {
        let stays_seconds = seconds(self.plan.budget_ns / FIRST_SHARE);
        Change::in_series(series, stays_seconds).filter(|_| self.shift_rose.is_none())
    }

    /// Returns true if the window is long enough.
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
        let latencies = directions(total);
        let judged = self.judge(&latencies, series, &seen.exceeding);
        let names = self.pool.host_names();
        let judged_met = judged.iter().all(Judged::is_met);
        let told_at_last = judged.iter().all(|judged| judged.n > 0);
        let mean = estimates::latency_mean(series, Which::All, service.mean_ns());
        Point {
            queue_depth,
            queue_depth_achieved: match self.pool.estimates_depth() {
                // At most the requested queue depth can be outstanding.
                true => total.queue_depth().min(f64::from(queue_depth)),
                false => total.queue_depth(),
            },
            iops: estimates::iops(series, Which::All, total.iops()),
            bytes_per_sec: total.bytes_per_sec(),
            latency: judge::agreeing(estimates::latency_summary(&service, &mean), &judged),
            latency_shares: LatencyShare::all_of(&service),
            hosts: hosts::results(total, names, &latencies),
            straggler: straggler(&latencies, &self.plan.limits, names),
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
