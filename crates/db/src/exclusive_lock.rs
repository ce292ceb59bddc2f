//! An exclusive lock on a database, so that its data does not change during a check.

use crate::error::DbError;
use std::fmt::Debug;
use std::time::{Duration, Instant};

/// Maximum wait for sessions and processes that a killed run left behind. They end on their own.
const LEAVING: Duration = Duration::from_secs(2);
/// Interval between attempts.
const LOOK: Duration = Duration::from_millis(20);

/// Excludes runs from a database until it is dropped.
#[derive(Debug)]
pub struct ExclusiveLock {
    _taken: Box<dyn Debug + Send>,
}

impl ExclusiveLock {
    /// Wraps the backend's lock, which is released when this value is dropped.
    #[must_use]
    pub fn new(taken: impl Debug + Send + 'static) -> Self {
        Self { _taken: Box::new(taken) }
    }
}

/// Retries for two seconds if another process has the database, or if locking fails. A database whose last process is
/// just leaving may report any error.
///
/// # Errors
/// Returns the error of the last attempt. Errors that waiting cannot change are returned at once.
pub(crate) fn retry_until_free<T>(take: impl FnMut() -> Result<T, DbError>) -> Result<T, DbError> {
    retry(LEAVING, |error| matches!(error, DbError::Busy(_) | DbError::Failed(_)), take)
}

/// Retries for this long as long as the error is one that may pass.
///
/// # Errors
/// Returns the error of the last attempt.
pub(crate) fn retry<T>(
    wait: Duration,
    may_pass: impl Fn(&DbError) -> bool,
    mut attempt: impl FnMut() -> Result<T, DbError>,
) -> Result<T, DbError> {
    let end = Instant::now() + wait;
    loop {
        match attempt() {
            Err(error) if may_pass(&error) && Instant::now() < end => std::thread::sleep(LOOK),
            done => return done,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn busy_lock_is_retried_and_other_errors_return_immediately() {
        let mut tries = 0;
        let mut leaving = || {
            tries += 1;
            if tries < 3 { Err(DbError::Busy("x".to_owned())) } else { Ok(tries) }
        };
        assert_eq!(retry_until_free(&mut leaving), Ok(3));
        let (mut tries, missing) = (0, DbError::Missing("x".to_owned()));
        let failed: Result<(), DbError> = retry_until_free(|| {
            tries += 1;
            Err(missing.clone())
        });
        assert_eq!((failed, tries), (Err(missing), 1));
    }
}
