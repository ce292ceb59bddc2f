//! A folder accessed through its descriptor. Names are looked up in it, symbolic links are never followed, and only the
//! file that was examined is removed.

use crate::directory::fault;
use crate::error::DbError;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat, fstat, openat, statat, unlinkat};
use rustix::io::Errno;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

/// Flags for a file that is examined. Opening must not block on a FIFO that somebody has planted.
const LOOK: OFlags =
    OFlags::RDONLY.union(OFlags::NOFOLLOW).union(OFlags::NONBLOCK).union(OFlags::CLOEXEC);
/// Permissions of a new file, before the umask.
const FILE_MODE: Mode = Mode::from_raw_mode(0o666);

/// An open folder.
#[derive(Debug)]
pub struct Folder {
    fd: OwnedFd,
    path: PathBuf,
}

/// What a name in a folder refers to.
#[derive(Debug)]
pub enum FolderEntry {
    /// Nothing.
    Nothing,
    /// A regular file, open for reading.
    File(File),
    /// A folder; not a symbolic link to one.
    Folder(Folder),
    /// Anything else: a symbolic link, a FIFO, a device, a socket, or a file that cannot be opened.
    Other,
}

impl Folder {
    /// Opens a folder; `None` if it does not exist. Symbolic links in its parents are followed, but the folder itself
    /// must not be one.
    ///
    /// # Errors
    /// Returns [`DbError::Foreign`] if the path is a symbolic link or not a folder, or errors of the system.
    pub fn open(path: &Path) -> Result<Option<Self>, DbError> {
        let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        match rustix::fs::open(path, flags, Mode::empty()) {
            Ok(fd) => Ok(Some(Self { fd, path: path.to_owned() })),
            Err(Errno::NOENT) => Ok(None),
            // A parent is a file, so nothing exists below it.
            Err(Errno::NOTDIR | Errno::LOOP) => match path.symlink_metadata() {
                Ok(_) => Err(DbError::Foreign(format!(
                    "{}: it is a link or a file, and no folder that iogauge made; hint: use another \
                     --name or directory",
                    path.display()
                ))),
                Err(_) => Ok(None),
            },
            Err(error) => Err(fault(path, &error.into())),
        }
    }

    /// Returns its path, for error messages.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn place(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    fn fault(&self, name: &str, errno: Errno) -> DbError {
        fault(&self.place(name), &errno.into())
    }

    /// Returns all names in it, sorted. Names that are not UTF-8 are converted lossily.
    ///
    /// # Errors
    /// Fails if they cannot be read.
    pub fn names(&self) -> Result<Vec<String>, DbError> {
        let listed = || -> rustix::io::Result<Vec<String>> {
            let mut names = Vec::new();
            for entry in rustix::fs::Dir::read_from(&self.fd)? {
                let entry = entry?;
                let name = entry.file_name().to_string_lossy();
                if name != "." && name != ".." {
                    names.push(name.into_owned());
                }
            }
            names.sort_unstable();
            Ok(names)
        };
        listed().map_err(|errno| fault(&self.path, &errno.into()))
    }

    /// Examines a name.
    ///
    /// # Errors
    /// Errors of the system.
    pub fn find(&self, name: &str) -> Result<FolderEntry, DbError> {
        // Checked before opening, because opening a device may have side effects.
        match statat(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT) => return Ok(FolderEntry::Nothing),
            Err(errno) => return Err(self.fault(name, errno)),
            Ok(about) => match FileType::from_raw_mode(about.st_mode) {
                FileType::RegularFile | FileType::Directory => {}
                _ => return Ok(FolderEntry::Other),
            },
        }
        let fd = match openat(&self.fd, name, LOOK, Mode::empty()) {
            Ok(fd) => fd,
            Err(Errno::NOENT) => return Ok(FolderEntry::Nothing),
            Err(Errno::LOOP | Errno::NXIO | Errno::NODEV) => return Ok(FolderEntry::Other),
            Err(errno) => return Err(self.fault(name, errno)),
        };
        let about = fstat(&fd).map_err(|errno| self.fault(name, errno))?;
        Ok(match FileType::from_raw_mode(about.st_mode) {
            FileType::RegularFile => FolderEntry::File(File::from(fd)),
            FileType::Directory => FolderEntry::Folder(Self { fd, path: self.place(name) }),
            _ => FolderEntry::Other,
        })
    }

    /// Returns the content of a regular file of at most `most_bytes` bytes; `None` if the name does not exist.
    ///
    /// # Errors
    /// Returns [`DbError::Foreign`] if it is not a regular file, [`DbError::Failed`] if it is longer, or errors of the
    /// system.
    pub fn read(&self, name: &str, most_bytes: u64) -> Result<Option<Vec<u8>>, DbError> {
        let file = match self.find(name)? {
            FolderEntry::Nothing => return Ok(None),
            FolderEntry::File(file) => file,
            FolderEntry::Folder(_) | FolderEntry::Other => return Err(self.foreign(name)),
        };
        let mut bytes = Vec::new();
        let read = file.take(most_bytes + 1).read_to_end(&mut bytes);
        read.map_err(|error| fault(&self.place(name), &error))?;
        if bytes.len() as u64 > most_bytes {
            return Err(DbError::Failed(format!(
                "{}: it is damaged: it has more than {most_bytes} bytes",
                self.place(name).display()
            )));
        }
        Ok(Some(bytes))
    }

    /// Checks that every name that belongs to iogauge is a regular file with one link. Database engines open their
    /// files by name and follow links. The files are not opened, because closing one would release the locks that
    /// SQLite holds on it in this process (POSIX, `fcntl`).
    ///
    /// # Errors
    /// Returns [`DbError::Foreign`] for the first name that is not. Also fails if the folder cannot be read.
    pub fn check_files(&self, is_ours: impl Fn(&str) -> bool) -> Result<(), DbError> {
        for name in self.names()?.into_iter().filter(|name| is_ours(name)) {
            match statat(&self.fd, &*name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(about) if is_own(&about) => {}
                Ok(_) => return Err(self.foreign(&name)),
                // A log was restarted or a table compacted meanwhile.
                Err(Errno::NOENT) => {}
                Err(errno) => return Err(self.fault(&name, errno)),
            }
        }
        Ok(())
    }

    /// Returns the error for a name that refers to something iogauge would not have made.
    #[must_use]
    pub fn foreign(&self, name: &str) -> DbError {
        DbError::Foreign(format!(
            "{}: iogauge did not make what is there; hint: move it elsewhere",
            self.place(name).display()
        ))
    }

    /// Creates a file for reading and writing.
    ///
    /// # Errors
    /// Returns [`DbError::Foreign`] if the name already exists, or errors of the system.
    pub fn create(&self, name: &str) -> Result<File, DbError> {
        let flags =
            OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        match openat(&self.fd, name, flags, FILE_MODE) {
            Ok(fd) => Ok(File::from(fd)),
            Err(Errno::EXIST | Errno::LOOP) => Err(self.foreign(name)),
            Err(errno) => Err(self.fault(name, errno)),
        }
    }

    /// Opens a regular file for writing without truncating it. Creates it if it does not exist.
    ///
    /// # Errors
    /// Returns [`DbError::Foreign`] if it is not a regular file, or errors of the system.
    pub fn open_or_create(&self, name: &str) -> Result<File, DbError> {
        let flags = OFlags::RDWR
            | OFlags::CREATE
            | OFlags::NOFOLLOW
            | OFlags::NONBLOCK
            | OFlags::CLOEXEC
            | OFlags::NOCTTY;
        // A device must not be opened for writing, even to examine it.
        if matches!(self.find(name), Ok(FolderEntry::Other | FolderEntry::Folder(_))) {
            return Err(self.foreign(name));
        }
        let fd = match openat(&self.fd, name, flags, FILE_MODE) {
            Ok(fd) => fd,
            Err(Errno::LOOP | Errno::NXIO | Errno::ISDIR) => return Err(self.foreign(name)),
            Err(errno) => return Err(self.fault(name, errno)),
        };
        let about = fstat(&fd).map_err(|errno| self.fault(name, errno))?;
        if is_own(&about) { Ok(File::from(fd)) } else { Err(self.foreign(name)) }
    }

    /// Creates or replaces a regular file with this content, atomically, and returns the file. `partial` is its
    /// temporary name. A file left there by a killed process is removed first.
    ///
    /// # Errors
    /// Returns [`DbError::Foreign`] if either name is not a regular file, or errors of the system.
    pub fn replace(
        &self,
        name: &str,
        partial: &str,
        bytes: &[u8],
        flush: bool,
    ) -> Result<File, DbError> {
        match self.find(name)? {
            FolderEntry::Nothing | FolderEntry::File(_) => {}
            FolderEntry::Folder(_) | FolderEntry::Other => return Err(self.foreign(name)),
        }
        if let FolderEntry::File(left) = self.find(partial)? {
            self.remove(partial, &left)?;
        }
        let mut file = self.create(partial)?;
        let mut written = file.write_all(bytes);
        if flush {
            written = written.and_then(|()| file.sync_all());
        }
        let renamed =
            written.and_then(|()| Ok(rustix::fs::renameat(&self.fd, partial, &self.fd, name)?));
        if let Err(error) = renamed {
            // Report the first error.
            let _ = self.remove(partial, &file);
            return Err(fault(&self.place(name), &error));
        }
        Ok(file)
    }

    /// Removes a name if it refers to this open file. Returns the file's size on disk in bytes, or 0 if the name refers
    /// to another file, which is kept.
    ///
    /// # Errors
    /// Returns errors of the system.
    pub fn remove(&self, name: &str, file: impl AsFd) -> Result<u64, DbError> {
        let failed = |errno| self.fault(name, errno);
        let looked_at = fstat(file).map_err(failed)?;
        let there = match statat(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT) => return Ok(0),
            there => there.map_err(failed)?,
        };
        if (there.st_dev, there.st_ino) != (looked_at.st_dev, looked_at.st_ino) {
            return Ok(0);
        }
        unlinkat(&self.fd, name, AtFlags::empty()).map_err(failed)?;
        Ok((looked_at.st_blocks as u64).saturating_mul(512))
    }

    /// Removes an empty folder in it. Returns false if it is not empty or not a folder.
    pub fn remove_empty(&self, name: &str) -> bool {
        unlinkat(&self.fd, name, AtFlags::REMOVEDIR).is_ok()
    }

    /// Creates a folder in it, or opens the existing one.
    ///
    /// # Errors
    /// Returns [`DbError::Foreign`] if the name is not a folder, or errors of the system.
    pub fn subfolder(&self, name: &str) -> Result<Self, DbError> {
        match rustix::fs::mkdirat(&self.fd, name, Mode::from_raw_mode(0o777)) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(errno) => return Err(self.fault(name, errno)),
        }
        match self.find(name)? {
            FolderEntry::Folder(folder) => Ok(folder),
            _ => Err(self.foreign(name)),
        }
    }
}

impl AsFd for Folder {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Returns true for a regular file with one link. With a second name it would be somebody else's file.
fn is_own(about: &Stat) -> bool {
    FileType::from_raw_mode(about.st_mode) == FileType::RegularFile && about.st_nlink == 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn folder(dir: &tempfile::TempDir) -> Folder {
        Folder::open(dir.path()).unwrap().unwrap()
    }

    #[test]
    fn symlinks_fifos_and_directories_are_not_opened_as_files() {
        let dir = tempfile::tempdir().unwrap();
        let canary = dir.path().join("canary");
        std::fs::write(&canary, "precious").unwrap();
        let made = dir.path().join("made");
        std::fs::create_dir(&made).unwrap();
        for name in ["link", "partial"] {
            symlink(&canary, made.join(name)).unwrap();
        }
        std::fs::create_dir(made.join("folder")).unwrap();
        rustix::fs::mknodat(
            rustix::fs::CWD,
            made.join("pipe"),
            FileType::Fifo,
            Mode::from_raw_mode(0o600),
            0,
        )
        .unwrap();
        let folder = Folder::open(&made).unwrap().unwrap();
        for name in ["link", "pipe", "folder"] {
            assert!(matches!(folder.read(name, 9), Err(DbError::Foreign(_))), "{name}");
            assert!(matches!(folder.open_or_create(name), Err(DbError::Foreign(_))), "{name}");
            assert!(matches!(folder.create(name), Err(DbError::Foreign(_))), "{name}");
            let replaced = folder.replace(name, "new", b"x", false);
            assert!(matches!(replaced, Err(DbError::Foreign(_))), "{name}");
        }
        let replaced = folder.replace("fresh", "partial", b"x", false);
        assert!(matches!(replaced, Err(DbError::Foreign(_))));
        assert_eq!(std::fs::read(&canary).unwrap(), b"precious");
        assert!(matches!(Folder::open(&made.join("link")), Err(DbError::Foreign(_))));
        assert!(Folder::open(&made.join("nothing")).unwrap().is_none());
        assert!(Folder::open(&canary.join("below")).unwrap().is_none());
    }

    #[test]
    fn file_replaced_after_inspection_is_not_removed() {
        let dir = tempfile::tempdir().unwrap();
        let folder = folder(&dir);
        let first = folder.create("file").unwrap();
        std::fs::rename(dir.path().join("file"), dir.path().join("away")).unwrap();
        std::fs::write(dir.path().join("file"), "another").unwrap();
        assert_eq!(folder.remove("file", &first).unwrap(), 0);
        assert_eq!(std::fs::read(dir.path().join("file")).unwrap(), b"another");
        folder.remove("away", &first).unwrap();
        assert_eq!(folder.names().unwrap(), ["file"]);
    }

    #[test]
    fn files_are_replaced_atomically_and_read_with_a_size_bound() {
        let dir = tempfile::tempdir().unwrap();
        let folder = folder(&dir);
        // A killed process has left this file.
        std::fs::write(dir.path().join("new"), "half").unwrap();
        for content in [&b"one"[..], b"two"] {
            folder.replace("file", "new", content, true).unwrap();
            assert_eq!(folder.read("file", 3).unwrap().as_deref(), Some(content));
        }
        let error = folder.read("file", 2).unwrap_err().to_string();
        assert!(error.contains("damaged"), "{error}");
        assert_eq!(folder.read("nothing", 2).unwrap(), None);
        assert_eq!(folder.names().unwrap(), ["file"]);
    }
}
