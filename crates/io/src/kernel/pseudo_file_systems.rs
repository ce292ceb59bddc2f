//! Pseudo file systems and `/dev`: no place for data files.

use super::path_of_fd;
use std::os::fd::AsFd;

/// Pseudo file systems, with their magic numbers from statfs(2).
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

/// Returns the type of the pseudo file system that contains an open object (`O_PATH` is enough). Returns `None` for
/// other file systems, and if the type cannot be read.
pub(crate) fn pseudo_file_system(fd: impl AsFd) -> Option<&'static str> {
    // The magic number has 32 bits. The signedness of the field depends on the architecture.
    let magic = u64::from(rustix::fs::fstatfs(fd).ok()?.f_type as u32);
    KERNEL_FILE_SYSTEMS.iter().find(|(known, _)| *known == magic).map(|(_, name)| *name)
}

/// Directory of device nodes.
const DEVICES: &str = "/dev";
/// A directory for ordinary files in `/dev`, wherever it is mounted.
const SHARED_MEMORY: &str = "/dev/shm";

/// Returns true for `/dev` and directories in it, except for other file systems mounted there. A file created among the
/// devices is nearly always a mistyped name, and occupies memory until the next boot.
pub fn is_among_devices(directory: impl AsFd) -> bool {
    let Ok(path) = std::fs::read_link(path_of_fd(&directory)) else { return false };
    let same = || {
        let (own, devices) = (rustix::fs::fstat(&directory), rustix::fs::stat(DEVICES));
        own.is_ok_and(|own| devices.is_ok_and(|devices| own.st_dev == devices.st_dev))
    };
    path.starts_with(DEVICES) && !path.starts_with(SHARED_MEMORY) && same()
}
