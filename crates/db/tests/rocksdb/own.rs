//! Tests of RocksDB's own files, locks and counters.

use crate::alone::{alone, has_background_threads, has_open_database};
use crate::{begin, check, create, database, one_line, pool, setup};
use iogauge_db::backend::Counts;
use iogauge_db::{DbError, DbUrl, backend};
use rocksdb::{ColumnFamilyDescriptor, DB, Options};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

fn made(dir: &Path) -> PathBuf {
    dir.join("made").join("RAN")
}

/// Opens all column families with the library itself.
fn open(dir: &Path) -> DB {
    let names = DB::list_cf(&Options::default(), made(dir)).unwrap();
    let families =
        names.into_iter().map(|name| ColumnFamilyDescriptor::new(name, Options::default()));
    DB::open_cf_descriptors(&Options::default(), made(dir), families).unwrap()
}

#[test]
fn foreign_rocksdb_database_remains_unchanged() {
    let _alone = alone();
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(made(dir.path())).unwrap();
    drop(DB::open_default(made(dir.path())).unwrap());
    let before = std::fs::read_dir(made(dir.path())).unwrap().count();
    let db = database(dir.path(), "");
    let error = setup(db.as_ref(), 1 << 20).unwrap_err();
    assert!(matches!(error, DbError::Foreign(_)), "{error:?}");
    for error in [db.purge().err(), begin(db.as_ref(), 1).err(), db.about().err()] {
        assert!(matches!(error, Some(DbError::Missing(_))), "{error:?}");
    }
    assert_eq!(std::fs::read_dir(made(dir.path())).unwrap().count(), before);
}

#[test]
fn database_opened_by_another_program_is_reported_as_busy() {
    let _alone = alone();
    let dir = tempfile::tempdir().unwrap();
    let db = database(dir.path(), "");
    setup(db.as_ref(), 1 << 20).unwrap();
    create(db.as_ref(), 10).unwrap();
    let other = open(dir.path());
    for error in [begin(db.as_ref(), 1).err(), create(db.as_ref(), 10).err()] {
        assert!(matches!(error, Some(DbError::Busy(_))), "{error:?}");
        one_line(&error.unwrap());
    }
    assert_eq!(db.count_subscripts(1).unwrap(), 10, "it can be read meanwhile");
    drop(other);
    drop(begin(db.as_ref(), 1).unwrap());
}

#[test]
fn partially_created_global_is_recreated() {
    let _alone = alone();
    let dir = tempfile::tempdir().unwrap();
    let db = database(dir.path(), "");
    setup(db.as_ref(), 1 << 20).unwrap();
    let mut other = open(dir.path());
    other.create_cf("global_1", &Options::default()).unwrap();
    other.put_cf(other.cf_handle("global_1").unwrap(), [0; 8], "half").unwrap();
    drop(other);
    let left = made(dir.path()).join("filling-000009.sst");
    std::fs::write(&left, "half").unwrap();
    assert!(db.count_subscripts(1).is_err());
    create(db.as_ref(), 1000).unwrap();
    assert!(!left.exists());
    check(db.as_ref());
    assert_eq!(db.count_subscripts(1).unwrap(), 1000);
}

#[test]
fn one_rocksdb_global_can_span_many_files() {
    let _alone = alone();
    let dir = tempfile::tempdir().unwrap();
    let db = database(dir.path(), "");
    // A full file has 64 MiB.
    setup(db.as_ref(), 150 << 20).unwrap();
    let size = db.size().unwrap();
    assert!((150 << 20..160 << 20).contains(&size.data_bytes), "{size:?}");
    let files = std::fs::read_dir(made(dir.path())).unwrap().flatten();
    let sorted = files.filter(|file| file.file_name().to_string_lossy().ends_with(".sst"));
    assert_eq!(sorted.count(), 3);
    assert!(db.purge().unwrap().freed_bytes >= 150 << 20);
}

/// What tests wait for before they use RocksDB.
#[test]
fn open_database_and_its_threads_are_noticed() {
    let _alone = alone();
    assert!(!has_open_database());
    let dir = tempfile::tempdir().unwrap();
    let db = database(dir.path(), "");
    setup(db.as_ref(), 1 << 20).unwrap();
    create(db.as_ref(), 100).unwrap();
    let run = begin(db.as_ref(), 1).unwrap();
    assert!(has_open_database() && has_background_threads());
    drop(run);
    assert!(!has_open_database());
}

#[test]
fn block_size_is_fixed_at_setup() {
    let _alone = alone();
    let dir = tempfile::tempdir().unwrap();
    setup(database(dir.path(), "block=16k").as_ref(), 1 << 20).unwrap();
    assert_eq!(database(dir.path(), "").about().unwrap().block_bytes, 16384);
    let error = database(dir.path(), "block=4k").about().unwrap_err();
    assert!(matches!(error, DbError::Usage(_)), "{error:?}");
    one_line(&error);
    let url: DbUrl = format!("rocksdb:{}?block=5k", dir.path().display()).parse().unwrap();
    assert!(matches!(backend::open(&url), Err(DbError::Usage(_))));
}

#[test]
fn update_rounds_sum_to_rocksdb_statistics() {
    let _alone = alone();
    let dir = tempfile::tempdir().unwrap();
    let db = database(dir.path(), "memtable=256k&synchronous=off");
    setup(db.as_ref(), 1 << 20).unwrap();
    create(db.as_ref(), 20_000).unwrap();
    create(db.as_ref(), 20_000).unwrap();
    let mut pool = pool(db.as_ref(), 2);
    let mut rounds = Vec::new();
    let compacted = |counts: &Counts| {
        let found = counts.others.iter().find(|(name, _)| *name == "compaction_write_bytes");
        found.unwrap().1 > 0
    };
    let end = Instant::now() + Duration::from_secs(30);
    while rounds.len() < 8 || !compacted(&pool.activity().counts().unwrap()) {
        assert!(Instant::now() < end, "nothing is compacted: {rounds:?} {:?}", pool.fault());
        std::thread::sleep(Duration::from_millis(50));
        rounds.extend(pool.activity().cycles().unwrap());
    }
    let per_worker = pool.stop();
    pool.activity().drain().unwrap();
    rounds.extend(pool.activity().cycles().unwrap());
    let counts = pool.activity().counts().unwrap();
    let updates: u64 = per_worker.iter().map(|per_worker| per_worker.updates.count()).sum();
    assert!(updates > 0 && counts.updates == Some(updates), "{counts:?}");
    let blocks: u64 = rounds.iter().map(|round| round.blocks).sum();
    let written = counts.blocks_written.unwrap();
    // Each round rounds its blocks up, and 1 % is allowed for what is not in tables.
    let slack = rounds.len() as u64 + written / 100;
    assert!(blocks.abs_diff(written) <= slack, "{blocks} in rounds, {written} counted");
    assert!(counts.log_bytes.unwrap() > updates * 100, "{counts:?}");
    let other = |name| counts.others.iter().find(|(other, _)| *other == name).unwrap().1;
    assert_eq!(other("log_syncs"), 0, "nothing waits for the log");
    assert!(other("flush_write_bytes") > 0, "{counts:?}");
}

#[test]
fn blocks_of_deleted_sst_files_remain_readable() {
    let _alone = alone();
    let dir = tempfile::tempdir().unwrap();
    let db = database(dir.path(), "memtable=128k&synchronous=off");
    setup(db.as_ref(), 1 << 20).unwrap();
    create(db.as_ref(), 5000).unwrap();
    let mut pool = pool(db.as_ref(), 1);
    std::thread::sleep(Duration::from_millis(300));
    let files = || -> Vec<String> {
        let entries = std::fs::read_dir(made(dir.path())).unwrap().flatten();
        let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
        names.filter(|name| name.ends_with(".sst")).collect()
    };
    let before = files();
    let blocks = pool.activity().blocks().unwrap();
    // Wait until compactions have removed some of the listed files.
    for _ in 0..100 {
        let now = files();
        if before.iter().filter(|name| !now.contains(name)).count() > 1 {
            break;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    pool.stop();
    pool.activity().drain().unwrap();
    let now = files();
    assert!(before.iter().any(|name| !now.contains(name)), "{before:?} {now:?}");
    let mut reader = blocks.reader().unwrap();
    for step in 0..2000 {
        assert!(!reader.read(u64::MAX / 1999 * step).unwrap());
    }
}
