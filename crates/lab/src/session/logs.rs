//! The log files of a run, in fio's formats.

use crate::error::LabError;
use crate::session::hosts::HostId;
use iogauge_fio::log_out::LogKind;
use iogauge_io::logs::{LogFiles, LogWriter, WorkerLogs};
use iogauge_io::worker::WorkerError;
use iogauge_model::Step;
use std::path::PathBuf;

/// The log files of all steps of a run.
#[derive(Debug, Default)]
pub struct RunLogs {
    files: LogFiles,
    steps: Vec<Option<StepLogs>>,
}

/// The logs of the workers of a step.
#[derive(Debug, Clone)]
pub struct StepLogs {
    /// By the number of the worker; `None` for workers without logs.
    workers: Vec<Option<WorkerLogs>>,
    /// True if they begin with the first I/O, because the step has no ramp.
    from_start: bool,
}

impl RunLogs {
    /// Checks where the workers of these steps would write logs. Changes nothing. As in fio, workers are numbered over
    /// all steps, from 1, and the names of logs from several hosts end with that of the host. `host` is this one of
    /// several hosts.
    ///
    /// # Errors
    /// A log would replace a file that is not a log, or its directory cannot be written.
    pub fn check<'a>(
        steps: impl Iterator<Item = &'a Step>,
        host: Option<&HostId>,
    ) -> Result<Self, LabError> {
        let mut run = Self::default();
        let mut number = 0;
        for step in steps {
            let mut workers = Vec::new();
            for job in &step.jobs {
                for _ in 0..job.load.workers() {
                    number += 1;
                    let Some(logs) = &job.load.logs else {
                        workers.push(None);
                        continue;
                    };
                    let mut files = [const { None }; LogKind::ALL.len()];
                    for (kind, file) in LogKind::ALL.into_iter().zip(&mut files) {
                        let path = kind.path(logs, number).map(|path| of_host(path, host));
                        *file = path.map(|path| run.files.open(&path)).transpose()?;
                    }
                    workers.push(Some(WorkerLogs { logs: logs.clone(), files }));
                }
            }
            let has_logs = workers.iter().any(Option::is_some);
            let logs = StepLogs { workers, from_start: step.ramp_ns == 0 };
            run.steps.push(has_logs.then_some(logs));
        }
        Ok(run)
    }

    /// Returns the logs of a step, by its index; `None` if none of its workers writes any.
    #[must_use]
    pub fn of_step(&self, index: usize) -> Option<StepLogs> {
        self.steps.get(index)?.clone()
    }

    /// Gives all logs their names. If the run is not `complete`, those without a line are left out, because their
    /// workers may not have run. Returns the paths of the logs, and what is wrong with them, one line each.
    #[must_use]
    pub fn commit(self, complete: bool) -> (Vec<PathBuf>, Vec<String>) {
        self.files.commit(complete)
    }
}

impl StepLogs {
    /// Starts the thread that writes the logs of a step, which begin after its ramp.
    pub(crate) fn start(self) -> Result<LogWriter, LabError> {
        let writer = LogWriter::start(self.workers, self.from_start);
        Ok(writer.map_err(WorkerError::Thread)?)
    }
}

/// Returns the path of a log on one of several hosts, which may share its directory. fio names the logs of its servers
/// like this.
fn of_host(path: PathBuf, host: Option<&HostId>) -> PathBuf {
    let Some(host) = host else { return path };
    let mut path = path.into_os_string();
    path.push(format!(".{}", host.name.replace('/', "_")));
    path.into()
}
