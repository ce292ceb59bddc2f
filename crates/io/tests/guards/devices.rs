//! Tests of the guards of block devices.

use crate::support::*;
use iogauge_io::targets::prefill::need;
use iogauge_io::targets::{
    GuardError, OpenMode, PrefillNeed, Roots, TargetError, device_facts, sample_blocks,
};
use iogauge_model::load::SyncMode;
use std::os::unix::fs::symlink;
use std::path::Path;

const WRITE: OpenMode = OpenMode { write: true, direct: true, sync: SyncMode::None };

fn mounted(path: &Path) -> String {
    match refusal(path, writes_anything()) {
        GuardError::Mounted { what, .. } => what,
        other => panic!("{other}"),
    }
}

#[test]
fn idle_device_needs_consent_and_is_opened_exclusively() {
    let device = or_skip!("idle_device", Loop::new(16 * MIB));
    let message = refusal(&device.path, writes()).to_string();
    assert!(message.contains("--destroy-data") && message.contains("no signature"), "{message}");
    let target = resolve(&device.path, writes_anything()).unwrap();
    let part = &target.parts[0];
    assert_eq!((part.base_bytes, part.size_bytes), (0, 16 * MIB));
    assert!(part.dio_mem_align_bytes.is_power_of_two() && part.logical_block_bytes >= 512);
    let first = part.open(WRITE).unwrap();
    let second = part.open(WRITE).unwrap();
    drop((first, second));
    assert!(mounted_ext4(&device.path).is_err(), "the kernel keeps others off");
    let refusal = refusal(&device.path, writes_anything());
    assert!(matches!(refusal, GuardError::Held { .. }), "{refusal}");
    drop(target);
    resolve(&device.path, writes_anything()).unwrap();
}

#[test]
fn mounted_device_allows_reads_but_never_writes() {
    let device = or_skip!("mounted_device", Loop::new(16 * MIB));
    let _mount = or_skip!("mounted_device", mounted_ext4(&device.path));
    assert_eq!(mounted(&device.path), "it");
    let target = resolve(&device.path, reads()).unwrap();
    target.parts[0].open(OpenMode::reading(true)).unwrap();
    let error = target.parts[0].open(WRITE).unwrap_err();
    assert!(matches!(error, TargetError::Guard(GuardError::ReadingOnly { .. })), "{error}");
}

#[test]
fn symlink_to_device_is_checked_like_the_device() {
    let device = or_skip!("link_to_device", Loop::new(16 * MIB));
    let dir = tempfile::tempdir().unwrap();
    let link = dir.path().join("by-id");
    symlink(&device.path, &link).unwrap();
    let target = resolve(&link, writes_anything()).unwrap();
    assert_eq!(target.parts[0].path, device.path);
    drop(target);
    let _mount = or_skip!("link_to_device", mounted_ext4(&device.path));
    assert_eq!(mounted(&link), "it");
}

#[test]
fn mounted_partition_protects_disk_but_not_other_partition() {
    let device = or_skip!("mounted_partition", Loop::new(64 * MIB));
    let first = or_skip!("mounted_partition", device.add_partition(2048, 32768));
    let second = or_skip!("mounted_partition", device.add_partition(40960, 32768));
    let mount = or_skip!("mounted_partition", mounted_ext4(&first));
    let name = first.file_name().unwrap().to_str().unwrap();
    assert_eq!(mounted(&device.path), format!("its partition {name}"));
    assert_eq!(mounted(&first), "it");
    let target = resolve(&second, writes_anything()).unwrap();
    assert_eq!(target.parts[0].size_bytes, 16 * MIB);
    drop((target, mount));
    let message = refusal(&device.path, writes()).to_string();
    assert!(message.contains(&format!("{name}: ext4")), "{message}");
}

#[test]
fn partition_of_a_mounted_disk_is_refused() {
    let device = or_skip!("mounted_disk", Loop::new(64 * MIB));
    let _mount = or_skip!("mounted_disk", mounted_ext4(&device.path));
    let partition = or_skip!("mounted_disk", device.add_partition(2048, 32768));
    assert!(mounted(&partition).starts_with("its disk loop"));
}

#[test]
fn devices_below_a_loop_device_are_refused() {
    let lower = or_skip!("stacked_loop", Loop::new(64 * MIB));
    let partition = or_skip!("stacked_loop", lower.add_partition(2048, 65536));
    let upper = or_skip!("stacked_loop", Loop::on(&partition, &[]));
    for path in [&lower.path, &partition] {
        let refusal = refusal(path, writes_anything());
        assert!(matches!(refusal, GuardError::Stacked { .. }), "{refusal}");
    }
    drop(resolve(&upper.path, writes_anything()).unwrap());
    let mount = or_skip!("stacked_loop", mounted_ext4(&upper.path));
    let name = upper.path.file_name().unwrap().to_str().unwrap();
    assert!(mounted(&partition).contains(&format!("{name} stacked")));
    assert!(mounted(&lower.path).contains(&format!("{name} stacked on its partition")));
    drop(mount);
    let _below = or_skip!("stacked_loop", Mount::of(&partition));
    assert!(mounted(&upper.path).contains("underneath"));
}

#[test]
fn active_swap_device_is_refused() {
    let device = or_skip!("swap", Loop::new(64 * MIB));
    let partition = or_skip!("swap", device.add_partition(2048, 65536));
    let _swap = or_skip!("swap", Swap::on(&partition));
    for path in [&device.path, &partition] {
        let refusal = refusal(path, writes_anything());
        assert!(matches!(refusal, GuardError::Swap { .. }), "{refusal}");
    }
}

#[test]
fn device_in_use_is_refused_with_process_name() {
    let device = or_skip!("held", Loop::new(16 * MIB));
    for flags in [libc::O_RDONLY | libc::O_EXCL, libc::O_RDWR] {
        let holder = or_skip!("held", Holder::open(&device.path, flags));
        let message = refusal(&device.path, writes_anything()).to_string();
        assert!(message.contains(&format!("perl (pid {})", holder.pid())), "{message}");
    }
    let _reader = or_skip!("held", Holder::open(&device.path, libc::O_RDONLY));
    resolve(&device.path, writes_anything()).unwrap();
}

#[test]
fn read_only_device_is_refused_for_writes() {
    let device = or_skip!("read_only", Loop::with_image(image(16 * MIB), &["--read-only"]));
    let refusal = refusal(&device.path, writes_anything());
    assert!(matches!(refusal, GuardError::ReadOnly { .. }), "{refusal}");
    resolve(&device.path, reads()).unwrap();
}

#[test]
fn device_is_prefilled_where_sample_finds_zeros() {
    let device = or_skip!("device_prefill", Loop::new(16 * MIB));
    let reading = resolve(&device.path, reads()).unwrap();
    let wanted = PrefillNeed::NotAllowed { unwritten_bytes: 16 * MIB };
    assert_eq!(need(&reading.parts[0]).unwrap(), wanted);
    let writing = resolve(&device.path, writes_anything()).unwrap();
    assert_eq!(need(&writing.parts[0]).unwrap(), PrefillNeed::From { offset_bytes: 0 });
    drop(writing);
    // Nothing is written before the first block of the workload.
    let behind = iogauge_io::targets::Intent { offset_bytes: 8 * MIB + 1, ..writes_anything() };
    let writing = resolve(&device.path, behind).unwrap();
    let wanted = PrefillNeed::From { offset_bytes: 8 * MIB + 512 };
    assert_eq!(need(&writing.parts[0]).unwrap(), wanted);
    drop(writing);
    fill(&device.path, 8 * MIB);
    let sample = sample_blocks(&reading.parts[0], 200, 7).unwrap();
    assert_eq!(sample.read, 200);
    assert!((40..160).contains(&sample.zero), "{sample:?}");
    fill(&device.path, 16 * MIB);
    assert_eq!(need(&reading.parts[0]).unwrap(), PrefillNeed::None);
}

#[test]
fn size_larger_than_device_is_rejected() {
    let device = or_skip!("size_beyond", Loop::new(16 * MIB));
    let asked = |bytes| iogauge_io::targets::Intent { size_bytes: Some(bytes), ..reads() };
    let error = resolve(&device.path, asked(17 * MIB)).unwrap_err();
    assert!(matches!(error, TargetError::SizeBeyondEnd { .. }), "{error}");
    let behind = iogauge_io::targets::Intent { offset_bytes: 15 * MIB, ..asked(17 * MIB) };
    let error = resolve(&device.path, behind).unwrap_err().to_string();
    assert!(error.contains("with the offset; hint: use --size=1048576 or less"), "{error}");
    assert_eq!(resolve(&device.path, asked(MIB + 5)).unwrap().parts[0].size_bytes, MIB);
}

#[test]
fn device_with_4k_sectors_uses_4k_blocks() {
    let image = image(16 * MIB);
    let device = or_skip!("large_blocks", Loop::with_image(image, &["--sector-size", "4096"]));
    let part = &resolve(&device.path, reads()).unwrap().parts[0];
    assert_eq!((part.logical_block_bytes, part.block_bytes()), (4096, 4096));
    let described = part.describe();
    assert_eq!(described.kind, iogauge_model::result::PartKind::BlockDevice);
    let facts = device_facts(part.device.unwrap(), &Roots::default()).unwrap();
    assert_eq!(facts.logical_block_bytes, Some(4096));
    assert_eq!(facts.backing_file.as_deref(), device.image().to_str());
    assert_eq!(facts.size_bytes, Some(16 * MIB));
}

/// A separate mount namespace, whose mounts no other namespace shows.
struct Elsewhere(std::process::Child);

impl Elsewhere {
    /// Runs a shell script in a new namespace, which lasts until the value is dropped.
    fn run(script: &str) -> Result<Self, String> {
        use std::io::BufRead;
        let script = format!("{script} && echo ready && read -r _");
        let mut child = std::process::Command::new("unshare")
            .args(["--mount", "--propagation", "private", "sh", "-ec", &script])
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .spawn()
            .map_err(|error| format!("unshare: {error}"))?;
        let mut line = String::new();
        let output = child.stdout.take().unwrap();
        std::io::BufReader::new(output).read_line(&mut line).map_err(|e| e.to_string())?;
        let elsewhere = Self(child);
        if line.trim() == "ready" { Ok(elsewhere) } else { Err("unshare: no namespace".into()) }
    }
}

impl Drop for Elsewhere {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}

#[test]
fn device_mounted_only_in_other_namespace_is_refused() {
    let device = or_skip!("mounted_elsewhere", Loop::new(32 * MIB));
    or_skip!("mounted_elsewhere", run("mkfs.ext4", &["-q", device.path.to_str().unwrap()]));
    let script = format!("mount -t ext4 {} /mnt", device.path.display());
    let elsewhere = or_skip!("mounted_elsewhere", Elsewhere::run(&script));
    assert_eq!(mounted(&device.path), "it", "found in the namespace of another process");
    drop(elsewhere);
    resolve(&device.path, writes_anything()).unwrap();
}

/// A loop device does not claim its backing device, so the kernel permits writes to it.
#[test]
fn device_below_loop_with_hidden_mount_is_refused() {
    let lower = or_skip!("below_elsewhere", Loop::new(64 * MIB));
    or_skip!("below_elsewhere", run("mkfs.ext4", &["-q", lower.path.to_str().unwrap()]));
    let upper = or_skip!("below_elsewhere", Loop::on(&lower.path, &[]));
    let holder = Holder::open(&lower.path, libc::O_RDONLY | libc::O_EXCL);
    // An exclusive open, like that of a mount in a namespace whose processes have all ended.
    let holder = or_skip!("below_elsewhere", holder);
    let refused = refusal(&upper.path, writes_anything());
    assert!(matches!(refused, GuardError::Held { .. }), "{refused}");
    assert!(refused.to_string().contains("underneath"), "{refused}");
    drop(holder);
    let target = resolve(&upper.path, writes_anything()).unwrap();
    let mount = Mount::of(&lower.path);
    assert!(mount.is_err(), "the claim lasts as long as the target");
    drop(target);
}

#[test]
fn loop_device_from_other_namespace_protects_backing_file() {
    let dir = tempfile::tempdir().unwrap();
    let image = image(16 * MIB);
    let name = image.path().file_name().unwrap().to_str().unwrap();
    let (folder, node) = (image.path().parent().unwrap(), dir.path().join("node"));
    // In that namespace the file has a path that does not exist in this one.
    let script = format!(
        "mount -t tmpfs none /mnt && mkdir /mnt/hidden && mount --bind {} /mnt/hidden && \
         losetup --find --show /mnt/hidden/{name} > {}",
        folder.display(),
        node.display()
    );
    let elsewhere = or_skip!("loop_elsewhere", Elsewhere::run(&script));
    let device = std::fs::read_to_string(&node).unwrap().trim().to_owned();
    // If the driver could not be queried, the file name alone would give the device away. A second name prevents that.
    let renamed = dir.path().join("another-name");
    std::fs::hard_link(image.path(), &renamed).unwrap();
    let refused = [image.path(), &renamed].map(|path| resolve(path, writes_anything()));
    drop(elsewhere);
    run("losetup", &["--detach", &device]).unwrap();
    for result in refused {
        let error = result.unwrap_err();
        let loop_backing = matches!(error, TargetError::Guard(GuardError::LoopBacking { .. }));
        assert!(loop_backing, "{error}");
    }
}
