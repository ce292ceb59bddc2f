//! Which files a run has written beside its target.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Files that were written.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MadeFiles {
    pub logs: Vec<PathBuf>,
    pub states: Vec<PathBuf>,
    /// What is wrong with files, one line each.
    pub wrong: Vec<String>,
}

impl MadeFiles {
    /// Adds what another host has made.
    pub fn add(&mut self, other: Self) {
        self.logs.extend(other.logs);
        self.states.extend(other.states);
        self.wrong.extend(other.wrong);
    }
}
