//! Forking this process.

use rustix::process::Pid;
use std::io;

/// Forks this process. Returns the new process's id in the calling process, and `None` in the new one.
///
/// # Errors
/// If this process has more than one thread, or the system cannot create another process.
pub fn fork() -> io::Result<Option<Pid>> {
    let threads = std::fs::read_dir("/proc/self/task")?.count();
    if threads != 1 {
        return Err(io::Error::other(format!("a process of {threads} threads cannot be copied")));
    }
    // SAFETY: this is the only thread, so no other thread can hold a lock or be halfway through a change in the copy.
    // The copy may do anything that this process may do.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        // The new process gets 0, which is not a valid id.
        id => Ok(Pid::from_raw(id)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fork_is_refused_in_multithreaded_process() {
        std::thread::scope(|scope| {
            let waiting = scope.spawn(std::thread::park);
            let error = fork().expect_err("this process has two threads at least");
            assert!(error.to_string().contains("threads"), "{error}");
            waiting.thread().unpark();
        });
    }
}
