//! Physical I/O of the devices between two readings of their counters.

use super::Counters;
use iogauge_model::result::Physical;

/// Returns the physical I/O between two readings of one reader, in which the workload moved `logical_bytes`. Returns
/// `None` if there is no counted device under the target.
#[must_use]
pub fn physical_of(before: &Counters, after: &Counters, logical_bytes: u64) -> Option<Physical> {
    let growth = before.disks.iter().zip(&after.disks).zip(after.devices.iter());
    let mut physical = Physical::default();
    for ((before, after), watched) in growth.filter(|(_, watched)| watched.summed) {
        let device = after.since(before, &watched.name);
        physical.reads = physical.reads.saturating_add(device.reads);
        physical.writes = physical.writes.saturating_add(device.writes);
        physical.read_bytes = physical.read_bytes.saturating_add(device.read_bytes);
        physical.write_bytes = physical.write_bytes.saturating_add(device.write_bytes);
        physical.devices.push(device);
    }
    if physical.devices.is_empty() {
        return None;
    }
    let bytes = physical.read_bytes as f64 + physical.write_bytes as f64;
    physical.ratio_to_logical = (logical_bytes > 0).then(|| bytes / logical_bytes as f64);
    Some(physical)
}

#[cfg(test)]
mod tests {
    use super::super::counters::CountedDevice;
    use super::super::run_queue::RunQueue;
    use super::super::scheduler::SchedulerCounters;
    use super::super::{DiskCounters, MachineCpu, Memory, ProcessCpu};
    use super::*;

    fn at(disks: &[(u64, u64, u64)]) -> Counters {
        let name = |n| CountedDevice { name: format!("sd{n}"), summed: true };
        let devices: Vec<CountedDevice> = (0..disks.len()).map(name).collect();
        let disk = |&(reads, read_sectors, write_sectors): &(u64, u64, u64)| DiskCounters {
            reads,
            read_sectors,
            write_sectors,
            ..DiskCounters::default()
        };
        Counters {
            at: std::time::Instant::now(),
            devices: devices.into(),
            disks: disks.iter().map(disk).collect(),
            process: ProcessCpu::default(),
            machine: MachineCpu::default(),
            tasks: SchedulerCounters::default(),
            pages: None,
            memory: Memory::default(),
            run_queue: RunQueue::default(),
        }
    }

    #[test]
    fn physical_io_is_summed_and_compared_with_logical_io() {
        let (before, after) = (at(&[(1, 8, 0), (2, 0, 8)]), at(&[(4, 32, 0), (2, 0, 16)]));
        let physical = physical_of(&before, &after, 8192).unwrap();
        let sums = (physical.reads, physical.read_bytes, physical.write_bytes);
        assert_eq!(sums, (3, 24 * 512, 8 * 512));
        assert_eq!(physical.ratio_to_logical, Some(2.0));
        assert_eq!(physical.devices[1].device, "sd1");
        assert_eq!(physical_of(&before, &after, 0).unwrap().ratio_to_logical, None);
        assert_eq!(physical_of(&before, &before, 1).unwrap().ratio_to_logical, Some(0.0));
        assert_eq!(physical_of(&at(&[]), &at(&[]), 1), None);
    }
}
