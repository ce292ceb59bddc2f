//! Facts about several hosts that do the I/O together.

use super::command::Command;
use super::{Caveat, CaveatCode};
use crate::limit::Limit;
use crate::units::Latency;

/// A host whose removal would change the verdict on a limit.
#[derive(Debug, Clone, PartialEq)]
pub struct Straggler {
    /// Name of the host.
    pub host: String,
    /// The limit, which the host breaks and the others together keep.
    pub limit: Limit,
    /// The limit's statistic on the host, in nanoseconds.
    pub value_ns: f64,
    /// The same over the other hosts together.
    pub others_ns: f64,
}

/// A fact about several hosts.
#[derive(Debug, Clone, PartialEq)]
pub enum HostFact {
    /// This many hosts did the I/O. Their clocks may differ by this many nanoseconds, if they have more than one.
    Several {
        hosts: usize,
        clock_error_ns: u64,
    },
    /// Several of the processes ran on this host.
    OneHost {
        host: String,
        processes: usize,
    },
    /// These of so many hosts did no I/O.
    Idle {
        idle: String,
        hosts: usize,
    },
    /// These hosts used this part of the processor time that their workers could use, in percent.
    ClientBound {
        hosts: String,
        percent: f64,
    },
    Straggler(Straggler),
    /// Hosts differ in this.
    Differ(String),
    /// A host was lost, which ended the measurement. Contains what happened.
    Lost(String),
}

impl HostFact {
    pub(super) fn caveat(&self, command: Command) -> Caveat {
        match self {
            Self::Several { hosts, clock_error_ns } => {
                Caveat::of(CaveatCode::SeveralHosts, several(*hosts, *clock_error_ns))
            }
            Self::OneHost { host, processes } => Caveat::new(
                CaveatCode::SeveralHosts,
                format!(
                    "{processes} of the processes ran on {host}, so they are not hosts of their own"
                ),
                "start one process on each host, as docs/hosts.md shows",
            ),
            Self::Idle { idle, hosts } => {
                let option = match command {
                    Command::DbRun => Some("--processes".to_owned()),
                    _ => command.load_option("iodepth"),
                };
                let option = option.unwrap_or_else(|| "a queue depth".to_owned());
                Caveat::new(
                    CaveatCode::SeveralHosts,
                    format!("{idle} did no I/O, because the load has fewer I/Os than hosts"),
                    format!("use {option} of at least {hosts}, or fewer hosts"),
                )
            }
            Self::ClientBound { hosts, percent } => Caveat::new(
                CaveatCode::ClientBound,
                format!(
                    "iogauge used {percent:.0} % of the processor time that its workers could use on {hosts}; the \
                     storage may sustain more than these hosts can request"
                ),
                "use more hosts, faster processors or larger blocks",
            ),
            Self::Straggler(Straggler { host, limit, value_ns, others_ns }) => Caveat::of(
                CaveatCode::Straggler,
                format!(
                    "{host} alone breaks {limit}: {} there, {} on the others together, which keep it",
                    Latency(*value_ns),
                    Latency(*others_ns)
                ),
            ),
            Self::Differ(what) => {
                Caveat::of(CaveatCode::HostsDiffer, format!("the hosts differ: {what}"))
            }
            Self::Lost(what) => Caveat::of(CaveatCode::HostLost, what.clone()),
        }
    }
}

fn several(hosts: usize, clock_error_ns: u64) -> String {
    let sums = format!(
        "{hosts} hosts did the I/O; IOPS and queue depth are sums over them, and latencies are those of all I/Os \
         together"
    );
    match clock_error_ns {
        0 => sums,
        error => format!(
            "{sums}; windows begin and end at the same time on all hosts to within {}",
            Latency(error as f64)
        ),
    }
}

/// Returns at least one example of each fact.
pub(super) fn examples() -> Vec<HostFact> {
    let straggler =
        Straggler { host: "host-3".to_owned(), limit: Limit::USUAL, value_ns: 9e6, others_ns: 4e6 };
    let lost = "host node-3 was lost: no sign of life for 8 s";
    let differ = "kernel 6.1.0 on a and b, kernel 6.9.0 on c";
    vec![
        HostFact::Several { hosts: 3, clock_error_ns: 0 },
        HostFact::Several { hosts: 3, clock_error_ns: 40_000 },
        HostFact::OneHost { host: "a".to_owned(), processes: 2 },
        HostFact::Idle { idle: "b and c".to_owned(), hosts: 3 },
        HostFact::ClientBound { hosts: "a and b".to_owned(), percent: 98.0 },
        HostFact::Straggler(straggler),
        HostFact::Differ(differ.to_owned()),
        HostFact::Lost(lost.to_owned()),
    ]
}
