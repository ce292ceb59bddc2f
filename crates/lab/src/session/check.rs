//! A check of a requirement, on a prepared target.

use super::{Rig, in_reach, reserve, sampler};
use crate::caveats;
use crate::error::LabError;
use crate::measure::{self, Machine, Measured, Stretch, Watch};
use crate::search::{self, CheckPlan, Checked, SearchPlan};
use crate::session::Region;
use iogauge_io::logs::LogWaits;
use iogauge_model::caveat::{Fact, HostFact};
use iogauge_model::load::Load;
use iogauge_model::plan::Step;
use iogauge_model::result::{CheckResult, CheckVerdict, StepResult};
use iogauge_model::{Caveat, CaveatCode};

/// A check, with what the machine did during it.
#[derive(Debug)]
pub struct CheckedStep {
    /// The load that was measured.
    pub result: StepResult,
    /// The verdict.
    pub check: CheckResult,
    pub caveats: Vec<Caveat>,
    /// True if the user ended it.
    pub interrupted: bool,
}

/// Returns the plan with the maximum number of outstanding I/Os of an open loop reduced to what is possible.
#[must_use]
pub fn check_in_reach(rig: &Rig, load: &Load, plan: &CheckPlan) -> CheckPlan {
    if plan.arrivals.is_none() {
        return plan.clone();
    }
    let search = SearchPlan {
        max_depth: plan.queue_depth,
        open_loop: plan.arrivals,
        ..SearchPlan::default()
    };
    CheckPlan { queue_depth: in_reach(&search, load, rig).max_depth, ..plan.clone() }
}

/// Checks a requirement with a workload on a prepared target.
///
/// # Errors
/// A worker cannot be started, or its engine fails.
pub fn check(
    rig: &Rig,
    load: &Load,
    plan: &CheckPlan,
    watch: &mut Watch<'_>,
) -> Result<CheckedStep, LabError> {
    rig.check_limits(&plan.limits)?;
    let plan = &check_in_reach(rig, load, plan);
    let asked = plan.load(load);
    let mut sampler = sampler(rig)?;
    let mut pool = rig.pool(&Load { iodepth: 1, ..asked.clone() }, plan.queue_depth)?;
    pool.hurry_when(watch.interrupt.flag());
    let mut machine =
        sampler.as_mut().map(|sampler| Machine::begin(sampler, pool.as_ref())).transpose()?;
    let checked = reserve::watched(rig, watch, |watch| search::check(pool.as_mut(), plan, watch))?;
    let after = machine.as_mut().map(Machine::mark).transpose()?;
    pool.stop()?;
    let step = Step::single(asked, 0, plan.budget_ns);
    let Checked { check, total, series, .. } = &checked;
    let mut result = measure::result(&step, total, series.clone());
    let latencies = measure::hosts::latencies(total, measure::hosts::Times::Response);
    result.hosts = measure::hosts::results(total, pool.host_names(), &latencies);
    result.limits = check.limits.iter().map(|limit| limit.value).collect();
    if let Some(machine) = &machine {
        let (ios, bytes) = checked.logical;
        let stretch = Stretch { ios, bytes, seconds: checked.measured_seconds };
        machine.tell(&mut result, after.as_ref(), &stretch, pool.as_ref());
    }
    let fault = pool.fault().map(|(_, fault)| fault);
    let measured = Measured {
        result,
        interrupted: checked.interrupted,
        ended_early: false,
        fault,
        left_behind: pool.left_behind().to_vec(),
        fallbacks: pool.fallbacks(),
        workers: pool.workers(),
        hosts: total.hosts.clone(),
        losses: pool.losses(),
        failed_before: checked.failed_before,
        pauses: checked.pauses,
        log_waits: LogWaits::default(),
        saved_states: Vec::new(),
    };
    let mut caveats = super::step_caveats(rig, &step, &[Region::All], &measured);
    caveats.extend(rig.caveats(facts(&checked)));
    // The verdict says what is not reached and has its own intervals, and the rate of an open loop is that of the arrivals.
    caveats.retain(|caveat| match caveat.code {
        CaveatCode::RateNotReached | CaveatCode::TooFewSamples => false,
        CaveatCode::NotSteady => plan.arrivals.is_none(),
        _ => true,
    });
    let (result, interrupted) = (measured.result, measured.interrupted);
    Ok(CheckedStep { result, check: checked.check, caveats, interrupted })
}

fn facts(checked: &Checked) -> Vec<Fact> {
    let met = checked.check.verdict == CheckVerdict::Pass;
    let mut facts: Vec<Fact> = Vec::new();
    facts.extend(caveats::starvation(&checked.starved, checked.with_starved.as_ref(), met));
    facts.extend(checked.straggler.clone().map(|found| HostFact::Straggler(found).into()));
    facts
}
