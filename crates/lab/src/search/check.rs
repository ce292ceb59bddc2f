//! Checks whether a target meets a requirement: one load is measured until a rate and all limits are surely met, or one
//! of them surely is not.
//!
//! The data is looked at again and again. All intervals are widened so that they hold at all looks together
//! ([`widening`]): at a look after a quarter of the budget they are about twice as wide as those at its end. A passing
//! verdict needs all tests, so each may err in 2.5 % of the checks. A failing one needs only one of them, so they share
//! 5 %.

mod evidence;
mod unseen;

use super::bench::{Bench, ClientBound};
use super::open_loop::point::{Observed, directions};
use super::starvation::{Show, Sieve, Starved, WithStarved};
use super::window_length::{SHORTEST_NS, TICK_NS, next_look_ns, seconds};
use super::{SearchPlan, StoppedBy};
use crate::error::LabError;
use crate::measure::Watch;
use crate::measure::process_pauses::Pauses;
use crate::measure::series::Series;
use crate::measure::straggler::straggler;
use crate::observe::{Phase, Setting};
use crate::stats::Batch;
use evidence::Evidence;
use iogauge_io::pool::WorkerPool;
use iogauge_io::worker::accounting::Window;
use iogauge_model::caveat::Straggler;
use iogauge_model::load::{ArrivalProcess, Arrivals, Load};
use iogauge_model::result::{CheckEnd, CheckResult, CheckVerdict, IntervalPoint};
use iogauge_model::{Limit, RequiredRate};

/// The budget divided by this is the time before the first look, within bounds. What a target can hide for longer, such
/// as the burst credits of a volume, no check of seconds sees.
const FIRST_LOOK_SHARE: u64 = 20;
const FIRST_LOOK_NS: [u64; 2] = [SHORTEST_NS, 2_000_000_000];
/// The budget divided by this is the time in which the queue settles before the measurement, within bounds.
const SETTLING_SHARE: u64 = 60;
const SETTLING_NS: [u64; 2] = [SHORTEST_NS, 2_000_000_000];

/// A requirement, and how to check it.
#[derive(Debug, Clone, PartialEq)]
pub struct CheckPlan {
    /// The required rate as typed.
    pub required: RequiredRate,
    /// The same in reads and writes per second, above 0.
    pub required_iops: f64,
    /// `Some` offers the required rate as such arrivals; response times count. `None` keeps `queue_depth` I/Os
    /// outstanding in a closed loop.
    pub arrivals: Option<ArrivalProcess>,
    /// Queue depth over all workers; in an open loop, the maximum number of outstanding I/Os.
    pub queue_depth: u32,
    /// Limits that must all be kept.
    pub limits: Vec<Limit>,
    /// Maximum time to measure, in nanoseconds.
    pub budget_ns: u64,
    /// As [`SearchPlan::max_starvation`].
    pub max_starvation: f64,
}

impl CheckPlan {
    /// Returns a workload with the arrivals of the check, or with its queue depth in a closed loop.
    #[must_use]
    pub fn load(&self, load: &Load) -> Load {
        let rate_iops = self.required_iops;
        let arrivals = self.arrivals.map(|process| Arrivals { rate_iops, process, only: None });
        Load { iodepth: self.queue_depth.div_ceil(load.numjobs), arrivals, ..load.clone() }
    }

    fn as_search(&self) -> SearchPlan {
        SearchPlan {
            limits: self.limits.clone(),
            max_depth: self.queue_depth,
            budget_ns: self.budget_ns,
            max_starvation: self.max_starvation,
            open_loop: self.arrivals,
            ..SearchPlan::default()
        }
    }

    fn first_look_ns(&self) -> u64 {
        let [shortest_ns, longest_ns] = FIRST_LOOK_NS;
        (self.budget_ns / FIRST_LOOK_SHARE).clamp(shortest_ns, longest_ns)
    }

    fn settling_ns(&self) -> u64 {
        let [shortest_ns, longest_ns] = SETTLING_NS;
        (self.budget_ns / SETTLING_SHARE).clamp(shortest_ns, longest_ns).min(self.budget_ns / 4)
    }
}

/// Result of a check, with what it rests on.
#[derive(Debug)]
pub struct Checked {
    /// The verdict.
    pub check: CheckResult,
    /// The I/Os that it rests on.
    pub total: Window,
    /// The same over time.
    pub series: Vec<IntervalPoint>,
    /// Pauses of iogauge.
    pub pauses: Pauses,
    /// Stretches that were left out because the client lacked processor time.
    pub starved: Starved,
    /// The figures including those stretches; `None` if there were none.
    pub with_starved: Option<WithStarved>,
    /// The host without which a limit would be kept.
    pub straggler: Option<Straggler>,
    /// I/Os that failed while the queue settled.
    pub failed_before: u64,
    /// I/Os completed and bytes moved, including those that do not count.
    pub logical: (u64, u64),
    /// Length of the check, in seconds.
    pub measured_seconds: f64,
    /// True if the user ended it.
    pub interrupted: bool,
}

/// Checks a requirement with a pool that was started at queue depth 1, for an open loop with a load that schedules
/// arrivals.
///
/// # Errors
/// If a worker's engine fails.
pub fn check(
    pool: &mut dyn WorkerPool,
    plan: &CheckPlan,
    watch: &mut Watch<'_>,
) -> Result<Checked, LabError> {
    let search = plan.as_search();
    let start = pool.live();
    if plan.arrivals.is_some() {
        // In this order, because a closed loop would fill the new queue depth with I/Os.
        pool.set_rate(Some(0.0))?;
        pool.set_queue_depth(plan.queue_depth)?;
    }
    let mut bench = Bench::new(pool, &search, watch);
    let taken = bench.unspoilt(|bench| take(bench, plan))?;
    let Taken { sieve, part, busy_percent, is_over, never_settled } = taken;
    let seen = sieve.judged();
    let evidence = Evidence::of(plan, seen, part, is_over);
    let hosts = crate::measure::hosts::results(
        &seen.observed.total,
        bench.pool.host_names(),
        &directions(&seen.observed.total),
    );
    let is_client = bench.client_bound(busy_percent, plan.queue_depth, &hosts) == ClientBound::All;
    let interrupted = bench.interrupted();
    let ended_by = match bench.cut_by() {
        Some(StoppedBy::Interrupted) => CheckEnd::Interrupted,
        Some(StoppedBy::Ended) => CheckEnd::Errors,
        _ if bench.errors > 0 || seen.observed.total.ios() == 0 => CheckEnd::Errors,
        _ if never_settled || sieve.is_all_starved() || bench.starved.is_most() => {
            CheckEnd::Starved
        }
        _ if is_client && evidence.verdict() == CheckVerdict::Fail => CheckEnd::Client,
        _ if evidence.verdict() == CheckVerdict::Undecided => CheckEnd::Budget,
        _ => CheckEnd::Proven,
    };
    let with_starved = sieve.all().map(|all| {
        let limits = evidence::judged(plan, all, 1.0).iter().map(|j| j.limit_value()).collect();
        WithStarved { iops: all.observed.total.iops(), limits }
    });
    let total = seen.observed.total.clone();
    let names = bench.pool.host_names();
    let live = bench.live();
    Ok(Checked {
        check: evidence.result(plan, ended_by, total.seconds()),
        straggler: straggler(&directions(&total), &plan.limits, names),
        series: seen.series.points().to_vec(),
        pauses: bench.pauses(),
        starved: bench.starved,
        with_starved,
        failed_before: bench.errors.saturating_sub(total.errors()),
        logical: (live.ios - start.ios, live.bytes - start.bytes),
        measured_seconds: bench.elapsed_ns() as f64 / 1e9,
        interrupted,
        total,
    })
}

/// What a check has shown so far.
#[derive(Debug, Clone, Default)]
struct Seen {
    observed: Observed,
    series: Series,
    /// I/Os that ended and I/Os that came due, tick by tick; empty in a closed loop.
    served: Vec<Batch>,
}

impl Show for Seen {
    fn append(&mut self, tick: &Window, limits: &[Limit]) {
        self.observed.append(tick, limits);
        self.series.push(tick);
        if let Some(offered) = tick.offered() {
            let ended = tick.ios() + tick.errors();
            self.served.push(Batch { sum: ended as f64, weight: offered.ios as f64 });
        }
    }

    fn total(&self) -> &Window {
        &self.observed.total
    }
}

/// A measurement that has ended.
struct Taken {
    sieve: Sieve<Seen>,
    /// The part of the time that it took.
    part: f64,
    /// Processor time without the time spent polling for arrivals, in percent of one processor.
    busy_percent: f64,
    /// True if the budget is used up.
    is_over: bool,
    /// True if the client lacked processor time whenever the load was to settle.
    never_settled: bool,
}

/// Measures until the verdict is proven or the budget ends. Returns `None` if a pause of iogauge spoilt the measurement
/// and it may be repeated.
fn take(bench: &mut Bench<'_, '_>, plan: &CheckPlan) -> Result<Option<Taken>, LabError> {
    let mut never_settled = !begin(bench, plan)?;
    let longest_ns = bench.left_ns().max(SHORTEST_NS);
    bench.window_begins();
    let stopwatch = bench.stopwatch();
    let mut sieve = Sieve::<Seen>::default();
    let mut stretches = bench.stretches(&mut sieve, longest_ns);
    let mut look_ns = plan.first_look_ns();
    let (mut part, mut is_over) = (0.0, false);
    while !is_over && !bench.must_end() {
        bench.pool.advance(TICK_NS)?;
        let window = bench.take_window()?;
        if window.is_none() && bench.may_repeat() {
            return Ok(None);
        }
        if let Some(window) = window {
            let latencies = directions(&window);
            let outstanding = bench.live().outstanding;
            let mean_ns = latencies.of(iogauge_model::limit::Side::Any).mean_ns();
            bench.show(&window, Phase::Measuring, outstanding, mean_ns, &latencies);
            sieve.append(&window, &plan.limits);
        }
        let starved = bench.end_stretch(&mut stretches, false);
        sieve.sift(starved);
        if starved == Some(true) && plan.arrivals.is_some() && !never_settled {
            never_settled = !begin(bench, plan)?;
            bench.begin_stretch(&mut stretches);
        }
        let passed_ns = bench.passed_ns(&stopwatch);
        let elapsed_ns = passed_ns.saturating_sub(stretches.left_out_ns);
        is_over = elapsed_ns >= longest_ns || passed_ns >= stretches.longest_ns;
        if never_settled {
            // A short window with some I/O shows something, and decides nothing.
            let (whole, has_ios) = (sieve.whole().seconds(), sieve.whole().ios() > 0);
            is_over |= whole >= seconds(if has_ios { SHORTEST_NS } else { FIRST_LOOK_NS[1] });
            continue;
        }
        part = (elapsed_ns as f64 / longest_ns as f64).min(1.0);
        if stretches.is_observed() && starved != Some(false) {
            continue;
        }
        let breaks_maximum = evidence::breaks_maximum(&plan.limits, &sieve.seen.observed.total);
        if breaks_maximum || bench.errors > 0 {
            break;
        }
        if elapsed_ns >= look_ns {
            let evidence = Evidence::of(plan, &sieve.seen, part, is_over);
            if evidence.verdict() != CheckVerdict::Undecided {
                break;
            }
            look_ns = next_look_ns(elapsed_ns);
        }
    }
    let at_end = bench.end_stretch(&mut stretches, true);
    sieve.end(at_end);
    let cpu_percent = bench.cpu_percent(&stopwatch);
    let busy_percent = cpu_percent - bench.polled_percent(&stopwatch);
    let rate_iops = plan.arrivals.map(|_| plan.required_iops);
    let place = Setting { queue_depth: plan.queue_depth, rate_iops };
    bench.window_ends(sieve.whole(), place);
    Ok(Some(Taken { sieve, part, busy_percent, is_over, never_settled }))
}

/// Starts the load and lets it settle. Returns false if the client lacked processor time each time until the budget
/// ended: what arrived late then would be held against the target.
fn begin(bench: &mut Bench<'_, '_>, plan: &CheckPlan) -> Result<bool, LabError> {
    let settled = match plan.arrivals {
        Some(_) => loop {
            match bench.offer(plan.required_iops, plan.settling_ns())? {
                true => break true,
                // The next attempt may take several times the settling time.
                false if bench.must_end() || bench.left_ns() <= 6 * plan.settling_ns() => {
                    break false;
                }
                false => {}
            }
        },
        None if bench.is_at(plan.queue_depth) => true,
        None => {
            let queue_depth = bench.ask_depth(plan.queue_depth)?;
            bench.drain(queue_depth)?;
            bench.warm_up()?;
            true
        }
    };
    bench.take_window()?;
    Ok(settled)
}
