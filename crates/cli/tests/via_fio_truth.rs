//! Runs through fio whose figures may differ from those of the storage: each has a caveat or is refused.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod common;

use common::fio::{caveats, fio, job_file, number, told};
use common::{Done, Place, children, computed, eventually};
use iogauge_test_support::{MIB, Mount, or_skip};
use serde_json::Value;
use std::fs::File;
use std::process::Command;
use std::time::Duration;

const VIA: [&str; 4] = ["--via=fio", "--json", "-q", "--history=none"];

/// Writes a job file of one job, on the file `data`.
fn job(place: &Place, options: &str) {
    job_file(place, &format!("[a]\nfilename=data\nrw=randread\n{options}\n"));
}

fn run_job(place: &Place, options: &str) -> Done {
    job(place, options);
    place.run(&[&["run", "a.fio"][..], &VIA].concat())
}

/// Makes a file whose data does not repeat.
fn noise(place: &Place, name: &str, size_bytes: u64) {
    let path = place.work().join(name);
    File::create(&path).unwrap();
    iogauge_test_support::fill(&path, size_bytes);
}

#[test]
fn job_files_through_fio_raise_the_caveats_of_their_loads() {
    if !fio("job_files_through_fio_raise_the_caveats_of_their_loads") {
        return;
    }
    let place = Place::new();
    noise(&place, "data", 4 * MIB);
    File::create(place.work().join("holes")).unwrap().set_len(4 * MIB).unwrap();
    const SHORT: &str = "time_based\nruntime=1s\n";
    let cases = [
        ("ioengine=psync\nnorandommap\n", &["page-cache", "smaller-than-cache"][..], ""),
        ("ioengine=mmap\n", &["page-cache"], ""),
        ("ioengine=posixaio\niodepth=4\n", &["page-cache"], ""),
        ("ioengine=psync\ndirect=1\n", &[], "page-cache"),
        ("ioengine=null\nsize=1m\n", &["no-io"], "page-cache"),
        ("ioengine=psync\ndirect=1\nfilename=holes\n", &["sparse-holes"], "page-cache"),
    ];
    for (options, wanted, unwanted) in cases {
        let options = options.replace("filename=holes", "");
        let holes = wanted.contains(&"sparse-holes");
        job(&place, &format!("{options}{SHORT}"));
        if holes {
            let path = place.work().join("a.fio");
            let text = std::fs::read_to_string(&path).unwrap().replace("=data", "=holes");
            std::fs::write(path, text).unwrap();
        }
        let done = place.run(&[&["run", "a.fio"][..], &VIA].concat()).ends(0).json();
        for code in wanted {
            assert!(told(&done, code).is_some(), "{options}: no {code} in {:?}", caveats(&done));
        }
        assert!(told(&done, unwanted).is_none(), "{options}: {:?}", caveats(&done));
    }
    let few = run_job(&place, "ioengine=psync\nnumber_ios=1\n").ends(0).json();
    assert!(told(&few, "too-few-samples").is_some(), "{:?}", caveats(&few));
    job(&place, "ioengine=psync\n");
    let find = ["find", "a.fio", "--budget=2s", "--max-starvation=100%", "--max-depth=2"];
    let found = place.run(&[&find[..], &VIA].concat()).json();
    assert!(told(&found, "page-cache").is_some(), "{:?}", caveats(&found));
}

#[test]
fn fio_jobs_without_io_or_with_excessive_memory_are_refused() {
    if !fio("fio_jobs_without_io_or_with_excessive_memory_are_refused") {
        return;
    }
    let place = Place::new();
    noise(&place, "data", MIB);
    for (options, code, word) in [
        ("ioengine=cpuio\ncpuload=50\n", 3, "makes no I/O"),
        ("lockmem=1g\n", 3, "lockmem"),
        ("stats=0\n", 3, "stats"),
        ("iodepth=100000000\n", 2, "iodepth"),
        ("ioengine=libaio\nbs=1m\niodepth=60000\n", 2, "would take"),
    ] {
        let done = run_job(&place, options).ends(code);
        assert!(done.stderr.contains(word), "{options}: {}", done.stderr);
        crate::common::assert_one_message(&done.stderr);
    }
    // The errors are the same as without fio.
    let deep = ["run", "data", "--bs=1m", "--iodepth=60000", "--runtime=100ms", "-q"];
    let threads = ["run", "data", "--ioengine=psync", "--iodepth=60000", "--runtime=100ms", "-q"];
    for line in [deep, threads] {
        let alone = place.run(&line);
        let through = place.run(&[&line[..], &["--via=fio"]].concat());
        assert_ne!(alone.code, Some(0));
        assert_eq!((alone.code, alone.stderr), (through.code, through.stderr));
    }
    // The queue depth is 1, whatever the job requests.
    let done = run_job(&place, "ioengine=psync\niodepth=600\nnumber_ios=2000\n").ends(0).json();
    assert_eq!(done["steps"][0]["depth"], 1);
    assert!(!done["steps"][0]["label"].as_str().unwrap().contains("600"), "{done}");
}

/// Truncates the file of a run after fio has read for a while. Returns the run's document.
fn cut_short(place: &Place, line: &[&str]) -> Value {
    noise(place, "data", 16 * MIB);
    let started = place.start(&[line, &VIA].concat());
    eventually(|| computed(&fio_of(started.pid())) > Duration::from_millis(600));
    File::options().write(true).open(place.work().join("data")).unwrap().set_len(0).unwrap();
    started.end().ends(4).json()
}

#[test]
fn zero_byte_reads_count_as_errors() {
    if !fio("zero_byte_reads_count_as_errors") {
        return;
    }
    let place = Place::new();
    let run = ["run", "data", "--direct=0", "--ioengine=libaio"];
    let middle = cut_short(&place, &[&run[..], &["--ramp_time=0", "--runtime=30s"]].concat());
    job(&place, "ioengine=libaio\ntime_based\nruntime=30\n");
    let of_file = cut_short(&place, &["run", "a.fio"]);
    let ramp = cut_short(&place, &[&run[..], &["--ramp_time=10s", "--runtime=1s"]].concat());
    for (document, any) in [(middle, true), (of_file, true), (ramp, false)] {
        let read = &document["steps"][0]["read"];
        let count = |name: &str| read[name].as_u64().unwrap();
        assert!(count("errors") >= 1000, "{read}");
        // Only reads that moved data count. fio samples the bytes and the I/Os of a running job a moment apart.
        assert_eq!(count("ios") > 0, any, "{document}");
        assert!(count("bytes") / 4096 * 2 >= count("ios"), "{read}");
        assert_eq!(read["service_ns"]["n"], read["ios"]);
        let all = caveats(&document);
        assert!(all.iter().any(|(_, said)| said.contains("moved no data")), "{all:?}");
        assert!(all.iter().any(|(code, _)| code == "io-errors"), "{all:?}");
    }
}

#[test]
fn io_errors_during_ramp_are_reported() {
    let place = Place::new();
    noise(&place, "data", 16 * MIB);
    for engine in ["--ioengine=psync", "--ioengine=libaio"] {
        noise(&place, "data", 16 * MIB);
        let line =
            ["run", "data", "--direct=0", "--ramp_time=20s", "--runtime=1s", engine, "--json"];
        let started = place.start(&line);
        eventually(|| computed(&[started.worker()]) > Duration::from_millis(800));
        File::options().write(true).open(place.work().join("data")).unwrap().set_len(0).unwrap();
        let done = started.end().ends(4).json();
        let errors = told(&done, "io-errors").unwrap();
        assert!(errors.contains("in the ramp") && errors.contains("the file ended"), "{errors}");
        let nothing = told(&done, "nothing-completed").unwrap();
        assert!(!nothing.contains("all the work was done"), "{nothing}");
    }
}

/// Returns the fio processes of a command.
fn fio_of(command: u32) -> Vec<u32> {
    let below = children(command);
    let all = below.iter().flat_map(|pid| fio_of(*pid)).chain(below.iter().copied());
    let is_fio = |pid: &u32| {
        let comm = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
        let place = std::fs::read_link(format!("/proc/{pid}/cwd")).unwrap_or_default();
        // This leaves out the fio that is asked for its version.
        comm.trim() == "fio" && place.to_string_lossy().contains("iogauge-fio-")
    };
    all.filter(is_fio).collect()
}

fn signal(name: &str, processes: &[u32]) {
    for pid in processes {
        let sent = Command::new("kill").args([&format!("-{name}"), &pid.to_string()]).status();
        assert!(sent.unwrap().success());
    }
}

#[test]
fn stops_during_a_run_through_fio_raise_a_caveat() {
    if !fio("stops_during_a_run_through_fio_raise_a_caveat") {
        return;
    }
    let place = Place::new();
    noise(&place, "data", 16 * MIB);
    job(&place, "ioengine=psync\ntime_based\nruntime=5\n");
    let target = ["run", "data", "--direct=0", "--ramp_time=0", "--runtime=5s"];
    for line in [&target[..], &["run", "a.fio"]] {
        for with_iogauge in [false, true] {
            let started = place.start(&[line, &VIA].concat());
            let (pid, worker) = (started.pid(), started.worker());
            eventually(|| computed(&fio_of(pid)) > Duration::from_millis(600));
            let mut processes = fio_of(pid);
            processes.extend(with_iogauge.then_some(worker));
            signal("STOP", &processes);
            std::thread::sleep(Duration::from_millis(2000));
            signal("CONT", &processes);
            let done = started.end().ends(0).json();
            let said = told(&done, "paused").unwrap_or_else(|| panic!("{:?}", caveats(&done)));
            assert!(said.starts_with("iogauge or fio was paused"), "{said}");
            let step = &done["steps"][0];
            if line[1] == "data" {
                // The stop is in no latency, and not in the measured time.
                let max = step["read"]["service_ns"]["max"].as_f64().unwrap();
                assert!(max < 1.5e9, "{with_iogauge}: {max}");
                let seconds = step["seconds"].as_f64().unwrap();
                assert!(seconds < 4.0, "{with_iogauge}: {seconds}");
            }
        }
    }
}

#[test]
fn fio_logs_preserve_the_reserve_of_their_file_system() {
    const TEST: &str = "fio_logs_preserve_the_reserve_of_their_file_system";
    if !fio(TEST) {
        return;
    }
    let place = Place::new();
    noise(&place, "data", 4 * MIB);
    std::fs::create_dir(place.work().join("logs")).unwrap();
    let memory = Mount::new(&["-t", "tmpfs", "-o", "size=16m", "none"]);
    let memory = or_skip!("fio_logs_preserve_the_reserve_of_their_file_system", memory);
    // Each entry is a line, and stays in memory until the job has ended.
    job(&place, "ioengine=null\nsize=1g\ntime_based\nruntime=1\nwrite_lat_log=logs/x\n");
    let mut command = place.command(&[&["run", "a.fio"][..], &VIA].concat());
    let done: Done = command.env("TMPDIR", &memory.point).output().unwrap().into();
    let done = done.ends(1);
    assert!(done.stderr.contains("fio was ended while it wrote its logs"), "{}", done.stderr);
    assert!(number(&done.json()["steps"][0]["read"]["ios"]) > 0.0);
    // With enough space, the logs are complete.
    job(&place, "ioengine=null\nsize=1g\nnumber_ios=1000\nwrite_bw_log=logs/y\n");
    let mut command = place.command(&[&["run", "a.fio"][..], &VIA].concat());
    let done: Done = command.env("TMPDIR", &memory.point).output().unwrap().into();
    done.ends(0);
}
