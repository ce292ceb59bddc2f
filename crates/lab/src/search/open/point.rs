//! One rate: let the queue empty, offer the arrivals, measure as long as it takes.

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
use super::super::time::{LONGEST_NS, SHORTEST_NS, TICK_NS, next_look_ns};
use crate::error::LabError;
use crate::measure::estimates::{self, Which};
use crate::measure::series::interval;
use crate::observe::Verdict;
use crate::observe::{Phase, Setting};
use crate::stats::NORMAL_95;
use iogauge_io::engine::Op;
use iogauge_io::worker::accounting::{Tally, Window};
use iogauge_model::limit::Directions;
use iogauge_model::result::{Answer, Estimate, IntervalPoint};
use iogauge_model::{Histogram, Limit};

/// A window is no longer than this share of the budget; a hold is.
const LONGEST_SHARE: u64 = 12;
/// Share of a window's longest time that the queue has to settle in, before the window begins.
const SETTLING_SHARE: u64 = 8;
/// A rate is offered so many times to a client that is starved.
const MOST_OFFERS: u32 = 3;
/// Arrivals may go unserved up to this share.
const SHORT_SHARE: f64 = 0.03;
/// A hold that clearly breaks the limit ends after this share of its time.
const HOPELESS_SHARE: u64 = 4;

/// An answer may rest on so many times fewer I/Os than would say it reliably.
const FEWER: u64 = 10;

/// A measured rate.
pub(super) type RatePoint = Point<Rate>;

impl RatePoint {
    /// Statistic over bound of the limit nearest to its bound, or furthest over it.
    pub(super) fn share(&self) -> f64 {
        self.judged.iter().map(Judged::share).fold(1e-3, f64::max).min(1e6)
    }

    pub(super) fn achieved_share(&self) -> f64 {
        if self.own.offered_iops > 0.0 { self.iops.mean / self.own.offered_iops } else { 1.0 }
    }

    /// True where it holds enough I/Os to see what every limit bounds.
    pub(super) fn has_samples(&self) -> bool {
        let wanted = |judged: &Judged| judged.limit.metric.samples_wanted() / FEWER;
        self.judged.iter().all(|judged| judged.n >= wanted(judged))
    }

    /// True where much less load changed hardly anything.
    pub(super) fn is_no_better_than(&self, larger: &Self) -> bool {
        const LESS: f64 = 0.5;
        const ALIKE: f64 = 0.7;
        let is_less = self.own.rate_iops <= larger.own.rate_iops * LESS;
        is_less && !self.own.falls_short && self.share() >= larger.share() * ALIKE
    }

    /// True where a limit is clearly broken, or arrivals are left behind.
    fn surely_fails(&self) -> bool {
        self.own.falls_short || surely_breaks(&self.judged)
    }

    /// Why a search ended that answers this: a handful of I/Os that keep a limit say nothing of it.
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

    /// The IOPS at the answer, as sure as the limit's statistic lets it be. The target gives `most_iops` at most.
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
            // All that is known from above is the lowest rate that surely did not hold.
            let broken =
                curve.iter().find(|p| p.own.rate_iops > self.own.rate_iops && p.surely_fails());
            let [low, high] = found.iops.ci95;
            let high = broken.map_or(most_iops, |p| p.own.rate_iops).max(high);
            return Capacity { iops: Estimate { ci95: [low, high], ..found.iops }, ..found };
        };
        // Arrivals vary by chance, and the rate achieved with them.
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

/// Points by what they say of a limit.
pub(super) fn places(points: &[RatePoint], limit: usize) -> Vec<RatePlace> {
    points.iter().map(|point| point.place(limit)).collect()
}

impl Bench<'_, '_> {
    /// The longest a window may take, settling and all.
    pub(super) fn longest_ns(&self, phase: Phase) -> u64 {
        let longest_ns = if phase == Phase::Confirming {
            // A failed hold must leave time for another one, as long as there is time for two.
            (self.left_ns() / 2).max(self.plan.budget_ns / 8).min(self.left_ns())
        } else {
            (self.plan.budget_ns / LONGEST_SHARE).min(LONGEST_NS)
        };
        longest_ns.max(SHORTEST_NS)
    }

    /// Offers a rate and measures until the verdict is clear, or for the longest time allowed, settling and all;
    /// holds take theirs unless they are hopeless.
    pub(super) fn measure_rate(
        &mut self,
        rate_iops: f64,
        phase: Phase,
        allowed_ns: u64,
    ) -> Result<RatePoint, LabError> {
        self.unspoilt(|bench| bench.try_rate(rate_iops, phase, allowed_ns))
    }

    /// `None` where a pause of iogauge spoils the window, and it may be measured again.
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
        // What the last rate left behind took of the budget is not there any more.
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
                self.show(&window, phase, self.live().outstanding, response_mean_ns);
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

    /// A point by all that was seen of it.
    fn rate_with_starved(&self, all: &Observed) -> WithStarved {
        let judged = self.judge(&directions(&all.total), &all.responses, &all.exceeding);
        let limits = judged.iter().map(Judged::limit_value).collect();
        WithStarved { iops: all.total.iops(), limits }
    }

    /// Offers a rate to an empty queue, and lets it settle. Again where the client was starved meanwhile: what
    /// came due then is served in a burst, and what comes due now behind it.
    fn offer(&mut self, rate_iops: f64, settling_ns: u64) -> Result<(), LabError> {
        for _ in 0..MOST_OFFERS {
            self.empty()?;
            self.ask_rate(rate_iops)?;
            if self.settles(settling_ns)? {
                break;
            }
        }
        Ok(())
    }

    /// Runs for so long, or as long as there is time for a window behind it. False as soon as the client was starved.
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

    /// Lets what the last rate left behind come back, so that it is not the next one's burden. If the budget ends
    /// before, the search is stuck.
    fn empty(&mut self) -> Result<(), LabError> {
        self.ask_rate(0.0)?;
        self.wait_for(TICK_NS / 25, |pool| pool.live().outstanding == 0)
    }

    /// All limits together, as far as a window can tell.
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
        let judged = self.judge(&directions(&seen.total), &seen.responses, &seen.exceeding);
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

/// Response times of a window, for limits to be judged by.
fn directions(window: &Window) -> Directions<'_> {
    // A load that schedules arrivals counts responses in every direction it has.
    let of = |op| {
        let tally: &Tally = window.tally(op);
        tally.response.as_ref().unwrap_or(&tally.service)
    };
    Directions::new(of(Op::Read), of(Op::Write), &window.tally(Op::Sync).service)
}

/// What a window has shown so far.
#[derive(Debug, Clone, Default)]
struct Observed {
    total: Window,
    /// Its ticks, with service times.
    services: Vec<IntervalPoint>,
    /// Its ticks, with response times in their place.
    responses: Vec<IntervalPoint>,
    exceeding: Exceeding,
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
            let response = window.tally(op).response.as_ref();
            response.map_or(0, |r| u64::try_from(r.sum_ns()).unwrap_or(u64::MAX))
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

    /// True where clearly fewer I/Os ended than came due: by more than the queue's length varies.
    fn falls_short(&self) -> bool {
        let offered = self.total.offered().unwrap_or_default().ios as f64;
        let short = offered - (self.total.ios() + self.total.errors()) as f64;
        short > (offered * SHORT_SHARE).max(2.0 * offered.sqrt())
    }
}
