//! Tests of the guards of files and directories.

use crate::support::*;
use iogauge_io::targets::{GuardError, Intent, OpenMode, Prefill, Roots, Target, TargetError};
use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::Path;

fn sized(intent: Intent, size_bytes: u64) -> Intent {
    Intent { size_bytes: Some(size_bytes), ..intent }
}

#[test]
fn foreign_file_is_readable_but_writes_need_consent() {
    let file = image(MIB);
    let refused = refusal(file.path(), writes());
    assert!(matches!(refused, GuardError::NotOurs { .. }), "{refused}");
    assert!(refused.to_string().contains("--overwrite-file"));
    assert!(matches!(
        refusal(file.path(), Intent { destroy_data: true, ..writes() }),
        GuardError::NotOurs { .. }
    ));
    let reading = resolve(file.path(), reads()).unwrap();
    assert!(!reading.parts[0].may_write());
    let writing = resolve(file.path(), Intent { overwrite: true, ..writes() }).unwrap();
    assert_eq!((writing.parts[0].base_bytes, writing.parts[0].size_bytes), (0, MIB));
    assert!(writing.parts[0].may_write());
}

#[test]
fn symlink_is_followed_for_reads_and_refused_for_writes() {
    let file = image(MIB);
    let dir = tempfile::tempdir().unwrap();
    let link = dir.path().join("link");
    symlink(file.path(), &link).unwrap();
    match refusal(&link, writes_anything()) {
        GuardError::Symlink { leads_to, .. } => assert_eq!(leads_to, file.path()),
        other => panic!("{other}"),
    }
    assert_eq!(resolve(&link, reads()).unwrap().parts[0].path, file.path());
    let dangling = dir.path().join("iogauge.dat");
    symlink("/nowhere/at/all", &dangling).unwrap();
    for intent in [reads(), writes_anything()] {
        let refused = refusal(dir.path(), intent);
        assert!(matches!(refused, GuardError::Symlink { .. }), "{refused}");
    }
}

#[test]
fn read_only_files_and_directories_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    fs::write(&file, vec![1; 8192]).unwrap();
    {
        let _immutable = or_skip!("immutable", Immutable::set(&file));
        let refused = refusal(&file, writes_anything());
        assert!(matches!(refused, GuardError::ReadOnly { .. }), "{refused}");
        resolve(&file, reads()).unwrap();
    }
    let _immutable = or_skip!("immutable", Immutable::set(dir.path()));
    let refused = refusal(dir.path(), writes());
    assert!(matches!(refused, GuardError::DirectoryNotWritable { .. }), "{refused}");
}

#[test]
fn a_read_only_mount_is_refused() {
    let device = or_skip!("read_only_mount", Loop::new(16 * MIB));
    let mount = or_skip!("read_only_mount", mounted_ext4(&device.path));
    let file = mount.point.join("file");
    fs::write(&file, vec![1; 8192]).unwrap();
    or_skip!("read_only_mount", run("mount", &["-o", "remount,ro", mount.point.to_str().unwrap()]));
    let refused = refusal(&mount.point, writes());
    assert!(matches!(refused, GuardError::DirectoryNotWritable { .. }), "{refused}");
    let refused = refusal(&file, writes_anything());
    assert!(refused.to_string().contains("file system is read-only"), "{refused}");
    let part = &resolve(&file, reads()).unwrap().parts[0];
    assert_eq!(part.file_system.as_deref(), Some("ext4"));
    assert_eq!(part.device, iogauge_io::targets::DeviceNumber::of_path(&device.path));
}

#[test]
fn too_small_disk_is_refused_with_the_size_that_fits() {
    let device = or_skip!("small_disk", Loop::new(1300 * MIB));
    let mount = or_skip!("small_disk", mounted_ext4(&device.path));
    let fits = match refusal(&mount.point, sized(writes(), 8192 * MIB)) {
        GuardError::NoRoom { fits_bytes, reserve_bytes, .. } => {
            assert_eq!(reserve_bytes, 1024 * MIB);
            fits_bytes
        }
        other => panic!("{other}"),
    };
    assert!((10 * MIB..300 * MIB).contains(&fits), "{fits}");
    resolve(&mount.point, sized(writes(), fits)).unwrap();
    assert_eq!(resolve(&mount.point, writes()).unwrap().parts[0].size_bytes, fits);
    let refused = refusal(&mount.point, sized(writes(), fits + 2 * MIB)).to_string();
    assert!(refused.contains(&format!("--size={}m", fits / MIB)), "{refused}");
    let tiny = or_skip!("small_disk", Loop::new(16 * MIB));
    let mount = or_skip!("small_disk", mounted_ext4(&tiny.path));
    let refused = refusal(&mount.point, reads()).to_string();
    assert!(refused.contains("nothing fits"), "{refused}");
}

#[test]
fn a_file_in_use_by_another_run_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let mut target = or_skip!("in_use", made(dir.path(), 4 * MIB));
    target.lock().unwrap();
    for intent in [reads(), writes()] {
        let refused = refusal(dir.path(), intent);
        assert!(matches!(refused, GuardError::InUse { .. }), "{refused}");
    }
    drop(target);
    resolve(dir.path(), writes()).unwrap();
}

/// Creates a test file of this size that is prefilled according to its marker only, and resolves it without its lock.
fn made(dir: &Path, size_bytes: u64) -> Result<Target, String> {
    let mut target = resolve(dir, sized(writes(), size_bytes)).map_err(|e| e.to_string())?;
    let prefill = Prefill::begin(&mut target.parts[0], &Roots::default()).unwrap().unwrap();
    prefill.finish(&mut target.parts[0]).unwrap();
    drop(target);
    resolve(dir, writes()).map_err(|error| error.to_string())
}

#[test]
fn real_swap_and_loop_backing_files_are_refused() {
    let device = or_skip!("loop_backing", Loop::new(16 * MIB));
    let refused = refusal(device.image(), writes_anything());
    assert!(matches!(refused, GuardError::LoopBacking { .. }), "{refused}");
    let swap = image(0);
    fs::write(swap.path(), vec![0; 4 * MIB as usize]).unwrap();
    let _active = or_skip!("swap_file", Swap::on(swap.path()));
    let refused = refusal(swap.path(), writes_anything());
    assert!(matches!(refused, GuardError::Swap { .. } | GuardError::ReadOnly { .. }), "{refused}");
}

#[test]
fn file_open_for_writing_elsewhere_is_refused() {
    let file = image(MIB);
    let _holder = or_skip!("written_file", Holder::open(file.path(), libc::O_WRONLY));
    // This process also has the image open for writing, which must not matter.
    let refused = refusal(file.path(), writes_anything());
    assert!(refused.to_string().contains("perl"), "{refused}");
}

#[test]
fn non_storage_paths_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let socket = dir.path().join("socket");
    let _listener = UnixListener::bind(&socket).unwrap();
    let pipe = dir.path().join("pipe");
    or_skip!("wrong_kind", run("mkfifo", &[pipe.to_str().unwrap()]));
    for (path, word) in
        [(Path::new("/dev/null"), "character device"), (&socket, "socket"), (&pipe, "named pipe")]
    {
        let refused = refusal(path, reads());
        assert!(refused.to_string().contains(word), "{refused}");
    }
}

#[test]
fn tmpfs_rejects_direct_io_with_hint() {
    let mount = or_skip!("tmpfs", Mount::new(&["-t", "tmpfs", "-o", "size=4g", "none"]));
    let error = resolve(&mount.point, sized(reads(), MIB)).unwrap_err();
    let message = error.to_string();
    assert!(message.contains("tmpfs") && message.contains("--direct=0"), "{message}");
    let file = mount.point.join("file");
    fs::write(&file, vec![1; 8192]).unwrap();
    let error = resolve(&file, reads()).unwrap_err();
    assert!(matches!(error, TargetError::DirectUnsupported { .. }), "{error}");
    resolve(&file, Intent { direct: false, ..reads() }).unwrap();
    resolve(&mount.point, Intent { direct: false, ..sized(reads(), MIB) }).unwrap();
}

#[test]
fn invalid_paths_and_sizes_give_distinct_errors() {
    let dir = tempfile::tempdir().unwrap();
    let missing = dir.path().join("no/such/file");
    assert!(matches!(resolve(&missing, writes()), Err(TargetError::NotFound { .. })));
    let absent = dir.path().join("absent");
    let no_make = Intent { create: false, ..reads() };
    assert!(matches!(resolve(&absent, no_make), Err(TargetError::NotFound { .. })));
    // A new file has whole blocks.
    assert_eq!(resolve(&absent, sized(reads(), 100)).unwrap().parts[0].size_bytes, 4096);
    let small = dir.path().join("small");
    fs::write(&small, "x").unwrap();
    assert!(matches!(resolve(&small, reads()), Err(TargetError::TooSmall { .. })));
    let buffered = || Intent { direct: false, ..reads() };
    assert_eq!(resolve(&small, buffered()).unwrap().parts[0].size_bytes, 1);
    fs::write(&small, "").unwrap();
    assert!(matches!(resolve(&small, buffered()), Err(TargetError::TooSmall { .. })));
    let file = image(MIB);
    let twice = [file.path().to_owned(), file.path().to_owned()];
    let error = Target::resolve(&twice, &reads(), &Roots::default()).unwrap_err();
    assert!(matches!(error, TargetError::NamedTwice { .. }), "{error}");
    assert!(matches!(Target::resolve(&[], &reads(), &Roots::default()), Err(TargetError::Nothing)));
}

#[test]
fn noatime_falls_back_for_non_owners() {
    let dir = tempfile::tempdir().unwrap();
    fs::set_permissions(dir.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let file = dir.path().join("file");
    fs::write(&file, vec![1; 8192]).unwrap();
    let part = resolve(&file, Intent { direct: false, ..reads() }).unwrap().parts.remove(0);
    assert!(!part.open(OpenMode::reading(false)).unwrap().atime_fallback);
    if !rustix::process::geteuid().is_root() {
        return skip("noatime", "needs root");
    }
    let stranger = std::thread::spawn(move || {
        // SAFETY: changes the file system identity of this thread only, which then ends.
        unsafe { libc::setfsuid(65534) };
        part.open(OpenMode::reading(false)).unwrap().atime_fallback
    });
    assert!(stranger.join().unwrap());
}
