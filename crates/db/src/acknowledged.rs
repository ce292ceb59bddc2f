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

/// Version word of the file.
pub const FORMAT: &str = "iogauge.acknowledged/1";
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
}

/// The file of a run under way.
#[derive(Debug)]
pub struct Acknowledged {
    file: File,
    path: PathBuf,
}

/// What a run acknowledged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remembered {
    /// The run.
    pub run: RunOfWorkers,
    /// Of each worker the last transaction before the run, and the last one acknowledged.
    pub workers: Vec<(u64, u64)>,
}

impl Acknowledged {
    /// Begins the file of a run, in the place of the run's before; `sequences` is the last transaction
    /// of each worker before it.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn begin(path: &Path, run: &RunOfWorkers, sequences: &[u64]) -> Result<Self, DbError> {
        let fault = |error: std::io::Error| failed(path, &error);
        let mut bytes = serde_json::to_vec(run).map_err(|error| failed(path, &error.into()))?;
        bytes.push(b'\n');
        bytes.resize(HEAD_BYTES, b' ');
        for sequence in sequences {
            // Where it began, and where it is.
            bytes.extend(sequence.to_le_bytes());
            bytes.extend(sequence.to_le_bytes());
        }
        // A run that is killed here leaves the whole file of the run before.
        let partial = path.with_extension("new");
        std::fs::write(&partial, bytes).map_err(fault)?;
        std::fs::rename(&partial, path).map_err(fault)?;
        let file = File::options().write(true).open(path).map_err(fault)?;
        Ok(Self { file, path: path.to_owned() })
    }

    /// The worker's transactions up to this one are acknowledged.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn note(&self, worker: u32, sequence: u64) -> Result<(), DbError> {
        let at = HEAD_BYTES as u64 + u64::from(worker - 1) * 16 + 8;
        let written = self.file.write_all_at(&sequence.to_le_bytes(), at);
        written.map_err(|error| failed(&self.path, &error))
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
        if run.format != FORMAT || workers.len() != run.workers as usize || backwards {
            return Err(strange());
        }
        Ok(Some(Remembered { run, workers }))
    }
}

fn failed(path: &Path, error: &std::io::Error) -> DbError {
    DbError::Failed(format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_noted_is_remembered() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("acknowledged");
        assert_eq!(Acknowledged::read(&path).unwrap(), None);
        let run = RunOfWorkers {
            format: FORMAT.to_owned(),
            database: "x".to_owned(),
            seed: 7,
            transaction_length: 50,
            workers: 2,
        };
        let file = Acknowledged::begin(&path, &run, &[0, 9]).unwrap();
        file.note(2, 12).unwrap();
        let remembered = Acknowledged::read(&path).unwrap().unwrap();
        assert_eq!(remembered, Remembered { run, workers: vec![(0, 0), (9, 12)] });
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
