//! Tables that scripts around fio printed: printed again, and imported into the history.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;

use common::Place;
use std::fs;
use std::path::Path;

fn data(file: &str) -> String {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fio/tests/data/fio");
    data.join(file).canonicalize().unwrap().to_str().unwrap().to_owned()
}

fn text(file: &str) -> String {
    fs::read_to_string(data(file)).unwrap()
}

/// Returns the systems of all runs, oldest first, from the first column of CSV.
fn systems(place: &Place) -> Vec<String> {
    let runs: Vec<String> = place.runs().into_iter().map(|(id, _)| id).collect();
    let of = |run: &String| {
        let table = place.run(&["history", "show", run, "--format=csv"]).ends(0).stdout;
        let rows: Vec<&str> = table.lines().skip(1).collect();
        let system = rows[0].split(',').next().unwrap().to_owned();
        assert!(rows.iter().all(|row| row.starts_with(&format!("{system},"))), "{table}");
        system
    };
    let mut systems: Vec<String> = runs.iter().map(of).collect();
    systems.sort();
    systems
}

#[test]
fn table_is_printed_again_with_the_same_figures() {
    let place = Place::new();
    for (file, options) in [
        ("2.0.7/expected-plain.txt", &[][..]),
        ("2.0.7/expected-v.txt", &["--buckets"]),
        ("2.0.7/expected-p.txt", &["--percentiles"]),
    ] {
        let path = data(file);
        let table = place.run(&[&["table"], options, &[&*path]].concat()).ends(0);
        // The screen has no blanks at its end.
        assert_eq!(table.stdout.trim_end(), text(file).trim_end(), "{file}");
        assert_eq!(table.stderr, "", "{file}");
    }
    // Both systems of the printed tables have the rows of the plain one; so has the matrix, with fewer digits.
    let rows = text("2.0.7/expected-plain.txt").lines().skip(1).collect::<Vec<_>>().join("\n");
    let both = place.run(&["table", &data("classic/printed-tables.txt")]).ends(0).stdout;
    assert_eq!(both.lines().count(), 45);
    assert_eq!(both.matches(&rows).count(), 2, "{both}");
    let matrix =
        place.run(&["table", "--format=csv", &data("2.0.7/expected-R.txt")]).ends(0).stdout;
    let first = "mybox,read,1,8K,135.875,0.055,0.000,8.000,0.100,17392,47,52,0,";
    assert!(matrix.lines().nth(1).unwrap().starts_with(first), "{matrix}");
    assert!(!place.history().exists());
}

#[test]
fn each_system_of_a_table_becomes_a_run() {
    let place = Place::new();
    let file = data("classic/printed-tables.txt");
    let told = place.run(&["import", &file]).ends(0).stdout;
    let lines: Vec<&str> = told.lines().collect();
    assert_eq!(lines.len(), 2, "{told}");
    assert!(lines[0].ends_with("printed-tables.txt (Volume A): 22 results"), "{told}");
    assert!(lines[1].ends_with("printed-tables.txt (Volume B): 22 results"), "{told}");
    assert_eq!(systems(&place), ["Volume A", "Volume B"]);
    let list = place.run(&["history", "list"]).ends(0).stdout;
    assert!(list.contains("Volume A: 22 steps") && list.contains("Volume B: 22 steps"), "{list}");

    // The same bytes under another name are known, both of them.
    fs::copy(&file, place.work().join("copy.txt")).unwrap();
    let again = place.run(&["import", "copy.txt"]).ends(0).stdout;
    assert_eq!(again.matches("in the history already").count(), 2, "{again}");
    let ignored = place.run(&["import", "--system=other", "copy.txt"]).ends(0).stderr;
    assert!(ignored.contains("already keeps its system and label\nhint: run"), "{ignored}");
    assert_eq!(place.runs().len(), 2);
    // A run that was removed comes back, and only that one.
    place.run(&["history", "rm", "last"]).ends(0);
    let back = place.run(&["import", "copy.txt"]).ends(0).stdout;
    assert_eq!(back.matches("in the history already").count(), 1, "{back}");
    assert_eq!(systems(&place), ["Volume A", "Volume B"]);

    let html = place.work().join("both.html");
    place.run(&["report", "last-1..last", "--html", "both.html"]).ends(0);
    let html = fs::read_to_string(html).unwrap();
    assert!(html.contains("Volume A") && html.contains("Volume B"));
}

#[test]
fn typed_system_replaces_one_name_and_precedes_several() {
    let place = Place::new();
    place.run(&["import", "-q", "--system=old", &data("classic/systems.csv")]).ends(0);
    place.run(&["import", "-q", "--system=old box", &data("2.0.7/expected-R.txt")]).ends(0);
    place.run(&["import", "-q", "--system=plain", &data("2.0.7/expected-plain.txt")]).ends(0);
    place.run(&["import", "-q", &data("2.0.7/expected-p.txt")]).ends(0);
    let expected = ["2.0.7", "old box", "old virtio", "old virtio-slow", "plain"];
    assert_eq!(systems(&place), expected);
    let csv = place.run(&["table", "--format=csv", "--system=old", &data("classic/systems.csv")]);
    let csv = csv.ends(0).stdout;
    assert!(csv.lines().nth(1).unwrap().starts_with("old virtio,read,"), "{csv}");
    let matrix = place.run(&["table", "--format=r", &data("classic/systems.csv")]).ends(0);
    assert!(matrix.stderr.starts_with("warning: rows of several systems are in one data frame"));
}

/// Returns the words of the line that begins with a word.
fn line(shown: &str, begin: &str) -> String {
    let line = shown.lines().find(|line| line.trim_start().starts_with(begin));
    line.unwrap_or_else(|| panic!("{shown}")).split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn imported_table_shows_what_it_has_and_no_more() {
    let place = Place::new();
    place.run(&["import", "-q", &data("2.0.7/expected-plain.txt")]).ends(0);
    let shown = place.run(&["history", "show"]).ends(0).stdout;
    let asked =
        "1 user; average queue depth 1.0; a row of a table, without run time and numbers of I/Os";
    assert!(shown.contains(asked), "{shown}");
    assert!(shown.contains("Step 5 of 22: read 1 MiB by 8 users"), "{shown}");
    assert!(!shown.contains("CPU") && !shown.contains("requested"), "{shown}");
    assert_eq!(line(&shown, "read"), "read 17,392 142 MB/s 55.0 µs 34.0 µs 8.08 ms");
    let csv = place.run(&["history", "show", "--format=iogauge-csv"]).ends(0).stdout;
    let column = |name: &str| {
        let place = csv.lines().next().unwrap().split(',').position(|column| column == name);
        csv.lines().nth(1).unwrap().split(',').nth(place.unwrap()).unwrap().to_owned()
    };
    assert_eq!((column("iops").as_str(), column("latency_ns_max").as_str()), ("17392", "8080000"));
    for unknown in [
        "seconds",
        "ios",
        "errors",
        "latency_ns_p50",
        "latency_ns_p99",
        "latency_n",
        "cpu_ns_per_io",
    ] {
        assert_eq!(column(unknown), "", "{unknown}");
    }
    let document = place.run(&["history", "show", "--format=json"]).ends(0).json();
    assert_eq!(document["steps"][0]["fio"]["from_table"], true);
    assert_eq!(document["steps"][0]["fio"].get("fio_version"), None);
    let table = place.run(&["history", "show", "--format=classic"]).ends(0).stdout;
    assert_eq!(table, text("2.0.7/expected-plain.txt"));
}

#[test]
fn malformed_rows_are_reported_and_others_used() {
    let place = Place::new();
    let good = text("2.0.7/expected-plain.txt");
    let bad = good.replacen("0.055", "nan", 1).replacen(" 128K", "128Q", 1);
    fs::write(place.work().join("bad.txt"), bad).unwrap();
    for command in ["table", "import"] {
        let done = place.run(&[command, "bad.txt"]).ends(0);
        let told: Vec<&str> = done.stderr.lines().collect();
        assert_eq!(told.len(), 2, "{told:?}");
        let first = "warning: bad.txt:2: row of a table: the mean latency cannot be \"nan\"";
        assert_eq!(told[0], first);
        assert!(
            told[1].starts_with("warning: bad.txt:4: row of a table: the block size"),
            "{told:?}"
        );
    }
    assert!(place.run(&["import", "bad.txt"]).ends(0).stdout.ends_with("already\n"));
}

/// A large file is read in pieces, and its systems do not mix.
#[test]
fn large_table_with_rows_in_turns_is_imported_in_chunks() {
    let place = Place::new();
    let text = text("classic/systems.csv");
    let (header, rows) = text.split_once('\n').unwrap();
    let rows: Vec<&str> = rows.lines().collect();
    let turns: Vec<&str> = (0..22).flat_map(|row| [rows[row], rows[row + 22]]).collect();
    let large = format!("{header}\n{}\n", vec![turns.join("\n"); 200].join("\n"));
    fs::write(place.work().join("large.csv"), large).unwrap();
    let at_once: Vec<_> = (0..3).map(|_| place.start(&["import", "large.csv"])).collect();
    let told: Vec<String> = at_once.into_iter().map(|run| run.end().ends(0).stdout).collect();
    let new = told.concat().matches("4400 results").count();
    assert_eq!(new, 2, "{told:?}");
    assert!(place.runs().iter().all(|(_, state)| state == "done"), "{:?}", place.runs());
    assert_eq!(systems(&place), ["virtio", "virtio-slow"]);
}
