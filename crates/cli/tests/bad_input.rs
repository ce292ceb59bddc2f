//! Every mistake ends with a one-line error, and nothing is done.
#![allow(clippy::unwrap_used)]

mod common;

use common::{Done, Place};
use proptest::prelude::*;

const USAGE: i32 = 2;
const REFUSED: i32 = 3;

/// Asserts that a mistake is reported in one line on stderr that begins with `error: `.
#[track_caller]
fn assert_one_line(done: &Done, typed: &[&str]) {
    assert_eq!(done.stdout, "", "{typed:?}");
    assert!(common::is_one_message(&done.stderr), "{typed:?}: {}", done.stderr);
    assert!(done.stderr.starts_with("error: "), "{typed:?}: {}", done.stderr);
}

/// Runs each line, split at spaces, and looks for words in its error message.
#[track_caller]
fn assert_refused(place: &Place, table: &[(&str, i32, &[&str])]) {
    let before = place.names();
    for (line, code, words) in table {
        let typed: Vec<&str> = line.split(' ').map(|w| if w == "''" { "" } else { w }).collect();
        let done = place.run(&typed);
        assert_eq!(done.code, Some(*code), "{line}: {}{}", done.stdout, done.stderr);
        assert_one_line(&done, &typed);
        for word in *words {
            assert!(done.stderr.contains(word), "{line}: \"{word}\" is not in: {}", done.stderr);
        }
        assert_eq!(place.names(), before, "{line} left something");
    }
}

#[test]
fn invalid_commands_and_options_are_rejected() {
    assert_refused(
        &Place::new(),
        &[
            ("runn .", USAGE, &["runn", "'run'"]),
            ("run . --bogus", USAGE, &["--bogus"]),
            ("run . --runtim=5", USAGE, &["--runtim", "--runtime"]),
            ("run", USAGE, &["required", ": <TARGET>"]),
            ("find", USAGE, &["required", ": <TARGET>"]),
            ("find . .", USAGE, &["unexpected argument '.'"]),
            ("run . --rw", USAGE, &["--rw", "value"]),
            ("run . --rw=read --rw=write", USAGE, &["--rw", "multiple times"]),
            ("completions tcsh", USAGE, &["tcsh", "bash"]),
            ("run . --via=fio --rw=write --verify=md5", USAGE, &["--verify", "leave out --verify"]),
            ("history show last --format foo", USAGE, &["foo", "text, json, iogauge-csv"]),
            ("history list --state gone", USAGE, &["gone", "interrupted"]),
            ("history list --limit x", USAGE, &["x"]),
        ],
    );
}

#[test]
fn invalid_option_values_are_rejected() {
    assert_refused(
        &Place::new(),
        &[
            ("run . --size=64q", USAGE, &["64q", "--size", "10g"]),
            ("run . --size=-1", USAGE, &["-1", "10g"]),
            ("run . --runtime=5x", USAGE, &["5x", "--runtime", "30s"]),
            ("run . --runtime=0", USAGE, &["--runtime", "10s"]),
            ("run . --rwmixread=150", USAGE, &["150", "between 0 and 100"]),
            ("run . --rwmixread=50 --rwmixwrite=50", USAGE, &["--rwmixread", "--rwmixwrite"]),
            ("run . --rw=foo", USAGE, &["foo", "randread"]),
            ("run . --ioengine=foo", USAGE, &["foo", "io_uring"]),
            ("run . --random_distribution=zipff", USAGE, &["zipff", "zipf:1.2"]),
            ("run . --random_distribution=zipf:x", USAGE, &["zipf:x"]),
            ("run . --direct=maybe", USAGE, &["maybe", "0 or 1"]),
            ("run . --bs=0", USAGE, &["bs", "1 byte"]),
            ("run . --bs=1000", USAGE, &["1000", "512", "--direct=0"]),
            ("run . --bssplit=4k/50:8k/10", USAGE, &["60", "100"]),
            ("run . --bs=4k --bssplit=4k/100", USAGE, &["--bs", "--bssplit"]),
            ("run . --iodepth=0", USAGE, &["iodepth", "between 1"]),
            ("run . --numjobs=0", USAGE, &["numjobs", "between 1"]),
            ("run . --numjobs=1000000", USAGE, &["numjobs", "4096"]),
            ("run . --rate_iops=0", USAGE, &["rate_iops", "between 1"]),
            ("run . --number_ios=0", USAGE, &["number_ios", "1 or more"]),
            ("run . --io_size=0", USAGE, &["io_size", "a block or more"]),
            ("run . --cpus_allowed=3-1", USAGE, &["3-1", "0,5,8-15"]),
            ("run . --cpus_allowed_policy=split", USAGE, &["--cpus_allowed="]),
            ("run . --cpus_allowed=0 --cpus_allowed_policy=x", USAGE, &["\"x\"", "split"]),
            ("run . --nice=20", USAGE, &["nice", "-20 and 19"]),
            ("run . --rate=1m --rate_iops=5", USAGE, &["--rate", "--rate-iops"]),
            ("run . --rate=0", USAGE, &["rate_iops", "between 1"]),
            ("run . --dedupe_percentage=101", USAGE, &["101", "between 0 and 100"]),
            ("run . --rw=randread:0", USAGE, &["randread", "at least 1"]),
            ("run . --rw=read:x", USAGE, &["\"x\"", "64k"]),
            ("run . --rw=read:100", USAGE, &["rw", "512"]),
            ("run . --rw=randread:8 --norandommap=0", USAGE, &["norandommap", "several"]),
            ("run . --rw_sequencer=foo", USAGE, &["foo", "identical"]),
            ("run . --bsrange=64k-4k", USAGE, &["bsrange", "64k-4k"]),
            ("run . --bsrange=4k", USAGE, &["bsrange", "4k-64k"]),
            ("run . --bsrange=4k-8k --bs=4k", USAGE, &["--bsrange", "--bs"]),
            ("run . --bsrange=4k-8k --bs_unaligned", USAGE, &["bs_unaligned", "--direct=0"]),
            ("run . --blockalign=100", USAGE, &["blockalign", "512"]),
            ("run . --fsync=8 --fdatasync=8", USAGE, &["fdatasync", "with fsync"]),
            ("run . --thinktime=1ms --thinktime_blocks=0", USAGE, &["thinktime_blocks", "1 or"]),
            ("run . --thinktime_blocks=4", USAGE, &["--thinktime=1ms"]),
            ("run . --thinktime=1x", USAGE, &["1x", "10ms"]),
            ("run . --offset=100", USAGE, &["offset", "512"]),
            ("run . --offset_increment=4kk", USAGE, &["4kk", "4k"]),
            ("run . --sync=maybe", USAGE, &["maybe", "dsync"]),
            ("run . --filename=a", USAGE, &["--filename", "TARGET names the files"]),
            ("run . --directory=a", USAGE, &["--directory", "TARGET names the directory"]),
            ("run . --nrfiles=2", USAGE, &["--nrfiles", "FILE,FILE"]),
            ("run . --wait_for=a", USAGE, &["--wait-for", "a job file"]),
            ("run . --loops=2", USAGE, &["loops", "--io_size=1g"]),
            ("run . --filesize=1m --size=1m", USAGE, &["--filesize", "--size"]),
            ("run . --buffered --direct", USAGE, &["--buffered", "--direct"]),
            ("run . --latency_target=5ms", USAGE, &["find TARGET --limit 'max<=5ms'"]),
            ("run . --ioengine=posixaio", USAGE, &["posixaio", "--via fio"]),
            ("run . --overwrite", USAGE, &["--overwrite-file"]),
            ("run . --job rw=read --job stonewall", USAGE, &["--job", "a job file"]),
            ("run . --job runtime=5", USAGE, &["--job", "--runtime=10s"]),
            ("run . --job size", USAGE, &["--job", "size=SIZE"]),
            ("run . --job rw=foo", USAGE, &["rw=foo", "randread"]),
            ("run . --job bogus=1", USAGE, &["--job", "--bogus"]),
            ("run . --job ''", USAGE, &["--job", "rw=write"]),
            ("run . --rw=read --dependent", USAGE, &["dependent", "rw=randrw"]),
            ("find . --limit mean", USAGE, &["<=", "mean<=10ms"]),
            ("find . --limit mean<=5", USAGE, &["mean<=5", "10ms"]),
            ("find . --limit mean<=-5ms", USAGE, &["mean<=-5ms", "10ms"]),
            ("find . --limit p99>=5ms", USAGE, &["<="]),
            ("find . --limit p100<=5ms", USAGE, &["p100", "p99.9"]),
            ("find . --limit median<=5ms", USAGE, &["median", "p50"]),
            ("find . --limit trim:p99<=5ms", USAGE, &["\"trim:\"", "read:p99<=5ms"]),
            ("find . --limit read:foo<=5ms", USAGE, &["\"foo\"", "p99.9"]),
            ("find . --limit read:p99<=5", USAGE, &["no unit", "10ms"]),
            (
                "find . --limit write:p99<=5ms",
                USAGE,
                &["write:p99 <= 5 ms", "rw=randread", "randrw"],
            ),
            ("find . --rw=write --limit read:max<=1s", USAGE, &["bounds reads", "rw=write"]),
            (
                "find . --rw=randrw --rwmixread=100 --limit write:p99<=5ms",
                USAGE,
                &["bounds writes", "rwmixread=100"],
            ),
            (
                "find . --guide flush",
                USAGE,
                &["flush", "flash (mean <= 2 ms, max <= 5 ms)", "etcd"],
            ),
            ("find . --guide etcd", USAGE, &["--guide etcd", "bounds writes", "rw=randwrite"]),
            ("find . --guide flash --guide etcd", USAGE, &["--guide", "multiple times"]),
            ("find . --budget=0", USAGE, &["--budget", "1s"]),
            ("find . --precision=0", USAGE, &["--precision", "2%"]),
            ("find . --max-depth=0", USAGE, &["--max-depth", "between 1"]),
            ("find . --iodepth=4", USAGE, &["--iodepth", "--max-depth"]),
            ("find . --rate_iops=100", USAGE, &["--rate_iops", "run"]),
            ("find . --rate=1m", USAGE, &["--rate", "run"]),
            ("find . --number_ios=100", USAGE, &["--number_ios", "run"]),
            ("find . --io_size=1m", USAGE, &["--io_size", "run"]),
            ("find . --thinktime=10", USAGE, &["--thinktime", "run"]),
            ("find . --startdelay=1s", USAGE, &["--startdelay", "run"]),
        ],
    );
}

#[test]
fn invalid_targets_are_rejected() {
    let place = Place::new();
    std::fs::write(place.work().join("small"), "hello").unwrap();
    assert_refused(
        &place,
        &[
            ("run ''", USAGE, &["empty", "directory"]),
            ("run ,", USAGE, &["empty element"]),
            ("find missing", USAGE, &["missing does not exist", "--size"]),
            ("find missing/", USAGE, &["missing/ does not exist", "directory"]),
            ("run missing/ --size=1m", USAGE, &["missing/ does not exist", "directory"]),
            ("run missing/file --size=1m", USAGE, &["missing does not exist", "directory"]),
            ("prepare missing", USAGE, &["missing does not exist", "--size"]),
            ("doctor", USAGE, &["required", ": <TARGET>"]),
            ("doctor ''", USAGE, &["empty", "directory"]),
            ("doctor missing", USAGE, &["missing does not exist", "directory"]),
            ("doctor missing/", USAGE, &["missing/ does not exist", "directory"]),
            ("doctor .,missing", USAGE, &["missing does not exist"]),
            ("doctor .,sim:nvme", USAGE, &["mixes"]),
            ("doctor sim:nonsense", USAGE, &["nonsense", "nvme"]),
            ("doctor postgres://host/db", USAGE, &["iogauge db"]),
            ("doctor . --size=1g", USAGE, &["--size"]),
            ("run /dev/no-such-device", USAGE, &["does not exist"]),
            ("run small/file --size=1m", USAGE, &["small/file does not exist", "directory"]),
            ("run /dev/null", REFUSED, &["character device", "block device"]),
            ("run /dev/full --rw=write", REFUSED, &["character device"]),
            ("run postgres://host/db", USAGE, &["iogauge db"]),
            ("clean postgres://host/db", USAGE, &["iogauge db"]),
            ("run .,sim:nvme", USAGE, &["mixes"]),
            ("run sim:nvme,.", USAGE, &["preset"]),
            ("run sim:nonsense", USAGE, &["nonsense", "nvme"]),
            ("run sim:channels=0", USAGE, &["channels"]),
            ("run sim:channels=x", USAGE, &["channels", "x"]),
            ("run sim:speed=3", USAGE, &["speed", "channels"]),
            ("run .,.", USAGE, &["the same"]),
            ("run . --ioengine=sim", USAGE, &["sim:"]),
            ("run sim:nvme --ioengine=psync", USAGE, &["psync"]),
            ("run . --size=1k", USAGE, &["size", "1024", "block"]),
            ("run . --size=0", USAGE, &["size", "block"]),
            ("run sim:nvme,size=64k --offset=64k", USAGE, &["after offset 65536", "--size"]),
            ("run . --size=100t", REFUSED, &["100 TiB", "--size="]),
            ("run small", USAGE, &["5 B", "one block"]),
            ("run small --size=1m --rw=randwrite --overwrite-file", USAGE, &["5 B", "1 MiB"]),
            ("run small --rw=randwrite", REFUSED, &["--overwrite-file"]),
            ("clean sim:nvme", USAGE, &["nothing to clean"]),
        ],
    );
    assert_eq!(std::fs::read(place.work().join("small")).unwrap(), b"hello");
}

#[test]
fn job_files_are_no_targets() {
    let place = Place::new();
    std::fs::write(place.work().join("c.fio"), "[a]\nsize=4m\n").unwrap();
    std::fs::write(place.work().join("jobs"), "; two\n[a]\nsize=4m\n").unwrap();
    let told = "c.fio is a job file, not a target";
    assert_refused(
        &place,
        &[
            ("doctor c.fio", USAGE, &[told, "run iogauge run c.fio"]),
            ("doctor jobs", USAGE, &["jobs is a job file"]),
            ("prepare c.fio", USAGE, &[told, "run iogauge run c.fio"]),
            ("clean c.fio", USAGE, &[told, "use its files or their directory"]),
            ("clean jobs", USAGE, &["jobs is a job file"]),
        ],
    );
}

#[test]
fn options_of_fio_that_are_missing_have_a_hint() {
    assert_refused(
        &Place::new(),
        &[
            ("run . --eta=never", USAGE, &["--eta", "-q turns it off"]),
            ("run . --output=a.json", USAGE, &["--output", "write > FILE"]),
            ("run . --section=a", USAGE, &["--section", "all sections"]),
            ("run . --minimal", USAGE, &["--minimal", "--json"]),
            ("run . --parse-only", USAGE, &["--parse-only", "before any of it runs"]),
        ],
    );
}

#[test]
fn binary_files_have_no_fio_result() {
    let place = Place::new();
    let binary = b"\x7fELF\0\0\n{\n\x01 {\"a\n\0";
    std::fs::write(place.work().join("binary"), binary).unwrap();
    let done = place.run(&["table", "binary"]).ends(USAGE);
    assert!(done.stderr.contains("binary:1: no result of fio found"), "{}", done.stderr);
    let done = place.run(&["import", "binary"]).ends(USAGE);
    assert!(done.stderr.starts_with("error: binary:1: no result of fio"), "{}", done.stderr);
}

#[test]
fn direct_io_on_tmpfs_is_rejected_with_a_hint() {
    let Ok(directory) = tempfile::tempdir_in("/dev/shm") else {
        return common::skip("direct_io_on_tmpfs_is_rejected_with_a_hint", "no /dev/shm");
    };
    let path = directory.path().to_str().unwrap();
    let place = Place::new();
    let done = place.run(&["run", path, "--size=8m"]).ends(USAGE);
    assert_one_line(&done, &["run", path]);
    assert!(done.stderr.contains("tmpfs") && done.stderr.contains("--direct=0"), "{}", done.stderr);
    assert_eq!(common::names(directory.path()), [""; 0]);

    let buffered = ["run", path, "--size=8m", "--direct=0", "--runtime=100ms", "--ramp-time=0"];
    let done = place.run(&buffered).ends(0);
    assert!(done.stdout.contains("no-device"), "{}", done.stdout);
    // Its hint would be to leave out --direct=0.
    assert!(!done.stdout.contains("page-cache"), "{}", done.stdout);
}

#[test]
fn invalid_history_files_are_rejected() {
    let place = Place::new();
    std::fs::create_dir(place.work().join("directory")).unwrap();
    std::fs::write(place.work().join("text"), "no database, but more than a few bytes").unwrap();
    assert_refused(
        &place,
        &[
            ("run sim:nvme --history directory", USAGE, &["directory", "--history FILE"]),
            ("run sim:nvme --history text", USAGE, &["text", "--history FILE"]),
            ("history list --history text", USAGE, &["text", "--history FILE"]),
            ("run sim:nvme --history ''", USAGE, &["--history"]),
            ("run sim:nvme --history text/under", USAGE, &["text", "--history FILE"]),
            ("run sim:nvme --detach --history none", USAGE, &["--detach", "--history"]),
            ("history list --history none", USAGE, &["none"]),
            ("stop --history none", USAGE, &["history"]),
            ("stop", USAGE, &["no run is in progress"]),
            ("history show last", USAGE, &["last"]),
            ("history show 20200101", USAGE, &["20200101"]),
            ("history rm last", USAGE, &["last"]),
            ("history show -1", USAGE, &["-1", "last-1"]),
            ("history reset", USAGE, &["--yes"]),
        ],
    );
}

#[test]
fn missing_subcommand_prints_usage_to_stderr() {
    for arguments in [&[][..], &["history"]] {
        let done = Place::new().run(arguments).ends(USAGE);
        assert_eq!(done.stdout, "");
        assert!(done.stderr.contains("Usage: iogauge"), "{}", done.stderr);
    }
    // A call without a command fits a terminal of 24 rows and 80 columns, with its prompt.
    let brief = Place::new().run(&[]).ends(USAGE).stderr;
    assert!(brief.lines().count() <= 22, "{brief}");
    assert!(brief.lines().all(|line| line.chars().count() <= 100), "{brief}");
    assert!(brief.contains("\n  man "), "{brief}");
}

fn word() -> impl Strategy<Value = String> {
    const OPTIONS: &[&str] = &[
        "--rw",
        "--bs",
        "--bssplit",
        "--iodepth",
        "--numjobs",
        "--ioengine",
        "--direct",
        "--size",
        "--offset",
        "--offset_increment",
        "--io_size",
        "--rwmixread",
        "--rwmixwrite",
        "--rate_iops",
        "--rate_process",
        "--bsrange",
        "--rate",
        "--nice",
        "--cpus_allowed",
        "--dedupe_percentage",
        "--buffer_compress_percentage",
        "--buffer_compress_chunk",
        "--randrepeat",
        "--bs_unaligned",
        "--blockalign",
        "--rw_sequencer",
        "--fsync",
        "--fdatasync",
        "--end_fsync",
        "--thinktime",
        "--thinktime_blocks",
        "--random_distribution",
        "--norandommap",
        "--dependent",
        "--sync",
        "--number_ios",
        "--iodepth_batch_submit",
        "--iodepth_batch_complete_min",
        "--iodepth_batch_complete_max",
        "--randseed",
        "--limit",
        "--max-depth",
        "--precision",
        "--job",
        "--json",
        "--quiet",
        "--explain",
        "--rm",
        "--overwrite-file",
        "--destroy-data",
        "--time_based",
        "--",
    ];
    const VALUES: &[&str] = &[
        "",
        "0",
        "1",
        "-1",
        "8",
        "4k",
        "1m",
        "4k,8k",
        "100%",
        "50",
        "18446744073709551615",
        "1e9",
        "randrw",
        "randrw:3",
        "read:-8k",
        "4k-64k",
        "identical",
        "write",
        "randread",
        "zipf:0",
        "zipf:1.2",
        "pareto:0.2",
        "normal:0",
        "zoned:1/1",
        "4k/50:64k/50",
        "4k/:8k/",
        "mean<=1ns",
        "p99.9<=1h",
        "max<=",
        "rw=write bs=8k",
        "bs==",
        "poisson",
        "dsync",
        "mmap",
        "null",
        "sim",
        "nan",
        "inf",
        "é",
        "\u{1}",
        "=",
    ];
    let option = prop::sample::select(OPTIONS);
    let value = prop_oneof![
        9 => prop::sample::select(VALUES).prop_map(str::to_owned),
        1 => "[^\0]{0,6}",
    ];
    prop_oneof![
        3 => (option.clone(), value.clone()).prop_map(|(name, value)| format!("{name}={value}")),
        1 => option.prop_map(str::to_owned),
        1 => value,
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_command_line_causes_a_panic(
        find in any::<bool>(),
        target in prop::sample::select(&["sim:nvme", "sim:hdd", "sim:channels=3,size=64k", "no/where"][..]),
        words in prop::collection::vec(word(), 0..4),
    ) {
        let place = Place::new();
        let mut line = if find { vec!["find", target, "--budget=1s"] }
            else { vec!["run", target, "--runtime=10ms", "--ramp-time=0"] };
        line.extend(words.iter().map(String::as_str));
        // This test covers neither detached runs nor files.
        let done = place.run(&line);
        let code = done.code.unwrap_or(-1);
        prop_assert!([0, 2, 3, 4, 5, 7].contains(&code), "{line:?} ended with {code}: {}", done.stderr);
        if code == USAGE {
            prop_assert!(common::is_one_message(&done.stderr), "{:?}: {}", line, done.stderr);
            prop_assert_eq!(done.stdout, "");
        }
        prop_assert_eq!(place.names(), [""; 0]);
    }
}
