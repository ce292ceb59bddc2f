//! What a measurement shows about a requirement: the rate, each limit, and all of them together.

use super::unseen::{NONE_SEEN, Unseen, unseen};
use super::{CheckPlan, Seen};
use crate::measure::estimates::{self, Which};
use crate::observe::Verdict;
use crate::search::judge::{self, Judged};
use crate::search::open_loop::point::directions;
use crate::stats::{ratio, widening};
use iogauge_io::worker::accounting::Window;
use iogauge_model::Limit;
use iogauge_model::limit::Metric;
use iogauge_model::result::{
    CheckEnd, CheckResult, CheckVerdict, CheckedLimit, CheckedRate, Estimate,
};

/// Probability of a wrong verdict.
const ERROR: f64 = 0.05;
/// If the budget would have to be longer by more than this factor, the figures are too close to the requirement.
const TOO_LONG: f64 = 100.0;
/// Margin of the budget that would probably decide.
const MARGIN: f64 = 1.2;

/// The tests of a requirement.
#[derive(Debug, Clone)]
pub(super) struct Evidence {
    iops: Estimate,
    served: Option<Estimate>,
    rate: Verdict,
    limits: Vec<Tested>,
}

/// A limit with the verdict on it.
#[derive(Debug, Clone)]
struct Tested {
    judged: Judged,
    verdict: Verdict,
    /// What stands against a limit that seems kept.
    unseen: Option<Unseen>,
}

impl Evidence {
    /// Judges what was seen in `part` of the budget. `is_over` states that no more will be seen.
    pub(super) fn of(plan: &CheckPlan, seen: &Seen, part: f64, is_over: bool) -> Self {
        let tests = 1.0 + plan.limits.len() as f64;
        let times = widening(part, (ERROR / tests).min(ERROR / 2.0)).max(1.0);
        let total = &seen.observed.total;
        let iops = estimates::iops(&seen.observed.services, Which::All, total.iops());
        let iops = widened(iops, times);
        let served = plan.arrivals.map(|_| widened(ratio(&seen.served), times));
        let rate = match &served {
            Some(served) => at_least(served, CheckedRate::SERVED),
            None => at_least(&iops, plan.required_iops),
        };
        let limits = judged(plan, seen, times).into_iter().map(|judged| {
            let verdict = match judged.limit.metric {
                Metric::Max => of_maximum(&judged, is_over),
                Metric::Mean | Metric::Percentile(_) => judged.plain_verdict(),
            };
            match unseen(&judged, &seen.observed.responses).filter(|_| verdict == Verdict::Holds) {
                unseen @ Some(_) => Tested { judged, verdict: Verdict::Open, unseen },
                None => Tested { judged, verdict, unseen: None },
            }
        });
        Self { iops, served, rate, limits: limits.collect() }
    }

    /// Returns the verdict of all tests together.
    pub(super) fn verdict(&self) -> CheckVerdict {
        let all = self.limits.iter().map(|limit| limit.verdict).chain([self.rate]);
        CheckVerdict::of_all(all.map(verdict))
    }

    /// Returns the result.
    pub(super) fn result(&self, plan: &CheckPlan, ended_by: CheckEnd, seconds: f64) -> CheckResult {
        let limit = |tested: &Tested| CheckedLimit {
            value: tested.judged.limit_value(),
            verdict: verdict(tested.verdict),
            varies_over_seconds: tested.unseen.map(|unseen| unseen.varies_over_seconds),
        };
        CheckResult {
            verdict: match ended_by {
                CheckEnd::Proven => self.verdict(),
                _ => CheckVerdict::Undecided,
            },
            ended_by,
            rate: CheckedRate {
                required: plan.required,
                required_iops: plan.required_iops,
                iops: self.iops,
                served: self.served,
                verdict: verdict(self.rate),
            },
            limits: self.limits.iter().map(limit).collect(),
            seconds,
            budget_seconds: plan.budget_ns as f64 / 1e9,
            needed_seconds: self
                .needed(plan)
                .filter(|_| ended_by == CheckEnd::Budget)
                .map(|times| plan.budget_ns as f64 / 1e9 * times),
        }
    }

    /// Returns how many times as long the budget has to be to decide all open tests, if the statistics stay as they are.
    fn needed(&self, plan: &CheckPlan) -> Option<f64> {
        let of_rate = (self.rate == Verdict::Open).then(|| match &self.served {
            Some(served) => longer(served.mean, served.ci95, CheckedRate::SERVED),
            None => longer(self.iops.mean, self.iops.ci95, plan.required_iops),
        });
        let open = self.limits.iter().filter(|limit| limit.verdict == Verdict::Open);
        let of_limits =
            open.map(|Tested { judged, unseen, .. }| match (unseen, judged.limit.metric) {
                (Some(unseen), _) => unseen.longer,
                (None, Metric::Max) => {
                    judged.limit.metric.samples_wanted() as f64 / judged.n.max(1) as f64
                }
                (None, Metric::Percentile(percent)) if judged.ci95[1].is_infinite() => {
                    // Its interval has an upper end if I/Os beyond the percentile would have been seen.
                    NONE_SEEN / (1.0 - percent / 100.0) / judged.n.max(1) as f64
                }
                (None, _) => longer(judged.value, judged.ci95, judged.bound()),
            });
        let times = of_rate.into_iter().chain(of_limits).fold(0.0, f64::max) * MARGIN;
        (times <= TOO_LONG).then_some(times.max(MARGIN))
    }
}

/// Judges the limits of a plan with CIs that are several times as wide.
pub(super) fn judged(plan: &CheckPlan, seen: &Seen, times: f64) -> Vec<Judged> {
    let observed = &seen.observed;
    judge::all_with_care(
        &plan.limits,
        &directions(&observed.total),
        &observed.responses,
        &observed.exceeding,
        (times, Judged::plain_verdict),
    )
}

/// Returns true if a maximum is over its bound.
pub(super) fn breaks_maximum(limits: &[Limit], total: &Window) -> bool {
    let latencies = directions(total);
    let mut maxima = limits.iter().filter(|limit| limit.metric == Metric::Max);
    maxima.any(|limit| limit.judged(&latencies).any(|of| of.max_ns() > limit.bound_ns))
}

/// A maximum is broken by one I/O. It is kept as far as it was watched.
fn of_maximum(judged: &Judged, is_over: bool) -> Verdict {
    let has_samples = judged.n >= judged.limit.metric.samples_wanted();
    match () {
        () if judged.n > 0 && !judged.is_met() => Verdict::Breaks,
        () if is_over && has_samples => Verdict::Holds,
        () => Verdict::Open,
    }
}

/// Makes a CI several times as wide.
fn widened(estimate: Estimate, times: f64) -> Estimate {
    let [low, high] = estimate.ci95;
    let mean = estimate.mean;
    let ci95 = [(mean - (mean - low) * times).max(0.0), mean + (high - mean) * times];
    Estimate { ci95, ..estimate }
}

/// Returns whether a CI shows that a value is at least the required one.
fn at_least(estimate: &Estimate, required: f64) -> Verdict {
    match estimate.ci95 {
        _ if estimate.n < 2 => Verdict::Open,
        [low, _] if low >= required => Verdict::Holds,
        [_, high] if high < required => Verdict::Breaks,
        _ => Verdict::Open,
    }
}

fn verdict(verdict: Verdict) -> CheckVerdict {
    match verdict {
        Verdict::Holds => CheckVerdict::Pass,
        Verdict::Breaks => CheckVerdict::Fail,
        Verdict::Open => CheckVerdict::Undecided,
    }
}

/// Returns how many times as long a measurement has to be so that a CI no longer contains the bound. The width of a CI
/// falls with the square root of the time.
fn longer(value: f64, [low, high]: [f64; 2], bound: f64) -> f64 {
    let half = if value <= bound { high - value } else { value - low };
    let ratio = half / (value - bound).abs();
    // Nothing is known of an end without enough I/Os beyond it.
    if half.is_finite() && value.is_finite() { ratio * ratio } else { 4.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimate(mean: f64, half: f64, n: u64) -> Estimate {
        Estimate { mean, ci95: [mean - half, mean + half], n }
    }

    #[test]
    fn rate_is_judged_by_its_interval() {
        let judge = |mean, half, n| at_least(&estimate(mean, half, n), 100.0);
        assert_eq!(judge(110.0, 5.0, 20), Verdict::Holds);
        assert_eq!(judge(110.0, 15.0, 20), Verdict::Open);
        assert_eq!(judge(90.0, 5.0, 20), Verdict::Breaks);
        assert_eq!(judge(90.0, 0.0, 1), Verdict::Open, "nothing is known of its error");
        assert_eq!(widened(estimate(10.0, 2.0, 9), 3.0), estimate(10.0, 6.0, 9));
        assert_eq!(widened(estimate(10.0, 4.0, 9), 3.0).ci95, [0.0, 22.0]);
    }

    #[test]
    fn needed_time_grows_with_the_square_of_the_width() {
        assert!((longer(8.0, [6.0, 12.0], 10.0) - 4.0).abs() < 1e-9, "the upper half counts");
        assert!((longer(12.0, [6.0, 13.0], 10.0) - 9.0).abs() < 1e-9, "the lower half counts");
        assert_eq!(longer(8.0, [6.0, f64::INFINITY], 10.0), 4.0);
        assert!(longer(10.0, [9.0, 11.0], 10.0).is_infinite());
    }
}
