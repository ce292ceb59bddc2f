//! A workload for a database, and what its workers report, in a form that travels between hosts.

use iogauge_db::DbError;
use iogauge_db::pool::{DbPoolPlan, Mode, WorkerNumbers};
use iogauge_model::result::DatabaseLoad;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The workload for a database.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct DbLoad {
    /// What each process does.
    pub mode: Mode,
    /// Number of concurrent processes; worker `n`, if it writes, writes global `n`.
    pub processes: u32,
    /// Reads or updates in a transaction, at least 1.
    pub transaction_length: u32,
    /// Hang time after each transaction, in nanoseconds.
    pub hang_ns: u64,
    /// Seed of all random choices.
    pub seed: u64,
}

impl DbLoad {
    /// Returns a short description: `write, 50 per transaction, 2 ms hang, 4 processes`.
    #[must_use]
    pub fn label(&self) -> String {
        let what = self.label_without_processes();
        match (self.mode, self.processes) {
            (Mode::ReadersWriters { .. }, _) => what,
            (_, 1) => format!("{what}, 1 process"),
            (_, processes) => format!("{what}, {processes} processes"),
        }
    }

    /// Returns the description without the number of processes, for a search over it.
    #[must_use]
    pub fn label_without_processes(&self) -> String {
        let mut label = match self.mode {
            Mode::Io { read_percent } => format!("io {read_percent}/{}", 100 - read_percent),
            Mode::ReadersWriters { writers } => {
                let readers = self.processes.saturating_sub(writers);
                format!("{}, {}", counted(readers, "reader"), counted(writers, "writer"))
            }
            Mode::Read | Mode::Write => self.mode.word().to_owned(),
        };
        if self.mode.writes() {
            label.push_str(&format!(", {} per transaction", self.transaction_length));
        }
        if self.hang_ns > 0 {
            let hang = iogauge_model::limit::Bound(self.hang_ns);
            label.push_str(&format!(", {hang} hang"));
        }
        label
    }

    /// Returns the workload for a document.
    #[must_use]
    pub fn describe(&self) -> DatabaseLoad {
        DatabaseLoad {
            label: self.label(),
            mode: self.mode.word().to_owned(),
            processes: self.processes,
            transaction_length: self.transaction_length,
            hang_ns: self.hang_ns,
            seed: self.seed,
            read_percent: match self.mode {
                Mode::Io { read_percent } => Some(read_percent),
                _ => None,
            },
            writers: match self.mode {
                Mode::ReadersWriters { writers } => Some(writers),
                _ => None,
            },
            ladder: None,
        }
    }

    pub(crate) fn pool_plan(&self, most_processes: u32, numbers: WorkerNumbers) -> DbPoolPlan {
        DbPoolPlan {
            mode: self.mode,
            workers: most_processes,
            numbers,
            transaction_length: self.transaction_length,
            hang: Duration::from_nanos(self.hang_ns),
            seed: self.seed,
        }
    }
}

fn counted(n: u32, noun: &str) -> String {
    let s = if n == 1 { "" } else { "s" };
    format!("{n} {noun}{s}")
}

/// What a host's workers report in addition to their windows.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DbReport {
    /// The first fault, with the worker's number. All workers of the host have ended because of it.
    pub fault: Option<(u32, DbError)>,
    /// Why there are fewer workers than a search requested.
    pub refused: Option<DbError>,
    /// Why all workers were ended early: a disk has reached its free-space reserve.
    pub no_room: Option<DbError>,
    /// The number of each worker and its last acknowledged transaction, once they have ended.
    pub acknowledged: Vec<(u32, u64)>,
}

impl DbReport {
    /// Returns the same with the host's name in messages.
    pub(crate) fn named(self, host: &str) -> Self {
        let named = |error: DbError| error.on_host(host);
        Self {
            fault: self.fault.map(|(worker, error)| (worker, named(error))),
            refused: self.refused.map(named),
            no_room: self.no_room.map(named),
            acknowledged: self.acknowledged,
        }
    }

    /// Adds what another host's workers report. Of faults and reasons, the first one stays.
    pub(crate) fn add(&mut self, other: Self) {
        self.fault = self.fault.take().or(other.fault);
        self.refused = self.refused.take().or(other.refused);
        self.no_room = self.no_room.take().or(other.no_room);
        self.acknowledged.extend(other.acknowledged);
    }
}
