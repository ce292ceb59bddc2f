//! Makes SQLite ask before it opens or removes a database file.
//!
//! SQLite opens and removes files by name, at any time: the database, and the log, index and journal beside it. Between
//! a check of a name and that call, another program can put another file there. So the calls themselves are replaced
//! here, in the way that SQLite provides (<https://www.sqlite.org/c3ref/vfs.html>, `xSetSystemCall`). An opened file is
//! checked through its descriptor before SQLite gets it, and only a file that was checked is removed.

use crate::targets::{Identity, TargetError, remove_one_of};
use rusqlite::ffi::{SQLITE_OK, sqlite3_syscall_ptr, sqlite3_vfs, sqlite3_vfs_find};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use std::ffi::{CStr, OsStr, c_char, c_int};
use std::fs::File;
use std::os::fd::{AsRawFd, IntoRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

/// Returns true if SQLite may use an open file.
pub type IsRight = fn(&File) -> bool;
/// Returns the rule for files of this name; `None` for names that are left to SQLite.
pub type RuleOf = fn(&Path) -> Option<IsRight>;

type Open = unsafe extern "C" fn(*const c_char, c_int, c_int) -> c_int;
type Unlink = unsafe extern "C" fn(*const c_char) -> c_int;

/// Number of attempts to open a file that other programs create and remove at the same time.
const TRIES: u32 = 100;

static RULE_OF: OnceLock<RuleOf> = OnceLock::new();
/// Files that passed the check, or were created for SQLite.
static JUDGED: Mutex<Vec<Judged>> = Mutex::new(Vec::new());

struct Judged {
    identity: Identity,
    /// Opened with `O_PATH`. While it is open, no other file gets the inode number. Unlike other descriptors, it can be
    /// closed without releasing the locks that SQLite has on the file.
    pin: OwnedFd,
}

impl Judged {
    fn of(file: &File) -> Result<Self, Errno> {
        let identity = Identity::of(file).ok_or(Errno::IO)?;
        let path = format!("/proc/self/fd/{}", file.as_raw_fd());
        let pin = rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
        Ok(Self { identity, pin })
    }

    fn has_name(&self) -> bool {
        rustix::fs::fstat(&self.pin).is_ok_and(|stat| stat.st_nlink > 0)
    }
}

/// Lets SQLite open and remove files in this process only if the rule for their name allows it. Call this before the
/// first connection is opened; later calls change nothing. Returns false if SQLite does not allow it.
#[must_use]
pub fn judge_by(rule_of: RuleOf) -> bool {
    static IS_SET: OnceLock<bool> = OnceLock::new();
    *IS_SET.get_or_init(|| {
        RULE_OF.get_or_init(|| rule_of);
        replace_calls()
    })
}

fn replace_calls() -> bool {
    // SAFETY: a null name asks for the default VFS. The call initializes SQLite if necessary, and the VFS is valid
    // until the process ends.
    let vfs = unsafe { sqlite3_vfs_find(std::ptr::null()) };
    if vfs.is_null() {
        return false;
    }
    // SAFETY: SQLite casts its calls back to these types before it calls them (os_unix.c: `open` takes a string and two
    // integers, `unlink` a string). Only the type they are stored as differs.
    let (open, unlink) = unsafe {
        (
            std::mem::transmute::<Open, unsafe extern "C" fn()>(open),
            std::mem::transmute::<Unlink, unsafe extern "C" fn()>(unlink),
        )
    };
    let (open, unlink): (sqlite3_syscall_ptr, sqlite3_syscall_ptr) = (Some(open), Some(unlink));
    replace(vfs, c"open", open) && replace(vfs, c"unlink", unlink)
}

fn replace(vfs: *mut sqlite3_vfs, name: &CStr, call: sqlite3_syscall_ptr) -> bool {
    // SAFETY: `vfs` comes from SQLite and lives as long as the process. A VFS of version 3 or later (`iVersion`) has
    // this function, which copies the pointer and does not keep the name.
    unsafe {
        (*vfs).iVersion >= 3
            && (*vfs).xSetSystemCall.is_some_and(|set| set(vfs, name.as_ptr(), call) == SQLITE_OK)
    }
}

/// open(2), with the signature that SQLite calls.
///
/// # Safety
/// `path` must be a null-terminated string.
unsafe extern "C" fn open(path: *const c_char, flags: c_int, mode: c_int) -> c_int {
    // SAFETY: guaranteed by the caller.
    let path = path_of(unsafe { CStr::from_ptr(path) });
    let flags = OFlags::from_bits_retain(flags.cast_unsigned());
    let mode = Mode::from_bits_retain(mode.cast_unsigned());
    match open_judged(path, flags, mode) {
        Ok(file) => file.into_raw_fd(),
        Err(error) => failed(error),
    }
}

/// unlink(2), with the signature that SQLite calls.
///
/// # Safety
/// `path` must be a null-terminated string.
unsafe extern "C" fn unlink(path: *const c_char) -> c_int {
    // SAFETY: guaranteed by the caller.
    let path = path_of(unsafe { CStr::from_ptr(path) });
    match unlink_judged(path) {
        Ok(()) => 0,
        Err(error) => failed(error),
    }
}

fn path_of(path: &CStr) -> &Path {
    Path::new(OsStr::from_bytes(path.to_bytes()))
}

fn failed(error: Errno) -> c_int {
    // SAFETY: `errno` belongs to this thread. SQLite reads it after a call that returned -1.
    unsafe { *libc::__errno_location() = error.raw_os_error() };
    -1
}

fn rule_for(path: &Path) -> Option<IsRight> {
    RULE_OF.get().and_then(|rule_of| rule_of(path))
}

fn open_judged(path: &Path, flags: OFlags, mode: Mode) -> Result<File, Errno> {
    let open = |flags| rustix::fs::open(path, flags, mode).map(File::from);
    let Some(is_right) = rule_for(path) else { return open(flags) };
    if flags.contains(OFlags::EXCL) {
        return open(flags).and_then(known);
    }
    // An existing file is opened without changing it. A missing one is created, and then belongs to this process.
    let existing = flags.difference(OFlags::CREATE | OFlags::TRUNC);
    for _ in 0..TRIES {
        let error = match open(existing | OFlags::NONBLOCK) {
            Ok(file) if is_right(&file) => return known(file),
            // After any other error, SQLite opens the file read-only instead and, as root, changes its owner.
            Ok(_) => return Err(Errno::ISDIR),
            Err(error) => error,
        };
        if error != Errno::NOENT || !flags.contains(OFlags::CREATE) {
            return Err(error);
        }
        match open(flags | OFlags::EXCL) {
            Err(Errno::EXIST) => {}
            made => return made.and_then(known),
        }
    }
    Err(Errno::AGAIN)
}

/// Returns the identity of the file that has this name at the moment.
fn identity_of(path: &Path) -> Option<Identity> {
    Identity::from_stat(&rustix::fs::lstat(path).ok()?)
}

fn judged() -> MutexGuard<'static, Vec<Judged>> {
    JUDGED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Remembers that a file passed the check.
fn known(file: File) -> Result<File, Errno> {
    let new = Judged::of(&file)?;
    let mut judged = judged();
    // Other programs also remove files.
    judged.retain(Judged::has_name);
    if judged.iter().all(|other| other.identity != new.identity) {
        judged.push(new);
    }
    Ok(file)
}

fn unlink_judged(path: &Path) -> Result<(), Errno> {
    let Some(is_right) = rule_for(path) else { return rustix::fs::unlink(path) };
    // SQLite also removes files that it never opened. A file that it has opened is not opened again here: closing it
    // would release SQLite's locks on it (fcntl(2)).
    let is_judged = |identity| judged().iter().any(|judged| judged.identity == identity);
    if !identity_of(path).is_some_and(is_judged) {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
        if !is_right(&file) {
            return Err(Errno::PERM);
        }
        known(file)?;
    }
    let mut judged = judged();
    let identities: Vec<Identity> = judged.iter().map(|judged| judged.identity).collect();
    match remove_one_of(path, &identities) {
        Ok(identity) => {
            judged.retain(|other| other.identity != identity);
            Ok(())
        }
        Err(TargetError::Io { source, .. }) => {
            Err(Errno::from_io_error(&source).unwrap_or(Errno::IO))
        }
        Err(_) => Err(Errno::PERM),
    }
}
