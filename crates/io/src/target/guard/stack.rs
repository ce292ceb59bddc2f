//! Which other devices share a device's data: its partitions, its disk, what is stacked on it and
//! what it is made of.

use super::proc::{Object, object_at};
use crate::kernel::{BlockDevice, DeviceNumber, Roots};

/// How a device shares data with the one in question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Relation {
    /// It is the one.
    Itself,
    /// A partition of it.
    Partition,
    /// The disk it is a partition of.
    Disk,
    /// Stacked on it, on a partition of it or on its disk.
    Above,
    /// It is made of this one.
    Below,
}

/// A device that shares data with the one in question.
#[derive(Debug, Clone)]
pub(super) struct Related {
    pub device: BlockDevice,
    pub relation: Relation,
    /// Words for a message, such as `dm-0 stacked on its partition sdb1`.
    pub words: String,
}

/// Every device that shares data with `device`, itself first.
///
/// Other partitions of its disk share none, nor do other devices stacked on what it is made of.
pub(super) fn related(device: BlockDevice, roots: &Roots) -> Vec<Related> {
    let mut family = Family { found: Vec::new(), all: BlockDevice::all(roots) };
    family.found.push(Related { words: "it".into(), relation: Relation::Itself, device });
    let device = family.found[0].device.clone();
    for partition in device.partitions() {
        let words = format!("its partition {}", partition.name);
        family.add(partition, Relation::Partition, words);
    }
    if let Some(disk) = device.parent() {
        let words = format!("its disk {}", disk.name);
        family.add(disk, Relation::Disk, words);
    }
    // The list grows while it is walked: what is stacked on a stacked device is found in turn.
    let mut index = 0;
    while index < family.found.len() {
        let lower = family.found[index].clone();
        family.add_above(&lower);
        index += 1;
    }
    for upper in std::iter::once(device.clone()).chain(device.parent()) {
        family.add_below(&upper);
    }
    family.found
}

struct Family {
    found: Vec<Related>,
    all: Vec<BlockDevice>,
}

impl Family {
    /// Adds a device unless it is known, which also ends loops in a broken tree.
    fn add(&mut self, device: BlockDevice, relation: Relation, words: String) -> bool {
        let new = self.found.iter().all(|known| known.device != device);
        if new {
            self.found.push(Related { device, relation, words });
        }
        new
    }

    fn add_above(&mut self, lower: &Related) {
        let on = match lower.relation {
            Relation::Itself => String::new(),
            _ => format!(" on {}", lower.words),
        };
        if lower.relation == Relation::Above {
            for partition in lower.device.partitions() {
                let words = format!("partition {}{on}", partition.name);
                self.add(partition, Relation::Above, words);
            }
        }
        for holder in lower.device.holders() {
            let words = format!("{} stacked{on}", holder.name);
            self.add(holder, Relation::Above, words);
        }
        let number = lower.device.number();
        let is_on_it = |loop_device: &&BlockDevice| {
            number.is_some() && loop_backing_device(loop_device) == number
        };
        let backed: Vec<BlockDevice> = self.all.iter().filter(is_on_it).cloned().collect();
        for candidate in backed {
            let words = format!("{} stacked{on}", candidate.name);
            self.add(candidate, Relation::Above, words);
        }
    }

    fn add_below(&mut self, upper: &BlockDevice) {
        let mut lower = upper.slaves();
        // The disk of the device in question is known already, and no longer new here.
        lower.extend(upper.parent());
        if let Some(number) = loop_backing_device(upper) {
            lower.extend(self.all.iter().find_map(|disk| with_number(disk, number)));
        }
        for device in lower {
            let words = format!("{} underneath", device.name);
            if self.add(device.clone(), Relation::Below, words) {
                self.add_below(&device);
            }
        }
    }
}

/// `disk` or the partition of it that has this number.
fn with_number(disk: &BlockDevice, number: DeviceNumber) -> Option<BlockDevice> {
    std::iter::once(disk.clone()).chain(disk.partitions()).find(|d| d.number() == Some(number))
}

/// The block device behind a loop device; `None` where a file is behind it.
fn loop_backing_device(device: &BlockDevice) -> Option<DeviceNumber> {
    match object_at(&device.loop_backing()?)? {
        Object::Device(number) => Some(number),
        Object::File { .. } => None,
    }
}

/// Kernel name of the loop device that has this file behind it.
pub(super) fn loop_on_file(file: Object, roots: &Roots) -> Option<String> {
    BlockDevice::all(roots)
        .into_iter()
        .find(|device| device.loop_backing().and_then(|path| object_at(&path)) == Some(file))
        .map(|device| device.name)
}
