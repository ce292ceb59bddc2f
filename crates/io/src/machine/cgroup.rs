//! Limits that control groups impose on this process: I/O, memory, threads, processors.
//!
//! Source: cgroups(7); kernel documentation, admin-guide/cgroup-v2 (`io.max`, `memory.max`, `cpu.max`) and
//! admin-guide/cgroup-v1 (`blkio.throttle.*`, `memory.limit_in_bytes`, `cpu.cfs_quota_us`).

use super::{DeviceTree, Roots};
use crate::kernel::{BlockDevice, DeviceNumber, Mount, mounts_of, text};
use iogauge_model::result::{IoBound, IoLimit};
use std::path::{Path, PathBuf};

/// Larger values mean "no limit": version 1 writes that as the largest number of pages.
const NO_LIMIT_BYTES: u64 = 1 << 62;

/// A limit and the file that sets it.
#[derive(Debug, Clone, PartialEq)]
pub struct CgroupBound<T> {
    pub value: T,
    /// The control group's file.
    pub file: PathBuf,
}

/// Limits of control groups on this process: the tightest of its own group and all ancestors.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct GroupLimits {
    /// Memory, page cache included, in bytes.
    pub memory_bytes: Option<CgroupBound<u64>>,
    /// Number of further threads that may be created.
    pub tasks: Option<CgroupBound<u64>>,
    /// Processor time, as a number of processors.
    pub processors: Option<CgroupBound<f64>>,
    io: Vec<(DeviceNumber, IoBound, CgroupBound<u64>)>,
}

impl GroupLimits {
    /// Reads the limits of this process from a few small files. Files that cannot be read set no limit.
    #[must_use]
    pub fn read(roots: &Roots) -> Self {
        let mut limits = Self::default();
        for group in groups(roots) {
            limits.add(&group);
        }
        limits
    }

    /// Returns the limits on I/O to the devices of a tree, in the order found.
    #[must_use]
    pub fn io_of(&self, tree: &DeviceTree, roots: &Roots) -> Vec<IoLimit> {
        let limits = self.io.iter().filter_map(|(number, bound, limit)| {
            let device = BlockDevice::find(*number, roots)?.name;
            let under = tree.layers().iter().any(|layer| layer.name == device);
            let file = limit.file.to_string_lossy().into_owned();
            under.then_some(IoLimit { device, bound: *bound, value: limit.value, file })
        });
        limits.collect()
    }

    fn add(&mut self, group: &Cgroup) {
        let controls = |controller: &str| group.has(controller);
        for (level, dir) in group.levels().into_iter().enumerate() {
            // In version 1, only the process's own group throttles I/O.
            if controls("blkio") && (group.unified || level == 0) {
                self.io.extend(io_limits(&dir, group.unified));
            }
            if controls("memory") {
                tighten(&mut self.memory_bytes, memory_limit(&dir, group.unified));
            }
            if controls("pids") {
                tighten(&mut self.tasks, tasks_left(&dir));
            }
            if controls("cpu") {
                tighten(&mut self.processors, processor_quota(&dir, group.unified));
            }
        }
    }
}

/// Returns the `cpu.stat` files of this process's group and its ancestors, which show how long the processor quota
/// throttled it.
pub(super) fn throttle_files(roots: &Roots) -> Vec<PathBuf> {
    let own = groups(roots);
    let controlling = own.iter().filter(|group| group.has("cpu"));
    let levels = controlling.flat_map(|group| group.levels());
    levels.map(|dir| dir.join("cpu.stat")).filter(|file| file.exists()).collect()
}

/// Keeps the smaller bound.
fn tighten<T: PartialOrd>(tightest: &mut Option<CgroupBound<T>>, found: Option<CgroupBound<T>>) {
    if let Some(found) = found
        && tightest.as_ref().is_none_or(|known| found.value < known.value)
    {
        *tightest = Some(found);
    }
}

/// A control group of this process.
struct Cgroup {
    /// True for version 2, whose single hierarchy has all controllers.
    unified: bool,
    controllers: Vec<String>,
    dir: PathBuf,
    /// Mount point of the hierarchy.
    top: PathBuf,
}

impl Cgroup {
    /// Returns true if it has this controller's files.
    fn has(&self, controller: &str) -> bool {
        self.unified || self.controllers.iter().any(|own| own == controller)
    }

    /// Returns its directory and those of its visible ancestors.
    fn levels(&self) -> Vec<PathBuf> {
        let above = self.dir.ancestors().take_while(|dir| dir.starts_with(&self.top));
        above.map(Path::to_owned).collect()
    }
}

/// Returns the groups of this process whose hierarchies are mounted.
fn groups(roots: &Roots) -> Vec<Cgroup> {
    let mounts = mounts_of("self", roots);
    let own = text(&roots.path("proc/self/cgroup")).unwrap_or_default();
    own.lines().filter_map(|line| group(line, &mounts, roots)).collect()
}

fn group(line: &str, mounts: &[Mount], roots: &Roots) -> Option<Cgroup> {
    let mut fields = line.splitn(3, ':').skip(1);
    let (controllers, path) = (fields.next()?, fields.next()?);
    let unified = controllers.is_empty();
    let controllers: Vec<String> = controllers.split(',').map(str::to_owned).collect();
    let holds = |mount: &&Mount| {
        let mut options = mount.super_options.split(',');
        match mount.file_system.as_str() {
            "cgroup2" => unified,
            "cgroup" => !unified && options.any(|option| controllers.iter().any(|c| c == option)),
            _ => false,
        }
    };
    let mount = mounts.iter().find(holds)?;
    let top = roots.path(&mount.mount_point);
    // In a container, the process's own group may be mounted as the root, or its path may lead out of the mount.
    let below = Path::new(path).strip_prefix(&mount.root).ok();
    let dir = below.map_or_else(|| top.clone(), |below| top.join(below));
    let dir = if dir.is_dir() { dir } else { top.clone() };
    Some(Cgroup { unified, controllers, dir, top })
}

fn io_limits(dir: &Path, unified: bool) -> Vec<(DeviceNumber, IoBound, CgroupBound<u64>)> {
    let mut limits = Vec::new();
    if unified {
        let file = dir.join("io.max");
        for line in text(&file).unwrap_or_default().lines() {
            let limit =
                |(number, bound, value)| (number, bound, CgroupBound { value, file: file.clone() });
            limits.extend(io_max(line).into_iter().map(limit));
        }
        return limits;
    }
    for (name, bound) in [
        ("blkio.throttle.read_iops_device", IoBound::ReadIops),
        ("blkio.throttle.write_iops_device", IoBound::WriteIops),
        ("blkio.throttle.read_bps_device", IoBound::ReadBytesPerSec),
        ("blkio.throttle.write_bps_device", IoBound::WriteBytesPerSec),
    ] {
        let file = dir.join(name);
        for line in text(&file).unwrap_or_default().lines() {
            let pair = line.split_once(' ');
            let number = pair.and_then(|(number, _)| number.parse().ok());
            let value = pair.and_then(|(_, value)| value.trim().parse().ok());
            if let (Some(number), Some(value)) = (number, value) {
                limits.push((number, bound, CgroupBound { value, file: file.clone() }));
            }
        }
    }
    limits
}

/// Parses a line of `io.max`: `8:16 rbps=2097152 wbps=max riops=max wiops=120`.
fn io_max(line: &str) -> Vec<(DeviceNumber, IoBound, u64)> {
    let mut words = line.split_ascii_whitespace();
    let Some(number) = words.next().and_then(|word| word.parse().ok()) else { return Vec::new() };
    let limit = |word: &str| {
        let (key, value) = word.split_once('=')?;
        let bound = match key {
            "riops" => IoBound::ReadIops,
            "wiops" => IoBound::WriteIops,
            "rbps" => IoBound::ReadBytesPerSec,
            "wbps" => IoBound::WriteBytesPerSec,
            _ => return None,
        };
        Some((number, bound, value.parse().ok()?))
    };
    words.filter_map(limit).collect()
}

fn memory_limit(dir: &Path, unified: bool) -> Option<CgroupBound<u64>> {
    let file = dir.join(if unified { "memory.max" } else { "memory.limit_in_bytes" });
    let value = text(&file)?.parse().ok().filter(|bytes| *bytes < NO_LIMIT_BYTES)?;
    Some(CgroupBound { value, file })
}

/// Returns how many more threads may be created. Both versions have the same files.
fn tasks_left(dir: &Path) -> Option<CgroupBound<u64>> {
    let file = dir.join("pids.max");
    let most: u64 = text(&file)?.parse().ok()?;
    let there: u64 = text(&dir.join("pids.current"))?.parse().ok()?;
    Some(CgroupBound { value: most.saturating_sub(there), file })
}

fn processor_quota(dir: &Path, unified: bool) -> Option<CgroupBound<f64>> {
    let (file, quota, period) = if unified {
        let file = dir.join("cpu.max");
        let (quota, period) =
            text(&file)?.split_once(' ').map(|(q, p)| (q.to_owned(), p.to_owned()))?;
        (file, quota, period)
    } else {
        let file = dir.join("cpu.cfs_quota_us");
        (file.clone(), text(&file)?, text(&dir.join("cpu.cfs_period_us"))?)
    };
    // No limit is written as `max` or -1, which do not parse.
    let (quota, period): (u64, u64) = (quota.parse().ok()?, period.parse().ok()?);
    (period > 0).then(|| CgroupBound { value: quota as f64 / period as f64, file })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::fs;

    /// Creates a tree with these files and a device `sda` with number 8:0.
    fn tree(files: &[(&str, &str)]) -> (tempfile::TempDir, Roots) {
        let dir = tempfile::tempdir().unwrap();
        let write = |below: &str, content: &str| {
            let path = dir.path().join(below);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        };
        files.iter().for_each(|(below, content)| write(below, content));
        write("sys/devices/sda/dev", "8:0\n");
        fs::create_dir_all(dir.path().join("sys/dev/block")).unwrap();
        let link = dir.path().join("sys/dev/block/8:0");
        std::os::unix::fs::symlink(dir.path().join("sys/devices/sda"), link).unwrap();
        let roots = Roots::at(dir.path());
        (dir, roots)
    }

    fn io_here(roots: &Roots) -> Vec<(IoBound, u64)> {
        let devices = DeviceTree::of_device(roots, 8, 0).unwrap();
        let limits = GroupLimits::read(roots).io_of(&devices, roots);
        limits.into_iter().map(|limit| (limit.bound, limit.value)).collect()
    }

    #[test]
    fn cgroup_v2_uses_tightest_limit_of_all_levels() {
        const MAX: &str = "8:0 rbps=2097152 wbps=max riops=max wiops=120\n9:9 riops=5\n";
        let (_dir, roots) = tree(&[
            ("proc/self/cgroup", "0::/a/b\n"),
            ("proc/self/mountinfo", "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"),
            ("sys/fs/cgroup/a/b/io.max", MAX),
            ("sys/fs/cgroup/a/memory.max", "1048576\n"),
            ("sys/fs/cgroup/a/b/memory.max", "max\n"),
            ("sys/fs/cgroup/a/cpu.max", "150000 100000\n"),
            ("sys/fs/cgroup/a/b/cpu.max", "max 100000\n"),
        ]);
        let limits = GroupLimits::read(&roots);
        assert_eq!(
            io_here(&roots),
            [(IoBound::ReadBytesPerSec, 2_097_152), (IoBound::WriteIops, 120)]
        );
        let memory = limits.memory_bytes.unwrap();
        assert_eq!(memory.value, 1 << 20);
        assert!(memory.file.ends_with("sys/fs/cgroup/a/memory.max"));
        assert_eq!(limits.processors.unwrap().value, 1.5);
    }

    #[test]
    fn cgroup_v1_limits_are_read_per_controller_mount() {
        const MOUNTS: &str = "\
31 23 0:28 / /cg/blkio rw - cgroup cgroup rw,blkio
32 23 0:29 /docker/x /cg/memory rw - cgroup cgroup rw,memory
33 23 0:30 / /cg/cpu rw - cgroup cgroup rw,cpu,cpuacct\n";
        let (_dir, roots) = tree(&[
            ("proc/self/cgroup", "4:cpu,cpuacct:/g\n3:memory:/docker/x\n2:blkio:/g/h\n0::/\n"),
            ("proc/self/mountinfo", MOUNTS),
            ("cg/blkio/g/blkio.throttle.read_iops_device", "8:0 7\n"),
            ("cg/blkio/g/h/blkio.throttle.read_iops_device", "8:0 1000\n8:16 1\n"),
            ("cg/memory/memory.limit_in_bytes", "536870912\n"),
            ("cg/cpu/g/cpu.cfs_quota_us", "50000\n"),
            ("cg/cpu/g/cpu.cfs_period_us", "100000\n"),
            ("cg/cpu/cpu.cfs_quota_us", "-1\n"),
        ]);
        let limits = GroupLimits::read(&roots);
        assert_eq!(io_here(&roots), [(IoBound::ReadIops, 1000)], "the group's own and no other");
        assert_eq!(limits.memory_bytes.map(|bound| bound.value), Some(512 << 20));
        assert_eq!(limits.processors.map(|bound| bound.value), Some(0.5));
    }

    #[test]
    fn missing_cgroup_files_mean_no_limits() {
        let (_dir, roots) = tree(&[]);
        assert_eq!(GroupLimits::read(&roots), GroupLimits::default());
        let huge = "9223372036854771712\n";
        let (_dir, roots) = tree(&[
            ("proc/self/cgroup", "3:memory:/\n"),
            ("proc/self/mountinfo", "3 2 0:9 / /m rw - cgroup cgroup rw,memory\n"),
            ("m/memory.limit_in_bytes", huge),
        ]);
        assert_eq!(GroupLimits::read(&roots).memory_bytes, None);
    }

    proptest! {
        #[test]
        fn parsing_cgroup_files_never_panics(line in "([0-9]:|riops=|/|\\PC){0,12}") {
            let _ = io_max(&line);
            let _ = group(&line, &[], &Roots::at("/nonexistent"));
        }
    }
}
