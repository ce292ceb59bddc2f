//! Locks on single bytes of a file, by which a process can prove its identity to another.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

/// Locks a byte for this process until it ends or closes any descriptor of the file (fcntl(2), `F_SETLK`). The file
/// must be open for writing.
///
/// # Errors
/// Fails if another process holds the byte, or the file system does not support locks.
pub fn lock_byte(file: &File, at: u64) -> io::Result<()> {
    let lock = write_lock(at)?;
    // SAFETY: the descriptor is open as long as `file` is borrowed, and `lock` is a complete `flock` that the kernel
    // only reads.
    let done = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_SETLK, &raw const lock) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Returns the process that holds the lock on a byte, as a PID in this PID namespace (fcntl(2), `F_GETLK`). Returns
/// `None` if no other process holds it, or only one that is not visible here. The answer comes from the kernel, so file
/// contents cannot forge it.
///
/// # Errors
/// Fails if the file system does not support locks.
pub fn byte_holder(file: &File, at: u64) -> io::Result<Option<u32>> {
    let mut lock = write_lock(at)?;
    // SAFETY: the descriptor is open as long as `file` is borrowed, and `lock` is a complete `flock` that the kernel
    // reads and writes.
    let done = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_GETLK, &raw mut lock) };
    if done != 0 {
        return Err(io::Error::last_os_error());
    }
    let is_held = i32::from(lock.l_type) != libc::F_UNLCK;
    // The PID is -1 for locks of open file descriptions, which belong to no process.
    Ok(u32::try_from(lock.l_pid).ok().filter(|pid| is_held && *pid > 0))
}

fn write_lock(at: u64) -> io::Result<libc::flock> {
    // SAFETY: `flock` consists of integers, for which zero is a valid value.
    let mut lock: libc::flock = unsafe { std::mem::zeroed() };
    lock.l_type = libc::F_WRLCK as _;
    lock.l_whence = libc::SEEK_SET as _;
    lock.l_start = libc::off_t::try_from(at).map_err(io::Error::other)?;
    lock.l_len = 1;
    Ok(lock)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::process::{Command, Stdio};

    #[test]
    fn record_lock_holder_pid_is_reported() {
        let file = tempfile::NamedTempFile::new().unwrap();
        lock_byte(file.as_file(), 7).unwrap();
        assert_eq!(byte_holder(file.as_file(), 7).unwrap(), None, "its own locks are no others'");
        // Another process holds byte 8 until its standard input is closed.
        let script = "import fcntl, sys\nf = open(sys.argv[1], 'r+b')\nfcntl.lockf(f, fcntl.LOCK_EX, 1, 8)\n\
                      print('held', flush=True)\nsys.stdin.read()";
        let mut other = Command::new("python3");
        other.args(["-c", script]).arg(file.path()).stdin(Stdio::piped()).stdout(Stdio::piped());
        let Ok(mut other) = other.spawn() else {
            return eprintln!("SKIPPED record_lock_holder_pid_is_reported: no python3");
        };
        let mut line = String::new();
        let stdout = other.stdout.take().unwrap();
        std::io::BufRead::read_line(&mut std::io::BufReader::new(stdout), &mut line).unwrap();
        assert_eq!(byte_holder(file.as_file(), 8).unwrap(), Some(other.id()));
        assert_eq!(byte_holder(file.as_file(), 9).unwrap(), None);
        assert!(lock_byte(file.as_file(), 8).is_err());
        other.stdin.take().unwrap().flush().unwrap();
        other.wait().unwrap();
        assert_eq!(byte_holder(file.as_file(), 8).unwrap(), None);
    }
}
