//! Test files from creation to removal, through the binary: kills, other writers and limits do no harm.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod common;

use common::{Done, Place, direct_io};
use iogauge_test_support::{Loop, MIB, Mount, available, fill, mounted, or_skip, run};
use rustix::fs::FallocateFlags;
use serde_json::Value;
use std::fs::File;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const GIB: u64 = 1 << 30;
const SHORT: [&str; 4] = ["--runtime=200ms", "--ramp-time=0", "--history=none", "--json"];

/// Runs a shell line with the binary as `$0`.
fn shell(place: &Place, line: &str) -> (Option<i32>, String) {
    let mut command = Command::new("sh");
    command.args(["-c", line, env!("CARGO_BIN_EXE_iogauge")]).current_dir(place.work());
    command.env("XDG_DATA_HOME", place.work().join("data")).stdin(Stdio::null());
    let output = command.output().unwrap();
    assert_eq!(output.status.signal(), None, "ended by a signal: {line}");
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(!stderr.contains("panicked"), "{stderr}");
    (output.status.code(), stderr)
}

#[test]
fn foreign_side_file_survives_run_and_clean() {
    let place = Place::new();
    let side = place.work().join("t.iogauge");
    std::fs::write(&side, "precious").unwrap();
    let line = [&["run", "t", "--size=4m", "--direct=0", "--rm"][..], &SHORT].concat();
    place.run(&line).ends(0);
    assert_eq!(std::fs::read(&side).unwrap(), b"precious");
    place.run(&["prepare", "t", "--size=4m"]);
    place.run(&["clean", "t"]).ends(0);
    assert_eq!(std::fs::read(&side).unwrap(), b"precious");
    place.run(&["clean", "t"]).ends(0);
    assert_eq!(place.names(), ["t.iogauge"]);
}

/// Files of job files have fio's names. Each is judged as if it had been named.
#[test]
fn clean_of_a_directory_removes_every_test_file_in_it() {
    let place = Place::new();
    let work = place.work();
    std::fs::create_dir(work.join("below")).unwrap();
    for (name, directory) in [("a", "."), ("b", "below")] {
        let job = format!(
            "[{name}]\ndirectory={directory}\nsize=4m\nnrfiles=2\nrw=read\ntime_based\nruntime=100ms\n"
        );
        std::fs::write(work.join("c.fio"), job).unwrap();
        place.run(&["run", "c.fio", "--history=none"]).ends(0);
    }
    assert_eq!(place.names(), ["a.0.0", "a.0.1", "below", "c.fio"]);
    std::fs::write(work.join("copy"), std::fs::read(work.join("a.0.0")).unwrap()).unwrap();
    std::fs::write(work.join("iogauge-notes"), "precious").unwrap();
    std::os::unix::fs::symlink("a.0.0", work.join("link")).unwrap();
    let used = File::open(work.join("a.0.1")).unwrap();
    rustix::fs::flock(&used, rustix::fs::FlockOperation::LockExclusive).unwrap();

    let cleaned = place.run(&["clean", "."]).ends(3).stdout;
    let lines: Vec<&str> = cleaned.lines().collect();
    assert_eq!(lines.len(), 2, "{cleaned}");
    assert!(lines[0].contains("a.0.0: removed, "), "{cleaned}");
    assert!(lines[1].contains("a.0.1: left, another iogauge is using it"), "{cleaned}");
    drop(used);
    let cleaned = place.run(&["clean", "."]).ends(0).stdout;
    assert!(cleaned.contains("a.0.1: removed") && cleaned.lines().count() == 1, "{cleaned}");
    assert_eq!(place.names(), ["below", "c.fio", "copy", "iogauge-notes", "link"]);
    assert_eq!(common::names(&work.join("below")), ["b.0.0", "b.0.1"]);
    let nothing = place.run(&["clean", "."]).ends(0).stdout;
    assert!(nothing.contains("iogauge.dat: nothing there"), "{nothing}");
}

/// Runs the binary under strace, which kills it before this system call.
fn killed_before(place: &Place, call: &str, arguments: &[&str]) {
    let inject = format!("inject={call}:signal=SIGKILL:when=1");
    let mut command = Command::new("strace");
    command.args(["-f", "-qq", "-o", "/dev/null", "-e", &inject]);
    command.arg(env!("CARGO_BIN_EXE_iogauge")).args(arguments).current_dir(place.work());
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().unwrap();
}

/// `io/tests/guards/making.rs` covers every system call that makes a file.
#[test]
fn prepare_recovers_from_a_killed_prepare() {
    or_skip!("killed_prepare", run("strace", &["-V"]));
    let place = Place::new();
    if !direct_io("prepare_recovers_from_a_killed_prepare", &place.work()) {
        return;
    }
    let line = ["prepare", ".", "--size=8m"];
    for call in ["fsetxattr", "ftruncate", "linkat", "fallocate", "fdatasync"] {
        killed_before(&place, call, &line);
        let left = place.names();
        let next = place.run(&line);
        assert_eq!(next.code, Some(0), "{call}, {left:?}: {}", next.stderr);
        place.run(&["clean", "."]).ends(0);
        killed_before(&place, call, &line);
        let left = place.names();
        let cleaned = place.run(&["clean", "."]).ends(0);
        let names = place.names();
        assert!(names.is_empty(), "{call}, {left:?}, {names:?}: {}", cleaned.stdout);
    }
}

#[test]
fn concurrent_prepares_preserve_the_disk_reserve() {
    let (mount, _device) = or_skip!("together", mounted("ext4", 1400 * MIB));
    let place = Place::new();
    let size = format!("--size={}", (available(&mount.point) - GIB) * 6 / 10 / MIB * MIB);
    let children: Vec<_> = (0..3)
        .map(|number| {
            let file = mount.point.join(format!("t{number}"));
            place.command(&["prepare", file.to_str().unwrap(), &size]).spawn().unwrap()
        })
        .collect();
    let done: Vec<Done> =
        children.into_iter().map(|child| child.wait_with_output().unwrap().into()).collect();
    assert!(available(&mount.point) >= GIB, "{}", available(&mount.point));
    let mut codes: Vec<_> = done.iter().map(|done| done.code).collect();
    codes.sort();
    assert_eq!(codes, [Some(0), Some(3), Some(3)], "{done:?}");
}

/// On tmpfs, allocated blocks without data look like holes.
#[test]
fn file_that_leaves_the_disk_reserve_fits() {
    let disk = Mount::new(&["-t", "tmpfs", "-o", "size=1100m", "none"]);
    let disk = or_skip!("file_that_leaves_the_disk_reserve_fits", disk);
    let place = Place::new();
    let file = disk.point.join("t");
    let line = ["run", file.to_str().unwrap(), "--direct=0", "--runtime=200ms", "--quiet"];
    let of_size = |size| place.run(&[&line[..], &[size]].concat());
    of_size("--size=80m").ends(3);
    of_size("--size=70m").ends(0);
}

/// Btrfs writes a block to a new place, so writes to a completely written file also take space.
#[test]
fn run_stops_before_the_disk_reserve_and_keeps_its_result() {
    let (mount, _device) = or_skip!("stops", mounted("btrfs", 1500 * MIB));
    let place = Place::new();
    let file = mount.point.join("t");
    File::create(&file).unwrap();
    fill(&file, 32 * MIB);
    let line = ["run", file.to_str().unwrap(), "--overwrite-file", "--rw=randwrite", "--direct=0"];
    let line = [&line[..], &["--runtime=60s", "--ramp-time=0", "--json"]].concat();
    let document = ended_by_the_reserve(place.command(&line), &mount.point, &file);
    assert!(document["steps"][0]["write"]["ios"].as_u64().unwrap() > 0);
}

/// A job file that fio runs is monitored like any other load.
#[test]
fn job_file_through_fio_stops_before_the_disk_reserve() {
    const TEST: &str = "job_file_through_fio_stops_before_the_disk_reserve";
    if Command::new("fio").arg("--version").output().is_err() {
        return common::skip(TEST, "fio is not installed");
    }
    let (mount, _device) = or_skip!(
        "job_file_through_fio_stops_before_the_disk_reserve",
        mounted("btrfs", 1500 * MIB)
    );
    let place = Place::new();
    let file = mount.point.join("t");
    File::create(&file).unwrap();
    fill(&file, 32 * MIB);
    let job = format!(
        "[a]\nfilename={}\nrw=randwrite\ntime_based\nruntime=60\nsize=32m\n",
        file.display()
    );
    std::fs::write(place.work().join("a.fio"), job).unwrap();
    let line = ["run", "a.fio", "--via=fio", "--overwrite-file", "--json"];
    let document = ended_by_the_reserve(place.command(&line), &mount.point, &file);
    assert!(document["steps"][0]["write"]["ios"].as_u64().unwrap() > 0);
}

/// Runs a command that writes a file, and takes the rest of the disk meanwhile. Returns the command's document.
#[track_caller]
fn ended_by_the_reserve(mut command: Command, disk: &Path, file: &Path) -> Value {
    let written = || file.metadata().unwrap().modified().unwrap();
    let before = written();
    let child = command.spawn().unwrap();
    let patience = Instant::now();
    while written() == before && patience.elapsed() < Duration::from_secs(60) {
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_ne!(written(), before, "the load never wrote");
    let spare = available(disk) - GIB;
    let other = File::create(disk.join("other")).unwrap();
    // btrfs keeps the earlier version of what the load writes until it commits: up to the size of the file becomes free
    // later.
    let later = 2 * file.metadata().unwrap().len();
    rustix::fs::fallocate(&other, FallocateFlags::empty(), 0, spare + later + 32 * MIB).unwrap();
    let done: Done = child.wait_with_output().unwrap().into();
    let document = done.ends(130).json();
    let caveats = document["caveats"].as_array().unwrap();
    let told = caveats.iter().any(|caveat| {
        let message = caveat["message"].as_str().unwrap();
        caveat["code"] == "interrupted" && message.contains("of the disk free")
    });
    assert!(told, "{caveats:?}");
    document
}

#[test]
fn prepare_reports_file_size_limit_in_one_line() {
    let place = Place::new();
    // `ulimit -f` counts units of 512 bytes.
    let line = "ulimit -f 8192; \"$0\" prepare . --size=16m";
    let (code, stderr) = shell(&place, line);
    assert_eq!(code, Some(2), "{stderr}");
    assert!(stderr.contains("ulimit -f") && crate::common::is_one_message(&stderr), "{stderr}");
    assert_eq!(place.names(), Vec::<String>::new());
    let (code, stderr) = shell(&place, "ulimit -f 8192; \"$0\" prepare . --size=2m");
    assert_eq!(code, Some(0), "{stderr}");
    // The history needs about 100 KiB.
    let (code, stderr) = shell(&place, "ulimit -f 16; \"$0\" run sim:service=1ms --runtime=1s");
    assert_ne!(code, Some(101), "{stderr}");
    let told: Vec<&str> = stderr.lines().filter(|line| line.contains("(ulimit -f)")).collect();
    assert_eq!(told.len(), 1, "{stderr}");
}

/// Runs the binary with an empty `/sys`.
fn without_sysfs(place: &Place, arguments: &[&str]) -> Done {
    let script = "mount -t tmpfs none /sys && exec \"$0\" \"$@\"";
    let mut command = Command::new("unshare");
    command.args(["--mount", "--propagation", "private", "sh", "-ec", script]);
    command.arg(env!("CARGO_BIN_EXE_iogauge")).args(arguments).current_dir(place.work());
    command.env("XDG_DATA_HOME", place.work().join("data")).stdin(Stdio::null());
    command.output().unwrap().into()
}

#[test]
fn without_sysfs_only_newly_created_files_are_written() {
    let script = ["--mount", "--propagation", "private", "mount", "-t", "tmpfs", "none", "/sys"];
    or_skip!("without_sysfs", run("unshare", &script));
    let place = Place::new();
    let image = place.work().join("image");
    File::create(&image).unwrap().set_len(32 * MIB).unwrap();
    let device = or_skip!("without_sysfs", Loop::on(&image, &[]));
    let mount = or_skip!("without_sysfs", iogauge_test_support::mounted_ext4(&device.path));
    let write = ["run", "image", "--rw=randwrite", "--overwrite-file", "--direct=0", "--size=8m"];
    let prepare = ["prepare", "image", "--overwrite-file"];
    for line in [&[&write[..], &SHORT].concat()[..], &prepare] {
        let refused = without_sysfs(&place, line).ends(3);
        let said = &refused.stderr;
        assert!(said.contains("sysfs") && crate::common::is_one_message(said), "{said}");
        let refused = place.run(line).ends(3);
        assert!(refused.stderr.contains("is a loop device on it"), "{}", refused.stderr);
    }
    drop((mount, device));
    or_skip!("without_sysfs", run("fsck.ext4", &["-f", "-n", image.to_str().unwrap()]));
    let own = ["run", "t", "--rw=randwrite", "--direct=0", "--size=8m"];
    let own = [&own[..], &SHORT].concat();
    without_sysfs(&place, &own).ends(0);
    without_sysfs(&place, &own).ends(3);
    let left = without_sysfs(&place, &["clean", "t"]).ends(3);
    assert!(left.stdout.contains("left: ") && left.stdout.contains("sysfs"), "{}", left.stdout);
    place.run(&["clean", "t"]).ends(0);
}

#[test]
fn proc_and_sys_files_are_refused_as_targets() {
    let place = Place::new();
    let targets = [
        "/proc/version",
        "/proc/kcore",
        "/proc/self/mountinfo",
        "/proc",
        "/proc/new",
        "/sys/kernel/mm/transparent_hugepage/enabled",
        "/sys",
    ];
    let lines = [
        &["run", "--size=1m", "--runtime=50ms", "--history=none"][..],
        &["run", "--size=1m", "--rw=randwrite", "--overwrite-file", "--direct=0", "--history=none"],
        &["find", "--size=1m", "--history=none"],
        &["prepare", "--size=1m"],
    ];
    for target in targets {
        for line in lines {
            let done = place.run(&[&line[..1], &[target], &line[1..]].concat()).ends(3);
            crate::common::assert_one_message(&done.stderr);
            let why = "is a file system of the kernel without stored data";
            assert!(done.stderr.contains(why), "{target}: {}", done.stderr);
        }
    }
}

#[test]
fn clean_reports_a_read_only_file_system() {
    let place = Place::new();
    let folder = place.work().join("folder");
    std::fs::create_dir(&folder).unwrap();
    let line = ["run", "folder", "--size=4m", "--direct=0"];
    place.run(&[&line[..], &SHORT].concat()).ends(0);
    let before = common::names(&folder);
    let mount = or_skip!(
        "clean_reports_a_read_only_file_system",
        Mount::new(&["--bind", folder.to_str().unwrap()])
    );
    let point = mount.point.to_str().unwrap();
    run("mount", &["-o", "remount,ro,bind", point]).unwrap();
    let file = mount.point.join(&before[0]);
    for target in [point, file.to_str().unwrap()] {
        let done = place.run(&["clean", target]).ends(3);
        crate::common::assert_one_message(&done.stderr);
        assert!(done.stderr.contains("its file system is read-only"), "{}", done.stderr);
        assert!(!done.stderr.contains("os error"), "{}", done.stderr);
    }
    assert_eq!(common::names(&folder), before);
}

#[test]
fn test_file_behind_a_loop_device_is_not_removed() {
    let place = Place::new();
    place.run(&["prepare", "t", "--size=8m"]);
    let file = place.work().join("t");
    let device = or_skip!("behind_loop", Loop::on(&file, &["--offset", "1048576"]));
    let line = ["run", "t", "--rw=randread", "--direct=0", "--rm"];
    let done = place.run(&[&line[..], &SHORT].concat()).ends(0);
    assert!(done.stderr.contains("left: ") && done.stderr.contains("loop"), "{}", done.stderr);
    let cleaned = place.run(&["clean", "t"]).ends(3);
    assert!(cleaned.stdout.contains("left: "), "{}", cleaned.stdout);
    assert!(file.exists());
    drop(device);
    place.run(&["clean", "t"]).ends(0);
    assert_eq!(place.names(), [""; 0]);
}

#[test]
fn loop_device_sharing_a_mounted_image_is_not_written() {
    let image = iogauge_test_support::image(64 * MIB);
    let used = or_skip!("beside_mounted", Loop::on(image.path(), &[]));
    let target = or_skip!("beside_mounted", Loop::on(image.path(), &["--offset", "1048576"]));
    let mount: Mount = or_skip!("beside_mounted", iogauge_test_support::mounted_ext4(&used.path));
    let path: &Path = &target.path;
    let place = Place::new();
    let line = ["prepare", path.to_str().unwrap(), "--size=32m", "--destroy-data"];
    let refused = place.run(&line).ends(3);
    assert!(refused.stderr.contains("on the same file"), "{}", refused.stderr);
    drop(mount);
    place.run(&line).ends(0);
}
