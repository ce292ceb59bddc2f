//! RocksDB's background threads are those of the process, and are held to the directory of the database that was
//! opened when they were started. A program has one database; here each test waits for its turn, and begins with
//! threads of its own.

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
