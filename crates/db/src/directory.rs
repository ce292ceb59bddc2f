//! A database that lies in a directory of its own: the folder, what says that iogauge made it, the lock
//! that keeps a second run out, and how all of it goes again.
//!
//! `sqlite:DIR` with the name RAN is the folder `DIR/RAN`. In it are `iogauge.json` (the marker), `lock`,
//! `acknowledged`, and files of the backend.

use crate::backend::{Global, Purged};
use crate::error::DbError;
use crate::held::once_free;
use crate::url::DbUrl;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// Version word of the marker.
pub const FORMAT: &str = "iogauge.database/1";
const MARKER: &str = "iogauge.json";
const LOCK: &str = "lock";
const ACKNOWLEDGED: &str = "acknowledged";
/// The last two while they are written.
const PARTIAL: [&str; 2] = ["iogauge.new", "acknowledged.new"];

/// What says that iogauge made a database.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Marker {
    /// [`FORMAT`].
    pub format: String,
    /// Word of the backend.
    pub backend: String,
    /// Tells it from every other database.
    pub identity: String,
    /// Bytes of a block.
    pub block_bytes: u64,
    /// False while setup is at work: a setup that was killed leaves it so.
    pub complete: bool,
    /// True where setup made the directory around the folder, too.
    pub made_parent: bool,
    /// Its globals.
    pub globals: Vec<Global>,
}

/// A folder that is taken.
#[derive(Debug)]
pub struct Lock(File);

impl Drop for Lock {
    fn drop(&mut self) {
        // Closing the file is not enough: a process that was forked meanwhile and did not come to its
        // exec yet has it open, too. What cannot be given back goes with the last of these.
        let _ = self.0.unlock();
    }
}

/// The folder of a database.
#[derive(Debug, Clone)]
pub struct Directory {
    backend: &'static str,
    parent: PathBuf,
    folder: PathBuf,
    /// What a command is given to find it.
    typed: String,
}

impl Directory {
    /// The folder that a URL names. Touches nothing.
    #[must_use]
    pub fn of(url: &DbUrl, backend: &'static str) -> Self {
        let parent = PathBuf::from(&url.place);
        Self { backend, folder: parent.join(&url.name), parent, typed: url.typed() }
    }

    /// Its path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.folder
    }

    /// The path of a file in it.
    #[must_use]
    pub fn join(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Where acknowledged transactions are noted.
    #[must_use]
    pub fn acknowledged(&self) -> PathBuf {
        self.folder.join(ACKNOWLEDGED)
    }

    /// Makes the folder with a marker that says that setup is at work.
    ///
    /// # Errors
    /// [`DbError::Foreign`] where there is something already, [`DbError::ReadOnly`], [`DbError::Full`].
    pub fn make(&self, block_bytes: u64) -> Result<Marker, DbError> {
        let made_parent = !self.parent.exists();
        std::fs::create_dir_all(&self.parent).map_err(|error| fault(&self.parent, &error))?;
        match std::fs::create_dir(&self.folder) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => return Err(self.occupied()?),
            other => other.map_err(|error| fault(&self.folder, &error))?,
        }
        let marker = Marker {
            format: FORMAT.to_owned(),
            backend: self.backend.to_owned(),
            identity: identity(&self.folder),
            block_bytes,
            complete: false,
            made_parent,
            globals: Vec::new(),
        };
        self.write(&marker).inspect_err(|_| self.unmake(made_parent))?;
        Ok(marker)
    }

    /// Removes a folder whose marker could not be written: without one, purge would take it for foreign.
    fn unmake(&self, made_parent: bool) {
        // The fault that led here is the one to tell.
        let _ = std::fs::remove_file(self.join(PARTIAL[0]));
        if std::fs::remove_dir(&self.folder).is_ok() && made_parent {
            let _ = std::fs::remove_dir(&self.parent);
        }
    }

    /// Why setup cannot have the folder.
    fn occupied(&self) -> Result<DbError, DbError> {
        let path = self.folder.display();
        let reason = match self.read() {
            Ok(Some(marker)) if marker.complete => {
                format!(
                    "{path}: there is a database already; right would be another --name, or iogauge db purge \
                     {} first",
                    self.typed
                )
            }
            Ok(Some(_)) => {
                let typed = &self.typed;
                format!(
                    "{path}: a setup was cut short here; right would be iogauge db purge {typed} first"
                )
            }
            Ok(None) => format!(
                "{path}: there are files that iogauge did not make; right would be another --name or directory"
            ),
            Err(error) => return Err(error),
        };
        Ok(DbError::Foreign(reason))
    }

    /// The marker, of a setup that was cut short too; `None` where there is none.
    ///
    /// # Errors
    /// Where it cannot be read or is none of these.
    pub fn read(&self) -> Result<Option<Marker>, DbError> {
        let path = self.join(MARKER);
        let bytes = match std::fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error)
                if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) =>
            {
                return Ok(None);
            }
            Err(error) => return Err(fault(&path, &error)),
        };
        let marker: Option<Marker> = serde_json::from_slice(&bytes).ok();
        match marker {
            Some(marker) if marker.format == FORMAT && marker.backend == self.backend => {
                Ok(Some(marker))
            }
            Some(marker) if marker.format == FORMAT => Err(DbError::Foreign(format!(
                "{}: it is a database of {}; right would be {}:{}",
                self.folder.display(),
                marker.backend,
                marker.backend,
                self.parent.display()
            ))),
            _ => Err(DbError::Foreign(format!("{}: it is no {FORMAT}", path.display()))),
        }
    }

    /// The marker of a database that is there.
    ///
    /// # Errors
    /// [`DbError::Missing`] where setup did not make one, or not to its end.
    pub fn marker(&self) -> Result<Marker, DbError> {
        let path = self.folder.display();
        match self.read()? {
            Some(marker) if marker.complete => Ok(marker),
            Some(_) => Err(DbError::Missing(format!(
                "{path}: a setup was cut short here; right would be iogauge db purge {}, and setup again",
                self.typed
            ))),
            None => Err(DbError::Missing(format!(
                "{path}: there is no database; right would be iogauge db setup {} --size 64g",
                self.typed
            ))),
        }
    }

    /// Writes the marker, all of it or nothing.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn write(&self, marker: &Marker) -> Result<(), DbError> {
        let (partial, path) = (self.join(PARTIAL[0]), self.join(MARKER));
        let text =
            serde_json::to_vec_pretty(marker).map_err(|error| fault(&path, &error.into()))?;
        let written = std::fs::write(&partial, text)
            .and_then(|()| File::open(&partial)?.sync_all())
            .and_then(|()| std::fs::rename(&partial, &path));
        written.map_err(|error| fault(&path, &error))
    }

    /// Takes the folder for as long as the lock is held.
    ///
    /// # Errors
    /// [`DbError::Busy`] where somebody else has it.
    pub fn lock(&self) -> Result<Lock, DbError> {
        self.take(self.lock_file())
    }

    /// The same for one who only looks and may not write here. Waits a moment for a run that was killed.
    ///
    /// # Errors
    /// [`DbError::Missing`] where there is no database, [`DbError::Busy`] where somebody else has it.
    pub fn hold(&self) -> Result<Lock, DbError> {
        self.marker()?;
        // A process that was killed has it until the system has put everything of it away.
        once_free(|| {
            let file = self.lock_file();
            self.take(file.or_else(|error| File::open(self.join(LOCK)).map_err(|_| error)))
        })
    }

    fn lock_file(&self) -> std::io::Result<File> {
        File::options().create(true).truncate(false).write(true).open(self.join(LOCK))
    }

    fn take(&self, file: std::io::Result<File>) -> Result<Lock, DbError> {
        let path = self.join(LOCK);
        let file = file.map_err(|error| fault(&path, &error))?;
        match file.try_lock() {
            Ok(()) => Ok(Lock(file)),
            Err(std::fs::TryLockError::WouldBlock) => Err(DbError::Busy(format!(
                "{}: another run works on this database; right would be to wait for it, or iogauge db stop",
                self.folder.display()
            ))),
            Err(std::fs::TryLockError::Error(error)) => Err(fault(&path, &error)),
        }
    }

    /// Removes what iogauge made: its own files, and those whose name `is_ours` knows. The folder goes
    /// where nothing else is in it, and the directory around it where setup made that.
    ///
    /// # Errors
    /// [`DbError::Missing`] where there is no marker, [`DbError::Busy`] where a run has it.
    pub fn purge(&self, is_ours: impl Fn(&str) -> bool) -> Result<Purged, DbError> {
        let Some(marker) = self.read()? else { return self.marker().map(|_| Purged::default()) };
        let lock = self.lock()?;
        let mut purged = Purged::default();
        let entries = std::fs::read_dir(&self.folder).map_err(|e| fault(&self.folder, &e))?;
        let mut last = Vec::new();
        for entry in entries.flatten() {
            let (path, name) = (entry.path(), entry.file_name());
            let name = name.to_string_lossy();
            if [MARKER, LOCK].contains(&&*name) {
                // While they are there, another purge can finish what this one cannot.
                last.push(path);
            } else if name == ACKNOWLEDGED || PARTIAL.contains(&&*name) || is_ours(&name) {
                purged.freed_bytes += remove(&path)?;
            } else {
                purged.left.push(path.display().to_string());
            }
        }
        for path in last {
            purged.freed_bytes += remove(&path)?;
        }
        drop(lock);
        // Directories that hold something else stay.
        if std::fs::remove_dir(&self.folder).is_ok() && marker.made_parent {
            let _ = std::fs::remove_dir(&self.parent);
        }
        purged.left.sort();
        Ok(purged)
    }
}

/// Removes a file, or a folder with everything in it, and tells how large it was.
fn remove(path: &Path) -> Result<u64, DbError> {
    let bytes = disk_bytes(path);
    let removed =
        if path.is_dir() { std::fs::remove_dir_all(path) } else { std::fs::remove_file(path) };
    removed.map_err(|error| fault(path, &error))?;
    Ok(bytes)
}

/// Bytes that a file, or everything in a folder, takes on its disk; 0 for what is not there.
#[must_use]
pub fn disk_bytes(path: &Path) -> u64 {
    let Ok(about) = std::fs::symlink_metadata(path) else { return 0 };
    if !about.is_dir() {
        return about.blocks() * 512;
    }
    let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
    entries.map(|entry| disk_bytes(&entry.path())).sum()
}

/// A word that no other database has.
fn identity(folder: &Path) -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let inode = std::fs::metadata(folder).map_or(0, |about| about.ino());
    format!("{:x}-{inode:x}-{:x}", since.as_nanos(), std::process::id())
}

/// What the system says about a path, as a fault of the right kind.
#[must_use]
pub fn fault(path: &Path, error: &std::io::Error) -> DbError {
    let text = format!("{}: {error}", path.display());
    match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge => {
            DbError::Full(format!("{text}; right would be a smaller --size or another disk"))
        }
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
            DbError::ReadOnly(format!("{text}; right would be a directory that you may write"))
        }
        _ => DbError::Failed(text),
    }
}
