//! Tests of a run's logs, and of the thread that checkpoints them.

use crate::support::database;
use iogauge_db::Database;
use iogauge_db::backend::{Order, RunPlan, WorkerPlan};
use iogauge_db::counts::WorkerCounts;
use iogauge_db::pool::Mode;
use iogauge_db::subscript_stream::SubscriptStream;
use iogauge_test_support::database::{AtWork, Expected, followed, global, plan};
use std::path::Path;
use std::time::{Duration, Instant};

const PAGE_BYTES: u64 = 8192;
const FRAME_BYTES: u64 = PAGE_BYTES + 24;
const SUBSCRIPTS: u64 = 20_000;

fn set_up(dir: &Path, settings: &str) -> Box<dyn Database> {
    let db = database(dir, settings);
    followed(|progress| db.setup(1 << 20, progress)).0.unwrap();
    followed(|progress| db.create_global(global(1, SUBSCRIPTS, 100), progress)).0.unwrap();
    db
}

fn log_file_bytes(dir: &Path) -> u64 {
    std::fs::metadata(dir.join("RAN/global1.db-wal")).unwrap().len()
}

/// Runs this number of transactions with 20 updates each, and returns the counted log bytes.
fn log_bytes_of(dir: &Path, settings: &str, transactions: u64) -> u64 {
    // A writer confines its thread to the database for good, so it gets its own thread.
    let work = || log_bytes_in_this_thread(dir, settings, transactions);
    std::thread::scope(|scope| scope.spawn(work).join().unwrap())
}

fn log_bytes_in_this_thread(dir: &Path, settings: &str, transactions: u64) -> u64 {
    let db = set_up(dir, settings);
    let run = db.begin(&RunPlan { writers: 1, reads: false }).unwrap();
    let mut writer = run
        .writer(WorkerPlan {
            worker: 1,
            global: db.globals().unwrap()[0],
            sequence: 0,
            draws_state: SubscriptStream::new(7, 1).state(),
            transaction_length: 20,
        })
        .unwrap();
    let order = Order { transactions: 1, until: Instant::now() };
    for sequence in 1..=transactions {
        assert_eq!(writer.work(&order, &mut WorkerCounts::default()).unwrap(), sequence);
        std::thread::sleep(Duration::from_micros(100));
    }
    let counts = run.counts().unwrap();
    assert_eq!((counts.updates, counts.commits), (Some(transactions * 20), Some(transactions)));
    let restarts = counts.others.iter().find(|(name, _)| *name == "log_restarts").unwrap().1;
    if settings.contains("checkpoint=1h") {
        // The frames follow a header of 32 bytes without gaps.
        assert_eq!(restarts, 0);
        assert_eq!(counts.log_bytes.unwrap(), (log_file_bytes(dir) - 32));
        assert_eq!(run.cycles().unwrap(), []);
    } else {
        assert!(restarts > 3, "{counts:?}");
    }
    counts.log_bytes.unwrap()
}

#[test]
fn wal_bytes_are_counted_across_wal_resets() {
    let (quiet, busy) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let never = log_bytes_of(quiet.path(), "checkpoint=1h&checkpoint_size=1t", 300);
    let often = log_bytes_of(busy.path(), "checkpoint=1ms&checkpoint_size=64k", 300);
    assert!(never >= 300 * 10 * FRAME_BYTES, "each transaction writes the pages it changed");
    assert_eq!(often, never);
}

#[test]
fn wal_is_reset_under_continuous_writes() {
    // In memory, because on a disk the log's growth during a checkpoint depends on the disk.
    let dir = tempfile::tempdir_in("/dev/shm").unwrap();
    let db = set_up(dir.path(), "checkpoint=1h&checkpoint_size=512k&synchronous=normal");
    let mut at_work = AtWork::begin(db.as_ref(), plan(Mode::Write, 1, 7));
    at_work.work(Duration::from_millis(1500));
    let per_worker = at_work.pool.stop();
    let activity = at_work.pool.activity();
    let file = log_file_bytes(dir.path());
    // Before this, a checkpoint could still run between the two queries.
    activity.drain().unwrap();
    let counts = activity.counts().unwrap();
    let written = counts.log_bytes.unwrap();
    assert!(written > file, "{written} bytes went to a log of {file}");
    let (cycles, blocks) = (activity.cycles().unwrap(), counts.blocks_written.unwrap());
    assert!(cycles.len() > 1);
    assert_eq!(cycles.iter().map(|cycle| cycle.blocks).sum::<u64>(), blocks);
    // A page that is in the log several times is written to the file once.
    assert!(blocks > 0 && blocks <= written / FRAME_BYTES, "{blocks}, {written}");
    // Nothing is left to checkpoint.
    activity.drain().unwrap();
    assert_eq!(activity.cycles().unwrap(), []);
    at_work.check(db.as_ref(), &per_worker);
    // Opening the database in `check` created an empty log.
    assert_eq!(log_file_bytes(dir.path()), 0, "the end of a run leaves nothing in the log");
}

#[test]
fn drained_data_file_is_complete_without_wal() {
    let dir = tempfile::tempdir().unwrap();
    let db = set_up(dir.path(), "checkpoint=5ms&checkpoint_size=128k&synchronous=off&cache=1m");
    let mut at_work = AtWork::begin(db.as_ref(), plan(Mode::Write, 1, 7));
    at_work.work(Duration::from_millis(500));
    let per_worker = at_work.pool.stop();
    at_work.pool.activity().drain().unwrap();
    // Everything is in the data file.
    let copy = tempfile::tempdir().unwrap();
    let alone = copy.path().join("global1.db");
    std::fs::copy(dir.path().join("RAN/global1.db"), &alone).unwrap();
    let last = at_work.check(db.as_ref(), &per_worker)[0];
    let mut expected = Expected::initial(&db.globals().unwrap());
    expected.run(7, 1, 10, 0, last);
    expected.check(db.as_ref());
    std::fs::copy(&alone, dir.path().join("RAN/global1.db")).unwrap();
    expected.check(db.as_ref());
}

#[test]
fn open_read_transaction_does_not_stall_workers() {
    let dir = tempfile::tempdir().unwrap();
    let settings = "checkpoint=1h&checkpoint_size=128k&synchronous=normal";
    let db = set_up(dir.path(), settings);
    let reader = rusqlite::Connection::open(dir.path().join("RAN/global1.db")).unwrap();
    reader.execute_batch("BEGIN; SELECT count(*) FROM worker").unwrap();
    let mut at_work = AtWork::begin(db.as_ref(), plan(Mode::Write, 1, 7));
    at_work.work(Duration::from_secs(1));
    let per_worker = at_work.pool.stop();
    let held = |at_work: &AtWork| {
        let counts = at_work.pool.activity().counts().unwrap();
        counts.others.iter().find(|(name, _)| *name == "workers_held_ns").unwrap().1
    };
    assert!(held(&at_work) < 500_000_000, "{} ns", held(&at_work));
    // The log cannot restart while there is a reader, but can when the reader is gone.
    assert!(log_file_bytes(dir.path()) > 128 << 10);
    reader.execute_batch("COMMIT").unwrap();
    drop(reader);
    at_work.pool.activity().drain().unwrap();
    at_work.check(db.as_ref(), &per_worker);
}
