//! Facts about the tools that iogauge uses: fio, which does the I/O, and bpftrace, which counts requests.

use super::command::Command;
use super::{Caveat, CaveatCode, Impact};
use crate::units::Bytes;

/// What tracing needs and is missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TraceLack {
    /// A block device of this machine under the target.
    Device,
    /// A device with a request queue.
    Requests,
    Tracefs,
    Bpftrace,
    /// The privilege to trace.
    Rights,
}

impl TraceLack {
    /// Returns what to do about it.
    #[must_use]
    pub const fn hint(self) -> &'static str {
        match self {
            Self::Device => "use a file, directory or block device of a disk of this machine",
            Self::Requests => "use a device below it if it is made of others",
            Self::Tracefs => "run mount -t tracefs nodev /sys/kernel/tracing",
            Self::Bpftrace => "run apt-get install bpftrace, or dnf install bpftrace",
            Self::Rights => {
                "run as root outside of containers, where bpftrace -l 'tracepoint:block:*' prints lines"
            }
        }
    }
}

/// How the requests of a direction differ from its I/Os.
#[derive(Debug, Clone, PartialEq)]
pub enum TraceDiffers {
    /// Requests moved a different number of bytes than the workload requested. `others` is set if the
    /// difference exceeds what the file system may add.
    Bytes { moved_bytes: u64, requested_bytes: u64, others: bool },
    /// The mean number of requests per I/O.
    PerIo(f64),
    /// The device held the requests for longer than the I/Os took.
    Longer,
}

/// A fact about another tool.
#[derive(Debug, Clone, PartialEq)]
pub enum ToolFact {
    Fio {
        version: String,
    },
    /// fio ran a workload other than the one requested.
    OtherLoad {
        why: String,
    },
    /// fio ran with a rate.
    FioRate,
    /// fio ended early.
    FioLost {
        why: String,
    },
    NotTraced {
        why: String,
        lack: TraceLack,
    },
    Traced,
    TraceDiffers {
        direction: &'static str,
        differs: TraceDiffers,
    },
    /// The start of some requests is not known.
    Unmatched {
        unmatched: u64,
        requests: u64,
    },
}

impl ToolFact {
    pub(super) fn caveat(&self, _command: Command) -> Caveat {
        let doubt = |message: String, hint: &str| {
            Caveat::new(CaveatCode::ViaFio, message, hint).with_impact(Impact::Doubt)
        };
        let differs = |message: String| Caveat::of(CaveatCode::TraceDiffers, message);
        match self {
            Self::Fio { version } => Caveat::of(
                CaveatCode::ViaFio,
                format!(
                    "{version} did the I/O and measured its latencies; the queue depth achieved is rate \
                     times latency (Little's law), and percentiles come from buckets of 1/64"
                ),
            ),
            Self::OtherLoad { why } => doubt(
                format!("fio ran another load than requested: {why}"),
                "leave out --via to measure the load itself",
            ),
            Self::FioRate => doubt(
                "fio measures an I/O from when it is issued, not from when it was due; with --rate_iops \
                 its latencies hide the wait"
                    .to_owned(),
                "leave out --via to measure response times",
            ),
            Self::FioLost { why } => {
                doubt(format!("{why}; what it had measured by then is kept"), "run it again")
            }
            Self::NotTraced { why, lack } => Caveat::new(
                CaveatCode::NotTraced,
                format!("--trace: {why}; the figures are those of a run without it"),
                lack.hint(),
            ),
            Self::Traced => Caveat::of(
                CaveatCode::Traced,
                "bpftrace counted each request in the kernel as it began and completed, which takes \
                 about a microsecond of processor time each; the figures include it",
            ),
            Self::TraceDiffers { direction, differs: how } => differs(how.words(direction)),
            Self::Unmatched { unmatched, requests } => differs(format!(
                "the start of {unmatched} requests is not known; the figures leave them out and \
                 include {requests} others"
            )),
        }
    }
}

impl TraceDiffers {
    fn words(&self, word: &str) -> String {
        match self {
            Self::Bytes { moved_bytes, requested_bytes, others } => {
                let (moved, wanted) = (Bytes(*moved_bytes), Bytes(*requested_bytes));
                let begin = format!("{word} requests moved {moved}");
                if *others {
                    format!(
                        "{begin} where the load requested {wanted}: others used the devices, or the file \
                         system and the page cache added I/O of their own"
                    )
                } else if moved_bytes < requested_bytes {
                    format!(
                        "{begin} of the {wanted} that the load requested: a cache before the block \
                         layer took the rest"
                    )
                } else {
                    format!("{begin} where the load requested {wanted}")
                }
            }
            Self::PerIo(per) if *per > 1.0 => format!(
                "each {word} became {per:.1} requests, which ran together; the device's share of its \
                 time is not known"
            ),
            Self::PerIo(per) => format!(
                "{:.1} {word}s became one request; the device's share of the time of each is not known",
                1.0 / per
            ),
            Self::Longer => format!(
                "the device had the requests for longer than the {word}s took: requests of others, or \
                 flushes that several share, are among them"
            ),
        }
    }
}

/// Returns at least one example of each fact.
pub(super) fn examples() -> Vec<ToolFact> {
    let why = || "bpftrace ended".to_owned();
    let differs = |differs| ToolFact::TraceDiffers { direction: "read", differs };
    let lacks = [
        TraceLack::Device,
        TraceLack::Requests,
        TraceLack::Tracefs,
        TraceLack::Bpftrace,
        TraceLack::Rights,
    ];
    let mut facts: Vec<ToolFact> =
        lacks.map(|lack| ToolFact::NotTraced { why: why(), lack }).into_iter().collect();
    facts.extend([
        ToolFact::Fio { version: "fio-3.40".to_owned() },
        ToolFact::OtherLoad { why: why() },
        ToolFact::FioRate,
        ToolFact::FioLost { why: why() },
        ToolFact::Traced,
        differs(TraceDiffers::Bytes { moved_bytes: 1, requested_bytes: 2, others: false }),
        differs(TraceDiffers::PerIo(2.0)),
        differs(TraceDiffers::PerIo(0.5)),
        differs(TraceDiffers::Longer),
        ToolFact::Unmatched { unmatched: 1, requests: 2 },
    ]);
    facts
}
