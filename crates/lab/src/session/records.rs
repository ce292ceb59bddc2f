//! What the workers of a step record on this host in addition to their figures: what they write, to verify it, and logs.

use crate::error::{LabError, VerifyStateError};
use crate::measure::Watch;
use crate::observe::Interrupt;
use crate::session::files::StepFiles;
use crate::session::hosts::{self, Started, Starting};
use crate::session::logs::StepLogs;
use crate::session::region::Region;
use crate::session::rig::Rig;
use crate::session::verify::{self, Checks};
use crate::session::verify_states::StepStates;
use iogauge_model::load::Load;
use iogauge_model::result::{VerifyEnd, VerifyResult};
use std::path::PathBuf;

/// What the workers of a step record on this host.
#[derive(Debug, Default)]
pub(crate) struct Records {
    /// The jobs of this host.
    jobs: Vec<(Load, Region)>,
    checks: Option<Checks>,
    logs: Option<StepLogs>,
    states: StepStates,
}

/// What was verified, and the files with what the jobs have written, or why one is not there.
#[derive(Debug)]
pub(crate) struct Verified {
    pub(crate) result: VerifyResult,
    pub(crate) states: Vec<Result<PathBuf, VerifyStateError>>,
}

impl Records {
    /// Returns what these workers of this host will record.
    ///
    /// # Errors
    /// As [`Checks::of`].
    pub(crate) fn of(rig: &Rig, own: &Starting, files: StepFiles) -> Result<Self, LabError> {
        let StepFiles { logs, states, .. } = files;
        let jobs = own.jobs().to_vec();
        let checks = Checks::of(rig, &jobs, &states)?;
        Ok(Self { jobs, checks, logs, states })
    }

    /// Starts the workers on all hosts.
    ///
    /// # Errors
    /// As [`Rig::pool`].
    pub(crate) fn start(&self, rig: &Rig, starting: &Starting) -> Started {
        let Some(hosts) = hosts::led() else { return self.start_here(rig, starting) };
        hosts.start(starting, &rig.parts_of_hosts(), &|own| self.start_here(rig, own))
    }

    /// Starts the workers of this host.
    ///
    /// # Errors
    /// As [`Rig::pool`].
    pub(crate) fn start_here(&self, rig: &Rig, own: &Starting) -> Started {
        let unchecked = vec![None; own.jobs().len()];
        let verify = self.checks.as_ref().map_or(&unchecked, |checks| &checks.jobs);
        let logs = self.logs.clone().map(StepLogs::start).transpose()?;
        rig.start_recording(own, verify, logs)
    }

    /// Verifies on all hosts what the workers have written, once they have ended, or have ended as `skipped`; `None`
    /// if no job verifies.
    ///
    /// # Errors
    /// The data cannot be read back.
    pub(crate) fn verify(
        self,
        rig: &Rig,
        skipped: Option<VerifyEnd>,
        watch: &mut Watch<'_>,
    ) -> Result<Option<Verified>, LabError> {
        let Some(hosts) = hosts::led() else { return self.verify_here(rig, skipped, watch) };
        let Self { jobs, checks: Some(checks), states, .. } = self else { return Ok(None) };
        let mut saved = Vec::new();
        let Watch { observer, interrupt } = watch;
        let own = |interrupt: &Interrupt| {
            saved = states.save(&checks.jobs);
            let mut watch = Watch { observer: &mut **observer, interrupt };
            checks.read_back(rig, &jobs, skipped, &mut watch)
        };
        let results = hosts.read_back(skipped, interrupt, Box::new(own))?;
        let mut result = verify::sum(results);
        if hosts.lost().is_some() {
            result.end = verify::worse(result.end, VerifyEnd::Interrupted);
        }
        Ok(Some(Verified { result, states: saved }))
    }

    /// As [`Self::verify`], on this host only.
    ///
    /// # Errors
    /// As [`Self::verify`].
    pub(crate) fn verify_here(
        self,
        rig: &Rig,
        skipped: Option<VerifyEnd>,
        watch: &mut Watch<'_>,
    ) -> Result<Option<Verified>, LabError> {
        let Self { jobs, checks, states, .. } = self;
        let Some(checks) = checks else { return Ok(None) };
        let states = states.save(&checks.jobs);
        let result = checks.read_back(rig, &jobs, skipped, watch)?;
        Ok(Some(Verified { result, states }))
    }
}
