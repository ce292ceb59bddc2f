//! A run on a database.

use super::daemon::Daemon;
use super::files::{FILLER, global_file};
use super::gate::Gate;
use super::log::Log;
use super::settings::Settings;
use super::writer::{SqliteWriter, WriterCounts};
use crate::backend::{Activity, Counts, Cycle, RunPlan, WorkerPlan, Writer};
use crate::blocks::{BlockFile, Blocks};
use crate::directory::{Directory, Lock, Marker, fault};
use crate::error::DbError;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// State of a run. The daemon ends before the lock is released.
pub(super) struct SqliteRun {
    daemon: Daemon,
    dir: Directory,
    settings: Settings,
    marker: Marker,
    /// Indexed by worker.
    workers: Vec<(Arc<Gate>, Arc<WriterCounts>)>,
    _lock: Lock,
}

impl SqliteRun {
    /// Begins a run on an existing database.
    pub(super) fn begin(
        dir: &Directory,
        settings: Settings,
        marker: Marker,
        plan: &RunPlan,
    ) -> Result<Self, DbError> {
        let lock = dir.lock()?;
        let writers = plan.writers;
        if writers as usize > marker.globals.len() {
            return Err(DbError::Usage(format!(
                "{}: {writers} workers need a global each, and there are {}; hint: use more globals or \
                 fewer workers",
                dir.path().display(),
                marker.globals.len()
            )));
        }
        let (mut logs, mut workers) = (Vec::new(), Vec::new());
        for number in 1..=writers {
            let (gate, path) = (Arc::<Gate>::default(), dir.join(&global_file(number)));
            logs.push(Log::open(&path, &settings, marker.block_bytes, gate.clone())?);
            workers.push((gate, Arc::default()));
        }
        let daemon = Daemon::start(logs, settings, dir.path().to_owned(), marker.block_bytes)?;
        Ok(Self { daemon, dir: dir.clone(), settings, marker, workers, _lock: lock })
    }

    fn sum(&self, of: impl Fn(&(Arc<Gate>, Arc<WriterCounts>)) -> u64) -> u64 {
        self.workers.iter().map(of).sum()
    }
}

/// Returns the files that have blocks, those of all globals included.
pub(super) fn block_files(dir: &Directory, marker: &Marker) -> Result<Vec<BlockFile>, DbError> {
    let globals = marker.globals.iter().map(|global| global_file(global.number));
    let file = |name: String| {
        let path = dir.join(&name);
        let about = std::fs::metadata(&path).map_err(|error| fault(&path, &error))?;
        Ok(BlockFile { path, base_bytes: 0, blocks: about.len() / marker.block_bytes })
    };
    std::iter::once(FILLER.to_owned()).chain(globals).map(file).collect()
}

impl Activity for SqliteRun {
    fn writer(&self, plan: WorkerPlan) -> Result<Box<dyn Writer>, DbError> {
        let Some((gate, tally)) = self.workers.get(plan.worker as usize - 1) else {
            return Err(DbError::Usage(format!(
                "the run was not begun for worker {}",
                plan.worker
            )));
        };
        let path = self.dir.join(&global_file(plan.worker));
        let (gate, tally) = (gate.clone(), tally.clone());
        Ok(Box::new(SqliteWriter::open(&path, &self.settings, plan, gate, tally)?))
    }

    fn blocks(&self) -> Result<Blocks, DbError> {
        Ok(Blocks::Direct(block_files(&self.dir, &self.marker)?, self.marker.block_bytes))
    }

    fn counts(&self) -> Result<Counts, DbError> {
        self.daemon.deeds().check()?;
        let deeds = self.daemon.deeds();
        Ok(Counts {
            updates: Some(self.sum(|(_, tally)| tally.updates.load(Ordering::Relaxed))),
            commits: Some(self.sum(|(_, tally)| tally.commits.load(Ordering::Relaxed))),
            // Cache hits and misses are not available, because each connection has its own cache.
            blocks_read: None,
            blocks_hit: None,
            blocks_written: Some(deeds.blocks.load(Ordering::Relaxed)),
            log_bytes: Some(self.daemon.log_bytes()?),
            others: vec![
                ("checkpoints", deeds.rounds.load(Ordering::Relaxed)),
                ("log_pages_checkpointed", deeds.frames.load(Ordering::Relaxed)),
                ("log_restarts", deeds.restarts.load(Ordering::Relaxed)),
                ("workers_held_ns", self.sum(|(gate, _)| gate.held_ns())),
            ],
        })
    }

    fn cycles(&self) -> Result<Vec<Cycle>, DbError> {
        self.daemon.deeds().check()?;
        Ok(self.daemon.deeds().take_cycles())
    }

    fn drain(&self) -> Result<(), DbError> {
        self.daemon.drain()
    }
}
