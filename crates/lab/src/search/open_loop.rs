//! Searches for the capacity in an open loop: the highest arrival rate at which the response times keep every limit.
//!
//! A short closed-loop search finds what the target gives at most; no higher rate can keep the limits. From there,
//! rates are bracketed and narrowed by their response times, and the resulting rate is confirmed in a longer window. If
//! the confirmation fails, the search tries a lower rate.

mod closed_loop;
mod least;
pub(super) mod point;

use super::bench::{Bench, ClientBound};
use super::capacity;
use super::conclude::{self, Ended, Near};
use super::evidence::{
    SMALLER, Watched, are_longer_by, breaks_maximum, is_smallest_sure, is_sure, unwatched_seconds,
};
use super::judge::tightest;
use super::window_length::SHORTEST_NS;
use super::{SearchOutcome, SearchPlan, StoppedBy};
use crate::error::LabError;
use crate::measure::Watch;
use crate::observe::Decision;
use crate::observe::Phase;
use closed_loop::{Closed, HEADROOM, in_closed_loop, without_rates};
use iogauge_io::pool::WorkerPool;
use iogauge_model::limit::Metric;
use iogauge_model::result::{IntervalPoint, Search};
use point::{RatePoint, places};

/// Share of the remaining time for bracket and narrowing.
const NARROWING_SHARE: f64 = 0.5;
/// A rate that the target falls short of is close to one that it serves if they differ by at most this many times the
/// precision.
const NARROW: f64 = 2.5;
/// The minimum step back from a rate grows by this factor with each failed confirmation.
const RETREAT_GROWTH: f64 = 2.0;
/// The step down grows by this factor while no rate has kept the limits: the first guess may be far too high.
const DESCENT_GROWTH: f64 = 3.0;
/// A confirmation whose statistic is at most this share of its bound leaves room for a much higher rate.
const ROOM: f64 = 0.8;
/// The minimum step back before the last confirmation that there is time for: a lower rate that is confirmed is an
/// answer, another failure is not.
const LAST_STEP: f64 = 0.1;
/// If less than the budget divided by this is left, there is time for one confirmation.
const LAST_SHARE: u64 = 8;
/// If a statistic is further from its bound than this factor, the window does not show where the limit is met.
const FAR: f64 = 2.5;

/// Searches for the highest rate with a pool that was started at queue depth 1 with a load that schedules arrivals. At
/// most `plan.max_depth` I/Os are outstanding at a time. Further arrivals wait, and their response times include the
/// wait.
///
/// # Errors
/// If a worker's engine fails.
pub fn find_open(
    pool: &mut dyn WorkerPool,
    plan: &SearchPlan,
    watch: &mut Watch<'_>,
) -> Result<SearchOutcome, LabError> {
    let closed = in_closed_loop(pool, plan, watch)?;
    if closed.interrupted || closed.search.answer.stopped_by == StoppedBy::Ended {
        return Ok(without_rates(closed, plan.max_depth));
    }
    if closed.logical.0 == 0 {
        // There is no rate to start from.
        return Ok(closed);
    }
    let closed_ns = ((closed.search.measured_seconds - closed.spoilt_seconds) * 1e9) as u64;
    let rest = SearchPlan { budget_ns: plan.budget_ns.saturating_sub(closed_ns), ..plan.clone() };
    let start = pool.live();
    // In this order, because a closed loop would fill the new queue depth with I/Os.
    pool.set_rate(Some(0.0))?;
    pool.set_queue_depth(plan.max_depth)?;
    let mut search = OpenLoop {
        closed: Closed::of(&closed, plan),
        bench: Bench::new(pool, &rest, watch),
        points: Vec::new(),
        precision: plan.precision,
        max_depth: plan.max_depth,
        looked_at_least: false,
    };
    let (answer, stopped_by) = search.run()?;
    let is_undecided = answer.met && !search.is_told(&answer);
    let most_iops = search.capacity_iops();
    let measured_seconds = closed.search.measured_seconds + search.bench.elapsed_ns() as f64 / 1e9;
    let spoilt_seconds = closed.spoilt_seconds + search.bench.spoilt_ns() as f64 / 1e9;
    let mut pauses = closed.pauses;
    pauses.add(&search.bench.pauses());
    let (interrupted, cut_by) = (search.bench.interrupted(), search.bench.cut_by());
    let live = search.bench.live();
    let logical =
        (closed.logical.0 + live.ios - start.ios, closed.logical.1 + live.bytes - start.bytes);
    let OpenLoop { bench, mut points, closed: told, .. } = search;
    let mut starved = closed.starved;
    starved.add(&bench.starved);
    let errors = closed.errors + bench.errors;
    let mut series = closed.search.series;
    series.extend(bench.into_series().into_iter().map(|point| IntervalPoint {
        at_seconds: closed.search.measured_seconds + point.at_seconds,
        ..point
    }));
    // If next to no load keeps the limit, that does not show how much load does.
    let tells = |p: &&RatePoint| p.own.rate_iops > told.least_iops || !p.met;
    let others = points.iter().filter(tells).filter(|point| point.began_ns != answer.began_ns);
    let holds = others.chain([&answer]).map(|point| (point.began_ns, point.ticks.as_ref()));
    let near = Near::of(holds);
    points.sort_by(|a, b| {
        a.own.rate_iops.total_cmp(&b.own.rate_iops).then(b.seconds.total_cmp(&a.seconds))
    });
    points.dedup_by(|again, longer| again.own.rate_iops == longer.own.rate_iops);
    // The curve contains the very window that the answer rests on, so that the two agree.
    if let Some(row) = points.iter_mut().find(|point| point.own.rate_iops == answer.own.rate_iops) {
        row.clone_from(&answer);
    }
    let broken = points.iter().filter(|p| p.own.rate_iops > answer.own.rate_iops && !p.met);
    let broken = broken.map(|point| point.starved);
    let starved_decides = conclude::starved_decides(answer.met, answer.starved, broken);
    let higher = points.iter().filter(|p| p.own.rate_iops > answer.own.rate_iops);
    let straggler = conclude::straggler(&answer, higher);
    let is_starved = starved.is_most() || starved_decides;
    let stopped_by =
        conclude::why(stopped_by, cut_by, answer.latency.n == 0, is_starved, is_undecided);
    let search = Search {
        answer: answer.answer_of(
            most_iops,
            Ended { stopped_by, near: &near, seconds: measured_seconds },
            &points,
        ),
        // The curve of an open loop does not vary the queue depth.
        knee: None,
        curve: points.iter().map(RatePoint::curve_point).collect(),
        series,
        measured_seconds,
        ..closed.search
    };
    Ok(SearchOutcome {
        search,
        pauses,
        spoilt_seconds,
        errors,
        starved,
        straggler,
        set_aside: 0,
        with_starved: answer.with_starved,
        logical,
        interrupted,
        ..closed
    })
}

struct OpenLoop<'a, 'b> {
    closed: Closed,
    bench: Bench<'a, 'b>,
    points: Vec<RatePoint>,
    precision: f64,
    max_depth: u32,
    looked_at_least: bool,
}

/// The highest rate that kept the limits and the lowest that did not.
#[derive(Default)]
struct Bracket {
    good: Option<RatePoint>,
    bad: Option<RatePoint>,
    /// Number of lower rates that also failed before one kept the limits.
    failed: i32,
}

impl OpenLoop<'_, '_> {
    fn run(&mut self) -> Result<(RatePoint, StoppedBy), LabError> {
        let (answer, stopped_by) = self.pass()?;
        let is_cut = self.bench.must_end();
        Ok((if is_cut { self.known_instead(answer) } else { answer }, stopped_by))
    }

    fn pass(&mut self) -> Result<(RatePoint, StoppedBy), LabError> {
        if self.closed.stopped_by == StoppedBy::Unattainable {
            // One I/O at a time breaks the limit. Next to no load is the most favourable rate: if that breaks the limit
            // too, every rate does.
            let end = self.look_longer_at_least()?;
            if end.1 != StoppedBy::Limit {
                return Ok(end);
            }
        }
        let until_ns =
            self.bench.spent_ns() + (self.bench.left_ns() as f64 * NARROWING_SHARE) as u64;
        let bracket = self.bracket(until_ns)?;
        if let Some(last) = self.points.last().filter(|_| self.bench.must_end()) {
            return Ok((last.clone(), StoppedBy::Interrupted));
        }
        match (bracket.good, bracket.bad) {
            (Some(good), bad) => {
                let stopped_by = self.why_it_ended(&good, bad.as_ref());
                self.confirm(good.own.rate_iops, stopped_by)
            }
            (None, Some(bad)) if bad.own.rate_iops > self.closed.least_iops => {
                let rate = self.below(&bad, self.precision / 2.0);
                self.confirm(rate, StoppedBy::Limit)
            }
            (None, _) => self.look_longer_at_least(),
        }
    }

    /// Tries rates until one that keeps the limits and one that does not are as close as the precision requires.
    fn bracket(&mut self, until_ns: u64) -> Result<Bracket, LabError> {
        let mut bracket = Bracket::default();
        let mut rate = Some(self.closed.guess_iops);
        while let Some(tried) = rate {
            let phase = match bracket {
                Bracket { good: Some(_), bad: Some(_), .. } => Phase::Narrowing,
                _ => Phase::Doubling,
            };
            self.bench.decide(Decision::NextRate {
                rate_iops: tried,
                holds: bracket.good.as_ref().map(|point| point.own.rate_iops),
                breaks: bracket.bad.as_ref().map(|point| point.own.rate_iops),
            });
            let point = self.measure(tried, phase)?;
            if point.met {
                bracket.good = Some(point);
            } else {
                bracket.failed += i32::from(bracket.bad.is_some() && bracket.good.is_none());
                bracket.bad = Some(point);
            }
            if self.bench.must_end() || self.bench.spent_ns() >= until_ns {
                break;
            }
            rate = self.next(&bracket);
        }
        Ok(bracket)
    }

    /// Returns the next rate to try; `None` if the bracket is narrow enough.
    fn next(&self, bracket: &Bracket) -> Option<f64> {
        let step = self.precision / 2.0;
        match (&bracket.good, &bracket.bad) {
            (Some(good), Some(bad)) => {
                let gap = bad.own.rate_iops - good.own.rate_iops;
                // If the same end moved twice in a row, noise bends the line: take the middle.
                let stays = matches!(&self.points[..], [.., a, b] if a.met == b.met);
                let margin = gap * if stays { 0.5 } else { 0.125 };
                let [low, high] = [good.own.rate_iops + margin, bad.own.rate_iops - margin];
                let rate = crossing(good, bad).max(low).min(high);
                (gap > good.own.rate_iops * step).then_some(rate)
            }
            (Some(good), None) => {
                let least = good.own.rate_iops * (1.0 + step);
                // Slightly beyond the guess, so that the bracket closes.
                let rate = self.at_limit(good, 0.9).max(least).min(self.capacity_iops());
                (rate >= least).then_some(rate)
            }
            (None, Some(bad)) => {
                let step = (step * DESCENT_GROWTH.powi(bracket.failed)).min(0.5);
                (bad.own.rate_iops > self.closed.least_iops).then(|| self.below(bad, step))
            }
            (None, None) => None,
        }
    }

    /// Returns the maximum that the target gives. If the closed loop did not determine it, this is what the target gave
    /// at a rate that it fell short of or, if it served every rate, twice the highest rate.
    fn capacity_iops(&self) -> f64 {
        let short = self.points.iter().filter(|point| point.own.falls_short);
        let given = short.map(|point| point.iops.mean * HEADROOM).reduce(f64::min);
        let highest =
            self.points.iter().map(|p| p.own.rate_iops).fold(self.closed.guess_iops, f64::max);
        self.closed.capacity_iops.or(given).unwrap_or(2.0 * highest)
    }

    /// Returns true if the windows so far show that a rate keeps the limits.
    fn is_told(&self, answer: &RatePoint) -> bool {
        let is_watched = self.unwatched_seconds(answer) <= 0.0;
        is_watched && self.is_sure(answer) && answer.has_samples()
    }

    /// Returns true if some rate up to a point's surely keeps the limits.
    fn is_sure(&self, answer: &RatePoint) -> bool {
        let smaller =
            self.points.iter().filter(|p| p.own.rate_iops <= answer.own.rate_iops * SMALLER);
        let smaller = smaller.map(|point| &point.judged[..]);
        self.closed.keeps_smallest || is_sure(&answer.judged) || is_smallest_sure(smaller)
    }

    /// Returns how much longer the windows up to a rate must be, in seconds, to be evidence about a maximum.
    fn unwatched_seconds(&self, answer: &RatePoint) -> f64 {
        let limits = &self.bench.plan.limits;
        let has_maximum = limits.iter().any(|limit| limit.metric == Metric::Max);
        let watched = self.points.iter().filter(|point| !point.starved).map(|point| {
            // Arrivals that are left behind wait even longer.
            let is_over = point.own.falls_short && has_maximum || breaks_maximum(&point.judged);
            let is_stall =
                point.own.rate_iops <= answer.own.rate_iops || !self.rate_explains(point);
            Watched {
                began_ns: point.began_ns,
                load: point.own.rate_iops,
                seconds: point.seconds,
                is_over: is_over && is_stall,
            }
        });
        unwatched_seconds(watched, answer.own.rate_iops)
    }

    /// Returns true if a rate is about what the target gives, or if a smaller rate kept the limits and the maxima grew
    /// by no more than the spare capacity explains, as in a queue.
    fn rate_explains(&self, point: &RatePoint) -> bool {
        let capacity = self.capacity_iops();
        let spare = |point: &RatePoint| capacity - point.own.rate_iops;
        let is_full = spare(point) <= (HEADROOM * HEADROOM - 1.0) * capacity;
        let kept = self.points.iter().filter(|p| p.met && p.own.rate_iops < point.own.rate_iops);
        is_full
            || kept
                .into_iter()
                .any(|kept| are_longer_by(&kept.judged, &point.judged, spare(kept) / spare(point)))
    }

    /// Returns the rate at which the limit would be met if the statistic were inversely proportional to the spare
    /// capacity. `margin` scales the spare capacity at that rate.
    fn at_limit(&self, point: &RatePoint, margin: f64) -> f64 {
        let capacity = self.capacity_iops().max(point.own.rate_iops * 1.01);
        capacity - (capacity - point.own.rate_iops) * point.share().min(FAR) * margin
    }

    /// Returns a rate lower than one that failed, by at least the share `step`.
    fn below(&self, bad: &RatePoint, step: f64) -> f64 {
        let rate = bad.own.rate_iops;
        let most = rate * (1.0 - step);
        let guess = if bad.own.falls_short { rate * bad.achieved_share() } else { most };
        let at_limit = self.at_limit(bad, 1.0).max(rate / 2.0);
        at_limit.min(guess).min(most).max(self.closed.least_iops * 0.99)
    }

    /// Returns the highest rate to try after a confirmed one: slightly more or, if the confirmation leaves much room,
    /// the geometric mean with the lowest rate that broke a limit.
    fn higher(&self, confirmed: &RatePoint) -> f64 {
        let little = confirmed.own.rate_iops * 1.05;
        if confirmed.share() > ROOM {
            return little;
        }
        let above =
            self.points.iter().filter(|p| p.own.rate_iops > confirmed.own.rate_iops && !p.met);
        let broken = above.map(|p| p.own.rate_iops).fold(self.capacity_iops(), f64::min);
        little.max((confirmed.own.rate_iops * broken).sqrt())
    }

    /// Returns the rate to go back to after a failed confirmation. `failed` is the number of confirmations that failed
    /// before it. The step grows each time, because slightly less load changes nothing if noise decides.
    fn retreat(&self, confirmed: &RatePoint, failed: i32) -> f64 {
        let step = (self.precision / 4.0 * RETREAT_GROWTH.powi(failed)).min(0.5);
        let is_last = self.bench.left_ns() < self.bench.plan.budget_ns / LAST_SHARE;
        let least = if is_last { step.max(LAST_STEP) } else { step };
        let most = confirmed.own.rate_iops * (1.0 - least);
        let floor =
            self.best_below(confirmed.own.rate_iops).filter(|p| p.seconds >= confirmed.seconds);
        let floor = floor.map_or(confirmed.own.rate_iops / 2.0, |point| point.own.rate_iops);
        let rate = match confirmed.own.falls_short {
            true => self.below(confirmed, least),
            false => self.likely(confirmed).min(self.by_curve(confirmed, 4.0 * step)),
        };
        rate.max(floor).min(most)
    }

    /// Returns the rate that the curve through all windows puts surely below the limit, lower than the confirmed one by
    /// at most the share `most`.
    fn by_curve(&self, confirmed: &RatePoint, most: f64) -> f64 {
        let met =
            tightest(&confirmed.judged).and_then(|l| capacity::crossing(&places(&self.points, l)));
        let rate = met.map_or(f64::INFINITY, |met| met.rate_iops - met.error_iops);
        rate.max(confirmed.own.rate_iops * (1.0 - most.min(0.5)))
    }

    /// Returns the rate at which a confirmation most likely keeps the limit: the mean of where the windows near the
    /// limit, and those at this rate, place the limit, less half the precision as a margin for noise.
    fn likely(&self, confirmed: &RatePoint) -> f64 {
        let Some(limit) = tightest(&confirmed.judged) else { return confirmed.own.rate_iops };
        let places = places(&self.points, limit);
        let capacity = self.capacity_iops() / HEADROOM;
        let (mut met, mut seconds) = (0.0, 0.0);
        for place in &places {
            if place.is_within(FAR) || place.rate_iops == confirmed.own.rate_iops {
                // As in a queue, the statistic grows with the inverse of the spare capacity. One far beyond its bound
                // says no more than that.
                let left = (capacity - place.rate_iops).max(place.rate_iops * 0.01);
                let at_limit = place.rate_iops + left * (1.0 - place.share.min(FAR));
                met += at_limit.max(place.rate_iops / 2.0) * place.seconds;
                seconds += place.seconds;
            }
        }
        met / seconds * (1.0 - self.precision / 2.0)
    }

    /// Confirms a rate. If it breaks the limit, goes back until a rate is confirmed or the budget ends. If a
    /// confirmation leaves room for more, confirms a higher rate as well.
    fn confirm(
        &mut self,
        mut rate: f64,
        stopped_by: StoppedBy,
    ) -> Result<(RatePoint, StoppedBy), LabError> {
        let mut confirmed: Option<RatePoint> = None;
        let mut failed = 0;
        let mut by_limit = false;
        let mut first_failed: Option<RatePoint> = None;
        loop {
            let point = self.measure(rate, Phase::Confirming)?;
            if self.bench.must_end() {
                return Ok((confirmed.unwrap_or(point), StoppedBy::Interrupted));
            }
            let over = self.bench.left_ns() < SHORTEST_NS;
            let more = if failed > 0 { self.likely(&point) } else { self.at_limit(&point, 1.02) };
            let more = more.min(self.capacity_iops());
            // A confirmation much shorter than the last one would say less.
            let time_for_more = !over && self.bench.left_ns() as f64 / 1e9 >= point.seconds / 2.0;
            match (point.met, confirmed.take()) {
                (true, before)
                    if time_for_more
                        && more >= rate * (1.0 + self.precision / 2.0)
                        && (before.is_none() || point.share() <= ROOM) =>
                {
                    rate = more.min(self.higher(&point));
                    confirmed = Some(point);
                }
                (true, _) if !self.is_told(&point) && self.bench.left_ns() > 2 * SHORTEST_NS => {
                    // Measure the same rate again.
                    rate = point.own.rate_iops;
                }
                (true, _) => {
                    // No rate broke the limit, but this one leaves no room below it.
                    let reached = more < rate * (1.0 + self.precision);
                    let at_limit = stopped_by == StoppedBy::Budget && reached;
                    let stopped_by =
                        if at_limit || by_limit { StoppedBy::Limit } else { stopped_by };
                    let stopped_by = point.confirms(stopped_by);
                    return Ok((self.longest_like(point), stopped_by));
                }
                (false, Some(below)) => {
                    let next = self.higher(&below);
                    if time_for_more && below.share() <= ROOM && next < point.own.rate_iops {
                        rate = next;
                        confirmed = Some(below);
                        continue;
                    }
                    let by_limit = by_limit || self.breaks_limit(&point);
                    let stopped_by = if by_limit { StoppedBy::Limit } else { stopped_by };
                    return Ok((below.clone(), below.confirms(stopped_by)));
                }
                (false, None) if point.own.rate_iops <= self.closed.least_iops && !over => {
                    return self.look_longer_at_least();
                }
                (false, None) if over && self.breaks_at_least() => {
                    return Ok((point, StoppedBy::Unattainable));
                }
                (false, None) if over => {
                    let answer = self.best_below(rate).unwrap_or(point);
                    return Ok((answer, StoppedBy::Budget));
                }
                (false, None) => {
                    let first = first_failed.get_or_insert_with(|| point.clone());
                    if !self.looked_at_least && point.is_no_better_than(first) {
                        let end = self.look_longer_at_least()?;
                        if end.1 != StoppedBy::Limit {
                            return Ok(end);
                        }
                    }
                    rate = self.retreat(&point, failed);
                    failed += 1;
                    by_limit |= self.breaks_limit(&point);
                    let from = point.own.rate_iops;
                    self.bench.decide(Decision::RateGoingBack { from, to: rate });
                }
            }
        }
    }

    /// Returns the longest window that kept the limits at the same rate.
    fn longest_like(&self, point: RatePoint) -> RatePoint {
        let alike = self.points.iter().filter(|p| p.met && p.own.rate_iops == point.own.rate_iops);
        alike.max_by(|a, b| a.seconds.total_cmp(&b.seconds)).cloned().unwrap_or(point)
    }

    fn measure(&mut self, rate_iops: f64, phase: Phase) -> Result<RatePoint, LabError> {
        self.measure_for(rate_iops, phase, self.bench.longest_ns(phase))
    }

    fn measure_for(
        &mut self,
        rate_iops: f64,
        phase: Phase,
        longest_ns: u64,
    ) -> Result<RatePoint, LabError> {
        let mut point = self.bench.measure_rate(rate_iops, phase, longest_ns)?;
        if point.starved
            && !point.met
            && phase != Phase::Confirming
            && self.bench.left_ns() > SHORTEST_NS
        {
            self.bench.decide(Decision::Measured(point.measured(phase)));
            point = self.bench.measure_rate(rate_iops, phase, longest_ns)?;
        }
        self.bench.keep(&point.curve_point());
        self.bench.decide(Decision::Measured(point.measured(phase)));
        self.points.push(point.clone());
        Ok(point)
    }

    /// Returns true if a point that failed did so because of a limit.
    fn breaks_limit(&self, point: &RatePoint) -> bool {
        !point.own.falls_short && self.client_bound(point) == ClientBound::No
    }

    fn client_bound(&self, point: &RatePoint) -> ClientBound {
        self.bench.client_bound(point.own.busy_percent, self.max_depth, &point.hosts)
    }

    /// Returns the answer of an interrupted search. If the last window failed or was cut short, this is the highest
    /// rate that kept the limits in a whole window, below every failed confirmation. At one rate the longest window
    /// decides. If no rate kept the limits, the answer is the longest window that did not.
    fn known_instead(&mut self, last: RatePoint) -> RatePoint {
        if self.points.iter().any(RatePoint::is_whole) {
            self.points.retain(RatePoint::is_whole);
        }
        let longer =
            |p: &&RatePoint| p.own.rate_iops == last.own.rate_iops && p.seconds > last.seconds;
        let is_contradicted = self.points.iter().filter(longer).any(|point| !point.met);
        if last.met && last.is_whole() && !is_contradicted {
            return last;
        }
        let failed = self.points.iter().filter(|p| p.ticks.is_some() && !p.met);
        let failed = failed.chain((last.is_whole() && !last.met).then_some(&last));
        let lowest = failed.map(|point| point.own.rate_iops).fold(f64::INFINITY, f64::min);
        let longest = self.points.iter().filter(|point| !point.met);
        let longest = longest.max_by(|a, b| a.seconds.total_cmp(&b.seconds)).cloned();
        self.best_below(lowest).or(longest).unwrap_or(last)
    }

    /// Returns the highest rate below this one that kept the limits.
    fn best_below(&self, rate_iops: f64) -> Option<RatePoint> {
        let met = self.points.iter().filter(|p| p.met && p.own.rate_iops < rate_iops);
        met.max_by(|a, b| a.own.rate_iops.total_cmp(&b.own.rate_iops)).cloned()
    }

    fn why_it_ended(&self, good: &RatePoint, bad: Option<&RatePoint>) -> StoppedBy {
        let reached = good.own.rate_iops * (1.0 + self.precision) >= self.capacity_iops();
        let at_most = match self.closed.stopped_by {
            // Rates show what the target gives if the closed loop did not.
            StoppedBy::Budget | StoppedBy::Unattainable | StoppedBy::Undecided => {
                StoppedBy::Saturated
            }
            stopped_by => stopped_by,
        };
        match bad {
            Some(bad) if self.client_bound(bad) == ClientBound::All => StoppedBy::Client,
            // Arrivals that were not served because too few I/Os may be outstanding say nothing about the limit.
            Some(bad) if bad.own.falls_short && self.closed.stopped_by != StoppedBy::Limit => {
                let is_near =
                    bad.own.rate_iops <= good.own.rate_iops * (1.0 + NARROW * self.precision);
                if is_near { at_most } else { StoppedBy::Budget }
            }
            Some(_) => StoppedBy::Limit,
            // All rates up to what the target gives keep the limit.
            None if reached => at_most,
            None => StoppedBy::Budget,
        }
    }
}

/// Returns where the statistic meets its bound between a rate that keeps the limits and one that does not: on the
/// straight line through the inverse of the statistic, which a queue with one server (M/M/1) follows exactly.
fn crossing(good: &RatePoint, bad: &RatePoint) -> f64 {
    let (above, below) = (1.0 / good.share(), 1.0 / bad.share());
    let middle = (good.own.rate_iops + bad.own.rate_iops) / 2.0;
    // A point that only fell short keeps the limit itself.
    if below >= 1.0 || above <= 1.0 {
        return middle;
    }
    let rate = good.own.rate_iops
        + (bad.own.rate_iops - good.own.rate_iops)
            * ((above - 1.0) / (above - below)).clamp(0.0, 1.0);
    if rate.is_finite() { rate } else { middle }
}
