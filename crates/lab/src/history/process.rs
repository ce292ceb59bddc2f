//! Identifies the process that writes a run, and checks whether it is alive.

use super::HistoryError;
use iogauge_io::machine;
use std::{fs, io, process};

/// Identifies a process uniquely, even among past and future ones; a PID alone is reused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ProcessIdentity {
    pub(super) pid: u32,
    /// Start time in clock ticks since boot: field 22 of `/proc/PID/stat`, proc_pid_stat(5).
    pub(super) started_ticks: u64,
    /// PID namespace of the PID, pid_namespaces(7).
    pub(super) namespace: String,
    /// Random at every boot: `/proc/sys/kernel/random/boot_id`, random(4).
    pub(super) boot_id: String,
}

/// The state of a process as seen from here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Liveness {
    Alive,
    Dead,
    /// In another PID namespace, and therefore not visible from here.
    Elsewhere,
}

impl ProcessIdentity {
    pub(super) fn of_this_process() -> Result<Self, HistoryError> {
        let pid = process::id();
        let stat = "/proc/self/stat".to_owned();
        let started_ticks =
            started_ticks(&stat).map_err(|source| HistoryError::Process { path: stat, source })?;
        Ok(Self { pid, started_ticks, namespace: namespace()?, boot_id: boot_id()? })
    }

    pub(super) fn liveness(&self, here: &Surroundings) -> Liveness {
        if self.boot_id != here.boot_id {
            return Liveness::Dead;
        }
        if self.namespace != here.namespace {
            return Liveness::Elsewhere;
        }
        match started_ticks(&format!("/proc/{}/stat", self.pid)) {
            Ok(ticks) if ticks == self.started_ticks => Liveness::Alive,
            _ => Liveness::Dead,
        }
    }
}

/// The viewpoint of this process.
#[derive(Debug)]
pub(super) struct Surroundings {
    namespace: String,
    boot_id: String,
}

impl Surroundings {
    pub(super) fn here() -> Result<Self, HistoryError> {
        Ok(Self { namespace: namespace()?, boot_id: boot_id()? })
    }
}

fn namespace() -> Result<String, HistoryError> {
    let path = "/proc/self/ns/pid";
    fs::read_link(path)
        .map(|link| link.to_string_lossy().into_owned())
        .map_err(|source| HistoryError::Process { path: path.to_owned(), source })
}

fn boot_id() -> Result<String, HistoryError> {
    machine::boot_id()
        .map_err(|source| HistoryError::Process { path: machine::BOOT_ID.to_owned(), source })
}

fn started_ticks(path: &str) -> io::Result<u64> {
    let stat = fs::read_to_string(path)?;
    living_since(&stat).ok_or_else(|| io::Error::other("the process has ended"))
}

/// Returns the start time from a line of `/proc/PID/stat`; `None` for a process that has ended and
/// waits for its parent. The name may contain spaces and parentheses, so fields are counted after
/// the last parenthesis.
fn living_since(stat: &str) -> Option<u64> {
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_ascii_whitespace();
    let state = fields.next()?;
    if matches!(state, "Z" | "X") {
        return None;
    }
    fields.nth(18)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn liveness_distinguishes_processes_by_start_time_and_boot() {
        let here = Surroundings::here().unwrap();
        let this = ProcessIdentity::of_this_process().unwrap();
        assert_eq!(this.liveness(&here), Liveness::Alive);
        let earlier = ProcessIdentity { started_ticks: this.started_ticks - 1, ..this.clone() };
        assert_eq!(earlier.liveness(&here), Liveness::Dead);
        let before_boot = ProcessIdentity { boot_id: "another".to_owned(), ..this.clone() };
        assert_eq!(before_boot.liveness(&here), Liveness::Dead);
        let contained = ProcessIdentity { namespace: "pid:[1]".to_owned(), ..this };
        assert_eq!(contained.liveness(&here), Liveness::Elsewhere);
    }

    #[test]
    fn proc_stat_parser_handles_parentheses_in_names() {
        let behind = "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 4711 20";
        assert_eq!(living_since(&format!("7 (a) R (b)) S {behind}")), Some(4711));
        assert_eq!(living_since(&format!("7 (gone) Z {behind}")), None);
        assert_eq!(living_since("7 (short) S 1 2"), None);
    }
}
