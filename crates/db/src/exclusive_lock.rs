//! A database that is taken, so that nobody changes what is looked at.

use crate::error::DbError;
use std::fmt::Debug;
use std::time::{Duration, Instant};

/// How long is waited for sessions and processes that a killed run left behind: they end on their own.
const LEAVING: Duration = Duration::from_secs(2);
/// How often it is looked whether they have.
const LOOK: Duration = Duration::from_millis(20);

/// A database that no run can have meanwhile. Dropped, it gives it back.
#[derive(Debug)]
pub struct ExclusiveLock {
    _taken: Box<dyn Debug + Send>,
}

impl ExclusiveLock {
    /// Holds what keeps others out until it is dropped.
    #[must_use]
    pub fn new(taken: impl Debug + Send + 'static) -> Self {
        Self { _taken: Box::new(taken) }
    }
}

/// Tries again for two seconds where somebody else has the database, or it fails: one that is being left
/// may say anything (GT.M: DBFILERR).
///
/// # Errors
/// What the last try said; at once, what no waiting changes.
pub(crate) fn retry_until_free<T>(
    mut take: impl FnMut() -> Result<T, DbError>,
) -> Result<T, DbError> {
    let end = Instant::now() + LEAVING;
    loop {
        match take() {
            Err(DbError::Busy(_) | DbError::Failed(_)) if Instant::now() < end => {
                std::thread::sleep(LOOK)
            }
            done => return done,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_gets_free_is_taken_and_other_faults_are_told_at_once() {
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
