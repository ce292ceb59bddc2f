//! What can go wrong between iogauge and a database.

/// A fault. Each says in one line what is wrong, where, and what would be right. None holds a password.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DbError {
    /// What was typed cannot be.
    #[error("{0}")]
    Usage(String),
    /// The database's programs or libraries are not on this machine, or not built in.
    #[error("{0}")]
    Absent(String),
    /// No server answers.
    #[error("{0}")]
    Unreachable(String),
    /// The server wants another user or password.
    #[error("{0}")]
    Denied(String),
    /// There is no such database; setup makes it.
    #[error("{0}")]
    Missing(String),
    /// There is something where the database should be that iogauge did not make.
    #[error("{0}")]
    Foreign(String),
    /// Another run works on the database.
    #[error("{0}")]
    Busy(String),
    /// No room on the disk.
    #[error("{0}")]
    Full(String),
    /// What is to be filled would leave the disk too little.
    #[error("{0}")]
    NoRoom(String),
    /// Nothing can be written there.
    #[error("{0}")]
    ReadOnly(String),
    /// The server or its process went away.
    #[error("{0}")]
    Gone(String),
    #[error("interrupted")]
    Interrupted,
    /// Anything else that the database said.
    #[error("{0}")]
    Failed(String),
}

impl DbError {
    /// True where the user asked for something that cannot be (exit code 2).
    #[must_use]
    pub fn is_usage(&self) -> bool {
        matches!(self, Self::Usage(_) | Self::Absent(_) | Self::Missing(_))
    }

    /// True where a guard refused (exit code 3).
    #[must_use]
    pub fn is_refusal(&self) -> bool {
        matches!(self, Self::Foreign(_) | Self::Busy(_) | Self::NoRoom(_) | Self::ReadOnly(_))
    }
}
