//! Finds users of a file or device in procfs (proc(5)): mounts, swap, open files.

use crate::kernel::{Mount, Roots, mounts_of, unescape};
use crate::targets::descriptor::Identity;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Returns the mounts of the mount namespaces of all processes; those of this process come first.
///
/// Without privileges, only the namespaces of the user's own processes are visible, and that of process 1 if its mounts
/// may be read.
pub(crate) fn mounts(roots: &Roots) -> Vec<Mount> {
    let mut seen = Vec::new();
    let others = numbered(&roots.path("proc")).into_iter().map(|pid| pid.to_string());
    ["self".to_owned(), "1".to_owned()]
        .into_iter()
        .chain(others)
        .filter(|process| {
            let namespace = fs::read_link(roots.path("proc").join(process).join("ns/mnt"));
            // A process whose namespace is unknown is always included.
            namespace.map_or(true, |namespace| {
                let new = !seen.contains(&namespace);
                if new {
                    seen.push(namespace);
                }
                new
            })
        })
        .flat_map(|process| mounts_of(&process, roots))
        .collect()
}

/// Returns the paths of active swap files and devices.
pub(crate) fn swaps(roots: &Roots) -> Vec<PathBuf> {
    parse_swaps(&fs::read(roots.path("proc/swaps")).unwrap_or_default())
}

fn parse_swaps(text: &[u8]) -> Vec<PathBuf> {
    text.split(|b| *b == b'\n')
        .skip(1)
        .filter_map(|line| line.split(|b| matches!(b, b' ' | b'\t')).next())
        .filter(|field| !field.is_empty())
        .map(unescape)
        .collect()
}

/// A process that has an object open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct User {
    pub pid: u32,
    pub command: String,
    pub writes: bool,
}

impl User {
    pub fn describe(&self) -> String {
        format!("{} (pid {})", self.command, self.pid)
    }
}

/// Returns the other processes that have one of `objects` open, writers first.
///
/// Costs one `stat` per open file on the machine. Without privileges, only the user's own processes are visible.
pub(crate) fn users(objects: &[Identity], roots: &Roots) -> Vec<User> {
    let own = std::process::id();
    let mut users: Vec<User> = numbered(&roots.path("proc"))
        .into_iter()
        .filter(|pid| *pid != own)
        .filter_map(|pid| process_use(pid, objects, roots))
        .collect();
    users.sort_by_key(|user| (!user.writes, user.pid));
    users
}

fn process_use(pid: u32, objects: &[Identity], roots: &Roots) -> Option<User> {
    let dir = roots.path("proc").join(pid.to_string());
    let mut found = None;
    for fd in numbered(&dir.join("fd")) {
        let fd = fd.to_string();
        if Identity::at(&dir.join("fd").join(&fd)).is_some_and(|object| objects.contains(&object)) {
            let info = fs::read_to_string(dir.join("fdinfo").join(&fd)).unwrap_or_default();
            *found.get_or_insert(false) |= opened_for_writing(&info);
        }
    }
    let command = fs::read_to_string(dir.join("comm")).unwrap_or_default().trim().to_owned();
    found.map(|writes| User { pid, command, writes })
}

/// Returns true if the octal `flags:` line of an fdinfo text has an access mode that allows writing.
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
    fn proc_swaps_header_is_skipped() {
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
        fn parsing_proc_swaps_and_fdinfo_never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = parse_swaps(&bytes);
            let _ = opened_for_writing(&String::from_utf8_lossy(&bytes));
        }
    }
}
