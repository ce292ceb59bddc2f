//! Tests that SQLite, with its file system calls checked by a rule, leaves foreign files under its own file names
//! alone.
#![allow(clippy::unwrap_used)]

use iogauge_io::sqlite_calls::{IsRight, judge_by};
use rusqlite::Connection;
use std::fs::{self, File};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

/// The rule applies to files whose path contains this name, which includes the log files.
const NAME: &str = "judged.db";

/// Returns the rule of a path: SQLite may use a file unless it begins with "precious".
fn rule_of(path: &Path) -> Option<IsRight> {
    path.to_str()?.contains(NAME).then_some(|file: &File| {
        let mut head = [0; 8];
        file.read_at(&mut head, 0).is_ok_and(|_| &head != b"precious")
    })
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    PathBuf::from(format!("{}{suffix}", path.display()))
}

fn wal(path: &Path) -> rusqlite::Result<Connection> {
    let connection = Connection::open(path)?;
    connection.execute_batch(
        "PRAGMA journal_mode = wal; CREATE TABLE IF NOT EXISTS t (x); INSERT INTO t VALUES (1)",
    )?;
    Ok(connection)
}

#[test]
fn a_foreign_file_is_neither_opened_nor_removed() {
    assert!(judge_by(rule_of));
    for suffix in ["", "-wal", "-shm", "-journal"] {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(NAME);
        let foreign = with_suffix(&path, suffix);
        if !suffix.is_empty() {
            // Create the database in WAL mode under a name without a rule.
            wal(&dir.path().join("other.db")).unwrap();
            fs::rename(dir.path().join("other.db"), &path).unwrap();
        }
        fs::write(&foreign, "precious\n").unwrap();
        std::os::unix::fs::chown(&foreign, Some(1), Some(1)).ok();
        let before = fs::metadata(&foreign).unwrap();
        let result = Connection::open(&path).and_then(|connection| {
            connection
                .execute_batch("INSERT INTO t VALUES (2); PRAGMA wal_checkpoint; SELECT 1 FROM t")
        });
        assert!(result.is_err(), "{suffix}");
        let after = fs::metadata(&foreign).unwrap();
        assert_eq!(fs::read(&foreign).unwrap(), b"precious\n", "{suffix}");
        let about = |of: &fs::Metadata| (of.ino(), of.mode(), of.uid(), of.gid(), of.mtime_nsec());
        assert_eq!(about(&after), about(&before), "{suffix}");
    }
}

#[test]
fn file_replacing_the_wal_is_not_deleted_on_last_close() {
    assert!(judge_by(rule_of));
    for suffix in ["-wal", "-shm"] {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(NAME);
        let connection = wal(&path).unwrap();
        let beside = with_suffix(&path, suffix);
        assert!(beside.exists(), "{suffix}");
        fs::write(dir.path().join("foreign"), "precious\n").unwrap();
        fs::rename(dir.path().join("foreign"), &beside).unwrap();
        drop(connection);
        assert_eq!(fs::read(&beside).unwrap(), b"precious\n", "{suffix}");
    }
}

/// A new file usually gets the inode number of a file that was removed before it.
#[test]
fn foreign_file_with_a_reused_inode_number_is_not_deleted() {
    assert!(judge_by(rule_of));
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(NAME);
    for _ in 0..50 {
        let connection = wal(&path).unwrap();
        let log = with_suffix(&path, "-wal");
        fs::remove_file(&log).unwrap();
        fs::write(&log, "precious\n").unwrap();
        drop(connection);
        assert_eq!(fs::read(&log).unwrap(), b"precious\n");
        for suffix in ["", "-wal", "-shm"] {
            fs::remove_file(with_suffix(&path, suffix)).ok();
        }
    }
}

#[test]
fn valid_database_works_normally_and_is_cleaned_up() {
    assert!(judge_by(rule_of));
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(NAME);
    let (one, other) = (wal(&path).unwrap(), wal(&path).unwrap());
    let count = |connection: &Connection| -> u32 {
        connection.query_row("SELECT count(*) FROM t", [], |row| row.get(0)).unwrap()
    };
    assert_eq!((count(&one), count(&other)), (2, 2));
    drop((one, other));
    let names: Vec<_> = fs::read_dir(dir.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(names, [NAME], "the last close takes its log along");
    // The same with a rollback journal, which is created and removed at each commit.
    let connection = Connection::open(&path).unwrap();
    let rollback = "PRAGMA journal_mode = delete; INSERT INTO t VALUES (3); VACUUM";
    connection.execute_batch(rollback).unwrap();
    assert_eq!(count(&connection), 3);
    // Files without a rule are not checked.
    wal(&dir.path().join("free.db")).unwrap();
}
