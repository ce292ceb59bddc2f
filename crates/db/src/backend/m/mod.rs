//! M databases: what they have in common. Their globals are named `^RanWriteGlobal1(n)`, and processes that run iogauge's
//! routines update them.
//!
//! The routines in `routines` are the same for each of them. A routine `RanDialect` of each database has what differs:
//! the clock, how a transaction begins, errors, and the database's own counts.

pub mod counts;
pub mod process;
pub mod run;
pub mod walk;
pub mod writer;

use crate::error::DbError;
use rustix::process::Signal;
use std::fmt::Debug;
use std::os::fd::AsFd;
use std::process::Command;
use std::time::Duration;

/// The routines that every M database runs, with their names.
pub const ROUTINES: [(&str, &str); 2] = [
    ("RanWalk", include_str!("routines/RanWalk.m")),
    ("RanWorker", include_str!("routines/RanWorker.m")),
];

/// An M database on this machine: how it runs routines, and what its messages mean.
pub trait Installation: Debug + Send + Sync {
    /// Returns its name in messages.
    fn name(&self) -> &'static str;
    /// Returns how a process runs an entry of a routine, such as `count^RanWalk`.
    fn session(&self, entry: &str) -> Session;
    /// Returns the signal that ends a process which does not end by itself.
    fn end_signal(&self) -> Signal {
        Signal::KILL
    }
    /// Returns the error that a routine has answered with.
    fn error(&self, status: &str) -> DbError;
    /// Returns the error in the last output of a process that has ended; `None` if it reports none.
    fn last_error(&self, output: &str) -> Option<DbError>;
}

/// How a process runs an entry of a routine.
#[derive(Debug)]
pub struct Session {
    pub command: Command,
    /// The line on its standard input that starts the routine; `None` if the command does.
    pub first_line: Option<String>,
    /// Maximum wait for its first answer; `None` if it always answers or ends.
    pub greeting: Option<Duration>,
}

/// Capacity of a pipe to or from a program, in bytes: the default maximum for unprivileged users (pipe(7)).
const PIPE: usize = 1 << 20;

/// Enlarges a pipe. If that fails, it is only slower.
pub fn widen(pipe: &impl AsFd) {
    let _ = rustix::pipe::fcntl_setpipe_size(pipe, PIPE);
}
