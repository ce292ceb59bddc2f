//! Decisions of a search, and the figures that each rests on.

use super::Phase;
use iogauge_model::Limit;
use iogauge_model::result::{Estimate, LimitValue, QueueBound};

/// A limit's statistic in a window, and the verdict about the limit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Judgement {
    /// The limit, its statistic with CI, and the number of I/Os.
    pub value: LimitValue,
    /// Whether the limit holds, as far as the CI shows.
    pub verdict: Verdict,
}

/// The figures of a measured point on which the search bases its decisions.
#[derive(Debug, Clone, PartialEq)]
pub struct MeasuredPoint {
    /// Phase in which it was measured.
    pub phase: Phase,
    /// Requested queue depth. In an open loop: the maximum number of outstanding I/Os.
    pub queue_depth: u32,
    /// Requested arrival rate, in I/Os per second, in an open loop.
    pub rate_iops: Option<f64>,
    /// I/Os completed per second.
    pub iops: Estimate,
    /// Length of the window, in seconds.
    pub seconds: f64,
    /// All limits, in order. In an open loop they are judged by response times.
    pub limits: Vec<Judgement>,
    /// True if no statistic exceeds its bound and no arrivals are left behind.
    pub met: bool,
    /// True if too many arrivals are left behind, in an open loop.
    pub falls_short: bool,
}

/// Where the straight line through two points, on logarithmic scales, meets a limit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Crossing {
    /// Queue depths of the two points.
    pub through: [u32; 2],
    /// The limit that is met first.
    pub limit: Limit,
    /// Queue depth at which it is met.
    pub queue_depth: f64,
}

/// A queue depth to be measured next.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Next {
    pub queue_depth: u32,
    /// Why it is next.
    pub why: Why,
}

impl Next {
    /// Returns the same, but with a queue depth of at most `queue_depth`.
    pub(crate) fn at_most(self, queue_depth: u32) -> Self {
        Self { queue_depth: self.queue_depth.min(queue_depth), ..self }
    }
}

/// Why a queue depth is next.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Why {
    /// The limits hold at half of it.
    Doubling {
        /// Queue depth at which they hold.
        from: u32,
    },
    /// The curve is flat and predicts where a limit breaks: just below this queue depth, unless that is too large a
    /// step.
    Predicted(Crossing),
    /// It lies between a queue depth that keeps the limits and one that breaks one.
    Between {
        /// Queue depth that keeps the limits.
        holds: u32,
        /// Queue depth that breaks a limit.
        breaks: u32,
        /// Where a limit is predicted to break. Without a prediction the geometric mean is tried.
        predicted: Option<Crossing>,
    },
    /// A point at this or a larger queue depth gave fewer IOPS than this one did before: one of the two is out of date.
    Contradicted {
        /// Earlier IOPS at this queue depth.
        before: Estimate,
        /// Queue depth of the contradicting point.
        by: u32,
        iops: Estimate,
    },
    /// The curve up to the answer has no point here yet.
    Missing,
    /// The knee lies between two queue depths.
    Knee {
        /// The knee so far.
        knee: u32,
        /// The point below it.
        below: u32,
    },
    /// It broke a limit, but a smaller queue depth was confirmed with room to spare: noise may have broken the limit.
    Ceiling {
        /// The confirmed queue depth.
        confirmed: u32,
    },
    /// Chance may have broken the limit, and it gives clearly more IOPS than the queue depth below.
    Open {
        /// The queue depth below, which keeps the limits.
        below: u32,
    },
    /// A smaller one was confirmed, and its latency shows that this one keeps the limits as well.
    Room {
        /// The confirmed queue depth.
        confirmed: u32,
    },
    /// A smaller one broke a limit by more than its queue depth explains.
    Beyond {
        /// The queue depth that broke it.
        broke: u32,
    },
    /// It broke a maximum once. That may have been a stall that occurs at any queue depth.
    Maximum,
    /// It broke a limit while the client lacked processor time.
    Starved,
    /// A larger one gave no more IOPS than this one, perhaps because of noise.
    Flat {
        /// The larger queue depth.
        deeper: u32,
    },
    /// It is the smallest, and several windows must agree that it breaks a limit.
    Smallest,
    /// It broke a limit before and keeps it now: the search goes on from here.
    Higher,
    /// The search starts again after a performance shift.
    Again,
}

/// Whether a limit holds, as far as a window can show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The whole CI lies within the bound.
    Holds,
    /// The whole CI lies beyond the bound.
    Breaks,
    /// The CI contains the bound.
    Open,
}

/// A decision of a search, or an event that affects it.
#[derive(Debug, Clone, PartialEq)]
pub enum Decision {
    /// A point was measured.
    Measured(MeasuredPoint),
    /// An open-loop search starts with a closed-loop search.
    ClosedLoopFirst {
        /// Maximum length of the closed-loop search, in seconds.
        longest_seconds: f64,
    },
    /// The next rate of an open loop.
    NextRate {
        /// I/Os per second.
        rate_iops: f64,
        /// Highest rate so far that keeps the limits, in I/Os per second.
        holds: Option<f64>,
        /// Lowest rate so far that does not.
        breaks: Option<f64>,
    },
    /// The next queue depth.
    Next(Next),
    /// Confirmation of a queue depth begins.
    Confirm {
        queue_depth: u32,
        /// Shortest window, in seconds.
        shortest_seconds: f64,
        /// Longest window, in seconds, if the precision requires it: the rest of the budget.
        longest_seconds: f64,
    },
    /// The first stretch of a confirmation gives no reason to stop it.
    ConfirmFurther {
        queue_depth: u32,
        /// How much longer the confirmation may take, in seconds.
        longest_seconds: f64,
    },
    /// A queue depth breaks a limit, and a smaller one is tried.
    GoingBack {
        /// Queue depth that breaks the limit.
        from: u32,
        /// Next queue depth.
        to: u32,
        /// The limit that is broken by the largest factor; none if nothing was judged.
        because: Option<Judgement>,
    },
    /// A rate of an open loop was not confirmed, and a lower one is tried.
    RateGoingBack {
        /// The rate that was not confirmed, in I/Os per second.
        from: f64,
        /// The next rate.
        to: f64,
    },
    /// A performance shift: earlier measurements no longer count.
    PerformanceShift {
        /// Seconds from the start of the search.
        at_seconds: f64,
        /// IOPS before the shift.
        before_iops: f64,
        /// IOPS after the shift.
        after_iops: f64,
    },
    /// The workers were the bottleneck, and the same queue depth is measured again with more of them.
    WorkersAdded {
        /// Number of workers after the change.
        workers: u32,
        /// Processor time used before the change, in percent of one processor.
        cpu_percent: f64,
    },
    /// The queue in front of the target is full: no larger queue depth is tried.
    QueueFull {
        /// Requested queue depth.
        asked: u32,
        /// Queue depth that fits into the queue.
        queue_depth: u32,
        bound: QueueBound,
    },
    /// iogauge was paused. Measurements around the pause are left out.
    Paused {
        /// Length of the pause, in seconds.
        seconds: f64,
    },
    /// The I/Os of the previous queue depth took long to complete.
    Drained {
        /// Queue depth to be measured.
        queue_depth: u32,
        /// Waiting time, in seconds.
        seconds: f64,
        /// False if some are still outstanding and will fall into the next window.
        whole: bool,
    },
    /// The time for a phase, or the whole budget, is used up.
    Budget {
        /// The phase that ends.
        phase: Phase,
        /// Time spent so far, in seconds.
        spent_seconds: f64,
        /// Time left, in seconds.
        left_seconds: f64,
    },
}
