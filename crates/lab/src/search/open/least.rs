//! The smallest rate: what breaks a limit there breaks it everywhere.

use super::super::StoppedBy;

use super::super::confirm::{LOOK_SHARE, LOOKS};
use super::super::evidence::{pooled, surely_breaks, surely_holds};
use super::super::time::SHORTEST_NS;
use super::Search;
use super::point::RatePoint;
use crate::error::LabError;
use crate::observe::Phase;

impl Search<'_, '_> {
    /// Looks at the smallest rate several times before saying that it breaks a limit. Where the windows disagree, all of
    /// them together have to decide it. Stopped by the limit where it keeps all of them.
    pub(super) fn look_longer_at_least(&mut self) -> Result<(RatePoint, StoppedBy), LabError> {
        let look_ns = (self.bench.plan.budget_ns / LOOK_SHARE).max(SHORTEST_NS);
        self.looked_at_least = true;
        let mut looks: Vec<RatePoint> = Vec::new();
        loop {
            let longest_ns = self.bench.longest_ns(Phase::Confirming).min(look_ns);
            let point = self.measure_for(self.closed.least_iops, Phase::Confirming, longest_ns)?;
            looks.push(point);
            let over = self.bench.must_end() || self.bench.left_ns() < SHORTEST_NS;
            // A window without an I/O says nothing.
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

    /// True where several windows at the smallest rate broke a limit, and none kept it. That one I/O at a time breaks
    /// it as well, in a closed loop, is one more.
    pub(super) fn breaks_at_least(&self) -> bool {
        let least = self.points.iter().filter(|p| p.own.rate_iops <= self.closed.least_iops);
        let told = least.filter(|point| point.latency.n > 0);
        let met: Vec<bool> = told.map(|point| point.met).collect();
        let one_more = usize::from(self.closed.stopped_by == StoppedBy::Unattainable);
        !met.is_empty() && met.len() + one_more > 1 && !met.contains(&true)
    }
}
