//! fio's binary, and which version it is.

use super::FioError;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A program that has not told its version after this long is not fio.
const PATIENCE: Duration = Duration::from_secs(10);
/// More of what a program says of its version is not read.
const MOST_BYTES: u64 = 4096;

/// A fio that starts and tells its version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FioBinary {
    path: PathBuf,
    version: String,
}

impl FioBinary {
    /// Asks the program for its version; a name without `/` is looked for in `$PATH`. Takes a few
    /// milliseconds.
    ///
    /// # Errors
    /// [`FioError::Binary`] where it does not start, [`FioError::NotFio`] where it is another one.
    pub fn find(path: &Path) -> Result<Self, FioError> {
        let failed = |source| FioError::Binary { binary: path.to_owned(), source };
        let mut child = Command::new(path)
            .arg("--version")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(failed)?;
        let begin = Instant::now();
        while child.try_wait().map_err(failed)?.is_none() && begin.elapsed() < PATIENCE {
            std::thread::sleep(Duration::from_millis(2));
        }
        // One that goes on is ended; of one that has ended this is without effect.
        let _ = child.kill();
        let _ = child.wait();
        let mut said = Vec::new();
        if let Some(stdout) = child.stdout.take() {
            stdout.take(MOST_BYTES).read_to_end(&mut said).map_err(failed)?;
        }
        let said = String::from_utf8_lossy(&said);
        let version = said.lines().next().unwrap_or_default().trim();
        if !version.starts_with("fio-") || version.contains(char::is_whitespace) {
            let said = version.to_owned();
            return Err(FioError::NotFio { binary: path.to_owned(), said });
        }
        Ok(Self { path: path.to_owned(), version: version.to_owned() })
    }

    /// The program as it is started.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What it calls itself: `fio-3.33`.
    #[must_use]
    pub fn version(&self) -> &str {
        &self.version
    }
}
