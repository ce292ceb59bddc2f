//! What the harness costs, to be looked at by hand: `cargo test --release -p iogauge-db -- --ignored speed
//! --nocapture`.

use super::{gtm, progressing, set_up};
use crate::backend::gtm::writer::GtmWriter;
use crate::backend::{Activity, Database, Global, Order, RunPlan, WorkerPlan, Writer};
use crate::books::Books;
use crate::draws::Draws;
use std::sync::Arc;
use std::time::{Duration, Instant};

const TIME: Duration = Duration::from_millis(1_500);

/// Processor time of this process and of those it started that have ended, in hundredths of a second.
fn processor() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let (_, rest) = stat.rsplit_once(')').unwrap();
    // User and system time of the process, and of its children.
    rest.split_whitespace().skip(11).take(4).map(|ticks| ticks.parse::<f64>().unwrap()).sum()
}

/// Processor time of a transaction in microseconds, and transactions in a second, of so many workers that run an entry of the routine.
fn rate(
    db: &super::Gtm,
    activity: &dyn Activity,
    entry: &str,
    workers: u32,
    base: &mut [u64],
) -> (f64, f64) {
    let globals = db.globals().unwrap();
    let committed = |worker: u32| base[worker as usize - 1];
    let mut writers: Vec<GtmWriter> = (1..=workers)
        .map(|worker| {
            let plan = WorkerPlan {
                worker,
                global: globals[worker as usize - 1],
                sequence: committed(worker),
                draws_state: Draws::new(base[0] + 1, worker).state(),
                transaction_length: 50,
            };
            GtmWriter::start(&db.tools, &Arc::default(), entry, &plan, db.settings.durable).unwrap()
        })
        .collect();
    let _ = activity;
    let spent = processor();
    let begin = Instant::now();
    let slice = if entry == "RanWorker" { Duration::from_millis(50) } else { TIME };
    let last: Vec<u64> = std::thread::scope(|scope| {
        let threads: Vec<_> = writers
            .iter_mut()
            .map(|writer| {
                scope.spawn(move || {
                    let mut last = 0;
                    while begin.elapsed() < TIME {
                        let until = (Instant::now() + slice).min(begin + TIME);
                        let order = Order { transactions: u32::MAX, until, hang: Duration::ZERO };
                        last = writer.work(&order, &mut Books::default()).unwrap();
                    }
                    last
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let elapsed = begin.elapsed().as_secs_f64();
    let done: u64 = last.iter().zip(base.iter()).map(|(last, base)| last - base).sum();
    base[..last.len()].copy_from_slice(&last);
    drop(writers);
    ((processor() - spent) * 1e4 / done as f64, done as f64 / elapsed)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

#[test]
#[ignore = "it measures"]
fn speed_of_workers() {
    let dir = tempfile::tempdir().unwrap();
    for durable in ["batch", "yes"] {
        let settings = format!("durable={durable}");
        let place = dir.path().join(durable);
        let Some(db) = gtm("speed_of_workers", &place, &settings) else { return };
        set_up(&db, 16 << 20, 4, 100_000);
        let activity = db.begin(&RunPlan { workers: 4, reads: false, writes: true }).unwrap();
        let mut base = [0; 4];
        for workers in [1, 4] {
            let (mut spent, mut rates) = (Vec::new(), Vec::new());
            for round in 0..12 {
                let mut of = |entry| rate(&db, activity.as_ref(), entry, workers, &mut base);
                let (bare, timed) = if round % 2 == 0 {
                    let bare = of("bare^RanWorker");
                    (bare, of("RanWorker"))
                } else {
                    let timed = of("RanWorker");
                    (of("bare^RanWorker"), timed)
                };
                eprintln!(
                    "bare {:.0} us {:.0}/s, timed {:.0} us {:.0}/s",
                    bare.0, bare.1, timed.0, timed.1
                );
                spent.push(timed.0 / bare.0);
                rates.push(bare.1 / timed.1);
            }
            let (spent, rates) = (median(spent), median(rates));
            eprintln!(
                "durable={durable} workers={workers}: processor time {spent:.3}, time {rates:.3} of the bare loop's"
            );
        }
    }
}

#[test]
#[ignore = "it measures"]
fn speed_of_filling() {
    let dir = tempfile::tempdir().unwrap();
    let Some(db) = gtm("speed_of_filling", dir.path(), "") else { return };
    set_up(&db, 16 << 20, 0, 0);
    let mut ratios = Vec::new();
    for number in 1..=10 {
        let (begin, spent) = (Instant::now(), processor());
        let global = Global { number, subscripts: 1_000_000, value_bytes: 100 };
        progressing(|progress| db.create_global(global, progress)).unwrap();
        let ours = (begin.elapsed().as_secs_f64(), processor() - spent);
        // The same data by the tool alone.
        let extract = db.directory.join("alone.bin");
        let select = format!("-select=RanWriteGlobal{number}");
        let path = extract.to_str().unwrap();
        db.tools.run("mupip", &["extract", "-format=binary", &select, "alone.bin"], "").unwrap();
        db.remove(number).unwrap();
        crate::backend::gtm::files::end_journal(&db.tools, db.directory.path()).unwrap();
        let (begin, spent) = (Instant::now(), processor());
        db.tools.run("mupip", &["load", "-format=binary", "alone.bin"], "").unwrap();
        let alone = (begin.elapsed().as_secs_f64(), processor() - spent);
        std::fs::remove_file(path).unwrap();
        eprintln!(
            "global {number}: {ours:.2?}, the tool alone {alone:.2?} (s, processor in 1/100 s)"
        );
        ratios.push((ours.0 / alone.0, ours.1 / alone.1));
    }
    let of = |part: fn(&(f64, f64)) -> f64| median(ratios.iter().map(part).collect());
    eprintln!("filling: time {:.3}, processor {:.3} of the tool alone", of(|r| r.0), of(|r| r.1));
}
