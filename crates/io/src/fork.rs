//! Forking this process.

use rustix::process::Pid;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Number of threads of this process before any code of the program ran. It is 1, except under an emulator such as
/// `qemu-aarch64`, whose own threads the kernel counts too. Those threads hold no lock of the program.
static THREADS_AT_START: AtomicUsize = AtomicUsize::new(1);

extern "C" fn count_threads_at_start() {
    if let Ok(threads) = threads() {
        THREADS_AT_START.store(threads, Ordering::Relaxed);
    }
}

// SAFETY: the section holds pointers to C functions, which the C library calls one after another before `main`. The
// function needs nothing that is set up in `main`.
#[used]
#[unsafe(link_section = ".init_array")]
static AT_START: extern "C" fn() = count_threads_at_start;

fn threads() -> io::Result<usize> {
    let tasks = std::fs::read_dir("/proc/self/task").map_err(|error| {
        io::Error::new(error.kind(), format!("/proc cannot be read: {error}; hint: mount it"))
    })?;
    Ok(tasks.count())
}

/// Forks this process. Returns the new process's id in the calling process, and `None` in the new one.
///
/// # Errors
/// If the program has started a thread, or the system cannot create another process.
pub fn fork() -> io::Result<Option<Pid>> {
    let threads = threads()?;
    let started = threads.saturating_sub(THREADS_AT_START.load(Ordering::Relaxed));
    if started != 0 {
        return Err(io::Error::other(format!("a process of {threads} threads cannot be copied")));
    }
    // SAFETY: this is the program's only thread, so no other thread can hold a lock or be halfway through a change in
    // the copy. The copy may do anything that this process may do.
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
