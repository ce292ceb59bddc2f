//! Tests the guards on made-up sysfs and procfs trees, for device stacks that loop devices cannot form.

use super::{Consent, GuardError, claim_for_writing, takes_writes};
use crate::kernel::{DeviceNumber, Roots};
use crate::targets::error::TargetError;
use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// A machine with these devices: `sdb` with partitions `sdb1` and `sdb2`, `dm-0` and `dm-1` on
/// `sdb1`, `dm-2` on `dm-0`; `sdc` idle; `md0` on `sdd` and `sde1`.
struct Machine {
    dir: TempDir,
    roots: Roots,
}

impl Machine {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let roots = Roots::at(dir.path());
        let machine = Self { dir, roots };
        for sub in ["sys/block", "sys/dev/block", "proc/self"] {
            fs::create_dir_all(machine.dir.path().join(sub)).unwrap();
        }
        machine.shows("");
        for (name, number) in [
            ("sdb", "8:16"),
            ("sdb/sdb1", "8:17"),
            ("sdb/sdb2", "8:18"),
            ("sdc", "8:32"),
            ("sdd", "8:48"),
            ("sde", "8:64"),
            ("sde/sde1", "8:65"),
            ("dm-0", "253:0"),
            ("dm-1", "253:1"),
            ("dm-2", "253:2"),
            ("md0", "9:0"),
        ] {
            machine.device(name, number);
        }
        machine.stack("sdb/sdb1", "dm-0");
        machine.stack("sdb/sdb1", "dm-1");
        machine.stack("dm-0", "dm-2");
        machine.stack("sdd", "md0");
        machine.stack("sde/sde1", "md0");
        machine
    }

    /// Writes these devices, one per line, to `/proc/partitions`.
    fn shows(&self, devices: &str) {
        let text = format!("major minor  #blocks  name\n\n{devices}");
        fs::write(self.roots.path("proc/partitions"), text).unwrap();
    }

    /// Adds a loop device with this backing path to sysfs. It has no node, so its driver cannot be asked.
    fn loop_on(&self, name: &str, number: &str, path: &str) {
        self.device(name, number);
        fs::create_dir(self.sys_dir(name).join("loop")).unwrap();
        fs::write(self.sys_dir(name).join("loop/backing_file"), path).unwrap();
    }

    fn sys_dir(&self, name: &str) -> PathBuf {
        self.roots.path("sys/devices").join(name)
    }

    fn device(&self, name: &str, number: &str) {
        let dir = self.sys_dir(name);
        for sub in ["holders", "slaves"] {
            fs::create_dir_all(dir.join(sub)).unwrap();
        }
        fs::write(dir.join("dev"), format!("{number}\n")).unwrap();
        symlink(&dir, self.roots.path("sys/dev/block").join(number)).unwrap();
        if name.contains('/') {
            fs::write(dir.join("partition"), "1\n").unwrap();
        } else {
            symlink(&dir, self.roots.path("sys/block").join(name)).unwrap();
        }
    }

    fn stack(&self, lower: &str, upper: &str) {
        let (lower, upper) = (self.sys_dir(lower), self.sys_dir(upper));
        symlink(&upper, lower.join("holders").join(upper.file_name().unwrap())).unwrap();
        symlink(&lower, upper.join("slaves").join(lower.file_name().unwrap())).unwrap();
    }

    fn mount(self, number: &str, point: &str) -> Self {
        let line = format!("36 35 {number} / {point} rw shared:1 - ext4 /dev/none rw\n");
        fs::write(self.roots.path("proc/self/mountinfo"), line).unwrap();
        self
    }

    /// Returns the guards' verdict on a write. The node is not a device, so no write gets through.
    fn judge(&self, number: &str) -> Result<(), TargetError> {
        let number: DeviceNumber = number.parse().unwrap();
        let node = self.dir.path().join("node");
        let judged = File::create(&node).unwrap();
        let consent = Consent { destroy_data: true, ..Consent::default() };
        claim_for_writing(&judged, &node, number, consent, &self.roots).map(drop)
    }

    fn refusal(&self, number: &str) -> GuardError {
        match self.judge(number) {
            Err(TargetError::Guard(refusal)) => refusal,
            other => panic!("{number} was not refused: {other:?}"),
        }
    }

    fn mounted(&self, number: &str) -> String {
        match self.refusal(number) {
            GuardError::Mounted { what, .. } => what,
            other => panic!("{number}: {other}"),
        }
    }

    /// Returns true if every guard lets the device pass, except for the kernel's exclusive open.
    fn passes(&self, number: &str) -> bool {
        matches!(self.judge(number), Err(TargetError::Changed { .. }))
    }
}

#[test]
fn mounted_device_its_disk_and_partitions_are_refused() {
    let machine = Machine::new().mount("8:17", "/data");
    assert_eq!(machine.mounted("8:17"), "it");
    assert_eq!(machine.mounted("8:16"), "its partition sdb1");
    let machine = Machine::new().mount("8:16", "/data");
    assert_eq!(machine.mounted("8:18"), "its disk sdb");
}

#[test]
fn mount_on_stacked_device_refuses_all_lower_devices() {
    let machine = Machine::new().mount("253:2", "/deep");
    assert_eq!(machine.mounted("253:0"), "dm-2 stacked");
    assert_eq!(machine.mounted("8:17"), "dm-2 stacked on dm-0 stacked");
    assert_eq!(machine.mounted("8:16"), "dm-2 stacked on dm-0 stacked on its partition sdb1");
    let message = machine.refusal("8:16").to_string();
    assert!(message.contains("/deep") && message.contains("unmount"), "{message}");
}

#[test]
fn devices_below_a_stack_are_refused_without_mounts() {
    let machine = Machine::new();
    for number in ["8:16", "8:17", "253:0", "8:48", "8:64", "8:65"] {
        let refusal = machine.refusal(number);
        assert!(matches!(refusal, GuardError::Stacked { .. }), "{number}: {refusal}");
    }
}

#[test]
fn mounts_on_unrelated_devices_are_ignored() {
    let machine = Machine::new().mount("8:17", "/data");
    assert!(machine.passes("8:18"), "a sibling partition");
    assert!(machine.passes("8:32"), "another disk");
    let machine = Machine::new().mount("253:1", "/data");
    assert!(machine.passes("253:2"), "another volume of the same group");
    assert!(machine.passes("9:0"), "the top of a stack");
}

#[test]
fn device_with_mounted_lower_device_is_refused() {
    for (lower, name) in [("8:65", "sde1"), ("8:64", "sde"), ("8:48", "sdd")] {
        let machine = Machine::new().mount(lower, "/data");
        assert_eq!(machine.mounted("9:0"), format!("{name} underneath"));
    }
    let machine = Machine::new().mount("8:17", "/data");
    assert_eq!(machine.mounted("253:2"), "sdb1 underneath");
}

#[test]
fn all_members_of_mounted_btrfs_count_as_mounted() {
    let machine = Machine::new();
    let devices = machine.roots.path("sys/fs/btrfs/0f1e/devices");
    fs::create_dir_all(&devices).unwrap();
    symlink("../../../../devices/sdc", devices.join("sdc")).unwrap();
    assert_eq!(machine.mounted("8:32"), "it");
}

#[test]
fn read_only_and_unknown_devices_are_refused() {
    let machine = Machine::new();
    fs::write(machine.sys_dir("sdc").join("ro"), "1\n").unwrap();
    assert!(matches!(machine.refusal("8:32"), GuardError::ReadOnly { .. }));
    assert!(matches!(machine.refusal("77:7"), GuardError::Unknown { .. }));
}

#[test]
fn cycle_in_guarded_device_tree_terminates() {
    let machine = Machine::new();
    machine.stack("dm-2", "dm-0");
    machine.stack("sdb", "sdb");
    machine.refusal("8:16");
    assert!(machine.passes("8:18"));
    machine.refusal("253:2");
}

/// Adds a process that has a file open to procfs.
fn process(proc: &Path, pid: u32, command: &str, file: &Path, flags: &str) {
    let dir = proc.join(pid.to_string());
    fs::create_dir_all(dir.join("fd")).unwrap();
    fs::create_dir_all(dir.join("fdinfo")).unwrap();
    fs::write(dir.join("comm"), format!("{command}\n")).unwrap();
    symlink(file, dir.join("fd/3")).unwrap();
    fs::write(dir.join("fdinfo/3"), format!("pos:\t0\nflags:\t{flags}\n")).unwrap();
}

fn writes(file: &Path, machine: &Machine) -> Result<(), TargetError> {
    takes_writes(File::open(file).unwrap(), file, false, &machine.roots)
}

#[test]
fn file_open_for_writing_is_refused_but_reading_is_allowed() {
    let machine = Machine::new();
    let file = machine.dir.path().join("image");
    fs::write(&file, "x").unwrap();
    process(&machine.roots.path("proc"), 4_000_000, "reader", &file, "0100000");
    writes(&file, &machine).unwrap();
    process(&machine.roots.path("proc"), 4_000_001, "qemu", &file, "0100002");
    let refusal = writes(&file, &machine).unwrap_err();
    assert!(refusal.to_string().contains("qemu (pid 4000001)"), "{refusal}");
}

#[test]
fn fake_swap_and_loop_backing_files_are_refused() {
    let machine = Machine::new();
    let file = machine.dir.path().join("a file");
    fs::write(&file, "x").unwrap();
    let escaped = file.to_str().unwrap().replace(' ', "\\040");
    let swaps = machine.roots.path("proc/swaps");
    fs::write(&swaps, format!("Filename Type\n{escaped} file 4 0 -2\n")).unwrap();
    let refusal = writes(&file, &machine).unwrap_err();
    assert!(matches!(refusal, TargetError::Guard(GuardError::Swap { .. })), "{refusal}");
    fs::remove_file(swaps).unwrap();
    fs::create_dir_all(machine.sys_dir("sdc/loop")).unwrap();
    fs::write(machine.sys_dir("sdc/loop/backing_file"), file.to_str().unwrap()).unwrap();
    let refusal = writes(&file, &machine).unwrap_err();
    assert!(matches!(refusal, TargetError::Guard(GuardError::LoopBacking { .. })), "{refusal}");
}

#[test]
fn unlistable_loop_devices_refuse_all_writes() {
    let machine = Machine::new();
    let file = machine.dir.path().join("file");
    fs::write(&file, "x").unwrap();
    let unlisted = |machine: &Machine| {
        let refusal = writes(&file, machine).unwrap_err();
        assert!(
            matches!(refusal, TargetError::Guard(GuardError::LoopsUnlisted { .. })),
            "{refusal}"
        );
        assert!(matches!(machine.refusal("8:32"), GuardError::LoopsUnlisted { .. }));
    };
    writes(&file, &machine).unwrap();
    machine.shows("   7        3      65536 loop3\n");
    unlisted(&machine);
    machine.loop_on("loop3", "7:3", "/nowhere/image");
    fs::remove_file(machine.roots.path("proc/partitions")).unwrap();
    unlisted(&machine);
    machine.shows("");
    fs::rename(machine.roots.path("sys/block"), machine.dir.path().join("aside")).unwrap();
    unlisted(&machine);
}

/// Covers a user who may not open loop devices and only sees their paths.
#[test]
fn backing_path_rules_out_loop_only_if_it_is_another_file() {
    let machine = Machine::new();
    let (file, other) = (machine.dir.path().join("file"), machine.dir.path().join("other"));
    let elsewhere = machine.dir.path().join("sys/file");
    for path in [&file, &other, &elsewhere] {
        fs::write(path, "x").unwrap();
    }
    machine.loop_on("loop3", "7:3", "");
    let judge = |path: &str| {
        fs::write(machine.sys_dir("loop3/loop").join("backing_file"), path).unwrap();
        // The file has a reader, so a lease cannot prove that no loop device has it open.
        let _reader = File::open(&file).unwrap();
        writes(&file, &machine)
    };
    judge(other.to_str().unwrap()).unwrap();
    let deleted = machine.dir.path().join("decoy (deleted)");
    fs::write(&deleted, "x").unwrap();
    for path in ["/nowhere/image", deleted.to_str().unwrap(), elsewhere.to_str().unwrap(), ""] {
        let refusal = judge(path).unwrap_err();
        let unknown = matches!(refusal, TargetError::Guard(GuardError::LoopUnknown { .. }));
        assert!(unknown && refusal.to_string().contains("loop3"), "{path}: {refusal}");
    }
    fs::hard_link(&file, machine.dir.path().join("second")).unwrap();
    let refusal = judge(other.to_str().unwrap()).unwrap_err();
    assert!(matches!(refusal, TargetError::Guard(GuardError::LoopUnknown { .. })), "{refusal}");
    let judged = takes_writes(File::open(&file).unwrap(), &file, true, &machine.roots);
    judged.unwrap();
    let refusal = judge(file.to_str().unwrap()).unwrap_err();
    assert!(matches!(refusal, TargetError::Guard(GuardError::LoopBacking { .. })), "{refusal}");
}

#[test]
fn file_not_open_anywhere_backs_no_loop_device() {
    let machine = Machine::new();
    let file = machine.dir.path().join("file");
    fs::write(&file, "x").unwrap();
    if !crate::kernel::is_open_here_alone(File::open(&file).unwrap()) {
        eprintln!("SKIPPED file_not_open_anywhere_backs_no_loop_device: no leases here");
        return assert!(std::env::var_os("IOGAUGE_REQUIRE_ALL").is_none());
    }
    machine.loop_on("loop3", "7:3", "/nowhere/image (deleted)");
    writes(&file, &machine).unwrap();
    let _reader = File::open(&file).unwrap();
    writes(&file, &machine).unwrap_err();
}

#[test]
fn loop_devices_with_same_backing_file_count_as_one() {
    let machine = Machine::new();
    let image = machine.dir.path().join("image");
    fs::write(&image, "x").unwrap();
    for (name, number) in [("loop3", "7:3"), ("loop4", "7:4")] {
        machine.loop_on(name, number, image.to_str().unwrap());
    }
    machine.loop_on("loop5", "7:5", "/nowhere/image");
    let another = machine.dir.path().join("another");
    fs::write(&another, "x").unwrap();
    machine.loop_on("loop6", "7:6", another.to_str().unwrap());
    assert!(machine.passes("7:3"), "nobody uses the other one");
    let machine = machine.mount("7:6", "/data");
    assert!(machine.passes("7:3"), "another file");
    let machine = machine.mount("7:4", "/data");
    assert_eq!(machine.mounted("7:3"), "loop4 on the same file");
    let machine = machine.mount("7:5", "/data");
    assert_eq!(machine.mounted("7:3"), "loop5 that may be on the same file");
    machine.stack("loop4", "dm-2");
    let machine = machine.mount("253:2", "/data");
    assert_eq!(machine.mounted("7:3"), "dm-2 stacked on loop4 on the same file");
}
