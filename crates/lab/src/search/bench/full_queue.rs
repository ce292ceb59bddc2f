//! Detection of a full queue: I/Os of a larger queue depth wait in front of it, where the target does not see them.

use super::Bench;
use crate::search::point::{FullQueue, Point};
use iogauge_io::machine::{QueueLimit, QueueReading};
use iogauge_io::worker::accounting::Window;
use iogauge_model::result::QueueBound;

/// The mean number of requests in a full queue is at most the number that can be counted times this.
const FULL: f64 = 1.05;
/// Requests are missing from a full queue while their I/Os are on the way to it or back: this share of them, or one if
/// that is more, but at most half.
const ON_THE_WAY: f64 = 0.15;
/// The number of outstanding I/Os must exceed what the queue takes by this factor.
const BEYOND: f64 = 1.1;
/// If it exceeds that by the factor `FAR_BEYOND`, waiting I/Os come in bunches, and the share `BUNCHED` is missing.
const FAR_BEYOND: f64 = 2.0;
const BUNCHED: f64 = 0.35;
/// A number of requests per I/O that differs from one by less than this counts as one.
const ALIKE: f64 = 0.1;
/// A queue depth is reached if at least this share of it is outstanding.
const REACHED: f64 = 0.98;
/// The largest queue depth that was reached must be within this factor of the largest number of outstanding I/Os.
const NEAR: f64 = 2.0;
/// Processor time of a worker, in percent, from which the client may be why a queue depth is not reached.
const BUSY_PERCENT: f64 = 50.0;

impl Bench<'_, '_> {
    /// Returns what was in the queue so far, and when it was read.
    pub(in crate::search) fn queue_begins(&self) -> Option<(QueueReading, u64)> {
        self.pool.queue().map(|(reading, _)| (reading, self.pool.now_ns()))
    }

    /// Returns the queue if it was full during a window.
    pub(in crate::search) fn full_queue(
        &self,
        since: Option<(QueueReading, u64)>,
        window: &Window,
    ) -> Option<FullQueue> {
        let (before, began_ns) = since?;
        let (now, QueueLimit { bound, counted }) = self.pool.queue()?;
        let QueueReading { in_flight_ns, requests } = now.since(&before);
        let ios = window.ios().max(1) as f64;
        let takes = bound.requests as f64;
        // A few of the requests are other processes'.
        let per_io = requests as f64 / ios;
        let requests_per_io = if (per_io - 1.0).abs() < ALIKE { 1.0 } else { per_io };
        let in_flight = in_flight_ns as f64 / (self.pool.now_ns() - began_ns).max(1) as f64;
        let outstanding = window.queue_depth() * requests_per_io;
        let missing = if outstanding >= takes * FAR_BEYOND { BUNCHED } else { ON_THE_WAY };
        let most_missing = (takes * missing).max(1.0).min(takes / 2.0);
        let is_full = (takes - most_missing..=counted as f64 * FULL).contains(&in_flight);
        let is_beyond = outstanding > takes * BEYOND;
        let queue_depth = ((takes / requests_per_io.max(1e-9)) as u32).max(1);
        (is_full && is_beyond).then_some(FullQueue { queue_depth, bound })
    }

    /// Detects a full queue if no counters show one: all I/Os of one queue depth were outstanding, but of two larger
    /// ones the larger had no more outstanding than the smaller. A load that is limited by something else, such as a
    /// rate or the client, reaches no queue depth at all.
    pub(in crate::search) fn takes_no_more(
        &self,
        points: &[Point],
        deepest: &Point,
    ) -> Option<FullQueue> {
        let is_reached = |p: &Point| p.queue_depth_achieved >= f64::from(p.queue_depth) * REACHED;
        let most = deepest.queue_depth_achieved;
        let smaller = || points.iter().filter(|point| point.queue_depth < deepest.queue_depth);
        let reached = smaller().filter(|p| is_reached(p)).map(|p| p.queue_depth_achieved);
        let was_near = reached.fold(0.0, f64::max) >= most / NEAR;
        let mut short = smaller().filter(|p| !is_reached(p));
        let no_more = short.any(|p| p.queue_depth_achieved >= most * REACHED);
        let idle_percent = BUSY_PERCENT * f64::from(self.workers().min(deepest.queue_depth));
        let is_idle = deepest.cpu_percent < idle_percent && self.pool.is_only_client();
        (!is_reached(deepest) && was_near && no_more && is_idle).then(|| {
            let bound = QueueBound { requests: most.round() as u64, told_by: Vec::new() };
            FullQueue { queue_depth: (most as u32).max(1), bound }
        })
    }
}
