//! Runs the program of this crate in its tests.

pub use iogauge_test_support::program::*;

use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A directory for one test, with its own working directory and history.
pub struct Place(Sandbox);

impl Place {
    /// Makes the directory in the file system of the build, which supports direct I/O more often than /tmp does.
    pub fn new() -> Self {
        let program = Path::new(env!("CARGO_BIN_EXE_iogauge"));
        let parent = Path::new(env!("CARGO_TARGET_TMPDIR"));
        Self(Sandbox::new(program, parent))
    }
}

impl Deref for Place {
    type Target = Sandbox;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

/// Returns the program that `scripts/install-fio-plot.sh` installs.
#[allow(dead_code, reason = "not all tests use it")]
pub fn fio_plot() -> Option<PathBuf> {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent()?;
    let program = target.join("fio-plot/bin/fio-plot");
    program.exists().then_some(program)
}

/// Returns the program that `scripts/install-otava.sh` installs.
#[allow(dead_code, reason = "not all tests use it")]
pub fn otava() -> Option<PathBuf> {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent()?;
    let program = target.join("otava/bin/otava");
    program.exists().then_some(program)
}

/// Returns a Python with the module `six`, which fio's scripts import.
#[allow(dead_code, reason = "not all tests use it")]
fn python_with_six() -> Option<PathBuf> {
    let of_environment = fio_plot().map(|path| path.with_file_name("python"));
    let candidates = ["/usr/bin/python3", "python3"].map(PathBuf::from);
    candidates.into_iter().chain(of_environment).find(|python| {
        let tried = Command::new(python).args(["-c", "import six"]).output();
        tried.is_ok_and(|output| output.status.success())
    })
}

/// Returns a Python that runs a script of fio's package; otherwise reports that the test is skipped.
#[allow(dead_code, reason = "not all tests use it")]
pub fn python_for(test: &str, script: &Path) -> Option<PathBuf> {
    if !script.exists() {
        skip(test, &format!("fio's {} is not installed", script.display()));
        return None;
    }
    let python = python_with_six();
    if python.is_none() {
        skip(test, "no Python with the module six, which it imports");
    }
    python
}
