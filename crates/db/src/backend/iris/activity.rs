//! A run: the process that has the lock, its counts, and the rounds of the write daemon.

use super::Iris;
use super::keeper::Keeper;
use super::reads::IrisBlocks;
use crate::backend::m::counts::NamedCounts;
use crate::backend::m::process::{Family, Process, hold};
use crate::backend::m::writer::MWriter;
use crate::backend::m::{Installation, WorkerTally};
use crate::backend::{Activity, Counts, Cycle, WorkerPlan, Writer};
use crate::blocks::Blocks;
use crate::directory::no_thread;
use crate::error::DbError;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Interval between checks for rounds, which is the precision of their times.
const LOOK: Duration = Duration::from_millis(100);
/// Size of a block of the journal, in bytes (class SYS.Stats.Global, JrnBlocks).
const JOURNAL_BLOCK_BYTES: u64 = 64 << 10;

/// A run on a database.
#[derive(Debug)]
pub struct IrisActivity {
    iris: Iris,
    directory: String,
    family: Arc<Family>,
    tally: Arc<IrisTally>,
    workers: Mutex<Vec<Arc<Mutex<Process>>>>,
    watch: Arc<Watch>,
    watcher: Option<JoinHandle<()>>,
}

/// State shared by the watcher and the run.
#[derive(Debug)]
struct Watch {
    /// The process that holds the lock.
    keeper: Mutex<Watched>,
    stop: AtomicBool,
}

#[derive(Debug)]
struct Watched {
    keeper: Keeper,
    rounds: WriteRounds,
}

impl Watched {
    fn look(&mut self) -> Result<NamedCounts, DbError> {
        let counts = NamedCounts::read(&self.keeper.counts()?);
        self.rounds.see(Instant::now(), &counts);
        Ok(counts)
    }
}

/// Finds the rounds of the write daemon: it is awake, then it is not.
#[derive(Debug, Default)]
pub struct WriteRounds {
    /// When it was first seen awake, and the blocks it had written by then.
    awake: Option<(Instant, u64)>,
    ended: Vec<Cycle>,
}

impl WriteRounds {
    fn see(&mut self, now: Instant, counts: &NamedCounts) {
        let (is_awake, written) = (counts.of("WDA") != 0, counts.of("DWT"));
        match self.awake {
            None if is_awake => self.awake = Some((now, written)),
            Some((began, before)) if !is_awake => {
                let blocks = written.saturating_sub(before);
                self.ended.push(Cycle { ended: now, took: now - began, blocks });
                self.awake = None;
            }
            _ => {}
        }
    }
}

/// IRIS's counts of the workers that have ended.
#[derive(Debug, Default)]
struct IrisTally {
    updates: AtomicU64,
    commits: AtomicU64,
}

impl WorkerTally for IrisTally {
    fn add(&self, answer: &str) {
        let (updates, commits) = updates_and_commits(&NamedCounts::read(answer));
        self.updates.fetch_add(updates, Ordering::Relaxed);
        self.commits.fetch_add(commits, Ordering::Relaxed);
    }
}

/// Returns updates of subscripts and commits of a worker. The journal has a record for each update and two for each
/// transaction, its begin and its end (class SYS.Stats.Global, JrnEntries). One update of each transaction is that of
/// the worker's record.
fn updates_and_commits(counts: &NamedCounts) -> (u64, u64) {
    let commits = counts.of("JRN").saturating_sub(counts.of("SET")) / 2;
    (counts.of("SET").saturating_sub(commits), commits)
}

impl IrisActivity {
    /// Begins a run with a keeper that has the lock.
    ///
    /// # Errors
    /// Returns errors of IRIS.
    pub fn begin(iris: Iris, keeper: Keeper, directory: String) -> Result<Self, DbError> {
        let mut watched = Watched { keeper, rounds: WriteRounds::default() };
        watched.look()?;
        let watch = Arc::new(Watch { keeper: Mutex::new(watched), stop: AtomicBool::new(false) });
        let shared = watch.clone();
        let look = move || {
            while !shared.stop.load(Ordering::Relaxed) {
                std::thread::sleep(LOOK);
                // The next request gets the fault.
                if hold(&shared.keeper).look().is_err() {
                    break;
                }
            }
        };
        let watcher = std::thread::Builder::new().name("iris-watch".to_owned()).spawn(look);
        let watcher = Some(watcher.map_err(|error| no_thread(&error))?);
        let (family, tally, workers) = (Arc::default(), Arc::default(), Mutex::default());
        Ok(Self { iris, directory, family, tally, workers, watch, watcher })
    }
}

impl Drop for IrisActivity {
    fn drop(&mut self) {
        self.watch.stop.store(true, Ordering::Relaxed);
        if let Some(watcher) = self.watcher.take() {
            let _ = watcher.join();
        }
        hold(&self.workers).clear();
        hold(&self.watch.keeper).keeper.leave();
    }
}

impl Activity for IrisActivity {
    fn writer(&self, worker: WorkerPlan) -> Result<Box<dyn Writer>, DbError> {
        let tally: Arc<dyn WorkerTally> = self.tally.clone();
        let installation: Arc<dyn Installation> = self.iris.installation();
        let writer =
            MWriter::start(&installation, &self.family, &tally, &worker, self.iris.durable)?;
        hold(&self.workers).push(writer.process());
        Ok(Box::new(writer))
    }

    fn blocks(&self) -> Result<Blocks, DbError> {
        let file = hold(&self.watch.keeper).keeper.file(&self.directory)?;
        let (installation, directory) = (self.iris.installation(), self.directory.clone());
        Ok(Blocks::Through(Box::new(IrisBlocks { installation, directory, file })))
    }

    fn counts(&self) -> Result<Counts, DbError> {
        let counts = hold(&self.watch.keeper).look()?;
        Ok(Counts {
            updates: Some(self.tally.updates.load(Ordering::Relaxed)),
            commits: Some(self.tally.commits.load(Ordering::Relaxed)),
            blocks_read: Some(counts.of("DRD")),
            blocks_hit: None,
            blocks_written: Some(counts.of("DWT")),
            log_bytes: Some(counts.of("JBK").saturating_mul(JOURNAL_BLOCK_BYTES)),
            others: vec![
                ("write_image_writes", counts.of("WIJ")),
                ("journal_entries", counts.of("JRN")),
                ("blocks_requested", counts.of("LOG")),
            ],
        })
    }

    fn cycles(&self) -> Result<Vec<Cycle>, DbError> {
        let mut watched = hold(&self.watch.keeper);
        watched.look()?;
        Ok(std::mem::take(&mut watched.rounds.ended))
    }

    fn abandon(&self) {
        self.family.end();
    }

    fn drain(&self) -> Result<(), DbError> {
        let mut watched = hold(&self.watch.keeper);
        watched.look()?;
        watched.keeper.ask(&["drain"])?;
        watched.look().map(|_| ())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn write_round_lasts_while_the_daemon_is_awake() {
        let (mut rounds, begin) = (WriteRounds::default(), Instant::now());
        let mut see =
            |ms, text| rounds.see(begin + Duration::from_millis(ms), &NamedCounts::read(text));
        see(0, "WDA:0,DWT:5");
        see(100, "WDA:1,DWT:5");
        see(200, "WDA:1,DWT:50");
        see(300, "WDA:0,DWT:60");
        see(400, "WDA:0,DWT:60");
        let ended = begin + Duration::from_millis(300);
        assert_eq!(rounds.ended, [Cycle { ended, took: Duration::from_millis(200), blocks: 55 }]);
    }

    #[test]
    fn updates_and_commits_follow_from_journal_records() {
        // Ten transactions of five updates: each has a record of its own, a begin and an end.
        assert_eq!(updates_and_commits(&NamedCounts::read("SET:60,JRN:80")), (50, 10));
        assert_eq!(updates_and_commits(&NamedCounts::read("SET:60,JRN:0")), (60, 0));
    }
}
