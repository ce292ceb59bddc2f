//! One rate: let the queue empty, offer the arrivals, measure for as long as needed.

use super::super::StoppedBy;
use super::super::bench::Bench;
use super::super::capacity::{self, Capacity, RatePlace};
use super::super::conclude::Ended;
use super::super::evidence::surely_breaks;
use super::super::exceeding::Exceeding;
use super::super::judge::{self, Judged, tightest};
use super::super::point::{Point, Rate};
use super::super::prediction::{self, Answered, Ticks};
use super::super::starvation::{Show, Sieve, WithStarved};
use super::super::window_length::{LONGEST_NS, SHORTEST_NS, TICK_NS, next_look_ns};
use crate::error::LabError;
use crate::measure::estimates::{self, Which};
use crate::measure::hosts::{self, Times};
use crate::measure::series::interval;
use crate::measure::straggler::straggler;
use crate::observe::Verdict;
use crate::observe::{Phase, Setting};
use crate::stats::NORMAL_95;
use iogauge_io::engine::Op;
use iogauge_io::worker::accounting::Window;
use iogauge_model::limit::Directions;
use iogauge_model::result::{Answer, Estimate, IntervalPoint, LatencyShare};
use iogauge_model::{Histogram, Limit};

/// The budget divided by this is the maximum length of a window, except in a confirmation.
const LONGEST_SHARE: u64 = 12;
/// The maximum length of a window divided by this is the time in which the queue settles before the window.
const SETTLING_SHARE: u64 = 8;
/// Maximum number of times that a rate is offered if the client is starved.
const MOST_OFFERS: u32 = 3;
/// Share of the arrivals that may be left behind.
const SHORT_SHARE: f64 = 0.03;
/// A confirmation that clearly breaks the limit ends after its length divided by this.
const HOPELESS_SHARE: u64 = 4;

/// An answer may rest on this many times fewer I/Os than its statistic needs to be reliable.
const FEWER: u64 = 10;

/// A measured rate.
pub(super) type RatePoint = Point<Rate>;

impl RatePoint {
    /// Returns the statistic divided by its bound, for the limit closest to its bound or furthest over it.
    pub(super) fn share(&self) -> f64 {
        self.judged.iter().map(Judged::share).fold(1e-3, f64::max).min(1e6)
    }

    pub(super) fn achieved_share(&self) -> f64 {
        if self.own.offered_iops > 0.0 { self.iops.mean / self.own.offered_iops } else { 1.0 }
    }

    /// Returns true if it contains enough I/Os for every limit.
    pub(super) fn has_samples(&self) -> bool {
        let wanted = |judged: &Judged| judged.limit.metric.samples_wanted() / FEWER;
        self.judged.iter().all(|judged| judged.n >= wanted(judged))
    }

    /// Returns true if a much lower rate than `larger` hardly reduced the statistic.
    pub(super) fn is_no_better_than(&self, larger: &Self) -> bool {
        const LESS: f64 = 0.5;
        const ALIKE: f64 = 0.7;
        let is_less = self.own.rate_iops <= larger.own.rate_iops * LESS;
        is_less && !self.own.falls_short && self.share() >= larger.share() * ALIKE
    }

    /// Returns true if a limit clearly breaks, or if arrivals are left behind.
    fn surely_fails(&self) -> bool {
        self.own.falls_short || surely_breaks(&self.judged)
    }

    /// Returns why a search with this answer ended. A few I/Os that keep a limit are no evidence for it.
    pub(super) fn confirms(&self, stopped_by: StoppedBy) -> StoppedBy {
        match stopped_by {
            StoppedBy::Limit if !self.has_samples() => StoppedBy::Budget,
            stopped_by => stopped_by,
        }
    }

    fn place(&self, limit: usize) -> RatePlace {
        let judged = &self.judged[limit];
        RatePlace {
            rate_iops: self.own.rate_iops,
            share: judged.share(),
            error: judged.relative_error() / NORMAL_95,
            seconds: self.seconds,
        }
    }

    /// Returns the IOPS at the answer, with an interval that covers the uncertainty of the limit's statistic. The
    /// target gives at most `most_iops`.
    fn capacity(&self, curve: &[Self], most_iops: f64) -> Capacity {
        let Some(limit) = tightest(&self.judged) else {
            return Capacity { iops: self.iops, slope: 0.0 };
        };
        let Some(met) = capacity::crossing(&places(curve, limit)) else {
            let judged = &self.judged[limit];
            let places = curve.iter().map(|p| (p.judged[limit].value, p.iops));
            let slope = capacity::slope_by_statistic(judged.value, places)
                .min(capacity::queue_slope(self.own.rate_iops, most_iops));
            let found = capacity::estimate(self.iops, judged, slope);
            // The only upper bound is the lowest rate that surely failed.
            let broken =
                curve.iter().find(|p| p.own.rate_iops > self.own.rate_iops && p.surely_fails());
            let [low, high] = found.iops.ci95;
            let high = broken.map_or(most_iops, |p| p.own.rate_iops).max(high);
            return Capacity { iops: Estimate { ci95: [low, high], ..found.iops }, ..found };
        };
        // Arrivals are random, and so is the achieved rate.
        let half = (NORMAL_95 * met.error_iops).hypot(self.iops.half_width());
        let [low, high] = [met.rate_iops - half, met.rate_iops + half];
        let ci95 = [low.min(self.iops.mean).max(0.0), high.max(self.iops.mean)];
        Capacity {
            iops: Estimate { ci95, ..self.iops },
            slope: met.slope.min(capacity::queue_slope(self.own.rate_iops, most_iops)),
        }
    }

    pub(super) fn answer_of(&self, most_iops: f64, end: Ended<'_>, curve: &[Self]) -> Answer {
        let Ended { stopped_by, near, seconds } = end;
        let by_limit = stopped_by.is_limit();
        let binding = tightest(&self.judged).map(|limit| self.judged[limit].limit);
        let capacity = match by_limit {
            true => self.capacity(curve, most_iops),
            false => Capacity { iops: self.iops, slope: 0.0 },
        };
        let confirmed = Answered { iops: self.iops.mean, share: self.share() };
        let apart = tightest(&self.judged).map_or(0.0, |limit| {
            let told = curve.iter().filter(|point| !point.starved).map(|p| p.place(limit));
            capacity::apart(&told.collect::<Vec<_>>(), self.own.rate_iops, most_iops)
        });
        let predicted =
            prediction::predict(&near.windows(), &confirmed, &capacity, seconds, by_limit);
        let predicted = predicted.no_surer_than(apart);
        let stopped_by = match stopped_by {
            StoppedBy::Limit | StoppedBy::Budget
                if self.met && apart >= prediction::WIDEST.ln() =>
            {
                StoppedBy::Undecided
            }
            stopped_by => stopped_by,
        };
        let binding = binding.filter(|_| stopped_by.is_limit());
        self.answer(&predicted, near, (stopped_by, binding))
    }
}

/// Converts points to their places relative to a limit.
pub(super) fn places(points: &[RatePoint], limit: usize) -> Vec<RatePlace> {
    points.iter().map(|point| point.place(limit)).collect()
}

impl Bench<'_, '_> {
    /// Returns the maximum length of a window, including the time to settle.
    pub(super) fn longest_ns(&self, phase: Phase) -> u64 {
        let longest_ns = if phase == Phase::Confirming {
            // A failed confirmation must leave time for another, as long as there is time for two.
            (self.left_ns() / 2).max(self.plan.budget_ns / 8).min(self.left_ns())
        } else {
            (self.plan.budget_ns / LONGEST_SHARE).min(LONGEST_NS)
        };
        longest_ns.max(SHORTEST_NS)
    }

    /// Offers a rate and measures until the verdict is clear, but for at most `allowed_ns`, including the time to
    /// settle. A confirmation uses all of it unless it clearly breaks a limit.
    pub(super) fn measure_rate(
        &mut self,
        rate_iops: f64,
        phase: Phase,
        allowed_ns: u64,
    ) -> Result<RatePoint, LabError> {
        self.unspoilt(|bench| bench.try_rate(rate_iops, phase, allowed_ns))
    }

    /// Returns `None` if a pause of iogauge spoilt the window and it may be measured again.
    fn try_rate(
        &mut self,
        rate_iops: f64,
        phase: Phase,
        allowed_ns: u64,
    ) -> Result<Option<RatePoint>, LabError> {
        let confirming = phase == Phase::Confirming;
        let settling_ns = allowed_ns / SETTLING_SHARE;
        self.offer(rate_iops, settling_ns)?;
        self.take_window()?;
        // The I/Os of the previous rate used part of the budget.
        let longest_ns = (allowed_ns - settling_ns).min(self.left_ns()).max(SHORTEST_NS);
        self.window_begins();
        let began_ns = self.elapsed_ns();
        let stopwatch = self.stopwatch();
        let mut look_ns = if confirming { longest_ns / HOPELESS_SHARE } else { SHORTEST_NS };
        let mut sieve = Sieve::<Observed>::default();
        let mut stretches = self.stretches(&mut sieve, longest_ns);
        loop {
            self.pool.advance(TICK_NS)?;
            let window = self.take_window()?;
            if window.is_none() && self.may_repeat() {
                return Ok(None);
            }
            if let Some(window) = window {
                let response_mean_ns = window.response().map_or(0.0, |response| response.mean_ns());
                let outstanding = self.live().outstanding;
                self.show(&window, phase, outstanding, response_mean_ns, &directions(&window));
                sieve.append(&window, &self.plan.limits);
            }
            let starved = self.end_stretch(&mut stretches, false);
            sieve.sift(starved);
            if starved == Some(true) {
                self.offer(rate_iops, settling_ns)?;
                self.take_window()?;
                self.begin_stretch(&mut stretches);
            }
            let passed_ns = self.passed_ns(&stopwatch);
            let elapsed_ns = passed_ns.saturating_sub(stretches.left_out_ns);
            let mut verdict = Verdict::Open;
            if elapsed_ns >= look_ns {
                verdict = self.verdict(&sieve.seen);
                look_ns = next_look_ns(elapsed_ns);
            }
            let clear = match verdict {
                Verdict::Breaks => true,
                Verdict::Holds => !confirming,
                Verdict::Open => false,
            };
            let is_over = elapsed_ns >= longest_ns || passed_ns >= stretches.longest_ns;
            if clear || self.must_end() || is_over {
                break;
            }
        }
        sieve.end(self.end_stretch(&mut stretches, true));
        let cpu_percent = self.cpu_percent(&stopwatch);
        let busy_percent = cpu_percent - self.polled_percent(&stopwatch);
        let place = Setting { queue_depth: self.plan.max_depth, rate_iops: Some(rate_iops) };
        self.window_ends(sieve.whole(), place);
        let with_starved = sieve.all().map(|all| self.rate_with_starved(all));
        let seen = sieve.judged();
        let mut point = self.rate_point(rate_iops, seen, cpu_percent);
        (point.starved, point.with_starved) = (sieve.is_all_starved(), with_starved);
        (point.own.busy_percent, point.began_ns) = (busy_percent, began_ns);
        point.ticks = tightest(&point.judged).filter(|_| confirming).map(|limit| {
            let over = seen.exceeding.of(limit);
            let responses = directions(&seen.total);
            Ticks::of(&seen.responses, over, &point.judged[limit], &responses)
        });
        Ok(Some(point))
    }

    /// Returns the figures of a point including its starved stretches.
    fn rate_with_starved(&self, all: &Observed) -> WithStarved {
        let judged = self.judge(&directions(&all.total), &all.responses, &all.exceeding);
        let limits = judged.iter().map(Judged::limit_value).collect();
        WithStarved { iops: all.total.iops(), limits }
    }

    /// Offers a rate to an empty queue and lets it settle. Starts over if the client was starved meanwhile: arrivals
    /// that came due then are served in a burst and delay later ones. Returns false if it was starved each time.
    pub(in crate::search) fn offer(
        &mut self,
        rate_iops: f64,
        settling_ns: u64,
    ) -> Result<bool, LabError> {
        for _ in 0..MOST_OFFERS {
            self.empty()?;
            self.ask_rate(rate_iops)?;
            if self.settles(settling_ns)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Runs for `ns`, or less if no time would be left for a window. Returns false as soon as the client was starved.
    fn settles(&mut self, ns: u64) -> Result<bool, LabError> {
        let ns = ns.min(self.left_ns().saturating_sub(SHORTEST_NS));
        let end_ns = self.pool.now_ns() + ns;
        let mut stretches = self.stretches(&mut Sieve::<Observed>::default(), ns);
        loop {
            let left_ns = end_ns.saturating_sub(self.pool.now_ns());
            let at_end = left_ns == 0 || self.must_end();
            if self.end_stretch(&mut stretches, at_end) == Some(true) {
                return Ok(false);
            }
            if at_end {
                return Ok(true);
            }
            self.pool.advance(TICK_NS.min(left_ns))?;
        }
    }

    /// Waits until the I/Os of the previous rate have completed, so that they do not slow down the next one. If the
    /// budget ends first, the search is stuck.
    fn empty(&mut self) -> Result<(), LabError> {
        self.ask_rate(0.0)?;
        self.wait_for(TICK_NS / 25, |pool| pool.live().outstanding == 0)
    }

    /// Returns the verdict on all limits together, as far as a window can show it.
    fn verdict(&self, seen: &Observed) -> Verdict {
        let responses = directions(&seen.total);
        if !self.spans(seen.total.seconds(), seen.response().mean_ns(), &responses) {
            return Verdict::Open;
        }
        let judged = self.judge(&responses, &seen.responses, &seen.exceeding);
        if judged.iter().any(|j| j.verdict() == Verdict::Breaks) {
            return Verdict::Breaks;
        }
        let holds = judged.iter().all(|j| j.verdict() == Verdict::Holds);
        if holds && !seen.falls_short() { Verdict::Holds } else { Verdict::Open }
    }

    fn rate_point(&self, rate_iops: f64, seen: &Observed, cpu_percent: f64) -> RatePoint {
        let (response, service) = (seen.response(), seen.total.service());
        let latencies = directions(&seen.total);
        let judged = self.judge(&latencies, &seen.responses, &seen.exceeding);
        let names = self.pool.host_names();
        let falls_short = seen.falls_short();
        let offered = seen.total.offered().unwrap_or_default();
        let summary = |series: &[IntervalPoint], of: &Histogram| {
            let mean = estimates::latency_mean(series, Which::All, of.mean_ns());
            estimates::latency_summary(of, &mean)
        };
        let own = Rate {
            rate_iops,
            offered_iops: offered.ios as f64 / seen.total.seconds().max(1e-9),
            backlog_max: offered.backlog_max,
            falls_short,
            service: summary(&seen.services, &service),
            busy_percent: cpu_percent,
        };
        RatePoint {
            queue_depth: self.plan.max_depth,
            own,
            queue_depth_achieved: seen.total.queue_depth(),
            iops: estimates::iops(&seen.services, Which::All, seen.total.iops()),
            bytes_per_sec: seen.total.bytes_per_sec(),
            latency: judge::agreeing(summary(&seen.responses, &response), &judged),
            latency_shares: LatencyShare::all_of(&response),
            hosts: hosts::results(&seen.total, names, &latencies),
            straggler: straggler(&latencies, &self.plan.limits, names),
            met: judged.iter().all(Judged::is_met) && !falls_short,
            judged,
            cpu_percent,
            steady: estimates::is_steady(&seen.services),
            seconds: seen.total.seconds(),
            began_ns: 0,
            observed_seconds: seen.total.seconds(),
            ticks: None,
            has_others: self.is_stuck,
            starved: false,
            with_starved: None,
            errors: seen.total.errors(),
        }
    }
}

/// Returns the response times of a window by which limits are judged; service times, if no arrivals were scheduled.
pub(in crate::search) fn directions(window: &Window) -> Directions<'_> {
    hosts::latencies(window, Times::Response)
}

/// What a window has shown so far.
#[derive(Debug, Clone, Default)]
pub(in crate::search) struct Observed {
    pub(in crate::search) total: Window,
    /// Its ticks, with service times.
    pub(in crate::search) services: Vec<IntervalPoint>,
    /// Its ticks, with response times instead, if arrivals were scheduled.
    pub(in crate::search) responses: Vec<IntervalPoint>,
    pub(in crate::search) exceeding: Exceeding,
}

impl Show for Observed {
    fn append(&mut self, window: &Window, limits: &[Limit]) {
        self.total.append(window);
        // Workers that have ended take no time.
        if window.seconds() <= 0.0 {
            return;
        }
        self.exceeding.append(limits, &directions(window));
        let service = interval(window, self.total.seconds());
        let sum = |op: Op| {
            let tally = window.tally(op);
            let times = tally.response.as_ref().unwrap_or(&tally.service);
            u64::try_from(times.sum_ns()).unwrap_or(u64::MAX)
        };
        self.responses.push(IntervalPoint {
            read_latency_sum_ns: sum(Op::Read),
            write_latency_sum_ns: sum(Op::Write),
            ..service.clone()
        });
        self.services.push(service);
    }

    fn total(&self) -> &Window {
        &self.total
    }
}

impl Observed {
    fn response(&self) -> Histogram {
        self.total.response().unwrap_or_default()
    }

    /// Returns true if clearly fewer I/Os ended than came due: by more than the queue length varies.
    fn falls_short(&self) -> bool {
        let offered = self.total.offered().unwrap_or_default().ios as f64;
        let short = offered - (self.total.ios() + self.total.errors()) as f64;
        short > (offered * SHORT_SHARE).max(2.0 * offered.sqrt())
    }
}
