//! Where `/proc`, `/sys` and the rest of the file system begin.

use std::path::{Path, PathBuf};

/// The directory that stands for `/` when kernel files are read. Tests put a tree of their own
/// there; everything else uses [`Roots::real`].
#[derive(Debug, Clone)]
pub struct Roots {
    base: PathBuf,
}

impl Roots {
    /// The machine's own `/`.
    #[must_use]
    pub fn real() -> Self {
        Self::at("/")
    }

    /// A tree that looks like `/` from `base` on. Symbolic links in it have to be relative.
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

/// The trimmed text of a small file; `None` where it cannot be read.
pub(super) fn text(path: &Path) -> Option<String> {
    let bytes = std::fs::read(path).ok()?;
    Some(String::from_utf8_lossy(&bytes).trim_end().to_owned())
}
