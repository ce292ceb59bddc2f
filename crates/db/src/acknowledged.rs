//! Which transactions were acknowledged: what a check after a crash holds the database against.
//!
//! A file with a line of JSON, what is needed to draw the run's subscripts again, and behind it eight
//! bytes for each worker: the number of its last transaction that the database acknowledged. Written
//! with one call for each transaction, without a flush: it outlives this process, not the machine.

use crate::error::DbError;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Version word of the file.
pub const FORMAT: &str = "iogauge.acknowledged/2";
/// The version before, whose head does not tell what the run's settings may lose.
const FORMAT_1: &str = "iogauge.acknowledged/1";
/// Bytes of the head; the rest is the slots.
const HEAD_BYTES: usize = 4096;
/// Workers whose states fit into the head.
pub const MOST_WORKERS: u32 = 100_000;

/// What a run's transactions follow from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunOfWorkers {
    /// [`FORMAT`].
    pub format: String,
    /// Identity of the database.
    pub database: String,
    /// Seed of the run's draws.
    pub seed: u64,
    /// Updates in a transaction.
    pub transaction_length: u32,
    /// Number of workers.
    pub workers: u32,
    /// What a crash may cost under the run's settings; `None` where a commit waits for its log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub may_lose: Option<String>,
}

/// The file of a run.
#[derive(Debug)]
pub struct Acknowledged {
    path: PathBuf,
    run: RunOfWorkers,
    /// The last transaction of each worker before the run.
    sequences: Vec<u64>,
    /// There once the run has begun.
    file: OnceLock<File>,
}

/// What a run acknowledged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remembered {
    /// The run.
    pub run: RunOfWorkers,
    /// Of each worker the last transaction before the run, and the last one acknowledged.
    pub workers: Vec<(u64, u64)>,
}

impl Remembered {
    /// Transactions that were acknowledged and are not there, where so many of each worker, from the first
    /// on, are committed.
    #[must_use]
    pub fn lost(&self, committed: &[u64]) -> u64 {
        let committed = committed.iter().copied().chain(std::iter::repeat(0));
        self.workers
            .iter()
            .zip(committed)
            .map(|((_, last), there)| last.saturating_sub(there))
            .sum()
    }

    /// What a crash may cost under the run's settings, where the file tells: one of an earlier version
    /// does not.
    #[must_use]
    pub fn may_lose(&self) -> Option<Option<&str>> {
        (self.run.format == FORMAT).then_some(self.run.may_lose.as_deref())
    }
}

impl Acknowledged {
    /// The file of a run that has not begun; `sequences` is the last transaction of each worker before
    /// it. Touches nothing.
    #[must_use]
    pub fn new(path: &Path, run: RunOfWorkers, sequences: &[u64]) -> Self {
        let (path, sequences) = (path.to_owned(), sequences.to_owned());
        Self { path, run, sequences, file: OnceLock::new() }
    }

    /// Writes the file in the place of the run's before. Does nothing where it was begun already.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn begin(&self) -> Result<(), DbError> {
        if self.file.get().is_some() {
            return Ok(());
        }
        let path = self.path.as_path();
        let fault = |error: std::io::Error| failed(path, &error);
        let mut bytes =
            serde_json::to_vec(&self.run).map_err(|error| failed(path, &error.into()))?;
        bytes.push(b'\n');
        bytes.resize(HEAD_BYTES, b' ');
        for sequence in &self.sequences {
            // Where it began, and where it is.
            bytes.extend(sequence.to_le_bytes());
            bytes.extend(sequence.to_le_bytes());
        }
        // A run that is killed here leaves the whole file of the run before.
        let partial = partial(path);
        std::fs::write(&partial, bytes).map_err(fault)?;
        std::fs::rename(&partial, path).map_err(fault)?;
        let file = File::options().write(true).open(path).map_err(fault)?;
        self.file.get_or_init(|| file);
        Ok(())
    }

    /// The worker's transactions up to this one are acknowledged.
    ///
    /// # Errors
    /// Where it cannot be written, or was not begun.
    pub fn note(&self, worker: u32, sequence: u64) -> Result<(), DbError> {
        let at = HEAD_BYTES as u64 + u64::from(worker - 1) * 16 + 8;
        let written = match self.file.get() {
            Some(file) => file.write_all_at(&sequence.to_le_bytes(), at),
            None => Err(std::io::ErrorKind::NotFound.into()),
        };
        written.map_err(|error| failed(&self.path, &error))
    }

    /// Removes what was noted, where anything was.
    ///
    /// # Errors
    /// Where it is there and cannot be removed.
    pub fn remove(path: &Path) -> Result<(), DbError> {
        use std::io::ErrorKind::{NotADirectory, NotFound};
        for path in [partial(path), path.to_owned()] {
            match std::fs::remove_file(&path) {
                Err(error) if !matches!(error.kind(), NotFound | NotADirectory) => {
                    return Err(failed(&path, &error));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Reads what the last run acknowledged; `None` where there was none.
    ///
    /// # Errors
    /// Where the file is there and is none of these.
    pub fn read(path: &Path) -> Result<Option<Remembered>, DbError> {
        let bytes = match std::fs::read(path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(failed(path, &error)),
        };
        let strange = || {
            DbError::Failed(format!(
                "{}: it is no {FORMAT}; right would be to remove it, and then the values alone can be \
                 checked",
                path.display()
            ))
        };
        let (head, slots) = bytes.split_at_checked(HEAD_BYTES).ok_or_else(strange)?;
        let line = head.split(|byte| *byte == b'\n').next().unwrap_or_default();
        let run: RunOfWorkers = serde_json::from_slice(line).map_err(|_| strange())?;
        let number = |bytes: &[u8]| {
            let mut eight = [0; 8];
            eight.copy_from_slice(bytes);
            u64::from_le_bytes(eight)
        };
        let workers: Vec<(u64, u64)> =
            slots.chunks_exact(16).map(|slot| (number(&slot[..8]), number(&slot[8..]))).collect();
        let backwards = workers.iter().any(|(first, last)| last < first);
        if ![FORMAT, FORMAT_1].contains(&run.format.as_str())
            || workers.len() != run.workers as usize
            || backwards
        {
            return Err(strange());
        }
        Ok(Some(Remembered { run, workers }))
    }
}

fn failed(path: &Path, error: &std::io::Error) -> DbError {
    DbError::Failed(format!("{}: {error}", path.display()))
}

/// Where the file of the next run is written before it takes the place of the one before.
fn partial(path: &Path) -> PathBuf {
    path.with_extension("new")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_noted_is_remembered() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("acknowledged");
        let run = RunOfWorkers {
            format: FORMAT.to_owned(),
            database: "x".to_owned(),
            seed: 7,
            transaction_length: 50,
            workers: 2,
            may_lose: Some("the last second".to_owned()),
        };
        let file = Acknowledged::new(&path, run.clone(), &[0, 9]);
        assert!(file.note(2, 12).is_err(), "it was not begun");
        assert_eq!(Acknowledged::read(&path).unwrap(), None);
        file.begin().unwrap();
        file.note(2, 12).unwrap();
        // Once is enough.
        file.begin().unwrap();
        let remembered = Acknowledged::read(&path).unwrap().unwrap();
        assert_eq!(remembered, Remembered { run, workers: vec![(0, 0), (9, 12)] });
        assert_eq!(remembered.may_lose(), Some(Some("the last second")));
        let lost = [&[0, 12][..], &[3, 15], &[0, 9], &[0], &[]].map(|there| remembered.lost(there));
        assert_eq!(lost, [0, 0, 3, 12, 12]);
    }

    #[test]
    fn the_version_before_is_read() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("acknowledged");
        let head = r#"{"format":"iogauge.acknowledged/1","database":"x","seed":7,"transaction_length":50,"workers":1}"#;
        let mut bytes = head.as_bytes().to_vec();
        bytes.push(b'\n');
        bytes.resize(HEAD_BYTES, b' ');
        bytes.extend(3u64.to_le_bytes());
        bytes.extend(5u64.to_le_bytes());
        std::fs::write(&path, bytes).unwrap();
        let remembered = Acknowledged::read(&path).unwrap().unwrap();
        assert_eq!((&remembered.workers[..], remembered.may_lose()), (&[(3, 5)][..], None));
    }

    #[test]
    fn other_files_are_told() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("acknowledged");
        for bytes in [&b"short"[..], &[0; 5000]] {
            std::fs::write(&path, bytes).unwrap();
            assert!(Acknowledged::read(&path).is_err());
        }
    }
}
