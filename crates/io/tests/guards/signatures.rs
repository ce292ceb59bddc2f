//! A refusal names every format that the tools of this machine can create.

use crate::support::*;
use iogauge_io::targets::{GuardError, HostNumber, Intent, Signature};
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

/// The intent of one of several hosts to write, with every consent that needs no identity.
fn of_several_hosts() -> Intent {
    Intent { host: Some(HostNumber { number: 2, hosts: 2 }), ..writes_anything() }
}

/// Checks that several hosts write a device only after the UUID that blkid(8) shows was typed.
fn check_identity(path: &Path, tag: &str) {
    let arguments = ["-p", "-s", tag, "-o", "value", path.to_str().unwrap()];
    let shown = run("blkid", &arguments).unwrap();
    let refused = refusal(path, of_several_hosts());
    let GuardError::SharedDevice { identity, .. } = &refused else { panic!("{refused}") };
    assert_eq!(*identity, shown, "{refused}");
    assert!(refused.to_string().contains(&format!("--shared-device={shown}")), "{refused}");
    let typed = |text: &str| Intent { shared_devices: vec![text.to_owned()], ..of_several_hosts() };
    let other = refusal(path, typed("00000000-0000-0000-0000-000000000001"));
    assert!(matches!(other, GuardError::OtherDevice { .. }), "{other}");
    resolve(path, typed(&shown)).unwrap();
    // Reading, and one host alone, need no identity.
    resolve(path, Intent { writes: false, ..of_several_hosts() }).unwrap();
    resolve(path, writes_anything()).unwrap();
}

#[test]
fn several_hosts_write_a_device_with_data_only_by_its_identity() {
    for (format, tool, arguments) in FORMATS {
        let image = image(320 * MIB);
        let mut arguments = arguments.to_vec();
        let path = image.path().to_str().unwrap().to_owned();
        arguments.push(&path);
        let made = run(tool, &arguments).and_then(|_| Loop::with_image(image, &[]));
        match made {
            Ok(device) => check_identity(&device.path, "UUID"),
            Err(why) => skip(&format!("identity of {}", format.as_str()), &why),
        }
    }
    for label in ["gpt", "dos"] {
        let image = image(64 * MIB);
        let made = partitioned(image.path(), label).and_then(|()| Loop::with_image(image, &[]));
        match made {
            Ok(device) => check_identity(&device.path, "PTUUID"),
            Err(why) => skip(&format!("identity of {label}"), &why),
        }
    }
    let device = or_skip!("identity of LVM2", Loop::new(64 * MIB));
    or_skip!("identity of LVM2", run("pvcreate", &["--yes", "--quiet", device.as_str()]));
    check_identity(&device.path, "UUID");
}

#[test]
fn several_hosts_write_a_device_without_data() {
    let device = or_skip!("blank_shared_device", Loop::new(16 * MIB));
    resolve(&device.path, of_several_hosts()).unwrap();
    // An identity that was typed has to be that of the device.
    let typed = Intent { shared_devices: vec!["naa.1".to_owned()], ..of_several_hosts() };
    let refused = refusal(&device.path, typed);
    assert!(matches!(refused, GuardError::OtherDevice { .. }), "{refused}");
    // A format without a UUID has a digest instead.
    let file = std::fs::File::options().write(true).open(device.image()).unwrap();
    std::os::unix::fs::FileExt::write_all_at(&file, b"ORCLDISK", 32).unwrap();
    drop(file);
    let refused = refusal(&device.path, of_several_hosts());
    let GuardError::SharedDevice { identity, .. } = refused else { panic!("{refused}") };
    assert!(identity.starts_with("content-"), "{identity}");
    let typed = Intent { shared_devices: vec![identity], ..of_several_hosts() };
    resolve(&device.path, typed).unwrap();
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
