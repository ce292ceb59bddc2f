//! fio job files through the binary, on real files.
#![allow(clippy::unwrap_used)]

mod common;

use common::{Done, Place, direct_io, skip};
use serde_json::Value;
use std::path::{Path, PathBuf};

const USAGE: i32 = 2;
const REFUSED: i32 = 3;

/// Writes a job file and runs it.
fn run(place: &Place, text: &str, more: &[&str]) -> Done {
    std::fs::write(place.work().join("t.fio"), text).unwrap();
    place.run(&[&["run", "t.fio"][..], more].concat())
}

fn steps(place: &Place, text: &str, more: &[&str]) -> Vec<Value> {
    let done = run(place, text, &[&["--json"][..], more].concat()).ends(0);
    done.json()["steps"].as_array().unwrap().clone()
}

/// Returns the number of reads, the number of writes, and the bytes of both.
fn moved(figures: &Value) -> (u64, u64, u64) {
    let of = |direction: &str, name: &str| figures[direction][name].as_u64().unwrap_or(0);
    (of("read", "ios"), of("write", "ios"), of("read", "bytes") + of("write", "bytes"))
}

/// Makes a file as another program would. No two of its blocks are equal.
fn foreign(path: &Path, size_bytes: u32) -> Vec<u8> {
    let words = (0..size_bytes / 4).map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes());
    let content: Vec<u8> = words.flatten().collect();
    std::fs::write(path, &content).unwrap();
    content
}

#[test]
fn job_groups_run_in_order_and_complete_their_size() {
    let place = Place::new();
    let text = "[global]\nsize=4m\nfilename=x\n[w]\nrw=write\nbs=256k\n[r]\nstonewall\n\
                rw=randread\nbs=64k\nloops=2\n[m]\nstonewall\nrw=read\nio_size=1m\nbs=4k,8k\n";
    let steps = steps(&place, text, &[]);
    let figures: Vec<_> = steps.iter().map(moved).collect();
    assert_eq!(figures, [(0, 16, 4 << 20), (128, 0, 8 << 20), (256, 0, 1 << 20)]);
    let labels: Vec<_> = steps.iter().map(|step| step["label"].as_str().unwrap()).collect();
    assert_eq!(labels[0], "w: write 256 KiB depth 1");
    assert_eq!(place.names(), ["t.fio", "x"]);

    // The history has all steps.
    let shown = place.run(&["history", "show"]).ends(0).stdout;
    assert!(shown.contains("Step 3 of 3: m: read 4 KiB,8 KiB depth 1"), "{shown}");
    // A file that iogauge made is used again, and `clean` removes it.
    run(&place, text, &[]).ends(0);
    place.run(&["clean", "x"]).ends(0);
    assert_eq!(place.names(), ["t.fio"]);
}

#[test]
fn jobs_of_a_group_run_concurrently_on_separate_files() {
    let place = Place::new();
    std::fs::create_dir(place.work().join("d")).unwrap();
    let text = "[global]\ndirectory=d\nsize=1m\nbs=64k\n[a]\nrw=write\nnumjobs=2\n\
                [b]\nrw=read\nfilename=c\n";
    let steps = steps(&place, text, &[]);
    assert_eq!(steps.len(), 1);
    let jobs = steps[0]["jobs"].as_array().unwrap();
    let figures: Vec<_> =
        jobs.iter().map(|job| (job["name"].as_str().unwrap(), moved(job))).collect();
    let mib = 1 << 20;
    assert_eq!(figures, [("a", (0, 16, mib)), ("a", (0, 16, mib)), ("b", (16, 0, mib))]);
    assert_eq!(common::names(&place.work().join("d")), ["a.0.0", "a.1.0", "c"]);

    let summed = format!("{text}[global]\n").replace("bs=64k\n", "bs=64k\ngroup_reporting\n");
    let steps = self::steps(&place, &summed, &[]);
    assert!(steps[0]["jobs"].is_null(), "{}", steps[0]);
    assert_eq!(moved(&steps[0]), (16, 32, 3 * mib));

    // As in fio, the group has one entry, named after its first job.
    let fio = place.run(&["run", "t.fio", "--output-format=json", "-q"]).ends(0).json();
    let entries = fio["jobs"].as_array().unwrap();
    assert_eq!(entries.len(), 1);
    assert_eq!(
        (&entries[0]["jobname"], &entries[0]["job options"]["rw"]),
        (&"a".into(), &"write".into())
    );
    let ios = |direction: &str| entries[0][direction]["total_ios"].as_u64().unwrap();
    assert_eq!((ios("read"), ios("write")), (16, 32));
}

#[test]
fn only_the_requested_range_is_written() {
    let place = Place::new();
    let path = place.work().join("mine");
    let before = foreign(&path, 8 << 20);
    let text = "[a]\nfilename=mine\nrw=randwrite\nbs=64k\noffset=25%\nsize=1m\n";
    let steps = steps(&place, text, &["--overwrite-file"]);
    assert_eq!(moved(&steps[0]), (0, 16, 1 << 20));
    let after = std::fs::read(&path).unwrap();
    let stretch = 2 << 20..3 << 20;
    assert_eq!(before[..stretch.start], after[..stretch.start]);
    assert_eq!(before[stretch.end..], after[stretch.end..]);
    let changed =
        |block: usize| before[block << 16..][..1 << 16] != after[block << 16..][..1 << 16];
    assert!((32..48).all(changed), "every block of the stretch is written once");
}

#[test]
fn runtime_ends_time_based_jobs() {
    let place = Place::new();
    let text = "[a]\nfilename=x\nsize=1m\nrw=randread\ntime_based\nruntime=300ms\n";
    let steps = steps(&place, text, &[]);
    assert!(moved(&steps[0]).0 > 256, "{}", steps[0]);
    let seconds = steps[0]["seconds"].as_f64().unwrap();
    assert!((0.25..5.0).contains(&seconds), "{seconds}");
}

#[test]
fn each_job_uses_its_own_runtime_and_delays() {
    let place = Place::new();
    let text = "[global]\nfilename=x\nsize=1m\nbs=4k\ntime_based\n[long]\nrw=read\nruntime=900ms\n\
                [short]\nrw=randread\nruntime=300ms\nramp_time=200ms\n\
                [late]\nrw=read\nstartdelay=300ms\nruntime=200ms\n[done]\nrw=read\ntime_based=0\n\
                io_size=64k\n";
    let step = &steps(&place, text, &[])[0];
    let seconds = |value: &Value| value["seconds"].as_f64().unwrap();
    let jobs: Vec<f64> = step["jobs"].as_array().unwrap().iter().map(seconds).collect();
    for (got, wanted) in jobs.iter().zip([0.9, 0.3, 0.2, 0.0]) {
        assert!((wanted..wanted + 0.4).contains(got), "{jobs:?}");
    }
    assert_eq!(seconds(step), jobs[0], "the longest");
    assert_eq!(step["jobs"][3]["read"]["ios"], 16);

    let fio = run(&place, text, &["--output-format=json", "-q"]).ends(0).json();
    let runtime = |job: usize| fio["jobs"][job]["read"]["runtime"].as_u64().unwrap();
    assert!(runtime(0) >= 900 && (300..700).contains(&runtime(1)), "{} {}", runtime(0), runtime(1));
}

#[test]
fn page_cache_is_invalidated_before_buffered_io() {
    const TEST: &str = "page_cache_is_invalidated_before_buffered_io";
    let place = Place::new();
    let path = place.work().join("mine");
    let cached_kib = || {
        let mut command = std::process::Command::new("fincore");
        let output = command.args(["-n", "-b", "-o", "RES"]).arg(&path).output().ok()?;
        String::from_utf8(output.stdout).ok()?.trim().parse::<u64>().ok().map(|b| b >> 10)
    };
    let text = "[a]\nfilename=mine\nrw=randread\nbs=4k\nio_size=64k\n";
    for (option, is_emptied) in [("invalidate=0", false), ("invalidate=1", true), ("", true)] {
        foreign(&path, 8 << 20);
        std::fs::File::open(&path).unwrap().sync_all().unwrap();
        let Some(before) = cached_kib() else { return skip(TEST, "fincore is not installed") };
        if before < 8 << 10 {
            return skip(TEST, "the file system keeps nothing in the page cache");
        }
        run(&place, &format!("{text}{option}\n"), &[]).ends(0);
        let after = cached_kib().unwrap();
        assert_eq!(after < 1 << 10, is_emptied, "{option}: {after} KiB are cached");
    }
}

#[test]
fn percentile_list_selects_reported_percentiles() {
    let place = Place::new();
    let text =
        "[a]\nioengine=null\nsize=1m\npercentile_list=99.9:50\n[b]\nioengine=null\nsize=1m\n";
    let fio = run(&place, text, &["--output-format=json", "-q"]).ends(0).json();
    let names = |job: usize| -> Vec<String> {
        let percentiles = &fio["jobs"][job]["read"]["clat_ns"]["percentile"];
        percentiles.as_object().unwrap().keys().cloned().collect()
    };
    assert_eq!(names(0), ["50.000000", "99.900000"]);
    assert_eq!(names(1).len(), 17);
    assert_eq!(fio["jobs"][0]["job options"]["percentile_list"], "50:99.9");
}

#[test]
fn null_engine_creates_no_file() {
    let place = Place::new();
    let text = "[a]\nioengine=null\nrw=randrw\nsize=100g\nnumber_ios=5000\n";
    let steps = steps(&place, text, &[]);
    let (reads, writes, _) = moved(&steps[0]);
    assert_eq!(reads + writes, 5000);
    assert_eq!(place.names(), ["t.fio"]);
}

#[test]
fn includes_variables_and_expressions_are_expanded() {
    let place = Place::new();
    std::fs::create_dir(place.work().join("inc")).unwrap();
    std::fs::write(place.work().join("inc/common"), "bs=128k ; blocks\nrw=read\n").unwrap();
    let text = "[global]\ninclude inc/common\n[a]\nfilename=${IOGAUGE_TEST_NAME}\nsize=(1+1)m\n\
                numjobs=$ncpus/$ncpus\n";
    std::fs::write(place.work().join("t.fio"), text).unwrap();
    let mut command = place.command(&["run", "t.fio", "--json"]);
    command.env("IOGAUGE_TEST_NAME", "named");
    let done: Done = command.output().unwrap().into();
    let done = done.ends(0);
    assert_eq!(moved(&done.json()["steps"][0]), (16, 0, 2 << 20));
    assert_eq!(place.names(), ["inc", "named", "t.fio"]);
}

#[test]
fn unlink_removes_only_created_files() {
    let place = Place::new();
    let text = "[global]\nsize=1m\nbs=64k\n[a]\nfilename=gone\nunlink=1\n[b]\nfilename=stays\n";
    run(&place, text, &[]).ends(0);
    assert_eq!(place.names(), ["stays", "t.fio"]);
    let content = foreign(&place.work().join("mine"), 1 << 20);
    run(&place, "[a]\nfilename=mine\nunlink=1\n", &[]).ends(0);
    assert_eq!(std::fs::read(place.work().join("mine")).unwrap(), content);
    run(&place, "[b]\nfilename=stays\nsize=1m\n", &["--rm"]).ends(0);
    assert_eq!(place.names(), ["mine", "t.fio"]);
}

#[test]
fn guards_check_every_job_before_the_first_starts() {
    let place = Place::new();
    let content = foreign(&place.work().join("mine"), 1 << 20);
    for last in ["filename=mine\nrw=write", "filename=./mine\nrw=randrw", "filename=/dev/zero"] {
        let text = format!("[a]\nfilename=new\nsize=1m\nrw=write\n[b]\nstonewall\n{last}\n");
        let refused = run(&place, &text, &[]).ends(REFUSED);
        assert_eq!(refused.stdout, "");
        crate::common::assert_one_message(&refused.stderr);
        assert_eq!(place.names(), ["mine", "t.fio"], "{last}");
    }
    assert_eq!(std::fs::read(place.work().join("mine")).unwrap(), content);
    // --lenient does not permit writing.
    let text = "[b]\nfilename=mine\nrw=write\ncgroup=a\n";
    run(&place, text, &["--lenient"]).ends(REFUSED);
    let text = "[a]\nrw=write\nnumjobs=64\nsize=8t\n";
    let refused = run(&place, text, &[]).ends(REFUSED);
    assert!(refused.stderr.contains("refused"), "{}", refused.stderr);
    assert_eq!(place.names(), ["mine", "t.fio"]);
}

#[test]
fn job_file_errors_print_one_line_and_change_nothing() {
    let place = Place::new();
    for (text, words) in [
        ("[a]\nrw=randreed\n", &["t.fio:2: rw: ", "randread"][..]),
        ("[a]\nfilename=x\n\niodeph=4\n", &["t.fio:4: iodeph", "hint: use iodepth"]),
        ("rw=read\n", &["t.fio:1: rw is outside"]),
        ("[a]\ncgroup=a\nsize=1m\nflow=2", &["t.fio:2: cgroup", "--lenient", "1 more"]),
        ("[a]\nioengine=rbd\n", &["t.fio:2: ioengine=rbd", "io_uring"]),
        ("[a]\nfilename=x\nbs=1000\ndirect=1\nsize=1m", &["t.fio:3: bs: ", "512"]),
        ("[a]\n", &["a.0.0 does not exist", "size=1g"]),
        ("[global]\nrw=read\n", &["t.fio: has no job"]),
    ] {
        for more in [&[][..], &["--json"]] {
            let done = run(&place, text, more).ends(USAGE);
            assert_eq!(done.stdout, "");
            crate::common::assert_one_message(&done.stderr);
            for word in words {
                assert!(done.stderr.contains(word), "{text}: \"{word}\" not in {}", done.stderr);
            }
        }
        assert_eq!(place.names(), ["t.fio"], "{text}");
        assert_eq!(place.runs(), []);
    }
    let none = place.run(&["run", "none.fio"]).ends(USAGE);
    assert!(none.stderr.contains("none.fio: cannot be read"), "{}", none.stderr);
    for beside in ["--bs=8k", "--runtime=5", "--job=rw=read"] {
        let done = run(&place, "[a]\nsize=1m\n", &[beside]).ends(USAGE);
        assert!(done.stderr.contains("[global]"), "{}", done.stderr);
    }
    let done = place.run(&["run", ".", "--lenient"]).ends(USAGE);
    assert!(done.stderr.contains(".fio"), "{}", done.stderr);
}

#[test]
fn lenient_skips_unsupported_options_with_a_warning() {
    let place = Place::new();
    let text = "[a]\nfilename=x\nsize=1m\nbs=64k\ncgroup=a\nflow=2\nrw=write\n";
    let done = run(&place, text, &["--lenient", "--json"]).ends(0);
    assert_eq!(moved(&done.json()["steps"][0]), (0, 16, 1 << 20));
    for words in ["warning: t.fio:5: cgroup is left out", "warning: t.fio:6: flow is left out"] {
        assert!(done.stderr.contains(words), "{}", done.stderr);
    }
    run(&place, "[a]\nsize=1m\nrw=trim\n", &["--lenient"]).ends(USAGE);
}

#[test]
fn latency_target_job_runs_a_search() {
    let place = Place::new();
    let text = "[a]\nfilename=x\nsize=16m\nrw=randread\nioengine=psync\niodepth=8\nruntime=2\n\
                latency_target=10s\nlatency_percentile=99\nlatency_window=1s\n";
    let document = run(&place, text, &["--json"]).ends(0).json();
    assert_eq!(document["format"], "iogauge.find/1");
    assert_eq!(document["limits"][0]["bound_ns"], 10_000_000_000_u64);
    assert!(document["answer"]["depth"].as_u64().unwrap() <= 8, "{}", document["answer"]);
}

#[test]
fn find_searches_over_the_only_job_of_a_file() {
    let place = Place::new();
    let find = |text: &str, more: &[&str]| {
        std::fs::write(place.work().join("rw.job"), text).unwrap();
        place.run(&[&["find", "rw.job"][..], more].concat())
    };
    let job = "[a]\nfilename=x\nsize=8m\nrw=randread\nbs=8k\niodepth=7\n";
    let limit = ["--limit=max<=1h", "--budget=2s", "--max-starvation=100%", "--json"];
    let document = find(job, &limit).ends(0).json();
    assert_eq!(document["format"], "iogauge.find/1");
    let depths: Vec<_> =
        document["curve"].as_array().unwrap().iter().map(|point| &point["depth"]).collect();
    assert_eq!((depths[0].as_u64(), depths[1].as_u64()), (Some(1), Some(2)), "{depths:?}");
    assert_eq!(document["load"]["block"]["read"], serde_json::json!([[8192, 100]]));
    assert_eq!(place.names(), ["rw.job", "x"]);

    for (text, more, told) in [
        ("[a]\nfilename=x\n[b]\nfilename=x\n", &[][..], "hint: use a file of one job, not 2"),
        ("[a]\nfilename=x\nsize=8m\nrate_iops=5\n", &[], "hint: remove the rate"),
        (job, &["--bs=4k"], "belong in the job file"),
        (job, &["--limit=write:p99<=1ms"], "hint: use rw=randrw or rw=randwrite"),
    ] {
        let done = find(text, more).ends(USAGE);
        assert!(done.stderr.contains(told), "{}", done.stderr);
    }
}

#[test]
fn job_files_are_recognized_by_their_content() {
    let place = Place::new();
    let job = "; nightly\n\n# on x\n[a] ; reads\nfilename=x\nsize=1m\nrw=read\nbs=64k\n";
    for name in ["read.ini", "nightly", "a.fio"] {
        std::fs::write(place.work().join(name), job).unwrap();
        let document = place.run(&["run", name, "--json"]).ends(0).json();
        assert_eq!(moved(&document["steps"][0]), (16, 0, 1 << 20), "{name}");
        for command in [&["prepare", "--size=1m"][..], &["crosscheck"], &["suite", "blocksize"]] {
            let refused = place.run(&[command, &[name]].concat()).ends(USAGE).stderr;
            let told = format!("error: {name} is a job file, not a target\nhint: run iogauge run");
            assert!(refused.starts_with(&told), "{refused}");
        }
        let suite = format!("./{name}");
        place.run(&["suite", &suite, "--json"]).ends(0);
    }
    // Data of others is not read as a job file.
    for text in ["[1, 2]\n", "{\n", "[\n1\n]\n", "a\n[b]\n"] {
        std::fs::write(place.work().join("data"), text.repeat(4096)).unwrap();
        let done =
            place.run(&["run", "data", "--runtime=50ms", "--ramp-time=0", "--direct=0", "-q"]);
        done.ends(0);
    }
}

/// Returns the files of a directory that end in .fio.
fn job_files(directory: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(directory) else { return Vec::new() };
    let paths = entries.map(|entry| entry.unwrap().path());
    let mut paths: Vec<_> =
        paths.filter(|path| path.extension().is_some_and(|e| e == "fio")).collect();
    paths.sort();
    paths
}

#[test]
fn shipped_example_job_files_run_unchanged() {
    let place = Place::new();
    if !direct_io("shipped_example_job_files_run_unchanged", &place.work()) {
        return;
    }
    let files = job_files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples"));
    assert!(files.len() >= 3, "{files:?}");
    for file in files {
        let done = place.run(&["run", file.to_str().unwrap(), "--json", "--quiet"]);
        if done.code == Some(USAGE) && done.stderr.contains("cannot be used here") {
            return skip("shipped_example_job_files_run_unchanged", done.stderr.trim());
        }
        let document = done.ends(0).json();
        for step in document["steps"].as_array().unwrap() {
            let (reads, writes, _) = moved(step);
            assert!(reads + writes > 0, "{}: {step}", file.display());
        }
    }
}

/// fio's own examples, on files in the test's place, with sizes and times that suit a test.
#[test]
fn example_job_files_of_fio_run_with_adjusted_paths() {
    const TEST: &str = "example_job_files_of_fio_run_with_adjusted_paths";
    let directory = Path::new("/usr/share/doc/fio/examples");
    if !directory.join("fio-rand-read.fio").exists() {
        return skip(TEST, "fio's examples are not there (package fio-examples)");
    }
    let place = Place::new();
    if !direct_io(TEST, &place.work()) {
        return;
    }
    for name in
        ["aio-read", "fio-rand-read", "fio-rand-RW", "fio-seq-write", "ssd-test", "null", "zipf"]
    {
        let mut text = std::fs::read_to_string(directory.join(format!("{name}.fio"))).unwrap();
        for (from, to) in [
            ("runtime=900", "runtime=100ms"),
            ("runtime=60", "runtime=100ms"),
            ("size=10G", "size=4m"),
            ("size=10g", "size=4m"),
            ("size=512m", "size=4m"),
            ("size=100g", "size=1g"),
            ("size=1280m", "size=16m"),
            ("directory=/data1", "directory=."),
            ("directory=/mount-point-of-ssd", "directory=."),
        ] {
            text = text.replace(from, to);
        }
        for step in steps(&place, &text, &["--quiet"]) {
            let (reads, writes, _) = moved(&step);
            assert!(reads + writes > 0, "{name}: {step}");
        }
    }
}

#[test]
fn sequential_stream_visits_all_of_unequal_files() {
    let place = Place::new();
    let before = [("large", 1 << 20), ("small", 64 << 10)]
        .map(|(name, bytes)| (name, foreign(&place.work().join(name), bytes)));
    let text = "[a]\nrw=write\nbs=4k\nioengine=psync\nfilename=large:small\nverify=crc32c\n";
    let step = &steps(&place, text, &["--overwrite-file"])[0];
    assert_eq!((moved(step).1, &step["verify"]["units"]), (272, &272.into()));
    for (name, before) in before {
        let after = std::fs::read(place.work().join(name)).unwrap();
        assert_eq!(after.len(), before.len());
        for (number, (after, before)) in after.chunks(4096).zip(before.chunks(4096)).enumerate() {
            assert!(after != before, "block {number} of {name}");
        }
    }
}

#[test]
fn buffered_io_reaches_the_last_byte_of_a_file() {
    let place = Place::new();
    let file = place.work().join("odd");
    let before = foreign(&file, 10_000);
    let text = "[a]\nrw=write\nbs=100\nioengine=psync\nfilename=odd\n";
    let step = &steps(&place, text, &["--overwrite-file"])[0];
    assert_eq!(moved(step), (0, 100, 10_000));
    let after = std::fs::read(&file).unwrap();
    assert_eq!(after.len(), before.len());
    assert_ne!(after[9_900..], before[9_900..]);
    // Direct I/O reaches whole blocks only.
    let direct = "[a]\nrw=read\nbs=512\ndirect=1\nioengine=psync\nfilename=odd\n";
    if direct_io("buffered_io_reaches_the_last_byte_of_a_file", &place.work()) {
        assert_eq!(moved(&steps(&place, direct, &[])[0]).0, 19);
    }
    let new = "[a]\nrw=write\nbs=100\nsize=1000\nioengine=psync\nfilename=new\n";
    assert_eq!(moved(&steps(&place, new, &[])[0]), (0, 10, 1000));
}

#[test]
fn verify_pattern_alone_verifies_and_verify_only_alone_writes_nothing() {
    let place = Place::new();
    let text = "[a]\nrw=write\nbs=4k\nsize=64k\nfilename=x\nverify_pattern=0xab\n";
    let step = &steps(&place, text, &[])[0];
    assert_eq!((&step["verify"]["units"], &step["verify"]["corrupted"]), (&16.into(), &0.into()));
    let data = std::fs::read(place.work().join("x")).unwrap();
    let data = &data[data.len() - (64 << 10)..];
    assert!(data.iter().filter(|byte| **byte == 0xab).count() > 60 << 10);
    let none = text.replace("verify_pattern", "verify=none\nverify_pattern");
    assert_eq!(steps(&place, &none, &[])[0]["verify"], Value::Null);

    let before = foreign(&place.work().join("kept"), 64 << 10);
    let only = "[a]\nrw=write\nbs=4k\nfilename=kept\nverify_only=1\n";
    let done = run(&place, only, &["--overwrite-file"]).ends(USAGE);
    assert!(done.stderr.contains("t.fio:5: verify_only: has no effect without verify"));
    assert_eq!(std::fs::read(place.work().join("kept")).unwrap(), before);
}
