//! Text from outside, as people and spreadsheets read it: no control sequences, no formulas, no passwords.
#![allow(clippy::unwrap_used)]

mod common;

use common::{Done, Place, skip};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A name that clears the terminal, reverses the text direction and starts its own line.
const NAME: &str = "a\u{1b}[2J\u{202e}\u{9b}b\niogauge says all is well\tc";
const SECRET: &str = "s3cretWord";

/// Returns a result file of fio.
fn fio_file() -> PathBuf {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fio/tests/data/fio/2.0.7");
    let files = fs::read_dir(data).unwrap().map(|entry| entry.unwrap().path());
    files.filter(|path| path.extension().is_some_and(|end| end == "out")).min().unwrap()
}

#[track_caller]
fn is_plain(text: &str) {
    let bad = |letter: &char| {
        (letter.is_control() && !matches!(letter, '\n' | '\t')) || *letter == '\u{202e}'
    };
    assert!(!text.chars().any(|letter| bad(&letter)), "{text:?}");
    assert!(!text.lines().any(|line| line.starts_with("iogauge says all is well")), "{text:?}");
}

#[track_caller]
fn both_plain(done: Done) -> Done {
    is_plain(&done.stdout);
    is_plain(&done.stderr);
    done
}

#[test]
fn control_characters_in_names_are_escaped() {
    let place = Place::new();
    // A report needs a run.
    place.run(&["run", "sim:nvme", "--runtime=50ms", "--quiet"]).ends(0);
    let lines: [&[&str]; 12] = [
        &["run", NAME],
        &["find", NAME],
        &["doctor", NAME],
        &["prepare", NAME],
        &["clean", NAME],
        &["profile", NAME],
        &["import", NAME],
        &["table", NAME],
        &["history", "show", NAME],
        &["report", "--html", &format!("gone/{NAME}")],
        &["run", "sim:nvme", "--history", &format!("/dev/null/{NAME}/h")],
        &["run", "sim:nvme", "--rw", NAME],
    ];
    for line in lines {
        let done = both_plain(place.run(line));
        let told = format!("{}{}", done.stdout, done.stderr);
        // `clean` reports on stdout, and `table` prints its heading there.
        let is_plain = done.stderr.is_empty() || common::is_one_message(&done.stderr);
        assert!(is_plain, "{line:?}: {}", done.stderr);
        // A message about an argument leaves out terminal control sequences instead of escaping them.
        let shown = ["a\\u{1b}[2J\\u{202e}", "a\\u{202e}"];
        assert!(shown.iter().any(|shown| told.contains(shown)), "{line:?}: {told}");
    }
}

#[test]
fn control_characters_in_result_names_are_escaped() {
    let place = Place::new();
    let path = place.work().join(NAME).to_string_lossy().into_owned();
    let line = ["run", &path, "--size=4m", "--runtime=50ms", "--ramp-time=0", "--direct=0"];
    let done = both_plain(place.run(&line).ends(0));
    assert!(done.stdout.contains("a\\u{1b}[2J\\u{202e}"), "{}", done.stdout);
    for more in [&["list"][..], &["show"], &["show", "--format=classic"]] {
        both_plain(place.run(&[&["history"], more].concat()).ends(0));
    }
    // JSON contains the unchanged name.
    let document = place.run(&["history", "show", "--format=json"]).ends(0).json();
    assert!(document["target"].to_string().contains("\\u001b[2J"), "{}", document["target"]);
    for line in place.run(&["history", "export"]).ends(0).stdout.lines() {
        serde_json::from_str::<Value>(line).unwrap();
    }
    place.run(&["report", "--html", "r.html", "--svg", "svg", "--png", "png"]).ends(0);
    // A line break does not start a new line on a page.
    is_plain(&fs::read_to_string(place.work().join("r.html")).unwrap().replace('\n', " "));
    for name in common::names(&place.work().join("svg")) {
        is_plain(&fs::read_to_string(place.work().join("svg").join(name)).unwrap());
    }
    both_plain(place.run(&["clean", &path]).ends(0));
}

#[test]
fn control_characters_in_imported_names_are_escaped() {
    let place = Place::new();
    let copy = place.work().join(NAME);
    fs::copy(fio_file(), &copy).unwrap();
    let copy = copy.to_str().unwrap();
    both_plain(place.run(&["import", copy, "--system", "x\u{1b}[2J\u{202e}y"]).ends(0));
    both_plain(place.run(&["history", "list"]).ends(0));
    both_plain(place.run(&["history", "show"]).ends(0));
}

#[test]
fn csv_cells_that_look_like_formulas_are_quoted_as_text() {
    let place = Place::new();
    let (file, formula) = (fio_file(), "=HYPERLINK(\"http://x\",\"y\")");
    let file = file.to_str().unwrap();
    let table = ["table", file, "--format=csv", "--system", formula];
    let rows = place.run(&table).ends(0).stdout;
    let row = rows.lines().nth(1).unwrap();
    assert!(row.starts_with("\"'=HYPERLINK("), "{row}");
    place.run(&["import", "-q", file, "--system", formula]).ends(0);
    for format in ["--format=csv", "--format=iogauge-csv"] {
        let command = if format == "--format=csv" { "export" } else { "show" };
        let rows = place.run(&["history", command, format]).ends(0).stdout;
        for cell in rows.lines().flat_map(|line| line.split(',')) {
            let begin = cell.trim_start_matches('"');
            let is_formula = begin.starts_with(['=', '+', '-', '@']);
            assert!(!is_formula || cell.parse::<f64>().is_ok(), "{cell} in {rows}");
        }
    }
}

/// URLs with a password: a correct one, and one for each kind of mistake.
fn urls() -> Vec<String> {
    [
        "postgres://u:PW@h/db",
        "postgres://u:PW@h:port/db?x=y",
        "postgres:u:PW@h/db",
        "postgres:/u:PW@h/db",
        "postgres//u:PW@h/db",
        "postgress://u:PW@h/db",
        "u:PW@h/db",
        "postgres://u:PW",
        "postgres://u:PW with spaces@h/db",
        "postgres://u:PW@PW@h/db",
        "postgres://u:/PW@h/db",
        "postgres://h/db?password=PW",
        "host=h user=u password=PW",
        " postgres://u:PW@h/db ",
        "Postgres://u:PW@[::1/db",
    ]
    .iter()
    .map(|url| url.replace("PW", SECRET))
    .collect()
}

#[test]
fn passwords_are_never_printed() {
    let place = Place::new();
    place.run(&["run", "sim:nvme", "--runtime=10ms", "-q"]).ends(0);
    let wrong: [&[&str]; 22] = [
        &["run", "URL"],
        &["run", "sim:URL"],
        &["run", "URL.fio"],
        &["run", "URL", "--via", "fio"],
        &["find", "URL"],
        &["doctor", "URL"],
        &["prepare", "URL"],
        &["clean", "URL"],
        &["crosscheck", "URL"],
        &["profile", "URL", "--for=1s"],
        &["suite", "URL"],
        &["suite", "oltp", "URL"],
        &["report", "URL", "--html", "r.html"],
        &["import", "URL"],
        &["table", "URL"],
        &["history", "show", "URL"],
        &["stop", "URL"],
        &["completions", "URL"],
        &["URL"],
        &["run", "sim:nvme", "--iodepth", "URL"],
        &["run", "sim:nvme", "--unknown=URL"],
        &["db", "verify", "URL", "--set", "x=URL"],
    ];
    for url in urls() {
        for line in wrong {
            let line: Vec<String> = line.iter().map(|word| word.replace("URL", &url)).collect();
            let line: Vec<&str> = line.iter().map(String::as_str).collect();
            let done = place.run(&line);
            let told = format!("{}{}", done.stdout, done.stderr);
            assert!(!told.contains(SECRET), "{line:?}: {told}");
        }
    }
    assert!(place.names().is_empty(), "{:?}", place.names());
}

#[test]
fn imported_passwords_are_never_stored() {
    let place = Place::new();
    let file = fio_file();
    for url in urls() {
        let line = ["import", "-q", file.to_str().unwrap(), "--system", &url];
        place.run(&line).ends(0);
        place.run(&["history", "reset", "--yes"]).ends(0);
        place.run(&line).ends(0);
        let told = place.run(&["history", "export"]).ends(0).stdout;
        assert!(!told.contains(SECRET), "{url}: {told}");
        let show = ["history", "show", "--format=json"];
        assert!(!place.run(&show).ends(0).stdout.contains(SECRET), "{url}");
        let bytes = fs::read(place.history()).unwrap();
        let is_kept = bytes.windows(SECRET.len()).any(|window| window == SECRET.as_bytes());
        assert!(!is_kept, "{url} is in the file");
        place.run(&["history", "reset", "--yes"]).ends(0);
    }
}

#[test]
fn passwords_in_notes_and_command_lines_are_never_stored() {
    let place = Place::new();
    for url in urls() {
        let note = format!("before {url}");
        let line = ["profile", "--for=200ms", "--every=100ms", "--note", &note];
        let done = place.run(&line).ends(0);
        let shown = place.run(&["history", "show", "--format=json"]).ends(0).stdout;
        let exported = place.run(&["history", "export"]).ends(0).stdout;
        for told in [&done.stdout, &done.stderr, &shown, &exported] {
            assert!(!told.contains(SECRET), "{url}: {told}");
        }
        let document: Value = serde_json::from_str(&shown).unwrap();
        assert!(document["note"].as_str().unwrap().contains("***"), "{}", document["note"]);
        let run: Value = serde_json::from_str(exported.lines().next().unwrap()).unwrap();
        let kept = run["run"]["command_line"].as_str().unwrap();
        assert!(kept.contains("--note before ") && kept.contains("***"), "{kept}");
        for file in fs::read_dir(place.history().parent().unwrap()).unwrap() {
            let bytes = fs::read(file.unwrap().path()).unwrap();
            let is_kept = bytes.windows(SECRET.len()).any(|window| window == SECRET.as_bytes());
            assert!(!is_kept, "{url} is in a file of the history");
        }
        place.run(&["history", "reset", "--yes"]).ends(0);
    }
}

/// Changes a history with SQL. Returns false if there is no Python with SQLite.
fn sql(history: &Path, change: &str) -> bool {
    let script = "import sqlite3, sys\ndb = sqlite3.connect(sys.argv[1])\n\
                  db.execute('PRAGMA ignore_check_constraints=1')\ndb.execute(sys.argv[2])\n\
                  db.commit()";
    let mut command = Command::new("python3");
    command.args(["-c", script]).arg(history).arg(change);
    command.status().is_ok_and(|status| status.success())
}

#[test]
fn history_export_skips_damaged_rows() {
    let place = Place::new();
    for _ in 0..4 {
        place.run(&["run", "sim:nvme", "--runtime=10ms", "-q"]).ends(0);
    }
    let damages = [
        "UPDATE step SET result = '{' WHERE run_seq = 2",
        "UPDATE run SET state = 'lost' WHERE seq = 3",
        "UPDATE run SET kind = CAST(x'ff' AS TEXT) WHERE seq = 1",
    ];
    for (number, damage) in damages.iter().enumerate() {
        if !sql(&place.history(), damage) {
            return skip("history_export_skips_damaged_rows", "no python3 with SQLite");
        }
        let left_out = number + 1;
        for (format, heading) in [("json", 0), ("csv", 1)] {
            let done = place.run(&["history", "export", "--format", format]).ends(4);
            assert_eq!(done.stdout.lines().count(), heading + 4 - left_out, "{}", done.stdout);
            let count = format!("{left_out} damaged rows");
            assert!(done.stderr.contains(&count), "{}", done.stderr);
            let facts = done.stderr.lines().filter(|line| line.starts_with("error: ")).count();
            assert_eq!(facts, left_out + 1, "{}", done.stderr);
        }
    }
}

#[test]
fn history_list_and_report_skip_damaged_rows() {
    let place = Place::new();
    for _ in 0..5 {
        place.run(&["run", "sim:nvme", "--runtime=10ms", "-q"]).ends(0);
    }
    let report = ["report", "--force", "--html", "r.html", "last", "last-1", "last-2", "last-3"];
    // Each damage, with the number of runs that a list and a report then leave out.
    let damages = [
        ("UPDATE step SET result = '{' WHERE run_seq = 2", 0, 1),
        ("UPDATE run SET state = 'lost' WHERE seq = 3", 1, 2),
        ("UPDATE run SET id = CAST(x'ff' AS TEXT) WHERE seq = 4", 2, 3),
    ];
    for (damage, unlisted, undrawn) in damages {
        if !sql(&place.history(), damage) {
            return skip("history_list_and_report_skip_damaged_rows", "no python3 with SQLite");
        }
        let told = |output: &str, line: &[&str], left_out: usize| {
            let code = if left_out == 0 { 0 } else { 4 };
            let done = place.run(line).ends(code);
            let begin = format!("error: left out of the {output}, since it is damaged: run ");
            let named = done.stderr.lines().filter(|line| line.starts_with(&begin)).count();
            assert_eq!(named, left_out, "{}", done.stderr);
            let count = format!("{left_out} damaged rows");
            assert_eq!(done.stderr.contains(&count), left_out > 0, "{}", done.stderr);
            done.stdout
        };
        let listed = told("list", &["history", "list"], unlisted);
        let rows = listed.lines().filter(|line| line.contains("sim:nvme")).count();
        assert_eq!(rows, 5 - unlisted, "{listed}");
        assert!(told("report", &report, undrawn).contains("r.html"));
    }
    // No run is left to draw.
    let alone = place.run(&["report", "--html", "alone.html", "last-2"]).ends(1);
    assert!(alone.stderr.contains("damaged"), "{}", alone.stderr);
    assert!(!place.names().contains(&"alone.html".to_owned()));
}

#[test]
fn damaged_history_is_reported_as_damaged() {
    let place = Place::new();
    place.run(&["run", "sim:nvme", "--runtime=10ms", "-q"]).ends(0);
    let whole = fs::read(place.history()).unwrap();
    let mut broken = whole.clone();
    let from = 8192;
    broken[from..].fill(0xa5);
    for damaged in [&whole[..whole.len() / 2], &whole[..200], &broken] {
        fs::write(place.history(), damaged).unwrap();
        for line in [&["history", "list"][..], &["history", "show"], &["run", "sim:nvme"]] {
            let done = place.run(line);
            assert!([Some(1), Some(2)].contains(&done.code), "{line:?}: {done:?}");
            crate::common::assert_one_message(&done.stderr);
            assert!(done.stderr.contains("damaged"), "{line:?}: {}", done.stderr);
        }
    }
    fs::write(place.history(), &whole).unwrap();
    if sql(&place.history(), "UPDATE run SET document = '{\"format\": 7}'") {
        let done = place.run(&["history", "show"]).ends(1);
        assert!(done.stderr.contains("is damaged"), "{}", done.stderr);
    }
}
