//! `iogauge db …` through the binary, on small SQLite databases.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod beside;
#[path = "../common/mod.rs"]
mod common;
mod compare;
mod crash;
mod export;
mod find;
mod foreign;
mod life;
mod mistakes;
mod noted;
mod run;
mod server;
mod together;

use common::{Done, Place, Started, eventually};
use iogauge_db::DbUrl;
use iogauge_db::acknowledged::{Acknowledged, Remembered};
use iogauge_db::backend;
use iogauge_model::result::{DatabaseResult, RunDocument};
use serde_json::Value;
use std::path::PathBuf;

/// The database of most tests, in the working directory.
pub const URL: &str = "sqlite:d";
/// Options of a short run.
pub const SHORT: [&str; 3] = ["--runtime=300ms", "--ramp-time=0", "--quiet"];

/// A database in its own place.
pub struct Db {
    pub place: Place,
}

impl Db {
    /// Sets up a database with this number of globals, each with this number of subscripts.
    pub fn new(globals: u32, subscripts: u32) -> Self {
        let db = Self { place: Place::new() };
        db.run("setup", &["--size=16m", "--quiet"]).ends(0);
        if globals > 0 {
            let (globals, subscripts) =
                (format!("--globals={globals}"), format!("--subscripts={subscripts}"));
            db.run("create-globals", &[&globals, &subscripts, "--quiet"]).ends(0);
        }
        db
    }

    /// Runs a command of `iogauge db` on the database.
    pub fn run(&self, action: &str, more: &[&str]) -> Done {
        self.place.run(&[&["db", action, URL], more].concat())
    }

    /// Starts a command in the background.
    pub fn start(&self, action: &str, more: &[&str]) -> Started {
        self.place.start(&[&["db", action, URL], more].concat())
    }

    /// Makes a short run in a mode. Returns its document.
    pub fn measured(&self, mode: &str, more: &[&str]) -> Value {
        self.measured_as(&[&["--mode", mode], more].concat())
    }

    /// Makes a short run of a workload. Returns its document.
    pub fn measured_as(&self, load: &[&str]) -> Value {
        let done = self.run("run", &[&["--json"], &SHORT[..], load].concat());
        // A limit may be broken.
        assert!(matches!(done.code, Some(0 | 5)), "{}", done.stderr);
        done.json()
    }

    /// Returns what `db verify` found, which must be no error.
    pub fn verified(&self) -> Value {
        self.run("verify", &["--json"]).ends(0).json()
    }

    /// Returns the path of a file in the database's folder.
    pub fn file(&self, name: &str) -> PathBuf {
        self.place.work().join("d/RAN").join(name)
    }

    /// Returns what the last run acknowledged, if it was recorded.
    pub fn acknowledged(&self) -> Option<Remembered> {
        Acknowledged::read(&self.file("acknowledged")).unwrap()
    }

    /// Returns every value of a global, in the order of the subscripts.
    pub fn values(&self, global: u32) -> Vec<String> {
        let place = self.place.work().join("d");
        let url: DbUrl = format!("sqlite:{}", place.display()).parse().unwrap();
        let mut values = Vec::new();
        let mut see = |_, value: &str| {
            values.push(value.to_owned());
            Ok(())
        };
        backend::open(&url).unwrap().walk(global, &mut see).unwrap();
        values
    }

    /// Starts a run that writes with this number of processes until it is stopped. Waits until each process has
    /// acknowledged transactions.
    pub fn at_work(&self, processes: u32, more: &[&str]) -> Started {
        let before = self.acknowledged();
        let processes_option = format!("--processes={processes}");
        let endless = ["--mode=write", "--runtime=1h", "--ramp-time=0", &processes_option];
        let run = self.start("run", &[&endless[..], more].concat());
        eventually(|| {
            self.acknowledged().filter(|known| Some(known) != before.as_ref()).is_some_and(
                |known| {
                    known.workers.len() == processes as usize
                        && known.workers.iter().all(|(first, last)| last > first)
                },
            )
        });
        run
    }
}

/// Deserializes the document of a run.
pub fn typed(document: &Value) -> RunDocument {
    serde_json::from_value(document.clone()).unwrap()
}

/// Returns the part of the first step that only a database has.
pub fn database(document: &Value) -> DatabaseResult {
    *typed(document).steps[0].database.clone().expect("a step on a database")
}

/// Returns the codes of a document's caveats.
pub fn codes(document: &Value) -> Vec<&str> {
    let caveats = document["caveats"].as_array().unwrap();
    caveats.iter().map(|caveat| caveat["code"].as_str().unwrap()).collect()
}

/// Asserts that a command ended with this exit code and one message on stderr that contains all these words.
#[track_caller]
pub fn assert_one_line(done: Done, code: i32, words: &[&str]) {
    let Done { stdout, stderr, .. } = done.ends(code);
    assert_eq!(stdout, "", "{stderr}");
    crate::common::assert_one_message(&stderr);
    let said = stderr.replace("\nhint: ", "; hint: ");
    for word in words {
        assert!(said.contains(word), "\"{word}\" is not in {stderr}");
    }
}

/// Asserts that no line of a text is wider than the page.
#[track_caller]
pub fn assert_fits(text: &str, columns: u16) {
    let widest = text.lines().map(|line| line.chars().count()).max().unwrap_or(0);
    assert!(widest <= usize::from(columns), "{widest} columns, not {columns}:\n{text}");
}
