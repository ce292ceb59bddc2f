//! Statements of a write test on SQLite by a bare loop over the library: what `benches/versus_db.sh` holds
//! iogauge against. One value for all updates of a transaction, no latencies, no records beside the worker's.
//!
//! `bare_sqlite write FOLDER WORKERS SUBSCRIPTS LENGTH RAMP_MS MS` updates what iogauge made in the folder;
//! `bare_sqlite rest FOLDER GLOBALS` empties the logs there;
//! `bare_sqlite fill FOLDER GLOBALS SUBSCRIPTS` fills files in a folder that is empty.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "it ends where something fails")]

#[path = "bare/timed.rs"]
mod timed;

use iogauge_db::subscript_stream::SubscriptStream;
use iogauge_db::value::{DEFAULT_BYTES, PADDING_LETTERS};
use rusqlite::Connection;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};
use timed::Count;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [what, folder, numbers @ ..] = arguments.as_slice() else { usage() };
    let folder = Path::new(folder);
    match (what.as_str(), timed::numbers(numbers).as_slice()) {
        ("write", &[workers, subscripts, length, ramp, time]) => {
            let (ramp, time) = (Duration::from_millis(ramp), Duration::from_millis(time));
            timed::work(workers as u32, ramp, time, |worker, count| {
                write(&file(folder, worker.into()), worker, (subscripts, length), count);
            });
        }
        ("rest", &[globals]) => (1..=globals).for_each(|global| rest(&file(folder, global))),
        ("fill", &[globals, subscripts]) => {
            (1..=globals).for_each(|global| fill(&file(folder, global), subscripts));
        }
        _ => usage(),
    }
}

fn usage() -> ! {
    panic!("hint: use write, rest or fill, and what the head of this file says")
}

/// The file of a global.
fn file(folder: &Path, global: u64) -> PathBuf {
    folder.join(format!("global{global}.db"))
}

/// The same statements with the same settings, held for as long as the worker works. Checkpoints are off,
/// as they are where iogauge is asked for none.
fn write(path: &Path, worker: u32, (subscripts, length): (u64, u64), count: &Count) {
    let connection = Connection::open(path).unwrap();
    let pragmas = "PRAGMA synchronous=full; PRAGMA cache_size=-65536; PRAGMA wal_autocheckpoint=0";
    connection.execute_batch(pragmas).unwrap();
    let prepare = |sql| connection.prepare(sql).unwrap();
    let (mut begin, mut commit) = (prepare("BEGIN IMMEDIATE"), prepare("COMMIT"));
    let mut update = prepare("UPDATE global SET value = ?2 WHERE subscript = ?1");
    let mut note = prepare("UPDATE worker SET sequence = ?2 WHERE worker = ?1");
    let mut value = String::with_capacity(2 * DEFAULT_BYTES);
    let (mut draws, mut sequence) = (SubscriptStream::new(7, worker), 0i64);
    let run = UNIX_EPOCH.elapsed().unwrap().as_nanos();
    while count.goes_on() {
        sequence += 1;
        // SQLite writes no page for a row that has the value already.
        value.clear();
        write!(value, "{run}:{sequence}:{}", PADDING_LETTERS.repeat(2)).unwrap();
        value.truncate(DEFAULT_BYTES);
        begin.execute([]).unwrap();
        for _ in 0..length {
            update.execute((draws.subscript(subscripts) as i64, &value)).unwrap();
        }
        note.execute((worker, sequence)).unwrap();
        commit.execute([]).unwrap();
        count.committed();
    }
}

fn rest(path: &Path) {
    let connection = Connection::open(path).unwrap();
    connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
}

/// Rows in order, one transaction, no journal; then a flush.
fn fill(path: &Path, subscripts: u64) {
    let connection = Connection::open(path).unwrap();
    connection
        .execute_batch(
            "PRAGMA page_size=8192; PRAGMA journal_mode=off; PRAGMA synchronous=off;
             PRAGMA locking_mode=exclusive;
             CREATE TABLE global (subscript INTEGER PRIMARY KEY, value TEXT NOT NULL); BEGIN",
        )
        .unwrap();
    let value = "x".repeat(DEFAULT_BYTES);
    let mut insert = connection.prepare("INSERT INTO global VALUES (?1, ?2)").unwrap();
    for subscript in 1..=subscripts {
        insert.execute((subscript as i64, &value)).unwrap();
    }
    drop(insert);
    connection.execute_batch("COMMIT").unwrap();
    drop(connection);
    std::fs::File::open(path).unwrap().sync_all().unwrap();
}
