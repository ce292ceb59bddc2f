//! A refusal names every format that the tools of this machine can create.

use crate::support::*;
use iogauge_io::targets::{GuardError, Signature};
use std::path::Path;
use std::process::{Command, Stdio};

/// Formats with the command that creates them. The path of the image is its last argument.
const FORMATS: &[(Signature, &str, &[&str])] = &[
    (Signature::Ext2, "mkfs.ext2", &["-q", "-F"]),
    (Signature::Ext3, "mkfs.ext3", &["-q", "-F"]),
    (Signature::Ext4, "mkfs.ext4", &["-q", "-F"]),
    (Signature::Xfs, "mkfs.xfs", &["-q", "-f"]),
    (Signature::Btrfs, "mkfs.btrfs", &["-q", "-f"]),
    (Signature::F2fs, "mkfs.f2fs", &["-q", "-f"]),
    (Signature::Vfat, "mkfs.vfat", &["-F", "32"]),
    (Signature::Ntfs, "mkfs.ntfs", &["-Q", "-q", "-F"]),
    (Signature::Exfat, "mkfs.exfat", &[]),
    (Signature::Swap, "mkswap", &[]),
    (Signature::Bcache, "make-bcache", &["-B"]),
    (Signature::Luks1, "cryptsetup", LUKS1),
    (Signature::Luks2, "cryptsetup", LUKS2),
];

const LUKS1: &[&str] = &[
    "luksFormat",
    "--batch-mode",
    "--type",
    "luks1",
    "--iter-time",
    "1",
    "--key-file",
    "/proc/version",
];
const LUKS2: &[&str] = &[
    "luksFormat",
    "--batch-mode",
    "--type",
    "luks2",
    "--pbkdf",
    "pbkdf2",
    "--iter-time",
    "1",
    "--key-file",
    "/proc/version",
];

/// Returns the formats that the refusal names.
fn named(image: tempfile::NamedTempFile) -> Result<Vec<Signature>, String> {
    let device = Loop::with_image(image, &[])?;
    match refusal(&device.path, writes()) {
        GuardError::DestroyDataMissing { contents, .. } => {
            resolve(&device.path, writes_anything()).unwrap();
            Ok(contents.whole)
        }
        other => panic!("{other}"),
    }
}

#[test]
fn formats_made_by_tools_are_recognized() {
    for (wanted, tool, arguments) in FORMATS {
        let image = image(320 * MIB);
        let mut arguments = arguments.to_vec();
        let path = image.path().to_str().unwrap().to_owned();
        arguments.push(&path);
        match run(tool, &arguments).and_then(|_| named(image)) {
            Ok(found) => assert_eq!(found, [*wanted], "{tool}"),
            Err(why) => skip(&format!("signature of {}", wanted.as_str()), &why),
        }
    }
}

fn partitioned(image: &Path, label: &str) -> Result<(), String> {
    let mut child = Command::new("sfdisk")
        .args(["--quiet", "--label", label, image.to_str().unwrap()])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| format!("sfdisk: {error}"))?;
    let input = child.stdin.take().unwrap();
    std::io::Write::write_all(&mut &input, b"size=8M\n").map_err(|error| error.to_string())?;
    drop(input);
    match child.wait() {
        Ok(status) if status.success() => Ok(()),
        other => Err(format!("sfdisk: {other:?}")),
    }
}

#[test]
fn partition_tables_are_recognized() {
    for (label, wanted) in [("gpt", Signature::Gpt), ("dos", Signature::Mbr)] {
        let image = image(64 * MIB);
        let made = partitioned(image.path(), label);
        match made.and_then(|()| named(image)) {
            Ok(found) => assert_eq!(found, [wanted]),
            Err(why) => skip(&format!("signature of {label}"), &why),
        }
    }
}

#[test]
fn squashfs_and_iso_images_are_recognized() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("file"), vec![7; 1 << 20]).unwrap();
    let source = dir.path().to_str().unwrap();
    for (wanted, tool) in [(Signature::Squashfs, "mksquashfs"), (Signature::Iso9660, "genisoimage")]
    {
        let image = image(0);
        let path = image.path().to_str().unwrap().to_owned();
        let arguments = match wanted {
            Signature::Squashfs => [source, &path, "-noappend", "-quiet"],
            _ => ["-quiet", "-o", &path, source],
        };
        match run(tool, &arguments).and_then(|_| named(image)) {
            Ok(found) => assert!(found.contains(&wanted), "{tool}: {found:?}"),
            Err(why) => skip(&format!("signature of {}", wanted.as_str()), &why),
        }
    }
}

#[test]
fn lvm_physical_volume_is_recognized() {
    let device = or_skip!("signature of LVM2", Loop::new(64 * MIB));
    let path = device.path.to_str().unwrap();
    or_skip!("signature of LVM2", run("pvcreate", &["--yes", "--quiet", path]));
    let found = refusal(&device.path, writes()).to_string();
    assert!(found.contains("LVM2 physical volume"), "{found}");
}
