//! Why the block layer cannot be traced.

use crate::confine::ConfineError;
use iogauge_model::caveat::TraceLack;

/// Why the block layer cannot be traced. Each says in one line what is wrong.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// The target is simulated, in memory, or on the network.
    #[error("no block device of this machine lies under the target")]
    NoDevice,
    /// Its driver takes I/Os as they are.
    #[error("{device} has no queue of requests that the kernel would trace")]
    NoRequests {
        /// Kernel name of the device.
        device: String,
    },
    /// The kernel's tracing files are not there.
    #[error("the kernel's tracepoints are out of sight: tracefs is not mounted")]
    NoTracefs,
    /// The program is not there.
    #[error("bpftrace cannot be started: {0}")]
    NotInstalled(std::io::Error),
    /// The program cannot be kept from writing to files.
    #[error("bpftrace cannot be confined: {0}")]
    Confine(#[from] ConfineError),
    /// The program has ended by itself.
    #[error("bpftrace ended by itself: {said}")]
    Ended {
        /// Its own words of it.
        said: String,
    },
    /// The program did not answer.
    #[error("bpftrace did not answer within {seconds} s: {said}")]
    Silent {
        /// How long it was waited for.
        seconds: u64,
        /// What it said instead.
        said: String,
    },
    /// The program cannot be told when a window begins.
    #[error("the program in the kernel cannot be told when to count: {0}")]
    Mark(std::io::Error),
}

impl TraceError {
    /// What is missing.
    #[must_use]
    pub const fn lack(&self) -> TraceLack {
        match self {
            Self::NoDevice => TraceLack::Device,
            Self::NoRequests { .. } => TraceLack::Requests,
            Self::NoTracefs => TraceLack::Tracefs,
            Self::NotInstalled(_) => TraceLack::Bpftrace,
            Self::Confine(_) | Self::Ended { .. } | Self::Silent { .. } | Self::Mark(_) => {
                TraceLack::Rights
            }
        }
    }
}
