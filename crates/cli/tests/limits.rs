//! Scarce resources: memory, threads, stack, descriptors, space for output. Each case ends with a result or a one-line
//! error, and takes no more than there is.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod common;

use common::{Done, Place, skip};
use iogauge_test_support::{Group, Mount, or_skip};
use std::fmt::Write;
use std::process::{Command, Output};

/// Runs a shell line in which `"$@"` is iogauge with these arguments.
fn shell(place: &Place, script: &str, arguments: &[&str]) -> Done {
    output(place, script, arguments).into()
}

fn output(place: &Place, script: &str, arguments: &[&str]) -> Output {
    let typed = place.command(arguments);
    let mut command = Command::new("bash");
    command.args(["-c", script, "bash"]).arg(typed.get_program()).args(typed.get_args());
    command.envs(typed.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.current_dir(place.work()).output().unwrap()
}

/// Asserts that a command ended by itself: successfully, or with a one-line error.
#[track_caller]
fn assert_ends_well(done: &Done) {
    let code = done.code.expect("no signal ended it");
    assert!([0, 1, 2].contains(&code), "{code}: {}", done.stderr);
    assert!(!done.stderr.contains("memory allocation of"), "{}", done.stderr);
    if code != 0 {
        crate::common::assert_one_message(&done.stderr);
    }
}

const SHORT: [&str; 5] = ["--runtime=50ms", "--ramp-time=0", "--direct=0", "--json", "--quiet"];

fn short<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&["run", ".", "--size=8m"], more, &SHORT].concat()
}

/// Stack sizes that suffice, in KiB. With 16, the dynamic linker itself lacks space in some layouts of the address
/// space: most runs of ls(1) end with a signal there. The system's RocksDB takes about 48 when it is loaded, before
/// `main`.
fn stacks_kib() -> &'static [u32] {
    let binary = std::fs::read(env!("CARGO_BIN_EXE_iogauge")).unwrap();
    let library = b"librocksdb.so";
    let has_rocksdb = binary.windows(library.len()).any(|bytes| bytes == library);
    if has_rocksdb { &[64, 128] } else { &[24, 32, 48, 64, 128] }
}

#[test]
fn commands_work_with_a_small_stack() {
    let place = Place::new();
    // On a busy machine, a worker may wait longer for a processor than a short run lasts.
    let real = ["run", ".", "--size=8m", "--runtime=1s", "--ramp-time=0", "--direct=0", "--quiet"];
    let lines = [&["run", "sim:nvme", "--runtime=10ms", "--json"][..], &real, &["--help"]];
    for kib in stacks_kib() {
        let script = format!("ulimit -s {kib}; \"$@\"");
        for line in lines {
            let done = shell(&place, &script, line).ends(0);
            assert!(!done.stdout.is_empty());
        }
        shell(&place, &script, &["run", "missing/file"]).ends(2);
        shell(&place, &script, &["run", "--unknown"]).ends(2);
    }
}

/// Returns a limit, in KiB, that is just large enough to load iogauge, plus one step. Under a smaller limit, the
/// dynamic linker or Rust's runtime ends the process before any of its code runs. The size depends on the linked
/// libraries.
fn least_to_load_kib(place: &Place, limit: char) -> u32 {
    const STEP: usize = 1_000;
    let loads = |kib: &u32| {
        let script = format!("ulimit -{limit} {kib}; \"$@\"");
        output(place, &script, &["--version"]).status.success()
    };
    let least =
        (1_000..1_000_000).step_by(STEP).find(loads).expect("it is loaded with enough memory");
    least + STEP as u32
}

#[test]
fn low_memory_limit_causes_a_one_line_error() {
    let place = Place::new();
    place.run(&short(&[])).ends(0);
    for limit in ['v', 'd'] {
        let least_kib = least_to_load_kib(&place, limit);
        for more_kib in [0, 2_000, 8_000, 32_000, 128_000] {
            let script = format!("ulimit -{limit} {}; \"$@\"", least_kib + more_kib);
            for more in
                [&[][..], &["--ioengine=psync", "--iodepth=64"], &["--bs=1m", "--iodepth=256"]]
            {
                assert_ends_well(&shell(&place, &script, &short(more)));
            }
        }
    }
    // Limits at which the memory barely suffices for the threads' stacks and buffers.
    for kilobytes in (150_000..480_000).step_by(15_000) {
        let script = format!("ulimit -v {kilobytes}; RUST_BACKTRACE=1 \"$@\"");
        assert_ends_well(&shell(&place, &script, &short(&["--ioengine=psync", "--iodepth=64"])));
    }
}

#[test]
fn low_descriptor_limit_causes_a_one_line_error() {
    let place = Place::new();
    for descriptors in [4, 6, 8, 16, 24] {
        let script = format!("ulimit -n {descriptors}; \"$@\"");
        for more in [&[][..], &["--ioengine=psync"], &["--numjobs=16"]] {
            assert_ends_well(&shell(&place, &script, &short(more)));
        }
    }
    shell(&place, "ulimit -n 64; \"$@\"", &short(&[])).ends(0);
}

#[test]
fn file_size_limit_causes_a_one_line_error_in_run() {
    let place = Place::new();
    let done = shell(&place, "ulimit -f 1024; \"$@\"", &short(&["--history=none"]));
    assert_ends_well(&done);
    assert_ne!(done.code, Some(0));
}

#[test]
fn file_size_limit_on_output_does_not_raise_a_signal() {
    let place = Place::new();
    place.run(&["run", "sim:nvme", "--runtime=10ms", "--quiet"]).ends(0);
    place.run(&["db", "setup", "sqlite:data", "--size=1m", "--quiet"]).ends(0);
    place.run(&["prepare", "old", "--size=1m"]);
    let lines = [
        "",
        "--help",
        "--version",
        "--bogus",
        "run --bogus",
        "run missing/file",
        "run sim:nvme --runtime=10ms",
        "run sim:nvme --runtime=10ms --history=none --json",
        "run sim:nvme --runtime=10ms --detach",
        "run new --size=1m --runtime=10ms --history=none",
        "find sim:nvme --budget=1s --history=none --explain",
        "suite",
        "suite iometer sim:nvme --dry-run",
        "crosscheck . --size=1m --runtime=1s",
        "profile --for=200ms --every=100ms --csv=p.csv --history=none",
        "doctor .",
        "prepare . --size=1m",
        "clean .",
        "clean old",
        "db setup sqlite:other --size=1m",
        "db create-globals sqlite:data --globals=1",
        "db run sqlite:data --mode=read --runtime=50ms --history=none",
        "db find sqlite:data --mode=read --budget=1s --history=none",
        "db verify sqlite:data",
        "db purge sqlite:data --yes",
        "history list",
        "history show",
        "history export",
        "history rm last",
        "history reset --yes",
        "report --html r.html",
        "stop",
        "import missing",
        "table missing",
        "man pages",
        "completions bash",
    ];
    for line in lines {
        let words: Vec<&str> = line.split_whitespace().collect();
        let done = shell(&place, "ulimit -f 0; \"$@\" > out 2> err; exit $?", &words);
        // The shell returns a larger code for a process that a signal ended.
        assert!(done.code.is_some_and(|code| code <= 6), "{line}: {done:?}");
        let said = ["out", "err"].map(|name| std::fs::metadata(place.work().join(name)).unwrap());
        assert!(said.iter().all(|file| file.len() == 0), "{line}");
    }
    // The requested text could not be written.
    shell(&place, "ulimit -f 0; \"$@\" > out 2> err; exit $?", &["--help"]).ends(1);
}

#[test]
fn failure_to_store_a_result_exits_with_an_error() {
    let place = Place::new();
    let line = ["run", "sim:nvme", "--runtime=10ms", "--quiet"];
    place.run(&line).ends(0);
    let kept = || place.runs().iter().filter(|run| run.1 == "done").count();
    let mut lost = 0;
    for kib in [16, 32, 48, 64, 80, 96, 112, 128, 256, 1024] {
        let before = kept();
        let done = shell(&place, &format!("ulimit -f {kib}; \"$@\""), &line);
        let is_kept = kept() > before && !done.stderr.contains("is not in the history");
        assert_eq!(done.code, Some(i32::from(!is_kept)), "{kib}: {done:?}");
        if is_kept {
            continue;
        }
        if !done.stdout.is_empty() {
            assert!(done.stdout.contains("IOPS"), "{kib}: {done:?}");
            assert!(done.stderr.contains("is not in the history"), "{kib}: {done:?}");
            lost += 1;
        }
    }
    assert!(lost > 0, "each was kept, or refused before it began");
}

#[test]
fn closed_standard_streams_are_not_reused_for_run_files() {
    let place = Place::new();
    let file = place.work().join("file");
    std::fs::write(&file, vec![7; 1 << 20]).unwrap();
    let line =
        ["run", "file", "--overwrite-file", "--rw=randwrite", "--runtime=50ms", "--ramp-time=0"];
    for script in ["\"$@\" <&- >&- 2>&-", "\"$@\" >&-", "\"$@\" 2>&-", "\"$@\" <&-"] {
        shell(&place, script, &line).ends(0);
        shell(&place, script, &["run", "missing/file"]).ends(2);
    }
    assert_eq!(place.runs().iter().filter(|run| run.1 == "done").count(), 4);
    let content = std::fs::read(&file).unwrap();
    assert_eq!(content.len(), 1 << 20);
    for text in [&b"IOPS"[..], b"iogauge"] {
        assert!(!content.windows(text.len()).any(|part| part == text));
    }
}

#[test]
fn full_or_closed_stdout_does_not_panic() {
    let place = Place::new();
    let line = ["run", "sim:nvme", "--runtime=10ms"];
    let done = shell(&place, "\"$@\" > /dev/full", &line).ends(1);
    assert_eq!(done.stderr.lines().filter(|line| line.contains("stdout")).count(), 1);
    shell(&place, "\"$@\" 2> /dev/full", &line).ends(0);
    shell(&place, "\"$@\" | true; exit ${PIPESTATUS[0]}", &line).ends(0);
    assert_eq!(place.runs().iter().filter(|run| run.1 == "done").count(), 3);
}

#[test]
fn excessive_memory_demand_is_rejected_before_allocation() {
    let place = Place::new();
    // A file system with room for the test file, whatever is free on the disk.
    let memory = Mount::tmpfs(4 << 30);
    let memory = or_skip!("excessive_memory_demand_is_rejected_before_allocation", memory);
    let directory = memory.point.to_str().unwrap();
    for more in [
        &["--bs=1g", "--iodepth=65536"][..],
        &["--bs=1g", "--iodepth=65536", "--numjobs=4096", "--ioengine=libaio"],
        &["--bs=1g", "--ioengine=psync", "--iodepth=4096"],
    ] {
        let line =
            [&["run", directory, "--size=2g", "--runtime=50ms", "--direct=0"], more].concat();
        let done = place.run(&line).ends(2);
        crate::common::assert_one_message(&done.stderr);
        assert!(done.stderr.contains("half of what is available"), "{more:?}: {}", done.stderr);
        // No test file of 2 GiB was written before the refusal.
        let names = iogauge_test_support::names(&memory.point);
        assert!(names.is_empty(), "{names:?}");
    }
    let script = "ulimit -v 2000000; \"$@\"";
    let line = short(&["--bs=1m", "--iodepth=4096"]);
    let done = shell(&place, script, &line).ends(2);
    assert!(done.stderr.contains("half of what is available by ulimit -v"), "{}", done.stderr);
}

#[test]
fn excessive_thread_count_is_rejected_before_spawning() {
    let place = Place::new();
    let line = short(&["--ioengine=psync", "--iodepth=65536"]);
    let done = place.run(&line).ends(2);
    crate::common::assert_one_message(&done.stderr);
    assert!(done.stderr.contains("65536 threads"), "{}", done.stderr);
    assert!(place.names().is_empty());
}

#[test]
fn cgroup_task_limit_causes_a_one_line_error() {
    let group = match Group::of_tasks(40) {
        Ok(group) => group,
        Err(why) => return skip("cgroup_task_limit_causes_a_one_line_error", &why),
    };
    let place = Place::new();
    let line = short(&["--ioengine=psync", "--iodepth=64"]);
    let done = group.run(&place, &line).ends(2);
    crate::common::assert_one_message(&done.stderr);
    let said = |text: &str| assert!(done.stderr.contains(text), "{text}: {}", done.stderr);
    said("64 threads");
    // Half of what the running tasks leave of 40.
    said("pids.max allows 1");
    assert!(place.names().is_empty());
    group.run(&place, &short(&["--ioengine=psync", "--iodepth=4"])).ends(0);
    drop(group);
    for most in [2, 3, 4, 6, 8] {
        let Ok(group) = Group::of_tasks(most) else { continue };
        assert_ends_well(&group.run(&place, &line));
    }
}

/// Runs a command as the user `nobody` of most systems.
const NOBODY: &str = "setpriv --reuid=65534 --regid=65534 --clear-groups --";

#[test]
fn user_process_limit_causes_a_one_line_error() {
    const NAME: &str = "user_process_limit_causes_a_one_line_error";
    let place = Place::new();
    let tried = shell(&place, &format!("exec {NOBODY} \"$@\""), &["--version"]);
    if tried.code != Some(0) {
        return skip(NAME, &tried.stderr);
    }
    std::fs::write(place.work().join("file"), vec![7; 8 << 20]).unwrap();
    let as_nobody = |most: u32, queue_depth: &str| {
        let script = format!("exec {NOBODY} bash -c 'ulimit -u {most}; exec \"$@\"' bash \"$@\"");
        let line = ["run", "file", "--ioengine=psync", queue_depth, "--history=none"];
        shell(&place, &script, &[&line[..], &SHORT].concat())
    };
    as_nobody(4000, "--iodepth=4").ends(0);
    let done = as_nobody(200, "--iodepth=101").ends(2);
    crate::common::assert_one_message(&done.stderr);
    assert!(done.stderr.contains("101 threads"), "{}", done.stderr);
    assert!(done.stderr.contains("ulimit -u allows 100"), "{}", done.stderr);
    for most in [0, 1, 2, 3, 4, 8] {
        assert_ends_well(&as_nobody(most, "--iodepth=4"));
    }
}

#[test]
fn excessive_db_process_count_is_rejected_before_spawning() {
    let place = Place::new();
    place.run(&["db", "setup", "sqlite:data", "--size=1m", "--quiet"]).ends(0);
    let line = ["db", "run", "sqlite:data", "--mode=read", "--processes=100000", "--runtime=50ms"];
    let done = place.run(&line).ends(2);
    crate::common::assert_one_message(&done.stderr);
    assert!(done.stderr.contains("100000 processes"), "{}", done.stderr);
}

#[test]
fn search_bounds_the_queue_depth_by_available_memory() {
    let place = Place::new();
    let line = [
        "find",
        ".",
        "--size=64m",
        "--max-starvation=100%",
        "--bs=4m",
        "--ioengine=psync",
        "--direct=0",
    ];
    let more = ["--budget=2s", "--limit=mean<=100s", "--json", "--quiet"];
    let script = "ulimit -v 1000000; \"$@\"";
    let done = shell(&place, script, &[&line[..], &more].concat()).ends(0);
    let document = done.json();
    assert!(document["answer"]["iops"]["mean"].as_f64().unwrap() > 0.0);
    for point in document["curve"].as_array().unwrap() {
        assert!(point["depth"].as_u64().unwrap() < 128, "{point}");
    }
}

/// Returns the user time of a command in seconds, from the faster of two runs, and its exit code. The command's output
/// goes to files.
fn user_seconds(place: &Place, line: &[&str]) -> (f64, i32) {
    let script = "TIMEFORMAT=%U; time \"$@\" > out 2> err";
    let timed = || {
        let done = shell(place, script, line);
        (done.stderr.trim().parse::<f64>().unwrap(), done.code.unwrap())
    };
    let (one, other) = (timed(), timed());
    (one.0.min(other.0), one.1)
}

/// Asserts that four times the input takes less than eight times as long. A linear algorithm takes four times as long,
/// a quadratic one sixteen times. On a processor with other load, the same work takes up to twice as long.
#[track_caller]
fn assert_linear(
    place: &Place,
    line: &[&str],
    code: i32,
    write: impl Fn(usize) -> String,
    n: usize,
) {
    let mut took = Vec::new();
    for n in [n, 4 * n] {
        std::fs::write(place.work().join("input"), write(n)).unwrap();
        let (seconds, ended) = user_seconds(place, line);
        assert_eq!(ended, code);
        let said = std::fs::read_to_string(place.work().join("err")).unwrap();
        assert!(!said.contains("panicked"), "{said}");
        took.push(seconds);
    }
    assert!(took[1] < 8.0 * took[0].max(0.05), "{took:?}");
}

#[test]
fn large_suite_files_are_parsed_in_linear_time() {
    let place = Place::new();
    let suite = |jobs: usize| {
        let mut text = "[[step]]\nname = \"a\"\njobs = [\n".to_owned();
        for job in 0..jobs {
            let _ = writeln!(text, "{{ name = \"job {job}\", rw = \"randread\", bs = \"4k\" }},");
        }
        // The last job has a mistake, so nothing is measured.
        text + "{ rw = \"nothing\" }]\n"
    };
    assert_linear(&place, &["suite", "./input", "sim:nvme"], 2, suite, 4000);
    let many = |jobs: usize| suite(jobs).replace("{ rw = \"nothing\" }", "");
    std::fs::write(place.work().join("input"), many(17_000)).unwrap();
    let done = place.run(&["suite", "./input", "sim:nvme"]).ends(2);
    assert!(done.stderr.contains("more than 16384 jobs"), "{}", done.stderr);
}

#[test]
fn unclosed_braces_are_parsed_in_linear_time() {
    let place = Place::new();
    for unit in ["{", "{\n", "{\"a\":", "[{", "{\"jobs\":[{", "{\"jobs\":[nan ", "{ \"a\" : a\n"] {
        let text = |n: usize| unit.repeat(n / unit.len());
        for command in ["table", "import"] {
            assert_linear(&place, &[command, "input"], 2, text, 1 << 20);
        }
        let said = std::fs::read_to_string(place.work().join("err")).unwrap();
        assert!(said.lines().count() <= 1002, "{unit}: {}", said.lines().count());
    }
}

#[test]
fn deeply_nested_suite_file_causes_a_one_line_error() {
    let place = Place::new();
    for text in [
        format!("[[step]]\nname = \"a\"\nbs = {}", "[".repeat(1 << 20)),
        format!("[[step]]\nname = \"a\"\njobs = {}", "[{a=".repeat(1 << 18)),
        format!("[{}", "a.".repeat(1 << 18)),
    ] {
        std::fs::write(place.work().join("input"), text).unwrap();
        let done = place.run(&["suite", "./input", "sim:nvme"]).ends(2);
        crate::common::assert_one_message(&done.stderr);
        assert!(done.stderr.len() < 10_000, "{}", done.stderr.len());
    }
    let deep = format!("{{\"jobs\":[{}1{}]}}", "{\"a\":".repeat(1 << 16), "}".repeat(1 << 16));
    std::fs::write(place.work().join("input"), deep).unwrap();
    let done = place.run(&["table", "input"]);
    assert!([Some(0), Some(2)].contains(&done.code), "{:?} {}", done.code, done.stderr);
}
