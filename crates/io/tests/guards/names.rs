//! Tests with names that are replaced while iogauge works: it uses the file that the guards checked.

use crate::support::*;
use iogauge_io::confine::{Domain, Protection, protection};
use iogauge_io::targets::{
    Cleaned, GuardError, Identity, LeftBecause, OpenMode, Part, Prefill, Roots, TargetError, clean,
    clean_parts, side_file,
};
use iogauge_model::load::SyncMode;
use std::fs::{self, File};
use std::os::unix::fs::{FileExt, symlink};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

const WRITE: OpenMode = OpenMode { write: true, direct: false, sync: SyncMode::None };
const CANARY: [u8; 8192] = [7; 8192];

fn write_through(part: &Part, byte: u8) {
    let file = File::from(part.open(WRITE).unwrap().fd);
    file.write_all_at(&[byte; 8192], part.base_bytes).unwrap();
}

/// Creates a test file whose blocks are all written.
fn made(dir: &Path, size_bytes: u64) -> Part {
    let intent = iogauge_io::targets::Intent { size_bytes: Some(size_bytes), ..writes() };
    let mut part = resolve(dir, intent).unwrap().parts.remove(0);
    let prefill = Prefill::begin(&mut part, &Roots::default()).unwrap().unwrap();
    let file = File::from(part.open(WRITE).unwrap().fd);
    file.write_all_at(&vec![1; size_bytes as usize], part.base_bytes).unwrap();
    prefill.finish(&mut part).unwrap();
    part
}

#[test]
fn file_swapped_after_check_is_never_written() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("file");
    let precious = dir.path().join("precious");
    for swap in ["link", "file", "pipe", "nothing"] {
        let _ = fs::remove_file(&path);
        fs::write(&path, [1; 8192]).unwrap();
        fs::write(&precious, CANARY).unwrap();
        let part = resolve(&path, writes_anything()).unwrap().parts.remove(0);
        let moved = dir.path().join("moved");
        fs::rename(&path, &moved).unwrap();
        match swap {
            "link" => symlink(&precious, &path).unwrap(),
            "file" => fs::hard_link(&precious, &path).unwrap(),
            "pipe" => drop(run("mkfifo", &[path.to_str().unwrap()]).unwrap()),
            _ => {}
        }
        write_through(&part, 9);
        assert_eq!(fs::read(&moved).unwrap(), [9; 8192], "{swap}: the file that was judged");
        assert_eq!(fs::read(&precious).unwrap(), CANARY, "{swap}");
    }
}

#[test]
fn directory_swapped_before_file_creation_is_not_followed() {
    let dir = tempfile::tempdir().unwrap();
    let (here, other, moved) =
        (dir.path().join("here"), dir.path().join("other"), dir.path().join("moved"));
    fs::create_dir(&here).unwrap();
    fs::create_dir(&other).unwrap();
    let mut part = resolve(&here, sized(4 * MIB)).unwrap().parts.remove(0);
    fs::rename(&here, &moved).unwrap();
    symlink(&other, &here).unwrap();
    let prefill = Prefill::begin(&mut part, &Roots::default()).unwrap().unwrap();
    prefill.finish(&mut part).unwrap();
    assert_eq!(fs::read_dir(&other).unwrap().count(), 0);
    assert!(moved.join("iogauge.dat").exists());
    assert!(matches!(clean_parts(&[part]).unwrap()[0], Cleaned::Removed { .. }));
    assert_eq!(fs::read_dir(&moved).unwrap().count(), 0);
}

fn sized(size_bytes: u64) -> iogauge_io::targets::Intent {
    iogauge_io::targets::Intent { size_bytes: Some(size_bytes), ..writes() }
}

#[test]
fn name_taken_before_file_creation_is_not_overwritten() {
    let dir = tempfile::tempdir().unwrap();
    let precious = dir.path().join("precious");
    let path = dir.path().join("iogauge.dat");
    for swap in ["link", "file", "dangling", "pipe", "directory"] {
        fs::write(&precious, CANARY).unwrap();
        let mut part = resolve(dir.path(), sized(MIB)).unwrap().parts.remove(0);
        match swap {
            "link" => symlink(&precious, &path).unwrap(),
            "file" => fs::hard_link(&precious, &path).unwrap(),
            "dangling" => symlink(dir.path().join("absent"), &path).unwrap(),
            "pipe" => drop(run("mkfifo", &[path.to_str().unwrap()]).unwrap()),
            _ => fs::create_dir(&path).unwrap(),
        }
        let error = Prefill::begin(&mut part, &Roots::default()).unwrap_err();
        assert!(matches!(error, TargetError::Changed { .. }), "{swap}: {error}");
        assert_eq!(fs::read(&precious).unwrap(), CANARY, "{swap}");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2, "{swap}: nothing was made");
        let _ = fs::remove_file(&path).or_else(|_| fs::remove_dir(&path));
    }
}

#[test]
fn device_node_swapped_after_check_is_never_written() {
    let wanted = or_skip!("device_node", Loop::new(MIB));
    let precious = or_skip!("device_node", Loop::new(MIB));
    let dir = tempfile::tempdir().unwrap();
    let link = dir.path().join("disk");
    symlink(&wanted.path, &link).unwrap();
    let part = resolve(&link, writes_anything()).unwrap().parts.remove(0);
    fs::remove_file(&link).unwrap();
    symlink(&precious.path, &link).unwrap();
    write_through(&part, 9);
    let first = |path: &Path| {
        let mut block = [0; 512];
        File::open(path).unwrap().read_exact_at(&mut block, 0).unwrap();
        block
    };
    assert_eq!(first(&wanted.path), [9; 512]);
    assert_eq!(first(&precious.path), [0; 512]);
    let number = iogauge_io::targets::DeviceNumber::of_path(&wanted.path).unwrap();
    assert_eq!(part.identity(), Some(Identity::Device(number)));
}

/// [`Part::open`] opens for writing on a thread confined to the part, under every protection.
#[test]
fn checked_file_opens_for_writing_under_each_protection() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("file");
    fs::write(&path, [1; 8192]).unwrap();
    let precious = dir.path().join("precious");
    fs::write(&precious, CANARY).unwrap();
    let part = resolve(&path, writes_anything()).unwrap().parts.remove(0);
    for held_by in [protection().clone(), Protection::MountNamespace] {
        let judged = part.judged().unwrap();
        let domain = Domain::held_by(held_by.clone()).file(judged).unwrap();
        let through = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&judged));
        let written = domain.run(|| {
            let file = File::options().write(true).open(&through).unwrap();
            file.write_all_at(&[5; 8192], 0).unwrap();
            File::options().write(true).open(&precious).is_ok()
        });
        match written {
            Ok(reached) => assert!(!reached, "{held_by:?}"),
            Err(error) => return skip("either_protection", &error.to_string()),
        }
        assert_eq!(fs::read(&path).unwrap(), [5; 8192], "{held_by:?}");
        fs::write(&path, [1; 8192]).unwrap();
    }
}

/// Opening a pipe can block, so a separate thread does it and the test fails after a timeout.
#[test]
fn named_pipes_are_refused_without_blocking() {
    let dir = tempfile::tempdir().unwrap();
    let pipe = dir.path().join("iogauge.dat");
    or_skip!("pipes", run("mkfifo", &[pipe.to_str().unwrap()]));
    let link = dir.path().join("link");
    symlink(&pipe, &link).unwrap();
    let (sender, answers) = std::sync::mpsc::channel();
    let place = dir.path().to_owned();
    thread::spawn(move || {
        let mut kinds = Vec::new();
        for path in [&place, &pipe, &link] {
            for intent in [reads(), writes_anything()] {
                kinds.push(resolve(path, intent).unwrap_err());
            }
            let _ = clean(std::slice::from_ref(path)).unwrap();
        }
        let _ = iogauge_io::targets::ownership(&pipe);
        fs::remove_file(&link).unwrap();
        symlink("/dev/full", &link).unwrap();
        kinds.push(resolve(&link, writes_anything()).unwrap_err());
        sender.send(kinds).unwrap();
    });
    let errors = answers.recv_timeout(Duration::from_secs(60)).expect("an answer, no waiting");
    assert_eq!(errors.len(), 7);
    for error in errors {
        let fits = matches!(
            error,
            TargetError::Guard(GuardError::WrongKind { .. } | GuardError::Symlink { .. })
        );
        assert!(fits, "{error}");
    }
}

/// While targets are resolved, opened and written, another thread swaps the name between a file that may be written
/// and one that may not, as fast as it can.
#[test]
fn continuously_swapped_names_never_misdirect_writes() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("file");
    let precious = dir.path().join("precious");
    fs::write(&precious, CANARY).unwrap();
    // --overwrite-file permits writing a foreign file, but not through a link.
    let (file, link) = (dir.path().join("a"), dir.path().join("b"));
    fs::write(&file, [1; 8192]).unwrap();
    symlink(&precious, &link).unwrap();
    fs::hard_link(&file, &path).unwrap();
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            let scratch = dir.path().join("scratch");
            while !over.load(Ordering::Relaxed) {
                symlink(&precious, &scratch).unwrap();
                fs::rename(&scratch, &path).unwrap();
                fs::hard_link(&file, &scratch).unwrap();
                fs::rename(&scratch, &path).unwrap();
            }
        });
        let mut written = 0;
        for round in 0..400_u32 {
            if let Ok(target) = resolve(&path, writes_anything()) {
                write_through(&target.parts[0], round as u8);
                written += 1;
            }
        }
        over.store(true, Ordering::Relaxed);
        assert!(written > 0, "the name led to the file at times");
    });
    assert_eq!(fs::read(&precious).unwrap(), CANARY);
}

#[test]
fn removal_keeps_a_different_file_with_the_same_name() {
    let dir = tempfile::tempdir().unwrap();
    let part = made(dir.path(), MIB);
    let path = dir.path().join("iogauge.dat");
    let moved = dir.path().join("moved");
    fs::rename(&path, &moved).unwrap();
    fs::write(&path, CANARY).unwrap();
    let left = clean_parts(std::slice::from_ref(&part)).unwrap();
    assert!(matches!(&left[0], Cleaned::Left { because: LeftBecause::Replaced, .. }), "{left:?}");
    assert_eq!(fs::read(&path).unwrap(), CANARY);
    fs::rename(&moved, &path).unwrap();
    assert!(matches!(clean_parts(&[part]).unwrap()[0], Cleaned::Removed { .. }));
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
}

/// Another thread keeps exchanging the test file with a precious file during removal.
#[test]
fn removal_never_deletes_a_file_swapped_in_concurrently() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("iogauge.dat");
    let precious = dir.path().join("precious");
    for _ in 0..40 {
        let part = made(dir.path(), MIB);
        fs::write(&precious, CANARY).unwrap();
        let over = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    let (one, other) = (&precious, &path);
                    let flags = rustix::fs::RenameFlags::EXCHANGE;
                    let cwd = rustix::fs::CWD;
                    let _ = rustix::fs::renameat_with(cwd, one, cwd, other, flags);
                }
            });
            thread::sleep(Duration::from_micros(200));
            let _ = clean_parts(std::slice::from_ref(&part));
            over.store(true, Ordering::Relaxed);
        });
        drop(part);
        let names: Vec<_> = fs::read_dir(dir.path()).unwrap().flatten().map(|e| e.path()).collect();
        let kept = names.iter().any(|path| fs::read(path).is_ok_and(|bytes| bytes == CANARY));
        assert!(kept, "the precious file is gone: {names:?}");
        for path in names {
            fs::remove_file(path).unwrap();
        }
    }
}

#[test]
fn foreign_side_file_is_never_removed() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("iogauge.dat");
    let side = side_file(&path);
    // On file systems with extended attributes, iogauge creates no file of this name.
    for content in ["precious", "iogauge 1 0", "iogauge 1 00000000000000000000000000000000"] {
        fs::write(&side, content).unwrap();
        let part = made(dir.path(), MIB);
        assert!(matches!(clean_parts(&[part]).unwrap()[0], Cleaned::Removed { .. }));
        assert_eq!(fs::read_to_string(&side).unwrap(), content);
        drop(made(dir.path(), MIB));
        let cleaned = clean(&[dir.path().to_owned()]).unwrap();
        assert!(matches!(cleaned[0], Cleaned::Removed { .. }), "{cleaned:?}");
        assert_eq!(fs::read_to_string(&side).unwrap(), content);
        let _ = clean(&[dir.path().to_owned()]).unwrap();
        assert_eq!(fs::read_to_string(&side).unwrap(), content, "beside nothing");
    }
}
