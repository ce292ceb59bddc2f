//! Log files.

use crate::output::{OutputDirectory, OutputError, OutputFile, Replace};
use crate::targets::{ReserveWatch, TargetError};
use iogauge_model::units::Bytes;
use rustix::process::{Resource, getrlimit};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io::Write;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Bytes that are collected before they are written.
pub(super) const BUFFER_BYTES: usize = 16 << 10;
/// Descriptors that the rest of the process may need.
const OTHER_DESCRIPTORS: usize = 128;

/// Why logs cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    #[error(transparent)]
    Output(#[from] OutputError),
    #[error(transparent)]
    Room(#[from] TargetError),
    #[error("there is no directory {0} for logs; hint: mkdir -p {0}", .path.display())]
    NoDirectory { path: PathBuf },
    #[error("a log needs a name, not \"{}\"; hint: use write_lat_log=DIRECTORY/NAME", .path.display())]
    NoName { path: PathBuf },
    #[error(
        "the run would write more than {most} log files, the most that ulimit -n allows; hint: use \
         per_job_logs=0, which writes one for all workers"
    )]
    TooMany { most: usize },
}

/// A directory with log files.
#[derive(Debug)]
struct LogDirectory {
    output: OutputDirectory,
    room: Arc<Mutex<ReserveWatch>>,
}

/// The log files of a run. They appear when it ends, as a whole.
#[derive(Debug, Default)]
pub struct LogFiles {
    directories: BTreeMap<PathBuf, LogDirectory>,
    files: BTreeMap<PathBuf, Arc<LogFile>>,
}

impl LogFiles {
    /// Checks a path, and whether a log can be written there. Changes nothing. Returns the same log for the same path.
    ///
    /// # Errors
    /// Refuses a file that is neither a log nor empty. Fails if the directory cannot be written, or if there are too
    /// many files.
    pub fn open(&mut self, path: &Path) -> Result<Arc<LogFile>, LogError> {
        // Each file has one path.
        let path: &Path =
            &path.components().filter(|part| *part != Component::CurDir).collect::<PathBuf>();
        if let Some(file) = self.files.get(path) {
            return Ok(file.clone());
        }
        let (Some(name), Some(parent)) = (path.file_name().and_then(OsStr::to_str), path.parent())
        else {
            return Err(LogError::NoName { path: path.to_owned() });
        };
        let descriptors = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
        let most = usize::try_from(descriptors).unwrap_or(usize::MAX);
        let most = most.saturating_sub(OTHER_DESCRIPTORS);
        if self.files.len() >= most {
            return Err(LogError::TooMany { most });
        }
        let parent = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
        if !self.directories.contains_key(parent) {
            if !parent.is_dir() {
                return Err(LogError::NoDirectory { path: parent.to_owned() });
            }
            let output = OutputDirectory::open(parent)?;
            let room = Arc::new(Mutex::new(ReserveWatch::of_directory(parent)?));
            self.directories.insert(parent.to_owned(), LogDirectory { output, room });
        }
        let directory = &self.directories[parent];
        let output = directory.output.check(name, Replace::Logs)?;
        let writing =
            Writing { output: Some(output), buffer: Vec::new(), has_lines: false, fault: None };
        let room = directory.room.clone();
        let file = LogFile { path: path.to_owned(), room, writing: Mutex::new(writing) };
        let file = Arc::new(file);
        self.files.insert(path.to_owned(), file.clone());
        Ok(file)
    }

    /// Gives all logs their names; those without a line only if `also_empty` is set. Returns the paths of the logs, and
    /// what is wrong with them, one line each.
    #[must_use]
    pub fn commit(self, also_empty: bool) -> (Vec<PathBuf>, Vec<String>) {
        let (mut made, mut wrong) = (Vec::new(), Vec::new());
        let files = self.files.into_iter();
        for (path, file) in files.filter(|(_, file)| also_empty || file.has_lines()) {
            match file.commit() {
                Ok(fault) => {
                    wrong.extend(fault);
                    made.push(path);
                }
                Err(error) => wrong.push(format!("log {} is lost: {error}", path.display())),
            }
        }
        (made, wrong)
    }
}

/// A log file, to which several workers may write lines.
#[derive(Debug)]
pub struct LogFile {
    path: PathBuf,
    /// Watches the free space of its file system.
    room: Arc<Mutex<ReserveWatch>>,
    writing: Mutex<Writing>,
}

#[derive(Debug)]
struct Writing {
    /// `None` once committed.
    output: Option<OutputFile>,
    buffer: Vec<u8>,
    has_lines: bool,
    /// Why nothing more is written.
    fault: Option<String>,
}

impl LogFile {
    /// Appends whole lines. After a failure, nothing more is written.
    pub(super) fn append(&self, text: &str) {
        let mut writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        writing.buffer.extend_from_slice(text.as_bytes());
        writing.has_lines |= !text.is_empty();
        if writing.buffer.len() >= BUFFER_BYTES {
            self.flush(&mut writing);
        }
    }

    /// Holds back writes, for tests.
    #[cfg(test)]
    pub(super) fn hold(&self) -> impl Sized + '_ {
        self.writing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn flush(&self, writing: &mut Writing) {
        let Writing { output: Some(output), buffer, fault, .. } = writing else { return };
        if fault.is_none() {
            let mut room = self.room.lock().unwrap_or_else(PoisonError::into_inner);
            let written = match room.check() {
                Ok(()) => output.write_all(buffer).map_err(|error| error.to_string()),
                Err(TargetError::ReserveReached { reserve_bytes, .. }) => Err(format!(
                    "{} of its disk stay free; hint: use log_avg_msec=1000, or another disk for the logs",
                    Bytes(reserve_bytes)
                )),
                Err(error) => Err(error.to_string()),
            };
            *fault = written.err();
        }
        buffer.clear();
    }

    fn has_lines(&self) -> bool {
        self.writing.lock().unwrap_or_else(PoisonError::into_inner).has_lines
    }

    /// Gives the log its name. Returns what is wrong with it, if anything.
    fn commit(&self) -> Result<Option<String>, OutputError> {
        let mut writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        self.flush(&mut writing);
        if let Some(output) = writing.output.take() {
            output.commit()?;
        }
        let fault = writing.fault.take();
        Ok(fault.map(|fault| format!("log {} is cut off: {fault}", self.path.display())))
    }
}
