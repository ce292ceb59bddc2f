//! A run: the process that keeps the database open, its counts, and the rounds of writing.

use super::files;
use super::rounds::UpdateRounds;
use super::stats::{Stats, StatsTally};
use super::{BLOCK_BYTES, Gtm};
use crate::backend::m::WorkerTally;
use crate::backend::m::process::{Family, Process, hold};
use crate::backend::m::writer::MWriter;
use crate::backend::{Activity, Counts, Cycle, WorkerPlan, Writer};
use crate::blocks::{BlockFile, Blocks};
use crate::directory::{Lock, no_thread};
use crate::error::DbError;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Interval between checks for rounds, which is the precision of their times.
const LOOK: Duration = Duration::from_millis(25);
/// Maximum wait for simple answers of the keeper.
const ANSWER: Duration = Duration::from_secs(5);
/// Number of checks between two removals of earlier journals. A journal file is 256 MiB.
const LOOKS_PER_PRUNE: u32 = 40;

/// A run on a database.
#[derive(Debug)]
pub struct GtmActivity {
    gtm: Gtm,
    family: Arc<Family>,
    tally: Arc<StatsTally>,
    /// Processes of workers, including finished ones.
    workers: Mutex<Vec<Arc<Mutex<Process>>>>,
    watch: Arc<ActivityWatch>,
    watcher: Option<JoinHandle<()>>,
    /// Held until every process of this run has ended.
    _held: Lock,
}

/// State shared by the watcher and the run.
#[derive(Debug)]
struct ActivityWatch {
    keeper: Mutex<Keeper>,
    stop: AtomicBool,
}

/// The keeper: the process that keeps the database open, and what it has reported.
#[derive(Debug)]
struct Keeper {
    process: Process,
    rounds: UpdateRounds,
}

impl Keeper {
    /// Requests the counts and checks whether a round has ended.
    fn look(&mut self) -> Result<Stats, DbError> {
        let stats = Stats::read(&self.process.ask("counts", Some(ANSWER))?);
        self.rounds.see(Instant::now(), &stats);
        Ok(stats)
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
        let family = Arc::default();
        let mut process = Process::start_in(&gtm.tools.installation(), &family, "^RanKeeper")?;
        process.hear(|_| Ok(()))?;
        let mut keeper = Keeper { process, rounds: UpdateRounds::default() };
        keeper.look()?;
        let watch =
            Arc::new(ActivityWatch { keeper: Mutex::new(keeper), stop: AtomicBool::new(false) });
        let watched = watch.clone();
        let watcher = std::thread::Builder::new().name("gtm-watch".to_owned()).spawn(move || {
            for look in 1.. {
                std::thread::sleep(LOOK);
                // A fault of the keeper is reported to the next request.
                if watched.stop.load(Ordering::Relaxed) || watched.keeper().look().is_err() {
                    break;
                }
                if look % LOOKS_PER_PRUNE == 0 {
                    files::prune(&folder);
                }
            }
        });
        let failed = |error: std::io::Error| no_thread(&error);
        let watcher = Some(watcher.map_err(failed)?);
        let (tally, workers) = (Arc::default(), Mutex::default());
        Ok(Self { gtm, family, tally, workers, watch, watcher, _held: held })
    }
}

impl ActivityWatch {
    fn keeper(&self) -> MutexGuard<'_, Keeper> {
        hold(&self.keeper)
    }
}

impl Drop for GtmActivity {
    fn drop(&mut self) {
        self.watch.stop.store(true, Ordering::Relaxed);
        if let Some(watcher) = self.watcher.take() {
            let _ = watcher.join();
        }
        hold(&self.workers).clear();
        self.watch.keeper().process.leave();
        if let Ok(folder) = self.gtm.directory.there() {
            files::prune(&folder);
        }
    }
}

impl Activity for GtmActivity {
    fn writer(&self, worker: WorkerPlan) -> Result<Box<dyn Writer>, DbError> {
        let Gtm { tools, settings, .. } = &self.gtm;
        let tally: Arc<dyn WorkerTally> = self.tally.clone();
        let (installation, durable) = (tools.installation(), settings.durable);
        let writer = MWriter::start(&installation, &self.family, &tally, &worker, durable)?;
        hold(&self.workers).push(writer.process());
        Ok(Box::new(writer))
    }

    fn blocks(&self) -> Result<Blocks, DbError> {
        let path = self.gtm.directory.join(files::DATA);
        let answer = self.watch.keeper().process.ask("file", Some(ANSWER))?;
        let Some((base_bytes, blocks)) = used_blocks(&answer) else {
            return Err(DbError::Failed(format!(
                "{}: GT.M says of it \"{answer}\"",
                path.display()
            )));
        };
        Ok(Blocks::Direct(vec![BlockFile { path, base_bytes, blocks }], BLOCK_BYTES))
    }

    fn counts(&self) -> Result<Counts, DbError> {
        self.watch.keeper().look().map(|stats| stats.counts(&self.tally))
    }

    fn cycles(&self) -> Result<Vec<Cycle>, DbError> {
        let mut keeper = self.watch.keeper();
        keeper.look()?;
        Ok(keeper.rounds.take())
    }

    fn abandon(&self) {
        self.family.end();
    }

    fn drain(&self) -> Result<(), DbError> {
        let mut keeper = self.watch.keeper();
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
    // The free blocks are the last ones, because nothing is ever removed. They may never have been written.
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
