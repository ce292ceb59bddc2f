//! How the program in the kernel learns when a window begins and ends.
//!
//! A thread of this process sends the process SIGURG, which it ignores, with an error number that is
//! the tracer's own and a code that is the word. The kernel throws the signal away at once, yet its
//! tracepoint `signal_generate` shows it with both (`rt_sigqueueinfo(2)`, include/trace/events/signal.h),
//! so that the program knows before the system call returns: no message has to wait for bpftrace.

use std::io;

/// Asks whether all probes are attached.
pub(super) const PING: i32 = -101;
/// From now on requests count.
pub(super) const BEGIN: i32 = -102;
/// From now on they do not, and what was counted is printed.
pub(super) const END: i32 = -103;

/// The head of the kernel's `siginfo_t` (include/uapi/asm-generic/siginfo.h), as long as all of it.
#[repr(C, align(8))]
struct SigInfo {
    signal: i32,
    error: i32,
    code: i32,
    rest: [i32; 29],
}

/// Sends a word under a tracer's number.
///
/// # Errors
/// Where the kernel, or a sandbox, forbids the call.
pub(super) fn send(number: i32, word: i32) -> io::Result<()> {
    let info = SigInfo { signal: libc::SIGURG, error: number, code: word, rest: [0; 29] };
    // SAFETY: the kernel reads 128 bytes of `info`, which are all initialized; a process may queue
    // itself any signal with a code below zero.
    let done = unsafe {
        libc::syscall(
            libc::SYS_rt_sigqueueinfo,
            libc::getpid(),
            libc::SIGURG,
            std::ptr::from_ref(&info),
        )
    };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_disturbs_nothing() {
        assert_eq!(size_of::<SigInfo>(), 128);
        for word in [PING, BEGIN, END] {
            send(7, word).unwrap();
        }
    }
}
