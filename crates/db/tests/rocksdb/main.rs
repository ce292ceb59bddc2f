//! Tests of what only the RocksDB backend has: its crashes, its disks, its own files.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod alone;
mod crash;
mod disk;
mod own;

use iogauge_db::acknowledged::{Acknowledged, FORMAT, RunOfWorkers};
use iogauge_db::backend::{self, Activity, Global, RunPlan};
use iogauge_db::pool::{DbPool, DbPoolPlan, Mode, WorkerNumbers};
use iogauge_db::subscript_stream::SubscriptStream;
use iogauge_db::value::Stamp;
use iogauge_db::{Database, DbError, DbUrl, Progress};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

pub(crate) const SEED: u64 = 7;
pub(crate) const LENGTH: u32 = 20;

/// Opens the database in a directory, with the settings that follow the question mark of its URL.
pub(crate) fn database(dir: &Path, settings: &str) -> Box<dyn Database> {
    let url: DbUrl = format!("rocksdb:{}/made?{settings}", dir.display()).parse().unwrap();
    backend::open(&url).unwrap()
}

pub(crate) fn progress<T>(act: impl FnOnce(&mut Progress<'_>) -> T) -> T {
    act(&mut Progress::new(&mut |_, _| {}, &AtomicBool::new(false)))
}

pub(crate) fn setup(db: &dyn Database, size_bytes: u64) -> Result<(), DbError> {
    progress(|progress| db.setup(size_bytes, progress))
}

/// Creates the next global.
pub(crate) fn create(db: &dyn Database, subscripts: u64) -> Result<(), DbError> {
    let number = db.globals()?.len() as u32 + 1;
    let global = Global { number, subscripts, value_bytes: 100 };
    progress(|progress| db.create_global(global, progress))
}

pub(crate) fn begin(db: &dyn Database, workers: u32) -> Result<Arc<dyn Activity>, DbError> {
    Ok(Arc::from(db.begin(&RunPlan { writers: workers, reads: true })?))
}

/// Starts workers that update the database and record acknowledged transactions in its file.
pub(crate) fn pool(db: &dyn Database, workers: u32) -> DbPool {
    let before = sequences(db, workers);
    let run = RunOfWorkers {
        format: FORMAT.to_owned(),
        database: db.identity().unwrap(),
        seed: SEED,
        transaction_length: LENGTH,
        workers,
        may_lose: None,
    };
    let path = db.acknowledged_path().unwrap();
    let acknowledged = Acknowledged::new(&path, run, &before);
    let plan = DbPoolPlan {
        mode: Mode::Write,
        workers,
        numbers: WorkerNumbers::ALONE,
        transaction_length: LENGTH,
        hang: Duration::ZERO,
        seed: SEED,
    };
    let activity = begin(db, workers).unwrap();
    let mut pool =
        DbPool::start(activity, plan, &db.globals().unwrap(), &before, Some(acknowledged)).unwrap();
    pool.set_active(workers);
    pool
}

/// Returns each worker's last committed transaction.
pub(crate) fn sequences(db: &dyn Database, workers: u32) -> Vec<u64> {
    let committed = db.committed().unwrap();
    let of = |worker| committed.iter().find(|(other, _)| *other == worker).map_or(0, |(_, n)| *n);
    (1..=workers).map(of).collect()
}

/// Returns each worker's last acknowledged transaction.
pub(crate) fn acknowledged(db: &dyn Database) -> Vec<u64> {
    let path = db.acknowledged_path().unwrap();
    let remembered = Acknowledged::read(&path).unwrap();
    remembered.map_or_else(Vec::new, |run| run.workers.iter().map(|(_, last)| *last).collect())
}

/// Fails unless every acknowledged transaction is there, and every transaction is there completely or not at all.
pub(crate) fn check(db: &dyn Database) {
    let acknowledged = acknowledged(db);
    let committed = sequences(db, acknowledged.len() as u32);
    for (acknowledged, committed) in acknowledged.iter().zip(&committed) {
        // One more transaction may be committed without acknowledgement.
        assert!(
            (*acknowledged..=acknowledged + 1).contains(committed),
            "{acknowledged} {committed}"
        );
    }
    for (global, last) in db.globals().unwrap().iter().zip(&committed) {
        let number = global.number;
        let mut stamps: Vec<Stamp> =
            (1..=global.subscripts).map(|subscript| Stamp::initial(number, subscript)).collect();
        let mut draws = SubscriptStream::new(SEED, number);
        for sequence in 1..=*last {
            for _ in 0..LENGTH {
                let subscript = draws.subscript(global.subscripts);
                stamps[subscript as usize - 1] =
                    Stamp { global: number, subscript, worker: number, sequence };
            }
        }
        let mut seen = 0;
        db.walk(number, &mut |subscript, value| {
            seen += 1;
            assert_eq!(Stamp::read(number, subscript, value).unwrap(), stamps[seen - 1]);
            Ok(())
        })
        .unwrap();
        assert_eq!(seen, stamps.len());
    }
}

pub(crate) fn one_line(error: &DbError) {
    let text = error.to_string();
    assert!(!text.contains('\n') && text.contains("hint: "), "{text}");
}
