//! Caveats about the machine: control groups, processors, other load, privileges.

use crate::common::{Place, Started, direct_io, eventually};
use crate::{assert_provoked, assert_raised, assert_silent, noise, of_code, short, word};
use iogauge_test_support::{Group, Loop, MIB, number_of, or_skip};
use std::fs::File;
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

#[test]
fn slow_logs() {
    let place = Place::new();
    let log = "--write_lat_log=p";
    let fast = short("sim:nvme", &["--number_ios=10", log]);
    // An engine without a device does I/Os faster than lines can be written.
    let more =
        ["--write_bw_log=p", "--write_iops_log=p", "--write_hist_log=p", "--log_hist_msec=100"];
    let options = [&["--ioengine=null", "--size=1g", "--iodepth=64", log][..], &more].concat();
    let done = place.run(&short(".", &options)).ends(0);
    let found = of_code(&done, "slow-logs");
    assert_eq!(found.len(), 1, "{}", done.stderr);
    assert!(found[0]["remedy"].as_str().unwrap().contains("log_avg_msec"), "{}", found[0]);
    assert_silent(&place.run(&fast).ends(0), "slow-logs");
}

#[test]
fn throttled() {
    let place = Place::new();
    let device = or_skip!("throttled", Loop::new(64 * MIB));
    let limit = format!("{} 500", number_of(&device.path));
    let group = Group::new("blkio", &[("blkio.throttle.read_iops_device", &limit)]);
    let group = or_skip!("throttled", group);
    let line = short(word(&device.path), &["--iodepth=4"]);
    let done = group.run(&place, &line).ends(0);
    assert_raised(&done, "throttled", "doubt");
    let told = of_code(&done, "throttled");
    assert!(told[0]["message"].as_str().unwrap().contains("500 reads per second"), "{told:?}");
    assert!(told[0]["remedy"].as_str().unwrap().starts_with("echo $$ > "), "{told:?}");
    assert_silent(&place.run(&line).ends(0), "throttled");
    // A limit on reads does not affect writes.
    let writes = short(word(&device.path), &["--rw=randwrite", "--destroy-data"]);
    assert_silent(&group.run(&place, &writes).ends(0), "throttled");
}

#[test]
fn memory_limit() {
    let place = Place::new();
    noise(&place, "file", 16 * MIB);
    let bytes = (256 * MIB).to_string();
    let small = Group::new("memory", &[("memory.limit_in_bytes", &bytes)]);
    let (small, free) = (or_skip!("memory_limit", small), Group::new("memory", &[]).unwrap());
    let cached = short("file", &["--direct=0"]);
    assert_raised(&small.run(&place, &cached).ends(0), "memory-limit", "doubt");
    assert_silent(&free.run(&place, &cached).ends(0), "memory-limit");
    if direct_io("memory_limit", &place.work()) {
        // Direct I/O bypasses the page cache, so the limit does not matter.
        assert_silent(&small.run(&place, &short("file", &[])).ends(0), "memory-limit");
    }
}

/// A process that keeps a processor busy. It is killed on drop.
struct Busy(Child);

impl Busy {
    fn on(processor: usize) -> Self {
        let mut command = pinned(processor, Command::new("sh"));
        command.args(["-c", "while :; do :; done"]).stdin(Stdio::null());
        Self(command.spawn().unwrap())
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Pins a command to one processor (sched_setaffinity(2)).
fn pinned(processor: usize, mut command: Command) -> Command {
    // SAFETY: between fork and exec, the closure makes one system call, on memory that it owns. All zeros is an empty
    // set of processors.
    unsafe {
        command.pre_exec(move || {
            let mut set: libc::cpu_set_t = std::mem::zeroed();
            libc::CPU_SET(processor, &mut set);
            if libc::sched_setaffinity(0, size_of_val(&set), &raw const set) == 0 {
                Ok(())
            } else {
                Err(std::io::Error::last_os_error())
            }
        });
    }
    command
}

/// Gives a command the highest priority (setpriority(2)) if that is allowed.
fn first_in_line(mut command: Command) -> Command {
    // SAFETY: between fork and exec, the closure makes one system call, which accesses no memory.
    unsafe {
        command.pre_exec(|| {
            libc::setpriority(libc::PRIO_PROCESS, 0, -20);
            Ok(())
        });
    }
    command
}

#[test]
fn client_bound() {
    let place = Place::new();
    noise(&place, "file", 16 * MIB);
    // A busy processor: the worker reads from memory and would use all of it.
    let line = short("file", &["--direct=0", "--ioengine=psync", "--runtime=1"]);
    let line: Vec<&str> = line.into_iter().filter(|word| *word != "--runtime=300ms").collect();
    let beside = {
        let _busy = [Busy::on(0), Busy::on(0)];
        let output = pinned(0, place.command(&line)).output().unwrap();
        crate::common::Done::from(output).ends(0)
    };
    assert_raised(&beside, "client-bound", "doubt");
    let told = of_code(&beside, "client-bound");
    assert!(told[0]["message"].as_str().unwrap().contains("had no processor"), "{told:?}");
    assert!(told[0]["remedy"].as_str().unwrap().contains("taskset"), "{told:?}");

    // Without the cause: a low rate, at which the worker mostly sleeps, on any processor and with priority over other
    // processes. A very busy machine may take more than one attempt.
    let quiet = [&line[..], &["--rate-iops=5"]].concat();
    eventually(|| {
        let output = first_in_line(place.command(&quiet)).output().unwrap();
        of_code(&crate::common::Done::from(output).ends(0), "client-bound").is_empty()
    });

    // A quota of half a processor is found before the run.
    let quota = Group::new("cpu", &[("cpu.cfs_quota_us", "50000")]);
    let (quota, free) = (or_skip!("client_bound", quota), Group::new("cpu", &[]).unwrap());
    let doctor = ["doctor", "file", "--json"];
    assert_raised(&quota.run(&place, &doctor).ends(0), "client-bound", "doubt");
    assert_silent(&free.run(&place, &doctor).ends(0), "client-bound");
}

/// A thread that reads a device as fast as it can. It ends on drop.
struct Neighbour {
    stop: Arc<AtomicBool>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Neighbour {
    fn of(device: &Path) -> Self {
        use std::os::unix::fs::{FileExt, OpenOptionsExt};
        let file = File::options().read(true).custom_flags(libc::O_DIRECT).open(device).unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            let mut memory = vec![0u8; MIB as usize + 4096];
            let start = memory.as_ptr().align_offset(4096);
            let block = &mut memory[start..start + MIB as usize];
            while !told.load(Ordering::Relaxed) {
                file.read_exact_at(block, 0).unwrap();
            }
        });
        Self { stop, thread: Some(thread) }
    }
}

impl Drop for Neighbour {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let _ = self.thread.take().map(std::thread::JoinHandle::join);
    }
}

#[test]
fn other_load() {
    let place = Place::new();
    // The image is in memory, so that the loop device does not share a disk with other processes.
    let image = tempfile::NamedTempFile::new_in("/dev/shm").map_err(|error| error.to_string());
    let image = or_skip!("other_load", image);
    image.as_file().set_len(64 * MIB).unwrap();
    let device = or_skip!("other_load", Loop::with_image(image, &[]));
    let line = short(word(&device.path), &["--rate-iops=100"]);
    let beside = {
        let _neighbour = Neighbour::of(&device.path);
        place.run(&line).ends(0)
    };
    assert_raised(&beside, "other-load", "doubt");
    assert_silent(&place.run(&line).ends(0), "other-load");
}

#[test]
fn feature_fallback() {
    let place = Place::new();
    let path = noise(&place, "file", 16 * MIB);
    let line = short("file", &["--direct=0"]);
    // open(2): O_NOATIME requires ownership of the file or CAP_FOWNER.
    let done = || -> crate::common::Done {
        let mut command = place.command(&line);
        // SAFETY: between fork and exec, the closure makes one system call, which accesses no memory.
        unsafe {
            command.pre_exec(|| {
                const CAP_FOWNER: libc::c_ulong = 3;
                if libc::prctl(libc::PR_CAPBSET_DROP, CAP_FOWNER, 0, 0, 0) == 0 {
                    Ok(())
                } else {
                    Err(std::io::Error::last_os_error())
                }
            });
        }
        command.output().unwrap().into()
    };
    or_skip!("feature_fallback", chown(&path, Some(12_345), None).map_err(|e| e.to_string()));
    let noted = done().ends(0);
    assert_raised(&noted, "feature-fallback", "note");
    chown(&path, Some(0), None).unwrap();
    assert_silent(&done().ends(0), "feature-fallback");
}

#[test]
fn interrupted() {
    let place = Place::new();
    noise(&place, "file", 16 * MIB);
    let line = ["run", "file", "--direct=0", "--runtime=50", "--json", "--quiet"];
    let run = place.start(&line);
    eventually(|| has_workers(&run));
    std::thread::sleep(Duration::from_millis(300));
    run.signal("INT");
    assert_raised(&run.end().ends(130), "interrupted", "note");
    assert_silent(&place.run(&short("file", &["--direct=0"])).ends(0), "interrupted");
}

/// Returns true if the process has a thread that does I/O.
fn has_workers(run: &Started) -> bool {
    let tasks = std::fs::read_dir(format!("/proc/{}/task", run.worker()));
    let mut names = tasks
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|task| std::fs::read_to_string(task.path().join("comm")).ok());
    names.any(|name| name.starts_with("iogauge-0"))
}

#[test]
fn no_io() {
    let place = Place::new();
    noise(&place, "file", MIB);
    let (with, without) = (short("file", &["--ioengine=null"]), short("file", &["--direct=0"]));
    assert_provoked(&place, "no-io", "doubt", &with, &without);
}

#[test]
fn simulated() {
    let place = Place::new();
    noise(&place, "file", MIB);
    let (with, without) = (short("sim:nvme", &[]), short("file", &["--direct=0"]));
    assert_provoked(&place, "simulated", "note", &with, &without);
    let doctor = |target| place.run(&["doctor", target, "--json"]).ends(0);
    assert_raised(&doctor("sim:nvme"), "simulated", "note");
    assert_silent(&doctor("file"), "simulated");
}
