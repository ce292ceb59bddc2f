//! Samples of the machine over time, and how they are merged.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A sample of the machine. Rates and percentages cover the time since the previous sample.
#[derive(Debug, Clone, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct SystemPoint {
    /// Seconds since sampling began.
    pub at_seconds: f64,
    /// Physical reads per second.
    pub reads_per_sec: f64,
    /// Physical writes per second.
    pub writes_per_sec: f64,
    /// Physical bytes read per second.
    pub read_bytes_per_sec: f64,
    /// Physical bytes written per second.
    pub write_bytes_per_sec: f64,
    /// Busy time of the devices in percent, averaged over the devices.
    pub busy_percent: f64,
    /// Busy time of the machine, in percent of all processors.
    pub cpu_percent: f64,
    /// Time taken by the hypervisor, in percent.
    pub steal_percent: f64,
    /// Idle time with I/O outstanding, in percent.
    pub iowait_percent: f64,
    /// Memory available, in bytes.
    pub memory_available_bytes: u64,
    /// Dirty page cache, in bytes.
    pub dirty_bytes: u64,
    /// Processor time by kind. This field and the following ones are missing in results of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu: Option<CpuKinds>,
    /// Activity of the scheduler.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tasks: Option<Tasks>,
    /// Memory by kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<MemoryKinds>,
    /// Paging between memory and devices; `None` if the kernel does not count it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paging: Option<Paging>,
    /// Each whole device. Devices made of others are listed too, but are not in the sums above.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub devices: Vec<DevicePoint>,
}

/// Processor time by kind, in percent of all processors (`proc_stat(5)`). Together with the sample's steal
/// and I/O wait, the kinds sum to 100 %.
#[derive(Debug, Clone, Copy, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct CpuKinds {
    /// Programs, including niced ones, without guests.
    pub user_percent: f64,
    /// The kernel.
    pub system_percent: f64,
    /// Interrupts.
    pub irq_percent: f64,
    /// Deferred work of interrupts.
    pub softirq_percent: f64,
    /// Guests of this machine's hypervisor.
    pub guest_percent: f64,
    /// Idle with no I/O outstanding.
    pub idle_percent: f64,
}

/// Activity of the scheduler (`proc_stat(5)`).
#[derive(Debug, Clone, Copy, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Tasks {
    /// Tasks running or ready to run at the time of the sample, without the sampling one.
    pub runnable: f64,
    /// Tasks waiting for I/O at the time of the sample.
    pub blocked: f64,
    /// Context switches per second, over all processors.
    pub context_switches_per_sec: f64,
    /// Interrupts per second, over all processors.
    pub interrupts_per_sec: f64,
}

/// Memory by kind, in bytes (`proc_meminfo(5)`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct MemoryKinds {
    /// Unused.
    pub free_bytes: u64,
    /// Page cache and buffers.
    pub cached_bytes: u64,
    /// Page cache being written to a device.
    pub writeback_bytes: u64,
    /// Swap in use.
    pub swap_used_bytes: u64,
}

/// Paging between memory and devices (`proc_vmstat(5)`).
#[derive(Debug, Clone, Copy, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Paging {
    /// Bytes read per second from all block devices of the machine (`pgpgin`).
    pub in_bytes_per_sec: f64,
    /// Bytes written per second to all block devices of the machine (`pgpgout`).
    pub out_bytes_per_sec: f64,
    /// Bytes read from swap per second.
    pub swap_in_bytes_per_sec: f64,
    /// Bytes written to swap per second.
    pub swap_out_bytes_per_sec: f64,
    /// Page faults per second that waited for a device.
    pub major_faults_per_sec: f64,
}

/// A block device over the time of a sample, with the figures of `iostat -x` (kernel documentation,
/// admin-guide/iostats).
#[derive(Debug, Clone, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct DevicePoint {
    /// Kernel name, such as `nvme0n1`.
    pub device: String,
    /// Reads completed per second.
    pub reads_per_sec: f64,
    /// Writes completed per second.
    pub writes_per_sec: f64,
    /// Cache flushes completed per second; 0 on kernels before 5.5, which do not report them.
    pub flushes_per_sec: f64,
    /// Bytes read per second.
    pub read_bytes_per_sec: f64,
    /// Bytes written per second.
    pub write_bytes_per_sec: f64,
    /// Mean time of a read from queue to completion, in nanoseconds, from a clock with a resolution of
    /// milliseconds; `None` if no read completed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_await_ns: Option<f64>,
    /// Mean time of a write, likewise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_await_ns: Option<f64>,
    /// Mean number of I/Os outstanding.
    pub queue_depth: f64,
    /// Time with an I/O outstanding, in percent.
    pub busy_percent: f64,
}

/// Weights of two consecutive periods.
#[derive(Debug, Clone, Copy)]
struct Weights {
    first: f64,
    second: f64,
}

impl Weights {
    fn of(first_seconds: f64, second_seconds: f64) -> Self {
        let total = first_seconds + second_seconds;
        let first = if total > 0.0 { first_seconds / total } else { 0.5 };
        Self { first, second: 1.0 - first }
    }

    fn mean(self, first: f64, second: f64) -> f64 {
        first * self.first + second * self.second
    }

    /// Returns the mean of two values per I/O, weighted by the number of I/Os of each period.
    fn mean_of_ios(
        self,
        (first, first_rate): (Option<f64>, f64),
        (second, second_rate): (Option<f64>, f64),
    ) -> Option<f64> {
        match (first, second) {
            (Some(first), Some(second)) => {
                let ios = Self::of(first_rate * self.first, second_rate * self.second);
                Some(ios.mean(first, second))
            }
            (first, second) => first.or(second),
        }
    }
}

impl SystemPoint {
    /// Merges the sample that follows this one into it. This one began at `begun_seconds`. Rates and
    /// percentages are averaged, weighted by time. Of memory, the scarcer value is kept.
    pub fn append(&mut self, begun_seconds: f64, next: &Self) {
        let weights =
            Weights::of(self.at_seconds - begun_seconds, next.at_seconds - self.at_seconds);
        let join = |mine: &mut f64, theirs: f64| *mine = weights.mean(*mine, theirs);
        self.at_seconds = next.at_seconds;
        join(&mut self.reads_per_sec, next.reads_per_sec);
        join(&mut self.writes_per_sec, next.writes_per_sec);
        join(&mut self.read_bytes_per_sec, next.read_bytes_per_sec);
        join(&mut self.write_bytes_per_sec, next.write_bytes_per_sec);
        join(&mut self.busy_percent, next.busy_percent);
        join(&mut self.cpu_percent, next.cpu_percent);
        join(&mut self.steal_percent, next.steal_percent);
        join(&mut self.iowait_percent, next.iowait_percent);
        self.memory_available_bytes = self.memory_available_bytes.min(next.memory_available_bytes);
        self.dirty_bytes = self.dirty_bytes.max(next.dirty_bytes);
        if let (Some(mine), Some(theirs)) = (&mut self.cpu, &next.cpu) {
            mine.append(theirs, weights);
        }
        if let (Some(mine), Some(theirs)) = (&mut self.tasks, &next.tasks) {
            mine.append(theirs, weights);
        }
        if let (Some(mine), Some(theirs)) = (&mut self.memory, &next.memory) {
            mine.append(theirs);
        }
        if let (Some(mine), Some(theirs)) = (&mut self.paging, &next.paging) {
            mine.append(theirs, weights);
        }
        for (mine, theirs) in self.devices.iter_mut().zip(&next.devices) {
            mine.append(theirs, weights);
        }
    }
}

impl CpuKinds {
    fn append(&mut self, next: &Self, weights: Weights) {
        let join = |mine: &mut f64, theirs: f64| *mine = weights.mean(*mine, theirs);
        join(&mut self.user_percent, next.user_percent);
        join(&mut self.system_percent, next.system_percent);
        join(&mut self.irq_percent, next.irq_percent);
        join(&mut self.softirq_percent, next.softirq_percent);
        join(&mut self.guest_percent, next.guest_percent);
        join(&mut self.idle_percent, next.idle_percent);
    }
}

impl Tasks {
    fn append(&mut self, next: &Self, weights: Weights) {
        let join = |mine: &mut f64, theirs: f64| *mine = weights.mean(*mine, theirs);
        join(&mut self.runnable, next.runnable);
        join(&mut self.blocked, next.blocked);
        join(&mut self.context_switches_per_sec, next.context_switches_per_sec);
        join(&mut self.interrupts_per_sec, next.interrupts_per_sec);
    }
}

impl MemoryKinds {
    fn append(&mut self, next: &Self) {
        self.free_bytes = self.free_bytes.min(next.free_bytes);
        self.cached_bytes = self.cached_bytes.min(next.cached_bytes);
        self.writeback_bytes = self.writeback_bytes.max(next.writeback_bytes);
        self.swap_used_bytes = self.swap_used_bytes.max(next.swap_used_bytes);
    }
}

impl Paging {
    fn append(&mut self, next: &Self, weights: Weights) {
        let join = |mine: &mut f64, theirs: f64| *mine = weights.mean(*mine, theirs);
        join(&mut self.in_bytes_per_sec, next.in_bytes_per_sec);
        join(&mut self.out_bytes_per_sec, next.out_bytes_per_sec);
        join(&mut self.swap_in_bytes_per_sec, next.swap_in_bytes_per_sec);
        join(&mut self.swap_out_bytes_per_sec, next.swap_out_bytes_per_sec);
        join(&mut self.major_faults_per_sec, next.major_faults_per_sec);
    }
}

impl DevicePoint {
    fn append(&mut self, next: &Self, weights: Weights) {
        self.read_await_ns = weights.mean_of_ios(
            (self.read_await_ns, self.reads_per_sec),
            (next.read_await_ns, next.reads_per_sec),
        );
        self.write_await_ns = weights.mean_of_ios(
            (self.write_await_ns, self.writes_per_sec),
            (next.write_await_ns, next.writes_per_sec),
        );
        let join = |mine: &mut f64, theirs: f64| *mine = weights.mean(*mine, theirs);
        join(&mut self.reads_per_sec, next.reads_per_sec);
        join(&mut self.writes_per_sec, next.writes_per_sec);
        join(&mut self.flushes_per_sec, next.flushes_per_sec);
        join(&mut self.read_bytes_per_sec, next.read_bytes_per_sec);
        join(&mut self.write_bytes_per_sec, next.write_bytes_per_sec);
        join(&mut self.queue_depth, next.queue_depth);
        join(&mut self.busy_percent, next.busy_percent);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(at_seconds: f64, reads_per_sec: f64, read_await_ns: Option<f64>) -> SystemPoint {
        let device = DevicePoint { reads_per_sec, read_await_ns, ..DevicePoint::default() };
        let kinds = CpuKinds { user_percent: reads_per_sec, ..CpuKinds::default() };
        SystemPoint {
            at_seconds,
            reads_per_sec,
            dirty_bytes: reads_per_sec as u64,
            memory_available_bytes: reads_per_sec as u64,
            cpu: Some(kinds),
            devices: vec![device],
            ..SystemPoint::default()
        }
    }

    #[test]
    fn rates_are_weighted_by_time_and_await_by_io_count() {
        let mut joined = point(2.0, 10.0, Some(1e6));
        joined.append(1.0, &point(5.0, 30.0, Some(2e6)));
        assert_eq!((joined.at_seconds, joined.reads_per_sec), (5.0, 25.0));
        assert_eq!(joined.cpu.unwrap().user_percent, 25.0);
        // 10 reads of 1 ms and 90 of 2 ms.
        assert_eq!(joined.devices[0].read_await_ns, Some(1.9e6));
        assert_eq!((joined.memory_available_bytes, joined.dirty_bytes), (10, 30));
    }

    #[test]
    fn interval_without_reads_does_not_affect_read_await() {
        let mut joined = point(1.0, 0.0, None);
        joined.append(0.0, &point(2.0, 5.0, Some(3e6)));
        joined.append(0.0, &point(3.0, 0.0, None));
        assert_eq!(joined.devices[0].read_await_ns, Some(3e6));
        assert_eq!(joined.devices[0].write_await_ns, None);
    }

    #[test]
    fn system_samples_of_earlier_versions_are_readable() {
        let text = r#"{"at_seconds":1.0,"reads_per_sec":2.0,"writes_per_sec":0.0,"read_bytes_per_sec":0.0,
            "write_bytes_per_sec":0.0,"busy_percent":0.0,"cpu_percent":0.0,"steal_percent":0.0,
            "iowait_percent":0.0,"memory_available_bytes":3,"dirty_bytes":4}"#;
        let point: SystemPoint = serde_json::from_str(text).unwrap();
        assert_eq!((point.cpu, point.tasks, point.devices.len()), (None, None, 0));
        assert!(!serde_json::to_string(&point).unwrap().contains("devices"));
    }
}
