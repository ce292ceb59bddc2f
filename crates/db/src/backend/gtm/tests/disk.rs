//! Tests disks that are full or cannot be written.

use super::{gtm, progressing, set_up};
use crate::backend::gtm::files;
use crate::backend::{Database, Global, Order, RunPlan, WorkerPlan};
use crate::counts::WorkerCounts;
use crate::error::DbError;
use iogauge_test_support::{Mount, names, or_skip};
use std::time::{Duration, Instant};

#[test]
fn gtm_setup_on_a_full_disk_leaves_no_files() {
    let name = "gtm_setup_on_a_full_disk_leaves_no_files";
    let disk = or_skip!(name, Mount::tmpfs(64 << 20));
    let Some(db) = gtm(name, &disk.point, "cache=1M") else { return };
    let made = progressing(|progress| db.setup(100 << 20, progress));
    assert!(matches!(&made, Err(DbError::Full(text)) if !text.contains('\n')), "{made:?}");
    assert_eq!(names(&disk.point), [""; 0]);
}

#[test]
fn gtm_global_too_large_for_the_disk_keeps_existing_globals() {
    let name = "gtm_global_too_large_for_the_disk_keeps_existing_globals";
    let disk = or_skip!(name, Mount::tmpfs(120 << 20));
    let Some(db) = gtm(name, &disk.point, "cache=1M") else { return };
    set_up(&db, 16 << 20, 1, 1_000);
    let global = Global { number: 2, subscripts: 2_000_000, value_bytes: 100 };
    let made = progressing(|progress| db.create_global(global, progress));
    assert!(matches!(&made, Err(DbError::Full(text)) if !text.contains('\n')), "{made:?}");
    assert_eq!(db.globals().unwrap().len(), 1);
    assert_eq!(db.count_subscripts(1).unwrap(), 1_000);
    let global = Global { number: 2, subscripts: 1_000, value_bytes: 100 };
    progressing(|progress| db.create_global(global, progress)).unwrap();
    assert_eq!(db.count_subscripts(2).unwrap(), 1_000);
}

#[test]
fn gtm_journal_filling_the_disk_ends_the_run_without_loss() {
    let name = "gtm_journal_filling_the_disk_ends_the_run_without_loss";
    let disk = or_skip!(name, Mount::tmpfs(90 << 20));
    let Some(db) = gtm(name, &disk.point, "cache=8M") else { return };
    set_up(&db, 16 << 20, 1, 10_000);
    let activity = db.begin(&RunPlan { writers: 1, reads: false }).unwrap();
    let global = db.globals().unwrap()[0];
    let plan =
        WorkerPlan { worker: 1, global, sequence: 0, draws_state: 1, transaction_length: 100 };
    let mut writer = activity.writer(plan).unwrap();
    let (mut counts, mut last) = (WorkerCounts::default(), 0);
    let end = Instant::now() + Duration::from_secs(60);
    let error = loop {
        let until = Instant::now() + Duration::from_millis(50);
        match writer.work(&Order { transactions: u32::MAX, until }, &mut counts) {
            Ok(committed) => last = committed,
            Err(error) => break error,
        }
        assert!(Instant::now() < end, "{last} transactions, and the disk is not full");
    };
    assert!(matches!(&error, DbError::Full(text) if !text.contains('\n')), "{error:?}");
    drop((writer, activity));
    let committed = db.committed().unwrap();
    assert!(committed[0].1 >= last, "{last} were acknowledged, {committed:?} are there");
}

#[test]
fn next_command_removes_a_killed_gtm_load() {
    let dir = tempfile::tempdir().unwrap();
    let name = "next_command_removes_a_killed_gtm_load";
    let Some(db) = gtm(name, dir.path(), "cache=1M") else { return };
    set_up(&db, 2 << 20, 1, 100);
    let large = Global { number: 2, subscripts: 5_000, value_bytes: 100 };
    let small = Global { subscripts: 50, ..large };
    for run_between in [false, true] {
        files::begin_load(&db.tools, &db.directory.there().unwrap()).unwrap();
        let number = if run_between { 3 } else { 2 };
        progressing(|progress| db.fill(Global { number, ..large }, progress)).unwrap();
        // The machine has been restarted since then.
        std::fs::write(db.directory.join("loading"), "another").unwrap();
        if run_between {
            drop(db.begin(&RunPlan { writers: 1, reads: true }).unwrap());
        }
        assert!(db.count_subscripts(number).is_err());
        let small = Global { number, ..small };
        progressing(|progress| db.create_global(small, progress)).unwrap();
        assert_eq!(db.count_subscripts(number).unwrap(), 50);
        assert_eq!(db.count_subscripts(1).unwrap(), 100);
    }
}

#[test]
fn global_replaces_what_an_interrupted_removal_left() {
    let dir = tempfile::tempdir().unwrap();
    let name = "global_replaces_what_an_interrupted_removal_left";
    let Some(db) = gtm(name, dir.path(), "cache=1M") else { return };
    set_up(&db, 2 << 20, 2, 500);
    // A kill after the first step of a removal leaves the subscripts of all globals.
    let mut marker = db.directory.marker().unwrap();
    marker.globals.clear();
    db.directory.write(&marker).unwrap();
    for number in [1, 2] {
        let small = Global { number, subscripts: 50, value_bytes: 100 };
        progressing(|progress| db.create_global(small, progress)).unwrap();
        assert_eq!(db.count_subscripts(number).unwrap(), 50);
    }
}

#[test]
fn gtm_read_only_directory_is_reported() {
    let name = "gtm_read_only_directory_is_reported";
    let disk = or_skip!(name, Mount::tmpfs(64 << 20));
    let Some(db) = gtm(name, &disk.point, "cache=1M") else { return };
    set_up(&db, 2 << 20, 1, 100);
    disk.remount("ro").unwrap();
    let begun = db.begin(&RunPlan { writers: 1, reads: true }).err();
    assert!(matches!(&begun, Some(DbError::ReadOnly(_))), "{begun:?}");
    let other = gtm(name, &disk.point.join("other"), "cache=1M").unwrap();
    let made = progressing(|progress| other.setup(2 << 20, progress));
    assert!(matches!(&made, Err(DbError::ReadOnly(_))), "{made:?}");
    disk.remount("rw").unwrap();
}
