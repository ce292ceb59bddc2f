//! Has SQLite ask before it opens or removes a file of a database.
//!
//! SQLite opens files by name: the database, and the log, index and journal beside it, whenever it needs one
//! of them, and it removes them by name. Between a look at a name and that call another program can put
//! another file there. So the calls themselves are replaced here, as SQLite provides for
//! (<https://www.sqlite.org/c3ref/vfs.html>, `xSetSystemCall`): what was opened is judged by its descriptor
//! before SQLite gets it, and what is removed is a file that was judged.

use crate::targets::{Identity, TargetError, remove_one_of};
use rusqlite::ffi::{SQLITE_OK, sqlite3_syscall_ptr, sqlite3_vfs, sqlite3_vfs_find};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use std::ffi::{CStr, OsStr, c_char, c_int};
use std::fs::File;
use std::os::fd::IntoRawFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

/// Says whether SQLite may have an open file under a name.
pub type IsRight = fn(&File) -> bool;
/// Says by what rule files of this name are judged; `None` for names that are left to SQLite.
pub type RuleOf = fn(&Path) -> Option<IsRight>;

type Open = unsafe extern "C" fn(*const c_char, c_int, c_int) -> c_int;
type Unlink = unsafe extern "C" fn(*const c_char) -> c_int;

/// How often a name is opened that comes and goes meanwhile.
const TRIES: u32 = 100;

static RULE_OF: OnceLock<RuleOf> = OnceLock::new();
/// Files that were found right, or were made for SQLite.
static JUDGED: Mutex<Vec<Identity>> = Mutex::new(Vec::new());

/// From now on, SQLite opens and removes files in this process only where the rule for their name agrees. To be
/// called before the first connection; later calls change nothing. Returns false where SQLite does not allow it.
#[must_use]
pub fn judge_by(rule_of: RuleOf) -> bool {
    static IS_SET: OnceLock<bool> = OnceLock::new();
    *IS_SET.get_or_init(|| {
        RULE_OF.get_or_init(|| rule_of);
        replace_calls()
    })
}

fn replace_calls() -> bool {
    // SAFETY: a null name asks for the default VFS; it starts SQLite if need be, and is valid for the whole process.
    let vfs = unsafe { sqlite3_vfs_find(std::ptr::null()) };
    if vfs.is_null() {
        return false;
    }
    // SAFETY: SQLite casts its calls back to these types before it calls them (os_unix.c: `open` takes a string
    // and two integers, `unlink` a string), so that only the way they are kept differs.
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
    // SAFETY: `vfs` comes from SQLite and lives as long as the process. A VFS of version 3 or later has the
    // function (`iVersion`), which copies the pointer and does not keep the name.
    unsafe {
        (*vfs).iVersion >= 3
            && (*vfs).xSetSystemCall.is_some_and(|set| set(vfs, name.as_ptr(), call) == SQLITE_OK)
    }
}

/// As open(2), in the form that SQLite calls.
///
/// # Safety
/// `path` is a string that ends in 0.
unsafe extern "C" fn open(path: *const c_char, flags: c_int, mode: c_int) -> c_int {
    // SAFETY: as the caller promises.
    let path = path_of(unsafe { CStr::from_ptr(path) });
    let flags = OFlags::from_bits_retain(flags.cast_unsigned());
    let mode = Mode::from_bits_retain(mode.cast_unsigned());
    match open_judged(path, flags, mode) {
        Ok(file) => file.into_raw_fd(),
        Err(error) => failed(error),
    }
}

/// As unlink(2), in the form that SQLite calls.
///
/// # Safety
/// `path` is a string that ends in 0.
unsafe extern "C" fn unlink(path: *const c_char) -> c_int {
    // SAFETY: as the caller promises.
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
        return open(flags).map(known);
    }
    // What is there is opened and changed in nothing; what is not there is made, and is then ours.
    let existing = flags.difference(OFlags::CREATE | OFlags::TRUNC);
    for _ in 0..TRIES {
        let error = match open(existing | OFlags::NONBLOCK) {
            Ok(file) if is_right(&file) => return Ok(known(file)),
            // The only error after which SQLite does not open the file for reading instead, and as root change
            // its owner.
            Ok(_) => return Err(Errno::ISDIR),
            Err(error) => error,
        };
        if error != Errno::NOENT || !flags.contains(OFlags::CREATE) {
            return Err(error);
        }
        match open(flags | OFlags::EXCL) {
            Err(Errno::EXIST) => {}
            made => return made.map(known),
        }
    }
    Err(Errno::AGAIN)
}

/// What has the name at this moment.
fn identity_of(path: &Path) -> Option<Identity> {
    Identity::from_stat(&rustix::fs::lstat(path).ok()?)
}

fn judged() -> MutexGuard<'static, Vec<Identity>> {
    JUDGED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Remembers that a file was found right.
fn known(file: File) -> File {
    if let Some(identity) = Identity::of(&file) {
        let mut judged = judged();
        if !judged.contains(&identity) {
            judged.push(identity);
        }
    }
    file
}

fn unlink_judged(path: &Path) -> Result<(), Errno> {
    let Some(is_right) = rule_for(path) else { return rustix::fs::unlink(path) };
    // SQLite also removes what it never opened. What it has opened is not opened here again: to close that
    // would take SQLite's locks on it away (fcntl(2)).
    if !identity_of(path).is_some_and(|identity| judged().contains(&identity)) {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
        if !is_right(&file) {
            return Err(Errno::PERM);
        }
        known(file);
    }
    let mut judged = judged();
    match remove_one_of(path, &judged) {
        Ok(identity) => {
            // The number of an inode is given again.
            judged.retain(|other| *other != identity);
            Ok(())
        }
        Err(TargetError::Io { source, .. }) => {
            Err(Errno::from_io_error(&source).unwrap_or(Errno::IO))
        }
        Err(_) => Err(Errno::PERM),
    }
}
