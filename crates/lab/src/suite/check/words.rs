//! The verdict of a check in words.

use crate::suite::kit::{NOTHING, listed, whole};
use iogauge_model::result::{CheckBaseline, CheckResult, CheckVerdict, CheckedRequirement};

/// Maximum number of requirements that the first sentence names.
const MOST_NAMED: usize = 3;

/// Returns the verdict: the first sentence for lists, then the figures of the requirement, or of those that are not
/// met.
pub(super) fn verdict(verdict: CheckVerdict, requirements: &[CheckedRequirement]) -> Vec<String> {
    let checks: Vec<(&str, &CheckResult)> = requirements
        .iter()
        .filter_map(|requirement| Some((requirement.name.as_str(), requirement.check.as_ref()?)))
        .collect();
    if checks.is_empty() {
        return vec![NOTHING.to_owned()];
    }
    let word = match verdict {
        CheckVerdict::Pass => "Pass",
        CheckVerdict::Fail => "Fail",
        CheckVerdict::Undecided => "Undecided",
    };
    let deciding: Vec<&(&str, &CheckResult)> =
        checks.iter().filter(|(_, check)| check.verdict == verdict).collect();
    if let ([_], [(_, check)]) = (requirements, &checks[..]) {
        let mut sentences = vec![format!("{word}: {}.", check.reason())];
        sentences.extend(check.advice());
        return sentences;
    }
    if verdict == CheckVerdict::Pass {
        return vec![format!("Pass: all {} requirements are met.", requirements.len())];
    }
    let what = if verdict == CheckVerdict::Fail { "not met" } else { "undecided" };
    let named = deciding.iter().take(MOST_NAMED).map(|(name, _)| *name);
    let others = match deciding.len().saturating_sub(MOST_NAMED) {
        0 => String::new(),
        others => format!(", and {others} more"),
    };
    let mut sentences = Vec::new();
    if !deciding.is_empty() {
        sentences.push(format!(
            "{word}: {} of {} requirements {} {what}: {}{others}.",
            deciding.len(),
            requirements.len(),
            if deciding.len() == 1 { "is" } else { "are" },
            listed(named, ", ")
        ));
    }
    let unchecked = requirements.len() - checks.len();
    if unchecked > 0 {
        let verb = if unchecked == 1 { "was" } else { "were" };
        let of = format!("{unchecked} of {} requirements {verb} not checked.", requirements.len());
        sentences.push(if sentences.is_empty() { format!("{word}: {of}") } else { of });
    }
    for (name, check) in deciding {
        sentences.push(format!("{name}: {}.", check.reason()));
        sentences.extend(check.advice());
    }
    sentences
}

/// Returns what the margin of a baseline means.
pub(super) fn baseline(baseline: &CheckBaseline) -> String {
    let percent = baseline.margin_percent;
    format!(
        "The required rate is that of run {}, {} IOPS, less {percent} %. It is taken as exact. A limit of the run has \
         {percent} % more.",
        baseline.run_id,
        whole(baseline.iops),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use iogauge_model::RequiredRate;
    use iogauge_model::result::{CheckEnd, CheckedLimit, CheckedRate, Estimate, LimitValue};

    fn estimate(mean: f64, half: f64) -> Estimate {
        Estimate { mean, ci95: [mean - half, mean + half], n: 30 }
    }

    fn check(verdict: CheckVerdict, limit: &str, ms: f64, own: CheckVerdict) -> CheckResult {
        let value = LimitValue {
            limit: limit.parse().unwrap(),
            value_ns: Some(ms * 1e6),
            ci95_ns: Some([ms * 0.9e6, ms * 1.1e6]),
            n: 1000,
        };
        CheckResult {
            verdict,
            ended_by: match verdict {
                CheckVerdict::Undecided => CheckEnd::Budget,
                _ => CheckEnd::Proven,
            },
            rate: CheckedRate {
                required: RequiredRate::Iops(20_000.0),
                required_iops: 20_000.0,
                iops: estimate(20_000.0, 100.0),
                served: Some(estimate(1.0, 0.001)),
                verdict: CheckVerdict::Pass,
            },
            limits: vec![CheckedLimit { value, verdict: own, varies_over_seconds: None }],
            seconds: 60.0,
            budget_seconds: 60.0,
            needed_seconds: Some(240.0),
        }
    }

    fn requirement(name: &str, check: Option<CheckResult>) -> CheckedRequirement {
        CheckedRequirement { name: name.to_owned(), source: None, check }
    }

    #[test]
    fn one_requirement_is_told_with_its_figures() {
        use CheckVerdict::{Fail, Pass, Undecided};
        let of = |all, check| verdict(all, &[requirement("a", Some(check))]);
        assert_eq!(
            of(Pass, check(Pass, "p99<=5ms", 4.0, Pass)),
            ["Pass: 20,000 IOPS are served; p99 is 4.00 ms (3.60 ms to 4.40 ms), within 5 ms."]
        );
        assert_eq!(
            of(Fail, check(Fail, "p99<=5ms", 7.0, Fail)),
            ["Fail: p99 is 7.00 ms (6.30 ms to 7.70 ms), over 5 ms."]
        );
        assert_eq!(
            of(Undecided, check(Undecided, "p99<=5ms", 4.9, Undecided)),
            [
                "Undecided: p99 is 4.90 ms (4.41 ms to 5.39 ms), too close to 5 ms to tell from it.",
                "If the figures stay as they are, a --budget of about 4 min decides."
            ]
        );
        let mut held_back = check(Undecided, "p99<=5ms", 4.0, Undecided);
        held_back.limits[0].varies_over_seconds = Some(0.8);
        assert_eq!(
            of(Undecided, held_back.clone())[0],
            "Undecided: p99 is 4.00 ms (3.60 ms to 4.40 ms), within 5 ms, but it varies over 0.8 s, and slower stretches \
             may be rare."
        );
        held_back.limits[0].varies_over_seconds = Some(0.0);
        assert!(of(Undecided, held_back)[0].contains("too short to see whether it varies slowly"));
        let maximum = of(Pass, check(Pass, "max<=50ms", 40.0, Pass));
        assert!(maximum[0].ends_with("max is 40.0 ms, within 50 ms, in 60 s."), "{maximum:?}");
        assert!(maximum[1].contains("once in 20 s"), "{maximum:?}");
    }

    #[test]
    fn requirements_that_decide_are_named() {
        use CheckVerdict::{Fail, Pass, Undecided};
        let pass = || Some(check(Pass, "p99<=5ms", 4.0, Pass));
        let fail = || Some(check(Fail, "p99<=5ms", 7.0, Fail));
        let all = [requirement("a", pass()), requirement("b", fail()), requirement("c", None)];
        assert_eq!(
            verdict(Fail, &all),
            [
                "Fail: 1 of 3 requirements is not met: b.",
                "1 of 3 requirements was not checked.",
                "b: p99 is 7.00 ms (6.30 ms to 7.70 ms), over 5 ms."
            ]
        );
        let both = [requirement("a", pass()), requirement("b", pass())];
        assert_eq!(verdict(Pass, &both), ["Pass: all 2 requirements are met."]);
        let part = verdict(Undecided, &[requirement("a", pass()), requirement("b", None)]);
        assert_eq!(part[0], "Undecided: 1 of 2 requirements was not checked.");
        assert_eq!(verdict(Undecided, &[requirement("a", None)]), ["Nothing was measured."]);
    }
}
