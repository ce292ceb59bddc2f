//! Errors of databases.

use serde::{Deserialize, Serialize};

/// An error. Its message is one line with the fact, the location and a hint. It never contains a password.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
pub enum DbError {
    /// Wrong usage.
    #[error("{0}")]
    Usage(String),
    /// The database's programs or libraries are not installed, or not built in.
    #[error("{0}")]
    Absent(String),
    /// No server answers.
    #[error("{0}")]
    Unreachable(String),
    /// The server refused the user or password.
    #[error("{0}")]
    Denied(String),
    /// The database does not exist. Setup creates it.
    #[error("{0}")]
    Missing(String),
    /// Something that iogauge did not make exists in the place of the database.
    #[error("{0}")]
    Foreign(String),
    /// Another run uses the database.
    #[error("{0}")]
    Busy(String),
    /// The disk is full.
    #[error("{0}")]
    Full(String),
    /// Filling would leave too little free space on the disk.
    #[error("{0}")]
    NoRoom(String),
    /// The location is read-only.
    #[error("{0}")]
    ReadOnly(String),
    /// The server or a process of the database ended.
    #[error("{0}")]
    Gone(String),
    #[error("interrupted")]
    Interrupted,
    /// Any other error of the database.
    #[error("{0}")]
    Failed(String),
}

impl DbError {
    /// Returns true for wrong usage (exit code 2).
    #[must_use]
    pub fn is_usage(&self) -> bool {
        matches!(self, Self::Usage(_) | Self::Absent(_) | Self::Missing(_))
    }

    /// Returns true for a refusal by a guard (exit code 3).
    #[must_use]
    pub fn is_refusal(&self) -> bool {
        matches!(self, Self::Foreign(_) | Self::Busy(_) | Self::NoRoom(_) | Self::ReadOnly(_))
    }

    /// Returns the same error with the name of the host on which it occurred.
    #[must_use]
    pub fn on_host(self, host: &str) -> Self {
        let named = |message: String| format!("host {host}: {message}");
        match self {
            Self::Usage(message) => Self::Usage(named(message)),
            Self::Absent(message) => Self::Absent(named(message)),
            Self::Unreachable(message) => Self::Unreachable(named(message)),
            Self::Denied(message) => Self::Denied(named(message)),
            Self::Missing(message) => Self::Missing(named(message)),
            Self::Foreign(message) => Self::Foreign(named(message)),
            Self::Busy(message) => Self::Busy(named(message)),
            Self::Full(message) => Self::Full(named(message)),
            Self::NoRoom(message) => Self::NoRoom(named(message)),
            Self::ReadOnly(message) => Self::ReadOnly(named(message)),
            Self::Gone(message) => Self::Gone(named(message)),
            Self::Failed(message) => Self::Failed(named(message)),
            Self::Interrupted => Self::Interrupted,
        }
    }
}
