//! Facts about the measured figures that may make a result mislead.

use super::command::Command;
use super::{Caveat, CaveatCode};
use crate::limit::Limit;
use crate::units::{Bytes, Count, Latency};

/// Why no I/O was completed, if more is known than the figures show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NothingWhy {
    /// The I/Os of the ramp failed.
    FailedBefore,
    /// fio reported no I/Os.
    NoneReported,
    /// The first I/Os took longer than the step.
    NoneReturned,
}

/// What ended a search before it reached a limit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CutShort {
    /// True for the largest queue depth allowed, false for the budget.
    pub by_depth: bool,
    pub queue_depth: u32,
    /// Arrivals per second of an open loop.
    pub rate_iops: Option<f64>,
    /// True if the workload at this point meets the limits.
    pub met: bool,
    /// Number of windows with more load that broke a limit and were taken for noise.
    pub set_aside: usize,
}

/// A fact about figures.
#[derive(Debug, Clone, PartialEq)]
pub enum FigureFact {
    /// Fewer I/Os were outstanding on average than requested.
    QueueDepth {
        requested: u32,
        achieved: f64,
    },
    /// Fewer I/Os per second were achieved than requested.
    Rate {
        requested: f64,
        achieved: f64,
    },
    /// In an open loop, at most `waited` arrivals waited at once because `max_depth` I/Os were outstanding.
    ArrivalsWaited {
        waited: u64,
        max_depth: u32,
    },
    /// No I/O was completed; `outstanding` is the mean number of I/Os outstanding.
    Nothing {
        seconds: f64,
        outstanding: f64,
        why: Option<NothingWhy>,
    },
    FewSamples {
        ios: u64,
        wanted: u64,
    },
    /// Too few I/Os for the statistic of a limit.
    FewForLimit {
        limit: Limit,
        ios: u64,
        wanted: u64,
    },
    /// Latencies exceeded the histogram.
    Overflow {
        count: u64,
    },
    /// The devices moved fewer or more bytes than requested.
    Moved {
        moved_bytes: u64,
        requested_bytes: u64,
        direct: bool,
    },
    /// I/Os failed, in the ramp or in the measurement. `first` describes the first failure, if known.
    Errors {
        count: u64,
        first: Option<String>,
        in_ramp: bool,
    },
    CutShort(CutShort),
    /// The user interrupted the run, or iogauge ended it for `reason`.
    Interrupted {
        reason: Option<String>,
    },
    /// Runs were compared that were not measured in turns.
    NotInterleaved,
    /// The command before a turn of a comparison failed.
    SetupFailed {
        step: String,
        failure: String,
    },
    /// A suite was resumed this many times.
    Resumed {
        times: u32,
    },
}

impl FigureFact {
    /// True for [`Self::QueueDepth`], which does not apply to database processes with think time.
    #[must_use]
    pub fn is_queue_depth(&self) -> bool {
        matches!(self, Self::QueueDepth { .. })
    }

    pub(super) fn caveat(&self, command: Command) -> Caveat {
        let (ios, longer) = (command.words().ios(), command.longer());
        match self {
            Self::QueueDepth { requested, achieved } => queue_depth(*requested, *achieved, command),
            Self::Rate { requested, achieved } => rate(*requested, *achieved, command),
            Self::ArrivalsWaited { waited, max_depth } => Caveat::new(
                CaveatCode::ArrivalsWaited,
                format!(
                    "up to {} I/Os were due and waited because {} were outstanding; the target saw no \
                     larger queue depth, and their response times include the wait",
                    number(*waited),
                    number((*max_depth).into())
                ),
                format!("{} if the target can serve more I/Os at once", command.deeper()),
            ),
            Self::Nothing { seconds, outstanding, why } => {
                nothing(*seconds, *outstanding, *why, command)
            }
            Self::FewSamples { ios: few, wanted } => Caveat::new(
                CaveatCode::TooFewSamples,
                format!(
                    "{} {ios} are too few for percentiles; p99 needs {}",
                    number(*few),
                    number(*wanted)
                ),
                longer,
            ),
            Self::FewForLimit { limit, ios: few, wanted } => {
                let statistic = command.words().statistic(limit);
                Caveat::new(
                    CaveatCode::TooFewSamples,
                    format!(
                        "{statistic} rests on {} {ios}; a reliable value needs {}",
                        number(*few),
                        number(*wanted)
                    ),
                    longer,
                )
            }
            Self::Overflow { count } => Caveat::of(
                CaveatCode::LatencyOverflow,
                format!("{} latencies exceed 18 minutes and are in no percentile", number(*count)),
            ),
            Self::Moved { moved_bytes, requested_bytes, direct } => {
                moved(*moved_bytes, *requested_bytes, *direct, command)
            }
            Self::Errors { count, first, in_ramp } => {
                let first =
                    first.as_ref().map_or_else(String::new, |first| format!(", the first {first}"));
                let count = number(*count);
                let message = if *in_ramp {
                    format!("{count} {ios} failed in the ramp, before measuring began{first}")
                } else {
                    format!("{count} {ios} failed{first}; the figures are those of the others")
                };
                Caveat::of(CaveatCode::IoErrors, message)
            }
            Self::CutShort(fact) => cut_short(fact, command),
            Self::Interrupted { reason } => {
                let user = "the run was interrupted; it has what was measured until then";
                Caveat::of(CaveatCode::Interrupted, reason.as_deref().unwrap_or(user))
            }
            Self::NotInterleaved => Caveat::of(
                CaveatCode::NotInterleaved,
                "the runs were not measured in turns; whatever changed between them counts as a difference",
            ),
            Self::SetupFailed { step, failure } => Caveat::of(
                CaveatCode::SetupFailed,
                format!("the command before {step} failed ({failure}); the comparison ended there"),
            ),
            Self::Resumed { times } => {
                let times = if *times == 1 { "once".to_owned() } else { format!("{times} times") };
                Caveat::of(
                    CaveatCode::Resumed,
                    format!(
                        "the run was resumed {times} after an interruption; what the target did in \
                         between is not known"
                    ),
                )
            }
        }
    }
}

/// Formats a number with separators between thousands.
fn number(n: u64) -> Count {
    Count(n as f64)
}

fn moved(moved_bytes: u64, requested_bytes: u64, direct: bool, command: Command) -> Caveat {
    let moved = format!(
        "the devices moved {} for {} requested",
        Bytes(moved_bytes),
        Bytes(requested_bytes)
    );
    if moved_bytes > requested_bytes {
        let message =
            format!("{moved}; other programs used them, or one I/O becomes several on the device");
        return Caveat::of(CaveatCode::OtherLoad, message);
    }
    let how = if direct { "although the page cache was bypassed" } else { "through the cache" };
    let hint = match command {
        Command::DbRun | Command::DbFind | Command::DbBeside => {
            "use a database larger than all caches"
        }
        _ => "use a target larger than all caches, and write all of it with iogauge prepare",
    };
    let message = format!("{moved}, {how}; a cache answered the rest");
    Caveat::new(CaveatCode::PageCache, message, hint)
}

fn queue_depth(requested: u32, achieved: f64, command: Command) -> Caveat {
    let (ios, what) = match command {
        Command::DbRun | Command::DbFind | Command::DbBeside => {
            ("operations", "the database answers faster than the processes can request")
        }
        _ => (
            "I/Os",
            "the target answers faster than the tool can request, or batches hold I/Os back",
        ),
    };
    let caveat = Caveat::of(
        CaveatCode::DepthNotReached,
        format!(
            "{achieved:.1} {ios} were outstanding on average, of {requested} requested: {what}"
        ),
    );
    match command {
        Command::Run | Command::Find | Command::Crosscheck | Command::Compare => caveat,
        Command::RunFile | Command::FindFile => caveat
            .hinting("increase numjobs in the job file, or leave out its iodepth_batch options"),
        _ => caveat.hinting("read the figures as those of the smaller number"),
    }
}

fn rate(requested: f64, achieved: f64, command: Command) -> Caveat {
    let message = format!(
        "{} I/Os per second were requested and {} achieved; response times grow with the length of \
         the run",
        Count(requested),
        Count(achieved)
    );
    let caveat = Caveat::of(CaveatCode::RateNotReached, message);
    match command {
        Command::Run | Command::Crosscheck | Command::Compare => caveat,
        Command::RunFile => caveat.hinting(
            "reduce rate_iops in the job file, or increase iodepth if the target can serve more I/Os at once",
        ),
        Command::Find => caveat.hinting("increase --max-depth or --budget"),
        _ => caveat.hinting("reduce the rate"),
    }
}

fn nothing(seconds: f64, outstanding: f64, why: Option<NothingWhy>, command: Command) -> Caveat {
    let why = match why {
        Some(NothingWhy::FailedBefore) => {
            format!("the {} of the ramp failed", command.words().ios())
        }
        Some(NothingWhy::NoneReported) => "fio reported none".to_owned(),
        Some(NothingWhy::NoneReturned) => "the first ones took longer than the step".to_owned(),
        None if seconds == 0.0 => "all the work was done before, in a ramp or a pause".to_owned(),
        None if outstanding > 0.0 => {
            format!("{outstanding:.1} were outstanding on average and did not return")
        }
        None => "none was issued".to_owned(),
    };
    let io = command.words().io();
    let during =
        if seconds > 0.0 { format!(" in {}", Latency(seconds * 1e9)) } else { String::new() };
    let message = format!("no {io} was completed{during}: {why}");
    let hint = match command {
        Command::Profile | Command::Doctor | Command::DbSetup | Command::Trend => {
            "measure for longer".to_owned()
        }
        Command::Suite(_) => command.longer().to_owned(),
        Command::RunFile => {
            format!("set runtime in the job file to many times the time that one {io} takes")
        }
        Command::Run | Command::Crosscheck | Command::Compare | Command::DbRun => {
            format!("set --runtime to many times the time that one {io} takes")
        }
        _ => format!("set --budget to many times the time that one {io} takes"),
    };
    Caveat::new(CaveatCode::NothingCompleted, message, hint)
}

fn cut_short(fact: &CutShort, command: Command) -> Caveat {
    let of_database = matches!(command, Command::DbFind | Command::DbBeside);
    let (why, hint) = match (fact.by_depth, of_database) {
        (false, _) => ("the measuring budget ran out", command.larger_budget()),
        (true, false) => ("no larger queue depth was allowed", command.deeper()),
        (true, true) => ("no more processes were allowed", command.deeper()),
    };
    let place = match fact.rate_iops {
        Some(rate) => format!("at {} arrivals per second", Count(rate)),
        None => command.words().at(fact.queue_depth),
    };
    let known = match (fact.by_depth, fact.met) {
        (true, _) => "the target may sustain more",
        (_, true) => "the answer was not confirmed",
        (_, false) if fact.queue_depth == 1 && fact.rate_iops.is_none() => {
            "every window broke a limit, but not clearly"
        }
        (_, false) => "no load was found that keeps the limits",
    };
    let set_aside = match fact.set_aside {
        0 => String::new(),
        1 => "; a window with more load broke a limit and was taken for noise".to_owned(),
        windows => {
            format!("; {windows} windows with more load broke a limit and were taken for noise")
        }
    };
    Caveat::new(
        CaveatCode::SearchCutShort,
        format!("the search ended {place}, because {why}; {known}{set_aside}"),
        hint,
    )
}

/// Returns at least one example of each fact.
pub(super) fn examples() -> Vec<FigureFact> {
    let limit = Limit::USUAL;
    let cut =
        CutShort { by_depth: true, queue_depth: 1, rate_iops: None, met: false, set_aside: 0 };
    vec![
        FigureFact::QueueDepth { requested: 32, achieved: 1.0 },
        FigureFact::Rate { requested: 2.0, achieved: 1.0 },
        FigureFact::ArrivalsWaited { waited: 1, max_depth: 4 },
        FigureFact::Nothing { seconds: 1.0, outstanding: 1.0, why: None },
        FigureFact::Nothing { seconds: 1.0, outstanding: 0.0, why: Some(NothingWhy::FailedBefore) },
        FigureFact::Nothing { seconds: 1.0, outstanding: 0.0, why: Some(NothingWhy::NoneReported) },
        FigureFact::FewSamples { ios: 1, wanted: 1000 },
        FigureFact::FewForLimit { limit, ios: 1, wanted: 100 },
        FigureFact::Overflow { count: 1 },
        FigureFact::Moved { moved_bytes: 1, requested_bytes: 2, direct: true },
        FigureFact::Moved { moved_bytes: 3, requested_bytes: 2, direct: false },
        FigureFact::Errors { count: 1, first: Some("a read".to_owned()), in_ramp: false },
        FigureFact::Errors { count: 1, first: None, in_ramp: true },
        FigureFact::CutShort(cut),
        FigureFact::CutShort(CutShort { by_depth: false, ..cut }),
        FigureFact::CutShort(CutShort { by_depth: false, met: true, set_aside: 5, ..cut }),
        FigureFact::Interrupted { reason: None },
        FigureFact::Interrupted { reason: Some("the disk is full".to_owned()) },
        FigureFact::Resumed { times: 1 },
        FigureFact::NotInterleaved,
        FigureFact::SetupFailed {
            step: "block 2 turn 1: B".to_owned(),
            failure: "exit status: 1".to_owned(),
        },
    ]
}
