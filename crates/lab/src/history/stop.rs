//! Ending a run that is under way.

use super::process::{Liveness, ProcessIdentity, Surroundings};
use super::{HistoryError, RunId, RunRow};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

/// A run whose process was asked to end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stopped {
    /// The run.
    pub run: RunId,
    /// The process that was sent SIGTERM.
    pub pid: u32,
}

/// Sends SIGTERM to the process of a run and to no other: the file descriptor holds the process,
/// so what is verified after opening it stays true (pidfd_open(2)).
pub(super) fn terminate(row: &RunRow, here: &Surroundings) -> Result<Stopped, HistoryError> {
    let over = |state| HistoryError::NotRunning { run: row.id.clone(), state };
    if row.state != super::RunState::Running {
        return Err(over(row.state));
    }
    let process = &row.process;
    if process.liveness(here) == Liveness::Elsewhere {
        return Err(HistoryError::Elsewhere { run: row.id.clone() });
    }
    match signal(process, here) {
        Ok(()) => Ok(Stopped { run: row.id.clone(), pid: process.pid }),
        Err(Errno::SRCH) => Err(over(super::RunState::Crashed)),
        Err(errno) => Err(HistoryError::Signal {
            run: row.id.clone(),
            pid: process.pid,
            source: errno.into(),
        }),
    }
}

fn signal(process: &ProcessIdentity, here: &Surroundings) -> rustix::io::Result<()> {
    let pid = i32::try_from(process.pid).ok().and_then(Pid::from_raw).ok_or(Errno::SRCH)?;
    let held = pidfd_open(pid, PidfdFlags::empty())?;
    if process.liveness(here) != Liveness::Alive {
        return Err(Errno::SRCH);
    }
    pidfd_send_signal(&held, Signal::TERM)
}
