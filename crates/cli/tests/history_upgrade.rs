//! Histories of every version of the tables, as `scripts/history-fixture.sh` wrote them with the program of that time.
#![allow(clippy::unwrap_used)]

mod common;

use common::{Done, Place, assert_one_message, names};
use iogauge_lab::history::SCHEMA_VERSION;
use iogauge_test_support::{Mount, or_skip};
use rusqlite::types::Value as Cell;
use rusqlite::{Connection, OpenFlags};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

const QUICK: [&str; 5] = ["run", "sim:nvme", "--runtime=10ms", "--ramp-time=0", "-q"];
/// The target of the runs that a trend is made of.
const EVEN: &str = "sim:channels=4,service=100us,dist=const,seed=1";
const FORMATS: [&str; 5] = ["text", "json", "iogauge-csv", "fio-json", "classic"];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/history")
}

/// Returns the version of each fixture, and its path.
fn fixtures() -> Vec<(i32, PathBuf)> {
    let version =
        |name: &String| name.strip_prefix("schema-")?.strip_suffix(".sqlite3")?.parse().ok();
    let named =
        |name: String| (version(&name).unwrap_or_else(|| panic!("{name}")), folder().join(name));
    let mut fixtures: Vec<_> = names(&folder()).into_iter().map(named).collect();
    fixtures.sort();
    fixtures
}

/// Puts a copy of a fixture where the commands of a new place find their history.
fn copy_of(fixture: &Path) -> Place {
    let place = Place::new();
    fs::create_dir_all(place.history().parent().unwrap()).unwrap();
    fs::copy(fixture, place.history()).unwrap();
    place
}

/// A run of a history.
struct Run {
    id: String,
    /// `running` is that of a run whose process was killed.
    state: String,
    kind: String,
}

/// All that a history contains, apart from the labels of runs, which version 1 does not have.
#[derive(Debug, PartialEq)]
struct Content {
    runs: Vec<Vec<Cell>>,
    steps: Vec<Vec<Cell>>,
}

impl Content {
    fn of(path: &Path) -> Self {
        // Without a log, nothing is missed, and nothing is written.
        let uri = format!("file:{}?immutable=1", path.display());
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
        let connection = Connection::open_with_flags(uri, flags).unwrap();
        let rows = |table: &str, left_out: &str| {
            let mut statement = connection.prepare(&format!("SELECT * FROM {table}")).unwrap();
            let names = statement.column_names().enumerate();
            let kept = names.filter(|(_, name)| *name != left_out).map(|(at, _)| at);
            let kept: Vec<usize> = kept.collect();
            let row = |row: &rusqlite::Row<'_>| kept.iter().map(|at| row.get(*at)).collect();
            statement.query_map([], row).unwrap().map(Result::unwrap).collect::<Vec<_>>()
        };
        Self {
            runs: rows("run ORDER BY seq", "label"),
            steps: rows("step ORDER BY run_seq, step_index", ""),
        }
    }

    fn runs(&self) -> Vec<Run> {
        let text = |cell: &Cell| match cell {
            Cell::Text(text) => text.clone(),
            other => panic!("{other:?}"),
        };
        let run =
            |row: &Vec<Cell>| Run { id: text(&row[1]), kind: text(&row[2]), state: text(&row[3]) };
        self.runs.iter().map(run).collect()
    }

    /// Asserts that this is still there, at the beginning of what is there now.
    #[track_caller]
    fn is_in(&self, now: &Self) {
        assert!(now.runs.starts_with(&self.runs), "runs differ");
        assert!(now.steps.starts_with(&self.steps), "steps differ");
    }
}

fn user_version(path: &Path) -> i32 {
    let connection = Connection::open(path).unwrap();
    connection.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap()
}

/// Fails if a document does not have the form that `docs/schemas` describes.
fn validate(document: &Value, of: &str) {
    let format = document["format"].as_str().unwrap_or_else(|| panic!("{of}: {document}"));
    let name = format.strip_prefix("iogauge.").unwrap().replace('/', "-");
    let schemas = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schemas");
    let schema = fs::read_to_string(schemas.join(name + ".json")).unwrap();
    let validator = jsonschema::validator_for(&serde_json::from_str(&schema).unwrap()).unwrap();
    let errors = validator.iter_errors(document);
    let errors: Vec<_> = errors.map(|e| format!("{}: {e}", e.instance_path())).collect();
    assert!(errors.is_empty(), "{of}, {format}: {errors:#?}");
}

/// Reads a history with every command that changes nothing, and returns what they print.
fn read(place: &Place, runs: &[Run], more: &[&str]) -> Vec<Done> {
    let run = |line: &[&str]| place.run(&[line, more].concat());
    let mut printed = Vec::new();
    let list = run(&["history", "list", "--limit=100"]).ends(0);
    for Run { id, .. } in runs {
        assert!(list.stdout.contains(id.as_str()), "{}", list.stdout);
    }
    printed.push(list);
    let list = run(&["history", "list", "--limit=100", "--json"]).ends(0);
    validate(&list.json(), "history list");
    assert_eq!(list.json()["runs"].as_array().unwrap().len(), runs.len());
    printed.push(list);
    for Run { id, kind, state } in runs {
        for format in FORMATS {
            let shown = run(&["history", "show", id, "--format", format]);
            match format {
                "text" => assert!(shown.stdout.contains(id.as_str()), "{}", shown.stdout),
                "json" => validate(&shown.json(), &format!("{id} ({kind}, {state})")),
                _ => {}
            }
            // Not every kind of run has a table of every form.
            if shown.code == Some(2) && !["text", "json"].contains(&format) {
                assert_one_message(&shown.stderr);
                printed.push(shown);
            } else {
                printed.push(shown.ends(0));
            }
        }
    }
    for format in ["json", "csv"] {
        let exported = run(&["history", "export", "--format", format]).ends(0);
        assert_eq!(exported.stderr, "");
        for Run { id, .. } in runs {
            assert!(exported.stdout.contains(id.as_str()), "{format}: {id}");
        }
        printed.push(exported);
    }
    let find = runs.iter().find(|run| run.kind == "find").unwrap();
    printed.push(run(&["history", "export", "--for", "ceph", &find.id]));

    let drawn: Vec<&str> = runs
        .iter()
        .filter(|run| ["done", "interrupted"].contains(&run.state.as_str()))
        .map(|run| run.id.as_str())
        .collect();
    run(&[&["report", "--html", "report.html"], &drawn[..]].concat()).ends(0);
    let html = fs::read_to_string(place.work().join("report.html")).unwrap();
    fs::remove_file(place.work().join("report.html")).unwrap();
    assert!(drawn.iter().all(|id| html.contains(id)) && html.contains("<svg"), "{}", html.len());

    let trend = run(&["history", "trend", "--target", EVEN, "--json"]).ends(0);
    validate(&trend.json(), "history trend");
    printed.push(trend);
    printed
}

#[test]
fn every_version_of_the_tables_has_a_history() {
    let versions: Vec<i32> = fixtures().into_iter().map(|(version, _)| version).collect();
    let all: Vec<i32> = (1..=SCHEMA_VERSION).collect();
    assert_eq!(versions, all, "scripts/history-fixture.sh writes that of the current version");
    for (version, path) in fixtures() {
        let content = Content::of(&path);
        assert_eq!(user_version(&path), version);
        let runs = content.runs();
        for kind in ["find", "run", "suite", "crosscheck", "profile", "db-run", "import"] {
            assert!(runs.iter().any(|run| run.kind == kind), "{version}: {kind}");
        }
        for state in ["done", "failed", "interrupted", "running"] {
            assert!(runs.iter().any(|run| run.state == state), "{version}: {state}");
        }
    }
}

#[test]
fn runs_of_every_version_are_read_and_kept() {
    for (version, fixture) in fixtures() {
        let place = copy_of(&fixture);
        let before = Content::of(&fixture);
        let runs = before.runs();
        read(&place, &runs, &[]);
        assert_eq!(user_version(&place.history()), SCHEMA_VERSION, "{version}");
        assert_eq!(Content::of(&place.history()), before, "{version}");

        let of_load = |run: &&Run| run.kind == "run" && run.state == "done";
        let ids: Vec<&str> = runs.iter().filter(of_load).map(|run| run.id.as_str()).collect();
        let compared = place.run(&["compare", ids[1], ids[2], "--json", "-q"]);
        assert!([0, 6, 7].contains(&compared.code.unwrap()), "{}", compared.stderr);
        validate(&compared.json(), "compare");

        place.run(&["history", "label", ids[0], ids[2], "old"]).ends(0);
        place.run(&[&QUICK[..], &["--label=new"]].concat()).ends(0);
        let list = |label: &str| {
            place.run(&["history", "list", "--json", "--label", label]).ends(0).json()["runs"]
                .as_array()
                .unwrap()
                .len()
        };
        assert_eq!((list("old"), list("new")), (2, 1));
        let now = Content::of(&place.history());
        assert_eq!(now.runs.len(), runs.len() + 1);
        before.is_in(&now);
        // The old document has the new label.
        let shown = place.run(&["history", "show", ids[0], "--format=json"]).ends(0).json();
        assert_eq!(shown["label"], "old");
        validate(&shown, ids[0]);
        place.run(&["history", "rm", ids[0]]).ends(0);
        assert_eq!(Content::of(&place.history()).runs.len(), runs.len());
    }
}

/// A history that cannot be converted gives the same results.
#[test]
fn read_only_history_of_an_earlier_version_is_read() {
    let test = "read_only_history_of_an_earlier_version_is_read";
    for (version, fixture) in
        fixtures().into_iter().filter(|(version, _)| *version < SCHEMA_VERSION)
    {
        let disk = or_skip!(test, Mount::tmpfs(4 << 20));
        let history = disk.point.join("history.db");
        fs::copy(&fixture, &history).unwrap();
        disk.remount("ro").unwrap();
        let runs = Content::of(&fixture).runs();
        let place = copy_of(&fixture);
        let converted = read(&place, &runs, &[]);
        let option = ["--history", history.to_str().unwrap()];
        let unconverted = read(&place, &runs, &option);
        for (one, other) in converted.iter().zip(&unconverted) {
            assert_eq!(one.stdout, other.stdout, "{version}");
        }
        assert_eq!(converted.len(), unconverted.len());
        for line in [&QUICK[..], &["history", "label", "last", "a"], &["history", "rm", "-3"]] {
            let refused = place.run(&[line, &option].concat()).ends(1);
            assert_one_message(&refused.stderr);
        }
        assert_eq!(fs::read(&history).unwrap(), fs::read(&fixture).unwrap());
    }
}

#[test]
fn processes_that_convert_at_once_lose_nothing() {
    for (version, fixture) in fixtures() {
        let before = Content::of(&fixture);
        for _ in 0..5 {
            let place = copy_of(&fixture);
            let lines = [&QUICK[..], &["history", "list", "--json", "--limit=100"], &QUICK[..]];
            let started: Vec<_> = lines.map(|line| place.start(line)).into_iter().collect();
            let ended: Vec<Done> = started.into_iter().map(|run| run.end().ends(0)).collect();
            assert!(ended.iter().all(|done| done.stderr.is_empty()), "{version}: {ended:?}");
            assert!(ended[1].json()["runs"].as_array().unwrap().len() >= before.runs.len());
            let now = Content::of(&place.history());
            assert_eq!(now.runs.len(), before.runs.len() + 2, "{version}");
            before.is_in(&now);
        }
    }
}

#[test]
fn next_version_is_refused_with_a_hint_and_left_unchanged() {
    let (_, newest) = fixtures().pop().unwrap();
    let place = copy_of(&newest);
    let history = place.history();
    let connection = Connection::open(&history).unwrap();
    connection.pragma_update(None, "user_version", SCHEMA_VERSION + 1).unwrap();
    drop(connection);
    let bytes = fs::read(&history).unwrap();
    for line in [
        &QUICK[..],
        &["history", "list"],
        &["history", "show", "last"],
        &["history", "export"],
        &["history", "label", "last", "a"],
        &["history", "rm", "last"],
        &["history", "reset", "--yes"],
        &["report", "--html", "report.html"],
    ] {
        let refused = place.run(line).ends(2);
        assert_eq!(refused.stdout, "");
        assert_one_message(&refused.stderr);
        assert!(refused.stderr.contains("\nhint: "), "{}", refused.stderr);
        let both = format!("version {}, this iogauge knows {SCHEMA_VERSION}", SCHEMA_VERSION + 1);
        assert!(refused.stderr.contains(&both), "{}", refused.stderr);
    }
    assert_eq!(fs::read(&history).unwrap(), bytes);
    assert!(place.names().is_empty());
}
