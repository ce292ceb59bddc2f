//! The record of acknowledged transactions, used to check the database after a crash.
//!
//! The file begins with a line of JSON, from which the subscripts of the run can be computed again. Two numbers of
//! eight bytes follow for each worker: its last transaction before the run, and its last transaction that the database
//! acknowledged. Each transaction is recorded with one system call and without a flush, so the file survives a crash of
//! this process, but not of the machine.

use crate::error::DbError;
use crate::folder::{Folder, FolderEntry};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::ErrorKind;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Format and version of the file.
pub const FORMAT: &str = "iogauge.acknowledged/2";
/// The previous version, whose head does not contain what a crash may lose under the run's settings.
const FORMAT_1: &str = "iogauge.acknowledged/1";
/// Size of the head in bytes; the slots of the workers follow.
const HEAD_BYTES: usize = 4096;
/// Maximum number of workers.
pub const MOST_WORKERS: u32 = 100_000;
/// A longer file is not a record of acknowledged transactions.
const MOST_BYTES: u64 = HEAD_BYTES as u64 + MOST_WORKERS as u64 * 16;
/// Maximum transaction number of a worker, so that the sum over all workers can be computed.
const MOST_SEQUENCE: u64 = 1_000_000_000_000;

/// Everything that determines the transactions of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunOfWorkers {
    /// [`FORMAT`].
    pub format: String,
    /// Identity of the database.
    pub database: String,
    /// Seed of the run's subscript streams.
    pub seed: u64,
    /// Updates in a transaction.
    pub transaction_length: u32,
    /// Number of workers.
    pub workers: u32,
    /// What a crash may lose under the run's settings; `None` if a commit waits for its log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub may_lose: Option<String>,
}

/// The record of a run.
#[derive(Debug)]
pub struct Acknowledged {
    path: PathBuf,
    run: RunOfWorkers,
    /// Last transaction of each worker before the run.
    sequences: Vec<u64>,
    /// Open once the run has begun.
    file: OnceLock<File>,
}

/// The acknowledged transactions read from a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remembered {
    pub run: RunOfWorkers,
    /// For each worker, the last transaction before the run and the last acknowledged one.
    pub workers: Vec<(u64, u64)>,
}

impl Remembered {
    /// Parses the content of a file; `None` if it has another format or impossible values.
    #[must_use]
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let (head, slots) = bytes.split_at_checked(HEAD_BYTES)?;
        let line = head.split(|byte| *byte == b'\n').next().unwrap_or_default();
        let run: RunOfWorkers = serde_json::from_slice(line).ok()?;
        let (slots, rest) = slots.as_chunks::<8>();
        let (slots, odd) = slots.as_chunks::<2>();
        let workers: Vec<(u64, u64)> = slots
            .iter()
            .map(|[first, last]| (u64::from_le_bytes(*first), u64::from_le_bytes(*last)))
            .collect();
        let is_sound = [FORMAT, FORMAT_1].contains(&run.format.as_str())
            && rest.is_empty()
            && odd.is_empty()
            && workers.len() == run.workers as usize
            && run.workers <= MOST_WORKERS
            && run.transaction_length > 0
            && workers.iter().all(|(first, last)| first <= last && *last <= MOST_SEQUENCE);
        is_sound.then_some(Self { run, workers })
    }

    /// Returns the number of acknowledged transactions that are missing. `committed` contains the last committed
    /// transaction of each worker, in order of the workers.
    #[must_use]
    pub fn lost(&self, committed: &[u64]) -> u64 {
        let committed = committed.iter().copied().chain(std::iter::repeat(0));
        self.workers
            .iter()
            .zip(committed)
            .map(|((_, last), there)| last.saturating_sub(there))
            .sum()
    }

    /// Returns what a crash may lose under the run's settings. Files of the previous version do not contain it.
    #[must_use]
    pub fn may_lose(&self) -> Option<Option<&str>> {
        (self.run.format == FORMAT).then_some(self.run.may_lose.as_deref())
    }
}

impl Acknowledged {
    /// Creates the record of a run that has not begun. `sequences` contains the last transaction of each worker before
    /// it. Writes nothing.
    #[must_use]
    pub fn new(path: &Path, run: RunOfWorkers, sequences: &[u64]) -> Self {
        let (path, sequences) = (path.to_owned(), sequences.to_owned());
        Self { path, run, sequences, file: OnceLock::new() }
    }

    /// Replaces the file of the previous run. Does nothing if the run has already begun.
    ///
    /// # Errors
    /// Fails if it cannot be written.
    pub fn begin(&self) -> Result<(), DbError> {
        if self.file.get().is_some() {
            return Ok(());
        }
        let path = self.path.as_path();
        let mut bytes =
            serde_json::to_vec(&self.run).map_err(|error| failed(path, &error.into()))?;
        bytes.push(b'\n');
        bytes.resize(HEAD_BYTES, b' ');
        for sequence in &self.sequences {
            // The transaction before the run, and the last acknowledged one.
            bytes.extend(sequence.to_le_bytes());
            bytes.extend(sequence.to_le_bytes());
        }
        // If the run is killed here, the complete file of the previous run remains.
        let (folder, name) = place(path)?;
        let folder = folder.ok_or_else(|| failed(path, &ErrorKind::NotFound.into()))?;
        let file = folder.replace(&name, &partial(&name), &bytes, false)?;
        self.file.get_or_init(|| file);
        Ok(())
    }

    /// Records that the worker's transactions up to this one are acknowledged.
    ///
    /// # Errors
    /// Fails if it cannot be written, or the run has not begun.
    pub fn note(&self, worker: u32, sequence: u64) -> Result<(), DbError> {
        let at = HEAD_BYTES as u64 + u64::from(worker - 1) * 16 + 8;
        let written = match self.file.get() {
            Some(file) => file.write_all_at(&sequence.to_le_bytes(), at),
            None => Err(ErrorKind::NotFound.into()),
        };
        written.map_err(|error| failed(&self.path, &error))
    }

    /// Removes the file if it exists.
    ///
    /// # Errors
    /// Fails if it exists and cannot be removed.
    pub fn remove(path: &Path) -> Result<(), DbError> {
        let (Some(folder), name) = place(path)? else { return Ok(()) };
        for name in [partial(&name), name] {
            if let FolderEntry::File(file) = folder.find(&name)? {
                folder.remove(&name, &file)?;
            }
        }
        Ok(())
    }

    /// Reads the acknowledged transactions of the last run; `None` if there was none.
    ///
    /// # Errors
    /// Fails if the file exists and has another format.
    pub fn read(path: &Path) -> Result<Option<Remembered>, DbError> {
        let (Some(folder), name) = place(path)? else { return Ok(None) };
        let Some(bytes) = folder.read(&name, MOST_BYTES)? else { return Ok(None) };
        Remembered::read(&bytes).map(Some).ok_or_else(|| {
            DbError::Failed(format!(
                "{}: it is not {FORMAT}, or damaged; hint: remove it, and then the values alone \
                 can be checked",
                path.display()
            ))
        })
    }
}

/// Returns the folder of a file, if it exists, and the file's name in it.
fn place(path: &Path) -> Result<(Option<Folder>, String), DbError> {
    let name = path.file_name().and_then(|name| name.to_str());
    let (Some(folder), Some(name)) = (path.parent(), name) else {
        return Err(failed(path, &ErrorKind::InvalidFilename.into()));
    };
    Ok((Folder::open(folder)?, name.to_owned()))
}

fn failed(path: &Path, error: &std::io::Error) -> DbError {
    crate::directory::fault(path, error)
}

/// Returns the temporary name of a new file, before it replaces the previous one.
fn partial(name: &str) -> String {
    format!("{name}.new")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn acknowledged_counts_are_read_back() {
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
        // The second call has no effect.
        file.begin().unwrap();
        let remembered = Acknowledged::read(&path).unwrap().unwrap();
        assert_eq!(remembered, Remembered { run, workers: vec![(0, 0), (9, 12)] });
        assert_eq!(remembered.may_lose(), Some(Some("the last second")));
        let lost = [&[0, 12][..], &[3, 15], &[0, 9], &[0], &[]].map(|there| remembered.lost(there));
        assert_eq!(lost, [0, 0, 3, 12, 12]);
    }

    #[test]
    fn previous_format_version_is_readable() {
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
    fn symlink_at_the_record_path_is_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let canary = dir.path().join("canary");
        let run = RunOfWorkers {
            format: FORMAT.to_owned(),
            database: "x".to_owned(),
            seed: 7,
            transaction_length: 50,
            workers: 1,
            may_lose: None,
        };
        for name in ["acknowledged", "acknowledged.new"] {
            std::fs::write(&canary, "precious").unwrap();
            let link = dir.path().join(name);
            std::os::unix::fs::symlink(&canary, &link).unwrap();
            let path = dir.path().join("acknowledged");
            let begun = Acknowledged::new(&path, run.clone(), &[0]).begin();
            assert!(matches!(begun, Err(DbError::Foreign(_))), "{name}: {begun:?}");
            assert_eq!(std::fs::read(&canary).unwrap(), b"precious");
            Acknowledged::remove(&path).unwrap();
            assert!(link.is_symlink() && canary.exists());
            std::fs::remove_file(link).unwrap();
        }
    }

    #[test]
    fn impossible_counts_are_rejected() {
        let of = |transaction_length: u32, workers: u32, slots: &[(u64, u64)]| {
            let run = RunOfWorkers {
                format: FORMAT.to_owned(),
                database: "x".to_owned(),
                seed: 7,
                transaction_length,
                workers,
                may_lose: None,
            };
            let mut bytes = serde_json::to_vec(&run).unwrap();
            bytes.push(b'\n');
            bytes.resize(HEAD_BYTES, b' ');
            for (first, last) in slots {
                bytes.extend(first.to_le_bytes());
                bytes.extend(last.to_le_bytes());
            }
            Remembered::read(&bytes)
        };
        assert!(of(1, 1, &[(0, 5)]).is_some());
        assert_eq!(of(0, 1, &[(0, 5)]), None);
        assert_eq!(of(1, 2, &[(0, 5)]), None);
        assert_eq!(of(1, 1, &[(6, 5)]), None);
        assert_eq!(of(1, 2, &[(0, u64::MAX), (0, u64::MAX)]), None);
    }

    #[test]
    fn unrelated_files_are_rejected() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("acknowledged");
        for bytes in [&b"short"[..], &[0; 5000]] {
            std::fs::write(&path, bytes).unwrap();
            assert!(Acknowledged::read(&path).is_err());
        }
    }
}
