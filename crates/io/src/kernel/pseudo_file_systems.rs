//! Where the kernel shows devices and itself: no place for files with data.

use super::path_of_fd;
use std::os::fd::AsFd;

/// File systems by which the kernel shows itself, by what statfs(2) tells of them.
const KERNEL_FILE_SYSTEMS: [(u64, &str); 19] = [
    (0x9fa0, "proc"),
    (0x6265_6572, "sysfs"),
    (0x6462_6720, "debugfs"),
    (0x7472_6163, "tracefs"),
    (0x7363_6673, "securityfs"),
    (0x6265_6570, "configfs"),
    (0x0027_e0eb, "cgroup"),
    (0x6367_7270, "cgroup2"),
    (0xcafe_4a11, "bpf"),
    (0x6165_676c, "pstore"),
    (0xde5e_81e4, "efivarfs"),
    (0xf97c_ff8c, "selinuxfs"),
    (0x4341_5d53, "smackfs"),
    (0x4249_4e4d, "binfmt_misc"),
    (0x1cd1, "devpts"),
    (0x1980_0202, "mqueue"),
    (0x6573_5543, "fusectl"),
    (0x6e73_6673, "nsfs"),
    (0x0765_5821, "resctrl"),
];

/// The file system of something open (`O_PATH` is enough) by which the kernel shows itself; `None` for any other one,
/// and where it cannot be told.
pub(crate) fn pseudo_file_system(fd: impl AsFd) -> Option<&'static str> {
    // A word of 32 bits, whose sign is the architecture's.
    let magic = u64::from(rustix::fs::fstatfs(fd).ok()?.f_type as u32);
    KERNEL_FILE_SYSTEMS.iter().find(|(known, _)| *known == magic).map(|(_, name)| *name)
}

/// Where devices have their names.
const DEVICES: &str = "/dev";
/// A directory for files there, wherever it is mounted.
const SHARED_MEMORY: &str = "/dev/shm";

/// True for `/dev` and directories in it, but for other file systems mounted there: a file made among
/// devices is nearly always a name mistyped, and takes memory until the next boot.
pub fn is_among_devices(directory: impl AsFd) -> bool {
    let Ok(path) = std::fs::read_link(path_of_fd(&directory)) else { return false };
    let same = || {
        let (own, devices) = (rustix::fs::fstat(&directory), rustix::fs::stat(DEVICES));
        own.is_ok_and(|own| devices.is_ok_and(|devices| own.st_dev == devices.st_dev))
    };
    path.starts_with(DEVICES) && !path.starts_with(SHARED_MEMORY) && same()
}
