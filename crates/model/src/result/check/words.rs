//! A check in words.

use super::{CheckEnd, CheckResult, CheckVerdict, CheckedLimit};
use crate::RequiredRate;
use crate::limit::{Bound, Metric};
use crate::units::{Count, Latency};

impl CheckResult {
    /// Returns true if a limit bounds a maximum.
    #[must_use]
    pub fn has_maximum(&self) -> bool {
        self.limits.iter().any(is_maximum)
    }

    /// Returns the statements about the tests that decide the verdict, without a full stop.
    #[must_use]
    pub fn reason(&self) -> String {
        let own = match self.ended_by {
            CheckEnd::Proven | CheckEnd::Budget => self.verdict,
            CheckEnd::Client => CheckVerdict::Fail,
            CheckEnd::Starved => {
                return "iogauge lacked processor time in most of the check".to_owned();
            }
            CheckEnd::Errors => return "I/Os failed, or none completed".to_owned(),
            CheckEnd::Interrupted => return "the check was interrupted".to_owned(),
        };
        let rate = (self.rate.verdict == own).then(|| rate(self));
        let limits = self.limits.iter().filter(|limit| limit.verdict == own);
        let statements = rate.into_iter().chain(limits.map(|of| limit(of, self)));
        statements.collect::<Vec<_>>().join("; ")
    }

    /// Returns what follows from the verdict, in sentences.
    #[must_use]
    pub fn advice(&self) -> Vec<String> {
        let mut sentences = Vec::new();
        if self.ended_by == CheckEnd::Client {
            sentences.push(
                "The processors of this machine were busy, so that this says nothing about the target."
                    .to_owned(),
            );
        }
        if self.ended_by == CheckEnd::Budget {
            sentences.push(match self.needed_seconds {
                Some(seconds) => format!(
                    "If the figures stay as they are, a --budget of about {} decides.",
                    duration(seconds)
                ),
                None => {
                    "The figures are too close to the requirement for a longer check to decide."
                        .to_owned()
                }
            });
        }
        if self.verdict == CheckVerdict::Pass && self.has_maximum() {
            // With 0 events in a time T, their rate is below 3 / T with a confidence of 95 %.
            sentences.push(format!(
                "A maximum is proven only for the {} that were watched: with a confidence of 95 %, longer I/Os come less \
                 often than once in {}.",
                duration(self.seconds),
                duration(self.seconds / 3.0)
            ));
        }
        sentences
    }
}

fn is_maximum(limit: &CheckedLimit) -> bool {
    limit.value.limit.metric == Metric::Max
}

fn rate(check: &CheckResult) -> String {
    let rate = &check.rate;
    let required = rate.required;
    let required_iops = match required {
        RequiredRate::Iops(_) => required.to_string(),
        RequiredRate::BytesPerSec(_) => format!("{} IOPS ({required})", Count(rate.required_iops)),
    };
    let Some(served) = &rate.served else {
        let [low, high] = rate.iops.ci95.map(Count);
        let of = match rate.verdict {
            CheckVerdict::Pass => format!("at least the required {required_iops}"),
            CheckVerdict::Fail => format!("less than the required {required_iops}"),
            CheckVerdict::Undecided => {
                format!("too close to the required {required_iops} to tell from it")
            }
        };
        return format!("{} IOPS ({low} to {high}), {of}", Count(rate.iops.mean));
    };
    let percent = served.mean * 100.0;
    match rate.verdict {
        // 100 % to one digit.
        CheckVerdict::Pass if percent >= 99.95 => format!("{required} are served"),
        CheckVerdict::Pass => format!("{percent:.1} % of {required} are served"),
        CheckVerdict::Fail => format!(
            "{percent:.1} % of {required} are served ({} IOPS); the others are left behind",
            Count(rate.iops.mean)
        ),
        CheckVerdict::Undecided => {
            let [low, high] = served.ci95.map(|end| end * 100.0);
            format!("{percent:.1} % of {required} are served ({low:.1} % to {high:.1} %)")
        }
    }
}

fn limit(limit: &CheckedLimit, check: &CheckResult) -> String {
    let value = &limit.value;
    let (statistic, bound) = (value.limit.statistic(), Bound(value.limit.bound_ns));
    let Some(ns) = value.value_ns else { return format!("{statistic} has no I/O") };
    let interval = match value.ci95_ns {
        Some([low, high]) if !is_maximum(limit) => {
            format!(" ({} to {})", Latency(low), Latency(high))
        }
        _ => String::new(),
    };
    let of = match limit.verdict {
        CheckVerdict::Pass if is_maximum(limit) => {
            return format!(
                "{statistic} is {}, within {bound}, in {}",
                Latency(ns),
                duration(check.seconds)
            );
        }
        CheckVerdict::Pass => format!("within {bound}"),
        CheckVerdict::Fail => format!("over {bound}"),
        CheckVerdict::Undecided => match limit.varies_over_seconds {
            None if value.ci95_ns.is_none() => {
                return format!(
                    "{statistic} is {}, but {} I/Os are too few to know it",
                    Latency(ns),
                    Count(value.n as f64)
                );
            }
            None => format!("too close to {bound} to tell from it"),
            Some(0.0) => {
                format!("within {bound}, but this is too short to see whether it varies slowly")
            }
            Some(seconds) => format!(
                "within {bound}, but it varies over {}, and slower stretches may be rare",
                duration(seconds)
            ),
        },
    };
    format!("{statistic} is {}{interval}, {of}", Latency(ns))
}

/// Formats `0.05 s`, `2.5 s`, `40 s`, `5 min`, `2 h`.
fn duration(seconds: f64) -> String {
    match seconds {
        seconds if seconds < 0.1 => format!("{seconds:.2} s"),
        seconds if seconds < 10.0 => format!("{seconds:.1} s"),
        seconds if seconds < 100.0 => format!("{seconds:.0} s"),
        seconds if seconds < 7200.0 => format!("{:.0} min", seconds / 60.0),
        seconds => format!("{:.0} h", seconds / 3600.0),
    }
}
