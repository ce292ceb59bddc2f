//! Becoming two processes.

use rustix::process::Pid;
use std::io;

/// Makes a second process that goes on from here. Returns its id in the process that called, and `None`
/// in the new one.
///
/// # Errors
/// Where this process has more than one thread, or the system gives no further process.
pub fn fork() -> io::Result<Option<Pid>> {
    let threads = std::fs::read_dir("/proc/self/task")?.count();
    if threads != 1 {
        return Err(io::Error::other(format!("a process of {threads} threads cannot be copied")));
    }
    // SAFETY: this thread is the only one, so no other can hold a lock or be halfway through a change in
    // the copy: it may do whatever this process may do.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        // The new process sees 0, which is nobody's id.
        id => Ok(Pid::from_raw(id)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_of_several_threads_is_not_copied() {
        std::thread::scope(|scope| {
            let waiting = scope.spawn(std::thread::park);
            let error = fork().expect_err("this process has two threads at least");
            assert!(error.to_string().contains("threads"), "{error}");
            waiting.thread().unpark();
        });
    }
}
