//! Taking leave of Hydra, the process manager of MPICH.
//!
//! Hydra takes the end of a process that has not finalized MPI for a crash: it kills the other processes of that host, and
//! mpirun then returns 9, or 1 if it has noticed the process's end before that of its connection. Finalizing MPI would
//! prevent this, but may hang: in MPICH before 4.2 over UCX, a process that waits there for the others no longer answers
//! them (pmodels/mpich, pull request 6596). What Hydra waits for is only the last of what finalizing does: one message
//! of its wire protocol (PMI, version 1) on the connection that it gave this process.

use std::env;
use std::io::{Read, Write};
use std::os::fd::{FromRawFd, RawFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// Time for Hydra's answer.
const ANSWER: Duration = Duration::from_secs(1);

/// Tells Hydra that this process will end on purpose. Does nothing if another process manager has started it. MPI must
/// not be used any more.
pub(crate) fn take_leave() {
    if let Some(fd) = connection() {
        // SAFETY: The descriptor is that of the connection, which Hydra handed to this process, and which the MPI library
        // uses no more: it is called by one thread, and that has ended its work.
        let mut stream = unsafe { UnixStream::from_raw_fd(fd) };
        // Without an answer, Hydra itself is stopped or has ended.
        let _ = tell(&mut stream);
    }
}

/// Sends the message, and waits until Hydra has read it: it fails if its answer finds the connection closed.
fn tell(stream: &mut UnixStream) -> std::io::Result<()> {
    stream.set_read_timeout(Some(ANSWER))?;
    stream.write_all(b"cmd=finalize\n")?;
    stream.read(&mut [0; 64]).map(drop)
}

/// Returns the descriptor of the connection to Hydra; `None` if another process manager has started this process: only
/// Hydra sets the second variable.
fn connection() -> Option<RawFd> {
    let number = |name| env::var(name).ok()?.parse().ok();
    number("PMI_FD").filter(|_| number("MPI_LOCALNRANKS").is_some())
}
