//! Doubts about the answer of a search.

use super::{backlog, depth, rate};
use crate::search::{Drift, SearchOutcome, Starved};
use iogauge_model::result::{Answer, CurvePoint, PerformanceShift, StoppedBy};
use iogauge_model::units::{Count, Latency};
use iogauge_model::{Caveat, CaveatCode};

/// Doubts about the answer of a search.
#[must_use]
pub fn of_answer(point: &CurvePoint, met: bool) -> Vec<Caveat> {
    let mut caveats = Vec::new();
    if point.latency_ns.n == 0 {
        return caveats;
    }
    match (point.rate_iops, point.offered_iops) {
        (Some(asked), offered) => {
            let hint = "a higher --max-depth, or a longer --budget";
            caveats.extend(rate(offered.unwrap_or(asked), point.iops.mean, hint));
            caveats.extend(backlog(point.backlog_max.unwrap_or(0), point.depth));
        }
        (None, _) => caveats.extend(depth(point.depth, point.depth_achieved)),
    }
    for value in &point.limits {
        let (n, wanted) = (value.n, value.limit.metric.samples_wanted());
        if n < wanted && met {
            let statistic = value.limit.statistic();
            caveats.push(Caveat::new(
                CaveatCode::TooFewSamples,
                format!("{statistic} rests on {n} I/Os; {wanted} would say it reliably"),
                "a longer --budget",
            ));
        }
    }
    if !point.steady && met {
        caveats.push(Caveat::new(
            CaveatCode::NotSteady,
            format!(
                "the IOPS drifted or jumped by more than a tenth while the answer was held ({} to \
                 {} at 95 % in {:.1} s)",
                Count(point.iops.ci95[0]),
                Count(point.iops.ci95[1]),
                point.seconds
            ),
            "a longer --budget, and a look at what else uses the device",
        ));
    }
    caveats
}

/// The search ended before the limit was reached.
#[must_use]
pub fn cut_short(answer: &Answer) -> Option<Caveat> {
    let (why, hint) = match answer.stopped_by {
        StoppedBy::Budget => ("the time to measure ran out", "a longer --budget"),
        StoppedBy::MaxDepth => ("no larger depth was allowed", "a larger --max-depth"),
        _ => return None,
    };
    let place = match answer.rate_iops {
        Some(rate) => format!("{} arrivals a second", Count(rate)),
        None => format!("depth {}", answer.depth),
    };
    let told = match (answer.stopped_by, answer.met) {
        (StoppedBy::MaxDepth, _) => "the target may sustain more",
        (_, true) => "what it sustains was not confirmed",
        (_, false) if answer.depth == 1 && answer.rate_iops.is_none() => {
            "every window broke a limit, but not clearly"
        }
        (_, false) => "no load was found that keeps the limits",
    };
    Some(Caveat::new(CaveatCode::SearchCutShort, format!("{why} at {place}: {told}"), hint))
}

/// Stretches of a search that are left out because the client lacked processor time.
#[must_use]
pub(crate) fn starved(found: &SearchOutcome) -> Option<Caveat> {
    let Starved { stretches, left_out, left_out_ns, lost } = found.starved;
    (left_out > 0).then(|| {
        let share = |ns: u64| 100.0 * ns as f64 / left_out_ns.max(1) as f64;
        let kinds = [
            (lost.wait_ns, "the workers waited for a processor"),
            (lost.steal_ns, "the hypervisor ran other machines"),
            (lost.throttled_ns, "a control group held iogauge back"),
        ];
        let most_ns = kinds.iter().map(|(ns, _)| *ns).max();
        let told = kinds.iter().filter(|(ns, _)| share(*ns) >= 0.5 || Some(*ns) == most_ns);
        let kinds: Vec<String> = told
            .map(|(ns, what)| format!("{what} for {} of the time", percent(share(*ns))))
            .collect();
        let time = Latency(left_out_ns as f64 / f64::from(left_out));
        let with = found.with_starved.as_ref().map_or_else(String::new, |with| {
            let values = with.limits.iter().filter_map(|limit| {
                let value_ns = limit.value_ns?;
                Some(format!("{} {}", limit.limit.statistic(), Latency(value_ns)))
            });
            let values: Vec<String> = values.collect();
            let but =
                if found.answer.met && !with.is_met() { ", which breaks the limit" } else { "" };
            format!(
                "; with them the answer's load gave {} IOPS, {}{but}",
                Count(with.iops),
                values.join(", ")
            )
        });
        Caveat::of(
            CaveatCode::ClientStarved,
            format!(
                "in {left_out} of {stretches} stretches of {time} {}; {}{with}",
                kinds.join(", and "),
                match left_out {
                    all if all == stretches => "no other stretch was measured",
                    1 => "it is left out",
                    _ => "they are left out",
                }
            ),
        )
        .weighed(f64::from(left_out) / f64::from(stretches.max(1)))
    })
}

fn percent(share: f64) -> String {
    if share < 0.5 { "less than 1 %".to_owned() } else { format!("{share:.0} %") }
}

/// Points of a curve that contradict each other.
#[must_use]
pub fn drift(drift: &Drift) -> Caveat {
    let [before, after] = drift.depths;
    Caveat::new(
        CaveatCode::NotSteady,
        format!(
            "depth {after} gave {} IOPS, after {} at depth {before}: the target got slower during \
             the search, unless depth costs it throughput",
            Count(drift.after_iops),
            Count(drift.before_iops)
        ),
        "iogauge run with the answer's --iodepth and a --runtime of minutes shows which",
    )
}

/// A target that gave something else before it gave the answer.
#[must_use]
pub fn shifts(shifts: &[PerformanceShift]) -> Vec<Caveat> {
    let caveat = |shift: &PerformanceShift| {
        let (before, after) = (Count(shift.before_iops), Count(shift.after_iops));
        let how = if shift.after_iops < shift.before_iops {
            "burst credits ran out, a cache filled, a throttle set in, or a neighbour came"
        } else {
            "a neighbour left, or a background task ended"
        };
        Caveat::new(
            CaveatCode::PerformanceShift,
            format!(
                "the target gave {before} IOPS until {:.1} s into the search and {after} from then \
                 on: {how}; the answer is the later one",
                shift.at_seconds
            ),
            "a --budget of several minutes shows whether the later level lasts",
        )
    };
    shifts.iter().map(caveat).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use iogauge_model::result::{Estimate, LatencySummary};

    fn latency() -> LatencySummary {
        LatencySummary::of(&iogauge_model::Histogram::new(), [0.0; 2])
    }

    #[test]
    fn an_answer_that_did_not_hold_still_is_told_once() {
        let point = CurvePoint {
            depth: 64,
            rate_iops: None,
            offered_iops: None,
            backlog_max: None,
            depth_achieved: 64.0,
            iops: Estimate::exact(1.0),
            latency_ns: LatencySummary { n: 100, ..latency() },
            limits: Vec::new(),
            service_ns: None,
            met: true,
            cpu_percent: 0.0,
            steady: false,
            seconds: 1.0,
            errors: 0,
        };
        let codes = |met| -> Vec<_> { of_answer(&point, met).iter().map(|c| c.code).collect() };
        assert_eq!(codes(true), [CaveatCode::NotSteady]);
        assert_eq!(codes(false), []);
    }

    #[test]
    fn a_search_that_ended_early_says_so() {
        let answer = |stopped_by| {
            let exact = Estimate::exact(1.0);
            let latency_ns = latency();
            cut_short(&Answer {
                queue: None,
                met: true,
                iops: exact,
                pi95: None,
                observed_seconds: None,
                wander: None,
                bytes_per_sec: 1.0,
                depth: 64,
                rate_iops: None,
                depth_achieved: 64.0,
                latency_ns,
                service_ns: None,
                stopped_by,
                limits: Vec::new(),
                stopped_by_limit: None,
            })
        };
        assert!(answer(StoppedBy::Budget).unwrap().hint.contains("--budget"));
        assert!(answer(StoppedBy::MaxDepth).unwrap().hint.contains("--max-depth"));
        assert_eq!(answer(StoppedBy::Limit), None);
    }
}
