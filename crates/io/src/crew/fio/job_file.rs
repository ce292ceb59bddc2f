//! A job file of the user's, run by fio as it stands.

use super::process::{FioProcess, INTERVAL, Next};
use super::snapshot::Snapshot;
use super::{FioBinary, FioError};
use crate::worker::accounting::Window;
use iogauge_model::fio::FioResult;
use std::path::Path;
use std::process::ExitStatus;

/// fio at work on a job file.
#[derive(Debug)]
pub struct FioJobFile {
    binary: FioBinary,
    process: FioProcess,
    last: Vec<FioResult>,
    ended: Option<ExitStatus>,
}

impl FioJobFile {
    /// Starts fio on the file, in the working directory.
    ///
    /// # Errors
    /// Where fio does not start.
    pub fn start(binary: FioBinary, job_file: &Path) -> Result<Self, FioError> {
        let process = FioProcess::start_with(&binary, job_file)?;
        Ok(Self { binary, process, last: Vec::new(), ended: None })
    }

    /// Waits for what fio says next, a second at most; what its jobs did since it spoke last.
    pub fn advance(&mut self) -> Window {
        match self.process.next(10 * INTERVAL) {
            Next::Document(results) => {
                let (before, now) = (Snapshot::of(&self.last), Snapshot::of(&results));
                self.last = results;
                if now.begins_anew(&before) { now.whole() } else { now.since(&before) }
            }
            Next::Nothing => Window::default(),
            Next::Ended(status) => {
                self.ended = Some(status);
                Window::default()
            }
        }
    }

    /// True once fio has ended by itself.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.ended.is_some()
    }

    /// Ends fio, where it has not, and returns what it reported at its end: each job or group.
    ///
    /// # Errors
    /// Where fio ended without anything measured, or was killed.
    pub fn finish(mut self) -> Result<Vec<FioResult>, FioError> {
        let asked = self.ended.is_none();
        let mut last = std::mem::take(&mut self.last);
        let status = self.ended.unwrap_or_else(|| self.process.end(|results| last = results));
        if asked || (status.success() && !last.is_empty()) {
            return Ok(last);
        }
        let (version, said) = (self.binary.version().to_owned(), self.process.complaint());
        if status.success() {
            return Err(FioError::Mute { version, said });
        }
        match status.code() {
            None => Err(FioError::Ended { version, status: status.to_string(), said }),
            Some(_) if last.iter().all(|result| result.directions().next().is_none()) => {
                Err(FioError::Refused { version, said })
            }
            Some(_) => Ok(last),
        }
    }
}
