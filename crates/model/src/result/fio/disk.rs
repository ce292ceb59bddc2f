//! I/O of a block device as reported by fio.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// I/O of a block device while fio ran, by any program, from the kernel's counters.
#[derive(Debug, Clone, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(default)]
pub struct FioDisk {
    /// Kernel name, such as `sda`.
    pub device: String,
    /// Completed reads.
    pub reads: u64,
    /// Completed writes.
    pub writes: u64,
    /// Reads that were merged into others.
    pub reads_merged: u64,
    /// Writes that were merged into others.
    pub writes_merged: u64,
    /// Bytes read; `None` if not in the file, as before fio 3.36.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_bytes: Option<u64>,
    /// Bytes written; `None` if not in the file, as before fio 3.36.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub write_bytes: Option<u64>,
    /// Sum of the durations of the reads, in whole milliseconds.
    pub read_time_ns: u64,
    /// Sum of the durations of the writes, in whole milliseconds.
    pub write_time_ns: u64,
    /// Time weighted by the number of requests outstanding, in whole milliseconds.
    pub queue_time_ns: u64,
    /// Time with at least one request outstanding, in percent.
    pub busy_percent: f64,
}
