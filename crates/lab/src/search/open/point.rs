//! One rate: let the queue empty, offer the arrivals, measure as long as it takes.

use super::super::exceeding::Exceeding;
use super::super::judge::{Judged, Verdict};
use super::super::point::{next_look_ns, which};
use super::super::{Decision, MeasuredRate, SearchPlan};
use crate::error::LabError;
use crate::estimates::{self, Which};
use crate::measure::Watch;
use crate::observe::{Phase, Status};
use crate::series::interval;
use iogauge_io::crew::{Crew, LiveFigures};
use iogauge_io::engine::Op;
use iogauge_io::system::ProcessCpu;
use iogauge_io::worker::accounting::{Tally, Window};
use iogauge_model::limit::Directions;
use iogauge_model::result::{Estimate, IntervalPoint, LatencySummary};
use iogauge_model::{Histogram, Limit};

/// Time between two looks.
const TICK_NS: u64 = 25_000_000;
/// No window is shorter.
pub(super) const SHORTEST_NS: u64 = 250_000_000;
/// A window is no longer than this share of the budget and this time; a hold is.
const LONGEST_SHARE: u64 = 12;
const LONGEST_NS: u64 = 5_000_000_000;
/// Share of a window's longest time that the queue has to settle in, before the window begins.
const SETTLING_SHARE: u64 = 8;
/// Responses a window has to span, so that slow devices get longer ones.
const RESPONSES: f64 = 20.0;
/// Longest wait for the queue of the last rate.
const EMPTYING_NS: u64 = 2_000_000_000;
/// Arrivals may go unserved up to this share.
const SHORT_SHARE: f64 = 0.03;
/// A hold that clearly breaks the limit ends after this share of its time.
const HOPELESS_SHARE: u64 = 4;
/// A worker that spends this share of its time on the processor cannot do more.
const CLIENT_BOUND_PERCENT: f64 = 95.0;

/// A measured rate.
#[derive(Debug, Clone)]
pub(super) struct RatePoint {
    /// Rate asked.
    pub(super) rate_iops: f64,
    /// I/Os that came due, per second.
    pub(super) offered_iops: f64,
    /// Most that waited at one time for one of the outstanding to end.
    pub(super) backlog_max: u64,
    /// Too many of them were not served.
    pub(super) falls_short: bool,
    pub(super) depth_achieved: f64,
    pub(super) iops: Estimate,
    pub(super) bytes_per_sec: f64,
    pub(super) response: LatencySummary,
    pub(super) service: LatencySummary,
    pub(super) judged: Vec<Judged>,
    /// Every limit is kept, and no arrivals are left behind.
    pub(super) met: bool,
    pub(super) cpu_percent: f64,
    pub(super) steady: bool,
    pub(super) seconds: f64,
    pub(super) errors: u64,
}

impl RatePoint {
    /// Statistic over bound of the limit nearest to its bound, or furthest over it.
    pub(super) fn share(&self) -> f64 {
        self.judged.iter().map(Judged::share).fold(1e-3, f64::max).min(1e6)
    }

    pub(super) fn achieved_share(&self) -> f64 {
        if self.offered_iops > 0.0 { self.iops.mean / self.offered_iops } else { 1.0 }
    }

    pub(super) fn measured(&self, phase: Phase) -> MeasuredRate {
        MeasuredRate {
            phase,
            rate_iops: self.rate_iops,
            iops: self.iops,
            seconds: self.seconds,
            limits: self.judged.iter().map(Judged::judgement).collect(),
            met: self.met,
            falls_short: self.falls_short,
        }
    }
}

/// A crew in an open loop under measurement, with its budget.
pub(super) struct Bench<'a, 'b> {
    crew: &'a mut dyn Crew,
    plan: &'a SearchPlan,
    watch: &'a mut Watch<'b>,
    start_ns: u64,
}

impl<'a, 'b> Bench<'a, 'b> {
    pub(super) fn new(
        crew: &'a mut dyn Crew,
        plan: &'a SearchPlan,
        watch: &'a mut Watch<'b>,
    ) -> Self {
        let start_ns = crew.now_ns();
        Self { crew, plan, watch, start_ns }
    }

    pub(super) fn spent_ns(&self) -> u64 {
        self.crew.now_ns() - self.start_ns
    }

    pub(super) fn left_ns(&self) -> u64 {
        self.plan.budget_ns.saturating_sub(self.spent_ns())
    }

    pub(super) fn interrupted(&self) -> bool {
        self.watch.interrupt.is_set()
    }

    pub(super) fn decide(&mut self, decision: &Decision) {
        self.watch.observer.decision(decision);
    }

    pub(super) fn live(&self) -> LiveFigures {
        self.crew.live()
    }

    pub(super) fn is_client_bound(&self, point: &RatePoint) -> bool {
        point.cpu_percent >= CLIENT_BOUND_PERCENT * self.crew.controls().len() as f64
    }

    /// The longest a window may take, settling and all.
    fn longest_ns(&self, holding: bool) -> u64 {
        let longest_ns = if holding {
            // A failed hold must leave time for another one, as long as there is time for two.
            (self.left_ns() / 2).max(self.plan.budget_ns / 8).min(self.left_ns())
        } else {
            (self.plan.budget_ns / LONGEST_SHARE).min(LONGEST_NS)
        };
        longest_ns.max(SHORTEST_NS)
    }

    /// Offers a rate and measures until the verdict is clear, or for the longest time allowed;
    /// holds take theirs unless they are hopeless.
    pub(super) fn measure(&mut self, rate_iops: f64, phase: Phase) -> Result<RatePoint, LabError> {
        let holding = phase == Phase::Holding;
        self.empty()?;
        let allowed_ns = self.longest_ns(holding);
        let settling_ns = allowed_ns / SETTLING_SHARE;
        let longest_ns = allowed_ns - settling_ns;
        self.crew.set_rate(Some(rate_iops))?;
        self.run_for(settling_ns)?;
        self.crew.cut()?;
        let cpu = ProcessCpu::now();
        let begin_ns = self.crew.now_ns();
        let mut look_ns = if holding { longest_ns / HOPELESS_SHARE } else { SHORTEST_NS };
        let mut seen = Seen::default();
        loop {
            self.crew.advance(TICK_NS)?;
            let window = self.crew.cut()?;
            self.show(&window, phase);
            seen.append(&window, &self.plan.limits);
            let elapsed_ns = self.crew.now_ns() - begin_ns;
            let mut verdict = Verdict::Open;
            if elapsed_ns >= look_ns {
                verdict = self.verdict(&seen);
                look_ns = next_look_ns(elapsed_ns);
            }
            let clear = match verdict {
                Verdict::Breaks => true,
                Verdict::Holds => !holding,
                Verdict::Open => false,
            };
            if clear || self.interrupted() || elapsed_ns >= longest_ns {
                break;
            }
        }
        let wall_ns = (self.crew.now_ns() - begin_ns).max(1) as f64;
        let used_ns = ProcessCpu::now().total_ns().saturating_sub(cpu.total_ns()) as f64;
        let cpu_percent = if self.crew.is_virtual() { 0.0 } else { used_ns * 100.0 / wall_ns };
        let point = self.point(rate_iops, &seen, cpu_percent);
        self.watch.observer.point(&point.curve_point(self.plan.max_depth));
        Ok(point)
    }

    /// Lets what the last rate left behind come back, so that it is not the next one's burden.
    fn empty(&mut self) -> Result<(), LabError> {
        self.crew.set_rate(Some(0.0))?;
        let begin_ns = self.crew.now_ns();
        while self.crew.live().outstanding > 0
            && self.crew.now_ns() - begin_ns < EMPTYING_NS
            && !self.interrupted()
        {
            self.crew.advance(TICK_NS / 25)?;
        }
        Ok(())
    }

    fn run_for(&mut self, ns: u64) -> Result<(), LabError> {
        let end_ns = self.crew.now_ns() + ns;
        while self.crew.now_ns() < end_ns && !self.interrupted() {
            self.crew.advance(TICK_NS.min(end_ns - self.crew.now_ns()))?;
        }
        Ok(())
    }

    fn show(&mut self, window: &Window, phase: Phase) {
        self.watch.observer.status(&Status {
            phase,
            depth: self.crew.live().outstanding,
            iops: window.iops(),
            bytes_per_sec: window.bytes_per_sec(),
            latency_mean_ns: window.response().map_or(0.0, |response| response.mean_ns()),
            limits: &self.plan.limits,
            left_ns: Some(self.left_ns()),
        });
    }

    /// All limits together, as far as a window can tell.
    fn verdict(&self, seen: &Seen) -> Verdict {
        let response = seen.response();
        let spanned = seen.total.seconds() * 1e9 >= response.mean_ns() * RESPONSES;
        if !spanned || !self.plan.limits.iter().all(|l| l.has_samples(&directions(&seen.total))) {
            return Verdict::Open;
        }
        let judged = self.judge(seen);
        if judged.iter().any(|j| j.verdict() == Verdict::Breaks) {
            return Verdict::Breaks;
        }
        let holds = judged.iter().all(|j| j.verdict() == Verdict::Holds);
        if holds && !seen.falls_short() { Verdict::Holds } else { Verdict::Open }
    }

    fn judge(&self, seen: &Seen) -> Vec<Judged> {
        let latencies = directions(&seen.total);
        let judge = |(place, limit): (usize, &Limit)| {
            let response = latencies.of(limit.side);
            let mean =
                estimates::latency_mean(&seen.responses, which(limit.side), response.mean_ns());
            Judged::of(*limit, response, &mean, seen.exceeding.effective_ios(place))
        };
        self.plan.limits.iter().enumerate().map(judge).collect()
    }

    fn point(&self, rate_iops: f64, seen: &Seen, cpu_percent: f64) -> RatePoint {
        let (response, service) = (seen.response(), seen.total.service());
        let judged = self.judge(seen);
        let falls_short = seen.falls_short();
        let offered = seen.total.offered().unwrap_or_default();
        let summary = |series: &[IntervalPoint], of: &Histogram| {
            let mean = estimates::latency_mean(series, Which::All, of.mean_ns());
            estimates::latency_summary(of, &mean)
        };
        RatePoint {
            rate_iops,
            offered_iops: offered.ios as f64 / seen.total.seconds().max(1e-9),
            backlog_max: offered.backlog_max,
            falls_short,
            depth_achieved: seen.total.depth(),
            iops: estimates::iops(&seen.services, Which::All, seen.total.iops()),
            bytes_per_sec: seen.total.bytes_per_sec(),
            response: summary(&seen.responses, &response),
            service: summary(&seen.services, &service),
            met: judged.iter().all(Judged::is_met) && !falls_short,
            judged,
            cpu_percent,
            steady: estimates::is_steady(&seen.services),
            seconds: seen.total.seconds(),
            errors: seen.total.errors(),
        }
    }
}

/// Response times of a window, for limits to be judged by.
fn directions(window: &Window) -> Directions<'_> {
    // A load that schedules arrivals counts responses in every direction it has.
    let of = |op| {
        let tally: &Tally = window.tally(op);
        tally.response.as_ref().unwrap_or(&tally.service)
    };
    Directions::new(of(Op::Read), of(Op::Write))
}

/// What a window has shown so far.
#[derive(Default)]
struct Seen {
    total: Window,
    /// Its ticks, with service times.
    services: Vec<IntervalPoint>,
    /// Its ticks, with response times in their place.
    responses: Vec<IntervalPoint>,
    exceeding: Exceeding,
}

impl Seen {
    fn append(&mut self, window: &Window, limits: &[Limit]) {
        self.total.append(window);
        self.exceeding.append(limits, &directions(window));
        let service = interval(window, self.total.seconds());
        let sum = |op: Op| {
            let response = window.tally(op).response.as_ref();
            response.map_or(0, |r| u64::try_from(r.sum_ns()).unwrap_or(u64::MAX))
        };
        self.services.push(service);
        self.responses.push(IntervalPoint {
            read_latency_sum_ns: sum(Op::Read),
            write_latency_sum_ns: sum(Op::Write),
            ..service
        });
    }

    fn response(&self) -> Histogram {
        self.total.response().unwrap_or_default()
    }

    /// True where clearly fewer I/Os ended than came due: by more than the queue's length varies.
    fn falls_short(&self) -> bool {
        let offered = self.total.offered().unwrap_or_default().ios as f64;
        let short = offered - (self.total.ios() + self.total.errors()) as f64;
        short > (offered * SHORT_SHARE).max(2.0 * offered.sqrt())
    }
}
