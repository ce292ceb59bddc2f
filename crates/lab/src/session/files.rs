//! The files that a run writes and reads beside its target: logs and verify states.

use crate::error::{LabError, VerifyStateError};
use crate::session::hosts::{self, HostId, HostPlan};
use crate::session::logs::{RunLogs, StepLogs};
use crate::session::made_files::MadeFiles;
use crate::session::rig::Rig;
use crate::session::verify_states::{RunStates, StepStates};
use crate::session::{Region, check_there_is_data, verify};
use iogauge_model::Step;
use iogauge_model::plan::Job;
use std::path::PathBuf;

/// The files of a run.
#[derive(Debug)]
pub struct RunFiles {
    logs: RunLogs,
    states: RunStates,
    made: MadeFiles,
    /// True if other hosts have files, too.
    on_others: bool,
}

/// The files of a step.
#[derive(Debug, Default)]
pub struct StepFiles {
    /// Number of the step in the plan, from 0; `None` without files.
    pub(super) step: Option<usize>,
    pub(super) logs: Option<StepLogs>,
    pub(super) states: StepStates,
}

impl RunFiles {
    /// Checks the files of these steps, each with the region of each job, on all hosts, and reads those that are read.
    /// Also checks that the jobs of a step can verify. Changes nothing.
    ///
    /// # Errors
    /// A file cannot be written or read, or would replace another file; or as [`verify::check_together`].
    pub fn check(rig: &Rig, steps: &[(Step, Vec<Region>)]) -> Result<Self, LabError> {
        let Some(hosts) = hosts::led() else { return Self::check_here(rig, steps, None) };
        let HostPlan { host, steps: own } = HostPlan::of_each(steps, &hosts.names()).swap_remove(0);
        let mut files = Self::check_here(rig, &own, Some(&host))?;
        let has_any = |job: &Job| job.load.verify.is_some() || job.load.logs.is_some();
        files.on_others = steps.iter().flat_map(|(step, _)| &step.jobs).any(has_any);
        if files.on_others {
            hosts.check(steps)?;
        }
        Ok(files)
    }

    /// As [`Self::check`], on this host only. `host` is this one of several hosts.
    ///
    /// # Errors
    /// As [`Self::check`].
    pub(crate) fn check_here(
        rig: &Rig,
        steps: &[(Step, Vec<Region>)],
        host: Option<&HostId>,
    ) -> Result<Self, LabError> {
        let all = || steps.iter().map(|(step, _)| step);
        let (logs, states) = (RunLogs::check(all(), host)?, RunStates::check(all(), host)?);
        for (index, (step, regions)) in steps.iter().enumerate() {
            verify::check_together(rig, step, regions, states.of_step(index))?;
        }
        if host.is_some() {
            let jobs = steps.iter().flat_map(|(step, regions)| Region::of_jobs(step, regions));
            check_there_is_data(rig, &jobs.collect::<Vec<_>>())?;
        }
        Ok(Self { logs, states, made: MadeFiles::default(), on_others: false })
    }

    /// Returns the files of a step, by its index. A verify state is returned once.
    pub fn of_step(&mut self, step: usize) -> StepFiles {
        let (logs, states) = (self.logs.of_step(step), self.states.take(step));
        StepFiles { step: Some(step), logs, states }
    }

    /// Records which verify states a step has saved.
    pub fn saved(&mut self, states: Vec<Result<PathBuf, VerifyStateError>>) {
        for state in states {
            match state {
                Ok(path) => self.made.states.push(path),
                Err(error) => self.made.wrong.push(error.to_string()),
            }
        }
    }

    /// Gives all logs their names, on all hosts; see [`RunLogs::commit`].
    #[must_use]
    pub fn commit(self, complete: bool) -> MadeFiles {
        let others = hosts::led().filter(|_| self.on_others);
        let mut made = self.commit_here(complete);
        made.add(others.map(|hosts| hosts.commit(complete)).unwrap_or_default());
        made
    }

    /// As [`Self::commit`], on this host only.
    pub(crate) fn commit_here(self, complete: bool) -> MadeFiles {
        let Self { logs, mut made, .. } = self;
        let (paths, wrong) = logs.commit(complete);
        made.logs = paths;
        made.wrong.extend(wrong);
        made
    }
}
