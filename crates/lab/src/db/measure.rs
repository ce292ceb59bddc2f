//! One step or one search on a database, with what the devices under it and the database itself did.

use super::caveats as doubts;
use super::crew::DbCrew;
use super::figures;
use super::target::{DbLoad, DbTarget};
use crate::caveats;
use crate::error::LabError;
use crate::history::UtcTime;
use crate::measure::{self, Watch};
use crate::search::{self, Found, SearchPlan, limit_value};
use crate::suite::judged;
use iogauge_db::backend::{Activity, Counts, Cycle, RunPlan};
use iogauge_db::crew::Crew as Workers;
use iogauge_io::crew::Crew;
use iogauge_io::system::{Logical, Sampler};
use iogauge_model::result::{Drain, Physical, StepResult, SystemPoint};
use iogauge_model::{Caveat, Limit};
use std::sync::Arc;
use std::time::Instant;

/// How long a step takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Times {
    /// Before measuring begins.
    pub ramp_ns: u64,
    /// Measuring.
    pub runtime_ns: u64,
    /// Wait at the end until everything is in the data files.
    pub drain: bool,
}

/// A measured step.
#[derive(Debug)]
pub struct DbMeasured {
    /// Its figures.
    pub result: StepResult,
    /// True where it ended before its time.
    pub interrupted: bool,
    /// Doubts about it.
    pub caveats: Vec<Caveat>,
}

/// A database taken for a run.
struct Taken {
    activity: Arc<dyn Activity>,
    crew: DbCrew,
    sampler: Option<Sampler>,
    before: Counts,
}

impl Taken {
    /// Takes the database and starts workers, of which there may later be `most`.
    fn take(target: &DbTarget, load: &DbLoad, most: u32) -> Result<Self, LabError> {
        let plan = load.crew_plan(most);
        let (reads, writes) = (plan.mode.reads(), plan.mode.writes());
        target.check_globals(&DbLoad { processes: most, ..*load })?;
        let run = RunPlan { workers: most, reads, writes };
        let activity: Arc<dyn Activity> = target.database.begin(&run)?.into();
        // What others did before it was ours counts, so only now.
        let sequences = if writes { target.sequences()? } else { Vec::new() };
        let acknowledged = target.note(&plan, &sequences)?;
        let devices = target.devices()?;
        let sampler = Sampler::start(&devices, target.cadence)?;
        let workers =
            Workers::new(activity.clone(), plan, &target.globals, &sequences, acknowledged)?;
        let before = activity.counts()?;
        activity.cycles()?;
        let crew = DbCrew::start(workers, load.processes)?;
        Ok(Self { activity, crew, sampler: Some(sampler), before })
    }
}

/// Runs one step, and judges it by limits.
///
/// # Errors
/// Where the database cannot be had, a worker not be connected, or nothing was measured before the first
/// fault.
pub fn run(
    target: &DbTarget,
    load: &DbLoad,
    times: Times,
    limits: &[Limit],
    watch: &mut Watch<'_>,
) -> Result<DbMeasured, LabError> {
    let Taken { activity, mut crew, mut sampler, before } =
        Taken::take(target, load, load.processes)?;
    let step = load.step(target, times.runtime_ns);
    if times.ramp_ns > 0 {
        measure::ramp(&mut crew, times.ramp_ns, watch)?;
    }
    crew.mark();
    let begin = Instant::now();
    let measured = measure::step(&mut crew, &step, sampler.as_mut(), watch)?;
    let fault = crew.database_fault();
    let mut result = measured.result;
    if let Some((_, error)) = &fault
        && result.ios() == 0
    {
        return Err(error.clone().into());
    }
    // A database that is gone can tell nothing more.
    let after = if fault.is_none() { Some(activity.counts()?) } else { None };
    let mut cycles = activity.cycles().unwrap_or_default();
    let mut drain = None;
    if times.drain && fault.is_none() {
        drain = Some(drained(activity.as_ref(), sampler.as_mut())?);
        cycles.extend(activity.cycles()?);
    }
    let mut database = figures::of(load, &crew, &result);
    database.counted = after.map(|after| figures::counted(crew.whole(), &before, &after));
    database.cycles = cycles.iter().filter_map(|cycle| figures::cycle(cycle, begin)).collect();
    database.drain = drain;
    database.limits = judged(&result, |latencies| {
        limits.iter().map(|limit| limit_value(limit, latencies, &result.series)).collect()
    });
    figures::amplify(&mut database, &result, target.about.block_bytes);
    result.database = Some(Box::new(database));
    let mut found = doubts::of_step(target, load, &result);
    found.extend(fault.map(|(worker, error)| doubts::fault(worker, &error)));
    if measured.interrupted {
        found.push(caveats::interrupted());
    }
    Ok(DbMeasured { result, interrupted: measured.interrupted, caveats: found })
}

/// Waits until everything is in the data files, and tells what that took.
fn drained(activity: &dyn Activity, mut sampler: Option<&mut Sampler>) -> Result<Drain, LabError> {
    let mut mark = || sampler.as_mut().map(|sampler| sampler.mark()).transpose();
    let before = mark()?;
    let begin = Instant::now();
    activity.drain()?;
    let seconds = begin.elapsed().as_secs_f64();
    let after = mark()?;
    let physical = before
        .zip(after)
        .and_then(|(before, after)| after.since(&before, Logical { ios: 0, bytes: 0 }).physical);
    Ok(Drain { seconds, physical })
}

/// A search with what the machine did meanwhile.
#[derive(Debug)]
pub struct DbSearched {
    /// What was found; depths are processes.
    pub found: Found,
    /// What the devices did over the whole search.
    pub physical: Option<Physical>,
    /// When it began.
    pub began: UtcTime,
    /// The machine over the whole search.
    pub system: Vec<SystemPoint>,
    /// Rounds of the write daemon.
    pub cycles: Vec<Cycle>,
    /// Doubts about it.
    pub caveats: Vec<Caveat>,
}

/// Searches the most operations a second under limits, over the number of processes.
///
/// # Errors
/// As [`run`].
pub fn find(
    target: &DbTarget,
    load: &DbLoad,
    plan: &SearchPlan,
    watch: &mut Watch<'_>,
) -> Result<DbSearched, LabError> {
    let most = if load.mode.writes() {
        plan.max_depth.min(target.globals.len() as u32)
    } else {
        plan.max_depth
    };
    let plan = SearchPlan { max_depth: most.max(1), ..plan.clone() };
    let Taken { activity, mut crew, mut sampler, before } =
        Taken::take(target, &DbLoad { processes: 1, ..*load }, most.max(1))?;
    let mut mark = || sampler.as_mut().map(|sampler| sampler.mark()).transpose();
    let machine_before = mark()?;
    let began = UtcTime::now();
    let found = search::find(&mut crew, &plan, watch)?;
    let machine_after = mark()?;
    crew.stop()?;
    let fault = crew.database_fault();
    if let (Some((_, error)), true) = (&fault, found.curve.is_empty()) {
        return Err(error.clone().into());
    }
    let mut caveats = doubts::of_target(target, load);
    let mut physical = None;
    let mut system = Vec::new();
    if let (Some(sampler), Some(before), Some(after)) = (&sampler, &machine_before, &machine_after)
    {
        system = sampler.points_between(before, after);
        let (ios, bytes) = found.logical;
        let totals = after.since(before, Logical { ios, bytes });
        caveats.extend(caveats::steal(&totals.cpu));
        physical = totals.physical;
    }
    if fault.is_none() {
        let counted = figures::counted(crew.whole(), &before, &activity.counts()?);
        caveats.extend(doubts::counts(&counted));
    }
    caveats.extend(crew.refused().map(doubts::refused));
    let (depth, met) = (found.answer.depth, found.answer.met);
    let answer = found.curve.iter().find(|point| point.depth == depth);
    let mut general: Vec<Caveat> =
        answer.into_iter().flat_map(|point| caveats::of_answer(point, met)).collect();
    general.extend(caveats::regimes(&found.regimes));
    general.extend(found.drift.as_ref().map(caveats::drift));
    general.retain(|doubt| doubts::counts_for(load, doubt));
    caveats.extend(general.into_iter().map(doubts::own_words));
    caveats.extend(doubts::cut_short(target, load, &found.answer));
    caveats.extend(fault.map(|(worker, error)| doubts::fault(worker, &error)));
    if found.interrupted {
        caveats.push(caveats::interrupted());
    }
    let cycles = activity.cycles().unwrap_or_default();
    Ok(DbSearched { found, physical, began, system, cycles, caveats })
}
