//! Devices and FIFOs, which are written to directly.

use super::{OutputError, io_error};
use crate::kernel::{DeviceNumber, path_of_fd};
use rustix::fs::{FileType, Mode, OFlags, Stat};
use std::fs::File;
use std::path::Path;

/// Opens a device or FIFO that accepts text.
pub(super) fn open(path: &Path) -> Result<File, OutputError> {
    let error = |action, source: rustix::io::Errno| io_error(path, action, source);
    // O_PATH has no side effects. Some devices act when they are opened normally.
    let held = rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())
        .map_err(|e| error("open it", e))?;
    let stat = rustix::fs::fstat(&held).map_err(|e| error("look at it", e))?;
    judge(path, &stat)?;
    // With O_NONBLOCK, opening a FIFO without a reader fails instead of blocking.
    let flags = OFlags::WRONLY | OFlags::CLOEXEC | OFlags::NOCTTY | OFlags::NONBLOCK;
    let file = match rustix::fs::open(path_of_fd(&held), flags, Mode::empty()) {
        Ok(file) => file,
        Err(rustix::io::Errno::NXIO) => {
            let what = "a FIFO that no process reads";
            return Err(OutputError::NoFile { path: path.to_path_buf(), what });
        }
        Err(e) => return Err(error("open it", e)),
    };
    rustix::fs::fcntl_setfl(&file, OFlags::empty()).map_err(|e| error("open it", e))?;
    Ok(file.into())
}

/// Like [`open`], for a symbolic link to a device or FIFO, such as `/dev/stdout`.
pub(super) fn behind_link(path: &Path) -> Result<File, OutputError> {
    match rustix::fs::stat(path).map(|stat| FileType::from_raw_mode(stat.st_mode)) {
        Ok(FileType::CharacterDevice | FileType::Fifo) => open(path),
        _ => Err(OutputError::Link { path: path.to_path_buf() }),
    }
}

/// Refuses everything that does not accept text.
fn judge(path: &Path, stat: &Stat) -> Result<(), OutputError> {
    let path = path.to_path_buf();
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::Fifo => Ok(()),
        FileType::CharacterDevice if takes_text(DeviceNumber::from_raw(stat.st_rdev)) => Ok(()),
        FileType::CharacterDevice => {
            let what = "a device other than a terminal or /dev/null";
            Err(OutputError::Harmful { path, what })
        }
        FileType::BlockDevice => {
            let what = "a block device, on which an output would destroy data";
            Err(OutputError::Harmful { path, what })
        }
        FileType::Directory => Err(OutputError::NoFile { path, what: "a directory" }),
        FileType::Socket => Err(OutputError::NoFile { path, what: "a socket" }),
        _ => Err(OutputError::NoFile { path, what: "no file" }),
    }
}

/// Returns true for terminals, and for devices that discard or reject everything (Linux, "Linux allocated devices").
/// Other devices act on what is written: memory, control nodes of disks, watchdogs, tapes.
fn takes_text(DeviceNumber { major, minor }: DeviceNumber) -> bool {
    let (null, zero, full) = (3, 5, 7);
    match major {
        1 => [null, zero, full].contains(&minor),
        // Virtual consoles and serial lines, the terminal of the process, pseudo-terminals.
        4 | 136..=143 => true,
        5 => minor <= 1,
        _ => false,
    }
}
