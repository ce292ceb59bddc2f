//! Files that fio wrote: their classic table, and their import into the history.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;

use common::{Place, skip};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

fn data(file: &str) -> String {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fio/tests/data/fio");
    data.join(file).canonicalize().unwrap().to_str().unwrap().to_owned()
}

/// Returns the outputs of fio 2.0.7, sorted by name.
fn old() -> Vec<String> {
    let folder = PathBuf::from(data("2.0.7"));
    let mut files: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path().to_str().unwrap().to_owned())
        .filter(|path| path.ends_with(".out"))
        .collect();
    files.sort();
    files
}

/// Returns a command followed by these files.
fn with<'a>(command: &[&'a str], files: &'a [String]) -> Vec<&'a str> {
    command.iter().copied().chain(files.iter().map(String::as_str)).collect()
}

#[test]
fn table_from_files_does_not_change_the_history() {
    let place = Place::new();
    let files = old();
    let table = place.run(&with(&["table"], &files)).ends(0);
    assert_eq!(table.stdout, fs::read_to_string(data("2.0.7/expected-plain.txt")).unwrap());
    assert_eq!(table.stderr, "");
    let table = place.run(&with(&["table", "--percentiles"], &files)).ends(0);
    assert_eq!(table.stdout, fs::read_to_string(data("2.0.7/expected-p.txt")).unwrap());
    let table = place.run(&with(&["table", "--buckets"], &files)).ends(0).stdout;
    assert!(table.lines().next().unwrap().contains("50us   1ms"), "{table}");
    let csv = place.run(&with(&["table", "--format=csv"], &files)).ends(0).stdout;
    assert!(csv.starts_with("system,name,users,bs,MB,lat,"), "{csv}");
    assert!(csv.lines().nth(1).unwrap().starts_with("2.0.7,read,1,8K,135.875,0.055,"), "{csv}");
    let csv = place.run(&with(&["table", "--format=csv", "--system=a b"], &files)).ends(0).stdout;
    assert!(csv.lines().nth(22).unwrap().starts_with("a b,write,16,128K,"), "{csv}");
    assert!(!place.history().exists());
}

#[test]
fn unreadable_files_are_reported_and_others_tabulated() {
    let place = Place::new();
    let work = place.work();
    fs::write(work.join("nothing.out"), "hello\n").unwrap();
    let json = fs::read_to_string(data("3.33/mix.json")).unwrap();
    let cut = &json[..json.find("\"mixed\"").unwrap()];
    fs::write(work.join("cut.json"), cut).unwrap();
    let done = place.run(&["table", "nothing.out", "cut.json", ".", "missing"]).ends(2);
    assert_eq!(done.stdout.lines().count(), 3, "{}", done.stdout);
    let told: Vec<&str> = done.stderr.lines().filter(|line| !line.starts_with("hint: ")).collect();
    assert_eq!(told.len(), 4, "{told:?}");
    assert!(told[0].starts_with("error: nothing.out:1: no result of fio"), "{told:?}");
    assert!(told[1].starts_with("warning: cut.json:"), "{told:?}");
    assert!(told[1].contains("ends in the middle"), "{told:?}");
    assert!(told[2].contains("directory") && told[3].contains("missing"), "{told:?}");
    place.run(&["table", "cut.json"]).ends(0);
    place.run(&["table"]).ends(2);
}

#[test]
fn imported_runs_are_usable_like_native_runs() {
    let place = Place::new();
    let (text, json) = (data("3.33/mix.out"), data("3.33/mix.json"));
    let told = place.run(&["import", &text, &json]).ends(0).stdout;
    assert_eq!(told.lines().count(), 2, "{told}");
    assert!(told.lines().all(|line| line.ends_with("3 results")), "{told}");
    let runs = place.runs();
    assert_eq!(runs.len(), 2);
    assert!(runs.iter().all(|(_, state)| state == "done"), "{runs:?}");
    // The run has the time that fio reported.
    assert!(runs[0].0.starts_with("20261121-0906"), "{runs:?}");

    for (run, file) in [("last-1", &text), ("last", &json)] {
        for format in ["classic", "r"] {
            let shown = place.run(&["history", "show", run, "--format", format]).ends(0).stdout;
            let table = place.run(&["table", "--format", format, file]).ends(0).stdout;
            assert_eq!(shown, table);
        }
    }
    let shown = place.run(&["history", "show", "last"]).ends(0).stdout;
    assert!(shown.contains("Step 3 of 3: mixed: randrw 16 KiB depth 8"), "{shown}");
    let document = place.run(&["history", "show", "last", "--format=json"]).ends(0).json();
    assert_eq!(document["format"], "iogauge.run/1");
    assert_eq!(document["run_id"], runs[0].0.as_str());
    assert_eq!(document["steps"][2]["write"]["ios"], document["steps"][2]["fio"]["write"]["ios"]);
    let csv = place.run(&["history", "show", "last", "--format=iogauge-csv"]).ends(0).stdout;
    assert_eq!(csv.lines().count(), 5, "{csv}");
    let export = place.run(&["history", "export", "--format=csv"]).ends(0).stdout;
    assert_eq!(export.lines().count(), 9, "{export}");
    place.run(&["history", "rm", "last"]).ends(0);
    place.run(&["import", &json, "-q"]).ends(0);
    assert_eq!(place.runs().len(), 2, "what was removed may come again");
}

/// A failure is an error; a file that is imported in part has warnings.
#[test]
fn exit_code_and_kind_of_message_agree() {
    let place = Place::new();
    let work = place.work();
    fs::write(work.join("nothing.json"), "{\"a\": 1}\n").unwrap();
    let text = fs::read_to_string(data("3.33/mix.out")).unwrap();
    fs::write(work.join("part.out"), text.replacen("read: IOPS=", "read: IOPS=x", 1)).unwrap();
    for command in ["import", "table"] {
        let failed = place.run(&[command, "nothing.json"]).ends(2);
        assert!(failed.stderr.starts_with("error: nothing.json:1: "), "{}", failed.stderr);
        assert!(!failed.stderr.contains("warning:"), "{}", failed.stderr);
        let partial = place.run(&[command, "part.out"]).ends(0);
        assert!(partial.stderr.starts_with("warning: part.out:"), "{}", partial.stderr);
        assert!(!partial.stderr.contains("error:"), "{}", partial.stderr);
        // Other bytes, which are not in the history yet.
        fs::write(work.join("other.out"), fs::read(work.join("part.out")).unwrap().repeat(2))
            .unwrap();
        let both = place.run(&[command, "nothing.json", "other.out"]).ends(2);
        assert!(both.stderr.starts_with("error: ") && both.stderr.contains("\nwarning: "));
    }
}

#[test]
fn interim_reports_are_counted_and_left_out() {
    let place = Place::new();
    let file = data("3.33/status/clones.json");
    let told = place.run(&["import", &file]).ends(0);
    assert!(told.stdout.ends_with(": 2 results; interim reports left out: 3\n"), "{}", told.stdout);
    let table = place.run(&["table", &file]).ends(0);
    assert_eq!(table.stdout.lines().count(), 5, "{}", table.stdout);
    assert!(table.stderr.contains("interim reports of --status-interval left out: 3"));
    assert!(table.stderr.starts_with("warning: "), "{}", table.stderr);
}

#[test]
fn imported_run_shows_what_fio_reports_and_no_more() {
    let place = Place::new();
    place.run(&["import", &data("3.33/groups/steady.json"), "-q"]).ends(0);
    let shown = place.run(&["history", "show"]).ends(0).stdout;
    assert!(!shown.contains("machine"), "{shown}");
    let state = "Steady state (iops within 20% for 3 s): attained, 10.313499% at the end";
    assert!(shown.contains(state), "{shown}");
    let line = |begin: &str| {
        let line = shown.lines().find(|line| line.starts_with(begin));
        line.unwrap_or_else(|| panic!("{shown}")).split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert_eq!(line("read IOPS"), "read IOPS 9 127,385 146,404 171,799 14,523");
    assert_eq!(line("read bandwidth"), "read bandwidth 9 522 MB/s 600 MB/s 704 MB/s 59.5 MB/s");
    assert_eq!(line("vda"), "vda 10,812 25 6 28.9 %");
    let document = place.run(&["history", "show", "--format=json"]).ends(0).json();
    let step = &document["steps"][0];
    assert!(step["cpu"].get("machine_percent").is_none(), "{step}");
    assert_eq!(step["fio"]["read"]["sampled_iops"]["max"], 171_799.0);
    assert_eq!(step["fio"]["steady_state"]["attained"], true);
    assert_eq!(step["fio"]["disks"][0]["writes"], 25);
}

#[test]
fn identical_files_are_imported_only_once() {
    let place = Place::new();
    let text = data("2.0.7/read_u01_kb0008.out");
    place.run(&["import", &text]).ends(0);
    fs::copy(&text, place.work().join("copy.out")).unwrap();
    let again = place.run(&["import", &text, "copy.out"]).ends(0).stdout;
    let (id, _) = &place.runs()[0];
    for line in again.lines() {
        assert!(line.starts_with(id) && line.ends_with("in the history already"), "{again}");
    }
    let mut other = fs::read_to_string(&text).unwrap();
    other.push('\n');
    fs::write(place.work().join("copy.out"), other).unwrap();
    place.run(&["import", "copy.out"]).ends(0);
    assert_eq!(place.runs().len(), 2, "other bytes are another run");

    let files = old();
    let at_once: Vec<_> = (0..4).map(|_| place.start(&with(&["import", "-q"], &files))).collect();
    for import in at_once {
        assert_eq!(import.end().ends(0).stdout, "");
    }
    let export = place.run(&["history", "export", "--format=csv"]).ends(0).stdout;
    assert_eq!(export.lines().count(), 1 + 1 + 22, "22 files and a changed one");
    place.run(&["import", &text, "--history=none"]).ends(2);
}

#[test]
fn large_file_is_imported_in_chunks() {
    let place = Place::new();
    let one = fs::read(data("3.33/mix.out")).unwrap();
    fs::write(place.work().join("large.out"), one.repeat(600)).unwrap();
    let line = ["import", "large.out"];
    let at_once: Vec<_> = (0..3).map(|_| place.start(&line)).collect();
    let told: Vec<String> = at_once.into_iter().map(|run| run.end().ends(0).stdout).collect();
    let new: Vec<_> = told.iter().filter(|line| line.ends_with("1800 results\n")).collect();
    assert_eq!(new.len(), 1, "{told:?}");
    let runs = place.runs();
    assert_eq!(runs.len(), 1, "{runs:?}");
    assert_eq!(runs[0].1, "done");
    assert!(told.iter().all(|line| line.starts_with(&runs[0].0)), "{told:?}");
    let document = place.run(&["history", "show", "--format=json"]).ends(0).json();
    assert_eq!(document["steps"].as_array().unwrap().len(), 1800);
    assert!(document["load"]["label"].as_str().unwrap().ends_with("and 1799 more"));

    // An import of a truncated file keeps what precedes the cut. A named pipe is read like a file.
    let json = fs::read(data("3.33/mix.json")).unwrap();
    let cut = [&json.repeat(60)[..], &json[..json.len() / 2]].concat();
    let pipe = place.work().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let started = place.start(&["import", "pipe"]);
    fs::write(&pipe, &cut).unwrap();
    let done = started.end().ends(0);
    assert!(done.stderr.contains("pipe:") && done.stderr.contains("ends in the middle"));
    assert_eq!(place.runs().len(), 2);
}

#[test]
fn classic_table_includes_native_runs() {
    let place = Place::new();
    let quick = ["run", "sim:nvme", "--runtime=100ms", "--ramp-time=0", "-q"];
    place.run(&[&quick[..], &["--rw=randrw", "--bs=8k", "--numjobs=2"]].concat()).ends(0);
    place.run(&quick).ends(0);
    place.run(&["find", "sim:sata-ssd", "-q"]).ends(0);
    let two = ["history", "show", "last-2", "last-1", "--format=classic", "--buckets"];
    let table = place.run(&two).ends(0).stdout;
    let rows: Vec<Vec<&str>> = table.lines().map(|l| l.split_whitespace().collect()).collect();
    assert_eq!(rows.len(), 4, "{table}");
    assert_eq!(rows[1][..4], ["randrw", "2", "8K", "r"], "{table}");
    assert_eq!(rows[2][..4], ["randrw", "2", "8K", "w"], "{table}");
    assert_eq!(rows[3][..4], ["randread", "1", "4K", "r"], "{table}");
    let searched = place.run(&["history", "show", "last", "--format=classic"]).ends(0).stdout;
    assert!(searched.lines().count() > 3, "{searched}");
    let csv = place.run(&["history", "show", "last-1", "--format=csv"]).ends(0).stdout;
    assert_eq!(csv.lines().next().unwrap().split(',').count(), 32, "{csv}");
    let last = place.run(&["history", "show", "-1", "--format=r"]).ends(0).stdout;
    assert!(last.contains("m <- data.frame(m"), "{last}");
}

#[test]
fn r_parses_the_exported_data_frame() {
    if Command::new("Rscript").arg("--version").output().is_err() {
        return skip("r_parses_the_exported_data_frame", "Rscript is not installed");
    }
    let place = Place::new();
    let mut files = old();
    files.push(data("3.33/mix.out"));
    let line = with(&["table", "--format=r", "--system=my \"box\""], &files);
    let code = place.run(&line).ends(0).stdout;
    let checks = "\
        stopifnot(is.data.frame(m), nrow(m) == 26, ncol(m) == 31)\n\
        stopifnot(all(sapply(m[-c(1,3)], is.numeric)), is.character(m$name))\n\
        stopifnot(m$MB[1] == 135.875, m$min[1] == 0.034, m$iops[22] == 16071)\n\
        stopifnot(m$name[26] == 'randrw_w', m$p99_99[26] == 4.686, testtype == 'my \"box\"')\n";
    let script = place.work().join("check.r");
    fs::write(&script, code + checks).unwrap();
    let done = Command::new("Rscript").arg("--vanilla").arg(&script).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}

/// Prints the time it takes (`--nocapture` shows it) but does not assert it. Meant for a release build.
#[test]
fn ten_thousand_files_make_a_table() {
    let place = Place::new();
    let outputs = old();
    for (number, output) in outputs.iter().enumerate() {
        fs::copy(output, place.work().join(format!("{number}.fio"))).unwrap();
    }
    let mut line = vec!["table".to_owned()];
    for number in 0..10_000 {
        let name = format!("{number}.out");
        let output = place.work().join(format!("{}.fio", number % outputs.len()));
        fs::hard_link(output, place.work().join(&name)).unwrap();
        line.push(name);
    }
    let line: Vec<&str> = line.iter().map(String::as_str).collect();
    let begin = Instant::now();
    let table = place.run(&line).ends(0).stdout;
    eprintln!("10,000 files make a table in {:.2} s", begin.elapsed().as_secs_f64());
    assert_eq!(table.lines().count(), 10_001);
}
