//! Tells the program in the kernel when a window begins and ends.
//!
//! A thread of this process sends the process SIGURG, which the process ignores. The signal's error number identifies
//! the tracer, and its code is the message. The kernel discards the signal at once, but its tracepoint
//! `signal_generate` shows both numbers (rt_sigqueueinfo(2), include/trace/events/signal.h). So the program has the
//! message before the system call returns, without waiting for bpftrace.

use std::io;

/// Asks whether all probes are attached.
pub(super) const PING: i32 = -101;
/// Starts counting requests.
pub(super) const BEGIN: i32 = -102;
/// Stops counting, and prints what was counted.
pub(super) const END: i32 = -103;

/// Beginning of the kernel's `siginfo_t` (include/uapi/asm-generic/siginfo.h), padded to its full size.
#[repr(C, align(8))]
struct SigInfo {
    signal: i32,
    error: i32,
    code: i32,
    rest: [i32; 29],
}

/// Sends a message with a tracer's number.
///
/// # Errors
/// Fails if the kernel or a sandbox forbids the call.
pub(super) fn send(number: i32, word: i32) -> io::Result<()> {
    let info = SigInfo { signal: libc::SIGURG, error: number, code: word, rest: [0; 29] };
    // SAFETY: the kernel reads 128 bytes of `info`, which are all initialized. A process may queue itself any signal
    // with a negative code.
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
    fn sending_trace_marks_has_no_side_effects() {
        assert_eq!(size_of::<SigInfo>(), 128);
        for word in [PING, BEGIN, END] {
            send(7, word).unwrap();
        }
    }
}
