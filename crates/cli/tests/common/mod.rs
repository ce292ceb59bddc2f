//! Runs the program of this crate in its tests.

pub use iogauge_test_support::program::*;

use std::ops::Deref;
use std::path::Path;

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
