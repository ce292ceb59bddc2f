//! Whether a file is open anywhere else, as the kernel says.

use std::os::fd::{AsFd, AsRawFd};

/// `F_SETSIG` of every architecture (asm-generic/fcntl.h), which `libc` lacks.
const F_SETSIG: libc::c_int = 10;

/// True where a file is open by this descriptor and by nothing else: by no process of any namespace,
/// and by no loop device. False where it is, or where the kernel does not say: it answers the owner of
/// the file only, and not for every file system (fcntl(2), `F_SETLEASE`).
pub(crate) fn is_open_here_alone(file: impl AsFd) -> bool {
    let fd = file.as_fd().as_raw_fd();
    let set = |command: libc::c_int, argument: libc::c_int| {
        // SAFETY: the descriptor is open as long as `file` lives, and these commands take an integer.
        unsafe { libc::fcntl(fd, command, argument) == 0 }
    };
    // Who opens the file while the lease lasts waits for its end, and the kernel signals the holder.
    // The default signal would end this process; this one is ignored.
    set(F_SETSIG, libc::SIGURG)
        && set(libc::F_SETLEASE, libc::F_WRLCK)
        && set(libc::F_SETLEASE, libc::F_UNLCK)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;

    #[test]
    fn another_descriptor_is_noticed_whatever_it_was_opened_for() {
        let named = tempfile::NamedTempFile::new().unwrap();
        let path = named.into_temp_path();
        let file = File::open(&path).unwrap();
        if !is_open_here_alone(&file) {
            // As on file systems without leases; the rest holds there too.
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
