//! A name in an open directory, and the temporary file that is to take it.

use super::content::HISTORY_APPLICATION_ID;
use super::{OutputError, io_error};
use crate::kernel::{
    is_among_devices, name_file, pseudo_file_system, rename_to_free, unnamed_file,
};
use crate::sqlite_file::APPLICATION_ID_AT;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, RenameFlags, Stat};
use rustix::io::Errno;
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// Suffixes of the files next to a history.
const BESIDE_HISTORY: [&[u8]; 4] = [b"-wal", b"-shm", b"-journal", b"-lock"];

/// A name in an open directory.
#[derive(Debug)]
pub(super) struct OutputPlace {
    directory: Arc<OwnedFd>,
    name: OsString,
    /// The path as given.
    pub(super) path: PathBuf,
}

/// The file that has a name.
pub(super) struct NamedFile {
    pub(super) kind: FileType,
    pub(super) identity: Identity,
}

/// Distinguishes a file from every other file and from itself after a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Identity {
    device: u64,
    inode: u64,
    /// Time of the last change, in seconds and nanoseconds. Needed because inode numbers are reused.
    changed: (i64, i64),
    mode: u32,
}

impl Identity {
    pub(super) fn of(fd: impl AsFd) -> Result<Self, Errno> {
        rustix::fs::fstat(fd).map(|stat| Self::from_stat(&stat))
    }

    fn from_stat(stat: &Stat) -> Self {
        Self {
            device: stat.st_dev,
            inode: stat.st_ino,
            changed: (stat.st_ctime, stat.st_ctime_nsec as i64),
            mode: stat.st_mode,
        }
    }

    /// Returns true for the same file, changed or not.
    pub(super) fn is_same_file(&self, other: &Self) -> bool {
        (self.device, self.inode) == (other.device, other.inode)
    }
}

/// Opens a directory to use names in it.
pub(super) fn open_directory(path: &Path) -> Result<OwnedFd, Errno> {
    rustix::fs::open(path, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
}

impl OutputPlace {
    pub(super) fn new(directory: Arc<OwnedFd>, name: OsString, path: PathBuf) -> Self {
        Self { directory, name, path }
    }

    /// Returns the place of a path. Its directory must exist.
    pub(super) fn of(path: &Path) -> Result<Self, OutputError> {
        // A path that ends in a slash or in dots names a directory. `file_name` ignores the slash.
        let named = path.file_name().filter(|_| !path.as_os_str().as_bytes().ends_with(b"/"));
        let Some(name) = named else {
            let what = if path.as_os_str().is_empty() { "no file name" } else { "a directory" };
            return Err(OutputError::NoFile { path: path.to_path_buf(), what });
        };
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        let directory = open_directory(parent.unwrap_or(Path::new(".")))
            .map_err(|source| io_error(path, "open its directory", source))?;
        Ok(Self::new(Arc::new(directory), name.to_owned(), path.to_path_buf()))
    }

    /// Looks up the name without following a symbolic link.
    pub(super) fn look(&self) -> Result<Option<NamedFile>, OutputError> {
        match rustix::fs::statat(&self.directory, &self.name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(NamedFile {
                kind: FileType::from_raw_mode(stat.st_mode),
                identity: Identity::from_stat(&stat),
            })),
            Err(Errno::NOENT) => Ok(None),
            Err(source) => Err(io_error(&self.path, "look at it", source)),
        }
    }

    /// Opens the regular file with this name.
    pub(super) fn open_file(&self, flags: OFlags) -> io::Result<File> {
        self.open_name(&self.name, flags)
    }

    fn open_name(&self, name: &OsString, flags: OFlags) -> io::Result<File> {
        // Does not block if the name has become a FIFO.
        let flags = flags | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        Ok(rustix::fs::openat(&self.directory, name, flags, Mode::empty())?.into())
    }

    /// Refuses the names of files that SQLite and iogauge keep next to a history.
    pub(super) fn refuse_beside_history(&self) -> Result<(), OutputError> {
        let name = self.name.as_bytes();
        let base = BESIDE_HISTORY.iter().find_map(|suffix| name.strip_suffix(*suffix));
        let Some(base) = base.filter(|base| !base.is_empty()) else { return Ok(()) };
        let Ok(file) = self.open_name(&OsString::from_vec(base.to_vec()), OFlags::RDONLY) else {
            return Ok(());
        };
        let mut id = [0; 4];
        let is_history = file.read_exact_at(&mut id, APPLICATION_ID_AT as u64).is_ok()
            && id == HISTORY_APPLICATION_ID.to_be_bytes();
        if !is_history {
            return Ok(());
        }
        // Closing it would release the locks that this process holds on it (fcntl(2), F_SETLK).
        std::mem::forget(file);
        let what = "a file that belongs to a history";
        Err(OutputError::Database { path: self.path.clone(), what })
    }

    /// Refuses a new file among devices or kernel files, where it would only come from a mistyped name.
    pub(super) fn refuse_among_kernel_files(&self) -> Result<(), OutputError> {
        if is_among_devices(&self.directory) || pseudo_file_system(&self.directory).is_some() {
            return Err(OutputError::AmongKernelFiles { path: self.path.clone() });
        }
        Ok(())
    }

    /// Checks whether a file can be created here.
    pub(super) fn probe(&self) -> Result<(), OutputError> {
        Partial::make(self, None)
            .map(drop)
            .map_err(|source| io_error(&self.path, "make a file beside it", source))
    }
}

/// A file that is being written; unnamed if the file system supports that. Dropping it removes it.
#[derive(Debug)]
pub(super) struct Partial {
    pub(super) file: File,
    directory: Arc<OwnedFd>,
    /// Its temporary name, if it has one.
    name: Option<OsString>,
}

impl Partial {
    /// Creates one with the permissions of the file that it is to replace.
    pub(super) fn make(place: &OutputPlace, judged: Option<&Identity>) -> io::Result<Self> {
        let directory = place.directory.clone();
        let unnamed = unnamed_file(&directory, OFlags::WRONLY, Mode::from_raw_mode(0o666))?;
        let partial = match unnamed {
            Some(file) => Self { file, directory, name: None },
            None => {
                let (file, name) = make_named(&directory)?;
                Self { file, directory, name: Some(name) }
            }
        };
        if let Some(judged) = judged {
            // Fails for a file of another user. Its permissions are then kept as far as the system allows.
            let _ = rustix::fs::fchmod(&partial.file, Mode::from_raw_mode(judged.mode & 0o777));
        }
        Ok(partial)
    }

    /// Gives the file its final name, which must be free, or still belong to the checked file.
    pub(super) fn put(
        mut self,
        place: &OutputPlace,
        judged: Option<Identity>,
    ) -> Result<(), OutputError> {
        let changed = || OutputError::Changed { path: place.path.clone() };
        let fault = |source: io::Error| io_error(&place.path, "put it in its place", source);
        let Some(judged) = judged else {
            return match self.link(&place.name) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(changed()),
                put => put.map_err(fault),
            };
        };
        if place.look()?.map(|found| found.identity) != Some(judged) {
            return Err(changed());
        }
        let beside = match self.name.clone() {
            Some(name) => name,
            None => self.link_beside().map_err(fault)?,
        };
        match rename(place, &beside, &place.name, RenameFlags::EXCHANGE) {
            Ok(()) => {}
            Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
                return self.rename_over(place, &beside).map_err(fault);
            }
            Err(Errno::NOENT) => return Err(changed()),
            Err(error) => return Err(fault(error.into())),
        }
        // The temporary name now refers to the previous file. If that is not the checked file, it is moved back.
        let taken = rustix::fs::statat(&place.directory, &beside, AtFlags::SYMLINK_NOFOLLOW);
        if taken.is_ok_and(|stat| Identity::from_stat(&stat).is_same_file(&judged)) {
            return Ok(());
        }
        let back = rename(place, &beside, &place.name, RenameFlags::EXCHANGE);
        if back.is_err() {
            // It is not ours, so it is kept under the temporary name.
            self.name = None;
        }
        Err(changed())
    }

    /// Replaces the file if the file system cannot exchange two names.
    fn rename_over(&mut self, place: &OutputPlace, beside: &OsString) -> io::Result<()> {
        rename(place, beside, &place.name, RenameFlags::empty())?;
        self.name = None;
        Ok(())
    }

    /// Gives the file a name that must be free.
    fn link(&mut self, name: &OsString) -> io::Result<()> {
        match &self.name {
            Some(own) => {
                rename_to_free((&self.directory, own), (&self.directory, name))?;
                self.name = None;
            }
            None => name_file(&self.file, &self.directory, name)?,
        }
        Ok(())
    }

    fn link_beside(&mut self) -> io::Result<OsString> {
        loop {
            let name = drawn_name();
            match self.link(&name) {
                Ok(()) => {
                    self.name = Some(name.clone());
                    return Ok(name);
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
    }
}

impl Drop for Partial {
    fn drop(&mut self) {
        if let Some(name) = &self.name {
            // An error is ignored: the file does no harm, and there is nobody to report it to.
            let _ = rustix::fs::unlinkat(&self.directory, name, AtFlags::empty());
        }
    }
}

fn rename(
    place: &OutputPlace,
    from: &OsString,
    to: &OsString,
    flags: RenameFlags,
) -> Result<(), Errno> {
    rustix::fs::renameat_with(&place.directory, from, &place.directory, to, flags)
}

/// Creates a file with a new name.
fn make_named(directory: &OwnedFd) -> io::Result<(File, OsString)> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    loop {
        let name = drawn_name();
        match rustix::fs::openat(directory, &name, flags, Mode::from_raw_mode(0o666)) {
            Ok(fd) => return Ok((fd.into(), name)),
            Err(Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Returns a hidden name that no other process generates.
fn drawn_name() -> OsString {
    static DRAWN: AtomicU32 = AtomicU32::new(0);
    let number = DRAWN.fetch_add(1, Ordering::Relaxed);
    format!(".iogauge-{}-{number}.partial", std::process::id()).into()
}
