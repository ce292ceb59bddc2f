//! Ends a run that is under way.

use super::files::HistoryFiles;
use super::process::{Liveness, ProcessIdentity, Surroundings};
use super::{HistoryError, RunId, RunRow, run_lock};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

/// A run whose process was asked to end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stopped {
    pub run: RunId,
    /// The process that received SIGTERM.
    pub pid: u32,
}

/// Sends SIGTERM to the process of a run and to no other. The file descriptor refers to this
/// process, so what is checked after opening it stays true (pidfd_open(2)).
pub(super) fn terminate(
    row: &RunRow,
    here: &Surroundings,
    files: &HistoryFiles,
) -> Result<Stopped, HistoryError> {
    let over = |state| HistoryError::NotRunning { run: row.id.clone(), state };
    if row.state != super::RunState::Running {
        return Err(over(row.state));
    }
    let process = &row.process;
    if process.liveness(here) == Liveness::Elsewhere {
        return Err(HistoryError::Elsewhere { run: row.id.clone() });
    }
    match signal(process, here, files) {
        Ok(false) => Err(HistoryError::Unproven { run: row.id.clone(), pid: process.pid }),
        Ok(true) => Ok(Stopped { run: row.id.clone(), pid: process.pid }),
        Err(Errno::SRCH) => Err(over(super::RunState::Crashed)),
        Err(errno) => Err(HistoryError::Signal {
            run: row.id.clone(),
            pid: process.pid,
            source: errno.into(),
        }),
    }
}

/// Returns false if the process did not prove itself, and sends nothing then.
fn signal(
    process: &ProcessIdentity,
    here: &Surroundings,
    files: &HistoryFiles,
) -> rustix::io::Result<bool> {
    let pid = i32::try_from(process.pid).ok().and_then(Pid::from_raw).ok_or(Errno::SRCH)?;
    let held = pidfd_open(pid, PidfdFlags::empty())?;
    if process.liveness(here) != Liveness::Alive {
        return Err(Errno::SRCH);
    }
    if !run_lock::is_held_by(files, process) {
        return Ok(false);
    }
    pidfd_send_signal(&held, Signal::TERM).map(|()| true)
}
