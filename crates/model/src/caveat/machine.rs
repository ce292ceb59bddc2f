//! Facts about the machine that may make a result mislead.

use super::command::Command;
use super::{Caveat, CaveatCode};
use crate::limit::Limit;
use crate::units::{Bytes, Count, Latency};

/// Processor time that a search lacked, and the stretches it left out for that reason.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct StarvedFact {
    pub stretches: u32,
    /// Stretches left out.
    pub left_out: u32,
    pub left_out_ns: u64,
    /// Time within `left_out_ns` in which workers waited for a processor.
    pub wait_ns: u64,
    /// Time in which the hypervisor ran other machines.
    pub steal_ns: u64,
    /// Time in which a control group throttled iogauge.
    pub throttled_ns: u64,
    /// What the answer's workload gave with these stretches included.
    pub with_them: Option<WithStarved>,
}

/// What a workload gave with the left-out stretches included.
#[derive(Debug, Clone, PartialEq)]
pub struct WithStarved {
    pub iops: f64,
    /// Limits and the values of their statistics, in nanoseconds.
    pub values: Vec<(Limit, f64)>,
    /// True if these values break a limit that holds without the stretches.
    pub breaks: bool,
}

/// Pauses of iogauge or fio.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct PauseFact {
    pub via_fio: bool,
    pub times: u64,
    pub paused_ns: u64,
    pub seconds: f64,
    /// What is left out: I/Os, time in nanoseconds, and the number of points measured again. `None` if the
    /// pauses are in the figures.
    pub left_out: Option<(u64, u64, u32)>,
}

/// A fact about the machine.
#[derive(Debug, Clone, PartialEq)]
pub enum MachineFact {
    /// io_uring is not available and another engine is used.
    EngineRefused {
        reason: String,
        engine: &'static str,
    },
    /// An engine ran without an optional feature.
    FeatureLost {
        what: String,
    },
    /// Reads update the access time, because the file belongs to another user.
    AccessTime,
    /// A control group limits I/O; `limit` describes how.
    IoLimit {
        limit: String,
        file: String,
    },
    MemoryLimit {
        limit_bytes: u64,
        memory_bytes: u64,
        file: String,
    },
    /// A control group allows less than one processor.
    ProcessorLimit {
        processors: f64,
        file: String,
    },
    /// Workers waited for a processor.
    ProcessorsBusy {
        wait_percent: f64,
        machine_percent: f64,
    },
    /// The workers used all their processor time.
    ProcessorUsedUp {
        percent: f64,
        workers: usize,
    },
    /// The hypervisor ran other machines.
    Stolen {
        percent: f64,
    },
    Starved(StarvedFact),
    Paused(PauseFact),
    /// Workers waited because their logs were not written fast enough, for this share of their time.
    SlowLogs {
        times: u64,
        percent: f64,
    },
    /// Workers that did not end; each entry describes one.
    WorkersHeld {
        workers: Vec<String>,
    },
}

impl MachineFact {
    pub(super) fn caveat(&self, command: Command) -> Caveat {
        match self {
            Self::EngineRefused { reason, engine } => Caveat::of(
                CaveatCode::EngineFallback,
                format!(
                    "io_uring cannot be used here ({reason}); {engine} was used instead, which takes \
                     more processor time per I/O"
                ),
            ),
            Self::FeatureLost { what } => Caveat::of(CaveatCode::FeatureFallback, what.as_str()),
            Self::AccessTime => Caveat::new(
                CaveatCode::FeatureFallback,
                "the file belongs to another user, so that reads update its access time (no O_NOATIME)",
                "run as the file's owner, or mount with noatime",
            ),
            Self::IoLimit { limit, file } => Caveat::new(
                CaveatCode::Throttled,
                format!("a control group allows this process {limit} ({file})"),
                leave_group(file),
            ),
            Self::MemoryLimit { limit_bytes, memory_bytes, file } => Caveat::new(
                CaveatCode::MemoryLimit,
                format!(
                    "this process and the page cache it fills may take {} of the machine's {} ({file}); \
                     buffered I/O finds less in the cache than it would without the limit",
                    Bytes(*limit_bytes),
                    Bytes(*memory_bytes),
                ),
                leave_group(file),
            ),
            Self::ProcessorLimit { processors, file } => Caveat::new(
                CaveatCode::ClientBound,
                format!(
                    "this process may use {processors:.2} of a processor ({file}); a fast target waits \
                     for it"
                ),
                leave_group(file),
            ),
            Self::ProcessorsBusy { wait_percent, machine_percent } => Caveat::new(
                CaveatCode::ClientBound,
                format!(
                    "the workers were ready to run and had no processor for {wait_percent:.0} % of the \
                     time (the machine was {machine_percent:.0} % busy): other programs, other workers \
                     or the kernel's own threads use the processors, and the target may sustain more"
                ),
                "top shows what else runs; taskset --cpu-list LIST iogauge chooses the processors",
            )
            .weighed(wait_percent / 100.0),
            Self::ProcessorUsedUp { percent, workers } => used_up(*percent, *workers, command),
            Self::Stolen { percent } => Caveat::of(
                CaveatCode::StealTime,
                format!("the hypervisor gave {percent:.1} % of the processor time to other machines"),
            )
            .weighed(percent / 100.0),
            Self::Starved(fact) => starved(fact, command),
            Self::Paused(fact) => paused(fact, command),
            Self::SlowLogs { times, percent } => Caveat::of(
                CaveatCode::SlowLogs,
                format!(
                    "the workers waited {} times, {percent:.1} % of their time, until lines of their logs were \
                     written; without logs the IOPS are higher and the latencies lower",
                    Count(*times as f64)
                ),
            )
            .weighed(percent / 100.0),
            Self::WorkersHeld { workers } => held(workers),
        }
    }
}

/// Returns the command that moves the current shell out of the control group.
fn leave_group(file: &str) -> String {
    let directory = file.rsplit_once('/').map_or(file, |(directory, _)| directory);
    let above = directory.rsplit_once('/').map_or(directory, |(above, _)| above);
    format!("echo $$ > {above}/cgroup.procs as root before iogauge, or raise the limit")
}

fn used_up(percent: f64, workers: usize, command: Command) -> Caveat {
    let s = if workers == 1 { "" } else { "s" };
    let caveat = Caveat::of(
        CaveatCode::ClientBound,
        format!(
            "the tool used {percent:.0} % of a processor for {workers} worker{s}; the target may \
             sustain more than one machine can request"
        ),
    );
    match command {
        Command::Run | Command::Find | Command::Crosscheck | Command::Compare => caveat,
        Command::RunFile | Command::FindFile => {
            caveat.hinting("increase numjobs or bs in the job file")
        }
        _ => caveat.hinting("use a machine with faster processors, or larger blocks"),
    }
}

fn starved(fact: &StarvedFact, command: Command) -> Caveat {
    let StarvedFact { stretches, left_out, left_out_ns, .. } = *fact;
    let share = |ns: u64| 100.0 * ns as f64 / left_out_ns.max(1) as f64;
    let kinds = [
        (fact.wait_ns, "the workers waited for a processor"),
        (fact.steal_ns, "the hypervisor ran other machines"),
        (fact.throttled_ns, "a control group throttled iogauge"),
    ];
    let most_ns = kinds.iter().map(|(ns, _)| *ns).max();
    let shown = kinds.iter().filter(|(ns, _)| share(*ns) >= 0.5 || Some(*ns) == most_ns);
    let kinds: Vec<String> = shown
        .map(|(ns, what)| match share(*ns) {
            share if share < 0.5 => format!("{what} for less than 1 % of the time"),
            share => format!("{what} for {share:.0} % of the time"),
        })
        .collect();
    let time = Latency(left_out_ns as f64 / f64::from(left_out.max(1)));
    let with = fact.with_them.as_ref().map_or_else(String::new, |with| {
        let WithStarved { iops, values, breaks } = with;
        let values = values.iter().map(|(limit, value_ns)| {
            format!(", {} {}", command.words().statistic(limit), Latency(*value_ns))
        });
        let values: String = values.collect();
        let but = if *breaks { ", which breaks the limit" } else { "" };
        let iops = format!("{} {}", Count(*iops), command.words().iops());
        format!("; including them, the answer's load gave {iops}{values}{but}")
    });
    let rest = match left_out {
        all if all == stretches => "no other period was measured",
        1 => "it was excluded",
        _ => "they were excluded",
    };
    let message = format!(
        "in {left_out} of {stretches} periods of {time} {}; {rest}{with}",
        kinds.join(", and ")
    );
    let caveat = Caveat::of(CaveatCode::ClientStarved, message)
        .weighed(f64::from(left_out) / f64::from(stretches.max(1)));
    match command {
        Command::Find | Command::FindFile | Command::Check => caveat,
        Command::DbFind | Command::DbBeside | Command::DbBesideDevice => caveat,
        _ => caveat.hinting("use a machine with idle processors"),
    }
}

fn paused(fact: &PauseFact, command: Command) -> Caveat {
    let who = if fact.via_fio { "iogauge or fio" } else { "iogauge" };
    let seconds = fact.paused_ns as f64 / 1e9;
    let times = match fact.times {
        1 => "once".to_owned(),
        times => format!("{times} times"),
    };
    let begin = format!("{who} was paused {times}, for {seconds:.1} s");
    let Some((ios, left_out_ns, repeats)) = fact.left_out else {
        let message = format!(
            "{begin}; this time is in the figures, since fio measures a job file as a whole"
        );
        return Caveat::of(CaveatCode::Paused, message)
            .weighed(seconds / fact.seconds.max(seconds).max(1e-9));
    };
    let again = match repeats {
        0 => String::new(),
        1 => "; one point was measured again".to_owned(),
        repeats => format!("; points were measured again {repeats} times"),
    };
    let message = format!(
        "{begin}; the {:.1} s around that and the {} {} in them are left out{again}",
        left_out_ns as f64 / 1e9,
        Count(ios as f64),
        command.words().ios(),
    );
    Caveat::of(CaveatCode::Paused, message).weighed(seconds / (seconds + fact.seconds).max(1e-9))
}

fn held(workers: &[String]) -> Caveat {
    let first = workers.first().map_or("a worker does not end", String::as_str);
    let more = match workers.len().saturating_sub(1) {
        0 => String::new(),
        1 => ", and another worker waits likewise".to_owned(),
        more => format!(", and {more} more workers wait likewise"),
    };
    Caveat::of(
        CaveatCode::WorkerHeld,
        format!(
            "{first}{more}; the run ended without it, and figures it had not yet delivered are missing"
        ),
    )
}

/// Returns at least one example of each fact.
pub(super) fn examples() -> Vec<MachineFact> {
    let text = |text: &str| text.to_owned();
    let file = text("/sys/fs/cgroup/a/b/io.max");
    let pause =
        PauseFact { times: 1, paused_ns: 2_000_000_000, seconds: 3.0, ..PauseFact::default() };
    vec![
        MachineFact::EngineRefused { reason: text("not permitted"), engine: "libaio" },
        MachineFact::FeatureLost { what: text("io_uring could not register files") },
        MachineFact::AccessTime,
        MachineFact::IoLimit { limit: text("500 reads per second on sda"), file: file.clone() },
        MachineFact::MemoryLimit { limit_bytes: 1, memory_bytes: 2, file: file.clone() },
        MachineFact::ProcessorLimit { processors: 0.5, file },
        MachineFact::ProcessorsBusy { wait_percent: 20.0, machine_percent: 99.0 },
        MachineFact::ProcessorUsedUp { percent: 99.0, workers: 1 },
        MachineFact::Stolen { percent: 5.0 },
        MachineFact::Starved(StarvedFact {
            stretches: 2,
            left_out: 1,
            left_out_ns: 250_000_000,
            wait_ns: 100_000_000,
            with_them: Some(WithStarved {
                iops: 100.0,
                values: vec![(Limit::USUAL, 1e6)],
                breaks: true,
            }),
            ..StarvedFact::default()
        }),
        MachineFact::Paused(PauseFact { left_out: Some((1, 1, 2)), ..pause }),
        MachineFact::Paused(PauseFact { via_fio: true, ..pause }),
        MachineFact::SlowLogs { times: 12, percent: 20.0 },
        MachineFact::WorkersHeld { workers: vec![text("thread iogauge-0 waits"), text("another")] },
    ]
}
