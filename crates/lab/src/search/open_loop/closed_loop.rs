//! The short closed-loop search that an open-loop search starts with.

use crate::error::LabError;
use crate::measure::Watch;
use crate::observe::Decision;
use crate::observe::{Interrupt, Observer, Status};
use crate::search::{self, SearchOutcome, SearchPlan, StoppedBy};
use iogauge_io::pool::WorkerPool;
use iogauge_model::Histogram;
use iogauge_model::limit::Metric;
use iogauge_model::result::{Answer, Estimate, LatencySummary, Search};

/// Share of the budget for the closed-loop search.
const CLOSED_SHARE: f64 = 1.0 / 3.0;
/// The closed loop may have measured the throughput too low by this factor.
pub(super) const HEADROOM: f64 = 1.02;
/// A rate at which one I/O at a time is outstanding for this share of the time is next to no load: if a limit breaks
/// there, it breaks everywhere.
const NO_LOAD: f64 = 0.02;

/// Results of the closed-loop search.
pub(super) struct Closed {
    /// Maximum that the target gives, in I/Os per second; `None` if the search had to end before it was known.
    pub(super) capacity_iops: Option<f64>,
    /// True if the smallest load surely keeps the limits.
    pub(super) keeps_smallest: bool,
    /// Rate to start from.
    pub(super) guess_iops: f64,
    /// Rate that is next to no load.
    pub(super) least_iops: f64,
    pub(super) stopped_by: StoppedBy,
}

impl Closed {
    pub(super) fn of(found: &SearchOutcome, plan: &SearchPlan) -> Self {
        let alone = found.search.curve.iter().find(|point| point.queue_depth == 1);
        let highest = found.search.curve.iter().map(|point| point.iops.mean).fold(1.0, f64::max);
        let capacity =
            if found.search.answer.met { found.search.answer.iops.mean.max(1.0) } else { highest };
        let is_known = match found.search.answer.stopped_by {
            StoppedBy::Limit | StoppedBy::Saturated | StoppedBy::QueueFull => true,
            StoppedBy::MaxDepth | StoppedBy::Client => true,
            StoppedBy::Budget | StoppedBy::Unattainable | StoppedBy::Undecided => {
                search::is_flat(&found.search.curve)
            }
            StoppedBy::Starved | StoppedBy::Ended | StoppedBy::Interrupted => false,
        };
        // In a queue, the waiting time is distributed about exponentially, with a mean of about the inverse of the
        // spare capacity c·μ − λ (M/M/c at high load). So the part of the bound beyond the service time gives the
        // distance from the capacity.
        let room = plan.limits.iter().filter_map(|limit| {
            let latency = &alone?.latency_ns;
            let (service_ns, factor) = match limit.metric {
                Metric::Mean => (latency.mean, 1.0),
                Metric::Percentile(percent) => {
                    (latency.mean, -(1.0 - percent / 100.0).max(1e-9).ln())
                }
                Metric::Max => (latency.mean, 12.0),
            };
            Some(factor * 1e9 / (limit.bound_ns as f64 - service_ns).max(1.0))
        });
        let guess = capacity - room.fold(0.0, f64::max);
        Self {
            capacity_iops: is_known.then_some(capacity * HEADROOM),
            keeps_smallest: found.search.answer.is_given(),
            guess_iops: guess.clamp(capacity * 0.3, capacity * 0.97),
            least_iops: NO_LOAD * alone.map_or(capacity, |point| point.iops.mean),
            stopped_by: match found.search.answer.stopped_by {
                // Arrivals wait in front of a full queue as well as in it.
                StoppedBy::QueueFull => StoppedBy::Saturated,
                stopped_by => stopped_by,
            },
        }
    }
}

/// Hides the closed loop's points, which do not belong to the curve.
struct Unkept<'a>(&'a mut dyn Observer);

impl Observer for Unkept<'_> {
    fn status(&mut self, status: &Status<'_>) {
        self.0.status(status);
    }

    fn decision(&mut self, decision: &Decision) {
        self.0.decision(decision);
    }
}

/// Measures what the target gives in a closed loop, with part of the budget.
pub(super) fn in_closed_loop(
    pool: &mut dyn WorkerPool,
    plan: &SearchPlan,
    watch: &mut Watch<'_>,
) -> Result<SearchOutcome, LabError> {
    pool.set_rate(None)?;
    let budget_ns = (plan.budget_ns as f64 * CLOSED_SHARE) as u64;
    let longest_seconds = budget_ns as f64 / 1e9;
    watch.observer.decision(&Decision::ClosedLoopFirst { longest_seconds });
    let mut unkept = Unkept(&mut *watch.observer);
    let interrupt: &Interrupt = watch.interrupt;
    let plan = SearchPlan { budget_ns, ..plan.clone() };
    search::find(pool, &plan, &mut Watch { observer: &mut unkept, interrupt })
}

/// Returns the result of a search that had to end before it offered a rate: the closed loop's result is not its answer.
pub(super) fn without_rates(closed: SearchOutcome, max_depth: u32) -> SearchOutcome {
    let answer = Answer {
        met: false,
        iops: Estimate { mean: 0.0, ci95: [0.0; 2], n: 0 },
        pi95: None,
        observed_seconds: None,
        wander: None,
        bytes_per_sec: 0.0,
        queue_depth: max_depth,
        rate_iops: Some(0.0),
        queue_depth_achieved: 0.0,
        latency_ns: LatencySummary::of(&Histogram::new(), [0.0; 2]),
        limits: Vec::new(),
        stopped_by_limit: None,
        ..closed.search.answer
    };
    let search = Search { answer, knee: None, curve: Vec::new(), ..closed.search };
    SearchOutcome {
        search,
        drift: None,
        with_starved: None,
        straggler: None,
        set_aside: 0,
        ..closed
    }
}
