//! A run: the process that keeps the database open, its counts, and the rounds of writing.

use super::rounds::UpdateRounds;
use super::{BLOCK_BYTES, Gtm};
use super::{files, stats};
use crate::backend::m::counts::{NamedCounts, WorkerTally};
use crate::backend::m::process::{Family, Process};
use crate::backend::m::run::{MRun, Watched};
use crate::backend::{Activity, Counts, Cycle, WorkerPlan, Writer};
use crate::blocks::Blocks;
use crate::directory::Lock;
use crate::error::DbError;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Interval between checks for rounds, which is the precision of their times.
const LOOK: Duration = Duration::from_millis(25);
/// Maximum wait for simple answers of the keeper.
pub const ANSWER: Duration = Duration::from_secs(5);
/// Number of checks between two removals of earlier journals. A journal file is 256 MiB.
const LOOKS_PER_PRUNE: u64 = 40;

/// A run on a database.
#[derive(Debug)]
pub struct GtmActivity {
    gtm: Gtm,
    run: MRun<Keeper>,
    /// Held until every process of this run has ended.
    _held: Lock,
}

/// The keeper: the process that keeps the database open, and what it has reported.
#[derive(Debug)]
struct Keeper {
    process: Process,
    rounds: UpdateRounds,
}

impl Watched for Keeper {
    fn look(&mut self) -> Result<NamedCounts, DbError> {
        let counts = NamedCounts::read(&self.process.ask("counts", Some(ANSWER))?);
        self.rounds.see(Instant::now(), &counts);
        Ok(counts)
    }

    fn leave(&mut self) {
        self.process.leave();
    }
}

impl GtmActivity {
    /// Opens a consistent database whose lock is held.
    ///
    /// # Errors
    /// Returns errors of GT.M.
    pub fn begin(gtm: Gtm, held: Lock) -> Result<Self, DbError> {
        let folder = gtm.directory.there()?;
        files::apply(&gtm.tools, &folder, &gtm.settings)?;
        let (installation, family) = (gtm.tools.installation(), Arc::<Family>::default());
        let keeper = Keeper { process: gtm.keeper(&family)?, rounds: UpdateRounds::default() };
        let prune = move |look| {
            if look % LOOKS_PER_PRUNE == 0 {
                files::prune(&folder);
            }
        };
        let tally = WorkerTally::new(stats::updates_and_commits);
        let run = MRun::begin(installation, family, tally, keeper, LOOK, prune)?;
        Ok(Self { gtm, run, _held: held })
    }
}

impl Drop for GtmActivity {
    fn drop(&mut self) {
        self.run.end();
        if let Ok(folder) = self.gtm.directory.there() {
            files::prune(&folder);
        }
    }
}

impl Activity for GtmActivity {
    fn writer(&self, worker: WorkerPlan) -> Result<Box<dyn Writer>, DbError> {
        Ok(Box::new(self.run.writer(&worker, self.gtm.settings.durable)?))
    }

    fn blocks(&self) -> Result<Blocks, DbError> {
        let file = self.gtm.block_file(&mut self.run.watched().process)?;
        Ok(Blocks::Direct(vec![file], BLOCK_BYTES))
    }

    fn counts(&self) -> Result<Counts, DbError> {
        Ok(stats::counts(&self.run.watched().look()?, self.run.tally()))
    }

    fn cycles(&self) -> Result<Vec<Cycle>, DbError> {
        let mut keeper = self.run.watched();
        keeper.look()?;
        Ok(keeper.rounds.take())
    }

    fn abandon(&self) {
        self.run.family().end();
    }

    fn drain(&self) -> Result<(), DbError> {
        let mut keeper = self.run.watched();
        keeper.look()?;
        keeper.process.ask("drain", None)?;
        keeper.look()?;
        let folder = self.gtm.directory.there()?;
        files::prune(&folder);
        files::sync(&folder)
    }
}

/// Returns the offset of a data file's first block and the number of used blocks, from the keeper's answer. The answer
/// contains the position of the first block in units of 512 bytes, counted from 1; the block size in bytes; the number
/// of blocks; and the number of free blocks.
pub fn used_blocks(answer: &str) -> Option<(u64, u64)> {
    let numbers: Vec<u64> =
        answer.split_whitespace().map(str::parse).collect::<Result<_, _>>().ok()?;
    let [start, BLOCK_BYTES, all, free] = numbers[..] else { return None };
    // The last blocks may never have been written. The number of free ones rises only if globals are removed, so that
    // every block below the limit was written once.
    Some((start.checked_sub(1)?.checked_mul(512)?, all.checked_sub(free)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn used_blocks_are_total_minus_free_blocks() {
        assert_eq!(used_blocks("513 8192 1000 100"), Some((262_144, 900)));
        let wrong = [
            "",
            "513 8192 1000",
            "513 8192 1000 x",
            "513 0 1000 100",
            "0 8192 1000 100",
            "513 8192 100 1000",
            "18446744073709551615 8192 1000 100",
        ];
        for answer in wrong {
            assert_eq!(used_blocks(answer), None, "{answer}");
        }
    }
}
