//! What a search decides, and the figures each decision rests on.

use super::Phase;
use iogauge_model::Limit;
use iogauge_model::limit::Bound;
use iogauge_model::result::{Estimate, LimitValue, QueueBound};
use iogauge_model::units::{Count, Latency};
use std::fmt;

/// A limit's statistic in a window, and what it says of the limit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Judgement {
    /// The limit, its statistic with interval, and the I/Os it rests on.
    pub value: LimitValue,
    /// Whether the limit holds, as far as the interval tells.
    pub verdict: Verdict,
}

/// A measured point, as far as the search goes by it.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    /// What it was measured for.
    pub phase: Phase,
    /// Depth asked; in an open loop the most I/Os that may be outstanding.
    pub depth: u32,
    /// I/Os offered per second, as asked, in an open loop.
    pub rate_iops: Option<f64>,
    /// I/Os completed per second.
    pub iops: Estimate,
    /// Length of the window, in seconds.
    pub seconds: f64,
    /// Every limit, in order; in an open loop judged by response times.
    pub limits: Vec<Judgement>,
    /// True where no statistic exceeds its bound and no arrivals are left behind.
    pub met: bool,
    /// True where too many arrivals are left behind, in an open loop.
    pub falls_short: bool,
}

/// Where the straight line through two points, on logarithms, meets a limit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Crossing {
    /// Depths of the two points.
    pub through: [u32; 2],
    /// The limit met first.
    pub limit: Limit,
    /// The depth there.
    pub depth: f64,
}

/// A depth to be measured next.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Next {
    pub depth: u32,
    /// What makes it the next.
    pub why: Why,
}

impl Next {
    /// The same, no deeper than allowed.
    pub(crate) fn at_most(self, depth: u32) -> Self {
        Self { depth: self.depth.min(depth), ..self }
    }
}

/// What makes a depth the next.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Why {
    /// The limits hold at half of it.
    Doubling {
        /// The depth they hold at.
        from: u32,
    },
    /// The curve is flat and predicts where a limit breaks: a little deeper.
    Predicted(Crossing),
    /// It lies between a depth that holds and one that does not.
    Between {
        /// The depth that holds.
        holds: u32,
        /// The depth that breaks a limit.
        breaks: u32,
        /// Where a limit is predicted to break; without it the geometric mean is tried.
        predicted: Option<Crossing>,
    },
    /// A deeper point gave fewer IOPS than this depth did before: one of them is out of date.
    Contradicted {
        /// IOPS of this depth before.
        before: Estimate,
        /// The deeper point.
        by: u32,
        iops: Estimate,
    },
    /// The curve up to the answer has no point there yet.
    Missing,
    /// The knee lies between two depths.
    Knee {
        /// The knee so far.
        knee: u32,
        /// The point below it.
        below: u32,
    },
    /// It broke a limit, and the answer below it was held with room to spare: noise may have broken it.
    Ceiling {
        /// The depth that was held.
        held: u32,
    },
    /// It broke a limit by no more than chance may explain, and gives clearly more than the depth below.
    Open {
        /// The depth below, which keeps the limits.
        below: u32,
    },
    /// A smaller one was held, and by that this one keeps the limits as well.
    Room {
        /// The depth that was held.
        held: u32,
    },
    /// A smaller one broke a limit by more than its depth explains.
    Beyond {
        /// The depth that broke it.
        broke: u32,
    },
    /// It broke a maximum once, which may have been a stall that comes at any depth.
    Maximum,
    /// It broke a limit while the client lacked processor time.
    Starved,
    /// A deeper one gave no more IOPS than this: it may have been noise.
    Flat {
        /// The deeper one.
        deeper: u32,
    },
    /// It is the smallest, and several windows have to agree that it breaks a limit.
    Smallest,
    /// It broke a limit before and keeps it now: the search goes on from there.
    Higher,
    /// The target came to another level, and the search begins again.
    Again,
}

/// Whether a limit holds, as far as a window can tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The whole interval lies within the bound.
    Holds,
    /// The whole interval lies beyond it.
    Breaks,
    /// The interval encloses the bound.
    Open,
}

/// A decision of a search, or an event it goes by.
#[derive(Debug, Clone, PartialEq)]
pub enum Decision {
    /// A point was measured.
    Measured(Measured),
    /// An open loop is looked for from what a closed one gives.
    ClosedLoopFirst {
        /// Longest it may take, in seconds.
        longest_seconds: f64,
    },
    /// A rate of an open loop comes next.
    NextRate {
        /// I/Os per second.
        rate_iops: f64,
        /// The highest rate that holds so far, in I/Os per second.
        holds: Option<f64>,
        /// The lowest that does not.
        breaks: Option<f64>,
    },
    /// A depth comes next.
    Next(Next),
    /// A depth is to be the answer and is measured for longer.
    Hold {
        depth: u32,
        /// Shortest window, in seconds.
        shortest_seconds: f64,
        /// Longest window, where precision takes it: what is left of the budget, in seconds.
        longest_seconds: f64,
    },
    /// The first stretch of a hold shows nothing that speaks against the depth.
    HoldingOn {
        depth: u32,
        /// Longest that the hold goes on, in seconds.
        longest_seconds: f64,
    },
    /// A depth breaks a limit and a smaller one is tried.
    GoingBack {
        /// The depth that breaks it.
        from: u32,
        /// The depth that comes next.
        to: u32,
        /// The limit furthest over its bound; none where nothing was judged.
        because: Option<Judgement>,
    },
    /// A rate of an open loop did not hold and a lower one is tried.
    RateGoingBack {
        /// The rate that does not hold, in I/Os per second.
        from: f64,
        /// The rate that comes next.
        to: f64,
    },
    /// The target changed, and what was measured before no longer counts.
    AnotherLevel {
        /// When, in seconds from the begin of the search.
        at_seconds: f64,
        /// IOPS before.
        before_iops: f64,
        /// IOPS from then on, at the same depth.
        after_iops: f64,
    },
    /// The workers could do no more, and the same depth is measured again with more of them.
    WorkersAdded {
        /// Workers there are now.
        workers: u32,
        /// Processor time the load took before, in percent of one processor.
        cpu_percent: f64,
    },
    /// The queue in front of the target is full: no larger depth is tried.
    QueueFull {
        /// The depth that was asked.
        asked: u32,
        /// The depth that fits into the queue.
        depth: u32,
        /// The queue.
        bound: QueueBound,
    },
    /// iogauge itself was paused; what it measured around the pause is left out.
    Paused {
        /// How long, in seconds.
        seconds: f64,
    },
    /// The I/Os of the depth before took long to complete.
    Drained {
        /// The depth to be measured.
        depth: u32,
        /// The wait, in seconds.
        seconds: f64,
        /// False where some are still outstanding, and stand in the next window.
        whole: bool,
    },
    /// The time for a phase, or altogether, is used up.
    Budget {
        /// The phase that ends.
        phase: Phase,
        /// Spent so far, in seconds.
        spent_seconds: f64,
        /// Left, in seconds.
        left_seconds: f64,
    },
}

/// `mean 9.87 ms ± 12.0 µs of 51,200 I/Os holds <= 10 ms`.
impl fmt::Display for Judgement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let LimitValue { limit, value_ns, ci95_ns, n } = self.value;
        write!(f, "{} ", limit.statistic())?;
        match value_ns {
            Some(ns) => write!(f, "{}", Latency(ns))?,
            None => f.write_str("unknown")?,
        }
        match ci95_ns {
            // A maximum is what was seen.
            Some([low, high]) if low == high => {}
            Some([low, high]) => write!(f, " ± {}", Latency((high - low) / 2.0))?,
            None => f.write_str(" ± ?")?,
        }
        let (verb, open) = match self.verdict {
            Verdict::Holds => ("holds", ""),
            Verdict::Breaks => ("breaks", ""),
            Verdict::Open => ("leaves", " open"),
        };
        let (ios, bound) = (Count(n as f64), Bound(limit.bound_ns));
        write!(f, " of {ios} I/Os {verb} <= {bound}{open}")
    }
}

/// `81,204 ± 310 IOPS`; `± ?` where the interval is unknown.
struct Iops<'a>(&'a Estimate);

impl fmt::Display for Iops<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ± ", Count(self.0.mean))?;
        match self.0.n {
            0 | 1 => f.write_str("? IOPS"),
            _ => write!(f, "{} IOPS", Count(self.0.reach())),
        }
    }
}

impl fmt::Display for Measured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { phase, depth, rate_iops, iops, seconds, limits, met, falls_short } = self;
        write!(f, "{}: ", phase.word())?;
        match rate_iops {
            Some(rate) => write!(f, "{} IOPS offered give", Count(*rate))?,
            None => write!(f, "depth {depth} gives")?,
        }
        write!(f, " {} in {seconds:.2} s", Iops(iops))?;
        for (number, limit) in limits.iter().enumerate() {
            write!(f, "{} {limit}", if number == 0 { ";" } else { "," })?;
        }
        f.write_str(match (met, falls_short) {
            (true, _) => " (within the limit)",
            (false, true) => " (arrivals are left behind)",
            (false, false) => " (over the limit)",
        })
    }
}

impl fmt::Display for Crossing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { through: [a, b], limit, depth } = self;
        write!(f, "the line through depths {a} and {b} meets {limit} at {depth:.1}")
    }
}

impl fmt::Display for Next {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "next depth {}: ", self.depth)?;
        match &self.why {
            Why::Doubling { from } => write!(f, "doubled, since depth {from} is within the limit"),
            Why::Predicted(crossing) if f64::from(self.depth) > crossing.depth => {
                write!(f, "{crossing}, and this lies beyond")
            }
            Why::Predicted(crossing) => write!(f, "{crossing}, and one step goes no further"),
            Why::Between { holds, breaks, predicted } => {
                write!(
                    f,
                    "between {holds}, which is within the limit, and {breaks}, which is not; "
                )?;
                match predicted {
                    Some(crossing) => write!(f, "{crossing}"),
                    None => f.write_str("nothing to predict by, so their geometric mean"),
                }
            }
            Why::Contradicted { before, by, iops } => {
                let (before, iops) = (Iops(before), Iops(iops));
                write!(f, "again, since depth {by} gives {iops} and this one gave {before} before")
            }
            Why::Missing => f.write_str("the curve up to the answer has no point there"),
            Why::Knee { knee, below } => {
                write!(f, "depth {below} gives less than 95 % of the answer, and {knee} does not")
            }
            Why::Ceiling { held } => {
                write!(f, "again, since depth {held} was held with room to spare")
            }
            Why::Open { below } => write!(
                f,
                "again, since chance may have broken the limit, and it gives clearly more than depth {below}"
            ),
            Why::Room { held } => {
                write!(f, "depth {held} was held, and there is room for this one by its latency")
            }
            Why::Flat { deeper } => {
                write!(f, "again, to see whether depth {deeper} really gives no more")
            }
            Why::Maximum => f.write_str("again, since a stall may have broken the maximum once"),
            Why::Beyond { broke } => {
                write!(f, "depth {broke} broke the limit by more than its depth explains")
            }
            Why::Starved => f.write_str("again, since iogauge lacked processor time"),
            Why::Smallest => f.write_str("again, since the smallest load takes several windows"),
            Why::Higher => {
                f.write_str("it is within the limit now, and the search goes on from it")
            }
            Why::Again => f.write_str("the search begins again at the new level"),
        }
    }
}

/// One line, as `find --explain` prints it.
impl fmt::Display for Decision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Measured(point) => write!(f, "{point}"),
            Self::ClosedLoopFirst { longest_seconds } => write!(
                f,
                "first a closed loop for {longest_seconds:.1} s at most, to see what the target \
                 gives at all"
            ),
            Self::NextRate { rate_iops, holds, breaks } => {
                write!(f, "next {} IOPS offered: ", Count(*rate_iops))?;
                match (holds.map(Count), breaks.map(Count)) {
                    (None, None) => f.write_str("what the closed loop lets expect"),
                    (Some(holds), None) => write!(f, "more, since {holds} hold"),
                    (None, Some(breaks)) => write!(f, "less, since {breaks} do not hold"),
                    (Some(holds), Some(breaks)) => {
                        write!(f, "between {holds}, which hold, and {breaks}, which do not")
                    }
                }
            }
            Self::RateGoingBack { from, to } => {
                let (from, to) = (Count(*from), Count(*to));
                write!(f, "{from} IOPS offered did not hold: going back to {to}")
            }
            Self::Next(next) => write!(f, "{next}"),
            Self::Hold { depth, shortest_seconds, longest_seconds } => write!(
                f,
                "holding depth {depth} for {shortest_seconds:.1} s, and up to the \
                 {longest_seconds:.1} s left where the precision takes it"
            ),
            Self::HoldingOn { depth, longest_seconds } => {
                write!(f, "holding depth {depth} on, for up to {longest_seconds:.1} s more")
            }
            Self::GoingBack { from, to, because } => {
                write!(f, "depth {from} did not hold")?;
                if let Some(judgement) = because {
                    write!(f, ", {judgement}")?;
                }
                write!(f, ": going back to {to}")
            }
            Self::AnotherLevel { at_seconds, before_iops, after_iops } => write!(
                f,
                "the target came from {} to {} IOPS {at_seconds:.1} s into the search: what was \
                 measured before no longer counts",
                Count(*before_iops),
                Count(*after_iops)
            ),
            Self::WorkersAdded { workers, cpu_percent } => write!(
                f,
                "the load takes {cpu_percent:.0} % of a processor, which is all its workers can: \
                 again with {workers} workers"
            ),
            Self::QueueFull { asked, depth, bound } => {
                write!(
                    f,
                    "the queue in front of the target is full: of {asked} I/Os {depth} fit into it"
                )?;
                match bound.told_by.as_slice() {
                    [] => Ok(()),
                    files => write!(f, " ({})", files.join(", ")),
                }
            }
            Self::Paused { seconds } => write!(
                f,
                "iogauge was paused for {seconds:.1} s: what it measured around that is left out"
            ),
            Self::Drained { depth, seconds, whole } => {
                write!(f, "depth {depth} waited {seconds:.2} s for I/Os of the depth before")?;
                f.write_str(if *whole { "" } else { ", and some are outstanding still" })
            }
            Self::Budget { phase, spent_seconds, left_seconds } => write!(
                f,
                "{} ends: {spent_seconds:.1} s are spent, {left_seconds:.1} s left",
                phase.word()
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judgement(ci95_ns: Option<[f64; 2]>, verdict: Verdict) -> Judgement {
        let limit = "read:p99<=5ms".parse().unwrap();
        let value = LimitValue { limit, value_ns: Some(4.9e6), ci95_ns, n: 51_200 };
        Judgement { value, verdict }
    }

    fn estimate(mean: f64, n: u64) -> Estimate {
        Estimate { mean, ci95: [mean * 0.99, mean * 1.01], n }
    }

    #[test]
    fn a_point_tells_what_it_rests_on() {
        let mut point = Measured {
            phase: Phase::Narrowing,
            depth: 20,
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
            point.to_string(),
            "narrowing: depth 20 gives 2,000 ± 20 IOPS in 1.25 s; \
             read:p99 4.90 ms ± 100 µs of 51,200 I/Os holds <= 5 ms, \
             read:p99 4.90 ms ± ? of 51,200 I/Os leaves <= 5 ms open (within the limit)"
        );
        point.limits = vec![judgement(Some([4.9e6, 4.9e6]), Verdict::Breaks)];
        (point.met, point.iops.n) = (false, 1);
        assert_eq!(
            Decision::Measured(point).to_string(),
            "narrowing: depth 20 gives 2,000 ± ? IOPS in 1.25 s; \
             read:p99 4.90 ms of 51,200 I/Os breaks <= 5 ms (over the limit)"
        );
    }

    #[test]
    fn every_decision_is_one_line_with_its_figures() {
        let limit = "mean<=10ms".parse().unwrap();
        let crossing = Crossing { through: [8, 16], limit, depth: 798.24 };
        let (before, iops) = (estimate(4_000.0, 9), estimate(3_000.0, 9));
        let next = |depth, why| Decision::Next(Next { depth, why });
        let because = Some(judgement(Some([4.8e6, 5.0e6]), Verdict::Open));
        let decisions = [
            next(32, Why::Doubling { from: 16 }),
            next(879, Why::Predicted(crossing)),
            next(512, Why::Predicted(crossing)),
            next(700, Why::Between { holds: 16, breaks: 879, predicted: Some(crossing) }),
            next(118, Why::Between { holds: 16, breaks: 879, predicted: None }),
            next(16, Why::Contradicted { before, by: 32, iops }),
            next(879, Why::Ceiling { held: 700 }),
            next(2, Why::Open { below: 1 }),
            next(19, Why::Room { held: 18 }),
            next(32, Why::Flat { deeper: 64 }),
            next(8, Why::Beyond { broke: 4 }),
            next(879, Why::Maximum),
            next(512, Why::Starved),
            next(1, Why::Smallest),
            next(879, Why::Higher),
            next(4, Why::Again),
            Decision::Hold { depth: 798, shortest_seconds: 8.0, longest_seconds: 16.04 },
            Decision::HoldingOn { depth: 798, longest_seconds: 13.54 },
            Decision::GoingBack { from: 798, to: 780, because },
            Decision::AnotherLevel { at_seconds: 3.2, before_iops: 4e4, after_iops: 3e3 },
            Decision::QueueFull {
                asked: 512,
                depth: 256,
                bound: QueueBound { requests: 256, told_by: Vec::new() },
            },
            Decision::WorkersAdded { workers: 2, cpu_percent: 99.4 },
            Decision::Drained { depth: 4, seconds: 0.31, whole: true },
            Decision::Drained { depth: 4, seconds: 2.0, whole: false },
            Decision::Budget { phase: Phase::Doubling, spent_seconds: 15.0, left_seconds: 15.0 },
        ];
        let lines: Vec<String> = decisions.iter().map(ToString::to_string).collect();
        let line = "the line through depths 8 and 16 meets mean <= 10 ms at 798.2";
        let between = "between 16, which is within the limit, and 879, which is not";
        let wanted = [
            "next depth 32: doubled, since depth 16 is within the limit".to_owned(),
            format!("next depth 879: {line}, and this lies beyond"),
            format!("next depth 512: {line}, and one step goes no further"),
            format!("next depth 700: {between}; {line}"),
            format!("next depth 118: {between}; nothing to predict by, so their geometric mean"),
            "next depth 16: again, since depth 32 gives 3,000 ± 30 IOPS and this one gave 4,000 ± 40 \
             IOPS before"
                .to_owned(),
            "next depth 879: again, since depth 700 was held with room to spare".to_owned(),
            "next depth 2: again, since chance may have broken the limit, and it gives clearly more than depth 1"
                .to_owned(),
            "next depth 19: depth 18 was held, and there is room for this one by its latency"
                .to_owned(),
            "next depth 32: again, to see whether depth 64 really gives no more".to_owned(),
            "next depth 8: depth 4 broke the limit by more than its depth explains".to_owned(),
            "next depth 879: again, since a stall may have broken the maximum once".to_owned(),
            "next depth 512: again, since iogauge lacked processor time".to_owned(),
            "next depth 1: again, since the smallest load takes several windows".to_owned(),
            "next depth 879: it is within the limit now, and the search goes on from it".to_owned(),
            "next depth 4: the search begins again at the new level".to_owned(),
            "holding depth 798 for 8.0 s, and up to the 16.0 s left where the precision takes it"
                .to_owned(),
            "holding depth 798 on, for up to 13.5 s more".to_owned(),
            "depth 798 did not hold, read:p99 4.90 ms ± 100 µs of 51,200 I/Os leaves <= 5 ms open: \
             going back to 780"
                .to_owned(),
            "the target came from 40,000 to 3,000 IOPS 3.2 s into the search: what was measured \
             before no longer counts"
                .to_owned(),
            "the queue in front of the target is full: of 512 I/Os 256 fit into it".to_owned(),
            "the load takes 99 % of a processor, which is all its workers can: again with 2 workers"
                .to_owned(),
            "depth 4 waited 0.31 s for I/Os of the depth before".to_owned(),
            "depth 4 waited 2.00 s for I/Os of the depth before, and some are outstanding still"
                .to_owned(),
            "doubling ends: 15.0 s are spent, 15.0 s left".to_owned(),
        ];
        assert_eq!(lines, wanted);
    }
}
