//! Terms for what a measurement counts and varies.

use crate::limit::Limit;

/// What is measured: I/Os of a device or file at a queue depth, or operations of a database by a number of
/// processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Vocabulary {
    #[default]
    Device,
    Database,
}

impl Vocabulary {
    /// Returns the terms of a database if `is_database` is true, otherwise those of a device or file.
    #[must_use]
    pub const fn of_database(is_database: bool) -> Self {
        if is_database { Self::Database } else { Self::Device }
    }

    /// Returns the plural of what is counted: `I/Os`.
    #[must_use]
    pub const fn ios(self) -> &'static str {
        match self {
            Self::Device => "I/Os",
            Self::Database => "operations",
        }
    }

    /// Returns the singular of what is counted: `I/O`.
    #[must_use]
    pub const fn io(self) -> &'static str {
        match self {
            Self::Device => "I/O",
            Self::Database => "operation",
        }
    }

    /// Returns the unit of the rate: `IOPS`.
    #[must_use]
    pub const fn iops(self) -> &'static str {
        match self {
            Self::Device => "IOPS",
            Self::Database => "operations/s",
        }
    }

    /// Formats a queue depth or a number of processes: `queue depth 8`, `8 processes`.
    #[must_use]
    pub fn amount(self, queue_depth: u32) -> String {
        match (self, queue_depth) {
            (Self::Device, n) => format!("queue depth {n}"),
            (Self::Database, 1) => "1 process".to_owned(),
            (Self::Database, n) => format!("{n} processes"),
        }
    }

    /// Formats two of them: `queue depths 8 and 16`, `8 and 16 processes`.
    #[must_use]
    pub fn amounts(self, one: u32, other: u32) -> String {
        match self {
            Self::Device => format!("queue depths {one} and {other}"),
            Self::Database => format!("{one} and {other} processes"),
        }
    }

    /// Formats the amount with a preposition: `at queue depth 8`, `with 8 processes`.
    #[must_use]
    pub fn at(self, queue_depth: u32) -> String {
        let preposition = match self {
            Self::Device => "at",
            Self::Database => "with",
        };
        format!("{preposition} {}", self.amount(queue_depth))
    }

    /// Formats the amount with the form of a verb that agrees with it: `queue depth 8 gives`, `8 processes give`.
    #[must_use]
    pub fn clause(self, queue_depth: u32, one: &str, several: &str) -> String {
        let verb = match (self, queue_depth) {
            (Self::Device, _) | (_, 1) => one,
            _ => several,
        };
        format!("{} {verb}", self.amount(queue_depth))
    }

    /// Returns the statistic of a limit as the user types it: `sync:p99`, for a database `commit:p99`.
    #[must_use]
    pub fn statistic(self, limit: &Limit) -> String {
        match self {
            Self::Device => limit.statistic(),
            Self::Database => limit.database_statistic(),
        }
    }
}
