//! A user's job file that fio runs as rewritten by iogauge.

use super::process::{FioProcess, Next};
use super::snapshot::Snapshot;
use super::{FioBinary, FioError, Handed, PATIENCE_TO_BEGIN};
use crate::pool::Paused;
use crate::worker::accounting::Window;
use iogauge_fio::job::FioText;
use iogauge_model::result::FioResult;
use std::path::Path;
use std::process::ExitStatus;
use std::time::{Duration, Instant};

/// A fio that runs a job file.
#[derive(Debug)]
pub struct FioJobFile {
    binary: FioBinary,
    process: FioProcess,
    names: Vec<String>,
    begun: Instant,
    last: Vec<FioResult>,
    ended: Option<ExitStatus>,
    /// True if somebody asked it to end.
    asked: bool,
    paused: Paused,
}

/// Results of fio when it has ended.
#[derive(Debug)]
pub struct FioEnd {
    /// fio's final report, for each job or group.
    pub results: Vec<FioResult>,
    /// Why it ended early, if it did.
    pub lost: Option<String>,
    /// Times in which this process or fio stood still.
    pub paused: Paused,
}

impl FioJobFile {
    /// Starts fio on the file, in its own directory, with the files in `handed`.
    ///
    /// # Errors
    /// If fio does not start, or nothing restricts what it may write.
    pub fn start(binary: FioBinary, file: FioText, handed: Handed) -> Result<Self, FioError> {
        let process = FioProcess::start(&binary, &file.text, handed)?;
        let (names, begun) = (file.names, Instant::now());
        let (last, ended, asked, paused) = (Vec::new(), None, false, Paused::default());
        Ok(Self { binary, process, names, begun, last, ended, asked, paused })
    }

    /// Waits for fio's next document, at most this long. Returns what its jobs did since the last one.
    pub fn advance(&mut self, patience: Duration) -> Window {
        let next = self.process.next(patience);
        self.paused.add(self.process.take_pauses());
        match next {
            Next::Document(results) => {
                let (before, now) = (Snapshot::of(&self.last), Snapshot::of(&results));
                self.last = results;
                if now.begins_anew(&before) { now.whole() } else { now.since(&before) }
            }
            Next::Nothing => {
                if self.last.is_empty() && self.begun.elapsed() > PATIENCE_TO_BEGIN {
                    self.ended = Some(self.process.end(|_| {}));
                }
                Window::default()
            }
            Next::Ended(status) => {
                self.ended = Some(status);
                Window::default()
            }
        }
    }

    /// Returns true if fio has ended.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.ended.is_some()
    }

    /// Asks fio to end.
    pub fn ask_to_end(&mut self) {
        self.asked = true;
        self.process.ask_to_end();
    }

    /// Ends fio at once. Anything it has not written yet is lost.
    pub fn cut_off(&mut self) {
        self.asked = true;
        if let Next::Ended(status) = self.process.give_up("it was cut off") {
            self.ended = Some(status);
        }
    }

    /// Returns the directory in which fio runs and writes its logs.
    #[must_use]
    pub fn directory(&self) -> &Path {
        self.process.directory()
    }

    /// Ends fio if it still runs. Passes on the directory with its logs before it is removed.
    ///
    /// # Errors
    /// If fio ended without measuring anything.
    pub fn finish(mut self, see: impl FnOnce(&Path)) -> Result<FioEnd, FioError> {
        let asked = self.asked || self.ended.is_none();
        let mut results = std::mem::take(&mut self.last);
        let status = self.ended.unwrap_or_else(|| self.process.end(|last| results = last));
        results = self.process.rest().unwrap_or(results);
        self.paused.add(self.process.take_pauses());
        let paused = self.paused;
        see(self.process.directory());
        for result in &mut results {
            if let Some(name) = user_name(&self.names, &result.name) {
                name.clone_into(&mut result.name);
            }
        }
        let version = self.binary.version().to_owned();
        let said = in_user_names(&self.names, &self.process.complaint());
        let worked = results.iter().any(|result| result.directions().next().is_some());
        let lost = self.process.empty_ios();
        if asked || lost.is_some() || (status.success() && !results.is_empty()) {
            return Ok(FioEnd { results, lost, paused });
        }
        match status.code() {
            Some(0) => Err(FioError::Mute { version, said }),
            Some(_) if !worked => Err(FioError::Refused { version, said }),
            Some(_) => Ok(FioEnd { results, lost: None, paused }),
            None => {
                let status = self.process.fate(status);
                if !worked {
                    return Err(FioError::Ended { version, status, said });
                }
                let lost = Some(format!("{version} ended before its time ({status}): {said}"));
                Ok(FioEnd { results, lost, paused })
            }
        }
    }
}

/// Returns the user's name of a section `jN`.
fn user_name<'a>(names: &'a [String], section: &str) -> Option<&'a String> {
    names.get(section.strip_prefix('j')?.parse::<usize>().ok()?)
}

/// Returns a message of fio with the user's job names instead of fio's.
fn in_user_names(names: &[String], said: &str) -> String {
    let mut text = String::new();
    for word in said.split_inclusive(|c: char| !c.is_ascii_alphanumeric()) {
        let end = word.trim_end_matches(|c: char| !c.is_ascii_alphanumeric()).len();
        let (section, rest) = word.split_at(end);
        text.push_str(user_name(names, section).map_or(section, String::as_str));
        text.push_str(rest);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fio_messages_use_original_job_names() {
        let names = ["my job".to_owned(), "b".to_owned()];
        let said = "j1: you need to specify size=, job <j0> too; j2 jj0 read";
        let shown = in_user_names(&names, said);
        assert_eq!(shown, "b: you need to specify size=, job <my job> too; j2 jj0 read");
    }
}
