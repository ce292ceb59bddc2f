//! The block devices under a path.
//!
//! A file lies on a file system, which lies on a partition, on a disk, on a loop device, or on a device-mapper or md
//! volume, which in turn lie on other devices. The tree is read from sysfs once (kernel documentation,
//! ABI/stable/sysfs-block). Nothing except the path itself is opened.

use super::{Roots, SystemError};
use crate::kernel::{BlockDevice, DeviceNumber, Mount, mount_of_open};
use rustix::fs::{FileType, Mode, OFlags, Stat};
use std::path::Path;

/// One device of a tree and the devices directly below it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layer {
    /// Kernel name as in `/proc/diskstats`: `nvme0n1`, `dm-3`, `cciss/c0d0`.
    pub name: String,
    /// Name given by the administrator, if the device has one (device-mapper).
    pub given_name: Option<String>,
    /// Kernel names of the devices directly below; empty for a leaf.
    pub on: Vec<String>,
    /// False if the device keeps no I/O counters (`queue/iostats` is 0).
    pub counted: bool,
    /// False for a partition.
    pub whole: bool,
}

/// The block devices under one or several paths, top first, without duplicates.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeviceTree {
    tops: Vec<String>,
    layers: Vec<Layer>,
}

impl DeviceTree {
    /// Returns the devices under a file, directory or block device node.
    ///
    /// The tree is empty for a path without a block device that the kernel shows: tmpfs, network file systems, ZFS,
    /// character devices, or an overlay whose upper directory is not visible. A loop device whose backing file is
    /// deleted is itself a leaf. External journals are not searched for.
    ///
    /// # Errors
    /// Fails if the path does not exist or may not be accessed, or sysfs does not show its device.
    pub fn under(path: &Path) -> Result<Self, SystemError> {
        Self::under_in(&Roots::real(), path)
    }

    /// Returns the devices under all paths, without duplicates.
    ///
    /// # Errors
    /// As [`DeviceTree::under`].
    pub fn under_all<P: AsRef<Path>>(
        paths: impl IntoIterator<Item = P>,
    ) -> Result<Self, SystemError> {
        let mut walk = Walk::new(Roots::real());
        for path in paths {
            walk.start_at_path(path.as_ref())?;
        }
        Ok(walk.tree)
    }

    /// Like [`DeviceTree::under`], with sysfs and proc below `roots`. The path itself is used as it is, not moved below
    /// `roots`.
    ///
    /// # Errors
    /// As [`DeviceTree::under`].
    pub fn under_in(roots: &Roots, path: &Path) -> Result<Self, SystemError> {
        let mut walk = Walk::new(roots.clone());
        walk.start_at_path(path)?;
        Ok(walk.tree)
    }

    /// Returns the device with these numbers and all devices under it.
    ///
    /// # Errors
    /// Fails if sysfs does not show the device.
    pub fn of_device(roots: &Roots, major: u32, minor: u32) -> Result<Self, SystemError> {
        let mut walk = Walk::new(roots.clone());
        walk.start_at_number(DeviceNumber { major, minor })?;
        Ok(walk.tree)
    }

    /// Returns the disks of this machine that are in use, and the devices under them: all devices with a size, except
    /// RAM disks and read-only loop devices, which hold software packages.
    #[must_use]
    pub fn of_machine(roots: &Roots) -> Self {
        let mut walk = Walk::new(roots.clone());
        for device in BlockDevice::all(roots).iter().filter(|device| is_disk_in_use(device)) {
            if let Some(name) = walk.visit(device) {
                walk.add_top(name);
            }
        }
        walk.tree
    }

    /// Adds devices, given by kernel names such as `sda` or `dm-3`, or by nodes such as `/dev/mapper/data`.
    ///
    /// # Errors
    /// Fails if there is no such device.
    pub fn with_devices(self, roots: &Roots, names: &[String]) -> Result<Self, SystemError> {
        let mut walk = Walk { tree: self, ..Walk::new(roots.clone()) };
        for name in names {
            let device = match name.starts_with('/') {
                true => BlockDevice::of_node(Path::new(name), roots),
                false => BlockDevice::named(name, roots),
            };
            let visited = device.and_then(|device| walk.visit(&device));
            let unknown = || SystemError::NoSuchDevice { name: name.clone() };
            walk.add_top(visited.ok_or_else(unknown)?);
        }
        Ok(walk.tree)
    }

    /// Returns the names of the devices that the tree was built for.
    #[must_use]
    pub fn tops(&self) -> &[String] {
        &self.tops
    }

    /// Returns true if there is no block device under the path.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.layers.is_empty()
    }

    /// Returns all devices, each before the devices below it.
    #[must_use]
    pub fn layers(&self) -> &[Layer] {
        &self.layers
    }

    /// Returns the devices that have none below. Physical I/O is counted there, because each physical byte passes
    /// exactly one of them.
    #[must_use]
    pub fn leaves(&self) -> Vec<&str> {
        self.leaf_layers().map(|layer| layer.name.as_str()).collect()
    }

    /// Returns true if there are leaves and all of them keep counters.
    #[must_use]
    pub fn is_counted(&self) -> bool {
        !self.is_empty() && self.leaf_layers().all(|layer| layer.counted)
    }

    /// Returns a readable form of all layers: `loop3 on vda1 on vda`, `dm-0 (vg-data) on (sda, sdb)`. Several tops are
    /// separated by `; `. Empty for an empty tree.
    #[must_use]
    pub fn chain(&self) -> String {
        let tops: Vec<String> = self.tops.iter().map(|name| self.chain_from(name)).collect();
        tops.join("; ")
    }

    /// Returns a tree of whole devices that keep counters, each with the devices below it.
    #[cfg(test)]
    pub(crate) fn of(tops: Vec<&str>, layers: &[(&str, &[&str])]) -> Self {
        let layer = |(name, on): &(&str, &[&str])| Layer {
            name: (*name).to_owned(),
            given_name: None,
            on: on.iter().map(|&name| name.to_owned()).collect(),
            counted: true,
            whole: true,
        };
        Self {
            tops: tops.into_iter().map(str::to_owned).collect(),
            layers: layers.iter().map(layer).collect(),
        }
    }

    fn leaf_layers(&self) -> impl Iterator<Item = &Layer> {
        self.layers.iter().filter(|layer| layer.on.is_empty())
    }

    fn layer(&self, name: &str) -> Option<&Layer> {
        self.layers.iter().find(|layer| layer.name == name)
    }

    fn chain_from(&self, name: &str) -> String {
        let Some(layer) = self.layer(name) else { return name.to_owned() };
        let mut text = name.to_owned();
        if let Some(given) = &layer.given_name {
            text = format!("{text} ({given})");
        }
        let below: Vec<String> = layer.on.iter().map(|under| self.chain_from(under)).collect();
        match below.as_slice() {
            [] => text,
            [only] => format!("{text} on {only}"),
            several => format!("{text} on ({})", several.join(", ")),
        }
    }
}

fn is_disk_in_use(device: &BlockDevice) -> bool {
    let is = |kind: &str| {
        let number = device.name.strip_prefix(kind);
        number.is_some_and(|number| number.starts_with(|c: char| c.is_ascii_digit()))
    };
    let read_only = device.number_attribute("ro") == Some(1);
    device.size_bytes() > 0 && !is("ram") && !(is("loop") && read_only)
}

/// Builds the tree by walking down sysfs. Devices are identified by name, because the paths of a multipath NVMe
/// namespace have no numbers.
struct Walk {
    roots: Roots,
    tree: DeviceTree,
    /// The devices above the one being visited.
    above: Vec<String>,
}

impl Walk {
    fn new(roots: Roots) -> Self {
        Self { roots, tree: DeviceTree::default(), above: Vec::new() }
    }

    fn start_at_path(&mut self, path: &Path) -> Result<(), SystemError> {
        for name in self.names_under_path(path)? {
            self.add_top(name);
        }
        Ok(())
    }

    fn start_at_number(&mut self, number: DeviceNumber) -> Result<(), SystemError> {
        let name = self.visit_number(number)?;
        self.add_top(name);
        Ok(())
    }

    fn add_top(&mut self, name: String) {
        if !self.tree.tops.contains(&name) {
            self.tree.tops.push(name);
        }
    }

    /// Visits the devices directly under a path and returns their names.
    fn names_under_path(&mut self, path: &Path) -> Result<Vec<String>, SystemError> {
        let fail = |errno: rustix::io::Errno| SystemError::Unreadable {
            path: path.to_owned(),
            source: errno.into(),
        };
        // O_PATH does not open a device and needs no permission to read the file.
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        let fd = rustix::fs::open(path, flags, Mode::empty()).map_err(fail)?;
        let stat: Stat = rustix::fs::fstat(&fd).map_err(fail)?;
        let number = match FileType::from_raw_mode(stat.st_mode) {
            FileType::BlockDevice => stat.st_rdev,
            FileType::CharacterDevice => return Ok(Vec::new()),
            _ => stat.st_dev,
        };
        let number = DeviceNumber::from_raw(number);
        if number.major != 0 {
            return Ok(vec![self.visit_number(number)?]);
        }
        let mount = mount_of_open(&fd, &self.roots);
        Ok(mount.map_or_else(Vec::new, |mount| self.names_under_mount(&mount)))
    }

    /// Returns the devices of a file system with an anonymous device number.
    fn names_under_mount(&mut self, mount: &Mount) -> Vec<String> {
        if let Some(upper) = &mount.upper_dir {
            // Inside a container the upper directory may be out of view. The devices are unknown then.
            return self.names_under_path(upper).unwrap_or_default();
        }
        // bcachefs joins its devices with colons.
        let source = mount.source.to_string_lossy();
        let nodes: Vec<&str> = source.split(':').collect();
        if !nodes.iter().all(|node| node.starts_with("/dev/")) {
            return Vec::new();
        }
        let mut devices: Vec<BlockDevice> = nodes
            .iter()
            .filter_map(|node| BlockDevice::of_node(Path::new(node), &self.roots))
            .collect();
        if mount.file_system == "btrfs" {
            devices = devices.into_iter().flat_map(|device| self.btrfs_members(device)).collect();
        }
        devices.iter().filter_map(|device| self.visit(device)).collect()
    }

    /// Returns all devices of the btrfs volume that contains this one. The mount names only one of them.
    fn btrfs_members(&self, device: BlockDevice) -> Vec<BlockDevice> {
        match device.btrfs_volume(&self.roots) {
            Some(volume) => BlockDevice::btrfs_members(&volume),
            None => vec![device],
        }
    }

    fn visit_number(&mut self, number: DeviceNumber) -> Result<String, SystemError> {
        let unknown =
            SystemError::UnknownDevice { number, path: BlockDevice::link(number, &self.roots) };
        let name = BlockDevice::find(number, &self.roots).and_then(|device| self.visit(&device));
        name.ok_or(unknown)
    }

    /// Adds the device and everything under it, and returns its name. Returns `None` for a device whose visit is still
    /// in progress: the path of a loop device's backing file may lead back to the loop device if it was set up in
    /// another mount namespace.
    fn visit(&mut self, device: &BlockDevice) -> Option<String> {
        let name = device.name.clone();
        if self.above.contains(&name) {
            return None;
        }
        if self.tree.layer(&name).is_some() {
            return Some(name);
        }
        let given_name = device.attribute("dm/name");
        let counted = device.number_attribute("queue/iostats") != Some(0);
        let whole = device.parent().is_none();
        // Inserted before its children, so that tops come first.
        let index = self.tree.layers.len();
        let layer = Layer { name: name.clone(), given_name, on: Vec::new(), counted, whole };
        self.tree.layers.push(layer);
        self.above.push(name.clone());
        let mut on = self.names_below(device);
        self.above.pop();
        on.sort();
        on.dedup();
        self.tree.layers[index].on = on;
        Some(name)
    }

    fn names_below(&mut self, device: &BlockDevice) -> Vec<String> {
        if let Some(disk) = device.parent() {
            return self.visit(&disk).into_iter().collect();
        }
        if let Some(file) = device.loop_backing() {
            let file = self.roots.path(file);
            return self.names_under_path(&file).unwrap_or_default();
        }
        let mut below = device.slaves();
        if below.is_empty() {
            below = device.nvme_paths(&self.roots);
        }
        below.iter().filter_map(|device| self.visit(device)).collect()
    }
}

#[cfg(test)]
mod tests;
