//! Kinds of databases: one file or folder each, and a row in [`BACKENDS`].

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
    /// What stands before the first colon of its URLs.
    pub name: &'static str,
    /// How a URL looks.
    pub url: &'static str,
    /// What it is, in a line.
    pub about: &'static str,
    /// What may stand behind the question mark of its URLs.
    pub settings: &'static [Setting],
    /// Why it cannot be used here, where it cannot: not built in, or programs that are missing.
    pub absent: fn() -> Option<String>,
    /// Opens what a URL names, whose backend is this one. Nothing is made or changed; the database need
    /// not be there yet. Fails where a setting is unknown, or no server answers.
    pub open: fn(&DbUrl) -> Result<Box<dyn Database>, DbError>,
}

/// A setting of a backend.
#[derive(Debug, Clone, Copy)]
pub struct Setting {
    pub key: &'static str,
    /// What it is without being set.
    pub default: &'static str,
    pub help: &'static str,
}

/// The backend of this name.
///
/// # Errors
/// An unknown name, and a backend that cannot be used here.
pub fn backend(name: &str) -> Result<&'static BackendInfo, DbError> {
    let Some(info) = BACKENDS.iter().find(|info| info.name == name) else {
        let names: Vec<&str> = BACKENDS.iter().map(|info| info.url).collect();
        // What is no word may be a part of a URL with a password.
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

/// Opens what a URL names.
///
/// # Errors
/// As [`backend`], and where a setting is unknown or no server answers.
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

/// What is known of a database that is there.
#[derive(Debug, Clone, PartialEq)]
pub struct About {
    /// The software and its version: `SQLite 3.50.2`.
    pub software: String,
    /// Bytes of a block, the unit of its cache and of its reads.
    pub block_bytes: u64,
    /// Whether a commit returns before the log is on the device, and what a crash may then cost. `None`
    /// where a commit waits for its log.
    pub may_lose: Option<String>,
    /// Settings that matter to a result, as the database itself tells them: name and value.
    pub settings: Vec<(String, String)>,
}

/// What lies on the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Size {
    /// Bytes of everything, the log excluded.
    pub data_bytes: u64,
    /// Bytes of the log.
    pub log_bytes: u64,
}

/// Where on this machine filling writes to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FillPlace {
    /// A folder; it need not be there yet.
    pub path: PathBuf,
    /// It takes no more bytes than this, however many are filled; `None` where it takes all of them.
    pub most_bytes: Option<u64>,
}

/// What is stored beside a value for its subscript, in bytes.
const SUBSCRIPT_BYTES: u64 = 20;

/// What a run is to do, as far as a backend has to know before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunPlan {
    /// Most workers that will be at work. TransactionWorker `n` has global `n` for itself, where it writes.
    pub workers: u32,
    /// True where blocks are read.
    pub reads: bool,
    /// True where subscripts are updated.
    pub writes: bool,
}

/// A database, there or not yet there.
pub trait Database: Debug + Send + Sync {
    /// Makes the database with so many bytes of blocks that hold data which does not compress: blocks of
    /// zeros, or ones never written, would be read without the device. Tells bytes.
    ///
    /// # Errors
    /// [`DbError::Foreign`] where there is something there already; [`DbError::Full`] (what was made is
    /// gone again), [`DbError::ReadOnly`].
    fn setup(&self, size_bytes: u64, progress: &mut Progress<'_>) -> Result<(), DbError>;

    /// True where setup made it.
    ///
    /// # Errors
    /// Where that cannot be found out.
    fn is_there(&self) -> Result<bool, DbError>;

    /// What it is.
    ///
    /// # Errors
    /// [`DbError::Missing`] where it is not there.
    fn about(&self) -> Result<About, DbError>;

    /// Its globals as they were made, by number.
    ///
    /// # Errors
    /// [`DbError::Missing`] where it is not there.
    fn globals(&self) -> Result<Vec<Global>, DbError>;

    /// Makes a global, of the next number, by the fastest way there is to fill one: every subscript with
    /// its initial value. Tells subscripts. One that is interrupted is gone again.
    ///
    /// # Errors
    /// As [`Self::setup`].
    fn create_global(&self, global: Global, progress: &mut Progress<'_>) -> Result<(), DbError>;

    /// Where setup and globals write to, before setup, too; empty where that is elsewhere or not to be
    /// found. Usually the directory of its own.
    ///
    /// # Errors
    /// Where that cannot be found out.
    fn fill_places(&self) -> Result<Vec<FillPlace>, DbError> {
        let path = self.acknowledged_path().and_then(|path| Some(path.parent()?.to_owned()));
        Ok(path.into_iter().map(|path| FillPlace { path, most_bytes: None }).collect())
    }

    /// About what a subscript of a new global takes on the disk with a value of so many bytes.
    fn subscript_bytes(&self, value_bytes: u64) -> u64 {
        value_bytes + SUBSCRIPT_BYTES
    }

    /// Walks a global in order and shows each subscript with its value. Tells subscripts.
    ///
    /// # Errors
    /// Where it cannot be read; whatever `see` says.
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

    /// The last transaction of each worker that is committed, by worker.
    ///
    /// # Errors
    /// Where it cannot be read.
    fn committed(&self) -> Result<Vec<(u32, u64)>, DbError>;

    /// How much lies on the disk.
    ///
    /// # Errors
    /// Where that cannot be found out.
    fn size(&self) -> Result<Size, DbError>;

    /// Files and folders of this machine that it is kept in, for the counters of their devices; empty
    /// where they are elsewhere or not to be found.
    ///
    /// # Errors
    /// Where that cannot be found out.
    fn paths(&self) -> Result<Vec<PathBuf>, DbError>;

    /// Where acknowledged transactions are noted; `None` for a database that is not in a directory of
    /// its own on this machine.
    fn acknowledged_path(&self) -> Option<PathBuf> {
        None
    }

    /// A word that tells this database from any other that was or will be made: it goes when the
    /// database goes.
    ///
    /// # Errors
    /// [`DbError::Missing`] where it is not there.
    fn identity(&self) -> Result<String, DbError>;

    /// Takes the database for a run: no other run can have it meanwhile. Starts the write daemon, where
    /// that is ours to start.
    ///
    /// # Errors
    /// [`DbError::Busy`] where another run has it; where it is not there or cannot be written.
    fn begin(&self, plan: &RunPlan) -> Result<Box<dyn Activity>, DbError>;

    /// Keeps runs out, without being one: for a look at what nobody may change meanwhile. Waits a moment
    /// for what a killed run left behind. Needs no more rights than a walk.
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

/// What became of a purge.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Purged {
    /// Bytes that are free again.
    pub freed_bytes: u64,
    /// What stays since iogauge did not make it.
    pub left: Vec<String>,
}

/// A run on a database. Dropped, it ends the write daemon and gives the database back.
pub trait Activity: Send + Sync {
    /// A worker's hands for updates of the global of its own number. Called before anything is measured,
    /// in the thread that the worker then works in: where the database is in a directory of its own, the thread
    /// may write nothing else from then on.
    ///
    /// # Errors
    /// Where no connection is to be had.
    fn writer(&self, worker: WorkerPlan) -> Result<Box<dyn Writer>, DbError>;

    /// Where random blocks are read.
    ///
    /// # Errors
    /// Where they cannot be reached.
    fn blocks(&self) -> Result<Blocks, DbError>;

    /// The database's own counts so far; those of workers may come when they have ended.
    ///
    /// # Errors
    /// Where they cannot be read.
    fn counts(&self) -> Result<Counts, DbError>;

    /// What its write daemon did since the last time this was asked.
    ///
    /// # Errors
    /// Where that cannot be read.
    fn cycles(&self) -> Result<Vec<Cycle>, DbError>;

    /// Ends what workers may be waiting for in the database, connections or processes, so that they come back
    /// with a fault. Called where a run is over and some do not come back by themselves.
    fn abandon(&self) {}

    /// Waits until everything that was committed is in the data files and the write daemon rests.
    ///
    /// # Errors
    /// Where it cannot be asked for.
    fn drain(&self) -> Result<(), DbError>;
}

/// What a worker is told before it begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WorkerPlan {
    /// Its number, from 1.
    pub worker: u32,
    /// Its global, of the same number.
    pub global: Global,
    /// Its last transaction that is committed; the next one has the number behind it.
    pub sequence: u64,
    /// State of its draws.
    pub draws_state: u64,
    /// Updates in a transaction, at least 1.
    pub transaction_length: u32,
}

/// What a worker is asked to do next.
#[derive(Debug, Clone, Copy)]
pub struct Order {
    /// Transactions at most, at least 1.
    pub transactions: u32,
    /// None begins after this.
    pub until: Instant,
}

/// A worker's hands on a database.
pub trait Writer: Send {
    /// Does transactions, each of so many updates of drawn subscripts and of the worker's record, which
    /// notes the transaction's number. WorkerCounts each update and each commit. Returns the number of the last
    /// transaction that is committed.
    ///
    /// # Errors
    /// The first fault: the transaction under way is not acknowledged.
    fn work(&mut self, order: &Order, counts: &mut WorkerCounts) -> Result<u64, DbError>;
}

/// The database's own counts, to hold iogauge's against.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Counts {
    /// Updates of subscripts, where it counts them.
    pub updates: Option<u64>,
    /// Transactions committed, where it counts them.
    pub commits: Option<u64>,
    /// Blocks it asked the system for, where it counts them.
    pub blocks_read: Option<u64>,
    /// Blocks it had in its cache, where it counts them.
    pub blocks_hit: Option<u64>,
    /// Blocks its write daemon and others handed to the system, where it counts them.
    pub blocks_written: Option<u64>,
    /// Bytes that went to its log, where it counts them.
    pub log_bytes: Option<u64>,
    /// Anything else worth showing: name with its unit last, and a count that only grows.
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
