//! What the block layer saw of a load: requests as the device had them, and how long it had each.

use super::LatencySummary;
use crate::histogram::Histogram;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Bytes of a sector, the unit in which the block layer counts whatever the device.
const SECTOR_BYTES: u64 = 512;

/// What the block layer saw of the devices under the target while a window was measured.
///
/// Requests are counted where they complete within the window, as I/Os are. Others who use the
/// devices are in it.
#[derive(Debug, Clone, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct BlockTrace {
    /// Length of the window, in seconds.
    pub seconds: f64,
    /// Read requests; `None` where there was none.
    pub read: Option<TracedRequests>,
    /// Write requests; `None` where there was none.
    pub write: Option<TracedRequests>,
    /// Cache flushes; `None` where there was none.
    pub flush: Option<TracedRequests>,
    /// Requests completed whose begin is not known: they are in no other figure. One of two that were
    /// under way at the same place at once is such a request.
    #[serde(default)]
    pub unmatched: u64,
    /// Where on each device its reads and writes went.
    pub devices: Vec<TracedDevice>,
}

/// Requests of one kind.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct TracedRequests {
    /// Requests completed.
    pub requests: u64,
    /// Bytes moved by them.
    pub bytes: u64,
    /// How many there were of each size, by rising size; empty for flushes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sizes: Vec<RequestSize>,
    /// Time from when the driver was given a request to its completion. The interval of the mean is
    /// the mean itself: counts tell nothing of how much requests depend on each other.
    pub device_ns: LatencySummary,
    /// All of these times.
    pub device_histogram: Histogram,
    /// What the device took of the time of each I/O; `None` where requests and I/Os of the load do
    /// not stand one for one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub io: Option<IoTime>,
}

impl TracedRequests {
    /// Requests of these sizes that took these times.
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

    /// Mean bytes of a request; 0 where there was none.
    #[must_use]
    pub fn mean_bytes(&self) -> f64 {
        if self.requests > 0 { self.bytes as f64 / self.requests as f64 } else { 0.0 }
    }

    /// Time of the device, summed over the requests, in nanoseconds.
    #[must_use]
    pub fn device_time_ns(&self) -> f64 {
        self.device_histogram.sum_ns() as f64
    }
}

/// Requests of one size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct RequestSize {
    /// Bytes of each.
    pub bytes: u64,
    /// How many.
    pub requests: u64,
}

impl RequestSize {
    /// So many requests of so many sectors.
    #[must_use]
    pub fn of_sectors(sectors: u64, requests: u64) -> Self {
        Self { bytes: sectors.saturating_mul(SECTOR_BYTES), requests }
    }
}

/// The mean time of an I/O of the load, and what of it was the device's.
#[derive(Debug, Clone, Copy, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct IoTime {
    /// I/Os of the load in the window.
    pub ios: u64,
    /// Mean service time of an I/O, in nanoseconds.
    pub mean_ns: f64,
    /// Mean time the device took for it, in nanoseconds: its request, and the flushes that belong to
    /// it.
    pub device_ns: f64,
}

impl IoTime {
    /// Mean time of an I/O on its way to the device and back, in nanoseconds: system call, file
    /// system, block layer, waits for room in the queue, and the wake-up at the end.
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

/// Where on a device its reads and writes went, in the order in which the driver was given them.
#[derive(Debug, Clone, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct TracedDevice {
    /// Kernel name: `nvme0n1`.
    pub device: String,
    /// First byte touched, from the begin of the whole device.
    pub first_byte: u64,
    /// Byte behind the last one touched.
    pub end_byte: u64,
    /// Requests that another one preceded.
    pub followed: u64,
    /// Of these, the ones that began where the one before ended.
    pub sequential: u64,
    /// Mean distance from the end of a request to the begin of the next, in bytes; 0 between
    /// sequential ones.
    pub jump_bytes_mean: f64,
}

impl TracedDevice {
    /// What was seen of a device, in sectors: the first and the one behind the last, and the distances
    /// of `followed` requests from the one before, summed.
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

    /// Bytes from the first touched to the last.
    #[must_use]
    pub fn span_bytes(&self) -> u64 {
        self.end_byte.saturating_sub(self.first_byte)
    }

    /// Share of the requests that began where the one before ended, from 0 to 1.
    #[must_use]
    pub fn sequential_share(&self) -> f64 {
        if self.followed > 0 { self.sequential as f64 / self.followed as f64 } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_add_up_to_bytes() {
        let mut times = Histogram::new();
        times.record_n(100, 5);
        let sizes = vec![RequestSize::of_sectors(8, 3), RequestSize::of_sectors(16, 2)];
        let read = TracedRequests::new(sizes, times);
        assert_eq!((read.requests, read.bytes), (5, 3 * 4096 + 2 * 8192));
        assert!((read.mean_bytes() - 28_672.0 / 5.0).abs() < 1e-9);
        assert!((read.device_time_ns() - 500.0).abs() < 1e-9);
    }

    #[test]
    fn device_and_path_make_the_whole() {
        let io = IoTime { ios: 1, mean_ns: 100.0, device_ns: 80.0 };
        assert!((io.path_ns() - 20.0).abs() < 1e-9 && (io.device_share() - 0.8).abs() < 1e-9);
        // Two clocks may differ by a little.
        let over = IoTime { device_ns: 101.0, ..io };
        assert_eq!((over.path_ns(), over.device_share()), (0.0, 1.0));
    }

    #[test]
    fn distances_are_means() {
        let device = TracedDevice::of_sectors("sda".to_owned(), [8, 32], [4, 1, 12]);
        assert_eq!((device.first_byte, device.span_bytes()), (4096, 24 * 512));
        assert!((device.jump_bytes_mean - 3.0 * 512.0).abs() < 1e-9);
        assert!((device.sequential_share() - 0.25).abs() < 1e-9);
        let untouched = TracedDevice::of_sectors("sda".to_owned(), [0, 0], [0, 0, 0]);
        assert_eq!((untouched.jump_bytes_mean, untouched.sequential_share()), (0.0, 0.0));
    }

    #[test]
    fn documents_read_back() {
        let trace = BlockTrace { seconds: 1.0, unmatched: 2, ..BlockTrace::default() };
        let text = serde_json::to_string(&trace).unwrap();
        assert_eq!(serde_json::from_str::<BlockTrace>(&text).unwrap(), trace);
    }
}
