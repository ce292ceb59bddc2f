//! A run: the process that has the lock, its counts, and the rounds of the write daemon.

use super::Iris;
use super::keeper::Keeper;
use super::reads::IrisBlocks;
use crate::backend::m::counts::{NamedCounts, WorkerTally};
use crate::backend::m::process::Family;
use crate::backend::m::run::{MRun, Watched};
use crate::backend::{Activity, Counts, Cycle, WorkerPlan, Writer};
use crate::blocks::Blocks;
use crate::error::DbError;
use std::sync::Arc;
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
    run: MRun<Holder>,
}

/// The process that has the lock.
#[derive(Debug)]
struct Holder {
    keeper: Keeper,
    rounds: WriteRounds,
}

impl Watched for Holder {
    fn look(&mut self) -> Result<NamedCounts, DbError> {
        let counts = NamedCounts::read(&self.keeper.counts()?);
        self.rounds.see(Instant::now(), &counts);
        Ok(counts)
    }

    fn leave(&mut self) {
        self.keeper.leave();
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

/// Returns updates of subscripts and commits of a worker. The journal has a record for each update and two for each
/// transaction, its begin and its end (class SYS.Stats.Global, JrnEntries). One update of each transaction is that of
/// the worker's record.
fn updates_and_commits(counts: &NamedCounts) -> (u64, u64) {
    let commits = counts.of("JRN").saturating_sub(counts.of("SET")) / 2;
    (counts.of("SET").saturating_sub(commits), commits)
}

impl IrisActivity {
    /// Begins a run with a keeper that has the lock and is a process of `family`.
    ///
    /// # Errors
    /// Returns errors of IRIS.
    pub fn begin(
        iris: Iris,
        family: Arc<Family>,
        keeper: Keeper,
        directory: String,
    ) -> Result<Self, DbError> {
        let holder = Holder { keeper, rounds: WriteRounds::default() };
        let tally = WorkerTally::new(updates_and_commits);
        let run = MRun::begin(iris.installation(), family, tally, holder, LOOK, |_| ())?;
        Ok(Self { iris, directory, run })
    }
}

impl Activity for IrisActivity {
    fn writer(&self, worker: WorkerPlan) -> Result<Box<dyn Writer>, DbError> {
        Ok(Box::new(self.run.writer(&worker, self.iris.durable)?))
    }

    fn blocks(&self) -> Result<Blocks, DbError> {
        let file = self.run.watched().keeper.file(&self.directory)?;
        let (installation, family) = (self.iris.installation(), self.run.family().clone());
        let directory = self.directory.clone();
        Ok(Blocks::Through(Box::new(IrisBlocks { installation, family, directory, file })))
    }

    fn counts(&self) -> Result<Counts, DbError> {
        let counts = self.run.watched().look()?;
        Ok(Counts {
            updates: Some(self.run.tally().updates()),
            commits: Some(self.run.tally().commits()),
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
        let mut watched = self.run.watched();
        watched.look()?;
        Ok(std::mem::take(&mut watched.rounds.ended))
    }

    fn abandon(&self) {
        self.run.family().end();
    }

    fn drain(&self) -> Result<(), DbError> {
        let mut watched = self.run.watched();
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
