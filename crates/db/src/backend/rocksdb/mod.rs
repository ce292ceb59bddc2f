//! RocksDB: a column family for each global, one that setup fills, and the worker records in the default column family.
//!
//! Keys are subscripts in eight bytes, big-endian. A transaction is one batch, which includes the worker's record.
//! Nothing is compressed unless the settings say so. Data files, log and everything else are in the folder of the
//! database, under RocksDB's own names.
//!
//! Built in with the Cargo feature `rocksdb`, against the system's library.

#[cfg(feature = "rocksdb")]
mod activity;
#[cfg(feature = "rocksdb")]
mod blocks;
#[cfg(feature = "rocksdb")]
mod bulk;
#[cfg(feature = "rocksdb")]
mod database;
#[cfg(feature = "rocksdb")]
mod events;
#[cfg(feature = "rocksdb")]
mod fault;
#[cfg(feature = "rocksdb")]
mod files;
#[cfg(feature = "rocksdb")]
mod library;
#[cfg(feature = "rocksdb")]
mod settings;
#[cfg(feature = "rocksdb")]
mod statistics;
#[cfg(feature = "rocksdb")]
mod writer;

use crate::backend::{BackendInfo, Database, Setting};
use crate::error::DbError;
use crate::url::DbUrl;

/// The row of this backend.
pub const INFO: BackendInfo = BackendInfo {
    name: "rocksdb",
    url: "rocksdb:DIR",
    about: "RocksDB in a directory: log-structured merge trees, a column family for each global",
    is_server: false,
    is_directory: true,
    settings: SETTINGS,
    absent,
    open,
};

const SETTINGS: &[Setting] = &[
    Setting {
        key: "synchronous",
        default: "full",
        help: "full: each commit waits until its log is on the device; off: the system writes it some time",
    },
    Setting {
        key: "direct",
        default: "yes",
        help: "yes: data files are read and written around the page cache; no: through it",
    },
    Setting {
        key: "block",
        default: "8k",
        help: "bytes of a block, 1k to 1m; a database keeps those of its setup",
    },
    Setting {
        key: "compression",
        default: "none",
        help: "none, or what this RocksDB was built with: snappy, lz4, zstd, zlib",
    },
    Setting { key: "cache", default: "64m", help: "block cache that all globals share" },
    Setting {
        key: "memtable",
        default: "64m",
        help: "updates of a global that memory holds before they are flushed into a file",
    },
    Setting {
        key: "wal",
        default: "512m",
        help: "log at most: memtables that keep more than that are flushed before they are full",
    },
    Setting { key: "jobs", default: "2", help: "flushes and compactions at the same time" },
];

#[cfg(feature = "rocksdb")]
fn absent() -> Option<String> {
    None
}

#[cfg(not(feature = "rocksdb"))]
fn absent() -> Option<String> {
    Some(
        "this iogauge is built without RocksDB; hint: run source scripts/rocksdb-env.sh, then cargo \
         build --release -p iogauge --features rocksdb (packages librocksdb-dev and libclang-dev)"
            .to_owned(),
    )
}

#[cfg(feature = "rocksdb")]
fn open(url: &DbUrl) -> Result<Box<dyn Database>, DbError> {
    database::RocksDb::open(url)
}

#[cfg(not(feature = "rocksdb"))]
fn open(_: &DbUrl) -> Result<Box<dyn Database>, DbError> {
    Err(DbError::Absent(absent().unwrap_or_default()))
}
