//! Asks the kernel whether a file is open elsewhere.

use std::os::fd::{AsFd, AsRawFd};

/// `F_SETSIG`, which `libc` lacks. The value is the same on every architecture (asm-generic/fcntl.h).
const F_SETSIG: libc::c_int = 10;

/// Returns true if this descriptor is the only one open on the file: no process in any namespace and no loop device has
/// it open. Returns false if it is open elsewhere or the kernel does not say: the kernel only answers the owner of the
/// file, and not on every file system (fcntl(2), `F_SETLEASE`).
pub(crate) fn is_open_here_alone(file: impl AsFd) -> bool {
    let fd = file.as_fd().as_raw_fd();
    let set = |command: libc::c_int, argument: libc::c_int| {
        // SAFETY: the descriptor is open as long as `file` lives, and these commands take an integer.
        unsafe { libc::fcntl(fd, command, argument) == 0 }
    };
    // A process that opens the file during the lease has to wait until it is released, and the kernel signals the lease
    // holder. The default signal would end this process; SIGURG is ignored.
    set(F_SETSIG, libc::SIGURG)
        && set(libc::F_SETLEASE, libc::F_WRLCK)
        && set(libc::F_SETLEASE, libc::F_UNLCK)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;

    #[test]
    fn other_open_descriptor_is_detected_in_any_mode() {
        let named = tempfile::NamedTempFile::new().unwrap();
        let path = named.into_temp_path();
        let file = File::open(&path).unwrap();
        if !is_open_here_alone(&file) {
            // The file system has no leases. The other assertions apply all the same.
            eprintln!("SKIPPED another_descriptor_is_noticed: no leases here");
            assert!(std::env::var_os("IOGAUGE_REQUIRE_ALL").is_none());
        }
        let reader = File::open(&path).unwrap();
        assert!(!is_open_here_alone(&file));
        drop(reader);
        let _writer = File::options().append(true).open(&path).unwrap();
        assert!(!is_open_here_alone(&file));
    }
}
