//! Decisions of a search in words.

use super::decision::{Crossing, Decision, Judgement, MeasuredPoint, Next, Verdict, Why};
use iogauge_model::Vocabulary;
use iogauge_model::limit::Bound;
use iogauge_model::result::{Estimate, LimitValue};
use iogauge_model::units::{Count, Latency};
use std::fmt;

/// Formats a decision as one line of `find --explain`, in the terms of the target's vocabulary.
struct Text<'a, T>(&'a T, Vocabulary);

impl Decision {
    /// Returns the line that `find --explain` prints.
    pub fn text(&self, vocabulary: Vocabulary) -> String {
        Text(self, vocabulary).to_string()
    }
}

/// `mean 9.87 ms ± 12.0 µs of 51,200 I/Os, <= 10 ms kept`; without `±` if the CI is unknown.
impl fmt::Display for Text<'_, Judgement> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(Judgement { value, verdict }, words) = self;
        let LimitValue { limit, value_ns, ci95_ns, n } = value;
        write!(f, "{} ", words.statistic(limit))?;
        match value_ns {
            Some(ns) => write!(f, "{}", Latency(*ns))?,
            None => f.write_str("unknown")?,
        }
        match ci95_ns {
            // A maximum has no CI.
            Some([low, high]) if low == high => {}
            Some([low, high]) => write!(f, " ± {}", Latency((high - low) / 2.0))?,
            None => {}
        }
        let verdict = match verdict {
            Verdict::Holds => "kept",
            Verdict::Breaks => "broken",
            Verdict::Open => "undecided",
        };
        let (n, bound) = (Count(*n as f64), Bound(limit.bound_ns));
        write!(f, " of {n} {}, <= {bound} {verdict}", words.ios())
    }
}

/// `81,204 ± 310 IOPS`; without `±` if the CI is unknown.
impl fmt::Display for Text<'_, Estimate> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(iops, words) = self;
        write!(f, "{}", Count(iops.mean))?;
        if iops.n > 1 {
            write!(f, " ± {}", Count(iops.reach()))?;
        }
        write!(f, " {}", words.iops())
    }
}

impl fmt::Display for Text<'_, MeasuredPoint> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(point, words) = self;
        let MeasuredPoint {
            phase,
            queue_depth,
            rate_iops,
            iops,
            seconds,
            limits,
            met,
            falls_short,
        } = point;
        write!(f, "{}: ", phase.word())?;
        match rate_iops {
            Some(rate) => write!(f, "{} {} offered give", Count(*rate), words.iops())?,
            None => f.write_str(&words.clause(*queue_depth, "gives", "give"))?,
        }
        write!(f, " {} in {seconds:.2} s", Text(iops, *words))?;
        for (number, limit) in limits.iter().enumerate() {
            write!(f, "{} {}", if number == 0 { ";" } else { "," }, Text(limit, *words))?;
        }
        f.write_str(match (met, falls_short) {
            _ if iops.mean == 0.0 => " (nothing was completed)",
            (true, _) => " (within the limit)",
            (false, true) => " (arrivals are left behind)",
            (false, false) => " (over the limit)",
        })
    }
}

impl fmt::Display for Text<'_, Crossing> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(Crossing { through: [a, b], limit, queue_depth }, words) = self;
        let (through, statistic) = (words.amounts(*a, *b), words.statistic(limit));
        let bound = Bound(limit.bound_ns);
        write!(f, "the line through {through} meets {statistic} <= {bound} at {queue_depth:.1}")
    }
}

impl fmt::Display for Text<'_, Next> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(Next { queue_depth, why }, words) = self;
        let amount = |n: &u32| words.amount(*n);
        let clause = |n: &u32, one, several| words.clause(*n, one, several);
        let gives = |n: &u32| clause(n, "gives", "give");
        let was = |n: &u32| clause(n, "was", "were");
        write!(f, "next {}: ", amount(queue_depth))?;
        match why {
            Why::Doubling { from } => {
                write!(f, "doubled, because {} within the limit", clause(from, "is", "are"))
            }
            Why::Predicted(crossing) if f64::from(*queue_depth) > crossing.queue_depth => {
                write!(f, "{}; this is just beyond", Text(crossing, *words))
            }
            Why::Predicted(crossing) => {
                write!(f, "{}; one step is at most 64 times the last", Text(crossing, *words))
            }
            Why::Between { holds, breaks, predicted } => {
                write!(f, "between {holds}, within the limit, and {breaks}, over the limit; ")?;
                match predicted {
                    Some(crossing) => write!(f, "{}", Text(crossing, *words)),
                    None => {
                        f.write_str("nothing predicts the limit, so this is their geometric mean")
                    }
                }
            }
            Why::Contradicted { before, by, iops } => {
                let (before, iops) = (Text(before, *words), Text(iops, *words));
                write!(f, "again, because {} {iops}, and this gave {before}", gives(by))
            }
            Why::Missing => f.write_str("the curve up to the answer has no point here"),
            Why::Knee { knee, below } => {
                write!(f, "{} less than 95 % of the answer, {knee} at least that", gives(below))
            }
            Why::Ceiling { confirmed } => {
                write!(f, "again, because {} confirmed with room to spare", was(confirmed))
            }
            Why::Open { below } => write!(
                f,
                "again, because the limit may be broken by chance only, and it gives clearly more {} than {}",
                words.iops(),
                amount(below)
            ),
            Why::Room { confirmed } => {
                write!(f, "{} confirmed, and the latency leaves room for this", was(confirmed))
            }
            Why::Flat { deeper } => {
                write!(f, "again, to check that {} no more", gives(deeper))
            }
            Why::Maximum => f.write_str("again, because one stall may have broken the maximum"),
            Why::Beyond { broke } => {
                write!(f, "{} broke the limit by more than the load explains", amount(broke))
            }
            Why::Starved => f.write_str("again, because iogauge lacked processor time"),
            Why::Smallest => f.write_str("again, because the smallest load needs several windows"),
            Why::Higher => {
                f.write_str("this is within the limit now; the search goes on from here")
            }
            Why::Again => f.write_str("the search starts again after the performance shift"),
        }
    }
}

impl fmt::Display for Text<'_, Decision> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(decision, words) = self;
        let (ios, iops) = (words.ios(), words.iops());
        match decision {
            Decision::Measured(point) => write!(f, "{}", Text(point, *words)),
            Decision::Next(next) => write!(f, "{}", Text(next, *words)),
            Decision::ClosedLoopFirst { longest_seconds } => write!(
                f,
                "first a closed loop for at most {longest_seconds:.1} s, to measure what the target gives"
            ),
            Decision::NextRate { rate_iops, holds, breaks } => {
                write!(f, "next {} {iops} offered: ", Count(*rate_iops))?;
                match (holds.map(Count), breaks.map(Count)) {
                    (None, None) => f.write_str("estimated from the closed loop"),
                    (Some(holds), None) => write!(f, "more, because {holds} is within the limit"),
                    (None, Some(breaks)) => write!(f, "less, because {breaks} is over the limit"),
                    (Some(holds), Some(breaks)) => {
                        write!(f, "between {holds}, within the limit, and {breaks}, over the limit")
                    }
                }
            }
            Decision::RateGoingBack { from, to } => {
                let (from, to) = (Count(*from), Count(*to));
                write!(f, "{from} {iops} offered was not confirmed: going back to {to}")
            }
            Decision::Confirm { queue_depth, shortest_seconds, longest_seconds } => write!(
                f,
                "confirming {} for {shortest_seconds:.1} s, or up to {longest_seconds:.1} s until the \
                 precision is reached",
                words.amount(*queue_depth)
            ),
            Decision::ConfirmFurther { queue_depth, longest_seconds } => write!(
                f,
                "confirming {} for up to {longest_seconds:.1} s more",
                words.amount(*queue_depth)
            ),
            Decision::GoingBack { from, to, because } => {
                write!(f, "{} not confirmed", words.clause(*from, "was", "were"))?;
                if let Some(judgement) = because {
                    write!(f, ", {}", Text(judgement, *words))?;
                }
                write!(f, ": going back to {to}")
            }
            Decision::PerformanceShift { at_seconds, before_iops, after_iops } => write!(
                f,
                "performance shift {at_seconds:.1} s into the search, from {} to {} {iops}: earlier \
                 measurements no longer count",
                Count(*before_iops),
                Count(*after_iops)
            ),
            Decision::WorkersAdded { workers, cpu_percent } => write!(
                f,
                "the workers used {cpu_percent:.0} % of a processor and can do no more: again with \
                 {workers} workers"
            ),
            Decision::QueueFull { asked, queue_depth, bound } => {
                write!(
                    f,
                    "the queue in front of the target is full: it takes {queue_depth} of {asked} {ios}"
                )?;
                match bound.told_by.as_slice() {
                    [] => Ok(()),
                    files => write!(f, " ({})", files.join(", ")),
                }
            }
            Decision::Paused { seconds } => write!(
                f,
                "iogauge was paused for {seconds:.1} s: measurements around the pause are left out"
            ),
            Decision::Drained { queue_depth, seconds, whole } => {
                let amount = words.amount(*queue_depth);
                write!(f, "waited {seconds:.2} s for earlier {ios} before {amount}")?;
                f.write_str(if *whole { "" } else { "; some are still outstanding" })
            }
            Decision::Budget { phase, spent_seconds, left_seconds } => write!(
                f,
                "{} ends: {spent_seconds:.1} s spent, {left_seconds:.1} s left",
                phase.word()
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observe::Phase;
    use iogauge_model::result::QueueBound;

    fn judgement(ci95_ns: Option<[f64; 2]>, verdict: Verdict) -> Judgement {
        let limit = "read:p99<=5ms".parse().unwrap();
        let value = LimitValue { limit, value_ns: Some(4.9e6), ci95_ns, n: 51_200 };
        Judgement { value, verdict }
    }

    fn estimate(mean: f64, n: u64) -> Estimate {
        Estimate { mean, ci95: [mean * 0.99, mean * 1.01], n }
    }

    #[test]
    fn measured_point_is_explained_with_its_evidence() {
        let mut point = MeasuredPoint {
            phase: Phase::Narrowing,
            queue_depth: 20,
            rate_iops: None,
            iops: estimate(2_000.0, 12),
            seconds: 1.25,
            limits: vec![
                judgement(Some([4.8e6, 5.0e6]), Verdict::Holds),
                judgement(None, Verdict::Open),
            ],
            met: true,
            falls_short: false,
        };
        assert_eq!(
            Text(&point, Vocabulary::Device).to_string(),
            "narrowing: queue depth 20 gives 2,000 ± 20 IOPS in 1.25 s; \
             read:p99 4.90 ms ± 100 µs of 51,200 I/Os, <= 5 ms kept, \
             read:p99 4.90 ms of 51,200 I/Os, <= 5 ms undecided (within the limit)"
        );
        point.limits = vec![judgement(Some([4.9e6, 4.9e6]), Verdict::Breaks)];
        (point.met, point.iops.n) = (false, 1);
        assert_eq!(
            Decision::Measured(point).text(Vocabulary::Device),
            "narrowing: queue depth 20 gives 2,000 IOPS in 1.25 s; \
             read:p99 4.90 ms of 51,200 I/Os, <= 5 ms broken (over the limit)"
        );
    }

    #[test]
    fn every_decision_is_explained_in_one_line_with_figures() {
        let limit = "mean<=10ms".parse().unwrap();
        let crossing = Crossing { through: [8, 16], limit, queue_depth: 798.24 };
        let (before, iops) = (estimate(4_000.0, 9), estimate(3_000.0, 9));
        let next = |queue_depth, why| Decision::Next(Next { queue_depth, why });
        let because = Some(judgement(Some([4.8e6, 5.0e6]), Verdict::Open));
        let decisions = [
            next(32, Why::Doubling { from: 16 }),
            next(879, Why::Predicted(crossing)),
            next(512, Why::Predicted(crossing)),
            next(700, Why::Between { holds: 16, breaks: 879, predicted: Some(crossing) }),
            next(118, Why::Between { holds: 16, breaks: 879, predicted: None }),
            next(16, Why::Contradicted { before, by: 32, iops }),
            next(879, Why::Ceiling { confirmed: 700 }),
            next(2, Why::Open { below: 1 }),
            next(19, Why::Room { confirmed: 18 }),
            next(32, Why::Flat { deeper: 64 }),
            next(8, Why::Beyond { broke: 4 }),
            next(879, Why::Maximum),
            next(512, Why::Starved),
            next(1, Why::Smallest),
            next(879, Why::Higher),
            next(4, Why::Again),
            Decision::Confirm { queue_depth: 798, shortest_seconds: 8.0, longest_seconds: 16.04 },
            Decision::ConfirmFurther { queue_depth: 798, longest_seconds: 13.54 },
            Decision::GoingBack { from: 798, to: 780, because },
            Decision::PerformanceShift { at_seconds: 3.2, before_iops: 4e4, after_iops: 3e3 },
            Decision::QueueFull {
                asked: 512,
                queue_depth: 256,
                bound: QueueBound { requests: 256, told_by: Vec::new() },
            },
            Decision::WorkersAdded { workers: 2, cpu_percent: 99.4 },
            Decision::Drained { queue_depth: 4, seconds: 0.31, whole: true },
            Decision::Drained { queue_depth: 4, seconds: 2.0, whole: false },
            Decision::Budget { phase: Phase::Doubling, spent_seconds: 15.0, left_seconds: 15.0 },
        ];
        let lines: Vec<String> =
            decisions.iter().map(|decision| decision.text(Vocabulary::Device)).collect();
        let line = "the line through queue depths 8 and 16 meets mean <= 10 ms at 798.2";
        let between = "between 16, within the limit, and 879, over the limit";
        let again = "again, because";
        let wanted = [
            "next queue depth 32: doubled, because queue depth 16 is within the limit".to_owned(),
            format!("next queue depth 879: {line}; this is just beyond"),
            format!("next queue depth 512: {line}; one step is at most 64 times the last"),
            format!("next queue depth 700: {between}; {line}"),
            format!(
                "next queue depth 118: {between}; nothing predicts the limit, so this is their geometric mean"
            ),
            format!(
                "next queue depth 16: {again} queue depth 32 gives 3,000 ± 30 IOPS, and this gave 4,000 ± 40 \
                 IOPS"
            ),
            format!("next queue depth 879: {again} queue depth 700 was confirmed with room to spare"),
            format!(
                "next queue depth 2: {again} the limit may be broken by chance only, and it gives clearly more IOPS \
                 than queue depth 1"
            ),
            "next queue depth 19: queue depth 18 was confirmed, and the latency leaves room for this"
                .to_owned(),
            "next queue depth 32: again, to check that queue depth 64 gives no more".to_owned(),
            "next queue depth 8: queue depth 4 broke the limit by more than the load explains".to_owned(),
            format!("next queue depth 879: {again} one stall may have broken the maximum"),
            format!("next queue depth 512: {again} iogauge lacked processor time"),
            format!("next queue depth 1: {again} the smallest load needs several windows"),
            "next queue depth 879: this is within the limit now; the search goes on from here".to_owned(),
            "next queue depth 4: the search starts again after the performance shift".to_owned(),
            "confirming queue depth 798 for 8.0 s, or up to 16.0 s until the precision is reached".to_owned(),
            "confirming queue depth 798 for up to 13.5 s more".to_owned(),
            "queue depth 798 was not confirmed, read:p99 4.90 ms ± 100 µs of 51,200 I/Os, <= 5 ms \
             undecided: going back to 780"
                .to_owned(),
            "performance shift 3.2 s into the search, from 40,000 to 3,000 IOPS: earlier measurements no \
             longer count"
                .to_owned(),
            "the queue in front of the target is full: it takes 256 of 512 I/Os".to_owned(),
            "the workers used 99 % of a processor and can do no more: again with 2 workers"
                .to_owned(),
            "waited 0.31 s for earlier I/Os before queue depth 4".to_owned(),
            "waited 2.00 s for earlier I/Os before queue depth 4; some are still outstanding".to_owned(),
            "doubling ends: 15.0 s spent, 15.0 s left".to_owned(),
        ];
        assert_eq!(lines, wanted);
    }

    #[test]
    fn database_explanations_use_processes_and_operations() {
        let limit = "sync:p99<=5ms".parse().unwrap();
        let crossing = Crossing { through: [2, 4], limit, queue_depth: 3.7 };
        let next = |queue_depth, why| Decision::Next(Next { queue_depth, why });
        for (decision, wanted) in [
            (
                next(4, Why::Doubling { from: 2 }),
                "next 4 processes: doubled, because 2 processes are within the limit",
            ),
            (
                next(2, Why::Doubling { from: 1 }),
                "next 2 processes: doubled, because 1 process is within the limit",
            ),
            (
                next(3, Why::Predicted(crossing)),
                "next 3 processes: the line through 2 and 4 processes meets commit:p99 <= 5 ms at 3.7; \
                 one step is at most 64 times the last",
            ),
            (
                Decision::GoingBack { from: 4, to: 3, because: None },
                "4 processes were not confirmed: going back to 3",
            ),
            (
                Decision::Drained { queue_depth: 1, seconds: 0.2, whole: true },
                "waited 0.20 s for earlier operations before 1 process",
            ),
        ] {
            assert_eq!(decision.text(Vocabulary::Database), wanted);
        }
    }
}
