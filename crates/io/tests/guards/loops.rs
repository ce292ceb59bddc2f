//! Tests with loop devices on files and devices that are in use, and on files to be removed.

use crate::support::*;
use iogauge_io::targets::{
    BASE_BYTES, Cleaned, GuardError, Intent, LeftBecause, Marker, Ownership, TargetError, clean,
    clean_parts, ownership,
};
use std::fs::{self, File, Permissions};
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;
use std::thread;

/// The user and group that own files in these tests, without root's rights.
const NOBODY: u32 = 65_534;

#[test]
fn loop_device_is_refused_if_its_backing_file_is_in_use() {
    let image = image(64 * MIB);
    let whole = or_skip!("beside_loop", Loop::on(image.path(), &[]));
    let behind = or_skip!("beside_loop", Loop::on(image.path(), &["--offset", "1048576"]));
    for (used, target) in [(&whole, &behind), (&behind, &whole)] {
        let name = used.path.file_name().unwrap().to_str().unwrap();
        let mount = or_skip!("beside_loop", mounted_ext4(&used.path));
        match refusal(&target.path, writes_anything()) {
            GuardError::Mounted { what, mount_point, .. } => {
                assert_eq!(what, format!("{name} on the same file"));
                assert_eq!(mount_point, mount.point);
            }
            other => panic!("{other}"),
        }
        drop(mount);
        let swap = or_skip!("beside_loop", Swap::on(&used.path));
        let refused = refusal(&target.path, writes_anything());
        assert!(matches!(refused, GuardError::Swap { .. }), "{refused}");
        drop(swap);
        for flags in [libc::O_RDONLY | libc::O_EXCL, libc::O_RDWR] {
            let _holder = or_skip!("beside_loop", Holder::open(&used.path, flags));
            let refused = refusal(&target.path, writes_anything());
            assert!(matches!(refused, GuardError::Held { .. }), "{refused}");
        }
        let target = resolve(&target.path, writes_anything()).unwrap();
        or_skip!("beside_loop", run("mkfs.ext4", &["-q", "-F", image.path().to_str().unwrap()]));
        assert!(Mount::of(&used.path).is_err(), "the claim lasts as long as the target");
        drop(target);
    }
}

#[test]
fn loop_device_in_use_refuses_stack_on_same_backing_file() {
    let image = image(64 * MIB);
    let lower = or_skip!("beside_stack", Loop::on(image.path(), &[]));
    let upper = or_skip!("beside_stack", Loop::on(&lower.path, &[]));
    let beside = or_skip!("beside_stack", Loop::on(image.path(), &[]));
    drop(resolve(&upper.path, writes_anything()).unwrap());
    let mount = or_skip!("beside_stack", mounted_ext4(&beside.path));
    for target in [&lower, &upper] {
        let refused = refusal(&target.path, writes_anything());
        assert!(matches!(refused, GuardError::Mounted { .. }), "{refused}");
    }
    drop(mount);
    let _mount = or_skip!("beside_stack", Mount::of(&upper.path));
    let refused = refusal(&beside.path, writes_anything());
    assert!(matches!(refused, GuardError::Mounted { .. }), "{refused}");
}

#[test]
fn loop_devices_on_disk_and_its_partition_conflict() {
    let disk = or_skip!("beside_partition", Loop::new(64 * MIB));
    let partition = or_skip!("beside_partition", disk.add_partition(2048, 65536));
    let on_partition = or_skip!("beside_partition", Loop::on(&partition, &[]));
    let on_disk = or_skip!("beside_partition", Loop::on(&disk.path, &[]));
    drop(resolve(&on_disk.path, writes_anything()).unwrap());
    drop(resolve(&on_partition.path, writes_anything()).unwrap());
    for (used, target) in [(&on_partition, &on_disk), (&on_disk, &on_partition)] {
        let _mount = or_skip!("beside_partition", mounted_ext4(&used.path));
        let refused = refusal(&target.path, writes_anything());
        assert!(matches!(refused, GuardError::Mounted { .. }), "{refused}");
    }
}

/// Resolves a file for writing as a user who may not open loop devices.
fn as_nobody(path: &Path) -> Result<(), TargetError> {
    let path = path.to_owned();
    let overwrite = Intent { overwrite: true, direct: false, ..writes() };
    let judge = move || {
        // SAFETY: changes the file system identity of this thread only, which then ends.
        unsafe {
            libc::setfsgid(NOBODY);
            libc::setfsuid(NOBODY);
        }
        resolve(&path, overwrite).map(drop)
    };
    thread::spawn(judge).join().unwrap()
}

/// Fails unless the file is refused because a loop device may be on it. The device named may be one of a concurrent
/// test.
fn unknown_to_nobody(path: &Path) {
    match as_nobody(path) {
        Err(TargetError::Guard(GuardError::LoopUnknown { device, .. })) => {
            assert!(device.starts_with("loop"), "{device}");
        }
        other => panic!("{}: {other:?}", path.display()),
    }
}

#[test]
fn unprivileged_user_cannot_write_possible_loop_backing_file() {
    let dir = tempfile::tempdir().unwrap();
    let hidden = dir.path().join("hidden");
    fs::create_dir(&hidden).unwrap();
    fs::set_permissions(dir.path(), Permissions::from_mode(0o755)).unwrap();
    fs::set_permissions(&hidden, Permissions::from_mode(0o700)).unwrap();
    let owned = |path: &Path| {
        File::create(path).unwrap().set_len(MIB).unwrap();
        chown(path, Some(NOBODY), Some(NOBODY)).map_err(|error| error.to_string())
    };
    let at = |name: &str| dir.path().join(name);
    for path in [&at("deleted"), &hidden.join("unreachable"), &at("plain")] {
        or_skip!("loops_of_others", owned(path));
    }
    as_nobody(&at("plain")).unwrap();

    let device = or_skip!("loops_of_others", Loop::on(&at("deleted"), &[]));
    fs::hard_link(at("deleted"), at("second")).unwrap();
    let refused = as_nobody(&at("second")).unwrap_err();
    assert!(matches!(refused, TargetError::Guard(GuardError::LoopBacking { .. })), "{refused}");
    fs::remove_file(at("deleted")).unwrap();
    unknown_to_nobody(&at("second"));
    // A file that no process and no device has open is behind no loop device.
    as_nobody(&at("plain")).unwrap();
    {
        let _reader = or_skip!("loops_of_others", Holder::open(&at("plain"), libc::O_RDONLY));
        unknown_to_nobody(&at("plain"));
    }
    drop(device);

    let device = Loop::on(&hidden.join("unreachable"), &["--read-only"]);
    let _device = or_skip!("loops_of_others", device);
    fs::hard_link(hidden.join("unreachable"), at("reachable")).unwrap();
    unknown_to_nobody(&at("reachable"));
    as_nobody(&at("plain")).unwrap();
}

/// Creates a test file of iogauge and a loop device on its usable part.
fn test_file_with_loop(path: &Path, size_bytes: u64) -> Result<Loop, String> {
    drop(Marker::create(path, size_bytes).unwrap());
    Loop::on(path, &["--offset", &BASE_BYTES.to_string()])
}

fn left(cleaned: &[Cleaned]) -> &LeftBecause {
    match cleaned {
        [Cleaned::Left { because, .. }] => because,
        other => panic!("{other:?}"),
    }
}

#[test]
fn test_file_backing_a_loop_device_is_not_removed() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("t");
    let device = or_skip!("clean_behind_loop", test_file_with_loop(&path, 32 * MIB));
    let mount = or_skip!("clean_behind_loop", mounted_ext4(&device.path));
    fs::write(mount.point.join("precious"), "x").unwrap();
    let part = resolve(&path, Intent { direct: false, ..reads() }).unwrap().parts.remove(0);
    for cleaned in [clean(std::slice::from_ref(&path)), clean_parts(std::slice::from_ref(&part))] {
        let cleaned = cleaned.unwrap();
        let because = left(&cleaned);
        assert!(matches!(because, LeftBecause::Refused(GuardError::LoopBacking { .. })));
        assert!(cleaned[0].to_string().contains("left"), "{}", cleaned[0]);
    }
    assert!(path.exists());
    drop((mount, device, part));
    assert!(matches!(clean(&[path]).unwrap()[..], [Cleaned::Removed { .. }]));
}

/// A killed process left a file under its private name, and then a loop device was set up on it.
#[test]
fn leftover_file_backing_a_loop_device_is_not_removed() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("t");
    let id = Marker::create(&path, 4 * MIB).unwrap().header().id;
    let private = dir.path().join(format!(".iogauge-{id:032x}"));
    fs::rename(&path, &private).unwrap();
    let device = or_skip!("leftover_behind_loop", Loop::on(&private, &[]));
    clean(std::slice::from_ref(&path)).unwrap();
    assert!(private.exists());
    drop(device);
    clean(&[path]).unwrap();
    assert!(!private.exists());
}

#[test]
fn test_file_extended_by_others_is_not_removed() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("t");
    let header = Marker::create(&path, 4 * MIB).unwrap().header();
    let length = |bytes| File::options().write(true).open(&path).unwrap().set_len(bytes).unwrap();
    let added = BASE_BYTES + header.size_bytes + 1;
    length(added);
    let cleaned = clean(std::slice::from_ref(&path)).unwrap();
    assert!(matches!(left(&cleaned), LeftBecause::NotOurs(_)), "{}", cleaned[0]);
    let grown = Intent { size_bytes: Some(8 * MIB), direct: false, ..writes() };
    assert!(matches!(refusal(&path, grown), GuardError::NotOurs { .. }));
    let private = dir.path().join(format!(".iogauge-{:032x}", header.id));
    fs::rename(&path, &private).unwrap();
    clean(std::slice::from_ref(&path)).unwrap();
    assert_eq!(fs::metadata(&private).unwrap().len(), added);
    fs::rename(&private, &path).unwrap();
    // Interrupted creation or growth leaves such lengths.
    for shorter in [BASE_BYTES + header.size_bytes, 4096] {
        length(shorter);
        assert_eq!(ownership(&path).unwrap(), Ownership::Ours(header));
    }
    assert!(matches!(clean(&[path]).unwrap()[..], [Cleaned::Removed { .. }]));
}
