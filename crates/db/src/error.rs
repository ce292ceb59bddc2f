//! Errors of databases.

/// An error. Its message is one line with the fact, the location and a hint. It never contains a password.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
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
}
