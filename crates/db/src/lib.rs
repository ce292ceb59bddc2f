//! The database data plane: backends, and the worker that executes transactions on them.
//!
//! A database contains numbered globals, each a tree of numbered subscripts. Workers update random subscripts of a
//! global of their own, one transaction at a time, or read random blocks of the whole database. [`backend`] contains
//! one file or folder for each kind of database. Everything else is common to all of them.

pub mod acknowledged;
pub mod backend;
pub mod blocks;
mod confined_database;
pub mod counts;
pub mod directory;
mod error;
mod exclusive_lock;
pub mod folder;
pub mod fuzzing;
pub mod incompressible;
pub mod marker;
pub mod pool;
mod progress;
mod read_run;
pub mod statement_writer;
pub mod subscript_stream;
pub mod url;
pub mod value;
mod worker;

pub use backend::{BACKENDS, BackendInfo, Database};
pub use error::DbError;
pub use exclusive_lock::ExclusiveLock;
pub use progress::Progress;
pub use url::DbUrl;

/// Features that this crate is built with.
pub const FEATURES: &[&str] = if cfg!(feature = "rocksdb") { &["rocksdb"] } else { &[] };
