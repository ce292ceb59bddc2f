//! A turn of a comparison of databases.

use super::measure::{self, Times};
use super::target::DbTarget;
use crate::error::LabError;
use crate::history::UtcTime;
use crate::measure::Watch;
use crate::search::SearchPlan;
use crate::suite::{SuiteStep, Work};
use crate::transactions::DbLoad;
use iogauge_model::result::{SuiteOutcome, SuiteStepResult};

/// What a turn does.
#[derive(Debug, Clone, PartialEq)]
pub enum DbTurn {
    /// Runs as many processes as the workload has.
    Run {
        /// Ramp time, in nanoseconds.
        ramp_ns: u64,
        /// Measured time, in nanoseconds.
        runtime_ns: u64,
    },
    /// Searches the number of processes.
    Find(SearchPlan),
}

impl DbTurn {
    /// Returns the turn as a step of device I/O that is equivalent to it.
    #[must_use]
    pub fn work(&self, target: &DbTarget, load: &DbLoad) -> Work {
        match self {
            Self::Run { runtime_ns, .. } => Work::Step(target.step(load, *runtime_ns)),
            Self::Find(plan) => {
                let mut jobs = target.step(load, plan.budget_ns).jobs;
                let load = Box::new(jobs.pop().map(|job| job.load).unwrap_or_default());
                Work::Search { load, plan: plan.clone() }
            }
        }
    }
}

/// Runs a turn. The step has the seed of its random choices.
///
/// # Errors
/// As [`super::run`] and [`super::find`], or the database cannot be queried afterwards.
pub fn turn(
    target: &DbTarget,
    load: &DbLoad,
    turn: &DbTurn,
    step: &SuiteStep,
    watch: &mut Watch<'_>,
) -> Result<SuiteStepResult, LabError> {
    let started = UtcTime::now().to_string();
    let asked = step.asked();
    let number = asked.jobs.first().map_or(0, |job| job.load.seed);
    let load = &DbLoad { seed: load.seed.wrapping_add(number), ..*load };
    let (result, caveats, interrupted, fault) = match turn {
        DbTurn::Run { ramp_ns, runtime_ns } => {
            let times = Times { ramp_ns: *ramp_ns, runtime_ns: *runtime_ns, drain: false };
            let measured = measure::run(target, load, times, &[], watch)?;
            let step = SuiteOutcome::Step(Box::new(measured.result));
            (step, measured.caveats, measured.interrupted, measured.fault)
        }
        DbTurn::Find(plan) => {
            let found = measure::find(target, load, plan, watch)?;
            let outcome = found.searched.outcome;
            let search = SuiteOutcome::Search(Box::new(outcome.search));
            (search, found.searched.caveats, outcome.interrupted, found.fault)
        }
    };
    match fault {
        Some(fault) => Err(fault),
        None => {
            let (place, check) = (step.place.clone(), None);
            let part = 0;
            Ok(SuiteStepResult { place, started, part, asked, result, check, caveats, interrupted })
        }
    }
}
