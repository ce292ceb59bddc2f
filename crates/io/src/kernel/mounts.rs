//! Mounts (proc_pid_mountinfo(5)).

use super::{DeviceNumber, Roots, text};
use std::ffi::OsString;
use std::fs;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

/// One line of mountinfo: the fields that lead to block devices.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mount {
    /// The `mnt_id` in `/proc/self/fdinfo/N`.
    pub id: u64,
    /// The device number. It is anonymous (major 0) for btrfs, overlays and file systems without a device.
    pub device: DeviceNumber,
    /// The mounted directory within the file system; `/` if all of it is mounted.
    pub root: PathBuf,
    /// Where it is mounted.
    pub mount_point: PathBuf,
    /// File system type, such as `btrfs`.
    pub file_system: String,
    /// Mount source, such as `/dev/sda1`; free text for some file systems.
    pub source: PathBuf,
    /// Options of the mount, such as `rw,noatime`.
    pub options: String,
    /// Options of the file system, such as `rw,discard`; for cgroup v1 they include the controllers.
    pub super_options: String,
    /// Upper directory of an overlay.
    pub upper_dir: Option<PathBuf>,
}

/// Returns the mounts that a process sees, given by its PID or `self`; none if procfs does not show them.
pub(crate) fn mounts_of(process: &str, roots: &Roots) -> Vec<Mount> {
    let path = roots.path("proc").join(process).join("mountinfo");
    parse_mountinfo(&fs::read(path).unwrap_or_default())
}

/// Returns the mount that contains an open object; `None` if procfs does not show it.
pub(crate) fn mount_of_open(fd: impl AsFd, roots: &Roots) -> Option<Mount> {
    let fdinfo = format!("proc/self/fdinfo/{}", fd.as_fd().as_raw_fd());
    let id = mount_id(&text(&roots.path(fdinfo))?)?;
    mounts_of("self", roots).into_iter().find(|mount| mount.id == id)
}

/// Parses the text of mountinfo. Keeps the order and skips malformed lines.
#[must_use]
pub fn parse_mountinfo(text: &[u8]) -> Vec<Mount> {
    text.split(|b| *b == b'\n').filter_map(parse_mount).collect()
}

fn parse_mount(line: &[u8]) -> Option<Mount> {
    let mut fields = line.split(|b| *b == b' ');
    let id = std::str::from_utf8(fields.next()?).ok()?.parse().ok()?;
    let device = std::str::from_utf8(fields.nth(1)?).ok()?.parse().ok()?;
    let root = unescape(fields.next()?);
    let mount_point = unescape(fields.next()?);
    let options = String::from_utf8_lossy(fields.next()?).into_owned();
    // The number of optional fields varies. They end with a single hyphen.
    fields.find(|field| *field == b"-")?;
    let file_system = String::from_utf8_lossy(fields.next()?).into_owned();
    let source = unescape(fields.next()?);
    let super_options = fields.next().unwrap_or_default();
    let mut words = super_options.split(|b| *b == b',');
    let upper_dir = words.find_map(|option| option.strip_prefix(b"upperdir=")).map(unescape);
    let super_options = String::from_utf8_lossy(super_options).into_owned();
    Some(Mount {
        id,
        device,
        root,
        mount_point,
        file_system,
        source,
        options,
        super_options,
        upper_dir,
    })
}

/// Returns the `mnt_id` in the text of `/proc/self/fdinfo/N`.
fn mount_id(fdinfo: &str) -> Option<u64> {
    fdinfo.lines().find_map(|line| line.strip_prefix("mnt_id:")?.trim().parse().ok())
}

/// Decodes the kernel's octal escapes (`\040` for a space) in a path.
pub(crate) fn unescape(field: &[u8]) -> PathBuf {
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::path::Path;

    const MOUNTINFO: &[u8] = b"\
22 27 0:21 / /proc rw,relatime - proc proc rw
27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard
36 35 8:17 / /mnt/my\\040disk rw,noatime shared:1 master:2 - ext4 /dev/sdb1 rw
broken line
41 27 0:44 /@home /home rw shared:7 master:1 - btrfs /dev/mapper/my\\040disk rw,ssd,subvol=/@home
52 27 0:50 / /merged rw - overlay overlay rw,lowerdir=/l,upperdir=/up\\040per,workdir=/w
";

    #[test]
    fn mountinfo_escapes_are_decoded() {
        let mounts = parse_mountinfo(MOUNTINFO);
        assert_eq!(mounts.iter().map(|m| m.id).collect::<Vec<_>>(), [22, 27, 36, 41, 52]);
        assert_eq!(mounts[2].device, DeviceNumber { major: 8, minor: 17 });
        assert_eq!(mounts[2].mount_point, Path::new("/mnt/my disk"));
        assert_eq!(mounts[2].source, Path::new("/dev/sdb1"));
        assert_eq!(
            (mounts[2].options.as_str(), mounts[2].super_options.as_str()),
            ("rw,noatime", "rw")
        );
        assert_eq!(mounts[3].root, Path::new("/@home"));
        assert_eq!(mounts[3].file_system, "btrfs");
        assert_eq!(mounts[3].source, Path::new("/dev/mapper/my disk"));
        assert_eq!(mounts[3].upper_dir, None);
        assert_eq!(mounts[4].upper_dir.as_deref(), Some(Path::new("/up per")));
    }

    #[test]
    fn mount_id_is_parsed_from_fdinfo() {
        assert_eq!(mount_id("pos:\t0\nflags:\t012\nmnt_id:\t27\nino:\t5\n"), Some(27));
        assert_eq!(mount_id("pos:\t0\n"), None);
    }

    proptest! {
        #[test]
        fn parsing_mountinfo_bytes_never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = parse_mountinfo(&bytes);
            let _ = unescape(&bytes);
            let _ = mount_id(&String::from_utf8_lossy(&bytes));
        }

        #[test]
        fn almost_valid_mountinfo_never_panics(text in "[0-9:/ \\-a\\\\\n]{0,80}") {
            let _ = parse_mountinfo(text.as_bytes());
        }
    }
}
