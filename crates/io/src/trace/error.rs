//! Why the block layer cannot be traced.

use crate::confine::ConfineError;

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
    /// What to do about it.
    #[must_use]
    pub const fn hint(&self) -> &'static str {
        match self {
            Self::NoDevice => "a file, directory or block device of a disk of this machine",
            Self::NoRequests { .. } => {
                "the devices below it, where it is made of others, or leave out --trace"
            }
            Self::NoTracefs => "mount -t tracefs nodev /sys/kernel/tracing",
            Self::NotInstalled(_) => "apt-get install bpftrace, or dnf install bpftrace",
            Self::Confine(_) | Self::Ended { .. } | Self::Silent { .. } | Self::Mark(_) => {
                "run as root, outside of containers, where bpftrace -l 'tracepoint:block:*' has lines"
            }
        }
    }
}
