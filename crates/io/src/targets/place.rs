//! A name in a directory that is kept open, so that renaming the directory or one of its parents has no effect.

use super::descriptor::{Identity, look_at, look_at_directory, real_path};
use super::error::TargetError;
use crate::kernel::rename_to_free;
use rustix::fs::{AtFlags, RenameFlags};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Where a file is or will be created.
#[derive(Debug, Clone)]
pub(super) struct FilePlace {
    /// Opened with `O_PATH`.
    directory: Arc<OwnedFd>,
    name: OsString,
    /// Absolute, for messages.
    path: PathBuf,
}

impl FilePlace {
    /// Returns the place of a path. The last component may be missing. If it is a symbolic link, it is not followed.
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

    /// Returns the place of a name in an open directory. `path` is the path of that directory.
    pub fn within(
        directory: OwnedFd,
        name: impl Into<OsString>,
        path: &Path,
    ) -> Result<Self, TargetError> {
        let name = name.into();
        let path = real_path(&directory, path)?.join(&name);
        Ok(Self { directory: Arc::new(directory), name, path })
    }

    /// Returns the place of another name in the same directory.
    pub fn beside(&self, name: impl Into<OsString>) -> Self {
        let name = name.into();
        let path = self.path.with_file_name(&name);
        Self { directory: Arc::clone(&self.directory), name, path }
    }

    /// Returns the place of the side file of this test file.
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

    /// Returns the directory's path, for messages.
    pub fn directory_path(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new("/"))
    }

    /// Looks up the name without following a symbolic link and without opening the file (`O_PATH`); `None` if there is
    /// no such name.
    pub fn look(&self) -> Result<Option<OwnedFd>, TargetError> {
        match look_at(&self.directory, &self.name, false) {
            Ok(found) => Ok(Some(found)),
            Err(Errno::NOENT) => Ok(None),
            Err(source) => Err(TargetError::io(&self.path, "look at it", source)),
        }
    }

    /// Returns which file or device currently has the name.
    pub fn identity(&self) -> Option<Identity> {
        let flags = AtFlags::SYMLINK_NOFOLLOW;
        let stat = rustix::fs::statat(&self.directory, &self.name, flags).ok()?;
        Identity::from_stat(&stat)
    }

    /// Returns true if the name is currently taken.
    pub fn is_taken(&self) -> bool {
        let flags = AtFlags::SYMLINK_NOFOLLOW;
        !matches!(rustix::fs::statat(&self.directory, &self.name, flags), Err(Errno::NOENT))
    }

    /// Renames this private name to `to`, which must be free.
    ///
    /// # Errors
    /// Returns [`Errno::EXIST`] if `to` is taken.
    pub fn publish_as(&self, to: &Self) -> Result<(), Errno> {
        rename_to_free((&self.directory, &self.name), (&to.directory, &to.name))
    }

    /// Renames the file to the private name `aside`, which nobody else uses.
    fn put_aside(&self, aside: &Self) -> Result<(), Errno> {
        let (from, to) = (&self.directory, &aside.directory);
        match rustix::fs::renameat_with(from, &self.name, to, &aside.name, RenameFlags::NOREPLACE) {
            Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) if !aside.is_taken() => {
                rustix::fs::renameat(from, &self.name, to, &aside.name)
            }
            other => other,
        }
    }

    /// Removes the file with this name if it is `wanted`.
    ///
    /// The kernel removes names, not files. After a check of the name alone, the name could still come to refer to
    /// another file before it is removed. So the file is first renamed to `aside`, a name that nobody else uses, and
    /// checked there. If it is another file, it gets its name back. The remaining risk is a program that guesses the
    /// random name `aside` and replaces that name between two system calls. No system call can prevent this.
    ///
    /// `before` runs after the file has been renamed and before it is removed.
    ///
    /// # Errors
    /// Returns [`TargetError::Changed`] if another file has the name. That file keeps its name.
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

/// Returns the name of a test file's side file.
pub(super) fn side_name(name: &OsStr) -> OsString {
    let mut side = name.to_owned();
    side.push(".iogauge");
    side
}
