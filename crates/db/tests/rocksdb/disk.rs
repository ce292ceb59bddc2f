//! Tests with disks that are full or read-only.

use crate::{
    acknowledged, alone::alone, begin, check, create, database, one_line, pool, sequences, setup,
};
use iogauge_db::DbError;
use iogauge_test_support::{Mount, or_skip};
use std::time::{Duration, Instant};

/// These tests do not need direct I/O, which some memory file systems lack.
const SETTINGS: &str = "direct=no";

#[test]
fn rocksdb_full_disk_is_reported_and_existing_data_remains() {
    let _alone = alone();
    let disk =
        or_skip!("rocksdb_full_disk_is_reported_and_existing_data_remains", Mount::tmpfs(64 << 20));
    let db = database(&disk.point, SETTINGS);
    let full = setup(db.as_ref(), 200 << 20).unwrap_err();
    assert!(matches!(full, DbError::Full(_)), "{full:?}");
    one_line(&full);
    assert_eq!(std::fs::read_dir(&disk.point).unwrap().count(), 0, "what was made is gone");
    setup(db.as_ref(), 10 << 20).unwrap();
    create(db.as_ref(), 1000).unwrap();
    let full = create(db.as_ref(), 1_000_000).unwrap_err();
    assert!(matches!(full, DbError::Full(_)), "{full:?}");
    one_line(&full);
    assert_eq!(db.globals().unwrap().len(), 1);
    assert_eq!(db.count_subscripts(1).unwrap(), 1000);
    // The space is free again.
    create(db.as_ref(), 1000).unwrap();
    check(db.as_ref());
}

#[test]
fn rocksdb_disk_filling_up_ends_the_run_without_loss() {
    let _alone = alone();
    let disk =
        or_skip!("rocksdb_disk_filling_up_ends_the_run_without_loss", Mount::tmpfs(16 << 20));
    let db = database(&disk.point, SETTINGS);
    setup(db.as_ref(), 1 << 20).unwrap();
    create(db.as_ref(), 1000).unwrap();
    let mut pool = pool(db.as_ref(), 1);
    let end = Instant::now() + Duration::from_secs(60);
    while !pool.finished() {
        assert!(Instant::now() < end, "16 MiB hold more than a minute of updates");
        std::thread::sleep(Duration::from_millis(10));
    }
    pool.stop();
    let (worker, fault) = pool.fault().unwrap();
    assert!(worker == 1 && matches!(fault, DbError::Full(_)), "{fault:?}");
    one_line(&fault);
    drop(pool);
    assert!(acknowledged(db.as_ref())[0] > 100);
    check(db.as_ref());
}

#[test]
fn rocksdb_read_only_file_system_supports_reads() {
    let _alone = alone();
    let disk = or_skip!("rocksdb_read_only_file_system_supports_reads", Mount::tmpfs(16 << 20));
    let db = database(&disk.point, SETTINGS);
    setup(db.as_ref(), 1 << 20).unwrap();
    create(db.as_ref(), 1000).unwrap();
    let empty = disk.point.join("other");
    std::fs::create_dir(&empty).unwrap();
    disk.remount("ro").unwrap();
    assert_eq!(db.count_subscripts(1).unwrap(), 1000);
    assert_eq!(sequences(db.as_ref(), 1), [0]);
    db.about().unwrap();
    let other = database(&empty, SETTINGS);
    let faults = [
        begin(db.as_ref(), 1).err(),
        create(db.as_ref(), 10).err(),
        db.purge().err(),
        setup(other.as_ref(), 1 << 20).err(),
    ];
    for fault in faults {
        assert!(matches!(fault, Some(DbError::ReadOnly(_))), "{fault:?}");
        one_line(&fault.unwrap());
    }
}
