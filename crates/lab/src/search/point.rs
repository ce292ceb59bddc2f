//! Points of the curve.

use super::change::Change;
use super::evidence::{breaks_maximum, surely_breaks, surely_holds};
use super::judge::{Judged, tightest};
use super::prediction::Ticks;
use super::starvation::WithStarved;
use super::window_length::is_whole;
use crate::observe::{Decision, MeasuredPoint, Phase};
use iogauge_model::caveat::Straggler;
use iogauge_model::result::{
    CurvePoint, Estimate, HostResult, LatencyShare, LatencySummary, QueueBound,
};

/// A measured point: of a closed loop by default, of an open one with [`Rate`].
#[derive(Debug, Clone)]
pub(super) struct Point<L = Depth> {
    /// Requested queue depth. In an open loop: the maximum number of outstanding I/Os.
    pub(super) queue_depth: u32,
    /// Fields of its kind of loop.
    pub(super) own: L,
    pub(super) queue_depth_achieved: f64,
    pub(super) iops: Estimate,
    pub(super) bytes_per_sec: f64,
    /// Latencies that the limits apply to: service times, in an open loop response times.
    pub(super) latency: LatencySummary,
    /// Shares of the I/Os by the same latencies.
    pub(super) latency_shares: Vec<LatencyShare>,
    /// The limits' statistics, in order.
    pub(super) judged: Vec<Judged>,
    /// Results of each host, if there are several.
    pub(super) hosts: Vec<HostResult>,
    /// The host without which the verdict would be another.
    pub(super) straggler: Option<Straggler>,
    /// True if every limit is kept and no arrivals are left behind.
    pub(super) met: bool,
    pub(super) cpu_percent: f64,
    pub(super) steady: bool,
    pub(super) seconds: f64,
    /// Start of its first window, in nanoseconds of the search.
    pub(super) began_ns: u64,
    /// Duration of its windows including the time between them, in seconds.
    pub(super) observed_seconds: f64,
    /// True if it may include I/Os of an earlier queue depth or rate.
    pub(super) has_others: bool,
    /// How its ticks deviate from its figures. `None` after a performance shift within it, and in an open loop for
    /// windows that are not confirmations.
    pub(super) ticks: Option<Ticks>,
    /// True if the client was starved all the time, so that a broken limit says nothing.
    pub(super) starved: bool,
    /// Its figures including the stretches that were left out; `None` if there were none.
    pub(super) with_starved: Option<WithStarved>,
    pub(super) errors: u64,
}

/// Fields of a closed-loop point.
#[derive(Debug, Clone, Default)]
pub(super) struct Depth {
    /// A performance shift within a confirmation; the figures are from after it.
    pub(super) change: Option<Change>,
    /// True if the last stretch of a confirmation contains I/Os for every limit, and if it keeps the limits by itself.
    pub(super) told_at_last: bool,
    pub(super) met_at_last: bool,
    /// True for a confirmation.
    pub(super) confirmed: bool,
    /// The queue in front of the target, if it was full.
    pub(super) full_queue: Option<FullQueue>,
}

/// Fields of an open-loop point.
#[derive(Debug, Clone)]
pub(super) struct Rate {
    /// Requested rate.
    pub(super) rate_iops: f64,
    /// I/Os that came due, per second.
    pub(super) offered_iops: f64,
    /// Maximum number of arrivals that waited at one time because all I/Os allowed were outstanding.
    pub(super) backlog_max: u64,
    /// True if too many arrivals were not served.
    pub(super) falls_short: bool,
    pub(super) service: LatencySummary,
    /// Processor time without the time spent polling for the next arrival, in percent of one processor.
    pub(super) busy_percent: f64,
}

/// A kind of loop.
pub(super) trait Loop {
    /// Returns the rate, in an open loop.
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
            latency_shares: self.latency_shares.clone(),
            limits: self.judged.iter().map(Judged::limit_value).collect(),
            service_ns: rate.map(|rate| rate.service),
            hosts: self.hosts.clone(),
            met: self.met,
            cpu_percent: self.cpu_percent,
            steady: self.steady,
            seconds: self.seconds,
            errors: self.errors,
        }
    }

    pub(super) fn measured(&self, phase: Phase) -> MeasuredPoint {
        let rate = self.own.rate();
        MeasuredPoint {
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

    /// Returns true if no interrupt cut it short and all its I/Os were issued at its queue depth or rate.
    pub(super) fn is_whole(&self) -> bool {
        is_whole(self.seconds) && !self.has_others
    }
}

impl Point {
    /// Returns the limit closest to its bound, or furthest over it.
    pub(super) fn tightest(&self) -> Option<&Judged> {
        tightest(&self.judged).map(|limit| &self.judged[limit])
    }

    /// Returns true if a limit clearly breaks.
    pub(super) fn breaks(&self) -> bool {
        surely_breaks(&self.judged)
    }

    /// Returns true if a maximum is over its bound.
    pub(super) fn breaks_maximum(&self) -> bool {
        breaks_maximum(&self.judged)
    }

    /// Returns true if all limits clearly hold.
    pub(super) fn holds(&self) -> bool {
        surely_holds(&self.judged)
    }

    pub(super) fn going_back(&self, to: u32) -> Decision {
        let because = self.tightest().map(Judged::judgement);
        Decision::GoingBack { from: self.queue_depth, to, because }
    }
}

/// A queue that was full.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct FullQueue {
    /// Number of I/Os that fit into it.
    pub(super) queue_depth: u32,
    pub(super) bound: QueueBound,
}

/// Sorts points by queue depth and keeps only the longest at each.
pub(super) fn longest_of_each_depth(points: &mut Vec<Point>) {
    points.sort_by(|a, b| a.queue_depth.cmp(&b.queue_depth).then(b.seconds.total_cmp(&a.seconds)));
    points.dedup_by_key(|point| point.queue_depth);
}
