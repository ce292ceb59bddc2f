//! Request queues of the devices under a target: their size and how full they were.
//!
//! The device does not see I/Os that exceed the size. A thread sleeps until a request is free (kernel documentation,
//! ABI/stable/sysfs-block, `queue/nr_requests`), or a request waits until the device accepts it (`device/queue_depth`
//! of a SCSI device; Documentation/scsi/scsi_mid_low_api).

use super::{DeviceTree, parse_diskstats};
use crate::kernel::{BlockDevice, Roots, text};
use iogauge_model::result::QueueBound;

/// Counters of the queues. Two readings give a mean.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct QueueReading {
    /// Sum of the times of all completed requests, in nanoseconds.
    pub in_flight_ns: u64,
    /// Requests completed.
    pub requests: u64,
}

impl QueueReading {
    /// Returns the growth since an earlier reading.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            in_flight_ns: self.in_flight_ns.saturating_sub(earlier.in_flight_ns),
            requests: self.requests.saturating_sub(earlier.requests),
        }
    }
}

/// Size of the request queues of a target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueueLimit {
    /// Maximum number of requests that the devices get at a time.
    pub bound: QueueBound,
    /// Maximum number of requests that the counters can show, including those waiting for a device to accept them.
    pub counted: u64,
}

/// The request queue of one device.
#[derive(Debug)]
struct DeviceQueue {
    name: String,
    /// Each hardware queue has its own requests. A worker uses the queue of its processor.
    hardware_queues: u64,
    /// Number of requests per hardware queue.
    requests: u64,
    /// Maximum number of requests that a SCSI device accepts, over all hardware queues.
    device_depth: Option<u64>,
}

impl DeviceQueue {
    fn of(name: &str, device: &BlockDevice) -> Option<Self> {
        Some(Self {
            name: name.to_owned(),
            hardware_queues: device.hardware_queues().max(1),
            requests: device.number_attribute("queue/nr_requests").filter(|n| *n > 0)?,
            device_depth: device.number_attribute("device/queue_depth").filter(|n| *n > 0),
        })
    }

    /// Returns the maximum number of requests that `workers` workers can have.
    fn counted(&self, workers: u64) -> u64 {
        self.requests.saturating_mul(self.hardware_queues.min(workers))
    }

    /// Returns how many of them the device gets at a time, and the sysfs file that limits it.
    fn bound(&self, workers: u64) -> (u64, String) {
        let counted = self.counted(workers);
        match self.device_depth.filter(|queue_depth| *queue_depth < counted) {
            Some(queue_depth) => {
                (queue_depth, format!("/sys/block/{}/device/queue_depth", self.name))
            }
            None => (counted, format!("/sys/block/{}/queue/nr_requests", self.name)),
        }
    }
}

/// The topmost request queues under a target.
#[derive(Debug)]
pub struct DeviceQueues {
    roots: Roots,
    queues: Vec<DeviceQueue>,
}

impl DeviceQueues {
    /// Returns the queues of a tree; `None` if a device under the target has no queue or does not report what is in it.
    #[must_use]
    pub fn under(tree: &DeviceTree, roots: &Roots) -> Option<Self> {
        let mut queues = Self { roots: roots.clone(), queues: Vec::new() };
        queues.add(tree, tree.tops())?;
        (!queues.queues.is_empty()).then_some(queues)
    }

    fn add(&mut self, tree: &DeviceTree, names: &[String]) -> Option<()> {
        for name in names {
            let layer = tree.layers().iter().find(|layer| layer.name == *name)?;
            let device = BlockDevice::named(name, &self.roots)?;
            if !device.has_requests() {
                (!layer.on.is_empty()).then_some(())?;
                self.add(tree, &layer.on)?;
            } else if self.queues.iter().all(|queue| queue.name != *name) {
                layer.counted.then_some(())?;
                self.queues.push(DeviceQueue::of(name, &device)?);
            }
        }
        Some(())
    }

    /// Returns the combined size of the queues for `workers` workers.
    #[must_use]
    pub fn limit(&self, workers: usize) -> QueueLimit {
        let workers = (workers as u64).max(1);
        let bounds = self.queues.iter().map(|queue| queue.bound(workers));
        let (requests, told_by): (Vec<u64>, Vec<String>) = bounds.unzip();
        QueueLimit {
            bound: QueueBound { requests: requests.iter().sum(), told_by },
            counted: self.queues.iter().map(|queue| queue.counted(workers)).sum(),
        }
    }

    /// Reads the counters from one file; `None` if a device is gone.
    #[must_use]
    pub fn read(&self) -> Option<QueueReading> {
        let diskstats = text(&self.roots.path("proc/diskstats"))?;
        let mut reading = QueueReading::default();
        for queue in &self.queues {
            let line = parse_diskstats(&diskstats).find(|line| line.device == queue.name)?;
            reading.in_flight_ns += line.counters.queue_ms.saturating_mul(1_000_000);
            reading.requests += line.counters.reads + line.counters.writes;
        }
        Some(reading)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn device_queues_of_this_machine_are_readable() {
        let roots = Roots::real();
        let tree = DeviceTree::under(&std::env::temp_dir()).unwrap_or_default();
        if let Some(queues) = DeviceQueues::under(&tree, &roots) {
            assert!(queues.limit(1).bound.requests > 0);
            let before = queues.read().unwrap();
            let after = queues.read().unwrap();
            assert!(after.since(&before).requests <= after.requests);
        }
    }

    #[test]
    fn topmost_device_with_a_request_queue_is_used() {
        let dir = tempfile::tempdir().unwrap();
        let write = |path: &str, content: &str| {
            let path = dir.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        };
        let device = |name: &str, number: &str| {
            write(&format!("sys/class/block/{name}/dev"), number);
            write(&format!("sys/dev/block/{number}/dev"), number);
        };
        for (name, number) in [("dm-0", "253:0"), ("sda", "8:0"), ("sdb", "8:16")] {
            device(name, number);
        }
        for name in ["sda", "sdb"] {
            fs::create_dir_all(dir.path().join(format!("sys/class/block/{name}/mq/0"))).unwrap();
            write(&format!("sys/class/block/{name}/queue/nr_requests"), "64\n");
        }
        let line = |n: &str, ms: u64| format!("   8  0 {n} 5 0 0 1 7 0 0 1 0 9 {ms} 0 0 0 0\n");
        write("proc/diskstats", &(line("dm-0", 1) + &line("sda", 30) + &line("sdb", 12)));
        let roots = Roots::at(dir.path());
        let tree =
            DeviceTree::of(vec!["dm-0"], &[("dm-0", &["sda", "sdb"]), ("sda", &[]), ("sdb", &[])]);
        let queues = DeviceQueues::under(&tree, &roots).unwrap();
        assert_eq!((queues.limit(1).bound.requests, queues.limit(4).counted), (128, 128));
        let reading = QueueReading { in_flight_ns: 42_000_000, requests: 24 };
        assert_eq!(queues.read(), Some(reading));
        // Each hardware queue has its own requests, and a SCSI device accepts fewer at a time.
        fs::create_dir_all(dir.path().join("sys/class/block/sda/mq/1")).unwrap();
        write("sys/class/block/sdb/device/queue_depth", "30\n");
        let queues = DeviceQueues::under(&tree, &roots).unwrap();
        let told_by = vec![
            "/sys/block/sda/queue/nr_requests".into(),
            "/sys/block/sdb/device/queue_depth".into(),
        ];
        for (workers, requests, counted) in [(1, 94, 128), (2, 158, 192), (8, 158, 192)] {
            let bound = QueueBound { requests, told_by: told_by.clone() };
            assert_eq!(queues.limit(workers), QueueLimit { bound, counted });
        }
        let bare = DeviceTree::of(vec!["dm-0"], &[("dm-0", &[])]);
        assert!(DeviceQueues::under(&bare, &roots).is_none(), "no requests anywhere");
    }
}
