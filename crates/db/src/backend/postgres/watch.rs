//! Observes the server's checkpoints.

use super::connection::Connection;
use super::statistics::{Daemon, Statistics};
use crate::backend::Cycle;
use crate::directory::no_thread;
use crate::error::DbError;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Interval between two observations.
const LOOK: Duration = Duration::from_millis(250);
/// Delay between the end of a checkpoint and its counts.
const LATE: Duration = Duration::from_millis(50);

/// A thread that observes the checkpointer. It ends when this value is dropped.
#[derive(Debug)]
pub(super) struct CheckpointWatch {
    seen: Arc<Mutex<WatchState>>,
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct WatchState {
    connection: Connection,
    statistics: Statistics,
    last: Daemon,
    cycles: Vec<Cycle>,
}

impl CheckpointWatch {
    /// Starts the thread, on a connection of its own.
    pub(super) fn begin(
        mut connection: Connection,
        statistics: Statistics,
    ) -> Result<Self, DbError> {
        let last = statistics.daemon(&mut connection)?;
        let seen =
            Arc::new(Mutex::new(WatchState { connection, statistics, last, cycles: Vec::new() }));
        let (stop, stopped) = channel();
        let shared = seen.clone();
        let look = move || {
            while stopped.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
                let mut seen = shared.lock().unwrap_or_else(PoisonError::into_inner);
                // The next caller that requests the rounds gets the error.
                if seen.look().is_err() {
                    return;
                }
            }
        };
        let thread = std::thread::Builder::new().name("db-watch".to_owned()).spawn(look);
        let failed = |error: std::io::Error| no_thread(&error);
        Ok(Self { seen, stop: Some(stop), thread: Some(thread.map_err(failed)?) })
    }

    /// Takes an observation now.
    pub(super) fn look(&self) -> Result<(), DbError> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).look()
    }

    /// Returns the checkpoints that ended since the previous call.
    pub(super) fn cycles(&self) -> Result<Vec<Cycle>, DbError> {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.look()?;
        Ok(std::mem::take(&mut seen.cycles))
    }
}

impl WatchState {
    fn look(&mut self) -> Result<(), DbError> {
        let mut now = self.statistics.daemon(&mut self.connection)?;
        if now.checkpoint == self.last.checkpoint {
            return Ok(());
        }
        let ended = Instant::now();
        if now.busy_ms == self.last.busy_ms {
            std::thread::sleep(LATE);
            now = self.statistics.daemon(&mut self.connection)?;
        }
        let took = Duration::from_millis(now.busy_ms.saturating_sub(self.last.busy_ms));
        let blocks = now.blocks.saturating_sub(self.last.blocks);
        self.cycles.push(Cycle { ended, took, blocks });
        self.last = now;
        Ok(())
    }
}

impl Drop for CheckpointWatch {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
