//! Backends: a file or folder for each kind of database, and a row in [`BACKENDS`].

pub mod gtm;
pub mod iris;
mod m;
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
pub const BACKENDS: &[BackendInfo] =
    &[sqlite::INFO, postgres::INFO, rocksdb::INFO, gtm::INFO, iris::INFO];

/// A kind of database.
#[derive(Debug)]
pub struct BackendInfo {
    /// The part of its URLs before the first colon.
    pub name: &'static str,
    /// An example of its URL.
    pub url: &'static str,
    /// A description in one line.
    pub about: &'static str,
    /// True if a server has its databases, so that several hosts can use one together.
    pub is_server: bool,
    /// True if the place in its URLs is a directory.
    pub is_directory: bool,
    /// Settings that its URLs may have after the question mark.
    pub settings: &'static [Setting],
    /// Returns why it cannot be used here (not built in, or programs missing); `None` if it can.
    pub absent: fn() -> Option<String>,
    /// Opens the database of a URL of this backend, which need not exist. Creates and changes nothing. Fails if a
    /// setting is unknown or no server answers.
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
/// Fails if the name is unknown or the backend cannot be used here.
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
/// As [`backend`]. Also fails if a setting is unknown or no server answers.
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
    /// Its number. Numbers start at 1 and have no gaps.
    pub number: u32,
    /// Number of subscripts it was created with.
    pub subscripts: u64,
    /// Length of each value, in bytes.
    pub value_bytes: usize,
}

/// Facts about an existing database.
#[derive(Debug, Clone, PartialEq)]
pub struct About {
    /// The software and its version, such as `SQLite 3.50.2`.
    pub software: String,
    /// Size of a block, the unit of its cache and of its reads, in bytes.
    pub block_bytes: u64,
    /// What a crash may lose because a commit returns before the log is on the device. `None` if a commit waits for its
    /// log.
    pub may_lose: Option<String>,
    /// Settings that affect a result, as the database reports them: name and value.
    pub settings: Vec<(String, String)>,
}

/// Sizes on the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Size {
    /// Bytes of everything except the log.
    pub data_bytes: u64,
    /// Bytes of the log.
    pub log_bytes: u64,
}

/// A place on this machine that setup and new globals write to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FillPlace {
    /// A folder, which need not exist yet.
    pub path: PathBuf,
    /// Maximum number of bytes written there, however many are filled; `None` if everything is written there.
    pub most_bytes: Option<u64>,
}

/// Bytes stored for a subscript in addition to its value.
const SUBSCRIPT_BYTES: u64 = 20;

/// What a backend needs to know about a run before it starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunPlan {
    /// Maximum number of workers that update subscripts. Only worker `n` writes to global `n`.
    pub writers: u32,
    /// True if blocks are read.
    pub reads: bool,
}

/// A database, which need not exist yet.
pub trait Database: Debug + Send + Sync {
    /// Creates the database with `size_bytes` of blocks. Their data is incompressible: blocks of zeros, or blocks never
    /// written, would be read without access to the device. Reports progress in bytes.
    ///
    /// # Errors
    /// Returns [`DbError::Foreign`] if something already exists there; [`DbError::Full`], after everything created has
    /// been removed; or [`DbError::ReadOnly`].
    fn setup(&self, size_bytes: u64, progress: &mut Progress<'_>) -> Result<(), DbError>;

    /// Returns true if the database was created by setup.
    ///
    /// # Errors
    /// Fails if that cannot be determined.
    fn is_there(&self) -> Result<bool, DbError>;

    /// Returns facts about the database.
    ///
    /// # Errors
    /// Returns [`DbError::Missing`] if it does not exist.
    fn about(&self) -> Result<About, DbError>;

    /// Returns its globals as they were created, ordered by number.
    ///
    /// # Errors
    /// Returns [`DbError::Missing`] if it does not exist.
    fn globals(&self) -> Result<Vec<Global>, DbError>;

    /// Creates the global with the next number and sets every subscript to its initial value, in the fastest way that
    /// the database offers. Reports progress in subscripts. If it is interrupted, the global is removed.
    ///
    /// # Errors
    /// As [`Self::setup`].
    fn create_global(&self, global: Global, progress: &mut Progress<'_>) -> Result<(), DbError>;

    /// Removes every global and the records of the workers. The database is then as after setup. If it is interrupted,
    /// no global is left, and creating globals removes what is left of them.
    ///
    /// # Errors
    /// Returns [`DbError::Busy`] if a run uses the database. Also fails if it does not exist or cannot be written.
    fn drop_globals(&self) -> Result<(), DbError>;

    /// Returns the places that setup and new globals write to, also before setup. Empty if they are on another machine
    /// or cannot be found. The default is the database's own directory.
    ///
    /// # Errors
    /// Fails if that cannot be determined.
    fn fill_places(&self) -> Result<Vec<FillPlace>, DbError> {
        let path = self.acknowledged_path().and_then(|path| Some(path.parent()?.to_owned()));
        Ok(path.into_iter().map(|path| FillPlace { path, most_bytes: None }).collect())
    }

    /// Returns the approximate size on disk of a new subscript with a value of `value_bytes` bytes.
    fn subscript_bytes(&self, value_bytes: u64) -> u64 {
        value_bytes + SUBSCRIPT_BYTES
    }

    /// Walks a global in order and calls `see` with each subscript and its value.
    ///
    /// # Errors
    /// Fails if it cannot be read. Returns any error of `see`.
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

    /// Returns the last committed transaction of each worker, ordered by worker.
    ///
    /// # Errors
    /// Fails if it cannot be read.
    fn committed(&self) -> Result<Vec<(u32, u64)>, DbError>;

    /// Returns its size on disk.
    ///
    /// # Errors
    /// Fails if that cannot be determined.
    fn size(&self) -> Result<Size, DbError>;

    /// Returns its files and folders on this machine, whose devices are counted. Empty if they are on another machine
    /// or cannot be found.
    ///
    /// # Errors
    /// Fails if that cannot be determined.
    fn paths(&self) -> Result<Vec<PathBuf>, DbError>;

    /// Returns the file that records acknowledged transactions; `None` for a database without a directory of its own on
    /// this machine.
    fn acknowledged_path(&self) -> Option<PathBuf> {
        None
    }

    /// Returns a unique identifier of this database, which is removed with it.
    ///
    /// # Errors
    /// Returns [`DbError::Missing`] if it does not exist.
    fn identity(&self) -> Result<String, DbError>;

    /// Locks the database for a run, and starts the write daemon if iogauge provides it. Until the returned value is
    /// dropped, the database cannot be removed, and no other run can write to it. Any number of runs can read.
    ///
    /// # Errors
    /// Returns [`DbError::Busy`] if another run writes to it. Also fails if it does not exist or cannot be written.
    fn begin(&self, plan: &RunPlan) -> Result<Box<dyn Activity>, DbError>;

    /// Joins a run that another host has begun and shared. Locks the database until the returned value is dropped, as
    /// that host does.
    ///
    /// # Errors
    /// As [`Self::begin`]. The default is that only one host can use it.
    fn join(&self, _plan: &RunPlan) -> Result<Box<dyn Activity>, DbError> {
        Err(one_host())
    }

    /// Locks the database against runs that write, for a check that needs unchanging data. Waits a moment for processes
    /// that a killed run left behind. Needs the same rights as a walk.
    ///
    /// # Errors
    /// Returns [`DbError::Busy`] if a run uses it. Also fails if it does not exist.
    fn hold(&self) -> Result<ExclusiveLock, DbError>;

    /// Removes what setup and creating globals made, and nothing else.
    ///
    /// # Errors
    /// Returns [`DbError::Foreign`] if it is not ours, or [`DbError::Busy`] if a run writes to it or reads it.
    fn purge(&self) -> Result<Purged, DbError>;
}

fn one_host() -> DbError {
    DbError::Usage("one host at a time can use this database; hint: use one host".to_owned())
}

/// The result of a purge.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Purged {
    /// Freed space, in bytes.
    pub freed_bytes: u64,
    /// Files that were not removed because iogauge did not make them.
    pub left: Vec<String>,
}

/// A run on a database. Dropping it stops the write daemon and unlocks the database.
pub trait Activity: Send + Sync {
    /// Lets other hosts join the run. Other runs still cannot write.
    ///
    /// # Errors
    /// Fails if the lock cannot be shared. The default is that only one host can use the database.
    fn share(&self) -> Result<(), DbError> {
        Err(one_host())
    }

    /// Returns the writer of one worker, which updates the global with the worker's number. Called in the worker's own
    /// thread, before anything is measured. If the database has a directory of its own, the thread can only write there
    /// from then on.
    ///
    /// # Errors
    /// Fails if no connection can be made.
    fn writer(&self, worker: WorkerPlan) -> Result<Box<dyn Writer>, DbError>;

    /// Returns the blocks to read at random.
    ///
    /// # Errors
    /// Fails if they are not accessible.
    fn blocks(&self) -> Result<Blocks, DbError>;

    /// Returns the database's own counts so far. Those of workers may only be complete after the workers have ended.
    ///
    /// # Errors
    /// Fails if they cannot be read.
    fn counts(&self) -> Result<Counts, DbError>;

    /// Returns the rounds of its write daemon since the previous call.
    ///
    /// # Errors
    /// Fails if they cannot be read.
    fn cycles(&self) -> Result<Vec<Cycle>, DbError>;

    /// Closes the connections or ends the processes that workers may be waiting for, so that the workers return an
    /// error. Called at the end of a run if some workers do not return.
    fn abandon(&self) {}

    /// Waits until everything committed is in the data files and the write daemon is idle.
    ///
    /// # Errors
    /// Fails if it cannot be requested.
    fn drain(&self) -> Result<(), DbError>;
}

/// The plan of one worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WorkerPlan {
    /// Its number, starting at 1.
    pub worker: u32,
    /// Its global, which has the same number.
    pub global: Global,
    /// Number of its last committed transaction. The next transaction gets the following number.
    pub sequence: u64,
    /// State of its subscript stream.
    pub draws_state: u64,
    /// Number of updates in a transaction, at least 1.
    pub transaction_length: u32,
}

/// An order to a writer.
#[derive(Debug, Clone, Copy)]
pub struct Order {
    /// Maximum number of transactions, at least 1.
    pub transactions: u32,
    /// No transaction starts after this moment.
    pub until: Instant,
}

/// Executes the transactions of one worker.
pub trait Writer: Send {
    /// Executes transactions. Each updates subscripts from the worker's stream, and stores its number in the worker's
    /// record. Counts each update and each commit. Returns the number of the last committed transaction.
    ///
    /// # Errors
    /// Returns the first error. The current transaction is then not acknowledged.
    fn work(&mut self, order: &Order, counts: &mut WorkerCounts) -> Result<u64, DbError>;
}

/// The database's own counts, for comparison with those of iogauge.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Counts {
    /// Updates of subscripts, if the database counts them.
    pub updates: Option<u64>,
    /// Committed transactions, if the database counts them.
    pub commits: Option<u64>,
    /// Blocks requested from the system, if the database counts them.
    pub blocks_read: Option<u64>,
    /// Blocks found in its cache, if the database counts them.
    pub blocks_hit: Option<u64>,
    /// Blocks written by its write daemon and others, if the database counts them.
    pub blocks_written: Option<u64>,
    /// Bytes written to its log, if the database counts them.
    pub log_bytes: Option<u64>,
    /// Other counts, which only grow. Each name ends with its unit.
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
