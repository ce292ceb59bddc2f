//! The working directory of one fio. Files that fio leaves there are removed with it.

use rustix::fs::{FlockOperation, Mode, OFlags};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use std::collections::hash_map::RandomState;
use std::fs::{self, File};
use std::hash::{BuildHasher, Hasher};
use std::io::{Error, ErrorKind, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Once;

/// Prefix of the names of such directories; 16 hexadecimal digits follow.
const PREFIX: &str = "iogauge-fio-";
/// Name and text of the file that marks each directory as iogauge's.
const MARK: &str = ".iogauge";
const MARK_TEXT: &[u8] = b"iogauge made this directory for one run of fio.\n";
/// Number of names to try.
const TRIES: u32 = 16;

/// A private directory. Dropping it removes it with its content. It is the working directory of fio and all its
/// processes, which identifies them.
#[derive(Debug)]
pub(super) struct FioDirectory {
    path: PathBuf,
    fd: OwnedFd,
    /// Device and inode.
    identity: (u64, u64),
    /// True if the directory is removed on drop.
    is_own: bool,
}

impl FioDirectory {
    /// Creates a directory among the temporary files. The first call in a process also removes those of processes that
    /// were killed.
    pub(super) fn make() -> std::io::Result<Self> {
        static SWEPT: Once = Once::new();
        let base = std::path::absolute(std::env::temp_dir())?;
        SWEPT.call_once(|| sweep(&base));
        for _ in 0..TRIES {
            // The system draws the keys of the standard library's hash tables.
            let number = RandomState::new().build_hasher().finish();
            let path = base.join(format!("{PREFIX}{number:016x}"));
            match fs::DirBuilder::new().mode(0o700).create(&path) {
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(at(&path, &error)),
                Ok(()) => {
                    if let Some(made) = Self::new(&path).map_err(|error| at(&path, &error))? {
                        return Ok(made);
                    }
                }
            }
        }
        Err(at(&base, &ErrorKind::AlreadyExists.into()))
    }

    /// Takes a directory that was just created; `None` if another process took it for an abandoned one.
    fn new(path: &Path) -> std::io::Result<Option<Self>> {
        let mut made = match Self::open(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            opened => opened?,
        };
        // If the file system has no locks, no other process removes the directory either.
        if made.lock() == Err(Errno::WOULDBLOCK) || !made.is_at_its_path() {
            return Ok(None);
        }
        made.is_own = true;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let mark = rustix::fs::openat(&made.fd, MARK, flags, Mode::RUSR | Mode::WUSR)?;
        File::from(mark).write_all(MARK_TEXT)?;
        Ok(Some(made))
    }

    fn open(path: &Path) -> std::io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fd = rustix::fs::open(path, flags, Mode::empty())?;
        let stat = rustix::fs::fstat(&fd)?;
        let identity = (stat.st_dev, stat.st_ino);
        Ok(Self { path: path.to_owned(), fd, identity, is_own: false })
    }

    /// Locks the directory. The lock lasts while this process has the directory open, however the process ends.
    fn lock(&self) -> Result<(), Errno> {
        rustix::fs::flock(&self.fd, FlockOperation::NonBlockingLockExclusive)
    }

    fn is_at_its_path(&self) -> bool {
        self.path.symlink_metadata().is_ok_and(|found| self.is(&found))
    }

    /// Returns true if iogauge created the directory for this user, and both that iogauge and its fio have ended.
    fn is_left(&self) -> bool {
        let own = rustix::fs::fstat(&self.fd).is_ok_and(|stat| {
            stat.st_uid == rustix::process::geteuid().as_raw() && stat.st_mode & 0o7777 == 0o700
        });
        own && self.has_mark()
            && self.lock().is_ok()
            && self.is_at_its_path()
            && self.processes().is_empty()
    }

    fn has_mark(&self) -> bool {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let Ok(mark) = rustix::fs::openat(&self.fd, MARK, flags, Mode::empty()) else {
            return false;
        };
        let mut text = Vec::new();
        let read = File::from(mark).take(MARK_TEXT.len() as u64 + 1).read_to_end(&mut text);
        read.is_ok() && text == MARK_TEXT
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    /// Returns the processes that run in the directory, each with the letter of its state in `/proc`. fio's job
    /// processes leave its process group, and outlive fio if it is killed.
    pub(super) fn processes(&self) -> Vec<(Pid, char)> {
        let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
        let mut found = Vec::new();
        for entry in entries.flatten() {
            let number = entry.file_name().to_str().and_then(|name| name.parse().ok());
            let Some(pid) = number.and_then(Pid::from_raw) else { continue };
            if self.is_workplace_of(pid) {
                let stat = fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
                let state = stat.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next());
                found.push((pid, state.unwrap_or('?')));
            }
        }
        found
    }

    fn is_workplace_of(&self, process: Pid) -> bool {
        let path = format!("/proc/{}/cwd", process.as_raw_nonzero());
        fs::metadata(path).is_ok_and(|found| self.is(&found))
    }

    fn is(&self, found: &fs::Metadata) -> bool {
        (found.dev(), found.ino()) == self.identity
    }

    /// Kills every process that runs in the directory.
    pub(super) fn kill_processes(&self) {
        for (pid, _) in self.processes() {
            // The descriptor refers to the process that is checked here, even if its number is reused later.
            let Ok(process) = pidfd_open(pid, PidfdFlags::empty()) else { continue };
            if self.is_workplace_of(pid) {
                let _ = pidfd_send_signal(&process, Signal::KILL);
            }
        }
    }
}

/// Removes directories in `base` that iogauge created for fio and could not remove because it was killed.
fn sweep(base: &Path) {
    let Ok(entries) = fs::read_dir(base) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let number = name.to_str().and_then(|name| name.strip_prefix(PREFIX));
        if !number.is_some_and(|n| n.len() == 16 && n.bytes().all(|b| b.is_ascii_hexdigit())) {
            continue;
        }
        if let Ok(mut found) = FioDirectory::open(&entry.path()) {
            found.is_own = found.is_left();
        }
    }
}

fn at(path: &Path, error: &Error) -> Error {
    Error::new(error.kind(), format!("{}: {error}", path.display()))
}

impl Drop for FioDirectory {
    fn drop(&mut self) {
        if self.is_own && self.is_at_its_path() {
            // Whatever remains is among the temporary files.
            let _ = fs::remove_dir_all(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;
    use std::process::Command;

    #[test]
    fn fio_processes_are_found_by_working_directory() {
        let directory = FioDirectory::make().unwrap();
        let mut inside =
            Command::new("sleep").arg("60").current_dir(directory.path()).spawn().unwrap();
        let mut outside = Command::new("sleep").arg("60").spawn().unwrap();
        let found: Vec<u32> =
            directory.processes().iter().map(|(pid, _)| pid.as_raw_pid() as u32).collect();
        directory.kill_processes();
        let killed = inside.wait().unwrap();
        let lives = outside.try_wait().unwrap().is_none();
        outside.kill().unwrap();
        outside.wait().unwrap();
        assert_eq!(found, [inside.id()]);
        assert!(killed.code().is_none() && lives);
        let path = directory.path().to_owned();
        fs::write(path.join("left"), "x").unwrap();
        drop(directory);
        assert!(!path.exists());
    }
    #[test]
    fn only_provably_abandoned_directories_are_removed() {
        let base = tempfile::tempdir().unwrap();
        let make = |number: u32| {
            let path = base.path().join(format!("{PREFIX}{number:016x}"));
            fs::DirBuilder::new().mode(0o700).create(&path).unwrap();
            path
        };
        let marked = |number: u32| {
            let path = make(number);
            fs::write(path.join(MARK), MARK_TEXT).unwrap();
            fs::write(path.join("log0_bw.1.log"), "x").unwrap();
            path
        };
        let left = marked(1);
        let (unmarked, readable, busy) = (make(2), marked(3), marked(4));
        fs::write(unmarked.join("precious"), "x").unwrap();
        fs::set_permissions(&readable, fs::Permissions::from_mode(0o755)).unwrap();
        let mut works = Command::new("sleep").arg("60").current_dir(&busy).spawn().unwrap();
        let path = make(5);
        let held = FioDirectory::new(&path).unwrap().unwrap();
        let elsewhere = marked(6);
        let aside = base.path().join("aside");
        fs::rename(&elsewhere, &aside).unwrap();
        std::os::unix::fs::symlink(&aside, &elsewhere).unwrap();
        let other = base.path().join(format!("{PREFIX}x"));
        fs::create_dir(&other).unwrap();
        sweep(base.path());
        works.kill().unwrap();
        works.wait().unwrap();
        assert!(!left.exists());
        for kept in [&unmarked, &readable, &busy, &path, &aside, &other, &elsewhere] {
            assert!(kept.symlink_metadata().is_ok(), "{}", kept.display());
        }
        assert!(unmarked.join("precious").exists() && aside.join("log0_bw.1.log").exists());
        // The lock ends with its owner.
        drop(held);
        sweep(base.path());
        assert!(!path.exists() && !busy.exists());
    }
}
