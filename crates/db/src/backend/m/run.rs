//! A run on an M database: the processes of its workers, and the one that watches the database.

use super::Installation;
use super::counts::{NamedCounts, WorkerTally};
use super::process::{Family, Process, hold};
use super::writer::MWriter;
use crate::backend::WorkerPlan;
use crate::directory::no_thread;
use crate::error::DbError;
use std::fmt::Debug;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::Duration;

/// The process that has the database open during a run, and the rounds of writing that it has seen.
pub trait Watched: Debug + Send + 'static {
    /// Requests the database's counts and checks whether a round has ended.
    ///
    /// # Errors
    /// The process is gone, or does not answer.
    fn look(&mut self) -> Result<NamedCounts, DbError>;
    /// Ends the process.
    fn leave(&mut self);
}

/// A run. [`Watched::look`] is called at regular intervals until it ends.
#[derive(Debug)]
pub struct MRun<W: Watched> {
    installation: Arc<dyn Installation>,
    family: Arc<Family>,
    tally: Arc<WorkerTally>,
    /// Processes of workers, including finished ones.
    workers: Mutex<Vec<Arc<Mutex<Process>>>>,
    watch: Arc<Watch<W>>,
    watcher: Option<JoinHandle<()>>,
}

/// State shared by the watching thread and the run.
#[derive(Debug)]
struct Watch<W> {
    watched: Mutex<W>,
    stop: AtomicBool,
}

impl<W: Watched> MRun<W> {
    /// Begins to look at the database at each `interval`, and calls `looked` after each look, with their number from 1.
    /// `watched` is a process of `family`.
    ///
    /// # Errors
    /// The first look fails, or no thread can be started.
    pub fn begin(
        installation: Arc<dyn Installation>,
        family: Arc<Family>,
        tally: WorkerTally,
        mut watched: W,
        interval: Duration,
        mut looked: impl FnMut(u64) + Send + 'static,
    ) -> Result<Self, DbError> {
        watched.look()?;
        let watch = Arc::new(Watch { watched: Mutex::new(watched), stop: AtomicBool::new(false) });
        let shared = watch.clone();
        let look = move || {
            for number in 1.. {
                std::thread::sleep(interval);
                // A fault of the process is reported to the next request.
                if shared.stop.load(Ordering::Relaxed) || hold(&shared.watched).look().is_err() {
                    break;
                }
                looked(number);
            }
        };
        let watcher = std::thread::Builder::new().name("db-watch".to_owned()).spawn(look);
        let watcher = Some(watcher.map_err(|error| no_thread(&error))?);
        let (tally, workers) = (Arc::new(tally), Mutex::default());
        Ok(Self { installation, family, tally, workers, watch, watcher })
    }

    /// Starts the process of a worker.
    ///
    /// # Errors
    /// As [`MWriter::start`].
    pub fn writer(&self, plan: &WorkerPlan, durable: bool) -> Result<MWriter, DbError> {
        let writer = MWriter::start(&self.installation, &self.family, &self.tally, plan, durable)?;
        hold(&self.workers).push(writer.process());
        Ok(writer)
    }

    /// Returns the process that watches the database. The thread waits meanwhile.
    pub fn watched(&self) -> MutexGuard<'_, W> {
        hold(&self.watch.watched)
    }

    /// Returns the counts of the workers that have ended.
    pub fn tally(&self) -> &WorkerTally {
        &self.tally
    }

    /// Returns the processes of the run.
    pub fn family(&self) -> &Arc<Family> {
        &self.family
    }

    /// Ends all processes, the one that watches the database as the last. The second call does nothing.
    pub fn end(&mut self) {
        self.watch.stop.store(true, Ordering::Relaxed);
        let Some(watcher) = self.watcher.take() else { return };
        // It only fails if the thread has panicked, which has been reported.
        let _ = watcher.join();
        hold(&self.workers).clear();
        self.watched().leave();
    }
}

impl<W: Watched> Drop for MRun<W> {
    fn drop(&mut self) {
        self.end();
    }
}
