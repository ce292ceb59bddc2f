//! The smallest rate: if a limit breaks there, it breaks everywhere.

use super::super::StoppedBy;

use super::super::confirm::{LOOK_SHARE, LOOKS};
use super::super::evidence::{pooled, surely_breaks, surely_holds};
use super::super::window_length::SHORTEST_NS;
use super::OpenLoop;
use super::point::RatePoint;
use crate::error::LabError;
use crate::observe::Phase;

impl OpenLoop<'_, '_> {
    /// Measures the smallest rate several times before concluding that it breaks a limit. If the windows disagree, all
    /// of them together decide. Returns [`StoppedBy::Limit`] if the smallest rate keeps all limits.
    pub(super) fn look_longer_at_least(&mut self) -> Result<(RatePoint, StoppedBy), LabError> {
        let look_ns = (self.bench.plan.budget_ns / LOOK_SHARE).max(SHORTEST_NS);
        self.looked_at_least = true;
        let mut looks: Vec<RatePoint> = Vec::new();
        loop {
            let longest_ns = self.bench.longest_ns(Phase::Confirming).min(look_ns);
            let point = self.measure_for(self.closed.least_iops, Phase::Confirming, longest_ns)?;
            looks.push(point);
            let over = self.bench.must_end() || self.bench.left_ns() < SHORTEST_NS;
            // A window without I/Os says nothing.
            let told = || looks.iter().filter(|point| point.latency.n > 0);
            let (all, met) = (told().count(), told().filter(|point| point.met).count());
            let together = pooled(told().map(|point| &point.judged[..]));
            let is_decided = surely_breaks(&together) || surely_holds(&together);
            let agree = met == 0 || met == all;
            if !over && (looks.len() < LOOKS as usize || !(agree || is_decided)) {
                continue;
            }
            let breaks = if met == 0 { self.breaks_at_least() } else { surely_breaks(&together) };
            let keeps = met == all && told().any(RatePoint::has_samples);
            let stopped_by = match () {
                () if breaks => StoppedBy::Unattainable,
                () if keeps || met > 0 && surely_holds(&together) => StoppedBy::Limit,
                () if agree => StoppedBy::Budget,
                () => StoppedBy::Undecided,
            };
            let is_answer = |point: &&RatePoint| !breaks || !point.met;
            let longest =
                looks.iter().filter(is_answer).max_by(|a, b| a.seconds.total_cmp(&b.seconds));
            let last = looks.last();
            if let Some(answer) = longest.or(last) {
                return Ok((answer.clone(), stopped_by));
            }
        }
    }

    /// Returns true if several windows at the smallest rate broke a limit and none kept it. If one I/O at a time breaks
    /// it in a closed loop as well, that counts as one more.
    pub(super) fn breaks_at_least(&self) -> bool {
        let least = self.points.iter().filter(|p| p.own.rate_iops <= self.closed.least_iops);
        let told = least.filter(|point| point.latency.n > 0);
        let met: Vec<bool> = told.map(|point| point.met).collect();
        let one_more = usize::from(self.closed.stopped_by == StoppedBy::Unattainable);
        !met.is_empty() && met.len() + one_more > 1 && !met.contains(&true)
    }
}
