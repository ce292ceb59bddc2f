//! Tests the walk on made-up sysfs trees.

use super::*;
use std::fs;
use std::os::unix::fs::MetadataExt;

/// A `/` with a made-up sysfs.
struct Fake {
    dir: tempfile::TempDir,
}

impl Fake {
    fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap() }
    }

    fn roots(&self) -> Roots {
        Roots::at(self.dir.path().canonicalize().unwrap())
    }

    fn write(&self, below: &str, text: &str) {
        let path = self.dir.path().join(below);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Creates a symbolic link at `below` to a path in the made-up tree.
    fn link(&self, below: &str, to: &str) {
        let path = self.dir.path().join(below);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(self.dir.path().join(to), path).unwrap();
    }

    /// Adds a disk at `sys/devices/NAME`. Hidden disks have no number.
    fn disk(&self, name: &str, number: Option<&str>) {
        let dir = format!("sys/devices/{name}");
        self.write(&format!("{dir}/queue/iostats"), "1\n");
        self.link(&format!("sys/block/{name}"), &dir);
        self.link(&format!("sys/class/block/{name}"), &dir);
        if let Some(number) = number {
            self.link(&format!("sys/dev/block/{number}"), &dir);
        }
    }

    fn partition(&self, disk: &str, name: &str, number: &str) {
        let dir = format!("sys/devices/{disk}/{name}");
        self.write(&format!("{dir}/partition"), "1\n");
        self.link(&format!("sys/class/block/{name}"), &dir);
        self.link(&format!("sys/dev/block/{number}"), &dir);
    }

    fn slave(&self, upper: &str, lower: &str) {
        let name = lower.rsplit('/').next().unwrap();
        let link = format!("sys/devices/{upper}/slaves/{name}");
        self.link(&link, &format!("sys/devices/{lower}"));
    }

    fn tree(&self, major: u32, minor: u32) -> DeviceTree {
        DeviceTree::of_device(&self.roots(), major, minor).unwrap()
    }
}

#[test]
fn lvm_on_raid_on_partitions_resolves_to_disks() {
    let fake = Fake::new();
    for (disk, part, n) in [("sda", "sda2", 0), ("sdb", "sdb2", 16)] {
        fake.disk(disk, Some(&format!("8:{n}")));
        fake.partition(disk, part, &format!("8:{}", n + 2));
    }
    fake.disk("md0", Some("9:0"));
    fake.slave("md0", "sda/sda2");
    fake.slave("md0", "sdb/sdb2");
    fake.disk("dm-0", Some("252:0"));
    fake.write("sys/devices/dm-0/dm/name", "vg-data\n");
    fake.slave("dm-0", "md0");

    let tree = fake.tree(252, 0);
    assert_eq!(tree.leaves(), ["sda", "sdb"]);
    assert_eq!(tree.chain(), "dm-0 (vg-data) on md0 on (sda2 on sda, sdb2 on sdb)");
    assert!(tree.is_counted());
}

#[test]
fn two_volumes_on_one_disk_share_one_leaf_device() {
    let fake = Fake::new();
    fake.disk("sda", Some("8:0"));
    for n in 0..2 {
        fake.disk(&format!("dm-{n}"), Some(&format!("252:{n}")));
        fake.slave(&format!("dm-{n}"), "sda");
    }
    let mut walk = Walk::new(fake.roots());
    walk.start_at_number(DeviceNumber { major: 252, minor: 0 }).unwrap();
    walk.start_at_number(DeviceNumber { major: 252, minor: 1 }).unwrap();
    walk.start_at_number(DeviceNumber { major: 252, minor: 1 }).unwrap();
    assert_eq!(walk.tree.leaves(), ["sda"]);
    assert_eq!(walk.tree.chain(), "dm-0 on sda; dm-1 on sda");
    assert_eq!(walk.tree.layers().len(), 3);
}

#[test]
fn multipath_nvme_resolves_to_hidden_path_devices() {
    let fake = Fake::new();
    fake.disk("nvme0n1", Some("259:0"));
    fake.disk("nvme0n11", Some("259:1"));
    fake.partition("nvme0n1", "nvme0n1p1", "259:2");
    for path in ["nvme0c0n1", "nvme0c1n1", "nvme0c0n11", "nvme1c0n1"] {
        fake.disk(path, None);
    }
    let tree = fake.tree(259, 2);
    assert_eq!(tree.leaves(), ["nvme0c0n1", "nvme0c1n1"]);
    assert_eq!(tree.chain(), "nvme0n1p1 on nvme0n1 on (nvme0c0n1, nvme0c1n1)");
}

#[test]
fn single_path_nvme_is_its_own_leaf_device() {
    let fake = Fake::new();
    fake.disk("nvme1n1", Some("259:0"));
    assert_eq!(fake.tree(259, 0).leaves(), ["nvme1n1"]);
}

#[test]
fn device_with_iostats_off_is_not_counted() {
    let fake = Fake::new();
    fake.disk("sda", Some("8:0"));
    fake.write("sys/devices/sda/queue/iostats", "0\n");
    assert!(!fake.tree(8, 0).is_counted());
    assert!(!DeviceTree::default().is_counted());
}

#[test]
fn sysfs_names_with_slash_match_diskstats() {
    let fake = Fake::new();
    fake.disk("cciss!c0d0", Some("104:0"));
    assert_eq!(fake.tree(104, 0).leaves(), ["cciss/c0d0"]);
}

#[test]
fn unknown_device_number_error_mentions_sysfs() {
    let error = DeviceTree::of_device(&Fake::new().roots(), 8, 1).unwrap_err().to_string();
    assert!(error.contains("8:1") && error.contains("sysfs"), "{error}");
}

#[test]
fn cycle_in_device_tree_terminates() {
    let fake = Fake::new();
    fake.disk("dm-0", Some("252:0"));
    fake.disk("dm-1", Some("252:1"));
    fake.slave("dm-0", "dm-1");
    fake.slave("dm-1", "dm-0");
    let tree = fake.tree(252, 0);
    assert_eq!(tree.chain(), "dm-0 on dm-1");
    assert_eq!(tree.leaves(), ["dm-1"]);
}

#[test]
fn loop_device_resolves_to_disk_of_backing_file() {
    let fake = Fake::new();
    let image = fake.dir.path().join("image");
    fs::write(&image, "x").unwrap();
    let number = fs::metadata(&image).unwrap().dev();
    let (major, minor) = (rustix::fs::major(number), rustix::fs::minor(number));
    if major == 0 {
        eprintln!(
            "SKIPPED loop_device_resolves_to_disk_of_backing_file: temporary files lie on no block device"
        );
        assert_ne!(std::env::var("IOGAUGE_REQUIRE_ALL").as_deref(), Ok("1"));
        return;
    }
    fake.disk("sda", Some(&format!("{major}:{minor}")));
    fake.disk("loop3", Some("7:3"));
    fake.write("sys/devices/loop3/loop/backing_file", "/image\n");
    assert_eq!(fake.tree(7, 3).chain(), "loop3 on sda");

    fake.write("sys/devices/loop3/loop/backing_file", "/image (deleted)\n");
    assert_eq!(fake.tree(7, 3).chain(), "loop3");
}

/// Returns a mount with an anonymous device number.
fn mount(file_system: &str, source: &str) -> Mount {
    let line = format!("41 27 0:44 / /data rw - {file_system} {source} rw");
    crate::kernel::parse_mountinfo(line.as_bytes()).remove(0)
}

#[test]
fn btrfs_mount_resolves_to_all_member_devices() {
    let fake = Fake::new();
    fake.disk("sda", Some("8:0"));
    fake.disk("sdb", Some("8:16"));
    fake.disk("sdc", Some("8:32"));
    fake.link("sys/fs/btrfs/a-uuid/devices/sda", "sys/devices/sda");
    fake.link("sys/fs/btrfs/a-uuid/devices/sdb", "sys/devices/sdb");
    fake.link("sys/fs/btrfs/b-uuid/devices/sdc", "sys/devices/sdc");
    let mut walk = Walk::new(fake.roots());
    assert_eq!(walk.names_under_mount(&mount("btrfs", "/dev/sda")), ["sda", "sdb"]);
}

#[test]
fn non_device_mount_sources_yield_no_devices() {
    let fake = Fake::new();
    fake.disk("sda", Some("8:0"));
    fake.disk("sdb", Some("8:16"));
    let mut walk = Walk::new(fake.roots());
    let mut names = |fs_type: &str, source: &str| walk.names_under_mount(&mount(fs_type, source));
    assert!(names("nfs", "server:/export").is_empty());
    assert!(names("zfs", "pool/data").is_empty());
    assert!(names("tmpfs", "tmpfs").is_empty());
    assert!(names("btrfs", "/dev/nowhere").is_empty());
    assert_eq!(names("bcachefs", "/dev/sda:/dev/sdb"), ["sda", "sdb"]);
}

#[test]
fn proc_files_and_character_devices_have_no_disks() {
    for path in ["/proc/self/stat", "/dev/null"] {
        assert!(DeviceTree::under(Path::new(path)).unwrap().is_empty(), "{path}");
    }
}

#[test]
fn missing_path_is_reported_in_error() {
    let error = DeviceTree::under(Path::new("/nowhere/file")).unwrap_err().to_string();
    assert!(error.contains("/nowhere/file"), "{error}");
}

#[test]
fn machine_disks_exclude_unused_devices() {
    let fake = Fake::new();
    for (name, number, sectors, read_only) in [
        ("sda", "8:0", 2048, 0),
        ("dm-0", "252:0", 1024, 0),
        ("loop0", "7:0", 64, 1),
        ("loop1", "7:1", 64, 0),
        ("loop2", "7:2", 0, 0),
        ("ram0", "1:0", 64, 0),
        ("sr0", "11:0", 0, 0),
        ("rambus", "9:9", 64, 0),
    ] {
        fake.disk(name, Some(number));
        fake.write(&format!("sys/devices/{name}/size"), &format!("{sectors}\n"));
        fake.write(&format!("sys/devices/{name}/ro"), &format!("{read_only}\n"));
    }
    fake.partition("sda", "sda1", "8:1");
    fake.slave("dm-0", "sda/sda1");
    let tree = DeviceTree::of_machine(&fake.roots());
    assert_eq!(tree.tops(), ["dm-0", "loop1", "rambus", "sda"]);
    assert_eq!(tree.leaves(), ["sda", "loop1", "rambus"]);
    let whole = tree.layers().iter().filter(|layer| layer.whole);
    let whole: Vec<&str> = whole.map(|layer| layer.name.as_str()).collect();
    assert_eq!(whole, ["dm-0", "sda", "loop1", "rambus"]);
}

#[test]
fn devices_are_selected_by_kernel_name_or_node() {
    let fake = Fake::new();
    fake.disk("sda", Some("8:0"));
    fake.disk("cciss!c0d0", Some("104:0"));
    fake.write("dev/sda", "");
    let named = |names: &[&str]| {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        DeviceTree::default().with_devices(&fake.roots(), &names)
    };
    let tree = named(&["cciss/c0d0", "/dev/sda", "sda"]).unwrap();
    assert_eq!(tree.tops(), ["cciss/c0d0", "sda"]);
    let error = named(&["sdz"]).unwrap_err().to_string();
    assert!(error.contains("sdz"), "{error}");
}
