//! The program of this crate, run by its tests.

pub use iogauge_test_support::program::*;

use std::ops::Deref;
use std::path::Path;

/// A directory for one test with a working directory and a history of its own.
pub struct Place(Sandbox);

impl Place {
    /// In the file system of the build, which has direct I/O more often than /tmp.
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
