//! What a thread or a child may write to, enforced by the kernel.
//!
//! The guards of [`crate::targets`] decide whether something may be written. A [`Domain`] makes the kernel hold
//! every thread and every program that does I/O to that decision, whatever it is asked to do: it may write to
//! the objects that were granted, by descriptor, and create, change or remove nothing else. Reading stays open.
//!
//! Landlock is a property of a thread and of what that thread starts. iogauge confines each thread that does
//! I/O as its first action, and each child between fork and exec. Threads that keep the history and make and
//! remove files stay outside. Where Landlock is missing, a private mount namespace takes its place, which needs
//! root; it does not bind a descriptor that is open already. What neither covers is listed in docs/safety.md.

mod landlock;
mod namespace;
mod protection;

pub use protection::{Protection, protection};

use rustix::fs::FileType;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Why a domain cannot be had.
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

/// Something that may be written to.
#[derive(Debug)]
enum Grant {
    /// A regular file or a block device: its bytes, not its length.
    Object(OwnedFd),
    /// What a block device answers to ioctls; not its bytes.
    Ioctls(OwnedFd),
    /// A directory and everything below it.
    Directory(OwnedFd),
}

/// The objects that may be written to; everything may be read.
#[derive(Debug)]
pub struct Domain {
    protection: Protection,
    grants: Vec<Grant>,
}

impl Domain {
    /// Nothing may be written, but `/dev/null`. Held by what this machine has: [`protection`].
    #[must_use]
    pub fn reading() -> Self {
        Self::held_by(protection().clone())
    }

    /// As [`Self::reading`], held in a given way.
    #[must_use]
    pub fn held_by(protection: Protection) -> Self {
        Self { protection, grants: Vec::new() }
    }

    /// Grants the bytes of a regular file or block device, of the latter its ioctls too. Its length stays.
    ///
    /// # Errors
    /// Where it is neither.
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

    /// Lets a block device that is only read be asked by ioctls, for its size and the like. What an ioctl
    /// changes takes a descriptor open for writing, which is not to be had, but for rights of root's own:
    /// grant it to programs that issue none of those.
    ///
    /// # Errors
    /// Where the descriptor cannot be used.
    pub fn ioctls(mut self, fd: impl AsFd) -> Result<Self, ConfineError> {
        let is_device = kind_of(&fd)? == FileType::BlockDevice;
        if is_device && self.protection.covers_ioctls() {
            self.grants.push(Grant::Ioctls(own(fd)?));
        }
        Ok(self)
    }

    /// Grants everything below a directory: making, writing, renaming and removing files.
    ///
    /// # Errors
    /// Where it is none.
    pub fn directory(mut self, fd: impl AsFd) -> Result<Self, ConfineError> {
        if kind_of(&fd)? != FileType::Directory {
            return Err(ConfineError::Descriptor(io::ErrorKind::NotADirectory.into()));
        }
        self.grants.push(Grant::Directory(own(fd)?));
        Ok(self)
    }

    /// Confines this thread, and all threads and programs that it starts from here on, for good. Domains nest: a
    /// second one takes more away. Does nothing where there is no [`Protection`]. Takes some 20 µs.
    ///
    /// # Errors
    /// Where the kernel refuses.
    pub fn confine_thread(&self) -> Result<(), ConfineError> {
        match &self.protection {
            Protection::Landlock { .. } => landlock::ruleset(&self.grants)?.enforce(),
            Protection::MountNamespace => namespace::Plan::of(&self.grants)?
                .enter()
                .map_err(|(call, source)| ConfineError::Namespace { call, source }),
            Protection::Nothing { .. } => Ok(()),
        }
    }

    /// Confines a worker, which opens nothing and has all its descriptors already: under Landlock alone. A
    /// namespace does not bind descriptors, and thousands of them would take seconds.
    ///
    /// # Errors
    /// Where the kernel refuses.
    pub(crate) fn confine_worker() -> Result<(), ConfineError> {
        match protection() {
            Protection::Landlock { .. } => Self::reading().confine_thread(),
            Protection::MountNamespace | Protection::Nothing { .. } => Ok(()),
        }
    }

    /// Does some work on a confined thread of its own and waits for it.
    ///
    /// # Errors
    /// Where the thread cannot be confined; the work is then not done.
    ///
    /// # Panics
    /// Where the work does.
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

    /// Confines the program a command starts, and all that it starts. The command can be spawned once.
    ///
    /// # Errors
    /// Where the domain cannot be prepared; where the kernel refuses it, spawning fails.
    pub fn bind(self, command: &mut Command) -> Result<(), ConfineError> {
        match &self.protection {
            Protection::Landlock { .. } => {
                let mut ruleset = Some(landlock::ruleset(&self.grants)?);
                let enter = move || {
                    let ruleset = ruleset.take().ok_or(io::ErrorKind::PermissionDenied)?;
                    ruleset.enforce_raw()
                };
                // SAFETY: between fork and exec it makes two system calls on a descriptor that was made before.
                unsafe { command.pre_exec(enter) };
            }
            Protection::MountNamespace => {
                let plan = namespace::Plan::of(&self.grants)?;
                let enter = move || plan.enter_for_good().map_err(|(_, source)| source);
                // SAFETY: between fork and exec it makes system calls on text that was allocated before.
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
