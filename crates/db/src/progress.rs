//! Progress of long operations, and their interruption.

use crate::error::DbError;
use std::sync::atomic::{AtomicBool, Ordering};

/// Receives the progress of an operation, and can end it.
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
    /// Creates a progress. `tell` is called with the amount done and the total, in a unit that the operation chooses.
    /// The operation ends soon after `stop` is set.
    pub fn new(tell: &'a mut (dyn FnMut(u64, u64) + Send), stop: &'a AtomicBool) -> Self {
        Self { tell, stop, check: None }
    }

    /// Runs a part of the operation. Its progress is added to `before`, out of `all`.
    ///
    /// # Errors
    /// Returns errors of the part.
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

    /// Returns the same progress, which also ends the operation if `check` fails.
    pub fn watched<'b>(
        &'b mut self,
        check: &'b mut (dyn FnMut() -> Result<(), DbError> + Send),
    ) -> Progress<'b> {
        Progress { tell: &mut *self.tell, stop: self.stop, check: Some(check) }
    }

    /// Reports the amount done and the total.
    ///
    /// # Errors
    /// Returns [`DbError::Interrupted`] if the user stopped the operation, or an error of the check of
    /// [`Self::watched`].
    pub fn done(&mut self, done: u64, of: u64) -> Result<(), DbError> {
        (self.tell)(done, of);
        if self.stop.load(Ordering::Relaxed) {
            return Err(DbError::Interrupted);
        }
        self.check.as_mut().map_or(Ok(()), |check| check())
    }
}
