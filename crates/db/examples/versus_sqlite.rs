//! What iogauge adds to the statements it issues on SQLite: the crew against a bare loop over the same
//! library, and filling against a bare bulk fill, in turns. Prints medians and their ratios.
//!
//! `versus_sqlite DIR [ROUNDS [SECONDS [SUBSCRIPTS]]]`; the directory is made and removed. Neither side takes
//! checkpoints while it is measured.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a measurement ends where anything fails"
)]

use iogauge_db::backend::{Global, RunPlan, open};
use iogauge_db::crew::{Crew, CrewPlan, Mode};
use iogauge_db::draws::Draws;
use iogauge_db::{Database, DbUrl, Progress};
use rusqlite::Connection;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

const GLOBALS: u32 = 4;
const LENGTH: u32 = 50;
const WARM: Duration = Duration::from_millis(500);

/// What a side reached.
#[derive(Clone, Copy)]
struct Reached {
    per_second: f64,
    /// Of the whole process, for each update or row.
    cpu_us: f64,
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let dir = arguments.next().expect("versus_sqlite DIR [ROUNDS [SECONDS [SUBSCRIPTS]]]");
    let rounds: usize = arguments.next().map_or(5, |text| text.parse().unwrap());
    let seconds: f64 = arguments.next().map_or(2.0, |text| text.parse().unwrap());
    let time = Duration::from_secs_f64(seconds);
    let subscripts: u64 = arguments.next().map_or(1_000_000, |text| text.parse().unwrap());
    for synchronous in ["full", "off"] {
        let text = format!(
            "sqlite:{dir}?synchronous={synchronous}&checkpoint=1000h&checkpoint_size=1000t"
        );
        let url: DbUrl = text.parse().unwrap();
        let db = open(&url).unwrap();
        let mut fills = (Vec::new(), Vec::new());
        set_up(db.as_ref(), &dir, subscripts, &mut fills);
        if synchronous == "full" {
            compare("fill, rows", &fills);
        }
        for workers in [1, GLOBALS] {
            let mut sides = (Vec::new(), Vec::new());
            for _ in 0..rounds {
                sides.0.push(crew(db.as_ref(), workers, time));
                sides.1.push(bare(&dir, workers, time, synchronous, subscripts));
            }
            compare(&format!("{workers} workers, synchronous={synchronous}, updates"), &sides);
        }
        db.purge().unwrap();
    }
}

/// Ratios are medians over the turns: what else the machine does changes from turn to turn.
fn compare(what: &str, (ours, bare): &(Vec<Reached>, Vec<Reached>)) {
    let median = |values: &mut dyn Iterator<Item = f64>| {
        let mut values: Vec<f64> = values.collect();
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    };
    let rate = |reached: &Reached| reached.per_second;
    let cpu = |reached: &Reached| reached.cpu_us;
    let of = |side: &[Reached], value: fn(&Reached) -> f64| median(&mut side.iter().map(value));
    let pairs = || ours.iter().zip(bare);
    println!(
        "{what}: iogauge {:.0}/s, bare {:.0}/s, ratio {:.3}; CPU {:.3} µs and {:.3} µs, ratio {:.3}",
        of(ours, rate),
        of(bare, rate),
        median(&mut pairs().map(|(a, b)| a.per_second / b.per_second)),
        of(ours, cpu),
        of(bare, cpu),
        median(&mut pairs().map(|(a, b)| a.cpu_us / b.cpu_us)),
    );
}

/// CPU time of this process, in microseconds.
fn cpu_us() -> f64 {
    let usage = std::fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<&str> = usage.rsplit(')').next().unwrap().split_whitespace().collect();
    let ticks: f64 = fields[11].parse::<f64>().unwrap() + fields[12].parse::<f64>().unwrap();
    ticks * 10_000.0
}

/// Makes the database, and beside each global the same by a bare bulk fill.
fn set_up(db: &dyn Database, dir: &str, subscripts: u64, fills: &mut (Vec<Reached>, Vec<Reached>)) {
    let (stop, mut tell) = (AtomicBool::new(false), |_, _| {});
    db.setup(1 << 20, &mut Progress::new(&mut tell, &stop)).unwrap();
    for number in 1..=GLOBALS {
        let global = Global { number, subscripts, value_bytes: 100 };
        let begin = (Instant::now(), cpu_us());
        db.create_global(global, &mut Progress::new(&mut tell, &stop)).unwrap();
        fills.0.push(reached(subscripts, begin));
        let path = Path::new(dir).join("RAN/bare.db");
        let begin = (Instant::now(), cpu_us());
        bare_fill(&path, subscripts);
        fills.1.push(reached(subscripts, begin));
        std::fs::remove_file(path).unwrap();
    }
}

fn reached(operations: u64, (begin, cpu): (Instant, f64)) -> Reached {
    let operations = operations as f64;
    Reached {
        per_second: operations / begin.elapsed().as_secs_f64(),
        cpu_us: (cpu_us() - cpu) / operations,
    }
}

/// Rows in order, one transaction, no journal, all values the same; then a flush.
fn bare_fill(path: &Path, subscripts: u64) {
    let connection = Connection::open(path).unwrap();
    connection
        .execute_batch(
            "PRAGMA page_size=8192; PRAGMA journal_mode=off; PRAGMA synchronous=off; \
             CREATE TABLE global (subscript INTEGER PRIMARY KEY, value TEXT NOT NULL); BEGIN",
        )
        .unwrap();
    let value = "x".repeat(100);
    let mut insert = connection.prepare("INSERT INTO global VALUES (?1, ?2)").unwrap();
    for subscript in 1..=subscripts {
        insert.execute((subscript as i64, &value)).unwrap();
    }
    drop(insert);
    connection.execute_batch("COMMIT").unwrap();
    std::fs::File::open(path).unwrap().sync_all().unwrap();
}

fn crew(db: &dyn Database, workers: u32, time: Duration) -> Reached {
    let plan = RunPlan { workers, reads: false, writes: true };
    let activity = Arc::from(db.begin(&plan).unwrap());
    let plan = CrewPlan {
        mode: Mode::Write,
        workers,
        transaction_length: LENGTH,
        hang: Duration::ZERO,
        seed: 7,
    };
    let globals = db.globals().unwrap();
    let mut crew = Crew::start(activity, plan, &globals, &[], None).unwrap();
    crew.set_active(workers);
    std::thread::sleep(WARM);
    crew.cut();
    let begin = (Instant::now(), cpu_us());
    std::thread::sleep(time);
    let books = crew.cut();
    let reached = reached(books.iter().map(|books| books.updates.count()).sum(), begin);
    crew.stop();
    assert_eq!(crew.fault(), None);
    reached
}

fn bare(dir: &str, workers: u32, time: Duration, synchronous: &str, subscripts: u64) -> Reached {
    let (stop, updates) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for worker in 1..=workers {
            let path = Path::new(dir).join(format!("RAN/global{worker}.db"));
            let (stop, updates) = (&stop, &updates);
            scope.spawn(move || {
                bare_worker(&path, worker, (synchronous, subscripts), stop, updates)
            });
        }
        std::thread::sleep(WARM);
        let before = updates.load(Ordering::Relaxed);
        let begin = (Instant::now(), cpu_us());
        std::thread::sleep(time);
        let reached = reached(updates.load(Ordering::Relaxed) - before, begin);
        stop.store(true, Ordering::Relaxed);
        reached
    })
}

/// The same statements, held for as long as it works, with one value for all.
fn bare_worker(
    path: &Path,
    worker: u32,
    (synchronous, subscripts): (&str, u64),
    stop: &AtomicBool,
    updates: &AtomicU64,
) {
    let connection = Connection::open(path).unwrap();
    let pragmas = format!(
        "PRAGMA synchronous={synchronous}; PRAGMA cache_size=-65536; PRAGMA wal_autocheckpoint=0"
    );
    connection.execute_batch(&pragmas).unwrap();
    let prepare = |sql| connection.prepare(sql).unwrap();
    let (mut begin, mut commit) = (prepare("BEGIN IMMEDIATE"), prepare("COMMIT"));
    let mut update = prepare("UPDATE global SET value = ?2 WHERE subscript = ?1");
    let mut note = prepare("UPDATE worker SET sequence = ?2 WHERE worker = ?1");
    let value = "x".repeat(100);
    let mut draws = Draws::new(7, worker);
    let mut sequence = 0i64;
    while !stop.load(Ordering::Relaxed) {
        sequence += 1;
        begin.execute([]).unwrap();
        for _ in 0..LENGTH {
            update.execute((draws.subscript(subscripts) as i64, &value)).unwrap();
        }
        note.execute((worker, sequence)).unwrap();
        commit.execute([]).unwrap();
        updates.fetch_add(u64::from(LENGTH), Ordering::Relaxed);
    }
}
