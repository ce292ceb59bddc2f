//! `/proc/self/mountinfo`: what a file system without a device number of its own lies on
//! (`proc_pid_mountinfo(5)`).

/// What is mounted: the fields that lead to block devices.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mount {
    /// File system type, `btrfs`.
    pub fs_type: String,
    /// Mount source, `/dev/sda1`.
    pub source: String,
    /// Upper directory of an overlay.
    pub upper_dir: Option<String>,
}

/// The mount with that id in the text of mountinfo.
pub(super) fn find_mount(mountinfo: &str, mount_id: u64) -> Option<Mount> {
    mountinfo.lines().find_map(|line| {
        let (id, rest) = line.split_once(' ')?;
        if id.parse() != Ok(mount_id) {
            return None;
        }
        // A variable number of optional fields ends at a lone hyphen.
        let (_, behind) = rest.split_once(" - ")?;
        let mut fields = behind.split(' ');
        let fs_type = fields.next()?.to_owned();
        let source = unescape(fields.next()?);
        let options = fields.next().unwrap_or("");
        let upper_dir =
            options.split(',').find_map(|option| option.strip_prefix("upperdir=")).map(unescape);
        Some(Mount { fs_type, source, upper_dir })
    })
}

/// The `mnt_id` line of the text of `/proc/self/fdinfo/N`.
pub(super) fn mount_id(fdinfo: &str) -> Option<u64> {
    fdinfo.lines().find_map(|line| line.strip_prefix("mnt_id:")?.trim().parse().ok())
}

/// Undoes the kernel's `\040` for characters that would split fields.
fn unescape(field: &str) -> String {
    let bytes = field.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let octal = bytes.get(at + 1..at + 4).filter(|_| bytes[at] == b'\\').and_then(|digits| {
            let text = std::str::from_utf8(digits).ok()?;
            u8::from_str_radix(text, 8).ok()
        });
        out.push(octal.unwrap_or(bytes[at]));
        at += if octal.is_some() { 4 } else { 1 };
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MOUNTINFO: &str = "\
22 27 0:21 / /proc rw,relatime - proc proc rw
27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard
41 27 0:44 /@home /home rw shared:7 master:1 - btrfs /dev/mapper/my\\040disk rw,ssd,subvol=/@home
52 27 0:50 / /merged rw - overlay overlay rw,lowerdir=/l,upperdir=/up\\040per,workdir=/w
";

    #[test]
    fn mounts_are_found_by_id() {
        let btrfs = find_mount(MOUNTINFO, 41).unwrap();
        assert_eq!(
            (btrfs.fs_type.as_str(), btrfs.source.as_str()),
            ("btrfs", "/dev/mapper/my disk")
        );
        assert_eq!(find_mount(MOUNTINFO, 52).unwrap().upper_dir.as_deref(), Some("/up per"));
        assert_eq!(find_mount(MOUNTINFO, 4), None);
    }

    #[test]
    fn the_mount_id_is_read() {
        assert_eq!(mount_id("pos:\t0\nflags:\t012\nmnt_id:\t27\nino:\t5\n"), Some(27));
        assert_eq!(mount_id("pos:\t0\n"), None);
    }

    proptest! {
        #[test]
        fn nothing_panics(text in "(\\PC|\n|\\\\0){0,200}", id in 0u64..9) {
            let _ = find_mount(&text, id);
            let _ = mount_id(&text);
            let _ = unescape(&text);
        }
    }
}
