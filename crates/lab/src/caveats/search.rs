//! Facts about the answer of a search.

use super::{queue_depth, rate};
use crate::search::{Drift, SearchOutcome, Starved, WithStarved as Including};
use iogauge_model::caveat::{
    CutShort, Fact, FigureFact, MachineFact, Shift, StarvedFact, SteadinessFact, WithStarved,
};
use iogauge_model::result::{Answer, CurvePoint, LimitValue, PerformanceShift, StoppedBy};

/// Returns the facts about the point of the answer.
#[must_use]
pub fn of_answer(point: &CurvePoint, met: bool) -> Vec<Fact> {
    let mut facts = Vec::new();
    if point.latency_ns.n == 0 {
        return facts;
    }
    match (point.rate_iops, point.offered_iops) {
        (Some(requested), offered) => {
            facts.extend(rate(offered.unwrap_or(requested), point.iops.mean, 0.0));
            let (waited, max_depth) = (point.backlog_max.unwrap_or(0), point.queue_depth);
            let waits = FigureFact::ArrivalsWaited { waited, max_depth };
            facts.extend((waited > 0).then(|| waits.into()));
        }
        (None, _) => facts.extend(queue_depth(point.queue_depth, point.queue_depth_achieved)),
    }
    for value in point.limits.iter().filter(|_| met) {
        let (limit, ios, wanted) = (value.limit, value.n, value.limit.metric.samples_wanted());
        let few = FigureFact::FewForLimit { limit, ios, wanted };
        facts.extend((ios < wanted).then(|| few.into()));
    }
    if !point.steady && met {
        let (ci95, seconds) = (point.iops.ci95, point.seconds);
        facts.push(SteadinessFact::UnsteadyAnswer { ci95, seconds }.into());
    }
    facts
}

/// Returns a fact if the search ended before the limit was reached.
#[must_use]
pub fn cut_short(answer: &Answer, set_aside: usize) -> Option<Fact> {
    let by_depth = match answer.stopped_by {
        StoppedBy::Budget => false,
        StoppedBy::MaxDepth => true,
        _ => return None,
    };
    let Answer { queue_depth, rate_iops, met, .. } = *answer;
    Some(FigureFact::CutShort(CutShort { by_depth, queue_depth, rate_iops, met, set_aside }).into())
}

/// As [`starvation`], of a search.
#[must_use]
pub(crate) fn starved(found: &SearchOutcome) -> Option<Fact> {
    starvation(&found.starved, found.with_starved.as_ref(), found.search.answer.met)
}

/// Returns a fact about parts of a search or check that are left out because the client lacked processor
/// time. `met` states that the limits are kept without them.
#[must_use]
pub(crate) fn starvation(
    starved: &Starved,
    with_starved: Option<&Including>,
    met: bool,
) -> Option<Fact> {
    let Starved { stretches, left_out, left_out_ns, lost } = *starved;
    let with_them = with_starved.map(|with| {
        let value = |limit: &LimitValue| Some((limit.limit, limit.value_ns?));
        let values = with.limits.iter().filter_map(value).collect();
        WithStarved { iops: with.iops, values, breaks: met && !with.is_met() }
    });
    let fact = StarvedFact {
        stretches,
        left_out,
        left_out_ns,
        wait_ns: lost.wait_ns,
        steal_ns: lost.steal_ns,
        throttled_ns: lost.throttled_ns,
        with_them,
    };
    (left_out > 0).then(|| MachineFact::Starved(fact).into())
}

/// Returns the fact that points of a curve contradict each other.
#[must_use]
pub fn drift(drift: &Drift) -> Fact {
    let Drift { queue_depths: [before, after], before_iops, after_iops, .. } = *drift;
    let (before, after) = ((before_iops, before), (after_iops, after));
    SteadinessFact::SearchDrift { before, after }.into()
}

/// Returns a fact for each performance shift during a search.
pub fn shifts(shifts: &[PerformanceShift]) -> impl Iterator<Item = Fact> {
    shifts.iter().map(|found| SteadinessFact::SearchShift(shift(found)).into())
}

pub(super) fn shift(shift: &PerformanceShift) -> Shift {
    let PerformanceShift { at_seconds, before_iops, after_iops } = *shift;
    Shift { at_seconds, before_iops, after_iops }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iogauge_model::CaveatCode;
    use iogauge_model::caveat::Command;
    use iogauge_model::result::{Estimate, LatencySummary};

    fn latency() -> LatencySummary {
        LatencySummary::of(&iogauge_model::Histogram::new(), [0.0; 2])
    }

    #[test]
    fn unsteady_answer_produces_a_single_caveat() {
        let point = CurvePoint {
            queue_depth: 64,
            rate_iops: None,
            offered_iops: None,
            hosts: Vec::new(),
            backlog_max: None,
            queue_depth_achieved: 64.0,
            iops: Estimate::exact(1.0),
            latency_ns: LatencySummary { n: 100, ..latency() },
            latency_shares: Vec::new(),
            limits: Vec::new(),
            service_ns: None,
            met: true,
            cpu_percent: 0.0,
            steady: false,
            seconds: 1.0,
            errors: 0,
        };
        let codes = |met| -> Vec<_> {
            of_answer(&point, met).iter().map(|fact| fact.caveat(Command::Find).code).collect()
        };
        assert_eq!(codes(true), [CaveatCode::NotSteady]);
        assert_eq!(codes(false), []);
    }

    #[test]
    fn early_ended_search_produces_a_caveat() {
        let answer = |stopped_by| {
            let exact = Estimate::exact(1.0);
            let latency_ns = latency();
            let answer = Answer {
                queue: None,
                met: true,
                iops: exact,
                pi95: None,
                observed_seconds: None,
                wander: None,
                bytes_per_sec: 1.0,
                queue_depth: 64,
                rate_iops: None,
                queue_depth_achieved: 64.0,
                latency_ns,
                service_ns: None,
                stopped_by,
                limits: Vec::new(),
                stopped_by_limit: None,
            };
            cut_short(&answer, 0)
        };
        let hint = |stopped_by| answer(stopped_by).unwrap().caveat(Command::Find).hint;
        assert!(hint(StoppedBy::Budget).contains("--budget"));
        assert!(hint(StoppedBy::MaxDepth).contains("--max-depth"));
        assert_eq!(answer(StoppedBy::Limit), None);
    }
}
