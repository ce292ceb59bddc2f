//! The confirmation: the candidate answer is measured for longer, and what bounds it is measured again.
//!
//! No single window decides. A queue depth that broke a limit is measured again some time later, after the confirmation
//! of the one below it. If it keeps the limit this time, noise broke it, and the search goes on from there. The
//! smallest load breaks a limit only if several windows agree.

use super::change::Change;
use super::judge::Judged;
use super::point::Point;
use super::shift::Shift;
use super::window_length::WindowLength;
use super::window_length::{self, SHORTEST_NS};
use super::{ClosedLoop, MUCH_DEEPER, Pass, SearchPlan, narrow, rises};
use crate::error::LabError;
use crate::measure::estimates;
use crate::observe::Phase;
use crate::observe::{Decision, Next, Why};
use iogauge_model::result::StoppedBy;

/// The budget divided by this is the minimum length of a confirmation.
const CONFIRMATION_SHARE: u64 = 20;
/// The smallest load is measured at least `LOOKS` times, each for the budget divided by `LOOK_SHARE`.
pub(super) const LOOKS: u32 = 3;
pub(super) const LOOK_SHARE: u64 = 8;
/// This many windows are enough if the budget ends before [`LOOKS`].
const AGREEING: usize = 2;
/// A statistic that would be less than this share of its bound at a queue depth that broke it shows that noise broke
/// it.
const ROOM: f64 = 0.8;
/// If it would be less than `MUCH_ROOM` of the bound, that queue depth is measured again up to `CEILING_LOOKS` times.
const MUCH_ROOM: f64 = 0.4;
const CEILING_LOOKS: usize = 3;
/// Number of times that a confirmation is extended if chance may have broken its limit.
const OPEN_LOOKS: u32 = 1;

/// If a confirmation gives too little evidence, it is extended by at least this share of its length.
const MORE: f64 = 0.125;

/// Result of confirming one queue depth.
enum Confirmation {
    Point(Box<Point>),
    /// Noise had broken a limit above it: the search goes on from there.
    Again(Next),
}

/// Returns the minimum length of a confirmation.
fn shortest_confirmation_ns(plan: &SearchPlan) -> u64 {
    (plan.budget_ns / CONFIRMATION_SHARE).max(SHORTEST_NS)
}

impl ClosedLoop<'_, '_> {
    /// Confirms a queue depth. If it breaks a limit, goes back by as much as the confirmation suggests, until a queue
    /// depth is confirmed or the budget ends. If one leaves room, goes up from it.
    pub(super) fn confirm(
        &mut self,
        plan: &SearchPlan,
        mut queue_depth: u32,
        stopped_by: StoppedBy,
    ) -> Result<Pass, LabError> {
        let mut failed = 0;
        // Confirmed before the search went up from it.
        let mut confirmed: Option<Point> = None;
        loop {
            let answer = match self.confirm_one(plan, queue_depth)? {
                Confirmation::Again(next) => return Ok(Pass::Again(next)),
                Confirmation::Point(point) => *point,
            };
            let shifts = self.shifts.len();
            if let Some(change) = answer.own.change {
                self.notes_shift(&change, &answer);
                if self.may_begin_again(plan) {
                    return Ok(Pass::after_shift(narrow::retreat_if_broken(&answer)));
                }
            } else if let Some(queue_depth) = self.finds_shift(plan, &answer)? {
                return Ok(Pass::after_shift(queue_depth));
            } else if !self.may_begin_again(plan) {
                self.notes_late_shift(&answer);
            }
            // After a performance shift, what was confirmed before is not an answer.
            confirmed.take_if(|_| self.shifts.len() > shifts);
            let (answer, fell_back) = match confirmed.take() {
                Some(lower) if !answer.met || self.bench.must_end() => (lower, true),
                _ => (answer, false),
            };
            if self.bench.must_end() {
                return Ok(Pass::over(answer, stopped_by));
            }
            if answer.met {
                if !fell_back && let Some(higher) = self.higher(plan, &answer) {
                    let why = Why::Room { confirmed: answer.queue_depth };
                    self.bench.decide(Decision::Next(Next { queue_depth: higher, why }));
                    (queue_depth, confirmed) = (higher, Some(answer));
                    continue;
                }
                let stopped_by = self.checked_reason(&answer, stopped_by)?;
                return Ok(Pass::over(answer, stopped_by));
            }
            let below = self.best_below(queue_depth);
            // The next confirmation begins when the I/Os of this one have completed.
            let least_ns =
                if queue_depth == 1 { SHORTEST_NS } else { shortest_confirmation_ns(plan) };
            if self.bench.left_ns() < least_ns + answer.latency.p99 {
                self.bench.decide_over(Phase::Confirming);
                return Ok(Pass::over(below.unwrap_or(answer), StoppedBy::Budget));
            }
            if queue_depth == 1 {
                return self.look_longer_at_one(plan);
            }
            queue_depth = narrow::retreat(&answer, below.as_ref(), failed);
            failed += 1;
            self.bench.decide(answer.going_back(queue_depth));
        }
    }

    /// Returns the queue depth to confirm after one that left room for it, if enough time is left.
    fn higher(&self, plan: &SearchPlan, confirmed: &Point) -> Option<u32> {
        let least_seconds =
            (confirmed.seconds / 2.0).max(window_length::seconds(shortest_confirmation_ns(plan)));
        let left_seconds =
            window_length::seconds(self.bench.left_ns()) - confirmed.latency.p99 as f64 / 1e9;
        let kept = self.best_below(self.ceiling(confirmed.queue_depth)?.queue_depth)?;
        narrow::climb(confirmed, &kept).filter(|_| left_seconds >= least_seconds)
    }

    /// Confirms one queue depth: a first stretch shows whether it is about right, and the rest follows. While there is
    /// time to go there, the next queue depth that broke a limit is measured again.
    fn confirm_one(
        &mut self,
        plan: &SearchPlan,
        queue_depth: u32,
    ) -> Result<Confirmation, LabError> {
        let WindowLength { shortest_ns, longest_ns, .. } = self.bench.stretch(Phase::Confirming);
        let [shortest_seconds, longest_seconds] =
            [shortest_ns, longest_ns].map(window_length::seconds);
        self.bench.decide(Decision::Confirm { queue_depth, shortest_seconds, longest_seconds });
        let stretch = self.bench.first_stretch();
        let mut confirmed = self.look_for(queue_depth, Phase::Confirming, stretch)?;
        self.keep(confirmed.clone());
        let mut open = 0;
        loop {
            let is_over = self.bench.left_ns() < SHORTEST_NS + confirmed.latency.p99;
            if is_over || confirmed.own.change.is_some() || self.bench.must_end() {
                return Ok(Confirmation::Point(Box::new(confirmed)));
            }
            if !confirmed.met {
                // Chance may have broken the limit, which a longer window shows.
                open += 1;
                if open > OPEN_LOOKS || confirmed.breaks() {
                    return Ok(Confirmation::Point(Box::new(confirmed)));
                }
            } else if let Some(next) = self.finds_room_above(plan, &confirmed)? {
                return Ok(Confirmation::Again(next));
            }
            if self.bench.left_ns() < SHORTEST_NS + confirmed.latency.p99 {
                return Ok(Confirmation::Point(Box::new(confirmed)));
            }
            let unwatched_seconds = self.unwatched_seconds(&confirmed);
            let is_long = confirmed.seconds >= shortest_seconds && unwatched_seconds <= 0.0;
            let is_sure = self.is_sure(&confirmed);
            if confirmed.met
                && is_long
                && is_sure
                && estimates::known_error(&confirmed.iops) <= plan.precision
            {
                return Ok(Confirmation::Point(Box::new(confirmed)));
            }
            // Repeated checks eventually give the desired result by chance, so each one waits for more data.
            let more_seconds = if is_sure { 0.0 } else { confirmed.seconds * MORE };
            let left_seconds = (shortest_seconds - confirmed.seconds).max(unwatched_seconds);
            let left_seconds = left_seconds.max(more_seconds);
            let left_ns = (left_seconds * 1e9) as u64;
            let stretch = match confirmed.met {
                true => self.bench.rest_of_confirmation(left_ns),
                false => WindowLength { resumes: true, ..self.bench.first_stretch() },
            };
            let longest_seconds = window_length::seconds(stretch.longest_ns);
            self.bench.decide(Decision::ConfirmFurther { queue_depth, longest_seconds });
            let whole = self.look_for(queue_depth, Phase::Confirming, stretch)?;
            // It includes what was confirmed before.
            self.points.retain(|point| point.began_ns != whole.began_ns);
            self.keep(whole.clone());
            confirmed = whole;
        }
    }

    /// Measures again the next queue depth above a confirmed one that broke a limit, if the confirmed one leaves room
    /// or chance may have broken the limit. If it keeps the limit this time, sets the broken points from there on aside
    /// and returns it, so that the search goes on from there.
    fn finds_room_above(
        &mut self,
        plan: &SearchPlan,
        confirmed: &Point,
    ) -> Result<Option<Next>, LabError> {
        let Some(ceiling) = self.ceiling(confirmed.queue_depth).map(|point| point.queue_depth)
        else {
            return Ok(None);
        };
        let mut at_ceiling = self.points.iter().filter(|point| point.queue_depth == ceiling);
        if at_ceiling.any(Point::breaks_maximum) {
            self.confirms_maximum(confirmed, ceiling)?;
            return Ok(None);
        }
        let is_open = self.open_above(confirmed).is_some();
        // Past saturation latency is proportional to queue depth; before, it grows less.
        let deeper = f64::from(ceiling) / f64::from(confirmed.queue_depth);
        let share = confirmed.tightest().map_or(f64::INFINITY, Judged::share);
        let room = share * deeper;
        let most = if is_open || room <= MUCH_ROOM { CEILING_LOOKS } else { 1 };
        let looks = self.times_broken(ceiling);
        let has_time = self.bench.has_time_for_window(confirmed.latency.p99);
        if (room > ROOM && !is_open) || looks > most || !has_time || self.bench.must_end() {
            return Ok(None);
        }
        let why = match room <= ROOM {
            true => Why::Ceiling { confirmed: confirmed.queue_depth },
            false => Why::Open { below: confirmed.queue_depth },
        };
        self.look_again_at(plan, Next { queue_depth: ceiling, why })
    }

    /// Measures the queue depth that broke a maximum a second time, if once does not show that the queue depth is the
    /// cause.
    fn confirms_maximum(&mut self, confirmed: &Point, ceiling: u32) -> Result<(), LabError> {
        let is_open = self.unwatched_seconds(confirmed) > 0.0 && self.times_broken(ceiling) == 1;
        if !is_open
            || !self.bench.has_time_for_window(confirmed.latency.p99)
            || self.bench.must_end()
        {
            return Ok(());
        }
        self.bench.decide(Decision::Next(Next { queue_depth: ceiling, why: Why::Maximum }));
        let again = self.look_at(ceiling, Phase::Narrowing)?;
        self.keep(again);
        Ok(())
    }

    /// Measures again a queue depth that broke a limit. If it keeps the limits this time, sets aside the points from
    /// there on that noise broke, and returns it, so that the search goes on from there.
    fn look_again_at(&mut self, plan: &SearchPlan, next: Next) -> Result<Option<Next>, LabError> {
        self.bench.decide(Decision::Next(next));
        let again = self.look_at(next.queue_depth, Phase::Narrowing)?;
        let is_met = again.met && again.is_whole() && self.outweighs(&again);
        self.keep(again);
        let is_noise =
            is_met && (!matches!(next.why, Why::Open { .. }) || self.is_kept_at(next.queue_depth));
        if is_noise {
            self.set_noise_aside(next.queue_depth..);
        }
        let goes_on = is_noise && self.may_begin_again(plan);
        Ok(goes_on.then_some(Next { why: Why::Higher, ..next }))
    }

    /// Returns why the search ended, after measuring again what that rests on.
    fn checked_reason(
        &mut self,
        confirmed: &Point,
        stopped_by: StoppedBy,
    ) -> Result<StoppedBy, LabError> {
        if let Some(broken) = self.ceiling(confirmed.queue_depth) {
            // A limit that broke for lack of workers says nothing about the target.
            let short_of_client = self.short_of_client(broken);
            let is_open = self.open_above(confirmed).is_some();
            let stopped_by = if is_open { StoppedBy::Budget } else { StoppedBy::Limit };
            return Ok(short_of_client.unwrap_or(stopped_by));
        }
        match stopped_by {
            // No point above the answer breaks a limit any more, and there was no time to go there.
            StoppedBy::Limit => Ok(StoppedBy::Budget),
            StoppedBy::Saturated | StoppedBy::MaxDepth
                if confirmed.queue_depth > 1
                    && self.bench.has_time_for_window(confirmed.latency.p99) =>
            {
                let shallower = (f64::from(confirmed.queue_depth) / MUCH_DEEPER) as u32;
                let below = self.points.iter().map(|point| point.queue_depth);
                let queue_depth = below
                    .filter(|queue_depth| *queue_depth <= shallower)
                    .max()
                    .unwrap_or(shallower);
                let next = Next { queue_depth, why: Why::Flat { deeper: confirmed.queue_depth } };
                self.bench.decide(Decision::Next(next));
                let again = self.look_at(queue_depth, Phase::Narrowing)?;
                let flat = !rises(&again.iops, &confirmed.iops);
                self.keep(again);
                Ok(if flat { StoppedBy::Saturated } else { StoppedBy::MaxDepth })
            }
            stopped_by => Ok(stopped_by),
        }
    }

    /// Records a performance shift within a window. Its ticks are dropped, because they come from both sides of the
    /// shift.
    fn notes_shift(&mut self, change: &Change, window: &Point) {
        let reported = change.shift(window_length::seconds(self.bench.elapsed_ns()));
        let mut first = window.clone();
        first.ticks = None;
        self.forget_before(Shift { reported, windows: None }, first);
    }

    /// Measures the smallest load several times before concluding that it breaks a limit.
    pub(super) fn look_longer_at_one(&mut self, plan: &SearchPlan) -> Result<Pass, LabError> {
        let mut met = 0;
        let (mut looks, mut has_looked) = (0, false);
        let led_here =
            self.points.iter().filter(|p| p.queue_depth == 1 && !p.met && p.latency.n > 0);
        let led_here: Vec<&Point> = led_here.collect();
        let mut broken = led_here.len();
        let mut is_maximum = led_here.iter().any(|point| point.breaks_maximum());
        let answer = loop {
            let look_ns = (plan.budget_ns / LOOK_SHARE).min(self.bench.left_ns()).max(SHORTEST_NS);
            let resumes = std::mem::replace(&mut has_looked, true);
            self.bench.decide(Decision::Next(Next { queue_depth: 1, why: Why::Smallest }));
            let stretch = WindowLength { shortest_ns: look_ns, longest_ns: look_ns, resumes };
            let point = self.look_for(1, Phase::Confirming, stretch)?;
            // A window without I/Os says nothing.
            looks += u32::from(point.own.told_at_last);
            met += u32::from(point.own.met_at_last);
            if let Some(change) = point.own.change {
                // Earlier windows say nothing about the target after the shift.
                self.notes_shift(&change, &point);
                (looks, met, broken, is_maximum) = (1, u32::from(point.met), 0, false);
            }
            let over = self.bench.left_ns() < SHORTEST_NS + point.latency.p99;
            // If the windows disagree, or all break the limit, all of them together have to decide.
            let is_decided = met == looks || point.holds() || point.breaks();
            if (looks >= LOOKS && is_decided) || over || self.bench.must_end() {
                break point;
            }
        };
        if self.bench.must_end() {
            self.keep(answer.clone());
            return Ok(Pass::over(answer, StoppedBy::Interrupted));
        }
        self.set_aside(|point| point.queue_depth == 1);
        self.keep(answer.clone());
        let agree = looks as usize + broken >= AGREEING;
        if met == 0 && agree && answer.breaks() {
            return Ok(Pass::over(answer, StoppedBy::Unattainable));
        }
        let keeps = (met == looks || answer.holds()) && !is_maximum;
        if keeps && self.may_begin_again(plan) {
            self.points.retain(|point| point.met || point.breaks_maximum());
            return Ok(Pass::Again(Next { queue_depth: 1, why: Why::Higher }));
        }
        let agree = keeps || (met == 0 && !answer.met);
        Ok(Pass::over(answer, if agree { StoppedBy::Budget } else { StoppedBy::Undecided }))
    }
}
