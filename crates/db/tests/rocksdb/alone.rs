//! Lets one test at a time use RocksDB, with new background threads.
//!
//! RocksDB's background threads belong to the process. They are confined to the directory of the database that was open
//! when they started, and a program has only one database.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

static TURN: Mutex<()> = Mutex::new(());

/// Waits until no other test uses RocksDB and no background thread is left.
pub fn alone() -> MutexGuard<'static, ()> {
    let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let mut threads = rocksdb::Env::new().unwrap();
    threads.set_bottom_priority_background_threads(0);
    threads.set_low_priority_background_threads(0);
    threads.set_high_priority_background_threads(0);
    let end = Instant::now() + Duration::from_secs(60);
    while has_threads() {
        assert!(Instant::now() < end, "RocksDB's threads stay");
        std::thread::sleep(Duration::from_millis(1));
    }
    turn
}

fn has_threads() -> bool {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap().flatten();
    let names = tasks.flat_map(|task| std::fs::read_to_string(task.path().join("comm")));
    names.into_iter().any(|name| name.starts_with("rocksdb:"))
}
