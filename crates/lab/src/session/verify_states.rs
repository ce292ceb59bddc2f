//! Files with what the jobs of a run have written, for a later run that verifies it.

use crate::error::{LabError, VerifyStateError};
use crate::session::hosts::HostId;
use iogauge_io::output::{OutputError, OutputFile, Replace};
use iogauge_io::verify::JobVerify;
use iogauge_io::verify::state::{self, SavedState};
use iogauge_model::Step;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The verify states of all jobs of a run.
#[derive(Debug, Default)]
pub struct RunStates {
    steps: Vec<StepStates>,
}

/// The verify states of the jobs of a step.
#[derive(Debug, Default)]
pub struct StepStates(Vec<JobState>);

/// The verify state of a job.
#[derive(Debug, Default)]
struct JobState {
    save: Option<OutputFile>,
    /// Number of hosts of this run.
    hosts: u32,
    saved: Option<(PathBuf, Arc<SavedState>)>,
}

impl RunStates {
    /// Checks where the jobs of these steps would write their states, and reads those that they verify. Changes
    /// nothing. As in fio, clones are numbered over all steps, from 0. `host` is this one of several hosts.
    ///
    /// # Errors
    /// A state would replace another file or cannot be written, or one cannot be read.
    pub fn check<'a>(
        steps: impl Iterator<Item = &'a Step>,
        host: Option<&HostId>,
    ) -> Result<Self, LabError> {
        let mut run = Self::default();
        let (mut thread, hosts) = (0, host.map_or(1, |host| host.hosts));
        for step in steps {
            let mut jobs = Vec::new();
            for job in &step.jobs {
                let state = job.load.verify.as_ref().and_then(|verify| verify.state.as_ref());
                let number = host.map(|host| host.number);
                let path = state.map(|state| PathBuf::from(state.file_name(thread, number)));
                thread += job.load.numjobs;
                let (Some(state), Some(path)) = (state, path) else {
                    jobs.push(JobState::default());
                    continue;
                };
                let saves = state.saves && job.load.writes();
                let check = || OutputFile::check(&path, Replace::VerifyState);
                let save = saves.then(check).transpose().map_err(VerifyStateError::from)?;
                let saved = state.loads.then(|| read(&path, hosts)).transpose()?;
                let saved = saved.map(|saved| (path, Arc::new(saved)));
                jobs.push(JobState { save, hosts, saved });
            }
            run.steps.push(StepStates(jobs));
        }
        Ok(run)
    }

    /// Returns the states of a step, by its index.
    pub(super) fn of_step(&self, step: usize) -> &StepStates {
        const NONE: &StepStates = &StepStates(Vec::new());
        self.steps.get(step).unwrap_or(NONE)
    }

    /// Takes the states of a step.
    pub(super) fn take(&mut self, step: usize) -> StepStates {
        self.steps.get_mut(step).map(std::mem::take).unwrap_or_default()
    }
}

fn read(path: &Path, hosts: u32) -> Result<SavedState, VerifyStateError> {
    let unreadable = |source| VerifyStateError::Unreadable { path: path.to_owned(), source };
    let file = File::open(path).map_err(|source| unreadable(source.into()))?;
    let state = SavedState::read(file).map_err(unreadable)?;
    match state.hosts() {
        wrote if wrote == hosts => Ok(state),
        wrote => Err(VerifyStateError::OtherHosts { path: path.to_owned(), wrote, hosts }),
    }
}

impl StepStates {
    /// Gives a job what an earlier run wrote.
    ///
    /// # Errors
    /// The earlier run wrote other units.
    pub(super) fn lend(&self, index: usize, job: JobVerify) -> Result<JobVerify, VerifyStateError> {
        let Some((path, saved)) = self.0.get(index).and_then(|state| state.saved.as_ref()) else {
            return Ok(job);
        };
        match saved.other_units(job.format()) {
            None => Ok(job.with_saved(saved.clone())),
            Some((bytes, algorithm)) => {
                Err(VerifyStateError::OtherUnits { path: path.clone(), bytes, algorithm })
            }
        }
    }

    /// Saves what the jobs have written. Returns the path of each file, or why it is not there.
    pub(super) fn save(
        self,
        jobs: &[Option<Arc<JobVerify>>],
    ) -> Vec<Result<PathBuf, VerifyStateError>> {
        let both = self.0.into_iter().zip(jobs);
        both.filter_map(|(state, job)| Some(save(state.save?, state.hosts, job.as_ref()?)))
            .collect()
    }
}

fn save(file: OutputFile, hosts: u32, job: &JobVerify) -> Result<PathBuf, VerifyStateError> {
    let path = file.path().to_owned();
    let io_error = |source| OutputError::Io { path: path.clone(), action: "write", source };
    let mut out = BufWriter::new(file);
    state::save(job.territories(), hosts, &mut out).and_then(|()| out.flush()).map_err(io_error)?;
    let file = out.into_inner().map_err(|error| io_error(error.into_error()))?;
    file.commit()?;
    Ok(path)
}
