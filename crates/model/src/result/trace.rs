//! Block layer traces: requests as the device received them, and the time it took for each.

use super::LatencySummary;
use crate::histogram::Histogram;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Size of a sector, the unit of the block layer for all devices.
const SECTOR_BYTES: u64 = 512;

/// Block layer trace of the devices under the target during a window.
///
/// A request is counted if it completes within the window, as I/Os are. Requests of other users of the
/// devices are included.
#[derive(Debug, Clone, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct BlockTrace {
    /// Length of the window, in seconds.
    pub seconds: f64,
    /// Read requests; `None` if there were none.
    pub read: Option<TracedRequests>,
    /// Write requests; `None` if there were none.
    pub write: Option<TracedRequests>,
    /// Cache flushes; `None` if there were none.
    pub flush: Option<TracedRequests>,
    /// Completed requests whose start is not known. They are not in any other figure. One of two requests in
    /// flight for the same place at the same time is such a request.
    #[serde(default)]
    pub unmatched: u64,
    /// Location of the reads and writes on each device.
    pub devices: Vec<TracedDevice>,
}

/// Requests of one kind.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct TracedRequests {
    /// Requests completed.
    pub requests: u64,
    /// Bytes transferred.
    pub bytes: u64,
    /// Number of requests of each size, in ascending order; empty for flushes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sizes: Vec<RequestSize>,
    /// Time from when the driver received a request to its completion. The mean has no interval (both ends
    /// are the mean), because counts do not show how much requests depend on each other.
    pub device_ns: LatencySummary,
    /// All of these times.
    pub device_histogram: Histogram,
    /// The device's part of the time of each I/O; `None` if requests and I/Os do not correspond one to one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub io: Option<IoTime>,
}

impl TracedRequests {
    /// Creates the figures from the sizes and times of requests.
    #[must_use]
    pub fn new(sizes: Vec<RequestSize>, device_histogram: Histogram) -> Self {
        let bytes = sizes.iter().map(|size| size.bytes.saturating_mul(size.requests));
        let mean_ns = device_histogram.mean_ns();
        Self {
            requests: device_histogram.count(),
            bytes: bytes.fold(0, u64::saturating_add),
            sizes,
            device_ns: LatencySummary::of(&device_histogram, [mean_ns; 2]),
            device_histogram,
            io: None,
        }
    }

    /// Mean size of a request in bytes; 0 if there were none.
    #[must_use]
    pub fn mean_bytes(&self) -> f64 {
        if self.requests > 0 { self.bytes as f64 / self.requests as f64 } else { 0.0 }
    }

    /// Sum of the device times of all requests, in nanoseconds.
    #[must_use]
    pub fn device_time_ns(&self) -> f64 {
        self.device_histogram.sum_ns() as f64
    }
}

/// Requests of one size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct RequestSize {
    /// Size in bytes.
    pub bytes: u64,
    /// Number of requests.
    pub requests: u64,
}

impl RequestSize {
    /// Creates the entry for a size in sectors.
    #[must_use]
    pub fn of_sectors(sectors: u64, requests: u64) -> Self {
        Self { bytes: sectors.saturating_mul(SECTOR_BYTES), requests }
    }
}

/// The mean time of an I/O of the workload, and the device's part of it.
#[derive(Debug, Clone, Copy, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct IoTime {
    /// I/Os of the workload in the window.
    pub ios: u64,
    /// Mean service time of an I/O, in nanoseconds.
    pub mean_ns: f64,
    /// Mean time that the device took for an I/O, in nanoseconds: its request and the flushes that belong to
    /// it.
    pub device_ns: f64,
}

impl IoTime {
    /// Mean time of an I/O outside the device, in nanoseconds: system call, file system, block layer, waits
    /// for room in the queue, and the wake-up at the end.
    #[must_use]
    pub fn path_ns(&self) -> f64 {
        (self.mean_ns - self.device_ns).max(0.0)
    }

    /// The device's share of the time of an I/O, from 0 to 1.
    #[must_use]
    pub fn device_share(&self) -> f64 {
        if self.mean_ns > 0.0 { (self.device_ns / self.mean_ns).min(1.0) } else { 0.0 }
    }
}

/// Location of the reads and writes on a device, in the order in which the driver received them.
#[derive(Debug, Clone, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct TracedDevice {
    /// Kernel name, such as `nvme0n1`.
    pub device: String,
    /// First byte accessed, from the start of the whole device.
    pub first_byte: u64,
    /// End of the last access: the byte after it.
    pub end_byte: u64,
    /// Number of requests that have a predecessor.
    pub followed: u64,
    /// Number of these that started where their predecessor ended.
    pub sequential: u64,
    /// Mean distance from the end of a request to the start of the next one, in bytes; 0 if all are
    /// sequential.
    pub jump_bytes_mean: f64,
}

impl TracedDevice {
    /// Creates the figures from sectors: the first sector and the one after the last, and the distances of
    /// `followed` requests from their predecessors, summed.
    #[must_use]
    pub fn of_sectors(
        device: String,
        [first, end]: [u64; 2],
        [followed, sequential, jumped]: [u64; 3],
    ) -> Self {
        let bytes = |sectors: u64| sectors.saturating_mul(SECTOR_BYTES);
        let jumped_bytes = jumped as f64 * SECTOR_BYTES as f64;
        Self {
            device,
            first_byte: bytes(first),
            end_byte: bytes(end.max(first)),
            followed,
            sequential: sequential.min(followed),
            jump_bytes_mean: if followed > 0 { jumped_bytes / followed as f64 } else { 0.0 },
        }
    }

    /// Bytes from the first to the last access.
    #[must_use]
    pub fn span_bytes(&self) -> u64 {
        self.end_byte.saturating_sub(self.first_byte)
    }

    /// Share of the requests that started where their predecessor ended, from 0 to 1.
    #[must_use]
    pub fn sequential_share(&self) -> f64 {
        if self.followed > 0 { self.sequential as f64 / self.followed as f64 } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn request_sizes_sum_to_total_bytes() {
        let mut times = Histogram::new();
        times.record_n(100, 5);
        let sizes = vec![RequestSize::of_sectors(8, 3), RequestSize::of_sectors(16, 2)];
        let read = TracedRequests::new(sizes, times);
        assert_eq!((read.requests, read.bytes), (5, 3 * 4096 + 2 * 8192));
        assert!((read.mean_bytes() - 28_672.0 / 5.0).abs() < 1e-9);
        assert!((read.device_time_ns() - 500.0).abs() < 1e-9);
    }

    #[test]
    fn device_and_path_time_sum_to_io_time() {
        let io = IoTime { ios: 1, mean_ns: 100.0, device_ns: 80.0 };
        assert!((io.path_ns() - 20.0).abs() < 1e-9 && (io.device_share() - 0.8).abs() < 1e-9);
        // Two clocks may differ slightly.
        let over = IoTime { device_ns: 101.0, ..io };
        assert_eq!((over.path_ns(), over.device_share()), (0.0, 1.0));
    }

    #[test]
    fn jump_distance_is_the_mean_over_requests() {
        let device = TracedDevice::of_sectors("sda".to_owned(), [8, 32], [4, 1, 12]);
        assert_eq!((device.first_byte, device.span_bytes()), (4096, 24 * 512));
        assert!((device.jump_bytes_mean - 3.0 * 512.0).abs() < 1e-9);
        assert!((device.sequential_share() - 0.25).abs() < 1e-9);
        let untouched = TracedDevice::of_sectors("sda".to_owned(), [0, 0], [0, 0, 0]);
        assert_eq!((untouched.jump_bytes_mean, untouched.sequential_share()), (0.0, 0.0));
    }

    #[test]
    fn stored_block_trace_round_trips() {
        let trace = BlockTrace { seconds: 1.0, unmatched: 2, ..BlockTrace::default() };
        let text = serde_json::to_string(&trace).unwrap();
        assert_eq!(serde_json::from_str::<BlockTrace>(&text).unwrap(), trace);
    }
}
