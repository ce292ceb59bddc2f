//! Plans run by real fio, and by programs that pretend to be fio.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::answer::assert_one_answer;
use common::fio::{codes, document, fake, fio, job_file, number, program};
use common::{Done, Place, computed, eventually};
use iogauge_test_support::{Loop, MIB, Throttle, or_skip};
use serde_json::Value;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// Held by a test that measures a device's own rate, because one load takes processor time from another.
static MEASURING: Mutex<()> = Mutex::new(());

const SMALL: [&str; 4] = ["--size=16m", "--direct=0", "--ramp_time=0", "-q"];

fn run(place: &Place, via: &str, more: &[&str]) -> Done {
    place.run(&[&["run", ".", "--via", via][..], &SMALL, more].concat())
}

#[test]
fn run_through_fio_gives_a_complete_result() {
    if !fio("run_through_fio_gives_a_complete_result") {
        return;
    }
    let place = Place::new();
    let done = run(&place, "fio", &["--runtime=1", "--iodepth=4", "--json"]).ends(0).json();
    let version = done["via"]["version"].as_str().unwrap();
    assert!(version.starts_with("fio-"), "{version}");
    let (step, read) = (&done["steps"][0], &done["steps"][0]["read"]);
    assert!((number(&step["seconds"]) - 1.0).abs() < 0.2, "{}", step["seconds"]);
    let rate = number(&read["ios"]) / number(&step["seconds"]);
    assert!((number(&read["iops"]["mean"]) / rate - 1.0).abs() < 1e-6);
    assert_eq!(number(&read["bytes"]) / number(&read["ios"]), 4096.0);
    let counts = read["service_histogram"]["counts"].as_array().unwrap();
    let counted: u64 = counts.iter().map(|pair| pair[1].as_u64().unwrap()).sum();
    assert_eq!(Some(counted), read["ios"].as_u64());
    assert!(step["series"].as_array().unwrap().len() >= 3, "{}", step["series"]);
    assert!(codes(&done).contains(&"via-fio".to_owned()));
    let text = place.run(&["history", "show"]).ends(0).stdout;
    assert!(text.contains(&format!("via {version}")) && text.contains("Little's law"), "{text}");
    place.run(&["history", "show", "--format=fio-json"]).ends(0);
    // Other workloads: mixed, with threads for the queue depth and flushes; separate jobs; a number of I/Os.
    let mixed = ["--rw=randrw", "--ioengine=psync", "--iodepth=3", "--fsync=16", "--runtime=500ms"];
    let mixed = run(&place, "fio", &[&mixed[..], &["--json"]].concat()).ends(0).json();
    for direction in ["read", "write", "sync"] {
        assert!(number(&mixed["steps"][0][direction]["ios"]) > 0.0, "{direction}");
    }
    let jobs = ["--job", "rw=randread", "--job", "rw=randwrite bs=8k", "--runtime=500ms"];
    let jobs = run(&place, "fio", &[&jobs[..], &["--json"]].concat()).ends(0).json();
    let [first, second] = [0, 1].map(|job| &jobs["steps"][0]["jobs"][job]);
    assert!(first["write"].is_null() && second["read"].is_null(), "{jobs}");
    let counted = ["--number_ios=30000", "--numjobs=3", "--runtime=60", "--json"];
    let counted = run(&place, "fio", &counted).ends(0).json();
    assert_eq!(counted["steps"][0]["read"]["ios"], 30_000);
    // fio wrote only after the header by which iogauge recognizes its file.
    let alone = ["run", ".", "--rw=write", "--runtime=50ms", "--json"];
    let alone = place.run(&[&alone[..], &SMALL].concat()).ends(0).json();
    assert!(alone["via"].is_null() && !codes(&alone).contains(&"via-fio".to_owned()));
}

#[test]
fn approximated_load_through_fio_raises_a_caveat() {
    if !fio("approximated_load_through_fio_raises_a_caveat") {
        return;
    }
    let place = Place::new();
    let more = ["--rw=randrw", "--dependent", "--runtime=200ms", "--json"];
    let done = run(&place, "fio", &more).ends(0).json();
    let told = done["caveats"].as_array().unwrap();
    let doubt = |c: &&Value| c["code"] == "via-fio" && c["impact"] == "doubt";
    assert!(told.iter().any(|c| doubt(&c) && c["message"].as_str().unwrap().contains("dependent")));
    let rated = ["--rate_iops=500", "--runtime=300ms", "--json"];
    let done = run(&place, "fio", &rated).ends(0).json();
    let told = done["caveats"].as_array().unwrap();
    assert!(
        told.iter().any(|c| doubt(&c) && c["message"].as_str().unwrap().contains("--rate_iops"))
    );
}

#[test]
fn invalid_fio_program_causes_a_one_line_error() {
    let place = Place::new();
    let refuses = "echo 'fio: the first word' >&2; echo more >&2; exit 1";
    let garbage = "yes not a document | head -100000";
    let other = program(&place.work(), "other", "echo something else");
    let cases = [
        ("fio=/no/such/fio".to_owned(), 2, "cannot be started"),
        ("dd".to_owned(), 2, "fio=BINARY"),
        (format!("fio={}", other.display()), 2, "is not fio"),
        (fake(&place, refuses), 2, "fio-3.99 does not run this: fio: the first word"),
    ];
    for (via, code, word) in cases {
        let done = run(&place, &via, &["--runtime=1"]).ends(code);
        assert!(done.stderr.contains(word), "{}", done.stderr);
        crate::common::assert_one_message(&done.stderr);
        assert_eq!(done.stdout, "");
    }
    let done = run(&place, &fake(&place, garbage), &["--runtime=1"]).ends(1);
    assert!(done.stderr.contains("without figures; it said: not a document"), "{}", done.stderr);
    let done = run(&place, &fake(&place, "kill -KILL $$"), &["--runtime=1"]).ends(1);
    assert!(done.stderr.contains("ended before its time (signal: 9"), "{}", done.stderr);
    let states: Vec<String> = place.runs().into_iter().map(|run| run.1).collect();
    assert!(states.iter().all(|state| state == "failed"), "{states:?}");
    let simulated = place.run(&["run", "sim:nvme", "--via", "fio"]);
    assert!(simulated.code == Some(2), "{}", simulated.stderr);
}

#[test]
fn last_fio_document_is_used_and_errors_are_counted() {
    let place = Place::new();
    let documents = [
        // The figures of the ramp. fio then counts from zero.
        "{\n  \"jobs\" : [\n    { \"jobname\" : \"a\", \"read\" : { \"io_bytes\" : 4096, \"total_ios\" \
         : 1, \"runtime\" : 900 } }\n  ]\n}\n"
            .to_owned(),
        document(100, 100, ""),
        document(250, 300, ""),
        document(1000, 1000, "\"error\" : 5, \"total_err\" : 3, \"first_error\" : 5, "),
    ];
    let script: Vec<String> =
        documents.iter().map(|text| format!("cat <<'END'\n{text}END\nsleep 0.1")).collect();
    let via = fake(&place, &script.join("\n"));
    let done = run(&place, &via, &["--runtime=1", "--json"]).ends(4).json();
    let (step, read) = (&done["steps"][0], &done["steps"][0]["read"]);
    assert_eq!((&read["ios"], &read["errors"]), (&1000.into(), &3.into()));
    assert_eq!(number(&read["iops"]["mean"]), 1000.0);
    assert_eq!(
        (&read["service_ns"]["min"], &read["service_ns"]["max"]),
        (&900_000.into(), &1_100_000.into())
    );
    // A thousand I/Os of a millisecond in a second.
    assert!((number(&step["depth_achieved"]) - 1.0).abs() < 1e-9);
    assert!(codes(&done).contains(&"io-errors".to_owned()));
    assert_eq!(done["via"]["version"], "fio-3.99");
}

#[test]
fn interrupt_keeps_the_result_and_ends_fio() {
    const TEST: &str = "interrupt_keeps_the_result_and_ends_fio";
    if !fio(TEST) {
        return;
    }
    let place = Place::new();
    place.run(&["prepare", ".", "--size=16m", "-q"]).ends(0);
    let own = place.work().join("own-fio");
    let path = std::env::var_os("PATH").unwrap();
    let real = std::env::split_paths(&path).map(|dir| dir.join("fio")).find(|fio| fio.exists());
    std::os::unix::fs::symlink(real.unwrap(), &own).unwrap();
    let via = format!("fio={}", own.display());
    let line = [&["run", ".", "--via", &via, "--runtime=60", "--json"][..], &SMALL].concat();
    let started = place.start(&line);
    let half = std::time::Duration::from_millis(500);
    eventually(|| computed(&running(&own)) > half);
    started.signal("INT");
    let done = started.end().ends(130).json();
    assert_eq!(done["interrupted"], true);
    assert!(number(&done["steps"][0]["read"]["ios"]) > 0.0);
    assert_eq!(running(&own), [0; 0]);
    // A run that cannot clean up leaves no fio behind either.
    let started = place.start(&line);
    eventually(|| computed(&running(&own)) > half);
    started.signal("KILL");
    eventually(|| running(&own).is_empty());
}

/// Returns the processes that run a program.
fn running(program: &Path) -> Vec<u32> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let Ok(pid) = entry.file_name().to_string_lossy().parse() else { continue };
        let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let first = line.split(|byte| *byte == 0).next().unwrap_or_default();
        if first == program.as_os_str().as_encoded_bytes() {
            found.push(pid);
        }
    }
    found
}

#[test]
fn search_through_fio_finds_the_device_queue_depth() {
    const TEST: &str = "search_through_fio_finds_the_device_queue_depth";
    const IOPS: u32 = 2000;
    if !fio(TEST) {
        return;
    }
    let _alone = MEASURING.lock().unwrap_or_else(PoisonError::into_inner);
    let place = Place::new();
    let device = or_skip!(TEST, Loop::new_in(Path::new("/dev/shm"), 64 * MIB));
    let limit = Throttle::this_process(&device.path, IOPS);
    let _limit = or_skip!(TEST, limit);
    let target = device.path.to_str().unwrap();
    let line = [
        "find",
        target,
        "--via",
        "fio",
        "--max-starvation=100%",
        "--limit",
        "mean<=10ms",
        "--budget=40s",
        "--json",
    ];
    // By Little's law, 20 outstanding I/Os take 10 ms. The throttle releases the I/Os of a tenth of a second at once, so
    // a window of 2.5 s, the longest here, knows a mean within 4 %. The search confirms a queue depth up to 5 % below one
    // that may break the limit, and has no time for more: 18 to 21 are correct. On a busy machine, fio may not use its
    // full share, and the search may end undecided (exit code 7). One of several searches must be correct.
    let mut answers = Vec::new();
    for _ in 0..4 {
        let done = place.run(&line);
        assert!(matches!(done.code, Some(0 | 7)), "{:?}: {}", done.code, done.stderr);
        let found = done.json();
        assert_one_answer(&place, &found);
        let answer = &found["answer"];
        let (iops, queue_depth) = (number(&answer["iops"]["mean"]), number(&answer["depth"]));
        let near =
            (iops / f64::from(IOPS) - 1.0).abs() < 0.03 && (18.0..=21.0).contains(&queue_depth);
        if near && done.code == Some(0) {
            assert!(found["via"]["version"].as_str().unwrap().starts_with("fio-"));
            return;
        }
        answers.push((iops, queue_depth, answer["stopped_by"].clone()));
    }
    panic!("{answers:?}, not {IOPS} IOPS at depth 18 to 21");
}

#[test]
fn crosscheck_agrees_with_fio_and_detects_false_results() {
    const TEST: &str = "crosscheck_agrees_with_fio_and_detects_false_results";
    if !fio(TEST) {
        return;
    }
    let _alone = MEASURING.lock().unwrap_or_else(PoisonError::into_inner);
    let place = Place::new();
    let device =
        or_skip!("crosscheck_agrees_with_fio_and_detects_false_results", Loop::new(64 * MIB));
    let limit = Throttle::this_process(&device.path, 2000);
    let _limit = or_skip!("crosscheck_agrees_with_fio_and_detects_false_results", limit);
    let target = device.path.to_str().unwrap();
    // A throttle gives its full rate only to a load that is always ready. 64 I/Os last 32 ms, longer than a busy machine
    // usually takes to give a thread a processor.
    let line = ["crosscheck", target, "--iodepth=64", "--rounds=5", "--runtime=1s", "--json"];
    let mut said = Vec::new();
    // The throttle releases I/Os in bursts, so percentiles may need more rounds than the time allows.
    loop {
        let done = place.run(&[&line[..], &["--tolerance=10%"]].concat());
        let document = done.json();
        assert_eq!(document["format"], "iogauge.crosscheck/1");
        let steps = document["steps"].as_array().unwrap().len();
        let sides = document["sides"].as_array().unwrap();
        assert_eq!((steps, sides.iter().filter(|side| **side == "fio").count()), (20, 10));
        let iops = &document["figures"][0];
        assert_eq!(iops["figure"], "iops");
        if iops["verdict"] == "agree" && document["figures"][1]["verdict"] == "agree" {
            break;
        }
        said.push(document["figures"].to_string());
        assert!(said.len() < 4, "{}", said.join("\n"));
    }
    let kept = place.run(&["history", "show"]).ends(0).stdout;
    assert!(kept.contains("5 rounds") && kept.contains("iogauge"), "{kept}");
    let csv = place.run(&["history", "show", "--format=csv"]).ends(0).stdout;
    assert_eq!(csv.lines().count(), 21, "{csv}");
    let lies = "if [ \"$1\" = --version ]; then exec fio --version; fi\n\
                sed 's/^iodepth=/rate_iops=500\\niodepth=/' > job\n\
                exec fio --output-format=json+ --status-interval=100ms job";
    let liar = program(&place.work(), "liar", lies);
    let via = format!("--via=fio={}", liar.display());
    let done = place.run(&[&line[..], &[&via, "-q"]].concat()).ends(6);
    let document = done.json();
    assert_eq!(
        (&document["verdict"], &document["figures"][0]["verdict"]),
        (&"differ".into(), &"differ".into())
    );
    let ratio = number(&document["figures"][0]["ratio"]["mean"]);
    assert!((ratio / 4.0 - 1.0).abs() < 0.2, "{ratio}");
    let text = place.run(&["history", "show"]).ends(0).stdout;
    assert!(text.contains("differ: IOPS"), "{text}");
}

#[test]
fn invalid_crosscheck_options_are_rejected() {
    let place = Place::new();
    for (line, word) in [
        (&["crosscheck", "sim:nvme", "--via", "fio"][..], "simulated"),
        (&["crosscheck", ".", "--number_ios=5"], "--number_ios"),
        (&["crosscheck", ".", "--tolerance=0"], "--tolerance"),
        (&["crosscheck", ".", "--rounds=1"], "rounds"),
        (&["crosscheck", ".", "--via", "fio=/no/such"], "cannot be started"),
        (&["find", ".", "--open-loop", "--via", "fio"], "not from when it was due"),
        (&["run", ".", "--via", "fio", "--ioengine=http"], "ioengine=http, run with --via fio"),
    ] {
        let done = place.run(line);
        if done.stderr.contains("/fio: ") || line.contains(&"sim:nvme") && !fio("crosschecks") {
            continue;
        }
        let done = done.ends(2);
        assert!(done.stderr.contains(word), "{line:?}: {}", done.stderr);
        crate::common::assert_one_message(&done.stderr);
    }
    assert!(place.names().is_empty(), "{:?}", place.names());
}

#[test]
fn job_files_run_through_fio() {
    if !fio("job_files_run_through_fio") {
        return;
    }
    let place = Place::new();
    // An engine that iogauge lacks, and a range of block sizes.
    let text = "[global]\nioengine=splice\nsize=1m\nfilename=data\n[w]\nrw=write\nbsrange=4k-16k\n\
                [r]\nstonewall\nrw=read\nbs=8k\n";
    job_file(&place, text);
    let done = place.run(&["run", "a.fio", "--via", "fio", "--json", "-q"]).ends(0).json();
    let steps = done["steps"].as_array().unwrap();
    assert_eq!(steps.len(), 2);
    assert!(number(&steps[0]["write"]["bytes"]) > f64::from(1 << 19));
    assert_eq!(steps[1]["read"]["ios"], 128);
    assert_eq!(steps[1]["fio"]["engine"], "splice");
    assert!(done["via"]["version"].as_str().unwrap().starts_with("fio-"));
    // iogauge made the file and recognizes it.
    place.run(&["run", "a.fio", "--via", "fio", "-q"]).ends(0);
    let fio_json = ["run", "a.fio", "--via", "fio", "--overwrite-file", "--output-format=json"];
    place.run(&fio_json).ends(2);
    // The same job on a foreign file is refused.
    std::fs::write(place.work().join("foreign"), vec![7; 1 << 20]).unwrap();
    job_file(&place, &text.replace("filename=data", "filename=foreign"));
    let refused = place.run(&["run", "a.fio", "--via", "fio"]).ends(3);
    assert!(refused.stderr.contains("--overwrite-file"), "{}", refused.stderr);
    assert_eq!(std::fs::read(place.work().join("foreign")).unwrap(), vec![7; 1 << 20]);
    place.run(&["run", "a.fio", "--via", "fio", "-q", "--overwrite-file"]).ends(0);
    assert_ne!(std::fs::read(place.work().join("foreign")).unwrap(), vec![7; 1 << 20]);
    job_file(&place, "[a]\nioengine=http\nhttp_host=localhost\nrw=write\nsize=1m\nfilename=/x\n");
    let refused = place.run(&["run", "a.fio", "--via", "fio"]).ends(3);
    assert!(refused.stderr.contains("engine http") && refused.stderr.contains("--destroy-data"));
    job_file(&place, "[a]\nno_such_option=1\nsize=1m\nfilename=new\n");
    let refused = place.run(&["run", "a.fio", "--via", "fio"]).ends(2);
    assert!(
        refused.stderr.contains("no_such_option: no option of fio has this name"),
        "{}",
        refused.stderr
    );
    place.run(&["prepare", "marked", "--size=2m", "-q"]).ends(0);
    job_file(&place, "[a]\nrw=write\nsize=1m\nfilename=marked\nunlink=1\n");
    // The job writes after the header by which iogauge recognizes the file, so the file is removed as requested.
    let done = place.run(&["run", "a.fio", "--via", "fio", "-q"]).ends(0);
    assert!(!place.names().contains(&"marked".to_owned()), "{:?} {}", place.names(), done.stderr);
    // fio would recreate a file that is smaller than its job needs, although the job only reads.
    std::fs::write(place.work().join("precious"), vec![7; 4096]).unwrap();
    job_file(&place, "[a]\nrw=read\nsize=1m\nfilename=precious\n");
    assert_ne!(place.run(&["run", "a.fio", "--via", "fio"]).code, Some(0));
    assert_eq!(std::fs::read(place.work().join("precious")).unwrap(), vec![7; 4096]);
}

#[test]
fn search_sets_the_queue_depth_of_a_job_file() {
    if !fio("search_sets_the_queue_depth_of_a_job_file") {
        return;
    }
    let place = Place::new();
    // A rate that a busy machine achieves, too. If the file has a performance shift during the search, the curve has
    // only the points after it.
    job_file(
        &place,
        "[a]\nioengine=posixaio\nrw=randread\nsize=4m\nfilename=data\nruntime=1\niodepth=9\n\
         rate_iops=500\n",
    );
    let line = [
        "find",
        "a.fio",
        "--via",
        "fio",
        // A busy machine breaks a tighter limit at the smallest queue depth.
        "--limit=mean<=10s",
        "--max-depth=3",
        "--max-starvation=100%",
        "--budget=10s",
        "-q",
    ];
    let done = place.run(&[&line[..], &["--json"]].concat());
    // Beside other load, a search may be undecided.
    assert!([Some(0), Some(7)].contains(&done.code), "{done:?}");
    let found = done.json();
    let queue_depths: Vec<u64> =
        found["curve"].as_array().unwrap().iter().map(|p| p["depth"].as_u64().unwrap()).collect();
    assert_eq!(queue_depths.first(), Some(&1));
    assert!(
        queue_depths.contains(&3) && queue_depths.iter().all(|queue_depth| *queue_depth <= 3),
        "{queue_depths:?}"
    );
    assert!(number(&found["answer"]["iops"]["mean"]) > 0.0);
    assert_eq!(found["load"]["label"], "randread through posixaio (a)");
    let text = place.run(&["history", "show"]).ends(0).stdout;
    assert!(text.contains("posixaio"), "{text}");
    let beside = place.run(&[&line[..], &["--bs=8k"]].concat()).ends(2);
    assert!(beside.stderr.contains("belong in the job file"), "{}", beside.stderr);
    job_file(&place, "[a]\nrw=read\nsize=1m\nfilename=x\n[b]\nrw=read\nsize=1m\nfilename=x\n");
    let two = place.run(&line).ends(2);
    assert!(two.stderr.contains("a file of one job"), "{}", two.stderr);
}

#[test]
fn fio_results_and_logs_use_the_names_of_the_user() {
    const TEST: &str = "fio_results_and_logs_use_the_names_of_the_user";
    if !fio(TEST) {
        return;
    }
    let place = Place::new();
    std::fs::create_dir(place.work().join("logs")).unwrap();
    job_file(
        &place,
        "[global]\nsize=1m\nnumber_ios=64\nlog_avg_msec=10\n[my job]\nrw=randread\nnumjobs=2\n\
         directory=.\nwrite_bw_log=logs/x\n[other]\nstonewall\nfilename=f\nwrite_lat_log=logs/x\n",
    );
    let done = place.run(&["run", "a.fio", "--via", "fio", "--json", "-q"]).ends(0).json();
    let labels: Vec<&str> = done["steps"]
        .as_array()
        .unwrap()
        .iter()
        .map(|s| s["fio"]["name"].as_str().unwrap())
        .collect();
    assert_eq!(labels, ["my job", "my job", "other"]);
    let logs = common::names(&place.work().join("logs"));
    for log in ["x_bw.1.log", "x_bw.2.log", "x_clat.3.log", "x_lat.3.log", "x_slat.3.log"] {
        assert!(logs.contains(&log.to_owned()), "{log}: {logs:?}");
    }
    assert_eq!(place.names(), ["a.fio", "f", "logs", "my job.0.0", "my job.1.0"]);
    // A log replaces a log and no other file.
    let path = place.work().join("logs/x_bw.1.log");
    std::fs::write(&path, "1, 2, 0, 4096, 0\n").unwrap();
    place.run(&["run", "a.fio", "--via", "fio", "-q"]).ends(0);
    assert_ne!(std::fs::read_to_string(&path).unwrap(), "1, 2, 0, 4096, 0\n");
    std::fs::write(&path, "precious").unwrap();
    let refused = place.run(&["run", "a.fio", "--via", "fio", "-q"]).ends(3);
    assert!(
        refused.stderr.contains("x_bw.1.log exists, and it is not a log"),
        "{}",
        refused.stderr
    );
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "precious");
    // fio's own messages contain the user's names.
    job_file(&place, "[my job]\nsize=1m\nfilename=f\nrw=read\nbs=2m\n");
    let wrong = place.run(&["run", "a.fio", "--via", "fio", "-q"]);
    assert_ne!(wrong.code, Some(0));
    assert!(!wrong.stderr.contains("j0") && !wrong.stderr.contains("/proc/"), "{}", wrong.stderr);
}

#[test]
fn special_characters_in_names_are_not_interpreted_by_fio() {
    const TEST: &str = "special_characters_in_names_are_not_interpreted_by_fio";
    if !fio(TEST) {
        return;
    }
    let place = Place::new();
    let precious = place.work().join("precious");
    std::fs::write(&precious, vec![7; 1 << 20]).unwrap();
    let fast =
        ["--via", "fio", "--rw=randwrite", "--size=1m", "--direct=0", "-q", "--ioengine=psync"];
    for name in
        ["precious#1", "precious;1", "precious:x", "precious ", "precious\u{a0}", "\u{a0}precious"]
    {
        // A colon separates targets, unless it is escaped.
        let target = format!("./{}", name.replace(':', "\\:"));
        let done =
            place.run(&[&["run", &target, "--runtime=100ms", "--ramp_time=0"], &fast[..]].concat());
        assert_eq!(done.code, Some(0), "{name}: {}", done.stderr);
        assert_eq!(std::fs::read(&precious).unwrap(), vec![7; 1 << 20], "{name}");
        assert!(place.names().contains(&name.to_owned()), "{name}: {:?}", place.names());
    }
    // The other commands treat names in the same way.
    let target = "./precious#1";
    let find = ["find", target, "--budget=2s", "--max-starvation=100%", "--max-depth=2"];
    place.run(&[&find[..], &fast[..]].concat()).ends(0);
    let check = ["crosscheck", target, "--rounds=2", "--runtime=100ms", "--ramp_time=0"];
    let checked = place.run(&[&check[..], &fast[..]].concat()).code;
    assert!(matches!(checked, Some(0 | 6 | 7)), "{checked:?}");
    let suite =
        ["suite", "oltp", target, "--users=1", "--tests=write", "--seconds=100ms", "--via=fio"];
    place.run(&[&suite[..], &["--size=1m", "-q"]].concat()).ends(0);
    assert_eq!(std::fs::read(&precious).unwrap(), vec![7; 1 << 20]);
}

#[test]
fn stopped_or_killed_fio_keeps_its_partial_result() {
    let place = Place::new();
    let documents = format!("cat <<'END'\n{}END\nsleep 0.3\n", document(50, 100, ""));
    for (end, word) in [("kill -KILL $$", "signal: 9"), ("kill -STOP $$", "stopped")] {
        let via = fake(&place, &format!("{documents}{end}"));
        let done = run(&place, &via, &["--runtime=1", "--json"]).ends(4).json();
        assert_eq!(done["steps"][0]["read"]["ios"], 50, "{done}");
        let told = done["caveats"].to_string();
        assert!(told.contains(word) && told.contains("is kept"), "{told}");
        job_file(&place, "[a]\nrw=read\nsize=1m\nfilename=f\n");
        let done = place.run(&["run", "a.fio", "--via", &via, "-q", "--json"]).ends(4).json();
        assert_eq!(done["steps"][0]["read"]["ios"], 50, "{done}");
        assert!(done["caveats"].to_string().contains(word), "{done}");
    }
}

/// A program may also report forever instead of falling silent.
#[test]
fn fio_that_exceeds_its_runtime_is_killed() {
    let place = Place::new();
    let document = document(50, 100, "");
    let script =
        format!("trap '' INT TERM HUP\nwhile :; do\ncat <<'END'\n{document}END\nsleep 0.1\ndone");
    let done = run(&place, &fake(&place, &script), &["--runtime=1", "--json"]).ends(4).json();
    assert_eq!(done["steps"][0]["read"]["ios"], 50, "{done}");
    assert!(done["caveats"].to_string().contains("went on when its time was over"), "{done}");
}
