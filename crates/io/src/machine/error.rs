//! Why the machine could not be observed.

use crate::kernel::DeviceNumber;
use std::io;
use std::path::{Path, PathBuf};

/// Why devices, counters or surroundings could not be read.
#[derive(Debug, thiserror::Error)]
pub enum SystemError {
    /// A path could not be looked at.
    #[error("cannot read {path}: {source}; hint: make it readable")]
    Unreadable {
        /// The path.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// A file of the kernel does not say what it has to.
    #[error("{path} has no {wanted}; a Linux /proc has one")]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What was looked for.
        wanted: &'static str,
    },
    /// The kernel shows no such block device in sysfs.
    #[error("block device {number} is not in {path}; hint: mount sysfs there")]
    UnknownDevice {
        /// Its number.
        number: DeviceNumber,
        /// Where it was looked for.
        path: PathBuf,
    },
    /// A device has no counters, or lost them while they were watched.
    #[error("/proc/diskstats has no device {device}; it has to stay attached during the run")]
    DeviceGone {
        /// Kernel name of the device.
        device: String,
    },
    /// A device as it was typed is not there.
    #[error("there is no block device {name}; /proc/diskstats lists those there are")]
    NoSuchDevice {
        /// As typed.
        name: String,
    },
    /// The sampling thread could not be started.
    #[error(
        "cannot start the sampling thread: {source}; hint: raise the process limit (ulimit -u)"
    )]
    Thread {
        /// The system's reason.
        source: io::Error,
    },
}

impl SystemError {
    /// For `map_err`: the path could not be read.
    pub(super) fn unreadable(path: &Path) -> impl FnOnce(io::Error) -> Self + '_ {
        move |source| Self::Unreadable { path: path.to_owned(), source }
    }
}
