//! How a process proves that it writes runs of a history: it holds a lock on a file next to it, and
//! the kernel reports the holder. The content of a database proves nothing.

use super::HistoryError;
use super::files::HistoryFiles;
use super::process::ProcessIdentity;
use iogauge_io::kernel::{byte_holder, lock_byte};
use iogauge_io::output::{OutputError, OutputFile, Replace};
use rustix::fs::{FileType, Mode, OFlags};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::PoisonError;

/// Suffix of the lock file next to the history.
pub(super) const SUFFIX: &str = "-lock";
/// Its content. Without it, any file that another program locks would serve as a proof.
const CONTENT: &[u8] = b"iogauge.history-lock/1\n";
/// PIDs on Linux are smaller than 2 to this power (proc(5), `pid_max`).
const PID_BITS: u32 = 22;

/// Locks the byte of this process, unless it is already locked.
pub(super) fn hold(files: &HistoryFiles, process: &ProcessIdentity) -> Result<(), HistoryError> {
    let mut held = files.run_lock.lock().unwrap_or_else(PoisonError::into_inner);
    if held.is_some() {
        return Ok(());
    }
    let path = files.beside(SUFFIX);
    let fault = |source| HistoryError::Lock { path: path.clone(), source };
    make(&path)?;
    let file = open(&path, OFlags::RDWR).map_err(fault)?;
    if !is_lock(&file) {
        return Err(HistoryError::Beside { path });
    }
    lock_byte(&file, byte_of(process)).map_err(fault)?;
    *held = Some(file);
    Ok(())
}

/// Returns true if this process, and no other, holds its byte of the history's lock.
pub(super) fn is_held_by(files: &HistoryFiles, process: &ProcessIdentity) -> bool {
    let held = files.run_lock.lock().unwrap_or_else(PoisonError::into_inner);
    let opened;
    let file = match held.as_ref() {
        Some(file) => file,
        None => match open(&files.beside(SUFFIX), OFlags::RDONLY) {
            Ok(file) if is_lock(&file) => {
                opened = file;
                &opened
            }
            _ => return false,
        },
    };
    byte_holder(file, byte_of(process)).is_ok_and(|holder| holder == Some(process.pid))
}

/// Makes the file with its full content, if it is missing.
fn make(path: &Path) -> Result<(), HistoryError> {
    if path.symlink_metadata().is_ok() {
        return Ok(());
    }
    // The name belongs to the history, so user outputs cannot have it.
    match OutputFile::for_history(path, Replace::Ours).and_then(|file| file.put(CONTENT)) {
        // Another process was faster.
        Ok(()) | Err(OutputError::Changed { .. }) => Ok(()),
        Err(OutputError::Io { source, .. }) => {
            Err(HistoryError::Lock { path: path.to_path_buf(), source })
        }
        Err(_) => Err(HistoryError::Beside { path: path.to_path_buf() }),
    }
}

fn open(path: &PathBuf, flags: OFlags) -> io::Result<File> {
    let flags = flags | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    Ok(rustix::fs::open(path, flags, Mode::empty())?.into())
}

/// Returns true for the file that iogauge made, if it has no other hard link.
fn is_lock(file: &File) -> bool {
    let mut content = [0; CONTENT.len()];
    rustix::fs::fstat(file).is_ok_and(|stat| {
        FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile && stat.st_nlink == 1
    }) && file.read_exact_at(&mut content, 0).is_ok()
        && content == CONTENT
}

/// Returns the byte of a process. Each process of each PID namespace has its own.
fn byte_of(process: &ProcessIdentity) -> u64 {
    let digits = process.namespace.chars().filter(char::is_ascii_digit);
    let namespace: u64 = digits.collect::<String>().parse::<u32>().unwrap_or(0).into();
    (namespace << PID_BITS) | u64::from(process.pid)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_process_locks_a_distinct_byte() {
        let process = |namespace: &str, pid| {
            let namespace = namespace.to_owned();
            ProcessIdentity { pid, started_ticks: 0, namespace, boot_id: String::new() }
        };
        let here = byte_of(&process("pid:[4026531836]", 1));
        assert_ne!(here, byte_of(&process("pid:[4026531836]", 2)));
        assert_ne!(here, byte_of(&process("pid:[4026531837]", 1)));
        assert!(byte_of(&process("pid:[4294967295]", (1 << PID_BITS) - 1)) < i64::MAX as u64);
    }
}
