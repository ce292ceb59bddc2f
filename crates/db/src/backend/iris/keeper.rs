//! A process that runs the routine RanKeeper: questions and their answers.

use super::note::Note;
use super::session::Instance;
use crate::backend::m::Installation;
use crate::backend::m::process::{Family, Process};
use crate::error::DbError;
use std::sync::Arc;
use std::time::Duration;

/// Maximum wait for the counts.
const ANSWER: Duration = Duration::from_secs(5);

/// A running keeper.
#[derive(Debug)]
pub struct Keeper(Process);

/// A lock of a database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lock {
    /// One process changes it.
    Write,
    /// Any number of processes read it.
    Read,
    /// No process reads it.
    Alone,
}

/// The file of a database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DataFile {
    pub bytes: u64,
    pub block_bytes: u64,
}

impl Keeper {
    /// Starts a keeper as one of the processes of a run.
    ///
    /// # Errors
    /// Fails if no session can be had, or if the routines are not installed.
    pub fn start(
        installation: &Arc<dyn Installation>,
        family: &Arc<Family>,
    ) -> Result<Self, DbError> {
        let mut process = Process::start_in(installation, family, "^RanKeeper")?;
        process.hear(|_| Ok(()))?;
        Ok(Self(process))
    }

    /// Asks a question and passes the lines of the answer to `see`.
    ///
    /// # Errors
    /// Returns what the routine refuses, errors of IRIS, or an error of `see`.
    pub fn ask_each(
        &mut self,
        words: &[&str],
        see: &mut dyn FnMut(&str) -> Result<(), DbError>,
    ) -> Result<(), DbError> {
        self.0.tell(format_args!("{}", words.join("\t")))?;
        self.0.hear(see).map(|_| ())
    }

    /// Asks a question and returns the lines of the answer that are not empty.
    ///
    /// # Errors
    /// As [`Self::ask_each`].
    pub fn ask(&mut self, words: &[&str]) -> Result<Vec<String>, DbError> {
        let mut lines = Vec::new();
        self.ask_each(words, &mut |line| {
            lines.extend(Some(line.to_owned()).filter(|line| !line.is_empty()));
            Ok(())
        })?;
        Ok(lines)
    }

    /// Asks for the counts of the instance.
    ///
    /// # Errors
    /// As [`Self::ask_each`]. Also fails if there is no answer in time.
    pub fn counts(&mut self) -> Result<String, DbError> {
        self.0.ask("counts", Some(ANSWER))
    }

    /// Writes the marker.
    ///
    /// # Errors
    /// As [`Self::ask_each`].
    pub fn mark(&mut self, note: &Note) -> Result<(), DbError> {
        self.ask(&["mark", &note.text()]).map(|_| ())
    }

    /// Locks the database until this value is dropped.
    ///
    /// # Errors
    /// Returns [`DbError::Busy`] if another process has locked it.
    pub fn lock(&mut self, lock: Lock, instance: &Instance) -> Result<(), DbError> {
        let question = match lock {
            Lock::Write => "lock",
            Lock::Read => "reading",
            Lock::Alone => "alone",
        };
        self.ask(&[question]).map(|_| ()).map_err(|error| match error {
            DbError::Busy(_) => DbError::Busy(format!(
                "{instance}: another run works on this database; hint: wait for it, or run iogauge db stop"
            )),
            error => error,
        })
    }

    /// Returns the sizes of a database file.
    ///
    /// # Errors
    /// As [`Self::ask_each`].
    pub fn file(&mut self, directory: &str) -> Result<DataFile, DbError> {
        let answer = self.ask(&["size", directory])?.concat();
        data_file(&answer)
            .ok_or_else(|| DbError::Failed(format!("{directory}: IRIS says of it \"{answer}\"")))
    }

    /// Ends the process.
    pub fn leave(&mut self) {
        self.0.leave();
    }
}

/// Parses megabytes and bytes of a block.
pub fn data_file(answer: &str) -> Option<DataFile> {
    let (megabytes, block_bytes) = answer.split_once(' ')?;
    let bytes = megabytes.parse::<u64>().ok()?.checked_mul(1 << 20)?;
    let block_bytes = block_bytes.parse().ok().filter(|bytes| (512..=1 << 20).contains(bytes))?;
    Some(DataFile { bytes, block_bytes })
}
