//! A test file exists completely or not at all, whenever the process that creates it is killed.

use crate::support::*;
use iogauge_io::targets::{
    Cleaned, GuardError, Intent, Marker, Ownership, Part, Prefill, Roots, TargetError, clean,
    ownership, side_file,
};
use std::fs;
use std::path::Path;

fn sized(size_bytes: u64) -> Intent {
    Intent { size_bytes: Some(size_bytes), direct: false, ..writes() }
}

fn begin(dir: &Path) -> Result<(Part, Prefill), TargetError> {
    let mut part = resolve(dir, sized(MIB))?.parts.remove(0);
    let prefill = Prefill::begin(&mut part, &Roots::default())?.unwrap();
    Ok((part, prefill))
}

fn names(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).unwrap().flatten();
    let mut names: Vec<_> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// Mounts a file system without user extended attributes.
fn without_attributes() -> Result<Mount, String> {
    Mount::new(&["-t", "ramfs", "none"])
}

/// What a child does until it is killed.
#[derive(Clone, Copy)]
enum Act {
    /// Creates the test file of a directory and begins its prefill.
    Prefill,
    /// Creates the file only.
    Make,
    /// Removes an existing file.
    Remove,
}

impl Act {
    fn word(self) -> &'static str {
        match self {
            Self::Prefill => "prefill",
            Self::Make => "make",
            Self::Remove => "remove",
        }
    }

    /// Creates the test file, as the killed child was to do.
    fn make(self, dir: &Path) -> Result<(), TargetError> {
        match self {
            Self::Prefill => begin(dir).map(drop),
            Self::Make | Self::Remove => Marker::create(&dir.join("iogauge.dat"), MIB).map(drop),
        }
    }
}

/// Runs this test program as a child that performs `act` and is killed at the `count`-th of its calls of the system
/// call `call`. Returns false if the child ended before that.
fn killed_at(call: &str, count: u32, act: Act, dir: &Path) -> bool {
    let status = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "making::child_process_that_is_killed", "--ignored", "--test-threads=1"])
        .env("IOGAUGE_TEST_DIRECTORY", dir)
        .env("IOGAUGE_TEST_CALL", format!("{call}:signal=SIGKILL:when={count}"))
        .env("IOGAUGE_TEST_ACT", act.word())
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .status()
        .unwrap();
    !status.success()
}

/// Not a test itself: see [`killed_at`].
#[test]
#[ignore = "a child of other tests"]
fn child_process_that_is_killed() {
    let Some(dir) = std::env::var_os("IOGAUGE_TEST_DIRECTORY") else { return };
    let dir = Path::new(&dir);
    let call = std::env::var("IOGAUGE_TEST_CALL").unwrap();
    let mut strace = match std::env::var("IOGAUGE_TEST_ACT").unwrap().as_str() {
        "prefill" => {
            let mut part = resolve(dir, sized(MIB)).unwrap().parts.remove(0);
            let strace = kill_at(&call);
            let _ = Prefill::begin(&mut part, &Roots::default());
            strace
        }
        "make" => {
            let strace = kill_at(&call);
            let _ = Marker::create(&dir.join("iogauge.dat"), MIB);
            strace
        }
        _ => {
            let marker = Marker::create(&dir.join("iogauge.dat"), MIB).unwrap();
            let strace = kill_at(&call);
            let _ = marker.remove();
            strace
        }
    };
    let _ = strace.kill();
    let _ = strace.wait();
}

/// Attaches strace, which kills this process at a system call.
fn kill_at(call: &str) -> std::process::Child {
    let pid = std::process::id().to_string();
    let child = std::process::Command::new("strace")
        .args(["-f", "-qq", "-o", "/dev/null", "-p", &pid])
        .args(["-e", &format!("inject={call}")])
        .stdin(std::process::Stdio::null())
        .spawn()
        .unwrap();
    // strace has attached once this thread shows a tracer.
    let attached = (0..1000).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(5));
        let status = fs::read_to_string("/proc/thread-self/status").unwrap_or_default();
        !status.contains("TracerPid:\t0\n")
    });
    assert!(attached, "strace did not attach");
    child
}

/// System calls that change a file or a directory.
const CALLS: [&str; 10] = [
    "openat",
    "write",
    "pwrite64",
    "ftruncate",
    "fsetxattr",
    "linkat",
    "renameat2",
    "unlinkat",
    "fallocate",
    "fdatasync",
];

/// Kills a child at each of its system calls in turn, and checks that afterwards the file can be created and `clean`
/// leaves nothing. Returns the number of kills.
fn kill_everywhere(act: Act, dir: &Path) -> u32 {
    let mut kills = 0;
    for call in CALLS {
        let mut count = 1;
        while killed_at(call, count, act, dir) {
            let left = names(dir);
            let when = format!("{call} {count} left {left:?}");
            if !left.iter().any(|name| name == "iogauge.dat") {
                act.make(dir).unwrap_or_else(|error| panic!("{when}: {error}"));
            }
            let found = ownership(&dir.join("iogauge.dat")).unwrap();
            assert!(matches!(found, Ownership::Ours(_)), "{when}: {found:?}");
            for cleaned in clean(&[dir.to_owned()]).unwrap() {
                assert!(matches!(cleaned, Cleaned::Removed { .. }), "{when}: {cleaned}");
            }
            assert_eq!(names(dir), Vec::<String>::new(), "{when}");
            kills += 1;
            count += 1;
        }
        let _ = clean(&[dir.to_owned()]).unwrap();
    }
    kills
}

#[test]
fn kill_during_file_creation_does_not_block_next_run() {
    or_skip!("kill_while_made", run("strace", &["-V"]));
    let dir = tempfile::tempdir().unwrap();
    let kills = kill_everywhere(Act::Prefill, dir.path());
    assert!((8..).contains(&kills), "{kills} system calls");
    let kills = kill_everywhere(Act::Remove, dir.path());
    assert!((2..).contains(&kills), "{kills} system calls");
}

#[test]
fn kill_during_side_file_creation_does_not_block_next_run() {
    or_skip!("kill_while_made_with_side", run("strace", &["-V"]));
    let mount = or_skip!("kill_while_made_with_side", without_attributes());
    let kills = kill_everywhere(Act::Make, &mount.point);
    assert!((12..).contains(&kills), "{kills} system calls");
    let kills = kill_everywhere(Act::Remove, &mount.point);
    assert!((4..).contains(&kills), "{kills} system calls");
}

#[test]
fn side_file_is_used_without_extended_attributes() {
    let mount = or_skip!("side_file", without_attributes());
    let path = mount.point.join("t");
    let marker = Marker::create(&path, MIB).unwrap();
    assert_eq!(names(&mount.point), ["t", "t.iogauge"]);
    assert_eq!(ownership(&path).unwrap(), Ownership::Ours(marker.header()));
    let aside = mount.point.join("aside");
    fs::rename(side_file(&path), &aside).unwrap();
    assert!(matches!(ownership(&path).unwrap(), Ownership::NotOurs(_)));
    fs::rename(&aside, side_file(&path)).unwrap();
    marker.remove().unwrap();
    assert_eq!(names(&mount.point), Vec::<String>::new());
}

#[test]
fn foreign_side_file_is_not_replaced() {
    let mount = or_skip!("foreign_side_file", without_attributes());
    let path = mount.point.join("t");
    for content in ["precious", "iogauge 1 00000000000000000000000000000000"] {
        fs::write(side_file(&path), content).unwrap();
        let error = Marker::create(&path, MIB).unwrap_err();
        let refused = matches!(error, TargetError::Guard(GuardError::SideFileTaken { .. }));
        assert!(refused, "{error}");
        assert_eq!(names(&mount.point), ["t.iogauge"], "what was made is gone again");
        assert_eq!(fs::read_to_string(side_file(&path)).unwrap(), content);
    }
}

#[test]
fn foreign_file_with_temporary_name_remains() {
    let dir = tempfile::tempdir().unwrap();
    let name = format!(".iogauge-{:032x}", 5);
    fs::write(dir.path().join(&name), "precious").unwrap();
    fs::write(dir.path().join(".iogauge-5"), "").unwrap();
    clean(&[dir.path().to_owned()]).unwrap();
    assert_eq!(names(dir.path()), [name.as_str(), ".iogauge-5"]);
}
