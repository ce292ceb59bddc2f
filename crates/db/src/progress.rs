//! How long work goes on, and how it is told to stop.

use crate::error::DbError;
use std::sync::atomic::{AtomicBool, Ordering};

/// Sees how far something has come, and ends it.
pub struct Progress<'a> {
    tell: &'a mut (dyn FnMut(u64, u64) + Send),
    stop: &'a AtomicBool,
    check: Option<&'a mut (dyn FnMut() -> Result<(), DbError> + Send)>,
}

impl std::fmt::Debug for Progress<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Progress").field("stop", self.stop).finish_non_exhaustive()
    }
}

impl<'a> Progress<'a> {
    /// `tell` hears what is done and how much there is to do, in a unit of the work's choice; what is
    /// under way ends soon after `stop` is set.
    pub fn new(tell: &'a mut (dyn FnMut(u64, u64) + Send), stop: &'a AtomicBool) -> Self {
        Self { tell, stop, check: None }
    }

    /// Does a part of the work whose own progress counts behind `before`, of `all`.
    ///
    /// # Errors
    /// What the part says.
    pub fn within<T>(
        &mut self,
        before: u64,
        all: u64,
        part: impl FnOnce(&mut Progress<'_>) -> Result<T, DbError>,
    ) -> Result<T, DbError> {
        let tell = &mut *self.tell;
        part(&mut Progress {
            tell: &mut |done, _| tell(before + done, all),
            stop: self.stop,
            check: match &mut self.check {
                Some(check) => Some(&mut **check),
                None => None,
            },
        })
    }

    /// The same progress, which ends what is under way with what `check` says, too.
    pub fn watched<'b>(
        &'b mut self,
        check: &'b mut (dyn FnMut() -> Result<(), DbError> + Send),
    ) -> Progress<'b> {
        Progress { tell: &mut *self.tell, stop: self.stop, check: Some(check) }
    }

    /// So much is done.
    ///
    /// # Errors
    /// [`DbError::Interrupted`] where the user does not want the rest; what the check of
    /// [`Self::watched`] says.
    pub fn done(&mut self, done: u64, of: u64) -> Result<(), DbError> {
        (self.tell)(done, of);
        if self.stop.load(Ordering::Relaxed) {
            return Err(DbError::Interrupted);
        }
        self.check.as_mut().map_or(Ok(()), |check| check())
    }
}
