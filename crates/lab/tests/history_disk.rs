//! Tests of the history on disks that are full or read-only.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;

use common::{new_run, version_1};
use iogauge_lab::history::{Ending, Filter, History, HistoryError, RunRef, RunState, Running};
use iogauge_test_support::{Mount, or_skip};
use serde_json::json;
use std::fs;
use std::path::Path;

fn keep_one(path: &Path) {
    let history = History::open(path).unwrap();
    let mut writer = history.begin(&new_run()).unwrap();
    writer.add_step(0, "early", &json!({"depth": 1})).unwrap();
    writer.finish(Ending::Done, 0, &json!({}), "kept").unwrap();
}

#[test]
fn disk_full_error_is_reported_and_stored_steps_remain() {
    let disk =
        or_skip!("disk_full_error_is_reported_and_stored_steps_remain", Mount::tmpfs(1 << 20));
    let path = disk.point.join("history.db");
    keep_one(&path);
    let other = disk.point.join("other");
    fs::write(&other, vec![0u8; 600 << 10]).unwrap();
    let history = History::open(&path).unwrap();
    let mut writer = history.begin(&new_run()).unwrap();
    let filler = "x".repeat(20_000);
    let (kept, error) = (0..1000)
        .find_map(|index| writer.add_step(index, "step", &filler).err().map(|e| (index, e)))
        .unwrap();
    assert!(matches!(error, HistoryError::DiskFull { .. }), "{error}");
    assert!(error.to_string().contains("no space left for the history"), "{error}");
    assert!(kept > 3, "{kept}");
    // Larger than a step, which may have left space for something smaller.
    let late = writer.finish(Ending::Failed, 1, &filler.repeat(4), "").unwrap_err();
    assert!(matches!(late, HistoryError::DiskFull { .. }), "{late}");
    drop(history);

    // No space is left, not even for the files that SQLite shares between processes.
    let _ = fs::write(disk.point.join("filler"), vec![0u8; 1 << 20]);
    let history = History::open(&path).unwrap();
    let first = history.show(&RunRef::Back(1)).unwrap();
    assert_eq!((first.row.state, first.steps.len()), (RunState::Done, 1));
    assert_eq!(history.show(&RunRef::Back(0)).unwrap().steps.len(), kept as usize);
    drop(history);

    fs::remove_file(other).unwrap();
    let mut history = History::open(&path).unwrap();
    assert_eq!(history.list(&Filter::default()).unwrap().len(), 2);
    history.rm(&[RunRef::Back(0)], Running::Remove).unwrap();
    history.check_writable().unwrap();
}

#[test]
fn full_disk_is_reported_before_measuring() {
    let disk = or_skip!("full_disk_is_reported_before_measuring", Mount::tmpfs(1 << 20));
    let path = disk.point.join("history.db");
    keep_one(&path);
    let _ = fs::write(disk.point.join("filler"), vec![0u8; 1 << 20]);
    let history = History::open(&path).unwrap();
    assert_eq!(history.list(&Filter::default()).unwrap().len(), 1);
    let error = history.check_writable().unwrap_err();
    assert!(matches!(error, HistoryError::DiskFull { .. }), "{error}");
    let error = history.begin(&new_run()).unwrap_err();
    assert!(matches!(error, HistoryError::DiskFull { .. }), "{error}");
    let error = History::open(&disk.point.join("new.db")).unwrap_err();
    assert!(matches!(error, HistoryError::DiskFull { .. }), "{error}");
}

#[test]
fn read_only_history_is_readable_and_write_error_has_reason() {
    let test = "read_only_history_is_readable_and_write_error_has_reason";
    let disk = or_skip!(test, Mount::tmpfs(1 << 20));
    let path = disk.point.join("history %3f.db");
    keep_one(&path);
    disk.remount("ro").unwrap();

    let mut history = History::open(&path).unwrap();
    assert_eq!(history.show(&RunRef::Back(0)).unwrap().steps.len(), 1);
    for error in [
        history.check_writable().unwrap_err(),
        history.begin(&new_run()).unwrap_err(),
        history.reset(Running::Remove).unwrap_err(),
    ] {
        assert!(matches!(error, HistoryError::ReadOnly { .. }), "{error}");
        assert!(error.to_string().contains("--history FILE"), "{error}");
    }
    let missing = History::open(&disk.point.join("new.db")).unwrap_err();
    assert!(matches!(missing, HistoryError::CannotOpen { .. }), "{missing}");
    let missing = History::open(&disk.point.join("sub/new.db")).unwrap_err();
    assert!(matches!(missing, HistoryError::Directory { .. }), "{missing}");
}

#[test]
fn history_of_version_1_is_read_where_it_cannot_be_converted() {
    let test = "history_of_version_1_is_read_where_it_cannot_be_converted";
    let disk = or_skip!(test, Mount::tmpfs(1 << 20));
    let path = disk.point.join("history.db");
    version_1(&path);
    let _ = fs::write(disk.point.join("filler"), vec![0u8; 1 << 20]);
    let read = |path: &Path| {
        let history = History::open(path).unwrap();
        let stored = history.show(&"x7k2".parse().unwrap()).unwrap();
        assert_eq!((stored.row.verdict.as_str(), stored.row.label), ("fine", None));
        assert_eq!(history.list(&Filter::default()).unwrap().len(), 1);
        history
    };
    let label = "nightly".parse().unwrap();
    let set = |mut history: History| history.set_label(&[RunRef::Back(0)], Some(&label));
    assert!(matches!(set(read(&path)), Err(HistoryError::DiskFull { .. })));
    disk.remount("ro").unwrap();
    assert!(matches!(set(read(&path)), Err(HistoryError::ReadOnly { .. })));
    disk.remount("rw").unwrap();
    fs::remove_file(disk.point.join("filler")).unwrap();
    read(&path).rm(&[RunRef::Back(0)], Running::Refuse).unwrap();
    assert!(History::open(&path).unwrap().list(&Filter::default()).unwrap().is_empty());
}
