//! Figures of the machine: device counters, processor time, environment.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Counters of a block device over a period, from `/proc/diskstats` (kernel documentation,
/// admin-guide/iostats).
#[derive(Debug, Clone, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct DeviceCounters {
    /// Kernel name, such as `nvme0n1`.
    pub device: String,
    /// Reads completed.
    pub reads: u64,
    /// Writes completed.
    pub writes: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub write_bytes: u64,
    /// Time with at least one I/O outstanding, in nanoseconds.
    pub busy_ns: u64,
    /// Cache flushes completed.
    pub flushes: u64,
    /// Reads that the block layer merged with others before they reached the device.
    #[serde(default)]
    pub reads_merged: u64,
    /// Writes that the block layer merged with others before they reached the device.
    #[serde(default)]
    pub writes_merged: u64,
    /// Sum of the times of all reads, in nanoseconds.
    #[serde(default)]
    pub read_time_ns: u64,
    /// Sum of the times of all writes, in nanoseconds.
    #[serde(default)]
    pub write_time_ns: u64,
    /// Sum of the times that all I/Os were outstanding, in nanoseconds.
    #[serde(default)]
    pub queue_time_ns: u64,
}

/// I/O of the devices under the target during a run, including I/O of other programs.
#[derive(Debug, Clone, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Physical {
    /// Reads completed by all devices.
    pub reads: u64,
    /// Writes completed by all devices.
    pub writes: u64,
    /// Bytes read by all devices.
    pub read_bytes: u64,
    /// Bytes written by all devices.
    pub write_bytes: u64,
    /// Physical bytes divided by logical bytes, reads and writes together. 1 if each requested byte reached a
    /// device once, 0 if a cache or a hole served all of them. `None` if nothing was requested.
    pub ratio_to_logical: Option<f64>,
    /// Each device.
    pub devices: Vec<DeviceCounters>,
}

/// Processor time of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct CpuUse {
    /// User time of this process divided by wall time, in percent of one processor.
    pub user_percent: f64,
    /// System time of this process divided by wall time, in percent of one processor.
    pub system_percent: f64,
    /// Processor time of this process per I/O, in nanoseconds; 0 if there was no I/O.
    pub ns_per_io: f64,
    /// Busy time of the machine, in percent of all processors; missing in results of fio, which does not
    /// report it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine_percent: Option<f64>,
    /// Time that the hypervisor gave to other machines, in percent.
    pub steal_percent: f64,
    /// Idle time with I/O outstanding, in percent.
    pub iowait_percent: f64,
    /// Time in which a worker was ready to run and had no processor, in percent, averaged over the workers; 0
    /// if the kernel does not report it.
    #[serde(default)]
    pub wait_percent: f64,
    /// Time that the workers spent polling for the next arrival with nothing else to do, in percent of one
    /// processor. It is part of the process's time. 0 in a closed loop.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub polled_percent: f64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
fn is_zero(percent: &f64) -> bool {
    *percent == 0.0
}

impl CpuUse {
    /// User and system time without polling for arrivals, in percent of one processor.
    #[must_use]
    pub fn busy_percent(&self) -> f64 {
        (self.user_percent + self.system_percent - self.polled_percent).max(0.0)
    }
}

/// The machine that a run took place on.
#[derive(Debug, Clone, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Environment {
    /// Version of iogauge.
    pub iogauge: String,
    /// Host name.
    pub host: String,
    /// Kernel release.
    pub kernel: String,
    /// Processor model.
    pub cpu_model: String,
    /// Number of processors that this process may use.
    pub cpus: u32,
    /// Physical memory, in bytes.
    pub memory_bytes: u64,
    /// Clock used for latencies: `tsc`, `monotonic` or `virtual`.
    pub clock: String,
    /// Hypervisor or container detected; `none` otherwise.
    pub virtualization: String,
}
