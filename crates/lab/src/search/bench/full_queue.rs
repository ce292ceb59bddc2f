//! A queue that is full: a larger queue depth waits in front of it, where the target does not see it.

use super::Bench;
use crate::search::point::{FullQueue, Point};
use iogauge_io::machine::{QueueLimit, QueueReading};
use iogauge_io::worker::accounting::Window;
use iogauge_model::result::QueueBound;

/// A full queue holds this share of what counts at most.
const FULL: f64 = 1.05;
/// Requests are missing from a full queue while their I/Os are on the way to it and back: this share of them, or one
/// where that is more, but no more than half.
const ON_THE_WAY: f64 = 0.15;
/// So many times as many as it takes have to be outstanding.
const BEYOND: f64 = 1.1;
/// Where so many times as many are outstanding, those that wait come in bunches, and a larger share is missing.
const FAR_BEYOND: f64 = 2.0;
const BUNCHED: f64 = 0.35;
/// Requests for each I/O that differ by less from one for each are one for each.
const ALIKE: f64 = 0.1;
/// A depth is reached from this share of it on.
const REACHED: f64 = 0.98;
/// The deepest point that was reached lies within this factor of what is outstanding at most.
const NEAR: f64 = 2.0;
/// A client that is busy for this share of its time may be why a depth is not reached, in percent.
const BUSY_PERCENT: f64 = 50.0;

impl Bench<'_, '_> {
    /// What was in the queue so far, and when that was read.
    pub(in crate::search) fn queue_begins(&self) -> Option<(QueueReading, u64)> {
        self.pool.queue().map(|(reading, _)| (reading, self.pool.now_ns()))
    }

    /// The queue, where it was full in a window whose I/Os are these.
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
        // A few I/Os of others are among the requests.
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

    /// The same where nothing tells of a queue, but the target takes no more: all of one depth were
    /// outstanding, and of two larger ones no more of the larger than of the smaller. A load that is held
    /// back otherwise, by a rate or by the client, reaches no depth at all.
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
