//! Devices and FIFOs, which are written into.

use super::{OutputError, io_error};
use crate::kernel::{DeviceNumber, path_of_fd};
use rustix::fs::{FileType, Mode, OFlags, Stat};
use std::fs::File;
use std::path::Path;

/// Opens a device or FIFO that takes text.
pub(super) fn open(path: &Path) -> Result<File, OutputError> {
    let error = |action, source: rustix::io::Errno| io_error(path, action, source);
    // Nothing happens to what is opened like this: other devices act when they are opened.
    let held = rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())
        .map_err(|e| error("open it", e))?;
    let stat = rustix::fs::fstat(&held).map_err(|e| error("look at it", e))?;
    judge(path, &stat)?;
    // A FIFO that nobody reads is refused at once, where it would otherwise be waited for.
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

/// As [`open`] where a symbolic link leads to a device or FIFO, as `/dev/stdout` may.
pub(super) fn behind_link(path: &Path) -> Result<File, OutputError> {
    match rustix::fs::stat(path).map(|stat| FileType::from_raw_mode(stat.st_mode)) {
        Ok(FileType::CharacterDevice | FileType::Fifo) => open(path),
        _ => Err(OutputError::Link { path: path.to_path_buf() }),
    }
}

/// Refuses what no text is written into.
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

/// Terminals, and the devices that swallow or refuse everything (Linux, "Linux allocated devices").
/// Others act upon what is written: memory, disks' control nodes, watchdogs, tapes.
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
