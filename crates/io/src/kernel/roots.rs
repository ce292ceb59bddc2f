//! The root directory below which `/proc`, `/sys` and other kernel files are read.

use std::path::{Path, PathBuf};

/// The directory used as `/` when kernel files are read. Tests use a tree of their own. Everything else uses
/// [`Roots::real`], which is the default.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Roots {
    base: PathBuf,
}

impl Default for Roots {
    fn default() -> Self {
        Self::real()
    }
}

impl Roots {
    /// Returns the machine's own `/`.
    #[must_use]
    pub fn real() -> Self {
        Self::at("/")
    }

    /// Uses `base` as `/`.
    #[must_use]
    pub fn at(base: impl Into<PathBuf>) -> Self {
        Self { base: base.into() }
    }

    /// Returns a path below the root. Accepts `proc/stat` or an absolute path as written by the kernel.
    #[must_use]
    pub fn path(&self, below: impl AsRef<Path>) -> PathBuf {
        let below = below.as_ref();
        self.base.join(below.strip_prefix("/").unwrap_or(below))
    }
}
