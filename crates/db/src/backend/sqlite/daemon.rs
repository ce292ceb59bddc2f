//! The write daemon: a thread that runs checkpoints of all logs, in rounds.

use super::log::{Log, LogCount, Moved};
use super::settings::{Settings, Synchronous};
use crate::backend::Cycle;
use crate::error::DbError;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Interval between checks of the lengths of the logs.
const LOOK: Duration = Duration::from_millis(20);
/// Maximum number of rounds kept until they are requested.
const MOST_CYCLES: usize = 100_000;

/// Work of the daemon so far.
#[derive(Debug, Default)]
pub(super) struct Deeds {
    pub blocks: AtomicU64,
    pub frames: AtomicU64,
    pub rounds: AtomicU64,
    pub restarts: AtomicU64,
    cycles: Mutex<Vec<Cycle>>,
    fault: Mutex<Option<DbError>>,
}

impl Deeds {
    /// Returns the rounds since they were last requested.
    pub(super) fn take_cycles(&self) -> Vec<Cycle> {
        std::mem::take(&mut *self.cycles())
    }

    /// Returns the error that ended the daemon, if any.
    pub(super) fn check(&self) -> Result<(), DbError> {
        let fault = self.fault.lock().unwrap_or_else(PoisonError::into_inner);
        fault.clone().map_or(Ok(()), Err)
    }

    fn cycles(&self) -> MutexGuard<'_, Vec<Cycle>> {
        self.cycles.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Owner of the thread. When it is dropped, the thread ends and SQLite runs the final checkpoints.
pub(super) struct Daemon {
    deeds: Arc<Deeds>,
    orders: Option<SyncSender<SyncSender<Result<(), DbError>>>>,
    thread: Option<JoinHandle<()>>,
    /// These must outlive the connections of the logs.
    counts: Vec<Arc<LogCount>>,
}

impl Daemon {
    /// Starts the daemon for these logs of a folder.
    pub(super) fn start(
        logs: Vec<Log>,
        settings: Settings,
        folder: PathBuf,
        page_bytes: u64,
    ) -> Result<Self, DbError> {
        let counts = logs.iter().map(Log::count).collect();
        let deeds = Arc::<Deeds>::default();
        let (orders, received) = sync_channel(0);
        let rounds = CheckpointRounds { logs, settings, folder, page_bytes, deeds: deeds.clone() };
        let thread = std::thread::Builder::new().name("db-checkpoint".to_owned());
        let thread = thread.spawn(move || rounds.run(&received));
        let failed = |error: std::io::Error| crate::directory::no_thread(&error);
        Ok(Self { deeds, orders: Some(orders), thread: Some(thread.map_err(failed)?), counts })
    }

    pub(super) fn deeds(&self) -> &Deeds {
        &self.deeds
    }

    /// Returns the bytes written to the logs since the start.
    pub(super) fn log_bytes(&self) -> Result<u64, DbError> {
        self.counts.iter().map(|count| count.bytes()).sum()
    }

    /// Waits until everything is written to the data files.
    pub(super) fn drain(&self) -> Result<(), DbError> {
        let (reply, answer) = sync_channel(1);
        let ended = || DbError::Failed("the thread of checkpoints has ended".to_owned());
        let asked = self.orders.as_ref().is_some_and(|orders| orders.send(reply).is_ok());
        let answer = if asked { answer.recv().ok() } else { None };
        answer.unwrap_or_else(|| Err(self.deeds.check().err().unwrap_or_else(ended)))
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        self.orders = None;
        if let Some(thread) = self.thread.take() {
            // A thread that panicked has no result.
            let _ = thread.join();
        }
    }
}

/// State of the thread.
struct CheckpointRounds {
    logs: Vec<Log>,
    settings: Settings,
    folder: PathBuf,
    page_bytes: u64,
    deeds: Arc<Deeds>,
}

impl CheckpointRounds {
    fn run(self, orders: &Receiver<SyncSender<Result<(), DbError>>>) {
        let look = LOOK.min(self.settings.checkpoint);
        let mut last = Instant::now();
        loop {
            let (result, reply) = match orders.recv_timeout(look) {
                Ok(reply) => (self.drain(), Some(reply)),
                Err(RecvTimeoutError::Timeout) => (self.round_if_due(&mut last), None),
                Err(RecvTimeoutError::Disconnected) => return,
            };
            let failed = result.as_ref().err().cloned();
            if let Some(reply) = reply {
                // The caller may have given up.
                let _ = reply.send(result);
            }
            // A blocking reader ends eventually, but a full disk stays full.
            if let Some(error) = failed.filter(|error| !matches!(error, DbError::Busy(_))) {
                *self.deeds.fault.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                return;
            }
        }
    }

    fn round_if_due(&self, last: &mut Instant) -> Result<(), DbError> {
        let pending = self.logs.iter().map(Log::pending_bytes);
        let most = pending.collect::<Result<Vec<u64>, DbError>>()?.into_iter().max().unwrap_or(0);
        let due = last.elapsed() >= self.settings.checkpoint && most > 0;
        if due || most >= self.settings.checkpoint_bytes {
            *last = Instant::now();
            self.round(|log| log.checkpoint(self.settings.checkpoint_bytes))?;
        }
        Ok(())
    }

    fn drain(&self) -> Result<(), DbError> {
        self.round(Log::empty)?;
        if self.settings.synchronous == Synchronous::Off {
            // With other settings each checkpoint waits for the device.
            let flushed = std::fs::File::open(&self.folder)
                .and_then(|folder| rustix::fs::syncfs(folder).map_err(std::io::Error::from));
            return flushed.map_err(|error| crate::directory::fault(&self.folder, &error));
        }
        Ok(())
    }

    /// Runs one checkpoint of each log.
    fn round(&self, each: impl Fn(&Log) -> Result<Moved, DbError>) -> Result<(), DbError> {
        let (begin, written_before) = (Instant::now(), written_bytes());
        let mut frames = 0;
        for log in &self.logs {
            let moved = each(log)?;
            frames += moved.frames;
            self.deeds.restarts.fetch_add(u64::from(moved.restarted), Ordering::Relaxed);
        }
        if frames == 0 {
            return Ok(());
        }
        let written = written_bytes().zip(written_before).map(|(after, before)| after - before);
        // A page that is in the log several times is written once. Without the kernel's count, the number of frames is
        // the upper bound.
        let blocks = written.map_or(frames, |bytes| bytes / self.page_bytes);
        let ended = Instant::now();
        self.deeds.frames.fetch_add(frames, Ordering::Relaxed);
        self.deeds.blocks.fetch_add(blocks, Ordering::Relaxed);
        self.deeds.rounds.fetch_add(1, Ordering::Relaxed);
        let mut cycles = self.deeds.cycles();
        if cycles.len() < MOST_CYCLES {
            cycles.push(Cycle { ended, took: ended - begin, blocks });
        }
        Ok(())
    }
}

/// Returns the bytes that this thread has passed to write calls so far: `wchar` in `/proc/pid/io` (proc(5)). This
/// thread only writes to data files.
fn written_bytes() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/thread-self/io").ok()?;
    let number = text.lines().find_map(|line| line.strip_prefix("wchar:"))?;
    number.trim().parse().ok()
}
