//! Confined threads and programs can change only what was granted, under every protection that this machine has.

use crate::support::*;
use iogauge_io::confine::{ConfineError, Domain, Protection, protection};
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::{AsRawFd, BorrowedFd};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A directory with files that must not change.
struct Place {
    dir: tempfile::TempDir,
    canary: PathBuf,
}

impl Place {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let canary = dir.path().join("canary");
        fs::write(&canary, "precious").unwrap();
        symlink(&canary, dir.path().join("link")).unwrap();
        fs::create_dir(dir.path().join("own")).unwrap();
        fs::write(dir.path().join("own/old"), "x").unwrap();
        Self { dir, canary }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Returns the name and content of every entry.
    fn listing(&self) -> Vec<(String, Vec<u8>)> {
        let mut found: Vec<_> = fs::read_dir(self.dir.path())
            .unwrap()
            .map(|entry| entry.unwrap())
            .map(|entry| {
                let name = entry.file_name().into_string().unwrap();
                (name, fs::read(entry.path()).unwrap_or_default())
            })
            .collect();
        found.sort();
        found
    }
}

/// Returns the protections of this machine. Root always gets the mount namespace too.
fn protections() -> Vec<Protection> {
    assert!(protection().is_enforced(), "{}", protection());
    let mut all = vec![protection().clone()];
    if rustix::process::geteuid().is_root() && !all.contains(&Protection::MountNamespace) {
        all.push(Protection::MountNamespace);
    }
    all
}

type Attack = (&'static str, fn(&Place) -> io::Result<()>);

const ATTACKS: &[Attack] = &[
    ("write", |place| File::options().write(true).open(&place.canary).map(drop)),
    ("append", |place| File::options().append(true).open(&place.canary).map(drop)),
    ("write through a link", |place| File::options().write(true).open(place.at("link")).map(drop)),
    ("truncate", |place| File::options().write(true).truncate(true).open(&place.canary).map(drop)),
    ("truncate by path", |place| {
        let path = std::ffi::CString::new(place.canary.to_str().unwrap()).unwrap();
        // SAFETY: the string outlives the call.
        match unsafe { libc::truncate(path.as_ptr(), 0) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }),
    ("make", |place| File::create_new(place.at("new")).map(drop)),
    ("remove", |place| fs::remove_file(&place.canary)),
    ("rename away", |place| fs::rename(&place.canary, place.at("gone"))),
    ("rename over", |place| fs::rename(place.at("own/old"), &place.canary)),
    ("link", |place| fs::hard_link(&place.canary, place.at("second"))),
    ("symlink", |place| symlink("x", place.at("other"))),
    ("make a directory", |place| fs::create_dir(place.at("dir"))),
    ("remove a directory", |place| fs::remove_dir_all(place.at("own"))),
];

#[test]
fn confined_thread_cannot_write_anything() {
    for protection in protections() {
        let place = Place::new();
        let before = place.listing();
        for (name, attack) in ATTACKS {
            let domain = Domain::held_by(protection.clone());
            let result = domain.run(|| attack(&place)).unwrap();
            assert!(result.is_err(), "{name} succeeds under {protection}");
        }
        let (null, read) = Domain::held_by(protection.clone())
            .run(|| (File::options().write(true).open("/dev/null"), fs::read(&place.canary)))
            .unwrap();
        null.and_then(|mut null| null.write_all(b"x")).unwrap();
        assert_eq!(read.unwrap(), b"precious");
        assert_eq!(place.listing(), before, "{protection}");
        // Each attack succeeds on a thread that is not confined.
        for (name, attack) in ATTACKS {
            attack(&Place::new()).unwrap_or_else(|error| panic!("{name}: {error}"));
        }
    }
}

fn again(fd: BorrowedFd<'_>, write: bool) -> io::Result<File> {
    File::options().read(true).write(write).open(format!("/proc/self/fd/{}", fd.as_raw_fd()))
}

#[test]
fn confined_thread_writes_only_the_granted_file() {
    for protection in protections() {
        let place = Place::new();
        let target = place.at("target");
        fs::write(&target, "data").unwrap();
        let judged = File::open(&target).unwrap();
        let domain = Domain::held_by(protection.clone()).file(&judged).unwrap();
        // The grant is for the open file, whatever its name refers to later.
        fs::rename(&target, place.at("moved")).unwrap();
        fs::rename(&place.canary, &target).unwrap();
        let (own, other, name) = domain
            .run(|| {
                let own = again(std::os::fd::AsFd::as_fd(&judged), true)
                    .and_then(|mut file| file.write_all(b"DATA"));
                let other = File::options().write(true).open(place.at("link"));
                (own, other, File::options().write(true).open(&target))
            })
            .unwrap();
        own.unwrap_or_else(|error| panic!("{protection}: {error}"));
        assert!(other.is_err() && name.is_err(), "{protection}");
        assert_eq!(fs::read(place.at("moved")).unwrap(), b"DATA");
        assert_eq!(fs::read(&target).unwrap(), b"precious");
    }
}

#[test]
fn granted_file_cannot_be_truncated() {
    let Protection::Landlock { .. } = protection() else {
        return skip("granted_length", "this machine has no Landlock");
    };
    let place = Place::new();
    let judged = File::open(&place.canary).unwrap();
    let domain = Domain::reading().file(&judged).unwrap();
    let cut = domain.run(|| again(std::os::fd::AsFd::as_fd(&judged), true).unwrap().set_len(1));
    assert!(cut.unwrap().is_err());
    assert_eq!(fs::read(&place.canary).unwrap(), b"precious");
}

#[test]
fn confined_thread_changes_only_the_granted_directory() {
    for protection in protections() {
        let place = Place::new();
        let own = File::open(place.at("own")).unwrap();
        let domain = Domain::held_by(protection.clone()).directory(&own).unwrap();
        let before = place.listing();
        let inside = domain
            .run(|| {
                fs::write(place.at("own/new"), "y")?;
                fs::rename(place.at("own/new"), place.at("own/old"))?;
                fs::create_dir(place.at("own/sub"))?;
                fs::remove_file(place.at("own/old"))
            })
            .unwrap();
        inside.unwrap_or_else(|error| panic!("{protection}: {error}"));
        for (name, attack) in ATTACKS.iter().filter(|(name, _)| *name != "remove a directory") {
            assert!(domain.run(|| attack(&place)).unwrap().is_err(), "{name} under {protection}");
        }
        assert_eq!(place.listing(), before);
    }
}

#[test]
fn confined_thread_writes_device_only_if_granted() {
    let granted = or_skip!("granted_device", Loop::new(4 * MIB));
    let other = or_skip!("granted_device", Loop::new(4 * MIB));
    for protection in protections() {
        let judged = File::open(&granted.path).unwrap();
        let domain = Domain::held_by(protection.clone()).file(&judged).unwrap();
        let write = |file: io::Result<File>| file.and_then(|mut file| file.write_all(&[7; 4096]));
        let (own, named) = domain
            .run(|| {
                let named = write(File::options().write(true).open(&other.path));
                (write(again(std::os::fd::AsFd::as_fd(&judged), true)), named)
            })
            .unwrap();
        own.unwrap_or_else(|error| panic!("{protection}: {error}"));
        assert!(named.is_err(), "{protection}");
    }
}

#[test]
fn confined_program_and_its_children_cannot_escape() {
    for protection in protections() {
        let place = Place::new();
        let before = place.listing();
        let own = File::open(place.at("own")).unwrap();
        let shell = |script: &str| {
            let mut command = Command::new("sh");
            command.arg("-c").arg(script).current_dir(place.dir.path());
            let domain = Domain::held_by(protection.clone()).directory(&own).unwrap();
            domain.bind(&mut command).unwrap();
            command
        };
        for script in [
            "echo x >canary",
            "sh -c 'echo x >link'",
            "rm canary",
            "mv canary gone",
            "ln -sf x canary",
            "mount -o remount,rw / && echo x >canary",
            "umount -l / && echo x >canary",
            "nsenter -t 1 -m -- sh -c \"echo x >$PWD/canary\"",
            "echo x >/proc/1/root$PWD/canary",
            "echo x >/proc/$PPID/root$PWD/canary",
            "truncate -s 1 canary",
        ] {
            let status = shell(script).stderr(std::process::Stdio::null()).status().unwrap();
            assert!(!status.success(), "{script} under {protection}");
            assert_eq!(place.listing(), before, "{script} under {protection}");
        }
        let mut inside = shell("echo x >own/made && rm own/made && echo y >/dev/null");
        assert!(inside.status().unwrap().success(), "{protection}");
    }
}

#[test]
fn only_files_and_devices_can_be_granted() {
    let null = File::open("/dev/null").unwrap();
    let error = Domain::reading().file(&null).unwrap_err();
    assert!(matches!(error, ConfineError::WrongKind { kind: "character device" }), "{error}");
    assert!(Domain::reading().directory(&null).is_err());
    assert!(Domain::reading().file(File::open(Path::new("/")).unwrap()).is_err());
}
