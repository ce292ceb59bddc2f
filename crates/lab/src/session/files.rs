//! The files that a run writes and reads beside its target: logs and verify states.

use crate::error::{LabError, VerifyStateError};
use crate::session::logs::{RunLogs, StepLogs};
use crate::session::verify_states::{RunStates, StepStates};
use iogauge_model::Step;
use std::path::PathBuf;

/// The files of a run.
#[derive(Debug)]
pub struct RunFiles {
    logs: RunLogs,
    states: RunStates,
    made: MadeFiles,
}

/// The files of a step.
#[derive(Debug, Default)]
pub struct StepFiles {
    pub(super) logs: Option<StepLogs>,
    pub(super) states: StepStates,
}

/// Files that were written.
#[derive(Debug, Default)]
pub struct MadeFiles {
    pub logs: Vec<PathBuf>,
    pub states: Vec<PathBuf>,
    /// What is wrong with files, one line each.
    pub wrong: Vec<String>,
}

impl RunFiles {
    /// Checks the files of these steps, and reads those that are read. Changes nothing.
    ///
    /// # Errors
    /// A file cannot be written or read, or would replace another file.
    pub fn check<'a>(steps: impl Iterator<Item = &'a Step> + Clone) -> Result<Self, LabError> {
        let (logs, states) = (RunLogs::check(steps.clone())?, RunStates::check(steps)?);
        Ok(Self { logs, states, made: MadeFiles::default() })
    }

    /// Returns the verify states of a step, by its index.
    #[must_use]
    pub fn states(&self, step: usize) -> &StepStates {
        self.states.of_step(step)
    }

    /// Returns the files of a step, by its index. A verify state is returned once.
    pub fn of_step(&mut self, step: usize) -> StepFiles {
        StepFiles { logs: self.logs.of_step(step), states: self.states.take(step) }
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

    /// Gives all logs their names; see [`RunLogs::commit`].
    #[must_use]
    pub fn commit(self, complete: bool) -> MadeFiles {
        let Self { logs, mut made, .. } = self;
        let (paths, wrong) = logs.commit(complete);
        made.logs = paths;
        made.wrong.extend(wrong);
        made
    }
}
