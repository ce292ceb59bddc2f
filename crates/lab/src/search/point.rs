//! A point of the curve.

use super::change::Change;
use super::evidence::{breaks_maximum, surely_breaks, surely_holds};
use super::judge::{Judged, tightest};
use super::prediction::Ticks;
use super::starvation::WithStarved;
use super::time::is_whole;
use crate::observe::{Decision, Measured, Phase};
use iogauge_model::result::{CurvePoint, Estimate, LatencySummary, QueueBound};

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

/// A queue seen to be full.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct FullQueue {
    /// I/Os that fit into it.
    pub(super) queue_depth: u32,
    pub(super) bound: QueueBound,
}

/// Sorts points by depth, and keeps of several at one depth the longest.
pub(super) fn longest_of_each_depth(points: &mut Vec<Point>) {
    points.sort_by(|a, b| a.queue_depth.cmp(&b.queue_depth).then(b.seconds.total_cmp(&a.seconds)));
    points.dedup_by_key(|point| point.queue_depth);
}
