//! Why the machine could not be observed.

use crate::kernel::DeviceNumber;
use std::io;
use std::path::{Path, PathBuf};

/// Why devices, counters or the environment could not be read.
#[derive(Debug, thiserror::Error)]
pub enum SystemError {
    #[error("cannot read {path}: {source}; hint: make it readable")]
    Unreadable { path: PathBuf, source: io::Error },
    #[error("{path} has no {wanted}; a Linux /proc has one")]
    Malformed { path: PathBuf, wanted: &'static str },
    #[error("block device {number} is not in {path}; hint: mount sysfs there")]
    UnknownDevice { number: DeviceNumber, path: PathBuf },
    #[error("/proc/diskstats has no device {device}; it has to stay attached during the run")]
    DeviceGone { device: String },
    #[error("there is no block device {name}; /proc/diskstats lists those there are")]
    NoSuchDevice { name: String },
    #[error(
        "cannot start the sampling thread: {source}; hint: raise the process limit (ulimit -u)"
    )]
    Thread { source: io::Error },
}

impl SystemError {
    /// Converts an I/O error, for use with `map_err`: the path could not be read.
    pub(super) fn unreadable(path: &Path) -> impl FnOnce(io::Error) -> Self + '_ {
        move |source| Self::Unreadable { path: path.to_owned(), source }
    }
}
