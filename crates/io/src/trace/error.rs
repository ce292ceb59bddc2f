//! Why the block layer cannot be traced.

use crate::confine::ConfineError;
use iogauge_model::caveat::TraceLack;

/// Why the block layer cannot be traced, in one line.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    #[error("no block device of this machine is under the target")]
    NoDevice,
    #[error("{device} has no queue of requests that the kernel would trace")]
    NoRequests { device: String },
    #[error("the kernel's tracepoints are out of sight: tracefs is not mounted")]
    NoTracefs,
    #[error("bpftrace cannot be started: {0}")]
    NotInstalled(std::io::Error),
    #[error("bpftrace cannot be confined: {0}")]
    Confine(#[from] ConfineError),
    #[error("bpftrace ended by itself: {said}")]
    Ended { said: String },
    #[error("bpftrace did not answer within {seconds} s: {said}")]
    Silent { seconds: u64, said: String },
    #[error("the tracing program in the kernel cannot be started or stopped: {0}")]
    Mark(std::io::Error),
}

impl TraceError {
    /// Returns what is missing.
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
