//! Who uses a file or device: mounts, swap, open files. All from procfs (proc(5)).

use crate::target::device::{DeviceNumber, Roots};
use rustix::fs::{AtFlags, CWD, FileType, StatxFlags, statx};
use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// One line of mountinfo.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::target) struct Mount {
    pub device: DeviceNumber,
    pub mount_point: PathBuf,
    pub file_system: String,
    pub source: PathBuf,
}

/// Mounts this process sees and those of the first process, which may live in another namespace.
pub(in crate::target) fn mounts(roots: &Roots) -> Vec<Mount> {
    let mut mounts = Vec::new();
    for process in ["1", "self"] {
        let text = fs::read(roots.proc.join(process).join("mountinfo")).unwrap_or_default();
        mounts.extend(parse_mountinfo(&text));
    }
    mounts
}

pub(in crate::target) fn own_mounts(roots: &Roots) -> Vec<Mount> {
    parse_mountinfo(&fs::read(roots.proc.join("self/mountinfo")).unwrap_or_default())
}

fn parse_mountinfo(text: &[u8]) -> Vec<Mount> {
    text.split(|b| *b == b'\n').filter_map(parse_mount).collect()
}

fn parse_mount(line: &[u8]) -> Option<Mount> {
    let mut fields = line.split(|b| *b == b' ');
    let device = std::str::from_utf8(fields.nth(2)?).ok()?.parse().ok()?;
    let mount_point = unescape(fields.nth(1)?);
    // Optional fields vary in number and end with a lone hyphen.
    fields.find(|field| *field == b"-")?;
    let file_system = String::from_utf8_lossy(fields.next()?).into_owned();
    let source = unescape(fields.next()?);
    Some(Mount { device, mount_point, file_system, source })
}

/// Paths of active swap files and devices.
pub(in crate::target) fn swaps(roots: &Roots) -> Vec<PathBuf> {
    parse_swaps(&fs::read(roots.proc.join("swaps")).unwrap_or_default())
}

fn parse_swaps(text: &[u8]) -> Vec<PathBuf> {
    text.split(|b| *b == b'\n')
        .skip(1)
        .filter_map(|line| line.split(|b| matches!(b, b' ' | b'\t')).next())
        .filter(|field| !field.is_empty())
        .map(unescape)
        .collect()
}

/// A path with the kernel's octal escapes (`\040` for a space) undone.
fn unescape(field: &[u8]) -> PathBuf {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((&first, tail)) = rest.split_first() {
        let octal = |b: &u8| (b'0'..=b'7').contains(b);
        if first == b'\\' && tail.len() >= 3 && tail[0] <= b'3' && tail[..3].iter().all(octal) {
            bytes.push((tail[0] - b'0') << 6 | (tail[1] - b'0') << 3 | (tail[2] - b'0'));
            rest = &tail[3..];
        } else {
            bytes.push(first);
            rest = tail;
        }
    }
    PathBuf::from(OsString::from_vec(bytes))
}

/// What a file descriptor of another process may point at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::target) enum Object {
    /// A block device, whatever node it was opened through.
    Device(DeviceNumber),
    /// A file, by the device it lies on and its inode.
    File { device: DeviceNumber, inode: u64 },
}

/// A process that has something open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::target) struct User {
    pub pid: u32,
    pub command: String,
    pub writes: bool,
}

impl User {
    pub fn describe(&self) -> String {
        format!("{} (pid {})", self.command, self.pid)
    }
}

/// Other processes that have one of `objects` open, those that write first.
///
/// Costs one `stat` per open file of the machine. Without privileges only the user's own
/// processes are seen.
pub(in crate::target) fn users(objects: &[Object], roots: &Roots) -> Vec<User> {
    let own = std::process::id();
    let mut users: Vec<User> = numbered(&roots.proc)
        .into_iter()
        .filter(|pid| *pid != own)
        .filter_map(|pid| process_use(pid, objects, roots))
        .collect();
    users.sort_by_key(|user| (!user.writes, user.pid));
    users
}

fn process_use(pid: u32, objects: &[Object], roots: &Roots) -> Option<User> {
    let dir = roots.proc.join(pid.to_string());
    let mut found = None;
    for fd in numbered(&dir.join("fd")) {
        let fd = fd.to_string();
        if object_at(&dir.join("fd").join(&fd)).is_some_and(|object| objects.contains(&object)) {
            let info = fs::read_to_string(dir.join("fdinfo").join(&fd)).unwrap_or_default();
            *found.get_or_insert(false) |= opened_for_writing(&info);
        }
    }
    let command = fs::read_to_string(dir.join("comm")).unwrap_or_default().trim().to_owned();
    found.map(|writes| User { pid, command, writes })
}

/// What the path leads to, asking no server of a network file system for it.
pub(in crate::target) fn object_at(path: &Path) -> Option<Object> {
    let flags = AtFlags::STATX_DONT_SYNC;
    let stat = statx(CWD, path, flags, StatxFlags::TYPE | StatxFlags::INO).ok()?;
    match FileType::from_raw_mode(stat.stx_mode.into()) {
        FileType::BlockDevice => Some(Object::Device(DeviceNumber {
            major: stat.stx_rdev_major,
            minor: stat.stx_rdev_minor,
        })),
        FileType::RegularFile => Some(Object::File {
            device: DeviceNumber { major: stat.stx_dev_major, minor: stat.stx_dev_minor },
            inode: stat.stx_ino,
        }),
        _ => None,
    }
}

/// The access mode in the octal `flags:` line of fdinfo.
fn opened_for_writing(fdinfo: &str) -> bool {
    fdinfo
        .lines()
        .find_map(|line| line.strip_prefix("flags:"))
        .and_then(|flags| u32::from_str_radix(flags.trim(), 8).ok())
        .is_some_and(|flags| flags & 0b11 != 0)
}

fn numbered(dir: &Path) -> Vec<u32> {
    fs::read_dir(dir)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| std::str::from_utf8(entry.file_name().as_bytes()).ok()?.parse().ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn mountinfo_is_read_with_its_escapes() {
        let text =
            b"36 35 8:17 / /mnt/my\\040disk rw,noatime shared:1 master:2 - ext4 /dev/sdb1 rw\n\
                     27 1 0:42 / /data rw - btrfs /dev/sdc rw\nbroken line\n";
        let mounts = parse_mountinfo(text);
        assert_eq!(mounts.len(), 2);
        assert_eq!(mounts[0].device, DeviceNumber { major: 8, minor: 17 });
        assert_eq!(mounts[0].mount_point, Path::new("/mnt/my disk"));
        assert_eq!(mounts[1].file_system, "btrfs");
        assert_eq!(mounts[1].source, Path::new("/dev/sdc"));
    }

    #[test]
    fn swaps_are_read_without_the_heading() {
        let text = b"Filename\tType\tSize\tUsed\tPriority\n/dev/sdb1   partition 65532 0 -2\n\
                     /swap\\040file file 1 0 -3\n";
        assert_eq!(parse_swaps(text), [PathBuf::from("/dev/sdb1"), PathBuf::from("/swap file")]);
        assert!(parse_swaps(b"").is_empty());
    }

    #[test]
    fn access_modes_come_from_the_flags_line() {
        assert!(opened_for_writing("pos:\t0\nflags:\t0100002\nmnt_id:\t9\n"));
        assert!(opened_for_writing("flags:\t01\n"));
        assert!(!opened_for_writing("pos:\t0\nflags:\t0100000\n"));
        assert!(!opened_for_writing("flags:\tx\n"));
    }

    proptest! {
        #[test]
        fn parsers_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = parse_mountinfo(&bytes);
            let _ = parse_swaps(&bytes);
            let _ = unescape(&bytes);
            let _ = opened_for_writing(&String::from_utf8_lossy(&bytes));
        }

        #[test]
        fn near_misses_of_mountinfo_never_panic(text in "[0-9:/ \\-a\\\\\n]{0,80}") {
            let _ = parse_mountinfo(text.as_bytes());
        }
    }
}
