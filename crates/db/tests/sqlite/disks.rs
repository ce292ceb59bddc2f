//! Tests with disks that are full or read-only, and with leftovers and foreign files in the directory.

use crate::support::database;
use iogauge_db::DbError;
use iogauge_db::backend::RunPlan;
use iogauge_db::pool::Mode;
use iogauge_test_support::database::{AtWork, Expected, followed, global, plan, sequences};
use iogauge_test_support::{Mount, names, or_skip};
use std::time::{Duration, Instant};

const RUN: RunPlan = RunPlan { writers: 1, reads: false };

fn assert_full(result: &Result<(), DbError>) {
    assert!(matches!(result, Err(DbError::Full(_))), "{result:?}");
    let text = result.as_ref().unwrap_err().to_string();
    assert!(text.contains("hint: ") && !text.contains('\n'), "{text}");
}

/// Performs an act for which there is space now, with retries: a process that another test forks has all files open
/// for a moment, and keeps the space of removed files in use.
fn with_room(act: &dyn Fn() -> Result<(), DbError>) {
    let end = Instant::now() + Duration::from_secs(10);
    loop {
        match act() {
            Err(DbError::Full(_)) if Instant::now() < end => {
                std::thread::sleep(Duration::from_millis(20));
            }
            result => return result.unwrap(),
        }
    }
}

#[test]
fn sqlite_setup_without_space_leaves_no_files() {
    let disk = or_skip!("sqlite_setup_without_space_leaves_no_files", Mount::tmpfs(4 << 20));
    let db = database(&disk.point.join("made"), "");
    assert_full(&followed(|progress| db.setup(16 << 20, progress)).0);
    assert!(names(&disk.point).is_empty(), "{:?}", names(&disk.point));
    // A full disk has no space even for a marker.
    std::fs::write(disk.point.join("others"), vec![1; 8 << 20]).unwrap_err();
    assert_full(&followed(|progress| db.setup(1 << 20, progress)).0);
    assert_eq!(names(&disk.point), ["others"]);
    std::fs::remove_file(disk.point.join("others")).unwrap();
    with_room(&|| followed(|progress| db.setup(1 << 20, progress)).0);
}

#[test]
fn creating_global_on_full_disk_leaves_no_files() {
    let disk = or_skip!("creating_global_on_full_disk_leaves_no_files", Mount::tmpfs(4 << 20));
    let db = database(&disk.point.join("made"), "cache=1m");
    followed(|progress| db.setup(1 << 20, progress)).0.unwrap();
    let before = names(&disk.point.join("made/RAN"));
    assert_full(&followed(|progress| db.create_global(global(1, 100_000, 100), progress)).0);
    assert_eq!(names(&disk.point.join("made/RAN")), before);
    assert_eq!(db.globals().unwrap(), []);
    with_room(&|| followed(|progress| db.create_global(global(1, 1000, 100), progress)).0);
    assert_eq!(db.count_subscripts(1).unwrap(), 1000);
}

#[test]
fn disk_full_during_run_loses_no_acknowledged_commit() {
    let disk = or_skip!("disk_full_during_run_loses_no_acknowledged_commit", Mount::tmpfs(8 << 20));
    // With these settings the log is never checkpointed.
    let db = database(&disk.point.join("made"), "checkpoint=1h&checkpoint_size=1t");
    followed(|progress| db.setup(1 << 20, progress)).0.unwrap();
    let only = global(1, 1000, 100);
    followed(|progress| db.create_global(only, progress)).0.unwrap();
    let mut at_work = AtWork::begin(db.as_ref(), plan(Mode::Write, 1, 7));
    at_work.pool.set_active(1);
    let end = Instant::now() + Duration::from_secs(60);
    while !at_work.pool.finished() {
        assert!(Instant::now() < end, "the disk does not fill");
        std::thread::sleep(Duration::from_millis(5));
    }
    let fault = at_work.pool.fault();
    assert!(matches!(fault, Some((1, DbError::Full(_)))), "{fault:?}");
    let per_worker = at_work.pool.stop();
    let counts = at_work.pool.activity().counts().unwrap();
    assert_eq!(counts.commits, Some(per_worker[0].commits.count()));
    let acknowledged = at_work.acknowledged();
    drop(at_work);
    assert_eq!(sequences(db.as_ref(), 1), acknowledged);
    assert!(acknowledged[0] > 0);
    let mut expected = Expected::initial(&[only]);
    expected.run(7, 1, 10, 0, acknowledged[0]);
    expected.check(db.as_ref());
}

#[test]
fn read_only_file_system_is_reported_as_read_only() {
    let disk = or_skip!("read_only_file_system_is_reported_as_read_only", Mount::tmpfs(4 << 20));
    let place = disk.point.join("made");
    let db = database(&place, "");
    followed(|progress| db.setup(1 << 20, progress)).0.unwrap();
    followed(|progress| db.create_global(global(1, 100, 100), progress)).0.unwrap();
    disk.remount("ro").unwrap();
    let told = |what: &str, error: Option<DbError>| {
        assert!(matches!(error, Some(DbError::ReadOnly(_))), "{what}: {error:?}");
        let text = error.unwrap().to_string();
        assert!(text.contains("hint: ") && !text.contains('\n'), "{what}: {text}");
    };
    let other = database(&disk.point.join("other"), "");
    told("setup", followed(|progress| other.setup(1 << 20, progress)).0.err());
    let second = global(2, 100, 100);
    told("create_global", followed(|progress| db.create_global(second, progress)).0.err());
    told("begin", db.begin(&RUN).err());
    told("purge", db.purge().err());
    assert!(db.is_there().unwrap());
}

#[test]
fn leftovers_of_killed_creation_do_not_block_later_use() {
    let dir = tempfile::tempdir().unwrap();
    let place = dir.path().join("made");
    let db = database(&place, "");
    followed(|progress| db.setup(1 << 20, progress)).0.unwrap();
    // A new SQLite file stays empty until it has iogauge's mark.
    let leave = |global: u32| {
        let file = format!("global{global}.db");
        let left =
            [(file.clone(), ""), (format!("{file}-journal"), ""), ("iogauge.new".into(), "half")];
        for (name, text) in left {
            std::fs::write(place.join("RAN").join(name), text).unwrap();
        }
    };
    leave(1);
    assert_eq!(db.globals().unwrap(), []);
    followed(|progress| db.create_global(global(1, 100, 100), progress)).0.unwrap();
    assert_eq!(db.count_subscripts(1).unwrap(), 100);
    leave(2);
    assert_eq!(db.purge().unwrap().left, [""; 0]);
    assert!(!place.exists());
}

/// SQLite opens logs, their indexes and journals by name, and writes to them without a check.
#[test]
fn planted_wal_shm_and_journal_files_are_not_modified() {
    let foreign = vec![b'x'; 600_000];
    for (suffix, is_link) in
        [("-shm", true), ("-wal", true), ("-journal", true), ("-wal", false), ("-journal", false)]
    {
        let dir = tempfile::tempdir().unwrap();
        let place = dir.path().join("made");
        let db = database(&place, "");
        followed(|progress| db.setup(1 << 20, progress)).0.unwrap();
        followed(|progress| db.create_global(global(1, 100, 100), progress)).0.unwrap();
        let planted = place.join("RAN").join(format!("global1.db{suffix}"));
        let _ = std::fs::remove_file(&planted);
        let precious = dir.path().join("precious");
        std::fs::write(&precious, &foreign).unwrap();
        if is_link {
            std::fs::hard_link(&precious, &planted).unwrap();
        } else {
            std::fs::copy(&precious, &planted).unwrap();
        }
        let refused = [
            db.count_subscripts(1).err(),
            db.walk(1, &mut |_, _| Ok(())).err(),
            db.begin(&RUN).err(),
            followed(|progress| db.create_global(global(2, 100, 100), progress)).0.err(),
        ];
        for error in refused {
            assert!(matches!(error, Some(DbError::Foreign(_))), "{suffix} {is_link}: {error:?}");
        }
        assert!(std::fs::read(&precious).unwrap() == foreign, "{suffix} {is_link}");
        assert!(std::fs::read(&planted).unwrap() == foreign, "{suffix} {is_link}");
    }
}

#[test]
fn corrupt_database_file_is_reported_with_hint() {
    let dir = tempfile::tempdir().unwrap();
    let db = database(dir.path(), "");
    followed(|progress| db.setup(1 << 20, progress)).0.unwrap();
    followed(|progress| db.create_global(global(1, 100, 100), progress)).0.unwrap();
    std::fs::write(dir.path().join("RAN/global1.db"), vec![7; 8192]).unwrap();
    for error in [db.begin(&RUN).err(), db.count_subscripts(1).err(), db.committed().err()] {
        let error = error.unwrap().to_string();
        assert!(error.contains("global1.db") && error.contains("purge, then setup"), "{error}");
    }
}

#[test]
fn page_size_is_fixed_at_setup() {
    let dir = tempfile::tempdir().unwrap();
    let db = database(dir.path(), "page_size=16k");
    followed(|progress| db.setup(1 << 20, progress)).0.unwrap();
    followed(|progress| db.create_global(global(1, 1000, 100), progress)).0.unwrap();
    let plain = database(dir.path(), "");
    let about = plain.about().unwrap();
    assert_eq!(about.block_bytes, 16384);
    let told = |key: &str| about.settings.iter().find(|(k, _)| k == key).map(|(_, v)| v.as_str());
    assert_eq!((told("page_size"), told("journal_mode")), (Some("16384"), Some("wal")));
    assert_eq!((told("synchronous"), told("wal_autocheckpoint")), (Some("2"), Some("0")));
    let other = database(dir.path(), "page_size=8k").begin(&RUN).err();
    assert!(matches!(other, Some(DbError::Usage(_))), "{other:?}");
    let may_lose = |settings: &str| database(dir.path(), settings).about().unwrap().may_lose;
    assert_eq!(may_lose("synchronous=full"), None);
    assert!(may_lose("synchronous=normal").unwrap().contains("since the last checkpoint"));
    assert!(may_lose("synchronous=off").unwrap().contains("damage"));
}
