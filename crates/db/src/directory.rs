//! A database in a directory of its own: the folder, the marker that shows that iogauge made it, the lock against a
//! second run, and the removal of everything.
//!
//! `sqlite:DIR` with the name RAN is the folder `DIR/RAN`. It contains `iogauge.json` (the marker), `lock`, `readers`,
//! `acknowledged`, and the backend's files.

use crate::backend::Purged;
use crate::error::DbError;
use crate::exclusive_lock::retry_until_free;
use crate::folder::{Folder, FolderEntry};
use crate::marker::MarkerError;
pub use crate::marker::{FORMAT, Marker};
use crate::url::DbUrl;
use iogauge_io::targets::{GuardError, Intent, Roots, Target, TargetError};
use std::fs::{File, TryLockError};
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

const MARKER: &str = "iogauge.json";
/// Locked by a run that writes, and by everything else that changes the database.
const LOCK: &str = "lock";
/// Shared by runs that only read; locked by a purge.
const READERS: &str = "readers";
const ACKNOWLEDGED: &str = "acknowledged";
/// Temporary names of the marker and of the record of acknowledged transactions.
const PARTIAL: [&str; 2] = ["iogauge.new", "acknowledged.new"];
/// Maximum size of a marker, which is enough for 100,000 globals.
const MOST_MARKER_BYTES: u64 = 16 << 20;

/// The lock of a folder.
#[derive(Debug)]
pub struct Lock(File);

impl Drop for Lock {
    fn drop(&mut self) {
        // Closing the file is not enough: a process that was forked meanwhile, and has not yet called exec, also has it
        // open. If unlocking fails, the lock ends with the last of these processes.
        let _ = self.0.unlock();
    }
}

/// The folder of a database.
#[derive(Debug, Clone)]
pub struct Directory {
    backend: &'static str,
    parent: PathBuf,
    folder: PathBuf,
    /// The arguments with which a command finds this database.
    typed: String,
    /// The marker of a folder that was created for a setup which has not started yet.
    made: Arc<Mutex<Option<Marker>>>,
    /// True if setup created the parent directory. Needed to remove the folder after its marker is gone.
    made_parent: Arc<AtomicBool>,
}

impl Directory {
    /// Returns the folder of a URL. Writes nothing.
    #[must_use]
    pub fn of(url: &DbUrl, backend: &'static str) -> Self {
        let parent = PathBuf::from(&url.place);
        Self {
            backend,
            folder: parent.join(&url.name),
            parent,
            typed: url.typed(),
            made: Arc::default(),
            made_parent: Arc::default(),
        }
    }

    #[must_use]
    pub fn path(&self) -> &Path {
        &self.folder
    }

    /// Returns the path of a file in it.
    #[must_use]
    pub fn join(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Returns the path of the record of acknowledged transactions.
    #[must_use]
    pub fn acknowledged(&self) -> PathBuf {
        self.folder.join(ACKNOWLEDGED)
    }

    /// Creates the folder like [`Self::make`], for a setup that is confined to it.
    ///
    /// # Errors
    /// As [`Self::make`].
    pub fn prepare(&self, block_bytes: u64) -> Result<(), DbError> {
        let marker = self.make(block_bytes)?;
        self.made_parent.store(marker.made_parent, Ordering::Relaxed);
        *self.made.lock().unwrap_or_else(PoisonError::into_inner) = Some(marker);
        Ok(())
    }

    /// Stores what [`Self::remove_made`] needs from the marker of a database that is about to be removed.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub fn note_made(&self) -> Result<(), DbError> {
        let made_parent = self.read()?.is_some_and(|marker| marker.made_parent);
        self.made_parent.store(made_parent, Ordering::Relaxed);
        Ok(())
    }

    /// Removes the folder, and its parent directory if setup created it. Directories that are not empty are kept.
    pub fn remove_made(&self) {
        // The purge has reported the remaining files.
        if std::fs::remove_dir(&self.folder).is_ok() && self.made_parent.load(Ordering::Relaxed) {
            let _ = std::fs::remove_dir(&self.parent);
        }
    }

    /// Creates the folder with the marker of an incomplete setup. For a prepared folder, returns the existing marker.
    ///
    /// # Errors
    /// As [`Self::check_place`]. Returns [`DbError::Foreign`] if something already exists there, [`DbError::ReadOnly`],
    /// or [`DbError::Full`].
    pub fn make(&self, block_bytes: u64) -> Result<Marker, DbError> {
        if let Some(marker) = self.made.lock().unwrap_or_else(PoisonError::into_inner).take() {
            return Ok(marker);
        }
        self.check_place()?;
        let made_parent = !self.parent.exists();
        if made_parent {
            std::fs::create_dir(&self.parent).map_err(|error| fault(&self.parent, &error))?;
        }
        match std::fs::create_dir(&self.folder) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => return Err(self.occupied()?),
            other => other.map_err(|error| fault(&self.folder, &error))?,
        }
        let folder = self.there()?;
        if !folder.names()?.is_empty() {
            return Err(folder.foreign(""));
        }
        let marker = Marker {
            format: FORMAT.to_owned(),
            backend: self.backend.to_owned(),
            identity: identity(&folder),
            block_bytes,
            complete: false,
            made_parent,
            globals: Vec::new(),
        };
        self.made_parent.store(made_parent, Ordering::Relaxed);
        // Without a marker, purge would treat the folder as foreign.
        self.write(&marker).inspect_err(|_| self.remove_made())?;
        Ok(marker)
    }

    /// Checks that the folder can be there: its file system stores data, and at most the folder and its parent
    /// directory are missing. A longer path that is missing may be mistyped, or below a mount point that is not
    /// mounted.
    ///
    /// # Errors
    /// Returns [`DbError::Foreign`] for a file system of the kernel, or [`DbError::Usage`] for missing directories.
    pub fn check_place(&self) -> Result<(), DbError> {
        let Ok(folder) = std::path::absolute(&self.folder) else { return Ok(()) };
        let is_missing = |path: &&Path| {
            path.symlink_metadata().is_err_and(|error| error.kind() == ErrorKind::NotFound)
        };
        let missing: Vec<&Path> = folder.ancestors().take_while(is_missing).collect();
        let Some(first) = missing.last() else { return Ok(()) };
        let intent = Intent { writes: true, direct: false, ..Intent::default() };
        // Everything else about the place is found out when it is used.
        if let Err(TargetError::Guard(GuardError::KernelFile { path, file_system })) =
            Target::resolve(&[first.to_path_buf()], &intent, &Roots::real())
        {
            return Err(DbError::Foreign(format!(
                "{}: refused, {file_system} is a file system of the kernel without stored data; hint: use \
                 another directory",
                path.display()
            )));
        }
        match missing.get(2) {
            Some(directory) => Err(DbError::Usage(format!(
                "{}: there is no such directory; hint: run mkdir -p {0}",
                directory.display()
            ))),
            None => Ok(()),
        }
    }

    /// Opens the folder; `None` if it does not exist.
    ///
    /// # Errors
    /// As [`Folder::open`].
    pub fn open(&self) -> Result<Option<Folder>, DbError> {
        Folder::open(&self.folder)
    }

    /// Opens the folder, which must exist.
    ///
    /// # Errors
    /// Returns [`DbError::Missing`] if it does not. Otherwise as [`Folder::open`].
    pub fn there(&self) -> Result<Folder, DbError> {
        self.open()?.ok_or_else(|| self.missing())
    }

    fn missing(&self) -> DbError {
        DbError::Missing(format!(
            "{}: there is no database; hint: run iogauge db setup {} --size 64g",
            self.folder.display(),
            self.typed
        ))
    }

    /// Returns the reason why setup cannot use the folder.
    fn occupied(&self) -> Result<DbError, DbError> {
        let path = self.folder.display();
        let reason = match self.read() {
            Ok(Some(marker)) if marker.complete => {
                format!(
                    "{path}: there is a database already; hint: use another --name, or run iogauge db \
                     purge \
                     {} first",
                    self.typed
                )
            }
            Ok(Some(_)) => {
                let typed = &self.typed;
                format!(
                    "{path}: a setup was cut short here; hint: run iogauge db purge {typed} first"
                )
            }
            Ok(None) => format!(
                "{path}: there are files that iogauge did not make; hint: use another --name or directory"
            ),
            Err(error) => return Err(error),
        };
        Ok(DbError::Foreign(reason))
    }

    /// Reads the marker, even that of an interrupted setup; `None` if there is none.
    ///
    /// # Errors
    /// Fails if it cannot be read, or is not a marker of this backend.
    pub fn read(&self) -> Result<Option<Marker>, DbError> {
        let Some(folder) = self.open()? else { return Ok(None) };
        let Some(bytes) = folder.read(MARKER, MOST_MARKER_BYTES)? else { return Ok(None) };
        let place = self.join(MARKER);
        match Marker::read(&bytes) {
            Ok(marker) if marker.backend == self.backend => Ok(Some(marker)),
            Ok(marker) => Err(DbError::Foreign(format!(
                "{}: it is a database of {}; hint: use {}:{}",
                self.folder.display(),
                marker.backend,
                marker.backend,
                self.parent.display()
            ))),
            Err(error @ MarkerError::Other) => {
                Err(DbError::Foreign(format!("{}: {error}", place.display())))
            }
            Err(error @ MarkerError::Damaged(_)) => Err(DbError::Failed(format!(
                "{}: {error}; hint: restore the file as setup wrote it",
                place.display()
            ))),
        }
    }

    /// Reads the marker of a complete database.
    ///
    /// # Errors
    /// Returns [`DbError::Missing`] if setup has not created one, or was interrupted.
    pub fn marker(&self) -> Result<Marker, DbError> {
        let path = self.folder.display();
        match self.read()? {
            Some(marker) if marker.complete => Ok(marker),
            Some(_) => Err(DbError::Missing(format!(
                "{path}: a setup was cut short here; hint: run iogauge db purge {}, then setup",
                self.typed
            ))),
            None => Err(self.missing()),
        }
    }

    /// Writes the marker atomically.
    ///
    /// # Errors
    /// Fails if it cannot be written.
    pub fn write(&self, marker: &Marker) -> Result<(), DbError> {
        let path = self.join(MARKER);
        let text =
            serde_json::to_vec_pretty(marker).map_err(|error| fault(&path, &error.into()))?;
        self.there()?.replace(MARKER, PARTIAL[0], &text, true).map(drop)
    }

    /// Locks the folder for a run that writes.
    ///
    /// # Errors
    /// Returns [`DbError::Busy`] if another process has locked it.
    pub fn lock(&self) -> Result<Lock, DbError> {
        self.take(self.there()?.open_or_create(LOCK)?, File::try_lock)
    }

    /// Keeps the data from being removed. Other runs can write and read meanwhile. The user may lack write permission
    /// if a run has read before.
    ///
    /// # Errors
    /// Returns [`DbError::Missing`] if there is no database, or [`DbError::Busy`] if it is being removed.
    pub fn lock_to_read(&self) -> Result<Lock, DbError> {
        self.marker()?;
        self.take(self.open_lock(READERS)?, File::try_lock_shared)
    }

    /// Locks the folder against all runs.
    ///
    /// # Errors
    /// Returns [`DbError::Busy`] if another process has locked it.
    pub fn lock_alone(&self) -> Result<[Lock; 2], DbError> {
        let readers = self.there()?.open_or_create(READERS)?;
        Ok([self.lock()?, self.take(readers, File::try_lock)?])
    }

    /// Locks the folder for a check, which may lack write permission. Waits a moment for the processes of a killed run.
    ///
    /// # Errors
    /// Returns [`DbError::Missing`] if there is no database, or [`DbError::Busy`] if another process has locked it.
    pub fn hold(&self) -> Result<Lock, DbError> {
        self.marker()?;
        // A killed process keeps the lock until the system has released all its resources.
        retry_until_free(|| self.take(self.open_lock(LOCK)?, File::try_lock))
    }

    /// Opens a lock file, for a user who may lack write permission.
    fn open_lock(&self, name: &str) -> Result<File, DbError> {
        let folder = self.there()?;
        match (folder.open_or_create(name), folder.find(name)?) {
            (Ok(file), _) | (Err(DbError::ReadOnly(_)), FolderEntry::File(file)) => Ok(file),
            (Err(error), _) => Err(error),
        }
    }

    fn take(
        &self,
        file: File,
        lock: impl FnOnce(&File) -> Result<(), TryLockError>,
    ) -> Result<Lock, DbError> {
        match lock(&file) {
            Ok(()) => Ok(Lock(file)),
            Err(TryLockError::WouldBlock) => Err(DbError::Busy(format!(
                "{}: another run works on this database; hint: wait for it, or run iogauge db stop",
                self.folder.display()
            ))),
            Err(TryLockError::Error(error)) => Err(fault(&self.join(LOCK), &error)),
        }
    }

    /// Removes what iogauge made: its own files, and those for which `is_ours` returns true. `is_ours` is called with
    /// the folder, the name of a regular file and the file, in descending order of names, so that `global1.db-wal`
    /// comes before `global1.db`. Symbolic links and everything else that is not a regular file are kept. Then removes
    /// the folder if it is empty, and its parent directory if setup created it.
    ///
    /// # Errors
    /// Returns [`DbError::Missing`] if there is no marker, or [`DbError::Busy`] if a run has locked it.
    pub fn purge(&self, is_ours: impl Fn(&Folder, &str, &File) -> bool) -> Result<Purged, DbError> {
        let Some(marker) = self.read()? else { return self.marker().map(|_| Purged::default()) };
        let locks = self.lock_alone()?;
        let folder = self.there()?;
        let mut purged = Purged::default();
        for name in folder.names()?.into_iter().rev() {
            let own = name == ACKNOWLEDGED || PARTIAL.contains(&&*name);
            match folder.find(&name)? {
                // While these exist, another purge can complete an incomplete one.
                FolderEntry::File(_) if [MARKER, LOCK, READERS].contains(&&*name) => {}
                FolderEntry::File(file) if own || is_ours(&folder, &name, &file) => {
                    purged.freed_bytes += folder.remove(&name, &file)?;
                }
                FolderEntry::Nothing => {}
                FolderEntry::File(_) | FolderEntry::Folder(_) | FolderEntry::Other => {
                    purged.left.push(self.join(&name).display().to_string());
                }
            }
        }
        for name in [READERS, LOCK, MARKER] {
            if let FolderEntry::File(file) = folder.find(name)? {
                purged.freed_bytes += folder.remove(name, &file)?;
            }
        }
        drop(locks);
        self.made_parent.store(marker.made_parent, Ordering::Relaxed);
        self.remove_made();
        purged.left.sort();
        Ok(purged)
    }
}

/// Returns the size on disk of a file, or of everything in a folder, in bytes; 0 if it does not exist.
#[must_use]
pub fn disk_bytes(path: &Path) -> u64 {
    let Ok(about) = std::fs::symlink_metadata(path) else { return 0 };
    if !about.is_dir() {
        return about.blocks() * 512;
    }
    let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
    entries.map(|entry| disk_bytes(&entry.path())).sum()
}

/// Returns a new unique identifier.
fn identity(folder: &Folder) -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let inode = rustix::fs::fstat(folder).map_or(0, |about| about.st_ino);
    format!("{:x}-{inode:x}-{:x}", since.as_nanos(), std::process::id())
}

/// Converts a system error concerning a path.
#[must_use]
pub fn fault(path: &Path, error: &std::io::Error) -> DbError {
    let text = format!("{}: {}", path.display(), system_words(error));
    match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge => {
            DbError::Full(format!("{text}; hint: use a smaller database or another disk"))
        }
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
            DbError::ReadOnly(format!("{text}; hint: use a directory that you may write"))
        }
        _ => DbError::Failed(text),
    }
}

/// Returns the error for a thread that cannot be started.
#[must_use]
pub fn no_thread(error: &std::io::Error) -> DbError {
    DbError::Failed(format!(
        "a thread cannot be started: {}; hint: use fewer processes",
        system_words(error)
    ))
}

/// Returns the text of a system error, without its number.
#[must_use]
pub fn system_words(error: &std::io::Error) -> String {
    use rustix::io::Errno;
    let words = match error.raw_os_error().map(Errno::from_raw_os_error) {
        Some(Errno::NOENT) => "there is no such file or directory",
        Some(Errno::NOTDIR) => "a part of the path is a file, not a directory",
        Some(Errno::ISDIR) => "it is a directory, and no file",
        Some(Errno::ACCESS | Errno::PERM) => "this user may not do that",
        Some(Errno::ROFS) => "the file system can only be read",
        Some(Errno::NOSPC) => "no room is left on the disk",
        Some(Errno::DQUOT) => "the user's share of the disk is used up",
        Some(Errno::FBIG) => "the file would be larger than the system allows (ulimit -f)",
        Some(Errno::IO) => "the device failed; the kernel's log says how",
        Some(Errno::MFILE) => "the process has too many files open; hint: use a higher ulimit -n",
        Some(Errno::NFILE) => "the machine has too many files open; hint: use a higher fs.file-max",
        Some(Errno::NOMEM) => "the system has no memory for it",
        Some(Errno::AGAIN) => "the system has no room for it at present (ulimit -u, memory)",
        Some(Errno::INVAL) => "the file system does not do that",
        Some(Errno::LOOP) => "there is a link where a file should be",
        Some(Errno::NAMETOOLONG) => "the name is too long",
        Some(Errno::CONNREFUSED) => "no process listens there",
        Some(Errno::HOSTUNREACH | Errno::NETUNREACH) => "no way leads there",
        Some(Errno::TIMEDOUT) => "no answer came in time",
        Some(Errno::CONNRESET | Errno::PIPE) => "the other side went away",
        Some(_) => {
            let text = error.to_string();
            let text = text.split(" (os error").next().unwrap_or_default();
            return format!("the system refuses it: {text}");
        }
        None => match error.kind() {
            ErrorKind::TimedOut | ErrorKind::WouldBlock => "no answer came in time",
            ErrorKind::AddrNotAvailable => "the name has no address",
            ErrorKind::UnexpectedEof => "it ends before its time",
            ErrorKind::NotFound => "there is no such file or directory",
            _ => return error.to_string(),
        },
    };
    words.to_owned()
}
