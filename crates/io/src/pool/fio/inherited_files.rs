//! Files that fio inherits as open descriptors, after the guards have checked them.

use super::FioError;
use crate::confine::{ConfineError, Domain, Protection, protection};
use crate::kernel::path_of_fd;
use crate::targets::{OpenMode, Part, TargetError};
use iogauge_fio::job::GivenFile;
use std::collections::BTreeMap;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

/// Directory of a process's own descriptors.
const OWN_DESCRIPTORS: &str = "/proc/self/fd/";

/// Files and devices for fio, as descriptors that it inherits from this process. So fio never parses a file name, and
/// it does not matter if another file gets the name.
#[derive(Debug, Clone, Default)]
pub struct Handed {
    files: Arc<Vec<HandedFile>>,
    /// True if the kernel does not restrict fio to these files.
    by_guards_alone: bool,
}

#[derive(Debug)]
struct HandedFile {
    fd: OwnedFd,
    shown: PathBuf,
    base_bytes: u64,
    size_bytes: u64,
    writes: bool,
}

impl Handed {
    /// Opens parts of a target; each flag says whether fio writes to the part.
    ///
    /// # Errors
    /// Same as [`Part::open`].
    pub fn open(parts: &[(&Part, bool)]) -> Result<Self, TargetError> {
        let open = |(part, writes): &(&Part, bool)| {
            let mode = OpenMode { write: *writes, ..OpenMode::reading(false) };
            Ok(HandedFile {
                fd: part.open(mode)?.fd,
                shown: part.path.clone(),
                base_bytes: part.base_bytes,
                size_bytes: part.size_bytes,
                writes: *writes,
            })
        };
        let files = parts.iter().map(open).collect::<Result<Vec<_>, TargetError>>()?;
        Ok(Self { files: Arc::new(files), by_guards_alone: false })
    }

    /// Disables the restriction by the kernel. For tests of what the guards and iogauge's job files prevent without it.
    #[doc(hidden)]
    #[must_use]
    pub fn held_by_guards_alone(mut self) -> Self {
        self.by_guards_alone = true;
        self
    }

    /// Returns a file for fio by its number, from 0.
    #[must_use]
    pub fn file(&self, number: usize) -> Option<GivenFile> {
        let file = self.files.get(number)?;
        Some(GivenFile {
            name: path_of_fd(&file.fd).display().to_string(),
            base_bytes: file.base_bytes,
            size_bytes: file.size_bytes,
        })
    }

    /// Returns a file for fio by its path, given the paths in the order in which they were handed over.
    pub(super) fn file_at(&self, paths: &[PathBuf], path: &Path) -> Option<GivenFile> {
        self.file(paths.iter().position(|known| known == path)?)
    }

    /// Returns true if no file is to be written.
    pub(super) fn only_reads(&self) -> bool {
        self.files.iter().all(|file| !file.writes)
    }

    /// Makes a command inherit the descriptors. Has the kernel restrict it to writing the files to be written and its
    /// own directory.
    pub(super) fn bind(
        &self,
        command: &mut Command,
        directory: BorrowedFd<'_>,
    ) -> Result<(), FioError> {
        let numbers: Vec<RawFd> = self.files.iter().map(|file| file.fd.as_raw_fd()).collect();
        let inherit = move || {
            for number in &numbers {
                // SAFETY: the descriptors are open in the parent until the child is spawned, and the child has copies
                // of them with the same numbers.
                let fd = unsafe { BorrowedFd::borrow_raw(*number) };
                rustix::io::fcntl_setfd(fd, rustix::io::FdFlags::empty())?;
            }
            Ok(())
        };
        // SAFETY: between fork and exec, the closure only makes system calls with numbers, and allocates nothing.
        unsafe { command.pre_exec(inherit) };
        if self.by_guards_alone {
            return Ok(());
        }
        if let (Protection::Nothing { why }, false) = (protection(), self.only_reads()) {
            return Err(FioError::Unconfined { why: why.clone() });
        }
        let domain = self.domain(directory).map_err(FioError::Confine)?;
        domain.bind(command).map_err(FioError::Confine)
    }

    fn domain(&self, directory: BorrowedFd<'_>) -> Result<Domain, ConfineError> {
        let domain = Domain::reading().directory(directory)?;
        self.files.iter().try_fold(domain, |domain, file| {
            if file.writes { domain.file(&file.fd) } else { domain.ioctls(&file.fd) }
        })
    }

    /// Returns a message of fio with the user's file names instead of fio's.
    pub(super) fn in_users_words(&self, said: &str) -> String {
        let mut names = BTreeMap::new();
        for file in self.files.iter() {
            names.insert(file.fd.as_raw_fd(), file.shown.display().to_string());
        }
        let mut parts = said.split(OWN_DESCRIPTORS);
        let mut text = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let end = part.find(|c: char| !c.is_ascii_digit()).unwrap_or(part.len());
            match part[..end].parse().ok().and_then(|number: RawFd| names.get(&number)) {
                Some(name) => text.push_str(name),
                None => text.push_str(&format!("{OWN_DESCRIPTORS}{}", &part[..end])),
            }
            text.push_str(&part[end..]);
        }
        text
    }
}
