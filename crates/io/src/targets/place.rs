//! A name in a directory that is held open, so that a rename of the directory or of anything above
//! it does not matter.

use super::descriptor::{Identity, look_at, look_at_directory, real_path};
use super::error::TargetError;
use crate::kernel::rename_to_free;
use rustix::fs::{AtFlags, RenameFlags};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Where a file is or is to be.
#[derive(Debug, Clone)]
pub(super) struct FilePlace {
    /// Opened with `O_PATH`.
    directory: Arc<OwnedFd>,
    name: OsString,
    /// Absolute, for messages.
    path: PathBuf,
}

impl FilePlace {
    /// The place of a file whose last component may be missing and is not followed.
    pub fn of(path: &Path) -> Result<Self, TargetError> {
        let name = path.file_name().ok_or_else(|| TargetError::NotFound {
            path: path.into(),
            wanted: "a path that ends in a name".into(),
        })?;
        let parent = match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        let directory = look_at_directory(parent).map_err(|error| match error {
            Errno::NOENT | Errno::NOTDIR => TargetError::NotFound {
                path: parent.into(),
                wanted: "a directory that exists".into(),
            },
            source => TargetError::io(parent, "open it", source),
        })?;
        Self::within(directory, name, parent)
    }

    /// A name in an open directory, which `path` led to.
    pub fn within(
        directory: OwnedFd,
        name: impl Into<OsString>,
        path: &Path,
    ) -> Result<Self, TargetError> {
        let name = name.into();
        let path = real_path(&directory, path)?.join(&name);
        Ok(Self { directory: Arc::new(directory), name, path })
    }

    /// Another name in the same directory.
    pub fn beside(&self, name: impl Into<OsString>) -> Self {
        let name = name.into();
        let path = self.path.with_file_name(&name);
        Self { directory: Arc::clone(&self.directory), name, path }
    }

    /// The place of the side file of the test file here.
    pub fn side(&self) -> Self {
        self.beside(side_name(&self.name))
    }

    pub fn directory(&self) -> BorrowedFd<'_> {
        self.directory.as_fd()
    }

    pub fn name(&self) -> &OsStr {
        &self.name
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The directory's path, for messages.
    pub fn directory_path(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new("/"))
    }

    /// What is here, not followed and not opened (`O_PATH`); `None` where nothing is.
    pub fn look(&self) -> Result<Option<OwnedFd>, TargetError> {
        match look_at(&self.directory, &self.name, false) {
            Ok(found) => Ok(Some(found)),
            Err(Errno::NOENT) => Ok(None),
            Err(source) => Err(TargetError::io(&self.path, "look at it", source)),
        }
    }

    /// Which file or device the name leads to at this moment.
    pub fn identity(&self) -> Option<Identity> {
        let flags = AtFlags::SYMLINK_NOFOLLOW;
        let stat = rustix::fs::statat(&self.directory, &self.name, flags).ok()?;
        Identity::from_stat(&stat)
    }

    /// True where anything has the name at this moment.
    pub fn is_taken(&self) -> bool {
        let flags = AtFlags::SYMLINK_NOFOLLOW;
        !matches!(rustix::fs::statat(&self.directory, &self.name, flags), Err(Errno::NOENT))
    }

    /// Gives what has this private name the name `to`, which must be free.
    ///
    /// # Errors
    /// [`Errno::EXIST`] where the name is taken.
    pub fn publish_as(&self, to: &Self) -> Result<(), Errno> {
        rename_to_free((&self.directory, &self.name), (&to.directory, &to.name))
    }

    /// Gives what is here the private name `aside`, which nobody else uses.
    fn put_aside(&self, aside: &Self) -> Result<(), Errno> {
        let (from, to) = (&self.directory, &aside.directory);
        match rustix::fs::renameat_with(from, &self.name, to, &aside.name, RenameFlags::NOREPLACE) {
            Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) if !aside.is_taken() => {
                rustix::fs::renameat(from, &self.name, to, &aside.name)
            }
            other => other,
        }
    }

    /// Removes what has the name if it is still the file it was judged to be.
    ///
    /// The kernel removes names, not files, so that a check of the name alone would leave a moment
    /// in which it may come to lead to another file. What is here is first given the name `aside`,
    /// which nobody else uses, is looked at there, and gets its name back where it is another file.
    /// What remains is a program that guesses the random name `aside` and replaces that very name
    /// between two system calls; no call of the kernel closes this.
    ///
    /// `before` runs when the file is out of its place and not yet removed.
    ///
    /// # Errors
    /// [`TargetError::Changed`] where the name leads to another file; that one is then where it was.
    pub fn remove_exactly(
        &self,
        wanted: Identity,
        aside: &Self,
        before: impl FnOnce() -> Result<(), TargetError>,
    ) -> Result<(), TargetError> {
        if self.identity() != Some(wanted) {
            return Err(TargetError::Changed { path: self.path.clone() });
        }
        let failed = |source| TargetError::io(&self.path, "remove it", source);
        if self.name != aside.name {
            self.put_aside(aside).map_err(failed)?;
            if aside.identity() != Some(wanted) {
                return Err(match aside.publish_as(self) {
                    Ok(()) => TargetError::Changed { path: self.path.clone() },
                    Err(_) => {
                        TargetError::PutAside { path: self.path.clone(), aside: aside.path.clone() }
                    }
                });
            }
        }
        before()?;
        rustix::fs::unlinkat(&aside.directory, &aside.name, AtFlags::empty()).map_err(failed)
    }
}

/// Name of the side file of a test file.
pub(super) fn side_name(name: &OsStr) -> OsString {
    let mut side = name.to_owned();
    side.push(".iogauge");
    side
}
