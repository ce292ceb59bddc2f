//! fio's binary and its version.

use super::FioError;
use crate::confine::Domain;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

/// A program that has not printed its version after this time is not fio.
const PATIENCE: Duration = Duration::from_secs(4);
/// Maximum number of bytes that are read of the version.
const MOST_BYTES: u64 = 4096;

/// A fio that starts and prints its version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FioBinary {
    path: PathBuf,
    version: String,
}

impl FioBinary {
    /// Asks the program for its version. A name without `/` is searched for in `$PATH`. Takes a few milliseconds.
    ///
    /// # Errors
    /// [`FioError::Binary`] if it does not start, [`FioError::NotFio`] if it is another program.
    pub fn find(path: &Path) -> Result<Self, FioError> {
        let failed = |source| FioError::Binary { binary: path.to_owned(), source };
        // It is started in another directory later.
        let own = match path.components().count() {
            1 if !path.as_os_str().as_encoded_bytes().contains(&b'/') => path.to_owned(),
            _ => std::path::absolute(path).map_err(failed)?,
        };
        let mut command = Command::new(&own);
        command.arg("--version").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        // A program named fio may be any program.
        Domain::reading().bind(&mut command).map_err(FioError::Confine)?;
        let mut child = command.spawn().map_err(failed)?;
        let begin = Instant::now();
        while child.try_wait().map_err(failed)?.is_none() && begin.elapsed() < PATIENCE {
            std::thread::sleep(Duration::from_millis(2));
        }
        // Ends it if it still runs, and otherwise has no effect.
        let _ = child.kill();
        while child.try_wait().map_err(failed)?.is_none() && begin.elapsed() < 2 * PATIENCE {
            std::thread::sleep(Duration::from_millis(2));
        }
        let (sender, text) = channel();
        if let Some(stdout) = child.stdout.take() {
            // If another process holds the output open, the wait is no longer than for the program itself.
            std::thread::Builder::new()
                .name("iogauge-fio-version".to_owned())
                .spawn(move || {
                    let mut said = Vec::new();
                    // What was read before an error counts as its output.
                    let _ = BufReader::new(stdout.take(MOST_BYTES)).read_until(b'\n', &mut said);
                    let _ = sender.send(said);
                })
                .map_err(failed)?;
        }
        let said = text.recv_timeout(PATIENCE).unwrap_or_default();
        let said = String::from_utf8_lossy(&said);
        let version = said.lines().next().unwrap_or_default().trim();
        if !version.starts_with("fio-") || version.contains(char::is_whitespace) {
            let said = version.to_owned();
            return Err(FioError::NotFio { binary: path.to_owned(), said });
        }
        Ok(Self { path: own, version: version.to_owned() })
    }

    /// Returns the program as it is started.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the version as reported: `fio-3.33`.
    #[must_use]
    pub fn version(&self) -> &str {
        &self.version
    }
}
