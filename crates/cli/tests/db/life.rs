//! The life of a database, from setup to purge.

use crate::common::{Done, Place};
use crate::{Db, SHORT, assert_fits};
use std::process::Command;

/// Returns the output with everything that differs between runs and machines replaced by names in brackets.
fn redacted(done: &Done) -> String {
    let mut text = done.stdout.trim_end().to_owned();
    for (begin, ends, name) in [
        ("written at ", "\n", "[speed]"),
        ("SQLite ", ",", "[version]"),
        (" subscripts, ", " a second", "[rate]"),
    ] {
        let Some(from) = text.find(begin).map(|at| at + begin.len()) else { continue };
        let to = text[from..].find(ends).map_or(text.len(), |length| from + length);
        text.replace_range(from..to, name);
    }
    text
}

/// Runs a printed command line in a shell.
pub fn shell(place: &Place, line: &str) -> Done {
    let binary = env!("CARGO_BIN_EXE_iogauge");
    let data = place.history();
    let mut command = Command::new("sh");
    command
        .args(["-c", &format!("iogauge() {{ \"{binary}\" \"$@\"; }}; {line}")])
        .current_dir(place.work())
        .env("XDG_DATA_HOME", data.parent().unwrap().parent().unwrap())
        .stdin(std::process::Stdio::null());
    command.output().unwrap().into()
}

/// Returns the command that a text suggests, from `iogauge db` to the end of the line.
#[track_caller]
pub fn told(text: &str) -> String {
    let line = text.lines().find(|line| line.contains("iogauge db")).unwrap_or_else(|| {
        panic!("no command in {text}");
    });
    line[line.find("iogauge db").unwrap()..].to_owned()
}

#[test]
fn database_lifecycle_from_setup_to_purge() {
    let place = Place::new();
    let db = |words: &[&str]| place.run(&[&["db"], words].concat());
    let made = db(&["setup", "sqlite:d", "--size", "16m"]).ends(0);
    insta::assert_snapshot!(redacted(&made), @r"
    sqlite:d RAN: 16.0 MiB in blocks of 8 KiB, SQLite [version], written at [speed]
    next: iogauge db create-globals sqlite:d --globals 8 --subscripts 1m
    ");
    // Every machine that runs this test has more than 8 MiB of memory, so the command warns.
    let warned = "hint: use --size ";
    assert!(
        made.stderr.contains(warned) && crate::common::is_one_message(&made.stderr),
        "{}",
        made.stderr
    );
    assert_eq!(db(&["sizes", "sqlite:d"]).ends(0).stdout, "0\n");
    let globals = db(&["create-globals", "sqlite:d", "--globals=3", "--subscripts=5k"]).ends(0);
    insta::assert_snapshot!(redacted(&globals), @r"
    3 globals of 5,000 subscripts, [rate] a second
    next: iogauge db run sqlite:d --mode write --processes 3
    ");
    let added = db(&["add-globals", "sqlite:d", "--total=4"]).ends(0);
    insta::assert_snapshot!(redacted(&added), @r"
    1 global of 5,000 subscripts, [rate] a second
    next: iogauge db run sqlite:d --mode write --processes 4
    ");
    let other = ["add-globals", "sqlite:d", "--globals=1", "--subscripts=700", "--value-size=200"];
    db(&other).ends(0);
    assert_eq!(db(&["sizes", "sqlite:d"]).ends(0).stdout, "5,5000,5000,5000,5000,700\n");
    insta::assert_snapshot!(db(&["count-subscripts", "sqlite:d"]).ends(0).stdout, @r"
    global 1: 5000 subscripts
    global 2: 5000 subscripts
    global 3: 5000 subscripts
    global 4: 5000 subscripts
    global 5: 700 subscripts
    5 globals: 20700 subscripts
    ");
    let full = db(&["add-globals", "sqlite:d", "--total=5"]).ends(0).stdout;
    assert_eq!(full, "5 globals already: none is added\n");
    insta::assert_snapshot!(db(&["verify", "sqlite:d"]).ends(0).stdout, @r"
    20,700 values, all as they were written
    No run on this database recorded what it acknowledged.
    ");
    let line = ["run", "sqlite:d", "--mode=write", "--processes=5", "--json"];
    let document = db(&[&line[..], &SHORT].concat()).ends(0).json();
    let transactions =
        document["steps"][0]["database"]["counted"]["commits_made"].as_u64().unwrap();
    let checked = db(&["verify", "sqlite:d"]).ends(0).stdout;
    let noun = if transactions == 1 { "transaction" } else { "transactions" };
    let acknowledged = checked.lines().nth(1).unwrap().replace(',', "");
    let wanted = format!("{transactions} {noun} of the last run acknowledged all of them there");
    assert_eq!(acknowledged, wanted);
    let purged = db(&["purge", "sqlite:d", "--yes"]).ends(0).stdout;
    assert!(purged.starts_with("sqlite:d RAN: removed, ") && purged.ends_with(" free again\n"));
    assert_eq!(place.names(), [""; 0]);
}

#[test]
fn purge_removes_only_files_created_by_iogauge() {
    let db = Db::new(1, 100);
    db.measured("write", &[]);
    std::fs::write(db.file("notes.txt"), "mine").unwrap();
    std::fs::write(db.place.work().join("d/other"), "mine, too").unwrap();
    let told = db.run("purge", &["--yes"]).ends(0).stdout;
    let left = "left, since iogauge did not make it: d/RAN/notes.txt";
    assert_eq!(told.lines().nth(1), Some(left), "{told}");
    let names = |path: &str| crate::common::names(&db.place.work().join(path));
    assert_eq!(
        (names("d"), names("d/RAN")),
        (vec!["RAN".into(), "other".into()], vec!["notes.txt".into()])
    );
    assert_eq!(std::fs::read_to_string(db.file("notes.txt")).unwrap(), "mine");
    // Once the file is out of the way, the place is free.
    std::fs::remove_file(db.file("notes.txt")).unwrap();
    std::fs::remove_dir(db.place.work().join("d/RAN")).unwrap();
    db.run("setup", &["--size=1m"]).ends(0);
    db.run("purge", &["--yes"]).ends(0);
    // Setup did not make the directory this time, so purge leaves it.
    assert_eq!(names("d"), ["other"]);
}

#[test]
fn two_databases_coexist_in_one_directory() {
    let db = Db::new(1, 100);
    let small = ["--name=SMALL", "--size=1m", "--set", "page_size=4k"];
    let made = db.run("setup", &small).ends(0).stdout;
    assert!(made.contains("SMALL: ") && made.contains("blocks of 4 KiB"), "{made}");
    assert_eq!(db.run("sizes", &["--name=SMALL"]).ends(0).stdout, "0\n");
    assert_eq!(db.run("sizes", &[]).ends(0).stdout, "1,100\n");
    db.run("purge", &["--yes"]).ends(0);
    assert_eq!(db.run("sizes", &["--name=SMALL"]).ends(0).stdout, "0\n");
    // The first setup made the directory. The second database is still in it.
    db.run("purge", &["--yes", "--name=SMALL"]).ends(0);
    assert!(crate::common::names(&db.place.work()).len() <= 1);
}

/// The suggested commands work unchanged, whatever the name of the place. The test only makes large sizes smaller.
#[test]
fn suggested_next_commands_work() {
    let place = Place::new();
    let url = "sqlite:my data?cache=1m&checkpoint=200ms";
    let common = [url, "--name", "BIG", "--set", "checkpoint_size=4m"];
    let db =
        |action: &str, more: &[&str]| place.run(&[&["db", action], &common[..], more].concat());
    let smaller = |line: &str| line.replace("--subscripts 1m", "--subscripts 2k");
    let next = |done: Done, code: i32| {
        let Done { stdout, stderr, .. } = done.ends(code);
        smaller(&told(if code == 0 { &stdout } else { &stderr }))
    };
    let make = next(db("sizes", &[]), 2).replace("64g", "8m");
    assert!(make.starts_with("iogauge db setup 'sqlite:my data?"), "{make}");
    let create = next(shell(&place, &make), 0);
    assert_eq!(next(db("run", &["--mode=write"]), 2).matches("create-globals").count(), 1);
    assert_eq!(next(db("add-globals", &["--globals=2"]), 2).matches("--globals 2").count(), 1);
    let run = next(shell(&place, &create), 0);
    assert_eq!(db("sizes", &[]).ends(0).stdout, format!("8{}\n", ",2000".repeat(8)));
    let done = shell(&place, &format!("{run} {}", SHORT.join(" "))).ends(0);
    for setting in ["checkpoint=200ms", "checkpoint_size=4m", "cache=1m"] {
        assert!(done.stdout.contains(setting), "{setting}: {}", done.stdout);
    }
    let more = next(db("run", &["--mode=write", "--processes=9"]), 2);
    shell(&place, &more).ends(0);
    let again = next(db("create-globals", &["--globals=10", "--subscripts=10"]), 2);
    shell(&place, &again).ends(0);
    assert_eq!(db("sizes", &[]).ends(0).stdout, format!("10{}\n", ",2000".repeat(10)));
    let purge = next(db("setup", &["--size=1m", "--quiet"]), 3).replace(" first", " --yes");
    shell(&place, &purge).ends(0);
    assert_eq!(place.names(), [""; 0]);
}

#[test]
fn database_pages_fit_the_terminal_width() {
    let db = Db::new(2, 1000);
    for more in [
        &["--mode=io", "--processes=2", "--drain", "--set", "checkpoint=100ms"][..],
        &["--mode=read"],
        &["--mode=write", "--ladder=1,2"],
    ] {
        let done = db.run("run", &[&SHORT[..], &["--limit=mean<=1us"], more].concat());
        assert!(matches!(done.code, Some(0 | 5)), "{}", done.stderr);
    }
    for columns in [60, 80, 100] {
        let on = |line: &[&str]| {
            let text = db.place.run_on(columns, line).ends(0).stdout;
            assert_fits(&text, columns);
            text
        };
        let text = on(&["history", "show", "last-2"]);
        assert!(
            text.contains("write daemon: ") && text.contains("drained after the run"),
            "{text}"
        );
        assert!(on(&["history", "show", "last"]).contains("The ladder ended: "));
        on(&["history", "show", "last-1"]);
        on(&["history", "list"]);
        on(&["db", "verify", crate::URL]);
    }
}
