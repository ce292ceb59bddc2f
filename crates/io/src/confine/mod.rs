//! Restricts what a thread or a child process may write to; enforced by the kernel.
//!
//! The guards of [`crate::targets`] decide whether something may be written. A [`Domain`] makes the kernel enforce that
//! decision on every thread and program that does I/O. They may write to the granted objects, which are identified by
//! descriptor, and may not create, change or remove anything else. Reading is not restricted.
//!
//! A Landlock domain belongs to a thread and is inherited by everything that the thread starts. iogauge confines each
//! thread that does I/O before its first I/O, and each child between fork and exec. Threads that write the history or
//! create and remove files are not confined. If Landlock is missing, a private mount namespace is used instead. It
//! needs root and does not restrict descriptors that are already open. docs/safety.md lists what neither of them
//! covers.

mod landlock;
mod namespace;
mod protection;

pub use protection::{Protection, protection};

use rustix::fs::FileType;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Why a domain cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum ConfineError {
    #[error("only a regular file or a block device can be granted for writing, not a {kind}")]
    WrongKind { kind: &'static str },
    #[error("Landlock cannot confine this process: {0}")]
    Landlock(String),
    #[error("a private mount namespace cannot be set up: {call} failed: {source}")]
    Namespace { call: &'static str, source: io::Error },
    #[error("a descriptor cannot be granted for writing: {0}")]
    Descriptor(io::Error),
    #[error("a confined thread cannot be started: {0}")]
    Thread(io::Error),
}

/// An object that may be written to.
#[derive(Debug)]
enum Grant {
    /// A regular file or block device: its bytes, not its length.
    Object(OwnedFd),
    /// Ioctls on a block device, but not writes.
    Ioctls(OwnedFd),
    /// A directory and everything below it.
    Directory(OwnedFd),
}

/// The objects that may be written to. Everything may be read.
#[derive(Debug)]
pub struct Domain {
    protection: Protection,
    grants: Vec<Grant>,
}

impl Domain {
    /// Returns a domain that allows writing to `/dev/null` only, enforced by this machine's [`protection`].
    #[must_use]
    pub fn reading() -> Self {
        Self::held_by(protection().clone())
    }

    /// Like [`Self::reading`], with the given protection.
    #[must_use]
    pub fn held_by(protection: Protection) -> Self {
        Self { protection, grants: Vec::new() }
    }

    /// Grants writing to a regular file or block device, and ioctls on the latter. The length of a file stays fixed.
    ///
    /// # Errors
    /// Fails if it is neither.
    pub fn file(mut self, fd: impl AsFd) -> Result<Self, ConfineError> {
        let kind = match kind_of(&fd)? {
            FileType::RegularFile | FileType::BlockDevice => {
                self.grants.push(Grant::Object(own(fd)?));
                return Ok(self);
            }
            FileType::Directory => "directory",
            FileType::CharacterDevice => "character device",
            FileType::Fifo => "named pipe",
            _ => "file of this kind",
        };
        Err(ConfineError::WrongKind { kind })
    }

    /// Grants ioctls on a block device that is only read, for example to query its size. An ioctl that changes
    /// something needs a descriptor open for writing, which cannot be opened. Exceptions are ioctls that only need the
    /// privileges of root, so grant this only to programs that issue none of those.
    ///
    /// # Errors
    /// Fails if the descriptor cannot be used.
    pub fn ioctls(mut self, fd: impl AsFd) -> Result<Self, ConfineError> {
        let is_device = kind_of(&fd)? == FileType::BlockDevice;
        if is_device && self.protection.covers_ioctls() {
            self.grants.push(Grant::Ioctls(own(fd)?));
        }
        Ok(self)
    }

    /// Grants creating, writing, renaming and removing files anywhere below a directory.
    ///
    /// # Errors
    /// Fails if it is not a directory.
    pub fn directory(mut self, fd: impl AsFd) -> Result<Self, ConfineError> {
        if kind_of(&fd)? != FileType::Directory {
            return Err(ConfineError::Descriptor(io::ErrorKind::NotADirectory.into()));
        }
        self.grants.push(Grant::Directory(own(fd)?));
        Ok(self)
    }

    /// Confines this thread, and all threads and programs that it starts from here on, permanently. Domains nest: each
    /// further one removes more rights. Does nothing if there is no [`Protection`]. Takes about 20 µs.
    ///
    /// # Errors
    /// Fails if the kernel refuses.
    pub fn confine_thread(&self) -> Result<(), ConfineError> {
        match &self.protection {
            Protection::Landlock { .. } => landlock::ruleset(&self.grants)?.enforce(),
            Protection::MountNamespace => namespace::Plan::of(&self.grants)?
                .enter()
                .map_err(|(call, source)| ConfineError::Namespace { call, source }),
            Protection::Nothing { .. } => Ok(()),
        }
    }

    /// Confines a worker, which opens nothing because it already has all its descriptors. Only done under Landlock: a
    /// namespace does not restrict open descriptors, and creating thousands of namespaces would take seconds.
    ///
    /// # Errors
    /// Fails if the kernel refuses.
    pub(crate) fn confine_worker() -> Result<(), ConfineError> {
        match protection() {
            Protection::Landlock { .. } => Self::reading().confine_thread(),
            Protection::MountNamespace | Protection::Nothing { .. } => Ok(()),
        }
    }

    /// Runs `work` on a confined thread of its own and waits for it.
    ///
    /// # Errors
    /// Fails if the thread cannot be confined. `work` is not run in that case.
    ///
    /// # Panics
    /// Panics if `work` does.
    pub fn run<T: Send>(&self, work: impl FnOnce() -> T + Send) -> Result<T, ConfineError> {
        std::thread::scope(|scope| {
            let confined = || self.confine_thread().map(|()| work());
            let thread = std::thread::Builder::new().name("iogauge-confined".to_owned());
            let thread = thread.spawn_scoped(scope, confined).map_err(ConfineError::Thread)?;
            match thread.join() {
                Ok(result) => result,
                Err(panic) => std::panic::resume_unwind(panic),
            }
        })
    }

    /// Confines the program that a command starts, and everything that program starts. The command can then be spawned
    /// only once.
    ///
    /// # Errors
    /// Fails if the domain cannot be prepared. If the kernel refuses it, spawning fails.
    pub fn bind(self, command: &mut Command) -> Result<(), ConfineError> {
        match &self.protection {
            Protection::Landlock { .. } => {
                let mut ruleset = Some(landlock::ruleset(&self.grants)?);
                let enter = move || {
                    let ruleset = ruleset.take().ok_or(io::ErrorKind::PermissionDenied)?;
                    ruleset.enforce_raw()
                };
                // SAFETY: between fork and exec this only makes two system calls on a descriptor opened before the
                // fork.
                unsafe { command.pre_exec(enter) };
            }
            Protection::MountNamespace => {
                let plan = namespace::Plan::of(&self.grants)?;
                let enter = move || plan.enter_for_good().map_err(|(_, source)| source);
                // SAFETY: between fork and exec this only makes system calls, on strings allocated before the fork.
                unsafe { command.pre_exec(enter) };
            }
            Protection::Nothing { .. } => {}
        }
        Ok(())
    }
}

fn own(fd: impl AsFd) -> Result<OwnedFd, ConfineError> {
    fd.as_fd().try_clone_to_owned().map_err(ConfineError::Descriptor)
}

fn kind_of(fd: impl AsFd) -> Result<FileType, ConfineError> {
    let stat = rustix::fs::fstat(fd).map_err(|error| ConfineError::Descriptor(error.into()))?;
    Ok(FileType::from_raw_mode(stat.st_mode))
}

impl Grant {
    fn fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Object(fd) | Self::Ioctls(fd) | Self::Directory(fd) => fd.as_fd(),
        }
    }
}
