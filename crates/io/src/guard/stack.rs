//! Finds the devices that share data with a device: its partitions, its disk, devices stacked on it, devices it is made
//! of, and loop devices on the same file or device.

use super::loops::Loop;
use crate::kernel::{BlockDevice, Roots};
use crate::targets::descriptor::Identity;

/// How a device shares data with the device being checked ("it").
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Relation {
    /// The device itself.
    Itself,
    /// A partition of it.
    Partition,
    /// The disk that contains it as a partition.
    Disk,
    /// Stacked on it, on one of its partitions, on its disk, or on a [`Self::Beside`] device.
    Above,
    /// A device it is made of.
    Below,
    /// A loop device on a device or file that it is made of, or a partition of such a loop device.
    Beside,
}

/// A device that shares data with the device being checked.
#[derive(Debug, Clone)]
pub(super) struct Related {
    pub device: BlockDevice,
    pub relation: Relation,
    /// True if the link between the two is a loop device, which does not claim this one.
    pub left_by_loop: bool,
    /// Description for a message, such as `dm-0 stacked on its partition sdb1`.
    pub words: String,
}

/// Returns every device that shares data with `device`, `device` itself first.
///
/// Other partitions of its disk share no data with it, and neither do other devices stacked on the devices it is made
/// of. For loop devices this is unknown: two loop devices on one file count as related, whichever part of the file each
/// shows.
pub(super) fn related(device: BlockDevice, loops: &[Loop], roots: &Roots) -> Vec<Related> {
    let mut family = Family { found: Vec::new(), loops, roots };
    family.add(device.clone(), Relation::Itself, "it".into());
    for partition in device.partitions() {
        let words = format!("its partition {}", partition.name);
        family.add(partition, Relation::Partition, words);
    }
    if let Some(disk) = device.parent() {
        let words = format!("its disk {}", disk.name);
        family.add(disk, Relation::Disk, words);
    }
    family.add_all_above(0);
    for upper in std::iter::once(device.clone()).chain(device.parent()) {
        family.add_below(&upper);
    }
    let known = family.found.len();
    family.add_beside();
    family.add_all_above(known);
    family.found
}

struct Family<'a> {
    found: Vec<Related>,
    loops: &'a [Loop],
    roots: &'a Roots,
}

impl<'a> Family<'a> {
    /// Adds a device unless it is already known, which also breaks cycles in a malformed tree.
    fn add(&mut self, device: BlockDevice, relation: Relation, words: String) -> bool {
        let new = self.found.iter().all(|known| known.device != device);
        if new {
            self.found.push(Related { device, relation, left_by_loop: false, words });
        }
        new
    }

    /// Like [`Self::add`], for a device that a loop device uses without claiming it.
    fn add_left(&mut self, device: BlockDevice, relation: Relation, words: String) -> bool {
        let new = self.add(device, relation, words);
        if let Some(added) = self.found.last_mut().filter(|_| new) {
            added.left_by_loop = true;
        }
        new
    }

    /// Returns the loop device with this device's identity; `None` if it is not a loop device.
    fn as_loop(&self, device: &BlockDevice) -> Option<&'a Loop> {
        self.loops.iter().find(|candidate| candidate.device == *device)
    }

    /// Returns the loop devices whose backing object is this device.
    fn loops_on(&self, device: &BlockDevice) -> Vec<&'a Loop> {
        let Some(object) = device.number().map(Identity::Device) else { return Vec::new() };
        self.loops.iter().filter(|candidate| candidate.is_on(object)).collect()
    }

    /// Adds the devices stacked on those found, starting at an index. The list grows during the walk, so that stacks of
    /// any height are covered.
    fn add_all_above(&mut self, from: usize) {
        let mut index = from;
        while index < self.found.len() {
            let lower = self.found[index].clone();
            self.add_above(&lower);
            index += 1;
        }
    }

    fn add_above(&mut self, lower: &Related) {
        let on = match lower.relation {
            Relation::Itself => String::new(),
            _ => format!(" on {}", lower.words),
        };
        if matches!(lower.relation, Relation::Above | Relation::Beside) {
            for partition in lower.device.partitions() {
                let words = format!("partition {}{on}", partition.name);
                self.add(partition, lower.relation, words);
            }
        }
        for holder in lower.device.holders() {
            let words = format!("{} stacked{on}", holder.name);
            self.add(holder, Relation::Above, words);
        }
        for candidate in self.loops_on(&lower.device) {
            let words = format!("{} stacked{on}", candidate.device.name);
            self.add(candidate.device.clone(), Relation::Above, words);
        }
    }

    fn add_below(&mut self, upper: &BlockDevice) {
        let underneath = |device: &BlockDevice| format!("{} underneath", device.name);
        let mut lower = upper.slaves();
        // The disk of the device being checked has already been added and is not new here.
        lower.extend(upper.parent());
        for device in lower {
            if self.add(device.clone(), Relation::Below, underneath(&device)) {
                self.add_below(&device);
            }
        }
        let Some(Identity::Device(number)) = self.as_loop(upper).and_then(Loop::behind) else {
            return;
        };
        let Some(behind) = BlockDevice::find(number, self.roots) else { return };
        if self.add_left(behind.clone(), Relation::Below, underneath(&behind)) {
            self.add_below(&behind);
            // The loop device contains the whole device, including its partitions.
            for partition in behind.partitions() {
                let words = underneath(&partition);
                self.add(partition, Relation::Below, words);
            }
        }
    }

    /// Adds loop devices on what the device being checked is made of.
    fn add_beside(&mut self) {
        let is_part = |relation| matches!(relation, Relation::Partition | Relation::Above);
        let bases: Vec<Related> =
            self.found.iter().filter(|known| !is_part(known.relation)).cloned().collect();
        for base in bases {
            if base.relation == Relation::Below {
                for candidate in self.loops_on(&base.device) {
                    let words = format!("{} on {}", candidate.device.name, base.words);
                    self.add_left(candidate.device.clone(), Relation::Beside, words);
                }
            }
            let Some(base) = self.as_loop(&base.device) else { continue };
            for candidate in self.loops.iter().filter(|candidate| candidate.may_share(base)) {
                let words = format!("{} {}", candidate.device.name, shared(candidate, base));
                self.add_left(candidate.device.clone(), Relation::Beside, words);
            }
        }
    }
}

/// Describes what two loop devices share.
fn shared(one: &Loop, another: &Loop) -> &'static str {
    match (one.behind(), another.behind()) {
        (Some(Identity::File { .. }), Some(_)) => "on the same file",
        (Some(Identity::Device(_)), Some(_)) => "on the same device",
        _ => "that may be on the same file",
    }
}
