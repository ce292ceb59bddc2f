//! The block layer traced during a load, by the real bpftrace and by programs that only have its name.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use assert_cmd::Command;
use common::{Done, EIGHT, Place, eventually};
use iogauge_test_support::{Loop, MIB, Throttle, or_skip};
use serde_json::Value;
use std::ops::Deref;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Longer than iogauge waits for a silent bpftrace.
const PATIENCE: Duration = Duration::from_secs(90);

/// Returns an error if the real bpftrace cannot trace here.
fn bpftrace() -> Result<(), String> {
    let traced = iogauge_test_support::run(
        "bpftrace",
        &["-e", "tracepoint:block:block_rq_issue { exit(); } BEGIN { exit(); }"],
    );
    traced.map(drop)
}

/// Held while the real bpftrace runs. While a process reads or changes maps of BPF programs, the kernel runs no
/// tracepoint program on that processor (`bpf_prog_active`, kernel/bpf/syscall.c and kernel/trace/bpf_trace.c). If one
/// bpftrace prints, another one therefore misses requests.
static ALONE: Mutex<()> = Mutex::new(());

/// A loop device that the real bpftrace can trace, while no other test runs bpftrace.
struct Device {
    device: Loop,
    _alone: MutexGuard<'static, ()>,
}

impl Deref for Device {
    type Target = Loop;

    fn deref(&self) -> &Loop {
        &self.device
    }
}

fn device() -> Result<Device, String> {
    // A failed test leaves nothing behind that would disturb the next one.
    let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    bpftrace()?;
    Ok(Device { device: Loop::new(64 * MIB)?, _alone: alone })
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is not a number"))
}

/// Returns the messages of the caveats with this code.
fn messages(done: &Done, code: &str) -> Vec<String> {
    let caveats = done.json()["caveats"].as_array().unwrap().clone();
    let of_code = caveats.iter().filter(|caveat| caveat["code"] == code);
    of_code.map(|caveat| caveat["message"].as_str().unwrap().to_owned()).collect()
}

/// Every I/O of a load of known length is one request of the same size. The device time of a request is at most the
/// time of the I/O.
#[test]
fn traced_requests_match_the_ios_of_the_load() {
    let place = Place::new();
    let device = or_skip!("traced_requests_match_the_ios_of_the_load", device());
    let name = device.path.file_name().unwrap().to_str().unwrap();
    let target = device.path.to_str().unwrap();
    let counted = ["--number_ios=3000", "--iodepth=4", "--trace", "--json"];
    for (rw, direction, other) in [("randread", "read", "write"), ("randwrite", "write", "read")] {
        let load =
            [&["run", target, "--rw", rw, "--bs=8k", "--destroy-data"][..], &counted].concat();
        let done = place.run(&load).ends(0);
        let step = &done.json()["steps"][0];
        let (seen, asked) = (&step["trace"][direction], &step[direction]);
        assert_eq!(asked["ios"], 3000);
        // Of 8192 places, one may be drawn again while it has an I/O outstanding. The second request is then unmatched.
        let unmatched = step["trace"]["unmatched"].as_u64().unwrap();
        // The kernel skips a program on a processor that is running another one, for example if a completion interrupts
        // the program of a request's start (`trace_call_bpf`, kernel/trace/bpf_trace.c).
        let requests = seen["requests"].as_u64().unwrap();
        let missed = (3000 - unmatched).checked_sub(requests);
        assert!(missed.is_some_and(|missed| missed <= 3), "{rw}: {}", step["trace"]);
        assert_eq!(seen["bytes"], requests * 8192);
        assert!(unmatched <= 12, "{rw}: {unmatched}");
        let sizes = seen["sizes"].as_array().unwrap();
        assert_eq!((sizes.len(), &sizes[0]["bytes"]), (1, &Value::from(8192)), "{sizes:?}");
        assert!(step["trace"][other].is_null(), "{}", step["trace"]);
        let (device_ns, io_ns) =
            (number(&seen["io"]["device_ns"]), number(&asked["service_ns"]["mean"]));
        assert!(0.0 < device_ns && device_ns <= io_ns, "{device_ns} of {io_ns}");
        assert_eq!(seen["io"]["mean_ns"], asked["service_ns"]["mean"]);
        assert!(number(&seen["device_ns"]["max"]) <= number(&asked["service_ns"]["max"]));
        let on = &step["trace"]["devices"][0];
        assert_eq!(on["device"], name);
        // 3000 I/Os all over 64 MiB come close to both ends. Two random places are on average a third of 64 MiB apart
        // (21.3 MiB), and the mean of 3000 is within 3 % of that.
        assert!(number(&on["first_byte"]) < 1e6 && number(&on["end_byte"]) > 66e6, "{on}");
        let third = 64.0 * 1_048_576.0 / 3.0;
        assert!((number(&on["jump_bytes_mean"]) / third - 1.0).abs() < 0.05, "{on}");
        assert_eq!(messages(&done, "traced").len(), 1);
        assert!(
            messages(&done, "trace-differs").is_empty(),
            "{:?}",
            messages(&done, "trace-differs")
        );
        assert!(messages(&done, "not-traced").is_empty());
    }
}

/// I/Os that a control group holds back wait before the device: the time is on the path, not in the device.
///
/// The kernel releases the I/Os of a tenth of a second at once (`throtl_slice`, 100 ms), here 50. On a busy machine,
/// one such burst may fall between the start of the load's window and that of the trace. The trace then states no
/// share. One of several runs must state it.
#[test]
fn throttle_wait_is_attributed_to_the_path() {
    const BURST: f64 = 50.0;
    let place = Place::new();
    let device = or_skip!("throttle_wait_is_attributed_to_the_path", device());
    let limit = Throttle::this_process(&device.path, 500);
    let _limit = or_skip!("throttle_wait_is_attributed_to_the_path", limit);
    let target = device.path.to_str().unwrap();
    let line = ["run", target, "--iodepth=8", "--runtime=3", "--trace", "--json"];
    for _ in 0..4 {
        let done = place.run(&line).ends(0);
        let step = &done.json()["steps"][0];
        let seen = &step["trace"]["read"];
        let missing = number(&seen["requests"]) - number(&step["read"]["ios"]);
        assert!(missing.abs() <= BURST + 2.0 * 8.0, "{seen}, {}", step["read"]);
        if seen["io"].is_null() {
            continue;
        }
        // By Little's law, 8 outstanding I/Os at 500 a second take 16 ms each.
        let io = &seen["io"];
        assert!(number(&io["mean_ns"]) > 8e6, "{io}");
        assert!(number(&io["device_ns"]) < 0.5 * number(&io["mean_ns"]), "{io}");
        return;
    }
    panic!("no run told the share of the device");
}

/// A sequential load is recognized, and the flushes of durable writes are assigned to them.
#[test]
fn trace_recognizes_sequential_order_and_flushes() {
    let place = Place::new();
    let device = or_skip!("trace_recognizes_sequential_order_and_flushes", device());
    let target = device.path.to_str().unwrap();
    let line = ["run", target, "--rw=write", "--sync=dsync", "--destroy-data", "--number_ios=500"];
    let done = place.run(&[&line[..], &["--iodepth=1", "--trace", "--json"]].concat()).ends(0);
    let trace = &done.json()["steps"][0]["trace"];
    // The kernel leaves out an event that interrupts the tracing of another one (trace_call_bpf).
    let nearly = 495.0..=500.0;
    assert!(nearly.contains(&number(&trace["write"]["requests"])), "{trace}");
    assert!(number(&trace["flush"]["requests"]) >= *nearly.start(), "{trace}");
    let on = &trace["devices"][0];
    assert!((494.0..=499.0).contains(&number(&on["followed"])), "{on}");
    assert!((489.0..=499.0).contains(&number(&on["sequential"])), "{on}");
    let own = number(&trace["write"]["device_ns"]["mean"]);
    let io = &trace["write"]["io"];
    assert!(
        number(&io["device_ns"]) > own && number(&io["device_ns"]) <= number(&io["mean_ns"]),
        "{io}"
    );
}

/// A search reports the trace of the window of its answer.
#[test]
fn search_reports_the_trace_of_its_answer() {
    let place = Place::new();
    let device = or_skip!("search_reports_the_trace_of_its_answer", device());
    let target = device.path.to_str().unwrap();
    for more in [&[][..], &["--open-loop"]] {
        let line = [
            "find",
            target,
            "--budget=6s",
            "--max-starvation=100%",
            "--max-depth=8",
            "--trace",
            "--json",
        ];
        let done = place.run(&[&line[..], more].concat());
        let document = done.json();
        let seen = &document["trace"]["read"];
        let (iops, seconds) =
            (number(&document["answer"]["iops"]["mean"]), number(&document["trace"]["seconds"]));
        let expected = iops * seconds;
        assert!((number(&seen["requests"]) / expected - 1.0).abs() < 0.5, "{seen}, {expected}");
        assert!(done.stderr.contains("block layer"), "{}", done.stderr);
        // On a busy machine the tracer may miss the edges of a short window. Then a caveat says so.
        let differs = !messages(&done, "trace-differs").is_empty();
        assert_ne!(done.stderr.contains("of each read's"), differs, "{}", done.stderr);
    }
}

/// A suite traces each of its steps.
#[test]
fn suite_reports_the_trace_of_each_step() {
    let place = Place::new();
    let device = or_skip!("suite_reports_the_trace_of_each_step", device());
    let target = device.path.to_str().unwrap();
    let line = ["suite", "blocksize", target, "--bs=4k,16k", "--seconds=1", "--trace", "--json"];
    let document = place.run(&line).ends(0).json();
    let steps = document["steps"].as_array().unwrap();
    assert_eq!(steps.len(), 4);
    for step in steps {
        let measured = &step["result"]["step"];
        let (trace, ios) = (&measured["trace"]["read"], &measured["read"]["ios"]);
        assert!((number(&trace["requests"]) / number(ios) - 1.0).abs() < 0.1, "{step}");
    }
}

/// Large I/Os become several requests, whose times do not add up.
#[test]
fn trace_differs() {
    let place = Place::new();
    let device = or_skip!("trace_differs", device());
    let target = device.path.to_str().unwrap();
    let run = |bs: &str| {
        let line =
            ["run", target, "--iodepth=1", "--number_ios=20", "--trace", "--json", "--bs", bs];
        place.run(&line).ends(0)
    };
    let split = run("16m");
    let told = messages(&split, "trace-differs");
    assert!(told.len() == 1 && told[0].starts_with("each read became "), "{told:?}");
    assert!(split.json()["steps"][0]["trace"]["read"]["io"].is_null());
    assert!(messages(&run("4k"), "trace-differs").is_empty());
}

/// A traced run has the caveat. A run without the option does not.
#[test]
fn traced() {
    let place = Place::new();
    let device = or_skip!("traced", device());
    let line = ["run", device.path.to_str().unwrap(), "--runtime=300ms", "--ramp-time=0", "--json"];
    let done = place.run(&[&line[..], &["--trace"]].concat()).ends(0);
    assert_eq!(messages(&done, "traced").len(), 1);
    let without = place.run(&line).ends(0);
    assert!(messages(&without, "traced").is_empty());
    assert!(without.json()["steps"][0]["trace"].is_null());
}

/// Returns a directory with a program that has bpftrace's name.
fn pretender(place: &Place, script: &str) -> PathBuf {
    let bin = place.work().join("bin");
    std::fs::create_dir_all(&bin).unwrap();
    let path = bin.join("bpftrace");
    std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    bin
}

/// Makes a short run with `--trace=try` and only this directory in PATH.
fn with_path(place: &Place, path: &Path, target: &str) -> Done {
    let line = ["run", target, "--number_ios=500", "--trace=try", "--json"];
    let mut command = place.command(&line);
    command.env("PATH", path);
    let mut command = Command::from_std(command);
    command.timeout(PATIENCE).output().unwrap().into()
}

fn without_tracefs() -> bool {
    !Path::new("/sys/kernel/tracing/events").exists()
        && !Path::new("/sys/kernel/debug/tracing/events").exists()
}

/// If bpftrace is missing or fails, the run measures without it and has a caveat.
#[test]
fn not_traced() {
    let place = Place::new();
    if without_tracefs() {
        return iogauge_test_support::skip("not_traced", "no tracefs");
    }
    let device = or_skip!("not_traced", Loop::new(64 * MIB));
    let target = device.path.to_str().unwrap();
    let empty = place.work().join("empty");
    std::fs::create_dir_all(&empty).unwrap();
    let done = with_path(&place, &empty, target).ends(0);
    let told = messages(&done, "not-traced");
    assert!(told[0].contains("bpftrace cannot be started"), "{told:?}");
    let cases = [
        ("echo 'ERROR: only as root' >&2; exit 1", "only as root"),
        (
            "echo 'ERROR: RLIMIT_MEMLOCK' >&2; echo 'ERROR: no permission' >&2; exit 1",
            "no permission",
        ),
        ("echo '{\"type\": 3}'; echo '{{{'; exit 0", "bpftrace ended by itself: {{{"),
        ("exit 0", "it said nothing"),
        ("/bin/sleep 1000", "did not answer within 2"),
        (
            "while echo '{\"type\": \"map\", \"data\": {\"@times\": 7}}'; do /bin/sleep 0.01; done",
            "did not answer",
        ),
        // The program reports that it is ready, and ends in the middle of the window.
        (
            "for w in first last; do printf '{\"type\": \"printf\", \"data\": \"iogauge %s\"}\\n' $w; done; \
             /bin/sleep 0.2; echo died >&2",
            "died",
        ),
    ];
    // Two of the cases are slow.
    std::thread::scope(|scope| {
        for (script, wanted) in cases {
            scope.spawn(move || {
                let place = Place::new();
                let done = with_path(&place, &pretender(&place, script), target).ends(0);
                let told = messages(&done, "not-traced");
                assert!(told.len() == 1 && told[0].contains(wanted), "{script}: {told:?}");
                let step = &done.json()["steps"][0];
                assert!(step["trace"].is_null(), "{script}: {step}");
                assert!(number(&step["read"]["ios"]) > 0.0, "{script}: {step}");
                assert!(messages(&done, "traced").is_empty(), "{script}");
            });
        }
    });
    let done = place.run(&["run", EIGHT, "--runtime=1", "--trace=try", "--json"]).ends(0);
    assert!(messages(&done, "not-traced")[0].contains("no block device"));
    assert!(
        messages(&place.run(&["run", EIGHT, "--runtime=1", "--json"]).ends(0), "not-traced")
            .is_empty()
    );
}

/// Without `=try`, a command that cannot trace measures nothing, and fills no file first.
#[test]
fn a_required_trace_is_refused_before_anything_is_written() {
    let place = Place::new();
    for command in
        [&["run", "sim:nvme"][..], &["find", "sim:nvme"], &["suite", "blocksize", "sim:nvme"]]
    {
        let done = place.run(&[command, &["--trace"]].concat()).ends(2);
        assert!(done.stderr.contains("error: --trace: no block device"), "{}", done.stderr);
        assert!(done.stderr.contains("--trace=try"), "{}", done.stderr);
    }
    let done = place.run(&["run", "sim:nvme", "--trace=no"]).ends(2);
    assert!(done.stderr.contains("try"), "{}", done.stderr);
    if without_tracefs() {
        let test = "a_required_trace_is_refused_before_anything_is_written";
        return iogauge_test_support::skip(test, "no tracefs");
    }
    let empty = place.work().join("empty");
    std::fs::create_dir_all(&empty).unwrap();
    let mut command = place.command(&["run", "new.dat", "--size=64m", "--trace"]);
    command.env("PATH", &empty);
    let done = Done::from(command.output().unwrap()).ends(2);
    assert!(done.stderr.contains("bpftrace cannot be started"), "{}", done.stderr);
    assert!(!place.work().join("new.dat").exists());
}

fn is_there(pid: u32) -> bool {
    let state = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // A zombie counts as gone.
    !state.is_empty() && !state.contains(") Z ")
}

/// Returns the number of reads that a device has completed (kernel documentation, ABI/stable/sysfs-block, `stat`).
fn reads_of(device: &Path) -> u64 {
    let name = device.file_name().unwrap().to_str().unwrap();
    let text = std::fs::read_to_string(format!("/sys/block/{name}/stat")).unwrap();
    text.split_whitespace().next().unwrap().parse().unwrap()
}

/// An interrupt keeps the trace so far, and no bpftrace outlives iogauge, however iogauge ends.
#[test]
fn bpftrace_ends_with_the_run() {
    let place = Place::new();
    let device = or_skip!("bpftrace_ends_with_the_run", device());
    let target = device.path.to_str().unwrap();
    let line = ["run", target, "--runtime=60", "--ramp-time=0", "--trace", "--json"];
    for signals in [&["INT"][..], &["KILL"], &["INT", "INT"], &["TERM"]] {
        let before = reads_of(&device.path);
        let run = place.start(&line);
        // The load starts when the tracer is ready.
        eventually(|| reads_of(&device.path) > before + 1000);
        let tracers = common::children(run.worker());
        assert_eq!(tracers.len(), 1, "{tracers:?}");
        for signal in signals {
            run.signal(signal);
        }
        let done = run.end();
        eventually(|| !tracers.iter().any(|pid| is_there(*pid)));
        if signals == ["INT"] {
            let step = &done.ends(130).json()["steps"][0];
            assert!(number(&step["trace"]["read"]["requests"]) > 0.0, "{step}");
        }
    }
}

/// A job file that fio runs has no measurement windows, so it cannot be traced.
#[test]
fn trace_of_a_job_file_through_fio_is_rejected() {
    let place = Place::new();
    std::fs::write(place.work().join("a.fio"), "[a]\nrw=read\nsize=1m\nfilename=b\n").unwrap();
    let done = place.run(&["run", "a.fio", "--via", "fio", "--trace"]).ends(2);
    assert!(done.stderr.contains("--trace"), "{}", done.stderr);
}
