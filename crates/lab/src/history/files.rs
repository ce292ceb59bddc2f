//! The files of a history, checked by plain reads before SQLite opens any of them.
//!
//! SQLite changes what it opens: it copies a leftover log into its database, rolls back a leftover
//! journal, removes logs of an empty database, and writes through links. The database and each file
//! next to it must therefore be proved to belong to a history first. Other files may take their
//! names later, so SQLite's own system calls check again ([`iogauge_io::sqlite_calls`]).
//!
//! A process loses all its locks on a file when it closes any descriptor of that file (fcntl(2)),
//! including the locks that SQLite holds. Files opened here therefore stay open as long as the
//! history.

use super::HistoryError;
use iogauge_io::output::HISTORY_APPLICATION_ID;
use iogauge_io::sqlite_calls::{self, IsRight};
use iogauge_io::sqlite_file::{self, JOURNAL_MAGIC, application_id, logged_pages};
use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::Errno;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread::sleep;
use std::time::Duration;

const HEADER_BYTES: usize = 100;
/// Offset in a journal of the page count that its database had.
const JOURNAL_PAGES_AT: usize = 16;
/// How many times files that do not fit together are checked, and the time between two checks.
const TRIES: u32 = 5;
const BETWEEN_TRIES: Duration = Duration::from_millis(20);

/// Suffixes that SQLite appends to the name of a history for the files next to it, and the check of
/// each file.
const BESIDE: [(&str, IsRight); 3] = [
    ("-wal", |file| is_alone(file, is_own_log)),
    ("-shm", |file| is_alone(file, |file| begins(file, is_index))),
    ("-journal", |file| is_alone(file, |file| begins(file, is_journal))),
];

/// Histories that are open in this process, by their real paths.
static OPEN: Mutex<Vec<(PathBuf, Weak<HistoryFiles>)>> = Mutex::new(Vec::new());

/// The files of an open history. They stay open with it.
#[derive(Debug)]
pub(super) struct HistoryFiles {
    /// Absolute, without symbolic links.
    real: PathBuf,
    held: Mutex<Vec<Held>>,
    /// The lock file that proves the runs of this process, once the lock is held.
    pub(super) run_lock: Mutex<Option<File>>,
}

#[derive(Debug)]
struct Held {
    device: u64,
    inode: u64,
    file: File,
}

/// The file under a name.
struct FileEntry {
    device: u64,
    inode: u64,
    size_bytes: u64,
    links: u64,
    kind: FileType,
}

impl HistoryFiles {
    /// Checks the files of a history, which may be missing. Changes nothing. As long as the
    /// returned value lives, SQLite can open only such files under their names, whatever is put
    /// there.
    pub(super) fn judge(path: &Path) -> Result<Arc<Self>, HistoryError> {
        if !sqlite_calls::judge_by(rule_of) {
            let reason = "SQLite does not let its system calls be judged".to_owned();
            return Err(HistoryError::CannotOpen { path: path.to_path_buf(), reason });
        }
        let real = real(path)?;
        let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
        open.retain(|(_, files)| files.strong_count() > 0);
        let known = open.iter().find(|(other, _)| *other == real);
        let files = match known.and_then(|(_, files)| files.upgrade()) {
            Some(files) => files,
            None => {
                let (held, run_lock) = (Mutex::default(), Mutex::default());
                let files = Arc::new(Self { real: real.clone(), held, run_lock });
                open.push((real, Arc::downgrade(&files)));
                files
            }
        };
        drop(open);
        // Another process may be making or closing the history, so the first look may find files
        // that do not fit together.
        for _ in 1..TRIES {
            if files.judge_all(path).is_ok() {
                return Ok(files);
            }
            sleep(BETWEEN_TRIES);
        }
        files.judge_all(path).map(|()| files)
    }

    fn judge_all(&self, path: &Path) -> Result<(), HistoryError> {
        let is_there = self.judge_database(path)?;
        BESIDE
            .iter()
            .try_for_each(|(suffix, is_right)| self.judge_beside(suffix, *is_right, is_there))
    }

    /// Returns the absolute path of the database, without symbolic links. It has no special meaning
    /// for SQLite.
    pub(super) fn real(&self) -> &Path {
        &self.real
    }

    /// Returns the path of a file next to the database.
    pub(super) fn beside(&self, suffix: &str) -> PathBuf {
        let mut path = OsString::from(&self.real);
        path.push(suffix);
        path.into()
    }

    /// Returns true if there is a history, and false if one can be made.
    fn judge_database(&self, path: &Path) -> Result<bool, HistoryError> {
        let path = path.to_path_buf();
        let cannot = |source: Errno| HistoryError::CannotOpen {
            path: path.clone(),
            reason: io::Error::from(source).to_string(),
        };
        let Some(found) = look(&self.real).map_err(cannot)? else { return Ok(false) };
        match found.kind {
            FileType::RegularFile if found.size_bytes == 0 => return Ok(false),
            FileType::RegularFile => {}
            FileType::Directory => {
                return Err(HistoryError::CannotOpen { path, reason: "it is a directory".into() });
            }
            _ => {
                let reason = "it is not a regular file".into();
                return Err(HistoryError::CannotOpen { path, reason });
            }
        }
        match judge_header(&self.head(&self.real, &found).map_err(cannot)?) {
            Header::History => {}
            Header::OtherDatabase => return Err(HistoryError::OtherApplication { path }),
            Header::NoDatabase => return Err(HistoryError::NotADatabase { path }),
        }
        Ok(true)
    }

    /// Refuses a file next to the database that does not belong to a history.
    fn judge_beside(
        &self,
        suffix: &str,
        is_right: IsRight,
        is_there: bool,
    ) -> Result<(), HistoryError> {
        let path = self.beside(suffix);
        let refused = || HistoryError::Beside { path: path.clone() };
        let found = match look(&path) {
            Ok(Some(found)) => found,
            Ok(None) => return Ok(()),
            Err(_) => return Err(refused()),
        };
        if found.kind != FileType::RegularFile || found.links > 1 {
            return Err(refused());
        }
        if found.size_bytes == 0 {
            return Ok(());
        }
        // Another process may have removed it in the meantime.
        let looked = self.with(&path, &found, |file| (is_right(file), read_head(file)));
        let Ok((is_ours, Ok(head))) = looked else {
            return if look(&path).is_ok_and(|found| found.is_none()) {
                Ok(())
            } else {
                Err(refused())
            };
        };
        // A log without its database is somebody's data. The exception is the journal of a history
        // whose creation was interrupted: it rolls back nothing.
        let takes_back_nothing = suffix == "-journal"
            && head.get(JOURNAL_PAGES_AT..JOURNAL_PAGES_AT + 4) == Some(&[0; 4]);
        let fits = is_there || takes_back_nothing;
        // If a journal names another file, SQLite removes that file.
        let names_another = suffix == "-journal" && self.ends_with_magic(&path, &found);
        if is_ours && fits && !names_another { Ok(()) } else { Err(refused()) }
    }

    fn ends_with_magic(&self, path: &Path, found: &FileEntry) -> bool {
        let mut end = JOURNAL_MAGIC;
        let at = found.size_bytes.saturating_sub(end.len() as u64);
        let read = self.with(path, found, |file| file.read_exact_at(&mut end, at));
        // An unreadable file is not trusted.
        at > 0 && (!matches!(read, Ok(Ok(()))) || end == JOURNAL_MAGIC)
    }

    /// Returns the first bytes of a file.
    fn head(&self, path: &Path, found: &FileEntry) -> Result<Vec<u8>, Errno> {
        self.with(path, found, read_head)?
    }

    /// Reads from a file through the descriptor that stays open.
    fn with<T>(
        &self,
        path: &Path,
        found: &FileEntry,
        read: impl FnOnce(&File) -> T,
    ) -> Result<T, Errno> {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let is_it = |held: &&Held| (held.device, held.inode) == (found.device, found.inode);
        if let Some(held) = held.iter().find(is_it) {
            return Ok(read(&held.file));
        }
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
        let stat = rustix::fs::fstat(&file)?;
        let value = read(&file);
        let is_it = (stat.st_dev, stat.st_ino) == (found.device, found.inode);
        held.push(Held { device: stat.st_dev, inode: stat.st_ino, file });
        if is_it { Ok(value) } else { Err(Errno::AGAIN) }
    }
}

/// Returns the check for a file of SQLite under a name of a history that is open here.
fn rule_of(path: &Path) -> Option<IsRight> {
    let open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    let is_open = |name: &[u8]| {
        let has_name = |real: &Path| real.as_os_str().as_bytes() == name;
        open.iter().any(|(real, files)| files.strong_count() > 0 && has_name(real))
    };
    let name = path.as_os_str().as_bytes();
    if is_open(name) {
        return Some(|file| is_right(file, |file| begins(file, is_history)));
    }
    let is_beside = |suffix: &str| name.strip_suffix(suffix.as_bytes()).is_some_and(is_open);
    BESIDE.iter().find(|(suffix, _)| is_beside(suffix)).map(|(_, is_right)| *is_right)
}

/// Returns true for a regular file that is empty or of this kind.
fn is_right(file: &File, is_ours: IsRight) -> bool {
    rustix::fs::fstat(file).is_ok_and(|about| {
        FileType::from_raw_mode(about.st_mode) == FileType::RegularFile
            && (about.st_size == 0 || is_ours(file))
    })
}

/// As [`is_right`], for a file with no other hard link.
fn is_alone(file: &File, is_ours: IsRight) -> bool {
    rustix::fs::fstat(file).is_ok_and(|about| about.st_nlink <= 1) && is_right(file, is_ours)
}

fn begins(file: &File, so: fn(&[u8]) -> bool) -> bool {
    read_head(file).is_ok_and(|head| so(&head))
}

/// Returns true for a log from which SQLite would take pages of a history, or none. Each
/// transaction of a history writes the first page, which identifies the owner.
fn is_own_log(file: &File) -> bool {
    let Ok(pages) = logged_pages(file) else { return false };
    let told = pages.into_iter().find(|page| page.number == 1 || page.commits);
    told.is_none_or(|page| page.number == 1 && is_history(&page.head))
}

/// Returns the first bytes of a file, at most [`HEADER_BYTES`].
fn read_head(file: &File) -> Result<Vec<u8>, Errno> {
    let mut head = vec![0; HEADER_BYTES];
    let mut length = 0;
    while length < HEADER_BYTES {
        match file.read_at(&mut head[length..], length as u64) {
            Ok(0) => break,
            Ok(read) => length += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(Errno::from_io_error(&error).unwrap_or(Errno::IO)),
        }
    }
    head.truncate(length);
    Ok(head)
}

/// Returns the real path of a history, which need not exist.
pub(super) fn real(path: &Path) -> Result<PathBuf, HistoryError> {
    let cannot = |error: io::Error| HistoryError::CannotOpen {
        path: path.to_path_buf(),
        reason: error.to_string(),
    };
    match fs::canonicalize(path) {
        Ok(real) => return Ok(real),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(cannot(error)),
    }
    if path.is_symlink() {
        let reason = "it is a symbolic link that leads nowhere".to_owned();
        return Err(HistoryError::CannotOpen { path: path.to_path_buf(), reason });
    }
    let Some(name) = path.file_name() else {
        return Err(HistoryError::CannotOpen {
            path: path.to_path_buf(),
            reason: "it names no file".to_owned(),
        });
    };
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    match fs::canonicalize(parent.unwrap_or(Path::new("."))) {
        Ok(parent) => Ok(parent.join(name)),
        // No file exists that could be checked.
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            std::path::absolute(path).map_err(cannot)
        }
        Err(error) => Err(cannot(error)),
    }
}

/// Returns the file at a path. Does not follow a symbolic link.
fn look(path: &Path) -> Result<Option<FileEntry>, Errno> {
    match rustix::fs::lstat(path) {
        Ok(stat) => Ok(Some(FileEntry {
            device: stat.st_dev,
            inode: stat.st_ino,
            size_bytes: stat.st_size.cast_unsigned(),
            #[allow(clippy::unnecessary_cast, reason = "its width is the architecture's")]
            links: stat.st_nlink as u64,
            kind: FileType::from_raw_mode(stat.st_mode),
        })),
        Err(Errno::NOENT) => Ok(None),
        Err(error) => Err(error),
    }
}

enum Header {
    History,
    OtherDatabase,
    NoDatabase,
}

/// Judges a header. A history has its application ID in the database itself from the first page on,
/// never only in a log: it is made under a rollback journal, and the log comes later.
fn judge_header(header: &[u8]) -> Header {
    match application_id(header).filter(|_| header.len() >= HEADER_BYTES) {
        Some(HISTORY_APPLICATION_ID) => Header::History,
        Some(_) => Header::OtherDatabase,
        None => Header::NoDatabase,
    }
}

fn is_history(head: &[u8]) -> bool {
    matches!(judge_header(head), Header::History)
}

/// Returns true for an index. It begins with zeros until it is written. On a full disk it keeps the
/// three bytes with which SQLite made it.
fn is_index(head: &[u8]) -> bool {
    sqlite_file::is_index(head) || head.iter().take(4).all(|byte| *byte == 0)
}

/// Returns true for a journal. It begins with zeros until it is on the medium, and rolls back
/// nothing until then.
fn is_journal(head: &[u8]) -> bool {
    sqlite_file::is_journal(head) || head.starts_with(&[0; JOURNAL_MAGIC.len()])
}
