//! Lets one test at a time use RocksDB, with new background threads.
//!
//! RocksDB's background threads belong to the process. They are confined to the directory of the database that was open
//! when they started, and a program has only one database.

use std::collections::HashSet;
use std::ffi::OsString;
use std::fs::DirEntry;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

static TURN: Mutex<()> = Mutex::new(());

/// Name of the threads that open databases, as far as the kernel keeps it. RocksDB's background threads inherit it.
const NAME: &str = "iogauge-confine";
/// A thread that exists for longer than this is a background thread, or works on another backend and will end.
const BRIEF: Duration = Duration::from_millis(50);

/// Waits until no other test uses RocksDB, no database is open, and no background thread is left. Opening a database
/// then starts new ones.
pub fn alone() -> MutexGuard<'static, ()> {
    let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let mut threads = rocksdb::Env::new().unwrap();
    let end = Instant::now() + Duration::from_secs(60);
    loop {
        threads.set_bottom_priority_background_threads(0);
        threads.set_low_priority_background_threads(0);
        threads.set_high_priority_background_threads(0);
        if !has_background_threads() && !has_open_database() {
            return turn;
        }
        assert!(Instant::now() < end, "RocksDB's threads stay");
    }
}

/// Returns true if there are background threads. Takes [`BRIEF`].
pub fn has_background_threads() -> bool {
    let before = named_threads();
    std::thread::sleep(BRIEF);
    !before.is_disjoint(&named_threads())
}

/// Returns true if a database is open: each has its file LOCK open.
pub fn has_open_database() -> bool {
    let descriptors = std::fs::read_dir("/proc/self/fd").unwrap().flatten();
    let mut files = descriptors.flat_map(|entry| std::fs::read_link(entry.path()));
    files.any(|file| {
        file.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"LOCK"))
    })
}

/// Returns the numbers of the threads with the name.
fn named_threads() -> HashSet<OsString> {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap().flatten();
    let has_name = |task: &DirEntry| {
        std::fs::read_to_string(task.path().join("comm")).is_ok_and(|name| name.trim() == NAME)
    };
    tasks.filter(has_name).map(|task| task.file_name()).collect()
}
