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
    /// This many hosts did the I/O.
    Several(usize),
    Straggler(Straggler),
    /// Hosts differ in this.
    Differ(String),
    /// A host was lost, which ended the measurement. Contains what happened.
    Lost(String),
}

impl HostFact {
    pub(super) fn caveat(&self, _command: Command) -> Caveat {
        match self {
            Self::Several(hosts) => Caveat::of(
                CaveatCode::SeveralHosts,
                format!(
                    "{hosts} hosts did the I/O; IOPS and queue depth are sums over them, and latencies are those of \
                     all I/Os together"
                ),
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

/// Returns at least one example of each fact.
pub(super) fn examples() -> Vec<HostFact> {
    let straggler =
        Straggler { host: "host-3".to_owned(), limit: Limit::USUAL, value_ns: 9e6, others_ns: 4e6 };
    let lost = "host node-3 was lost: no sign of life for 8 s";
    let differ = "kernel 6.1.0 on a and b, kernel 6.9.0 on c";
    vec![
        HostFact::Several(3),
        HostFact::Straggler(straggler),
        HostFact::Differ(differ.to_owned()),
        HostFact::Lost(lost.to_owned()),
    ]
}
