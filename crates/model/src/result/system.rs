//! What the machine did beside the load: device counters, processor, memory, surroundings.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a block device did over a span of time, from `/proc/diskstats`
/// (kernel documentation, admin-guide/iostats).
#[derive(Debug, Clone, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct DeviceCounters {
    /// Kernel name, `nvme0n1`.
    pub device: String,
    /// Reads completed.
    pub reads: u64,
    /// Writes completed.
    pub writes: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub write_bytes: u64,
    /// Time the device had at least one I/O outstanding, in nanoseconds.
    pub busy_ns: u64,
    /// Cache flushes completed.
    pub flushes: u64,
    /// Reads that the block layer joined to others before the device saw them.
    #[serde(default)]
    pub reads_merged: u64,
    /// Writes that the block layer joined to others before the device saw them.
    #[serde(default)]
    pub writes_merged: u64,
    /// Time the reads took, summed over them, in nanoseconds.
    #[serde(default)]
    pub read_time_ns: u64,
    /// Time the writes took, summed over them, in nanoseconds.
    #[serde(default)]
    pub write_time_ns: u64,
    /// Time the I/Os were outstanding, summed over them, in nanoseconds.
    #[serde(default)]
    pub queue_time_ns: u64,
}

/// What the devices under the target did during a run, beside what the load asked for.
#[derive(Debug, Clone, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Physical {
    /// Reads completed by all the devices.
    pub reads: u64,
    /// Writes completed by all the devices.
    pub writes: u64,
    /// Bytes read by all the devices.
    pub read_bytes: u64,
    /// Bytes written by all the devices.
    pub write_bytes: u64,
    /// Physical bytes over logical bytes, reads and writes together; 1 where each byte asked for
    /// reached a device once, 0 where a cache or hole answered. `None` where nothing was asked.
    pub ratio_to_logical: Option<f64>,
    /// Each device alone.
    pub devices: Vec<DeviceCounters>,
}

/// Processor time over a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct CpuUse {
    /// User time of this process over the wall time, in percent of one processor.
    pub user_percent: f64,
    /// System time of this process over the wall time, in percent of one processor.
    pub system_percent: f64,
    /// Processor time of this process per I/O, in nanoseconds; 0 where there was no I/O.
    pub ns_per_io: f64,
    /// Busy share of the whole machine, in percent of all processors.
    pub machine_percent: f64,
    /// Share of the machine's time the hypervisor gave to others, in percent.
    pub steal_percent: f64,
    /// Share of the machine's time spent idle with I/O outstanding, in percent.
    pub iowait_percent: f64,
    /// Share of the time in which a worker was ready to run and had no processor, in percent, mean
    /// over the workers; 0 where the kernel does not tell.
    #[serde(default)]
    pub wait_percent: f64,
    /// Of the time of this process what its workers polled for the next arrival with nothing else to do, in
    /// percent of one processor; 0 in a closed loop.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub polled_percent: f64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
fn is_zero(percent: &f64) -> bool {
    *percent == 0.0
}

impl CpuUse {
    /// User and system time that was not spent polling for an arrival, in percent of one processor.
    #[must_use]
    pub fn busy_percent(&self) -> f64 {
        (self.user_percent + self.system_percent - self.polled_percent).max(0.0)
    }
}

/// Where a run took place.
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
    /// Processors this process may use.
    pub cpus: u32,
    /// Physical memory, in bytes.
    pub memory_bytes: u64,
    /// Clock latencies were read from: `tsc`, `monotonic` or `virtual`.
    pub clock: String,
    /// Hypervisor or container noticed, `none` otherwise.
    pub virtualization: String,
}
