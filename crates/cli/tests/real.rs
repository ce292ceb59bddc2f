//! Measurements on real files and loop devices through the binary.
#![allow(clippy::unwrap_used)]

mod common;

use common::answer::assert_one_answer;
use common::{Done, Place, direct_io, names, skip};
use iogauge_test_support::{Loop, Mount, or_skip, run as run_tool};
use serde_json::Value;

const REFUSED: i32 = 3;
const SHORT: [&str; 3] = ["--size=16m", "--runtime=200ms", "--ramp-time=0"];

fn short(place: &Place, target: &str, more: &[&str]) -> Done {
    place.run(&[&["run", target][..], &SHORT, more].concat())
}

fn codes(document: &Value) -> Vec<&str> {
    let caveats = document["caveats"].as_array().unwrap();
    caveats.iter().map(|caveat| caveat["code"].as_str().unwrap()).collect()
}

/// If arrivals are too close together to sleep between them, the worker polls. Polling does not count as work.
#[test]
fn polling_for_arrivals_is_reported_and_not_counted_as_cpu_use() {
    let place = Place::new();
    let of = |more: &[&str]| {
        let line = ["run", "f", "--size=16m", "--direct=0", "--iodepth=4", "--runtime=1", "--json"];
        let cpu = place.run(&[&line[..], more].concat()).ends(0).json()["steps"][0]["cpu"].clone();
        let percent = |name: &str| cpu[format!("{name}_percent")].as_f64().unwrap_or(0.0);
        (percent("polled"), percent("user") + percent("system"))
    };
    let (polled, used) = of(&["--rate_iops=17000"]);
    // A worker that loses its processor while it polls uses less time than it polls.
    assert!(polled > 0.0 && used > 0.0, "{polled} of {used}");
    assert_eq!(of(&[]).0, 0.0);
}

#[test]
fn directory_target_lifecycle_from_find_to_clean() {
    let place = Place::new();
    if !direct_io("directory_target_lifecycle_from_find_to_clean", &place.work()) {
        return;
    }
    std::fs::write(place.work().join("precious"), "mine").unwrap();

    let first = place
        .run(&["find", ".", "--size=64m", "--budget=2s", "--max-starvation=100%", "--json"])
        .ends(0);
    assert!(first.stderr.contains("prefilled 64 MiB"), "{}", first.stderr);
    assert!(place.names().contains(&"iogauge.dat".to_owned()));
    let found = first.json();
    assert_one_answer(&place, &found);
    assert!(found["answer"]["iops"]["mean"].as_f64().unwrap() > 0.0);
    assert!(found["target"]["size_bytes"].as_u64().unwrap() == 64 << 20, "{}", found["target"]);
    let ratio = found["physical"]["ratio_to_logical"].as_f64().unwrap();
    // Other processes may use the same disk, so there is no upper bound.
    assert!(ratio >= 0.9, "{ratio} physical bytes to a logical one");
    assert!(!codes(&found).contains(&"page-cache"), "{:?}", codes(&found));

    let line = ["run", ".", "--size=64m", "--runtime=500ms", "--iodepth=4", "--json"];
    let second = place.run(&line).ends(0);
    assert!(!second.stderr.contains("prefilled"), "{}", second.stderr);
    let ran = second.json();
    let step = &ran["steps"][0];
    assert!(step["write"].is_null());
    let ratio = step["physical"]["ratio_to_logical"].as_f64().unwrap();
    assert!(ratio >= 0.9, "{ratio} physical bytes to a logical one");
    assert!(ran["environment"]["kernel"].as_str().is_some_and(|k| !k.is_empty()));

    let cleaned = place.run(&["clean", "."]).ends(0);
    assert!(cleaned.stdout.contains("iogauge.dat: removed"), "{}", cleaned.stdout);
    assert_eq!(place.names(), ["precious"]);
    let again = place.run(&["clean", "."]).ends(0);
    assert!(again.stdout.contains("nothing there"), "{}", again.stdout);
}

#[test]
fn buffered_run_raises_the_page_cache_caveat() {
    let place = Place::new();
    let done = short(&place, ".", &["--direct=0", "--json"]).ends(0);
    let document = done.json();
    assert!(codes(&document).contains(&"page-cache"), "{:?}", codes(&document));
    if direct_io("buffered_run_raises_the_page_cache_caveat", &place.work()) {
        let direct = short(&place, ".", &["--json"]).ends(0).json();
        assert!(!codes(&direct).contains(&"page-cache"), "{:?}", codes(&direct));
    }
}

#[test]
fn every_engine_runs_every_direction() {
    let place = Place::new();
    if !direct_io("every_engine_runs_every_direction", &place.work()) {
        return;
    }
    for engine in ["io_uring", "libaio", "psync", "mmap", "null"] {
        let option = format!("--ioengine={engine}");
        for rw in ["--rw=randread", "--rw=write", "--rw=randrw"] {
            // Limited by number, not by time: a shared disk may do almost nothing during a short run.
            let line = ["run", ".", "--size=16m", "--ramp-time=0", "--number-ios=64"];
            let done = place.run(&[&line[..], &[&option, rw, "--iodepth=4", "--json"]].concat());
            if done.code == Some(2) && done.stderr.contains("cannot be used here") {
                skip("every_engine_runs_every_direction", done.stderr.trim());
                break;
            }
            let document = done.ends(0).json();
            let step = &document["steps"][0];
            let moved = |name: &str| step[name]["ios"].as_u64().unwrap_or(0);
            assert_eq!(moved("read") > 0, rw != "--rw=write", "{engine} {rw}: {step}");
            assert_eq!(moved("write") > 0, rw != "--rw=randread", "{engine} {rw}: {step}");
            let found = codes(&document);
            assert_eq!(found.contains(&"no-io"), engine == "null", "{engine}: {found:?}");
            assert_eq!(found.contains(&"page-cache"), engine == "mmap", "{engine}: {found:?}");
        }
    }
}

#[test]
fn rm_option_removes_the_test_file() {
    let place = Place::new();
    for command in ["run", "find"] {
        let line = [command, ".", "--size=16m", "--rm", "--direct=0"];
        let own: &[&str] = match command {
            "run" => &["--runtime=200ms"],
            _ => &["--budget=1s", "--max-starvation=100%"],
        };
        let done = place.run(&[&line[..], own].concat()).ends(0);
        assert!(done.stderr.contains("removed"), "{}", done.stderr);
        assert_eq!(place.names(), [""; 0]);
    }
}

#[test]
fn prepare_creates_the_test_file_only_once() {
    let place = Place::new();
    if !direct_io("prepare_creates_the_test_file_only_once", &place.work()) {
        return;
    }
    let first = place.run(&["prepare", ".", "--size=32m"]).ends(0);
    assert!(first.stdout.contains("prefilled 32 MiB"), "{}", first.stdout);
    assert!(first.stdout.contains("iogauge find ."), "{}", first.stdout);
    let second = place.run(&["prepare", "."]).ends(0);
    assert!(second.stdout.contains("ready"), "{}", second.stdout);
    assert!(!second.stdout.contains("prefilled"), "{}", second.stdout);
    // A prepared size is used although the command does not name it.
    let run = place.run(&["run", ".", "--runtime=100ms", "--ramp-time=0", "--json"]).ends(0);
    assert_eq!(run.json()["target"]["size_bytes"], 32 << 20);
    let grown = place.run(&["prepare", ".", "--size=48m"]).ends(0);
    assert!(grown.stdout.contains("prefilled 16 MiB"), "{}", grown.stdout);
}

#[test]
fn foreign_file_is_written_only_with_overwrite_option() {
    let place = Place::new();
    if !direct_io("foreign_file_is_written_only_with_overwrite_option", &place.work()) {
        return;
    }
    let file = place.work().join("iogauge.dat");
    let content: Vec<u8> =
        (0..1_u32 << 20).flat_map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes()).collect();
    std::fs::write(&file, &content).unwrap();
    let quick = ["--number-ios=20", "--ramp-time=0"];
    let run = |more: &[&str]| place.run(&[&["run", "."][..], &quick, more].concat());

    run(&[]).ends(0);
    for writing in ["--rw=randwrite", "--rw=randrw", "--dependent"] {
        let refused = run(&[writing]).ends(REFUSED);
        assert!(refused.stderr.contains("--overwrite-file"), "{}", refused.stderr);
        crate::common::assert_one_message(&refused.stderr);
    }
    place.run(&["prepare", "."]).ends(REFUSED);
    assert!(place.run(&["clean", "."]).ends(0).stdout.contains("left"));
    run(&["--rm"]).ends(0);
    assert_eq!(std::fs::read(&file).unwrap(), content);

    run(&["--rw=randwrite", "--overwrite-file"]).ends(0);
    let written = std::fs::read(&file).unwrap();
    assert_eq!(written.len(), content.len());
    assert!(written != content);
    assert_eq!(names(&place.work()), ["iogauge.dat"]);
}

#[test]
fn two_directories_form_one_target() {
    let place = Place::new();
    if !direct_io("two_directories_form_one_target", &place.work()) {
        return;
    }
    for name in ["a", "b"] {
        std::fs::create_dir(place.work().join(name)).unwrap();
    }
    let line = ["--rw=randrw", "--iodepth=8", "--json"];
    let document = short(&place, "a,b", &line).ends(0).json();
    assert_eq!(document["target"]["size_bytes"], 32 << 20, "{}", document["target"]);
    assert!(place.run(&["clean", "a:b"]).ends(0).stdout.lines().count() == 2);
    assert_eq!(names(&place.work().join("a")), [""; 0]);
    assert_eq!(names(&place.work().join("b")), [""; 0]);
}

#[test]
fn block_device_is_written_only_with_destroy_data() {
    const NAME: &str = "block_device_is_written_only_with_destroy_data";
    let place = Place::new();
    let image = place.work().join("image");
    std::fs::File::create(&image).unwrap().set_len(64 << 20).unwrap();
    or_skip!(NAME, run_tool("mkfs.ext4", &["-q", "-F", image.to_str().unwrap()]));
    let device = or_skip!(NAME, Loop::on(&image, &[]));
    let path = device.as_str();
    let quick = ["--runtime=100ms", "--ramp-time=0"];
    let run = |more: &[&str]| place.run(&[&["run", path][..], &quick, more].concat());

    let read = run(&["--json", "--iodepth=4"]).ends(0).json();
    assert!(codes(&read).contains(&"zero-blocks"), "{:?}", codes(&read));

    let refused = run(&["--rw=randwrite"]).ends(REFUSED);
    assert!(refused.stderr.contains("--destroy-data"), "{}", refused.stderr);
    assert!(refused.stderr.contains("ext4"), "{}", refused.stderr);
    crate::common::assert_one_message(&refused.stderr);
    run(&["--rw=randwrite", "--overwrite-file"]).ends(REFUSED);
    place.run(&["prepare", path]).ends(REFUSED);

    let mount = or_skip!(NAME, Mount::of(&device.path));
    run(&[]).ends(0);
    let mounted = run(&["--rw=randwrite", "--destroy-data"]).ends(REFUSED);
    assert!(mounted.stderr.contains("mounted on"), "{}", mounted.stderr);
    drop(mount);

    let written = run(&["--rw=randwrite", "--destroy-data", "--json"]).ends(0);
    assert!(written.json()["steps"][0]["write"]["ios"].as_u64().unwrap() > 0);
    assert!(place.run(&["clean", path]).ends(0).stdout.contains("block device"));
}

/// Returns, for each "again with 4 workers" in the explanation of a search, the processor time that led to it, in
/// percent of one processor, and the number of workers.
fn workers_added(explained: &str) -> Vec<(f64, usize)> {
    let figures = |line: &str| {
        let (before, after) = line.split_once(" % of a processor")?;
        let workers = after.split_once("again with ")?.1.split_once(' ')?.0;
        Some((before.rsplit_once(' ')?.1.parse().unwrap(), workers.parse().unwrap()))
    };
    explained.lines().filter_map(figures).collect()
}

/// With an engine that does nothing, the workers are the only bottleneck.
#[test]
fn search_uses_all_processors_before_reporting_client_bound() {
    const TEST: &str = "a_search_has_as_many_workers_as_processors";
    let place = Place::new();
    // At most as many as half the budget allows to measure.
    let processors = std::thread::available_parallelism().unwrap().get().min(8);
    let line = [
        "find",
        ".",
        "--size=16m",
        "--ioengine=null",
        "--direct=0",
        "--budget=6s",
        "--max-starvation=100%",
    ];
    let queue_depth = format!("--max-depth={}", processors.max(2));
    let line = [&line[..], &[&queue_depth, "--explain", "--json"]].concat();
    for _ in 0..4 {
        let done = place.run(&line).ends(0);
        let mut workers = 1;
        for (cpu_percent, more) in workers_added(&done.stderr) {
            assert!(cpu_percent >= (95 * workers) as f64 - 0.5, "{}", done.stderr);
            assert!(workers < more && more <= processors, "{}", done.stderr);
            workers = more;
        }
        let by_client = done.json()["answer"]["stopped_by"] == "client";
        assert!(!by_client || workers == processors, "{}", done.stderr);
        // If other processes take the workers' processors, the workers are not busy enough for the search to add more,
        // so there may be fewer than possible.
        if workers == processors {
            return;
        }
    }
    skip(TEST, "others kept the processors, so the workers were never short of time");
}
