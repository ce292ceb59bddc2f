//! Where `/proc`, `/sys` and the rest of the file system begin.

use std::path::{Path, PathBuf};

/// The directory that stands for `/` when kernel files are read. Tests put a tree of their own
/// there; everything else uses [`Roots::real`], which is also the default.
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
    /// The machine's own `/`.
    #[must_use]
    pub fn real() -> Self {
        Self::at("/")
    }

    /// A tree that looks like `/` from `base` on.
    #[must_use]
    pub fn at(base: impl Into<PathBuf>) -> Self {
        Self { base: base.into() }
    }

    /// A path below the root: `proc/stat`, or an absolute path as the kernel writes it.
    #[must_use]
    pub fn path(&self, below: impl AsRef<Path>) -> PathBuf {
        let below = below.as_ref();
        self.base.join(below.strip_prefix("/").unwrap_or(below))
    }
}
