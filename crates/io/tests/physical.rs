//! Tests of device trees and counters with real loop devices.
#![allow(clippy::unwrap_used)] // A test fails by panicking.

use iogauge_io::machine::{DeviceTree, Logical, Roots, Sampler};
use iogauge_model::result::{Physical, SystemPoint};
use iogauge_test_support::{Loop, or_skip, skip};
use std::fs::{File, OpenOptions};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::time::Duration;

const MIB: usize = 1 << 20;
const SIZE_BYTES: u64 = 32 << 20;

/// A buffer aligned for `O_DIRECT`.
#[repr(align(4096))]
struct Aligned([u8; MIB]);

fn write_direct(device: &Path, mebibytes: usize) {
    let flags = libc::O_DIRECT | libc::O_EXCL;
    let file = OpenOptions::new().write(true).custom_flags(flags).open(device).unwrap();
    let mut buffer = Box::new(Aligned([0; MIB]));
    for n in 0..mebibytes {
        for (at, byte) in buffer.0.iter_mut().enumerate() {
            *byte = (at * 31 + n * 7) as u8;
        }
        file.write_all_at(&buffer.0, (n * MIB) as u64).unwrap();
    }
    file.sync_all().unwrap();
}

/// Writes 8 MiB to the device. Returns the physical I/O of the tree's leaves meanwhile, in total and over time.
fn physical_of_8_mib(
    disk: &Loop,
    device: &Path,
    tree: &DeviceTree,
) -> (Physical, Vec<SystemPoint>) {
    let mut sampler = Sampler::start(tree, Duration::from_millis(20)).unwrap();
    let before = sampler.mark().unwrap();
    write_direct(device, 8);
    // A loop device leaves writes in the page cache of its file until a flush. A write-through device gets no flushes.
    File::open(disk.image()).unwrap().sync_all().unwrap();
    let after = sampler.mark().unwrap();
    std::thread::sleep(Duration::from_millis(200));
    let logical = Logical { ios: 8, bytes: 8 * MIB as u64 };
    let physical = after.since(&before, logical).physical.unwrap();
    (physical, sampler.stop(logical).unwrap().points)
}

#[test]
fn loop_device_on_tmpfs_counts_exact_written_bytes() {
    let test = "loop_device_on_tmpfs_counts_exact_written_bytes";
    let disk = or_skip!(test, Loop::new_in(Path::new("/dev/shm"), SIZE_BYTES));
    let tree = DeviceTree::under(&disk.path).unwrap();
    assert_eq!(tree.leaves(), [disk.name()], "memory has no devices: the loop device is the leaf");

    let (physical, points) = physical_of_8_mib(&disk, &disk.path, &tree);
    assert_eq!(physical.write_bytes, 8 * MIB as u64);
    assert!(physical.writes >= 8, "{physical:?}");
    assert_eq!(physical.devices[0].device, disk.name());
    // Other programs such as udev may read the first blocks of the device meanwhile, but none writes.
    let ratio = physical.ratio_to_logical.unwrap();
    assert!((1.0..2.0).contains(&ratio), "{ratio}");

    let (mut begun, mut sampled) = (0.0, 0.0);
    for point in &points {
        sampled += (point.at_seconds - begun) * point.write_bytes_per_sec;
        begun = point.at_seconds;
    }
    assert!((sampled / (8.0 * MIB as f64) - 1.0).abs() < 1e-6, "{sampled}");
}

#[test]
fn loop_device_on_disk_is_counted_on_the_disk() {
    let test = "loop_device_on_disk_is_counted_on_the_disk";
    let here = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let under_here = DeviceTree::under(here).unwrap();
    if !under_here.is_counted() {
        return skip(test, "the build directory lies on no counted block device");
    }
    let disk = or_skip!(test, Loop::new_in(here, SIZE_BYTES));
    let tree = DeviceTree::under(&disk.path).unwrap();
    assert_eq!(tree.leaves(), under_here.leaves());
    assert_eq!(tree.chain(), format!("{} on {}", disk.name(), under_here.chain()));

    let (physical, _) = physical_of_8_mib(&disk, &disk.path, &tree);
    // Other programs use the disk too, so it counts at least the bytes written here.
    assert!(physical.write_bytes >= 8 * MIB as u64, "{physical:?}");
    assert!(physical.ratio_to_logical.unwrap() >= 1.0);
}

#[test]
fn loop_partition_resolves_to_its_loop_device() {
    let test = "loop_partition_resolves_to_its_loop_device";
    let disk = or_skip!(test, Loop::new_in(Path::new("/dev/shm"), SIZE_BYTES));
    let partition = or_skip!(test, disk.add_partition(2048, 32768));
    let tree = DeviceTree::under(&partition).unwrap();
    assert_eq!(tree.chain(), format!("{0}p1 on {0}", disk.name()));
    assert_eq!(tree.leaves(), [disk.name()]);

    let both = DeviceTree::under_all([&partition, &disk.path, &partition]).unwrap();
    assert_eq!(both.leaves(), [disk.name()]);
    assert_eq!(both.layers().len(), 2);

    let (physical, _) = physical_of_8_mib(&disk, &partition, &tree);
    assert_eq!(physical.write_bytes, 8 * MIB as u64);
}

#[test]
fn device_without_counters_is_reported_by_name() {
    let dir = tempfile::tempdir().unwrap();
    let device = dir.path().join("sys/devices/sdnowhere");
    let links = dir.path().join("sys/dev/block");
    std::fs::create_dir_all(&device).unwrap();
    std::fs::create_dir_all(&links).unwrap();
    std::os::unix::fs::symlink(&device, links.join("8:0")).unwrap();
    let tree = DeviceTree::of_device(&Roots::at(dir.path()), 8, 0).unwrap();
    let error = Sampler::start(&tree, Duration::from_secs(1)).unwrap_err().to_string();
    assert!(error.contains("sdnowhere"), "{error}");
}
