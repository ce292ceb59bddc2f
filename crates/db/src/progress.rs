//! How long work goes on, and how it is told to stop.

use crate::error::DbError;
use std::sync::atomic::{AtomicBool, Ordering};

/// Sees how far something has come, and ends it.
pub struct Progress<'a> {
    tell: &'a mut dyn FnMut(u64, u64),
    stop: &'a AtomicBool,
}

impl std::fmt::Debug for Progress<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Progress").field("stop", self.stop).finish_non_exhaustive()
    }
}

impl<'a> Progress<'a> {
    /// `tell` hears what is done and how much there is to do, in a unit of the work's choice; what is
    /// under way ends soon after `stop` is set.
    pub fn new(tell: &'a mut dyn FnMut(u64, u64), stop: &'a AtomicBool) -> Self {
        Self { tell, stop }
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
        part(&mut Progress { tell: &mut |done, _| tell(before + done, all), stop: self.stop })
    }

    /// So much is done.
    ///
    /// # Errors
    /// [`DbError::Interrupted`] where the user does not want the rest.
    pub fn done(&mut self, done: u64, of: u64) -> Result<(), DbError> {
        (self.tell)(done, of);
        if self.stop.load(Ordering::Relaxed) { Err(DbError::Interrupted) } else { Ok(()) }
    }
}
