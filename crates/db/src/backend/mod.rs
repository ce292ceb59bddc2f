//! Backends: one file or folder for each kind of database, and a row in [`BACKENDS`].

pub mod gtm;
pub mod postgres;
pub mod rocksdb;
pub mod sqlite;

use crate::blocks::Blocks;
use crate::counts::WorkerCounts;
use crate::error::DbError;
use crate::exclusive_lock::ExclusiveLock;
use crate::progress::Progress;
use crate::url::{DbUrl, is_word};
use serde::{Deserialize, Serialize};
use std::fmt::Debug;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Every backend.
pub const BACKENDS: &[BackendInfo] = &[sqlite::INFO, postgres::INFO, rocksdb::INFO, gtm::INFO];

/// A kind of database.
#[derive(Debug)]
pub struct BackendInfo {
    /// The part of its URLs before the first colon.
    pub name: &'static str,
    /// An example of its URL.
    pub url: &'static str,
    /// What it is, in a line.
    pub about: &'static str,
    /// Settings that its URLs may have after the question mark.
    pub settings: &'static [Setting],
    /// Why it cannot be used here: it is not built in, or programs are missing. `None` if it can.
    pub absent: fn() -> Option<String>,
    /// Opens the database of a URL of this backend. Nothing is made or changed; the database need not
    /// exist. Fails if a setting is unknown or no server answers.
    pub open: fn(&DbUrl) -> Result<Box<dyn Database>, DbError>,
}

/// A setting of a backend.
#[derive(Debug, Clone, Copy)]
pub struct Setting {
    pub key: &'static str,
    /// Its default value.
    pub default: &'static str,
    pub help: &'static str,
}

/// Finds a backend by its name.
///
/// # Errors
/// An unknown name, and a backend that cannot be used here.
pub fn backend(name: &str) -> Result<&'static BackendInfo, DbError> {
    let Some(info) = BACKENDS.iter().find(|info| info.name == name) else {
        let names: Vec<&str> = BACKENDS.iter().map(|info| info.url).collect();
        // Text that is not a plain word may be part of a URL with a password.
        let what = if is_word(name) { format!("\"{name}:\"") } else { "that".to_owned() };
        return Err(DbError::Usage(format!(
            "{what} is no database that iogauge knows; hint: use {}",
            names.join(", ")
        )));
    };
    match (info.absent)() {
        Some(why) => Err(DbError::Absent(why)),
        None => Ok(info),
    }
}

/// Opens the database of a URL.
///
/// # Errors
/// As [`backend`], and if a setting is unknown or no server answers.
pub fn open(url: &DbUrl) -> Result<Box<dyn Database>, DbError> {
    let info = backend(&url.backend)?;
    if let Some(key) = url.settings.keys().find(|key| !info.settings.iter().any(|s| s.key == **key))
    {
        let known: Vec<&str> = info.settings.iter().map(|setting| setting.key).collect();
        let which = if key.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_') {
            format!(" \"{key}\"")
        } else {
            " of that name".to_owned()
        };
        return Err(DbError::Usage(format!(
            "{} has no setting{which}; hint: use {}",
            info.name,
            known.join(", ")
        )));
    }
    (info.open)(url)
}

/// A global: a numbered tree of subscripts 1, 2, 3 …
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Global {
    /// Its number, from 1 without gaps.
    pub number: u32,
    /// How many subscripts it was made with.
    pub subscripts: u64,
    /// Length of the value under each, in bytes.
    pub value_bytes: usize,
}

/// Facts about an existing database.
#[derive(Debug, Clone, PartialEq)]
pub struct About {
    /// The software and its version: `SQLite 3.50.2`.
    pub software: String,
    /// Bytes of a block, the unit of its cache and of its reads.
    pub block_bytes: u64,
    /// Whether a commit returns before the log is on the device, and what a crash may then cost. `None`
    /// where a commit waits for its log.
    pub may_lose: Option<String>,
    /// Settings that affect a result, as the database reports them: name and value.
    pub settings: Vec<(String, String)>,
}

/// Sizes on the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Size {
    /// Bytes of everything, the log excluded.
    pub data_bytes: u64,
    /// Bytes of the log.
    pub log_bytes: u64,
}

/// A place on this machine that setup and new globals write to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FillPlace {
    /// A folder, which need not exist yet.
    pub path: PathBuf,
    /// Largest number of bytes it takes, however many are filled; `None` if it takes all of them.
    pub most_bytes: Option<u64>,
}

/// Bytes that are stored for a subscript in addition to its value.
const SUBSCRIPT_BYTES: u64 = 20;

/// What a backend has to know of a run before it starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunPlan {
    /// Largest number of active workers. Worker `n` alone writes to global `n`.
    pub workers: u32,
    /// True where blocks are read.
    pub reads: bool,
    /// True where subscripts are updated.
    pub writes: bool,
}

/// A database, which need not exist yet.
pub trait Database: Debug + Send + Sync {
    /// Makes the database with this many bytes of blocks. Their data does not compress: blocks of
    /// zeros, or blocks never written, would be read without the device. Reports progress in bytes.
    ///
    /// # Errors
    /// [`DbError::Foreign`] if something exists there already; [`DbError::Full`], after everything that
    /// was made has been removed; [`DbError::ReadOnly`].
    fn setup(&self, size_bytes: u64, progress: &mut Progress<'_>) -> Result<(), DbError>;

    /// True if setup made it.
    ///
    /// # Errors
    /// Where that cannot be found out.
    fn is_there(&self) -> Result<bool, DbError>;

    /// Facts about it.
    ///
    /// # Errors
    /// [`DbError::Missing`] where it is not there.
    fn about(&self) -> Result<About, DbError>;

    /// Its globals as they were made, ordered by number.
    ///
    /// # Errors
    /// [`DbError::Missing`] where it is not there.
    fn globals(&self) -> Result<Vec<Global>, DbError>;

    /// Makes the global of the next number and fills every subscript with its initial value, in the
    /// fastest way that the database has. Reports progress in subscripts. An interrupted global is
    /// removed.
    ///
    /// # Errors
    /// As [`Self::setup`].
    fn create_global(&self, global: Global, progress: &mut Progress<'_>) -> Result<(), DbError>;

    /// Places that setup and new globals write to, known before setup too. Empty if they are on another
    /// machine or cannot be found. Usually the database's own directory.
    ///
    /// # Errors
    /// Where that cannot be found out.
    fn fill_places(&self) -> Result<Vec<FillPlace>, DbError> {
        let path = self.acknowledged_path().and_then(|path| Some(path.parent()?.to_owned()));
        Ok(path.into_iter().map(|path| FillPlace { path, most_bytes: None }).collect())
    }

    /// Approximate size on the disk of a new subscript with a value of `value_bytes` bytes.
    fn subscript_bytes(&self, value_bytes: u64) -> u64 {
        value_bytes + SUBSCRIPT_BYTES
    }

    /// Walks a global in order and calls `see` with each subscript and its value.
    ///
    /// # Errors
    /// If it cannot be read; any error of `see`.
    fn walk(
        &self,
        global: u32,
        see: &mut (dyn FnMut(u64, &str) -> Result<(), DbError> + Send),
    ) -> Result<(), DbError>;

    /// Walks a global and counts its subscripts.
    ///
    /// # Errors
    /// As [`Self::walk`].
    fn count_subscripts(&self, global: u32) -> Result<u64, DbError> {
        let mut count = 0;
        self.walk(global, &mut |_, _| {
            count += 1;
            Ok(())
        })?;
        Ok(count)
    }

    /// The last committed transaction of each worker, ordered by worker.
    ///
    /// # Errors
    /// Where it cannot be read.
    fn committed(&self) -> Result<Vec<(u32, u64)>, DbError>;

    /// Its size on the disk.
    ///
    /// # Errors
    /// Where that cannot be found out.
    fn size(&self) -> Result<Size, DbError>;

    /// Its files and folders on this machine, whose devices are counted. Empty if they are on another
    /// machine or cannot be found.
    ///
    /// # Errors
    /// Where that cannot be found out.
    fn paths(&self) -> Result<Vec<PathBuf>, DbError>;

    /// The file that records acknowledged transactions; `None` for a database without a directory of
    /// its own on this machine.
    fn acknowledged_path(&self) -> Option<PathBuf> {
        None
    }

    /// A unique identifier of this database. It is removed with the database.
    ///
    /// # Errors
    /// [`DbError::Missing`] where it is not there.
    fn identity(&self) -> Result<String, DbError>;

    /// Locks the database for a run, and starts the write daemon if iogauge provides it. No other run
    /// can use the database until the value is dropped.
    ///
    /// # Errors
    /// [`DbError::Busy`] where another run has it; where it is not there or cannot be written.
    fn begin(&self, plan: &RunPlan) -> Result<Box<dyn Activity>, DbError>;

    /// Locks the database against runs, for a check that needs unchanging data. Waits a moment for
    /// processes that a killed run left behind. Needs the same rights as a walk.
    ///
    /// # Errors
    /// [`DbError::Busy`] where a run has it; where it is not there.
    fn hold(&self) -> Result<ExclusiveLock, DbError>;

    /// Removes what setup and creating globals made, and nothing else.
    ///
    /// # Errors
    /// [`DbError::Foreign`] where it is not ours; [`DbError::Busy`] where a run has it.
    fn purge(&self) -> Result<Purged, DbError>;
}

/// The result of a purge.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Purged {
    /// Bytes that were freed.
    pub freed_bytes: u64,
    /// What was not removed because iogauge did not make it.
    pub left: Vec<String>,
}

/// A run on a database. Dropping it stops the write daemon and unlocks the database.
pub trait Activity: Send + Sync {
    /// The writer of one worker, which updates the global of the worker's number. Called before
    /// anything is measured, in the worker's own thread. If the database has a directory of its own,
    /// the thread can write only there from then on.
    ///
    /// # Errors
    /// If no connection can be made.
    fn writer(&self, worker: WorkerPlan) -> Result<Box<dyn Writer>, DbError>;

    /// The blocks that are read at random.
    ///
    /// # Errors
    /// Where they cannot be reached.
    fn blocks(&self) -> Result<Blocks, DbError>;

    /// The database's own counts so far. Those of workers may be complete only after they have ended.
    ///
    /// # Errors
    /// Where they cannot be read.
    fn counts(&self) -> Result<Counts, DbError>;

    /// Rounds of its write daemon since the previous call.
    ///
    /// # Errors
    /// Where that cannot be read.
    fn cycles(&self) -> Result<Vec<Cycle>, DbError>;

    /// Closes the connections or ends the processes that workers may be waiting for, so that they
    /// return with a fault. Called at the end of a run if some workers do not return.
    fn abandon(&self) {}

    /// Waits until everything committed is in the data files and the write daemon is idle.
    ///
    /// # Errors
    /// If it cannot be requested.
    fn drain(&self) -> Result<(), DbError>;
}

/// The plan of one worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WorkerPlan {
    /// Its number, from 1.
    pub worker: u32,
    /// Its global, of the same number.
    pub global: Global,
    /// Number of its last committed transaction; the next one gets the following number.
    pub sequence: u64,
    /// State of its subscript stream.
    pub draws_state: u64,
    /// Updates in a transaction, at least 1.
    pub transaction_length: u32,
}

/// An order to a writer.
#[derive(Debug, Clone, Copy)]
pub struct Order {
    /// Largest number of transactions, at least 1.
    pub transactions: u32,
    /// No transaction starts after this moment.
    pub until: Instant,
}

/// Does the transactions of one worker.
pub trait Writer: Send {
    /// Does transactions. Each updates subscripts of the worker's stream, and the worker's record with
    /// the transaction's number. Counts each update and each commit. Returns the number of the last
    /// committed transaction.
    ///
    /// # Errors
    /// The first fault. The current transaction is then not acknowledged.
    fn work(&mut self, order: &Order, counts: &mut WorkerCounts) -> Result<u64, DbError>;
}

/// The database's own counts, which are compared with those of iogauge.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Counts {
    /// Updates of subscripts, if it counts them.
    pub updates: Option<u64>,
    /// Committed transactions, if it counts them.
    pub commits: Option<u64>,
    /// Blocks it requested from the system, if it counts them.
    pub blocks_read: Option<u64>,
    /// Blocks it found in its cache, if it counts them.
    pub blocks_hit: Option<u64>,
    /// Blocks that its write daemon and others wrote, if it counts them.
    pub blocks_written: Option<u64>,
    /// Bytes written to its log, if it counts them.
    pub log_bytes: Option<u64>,
    /// Other counts: a name that ends with its unit, and a count that only grows.
    pub others: Vec<(&'static str, u64)>,
}

/// One round of a write daemon.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cycle {
    /// When it ended.
    pub ended: Instant,
    /// How long it took.
    pub took: Duration,
    /// Blocks it wrote.
    pub blocks: u64,
}
