//! Files that iogauge did not make, in and around the folder of a database: nothing harms them.

use crate::common::Done;
use crate::{Db, SHORT, assert_one_line};
use std::os::unix::fs::symlink;
use std::path::Path;

/// Asserts that a command was refused, with one line that contains these words.
#[track_caller]
fn refused(done: Done, words: &[&str]) {
    assert_one_line(done, 3, words);
}

#[test]
fn purge_keeps_directories_named_like_database_files() {
    let db = Db::new(1, 100);
    for name in ["global9.db", "filler.db-wal"] {
        std::fs::create_dir(db.file(name)).unwrap();
        std::fs::write(db.file(name).join("thesis"), "precious").unwrap();
    }
    // A run would make SQLite open this directory as its log.
    refused(db.run("run", &[&SHORT[..], &["--mode=write"]].concat()), &["filler.db-wal"]);
    let told = db.run("purge", &["--yes"]).ends(0).stdout;
    for name in ["global9.db", "filler.db-wal"] {
        assert!(told.contains(&format!("iogauge did not make it: d/RAN/{name}\n")), "{told}");
        assert_eq!(std::fs::read(db.file(name).join("thesis")).unwrap(), b"precious");
    }
    refused(db.run("setup", &["--size=1m", "--quiet"]), &["files that iogauge did not make"]);
}

#[test]
fn foreign_database_with_a_reserved_name_remains() {
    let db = Db::new(1, 100);
    // Its committed rows are only in its log.
    let path = db.file("global2.db");
    let sql =
        "PRAGMA journal_mode = wal; CREATE TABLE theses (text); INSERT INTO theses VALUES ('mine')";
    let foreign = rusqlite::Connection::open(&path).unwrap();
    foreign.execute_batch(sql).unwrap();
    let before = std::fs::read(db.file("global2.db-wal")).unwrap();
    assert!(before.len() > 1000);
    refused(
        db.run("add-globals", &["--globals=1", "--quiet"]),
        &["global2.db: iogauge did not make what is there", "hint: "],
    );
    let told = db.run("purge", &["--yes"]).ends(0).stdout;
    assert!(
        told.contains("d/RAN/global2.db\n") && told.contains("d/RAN/global2.db-wal\n"),
        "{told}"
    );
    assert_eq!(std::fs::read(db.file("global2.db-wal")).unwrap(), before);
    let rows: String = foreign.query_row("SELECT text FROM theses", [], |row| row.get(0)).unwrap();
    assert_eq!(rows, "mine");
}

#[test]
fn symlinks_to_foreign_files_are_not_followed() {
    let db = Db::new(2, 100);
    let canary = db.place.work().join("canary");
    let write = [&SHORT[..], &["--mode=write", "--processes=2"]].concat();
    // Each link takes the place of a file, or of one that a command will make.
    let names = [
        "acknowledged",
        "acknowledged.new",
        "global1.db",
        "global2.db-wal",
        "global3.db",
        "iogauge.new",
        "lock",
    ];
    for name in names {
        let (file, away) = (db.file(name), db.file("away"));
        let there = file.exists();
        if there {
            std::fs::rename(&file, &away).unwrap();
        }
        for content in [&b"precious"[..], &foreign_database(&db.place.work())] {
            std::fs::write(&canary, content).unwrap();
            symlink(&canary, &file).unwrap();
            for (action, more) in [
                ("run", &write[..]),
                ("add-globals", &["--globals=1", "--quiet"]),
                ("verify", &["--quiet"]),
                ("count-subscripts", &[]),
            ] {
                let done = db.run(action, more);
                assert!(done.code.is_some_and(|code| code <= 4), "{name} {action}: {done:?}");
                assert!(std::fs::read(&canary).unwrap() == content, "{action} with {name}");
            }
            std::fs::remove_file(&file).unwrap();
        }
        if there {
            std::fs::rename(&away, &file).unwrap();
        }
    }
    // A link to a missing file does not create it.
    std::fs::remove_file(&canary).unwrap();
    for name in ["acknowledged.new", "iogauge.new", "global9.db"] {
        symlink(&canary, db.file(name)).unwrap();
    }
    db.run("run", &write);
    db.run("purge", &["--yes"]).ends(0);
    assert!(!canary.exists());
    assert!(db.file("acknowledged.new").is_symlink() && db.file("global9.db").is_symlink());
}

/// Returns the bytes of a database that iogauge did not make.
fn foreign_database(work: &Path) -> Vec<u8> {
    let path = work.join("foreign.db");
    let connection = rusqlite::Connection::open(&path).unwrap();
    let sql = "CREATE TABLE IF NOT EXISTS global (subscript INTEGER PRIMARY KEY, value TEXT NOT NULL);
               CREATE TABLE IF NOT EXISTS worker (worker INTEGER PRIMARY KEY, sequence INTEGER NOT NULL);
               INSERT OR REPLACE INTO worker VALUES (1, 0), (2, 0)";
    connection.execute_batch(sql).unwrap();
    drop(connection);
    let bytes = std::fs::read(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    bytes
}

#[test]
fn marker_with_impossible_values_is_reported_as_damaged() {
    let db = Db::new(1, 100);
    let sound = std::fs::read_to_string(db.file("iogauge.json")).unwrap();
    let changes = [
        ("\"block_bytes\": 8192", "\"block_bytes\": 0"),
        ("\"block_bytes\": 8192", "\"block_bytes\": 18446744073709551615"),
        ("\"block_bytes\": 8192", "\"block_bytes\": -1"),
        ("\"subscripts\": 100", "\"subscripts\": 0"),
        ("\"value_bytes\": 100", "\"value_bytes\": 18446744073709551615"),
        ("\"number\": 1", "\"number\": 4294967295"),
    ];
    for (from, to) in changes {
        assert!(sound.contains(from), "{sound}");
        std::fs::write(db.file("iogauge.json"), sound.replace(from, to)).unwrap();
        for action in ["run", "verify", "sizes", "count-subscripts", "purge"] {
            let more = match action {
                "run" => &["--mode=io", "--quiet"][..],
                "purge" => &["--yes"],
                _ => &[],
            };
            assert_one_line(db.run(action, more), 1, &["iogauge.json: it is damaged: "]);
        }
    }
    std::fs::write(db.file("iogauge.json"), sound).unwrap();
    db.measured("io", &[]);
    db.verified();
}
