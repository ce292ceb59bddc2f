//! The end of a search: which windows count, why it ended, and the answer with its intervals.

use super::capacity::{self, Capacity, DepthPlace};
use super::judge::{self, Judged};
use super::point::{Loop, Point, longest_of_each_depth};
use super::prediction::{self, Answered, Prediction, Ticks};
use super::shift;
use super::{ClosedLoop, Drift, window_length};
use iogauge_model::Limit;
use iogauge_model::caveat::Straggler;
use iogauge_model::result::{Answer, PerformanceShift, StoppedBy};

/// Contents of a result, without the performance shifts that were noise.
pub(super) struct Told {
    /// By increasing queue depth, one point each.
    pub(super) points: Vec<Point>,
    pub(super) near: Near,
    pub(super) shifts: Vec<PerformanceShift>,
    pub(super) drift: Option<Drift>,
}

/// All confirmations and other windows near the limit whose ticks are known.
pub(super) struct Near {
    /// In order of time, except that the answer's comes last.
    ticks: Vec<Ticks>,
    /// Start of the earliest of them, in nanoseconds of the search.
    began_ns: Option<u64>,
}

impl Near {
    /// Collects windows with their start times, the answer's last. Those without ticks are ignored.
    pub(super) fn of<'a>(windows: impl Iterator<Item = (u64, Option<&'a Ticks>)>) -> Self {
        let known = windows.filter_map(|(began_ns, ticks)| Some((began_ns, ticks?.clone())));
        let (began_ns, ticks): (Vec<_>, Vec<_>) = known.unzip();
        Self { ticks, began_ns: began_ns.into_iter().min() }
    }

    /// Collects the windows near the limit from the points of a closed loop.
    pub(super) fn among<'a>(points: impl Iterator<Item = &'a Point>, answer: &'a Point) -> Self {
        let is_near = |point: &&Point| {
            let is_near = |ticks: &Ticks| {
                ticks.is_near(point.own.confirmed, point.queue_depth, answer.queue_depth)
            };
            point.began_ns != answer.began_ns && point.ticks.as_ref().is_some_and(is_near)
        };
        let mut near: Vec<&Point> = points.filter(is_near).collect();
        near.sort_by_key(|point| point.began_ns);
        let all = near.into_iter().chain([answer]);
        Self::of(all.map(|point| (point.began_ns, point.ticks.as_ref())))
    }

    pub(super) fn windows(&self) -> Vec<&Ticks> {
        self.ticks.iter().collect()
    }

    /// Returns how long before the answer's window the period began to which its interval applies.
    pub(super) fn seconds_before(&self, answer_began_ns: u64, predicted: &Prediction) -> f64 {
        let began_ns = self.began_ns.filter(|_| predicted.over_all).unwrap_or(answer_began_ns);
        window_length::seconds(answer_began_ns.saturating_sub(began_ns))
    }
}

/// Returns the points that were set aside after at least this many performance shifts.
pub(super) fn since(aside: &[(usize, Point)], shifts: usize) -> impl Iterator<Item = &Point> {
    aside.iter().filter(move |(at, _)| *at >= shifts).map(|(_, point)| point)
}

impl ClosedLoop<'_, '_> {
    /// Takes the contents of the result out of the search.
    pub(super) fn told(&mut self, answer: &Point) -> Told {
        let (mut points, aside) =
            (std::mem::take(&mut self.points), std::mem::take(&mut self.aside));
        let mut shifts = std::mem::take(&mut self.shifts);
        let count = shifts.len();
        // Shifts that come and go are noise, and so are those no larger than what the rate wanders by anyway.
        shifts.retain(|shift| {
            let near = Near::among(points.iter().chain(since(&aside, count)), answer);
            !self.bench.reverted && !shift.is_noise(&near.windows())
        });
        let mut drifting = points.clone();
        longest_of_each_depth(&mut drifting);
        let drift = shift::drift(&drifting);
        if shifts.is_empty() {
            points.append(&mut self.before);
        }
        let near = Near::among(points.iter().chain(since(&aside, shifts.len())), answer);
        longest_of_each_depth(&mut points);
        let shifts = shifts.into_iter().map(|shift| shift.reported).collect();
        Told { points, near, shifts, drift }
    }
}

/// Returns why a search ended. If no I/O completed, nothing is known about any limit.
pub(super) fn why(
    stopped_by: StoppedBy,
    cut_by: Option<StoppedBy>,
    is_empty: bool,
    is_starved: bool,
    is_undecided: bool,
) -> StoppedBy {
    match cut_by {
        Some(cut_by) if cut_by != StoppedBy::Budget => cut_by,
        _ if is_empty => StoppedBy::Budget,
        _ if is_starved => StoppedBy::Starved,
        _ if is_undecided => StoppedBy::Undecided,
        cut_by => cut_by.unwrap_or(stopped_by),
    }
}

/// Returns the limit that ended a search: the one that the answer breaks, or the one broken at the next larger queue
/// depth that breaks any.
fn binding(answer: &Point, curve: &[Point]) -> Option<Limit> {
    let broken = curve.iter().find(|point| point.queue_depth > answer.queue_depth && !point.met);
    let breaks = broken.filter(|_| answer.met).unwrap_or(answer);
    breaks.tightest().map(|judged| judged.limit)
}

/// Returns true if a limit breaks only in windows in which the client was starved: in the answer's own if it breaks
/// one, otherwise in all windows above it that do. `broken_above` states for each of those whether the client was
/// starved.
pub(super) fn starved_decides(
    met: bool,
    starved: bool,
    broken_above: impl Iterator<Item = bool>,
) -> bool {
    if !met {
        return starved;
    }
    let mut above = broken_above.peekable();
    above.peek().is_some() && above.all(|starved| starved)
}

/// Returns the host without which the verdict would be another: at the answer if it breaks a limit, otherwise at the
/// first of the larger loads that does.
pub(super) fn straggler<'a, L: Loop + 'a>(
    answer: &'a Point<L>,
    mut larger: impl Iterator<Item = &'a Point<L>>,
) -> Option<Straggler> {
    let decisive = if answer.met { larger.find(|point| !point.met)? } else { answer };
    decisive.straggler.clone()
}

/// Returns the IOPS at the answer, with an interval that covers the uncertainty of the limit's statistic.
fn capacity(answer: &Point, curve: &[Point]) -> Capacity {
    let Some(limit) = judge::tightest(&answer.judged) else {
        return Capacity { iops: answer.iops, slope: 0.0 };
    };
    let places = curve.iter().map(|p| DepthPlace {
        queue_depth: p.queue_depth,
        iops: p.iops,
        statistic: p.judged[limit].value,
    });
    let slope = capacity::slope_at(answer.queue_depth, places);
    capacity::estimate(answer.iops, &answer.judged[limit], slope)
}

pub(super) fn answer(place: &Point, end: Ended<'_>, curve: &[Point]) -> Answer {
    let Ended { stopped_by, near, seconds } = end;
    let by_limit = stopped_by.is_limit();
    let capacity = match by_limit {
        true => capacity(place, curve),
        false => Capacity { iops: place.iops, slope: 0.0 },
    };
    let confirmed =
        Answered { iops: place.iops.mean, share: place.tightest().map_or(1.0, Judged::share) };
    let predicted = prediction::predict(&near.windows(), &confirmed, &capacity, seconds, by_limit);
    let binding = binding(place, curve).filter(|_| by_limit);
    place.answer(&predicted, near, (stopped_by, binding))
}

impl<L: Loop> Point<L> {
    /// Returns the answer that rests on this point.
    pub(super) fn answer(
        &self,
        predicted: &Prediction,
        near: &Near,
        (stopped_by, stopped_by_limit): (StoppedBy, Option<Limit>),
    ) -> Answer {
        let place = self.curve_point();
        let answer = Answer {
            met: place.met,
            iops: predicted.iops,
            pi95: predicted.pi95,
            observed_seconds: Some(
                self.observed_seconds + near.seconds_before(self.began_ns, predicted),
            ),
            wander: predicted.wander,
            bytes_per_sec: self.bytes_per_sec,
            queue_depth: place.queue_depth,
            rate_iops: place.rate_iops,
            queue_depth_achieved: place.queue_depth_achieved,
            latency_ns: place.latency_ns,
            limits: place.limits,
            queue: None,
            service_ns: place.service_ns,
            stopped_by,
            stopped_by_limit,
        };
        // Another search cannot find a capacity that this one does not give.
        let pi95 = answer.pi95.filter(|_| answer.is_given());
        Answer { pi95, ..answer }
    }
}

pub(super) struct Ended<'a> {
    pub(super) stopped_by: StoppedBy,
    pub(super) near: &'a Near,
    /// Length of the search.
    pub(super) seconds: f64,
}
