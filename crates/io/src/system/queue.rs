//! The queues of requests in front of the devices under a target: how many requests they take, and how
//! many were in them.
//!
//! An I/O beyond that waits in front of the queue, where the device does not see it: a thread sleeps for a
//! free request (kernel documentation, ABI/stable/sysfs-block, `queue/nr_requests`).

use super::{DeviceTree, parse_diskstats};
use crate::kernel::{BlockDevice, Roots, text};
use iogauge_model::result::QueueBound;

/// What was in the queues so far. Two readings make a mean.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct QueueReading {
    /// Time of all requests completed, in nanoseconds.
    pub in_flight_ns: u64,
    /// Requests completed.
    pub requests: u64,
}

impl QueueReading {
    /// What was done since an earlier reading.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            in_flight_ns: self.in_flight_ns.saturating_sub(earlier.in_flight_ns),
            requests: self.requests.saturating_sub(earlier.requests),
        }
    }
}

/// The uppermost queues of requests under a target.
#[derive(Debug)]
pub struct DeviceQueues {
    roots: Roots,
    devices: Vec<String>,
    bound: QueueBound,
}

impl DeviceQueues {
    /// The queues of a tree; `None` where a device under the target has none, or does not tell what is in
    /// it.
    #[must_use]
    pub fn under(tree: &DeviceTree, roots: &Roots) -> Option<Self> {
        let mut queues = Self {
            roots: roots.clone(),
            devices: Vec::new(),
            bound: QueueBound { requests: 0, told_by: Vec::new() },
        };
        queues.add(tree, tree.tops())?;
        (queues.bound.requests > 0).then_some(queues)
    }

    fn add(&mut self, tree: &DeviceTree, names: &[String]) -> Option<()> {
        for name in names {
            let layer = tree.layers().iter().find(|layer| layer.name == *name)?;
            let device = BlockDevice::named(name, &self.roots)?;
            if !device.has_requests() {
                (!layer.on.is_empty()).then_some(())?;
                self.add(tree, &layer.on)?;
            } else if !self.devices.contains(name) {
                let requests = device.number_attribute("queue/nr_requests").filter(|n| *n > 0)?;
                layer.counted.then_some(())?;
                // Each hardware queue has as many, and a worker uses that of its processor.
                self.bound.requests += requests;
                self.bound.told_by.push(format!("/sys/block/{name}/queue/nr_requests"));
                self.devices.push(name.clone());
            }
        }
        Some(())
    }

    /// How many requests they take together, by one hardware queue of each device.
    #[must_use]
    pub fn bound(&self) -> &QueueBound {
        &self.bound
    }

    /// Reads what was in them: one file. `None` where a device is gone.
    #[must_use]
    pub fn read(&self) -> Option<QueueReading> {
        let diskstats = text(&self.roots.path("proc/diskstats"))?;
        let mut reading = QueueReading::default();
        for name in &self.devices {
            let line = parse_diskstats(&diskstats).find(|line| line.device == name)?;
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
    fn what_the_kernel_tells_of_this_machine_can_be_read() {
        let roots = Roots::real();
        let tree = DeviceTree::under(&std::env::temp_dir()).unwrap_or_default();
        if let Some(queues) = DeviceQueues::under(&tree, &roots) {
            assert!(queues.bound().requests > 0);
            let before = queues.read().unwrap();
            let after = queues.read().unwrap();
            assert!(after.since(&before).requests <= after.requests);
        }
    }

    #[test]
    fn the_uppermost_device_that_has_requests_counts() {
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
        assert_eq!(queues.bound().requests, 128);
        let reading = QueueReading { in_flight_ns: 42_000_000, requests: 24 };
        assert_eq!(queues.read(), Some(reading));
        let bare = DeviceTree::of(vec!["dm-0"], &[("dm-0", &[])]);
        assert!(DeviceQueues::under(&bare, &roots).is_none(), "no requests anywhere");
    }
}
