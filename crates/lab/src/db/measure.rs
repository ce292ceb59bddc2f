//! Runs one step or one search on a database, and records what its devices and the database itself
//! did.

use super::caveats as facts;
use super::database_result;
use super::pool::DatabasePool;
use super::reserve::DbReserveWatch;
use super::target::{DbLoad, DbTarget};
use crate::caveats;
use crate::error::LabError;
use crate::history::UtcTime;
use crate::measure::process_pauses;
use crate::measure::{self, Watch};
use crate::search::{self, SearchPlan};
use crate::session::Searched;
use crate::suite::limit_values;
use iogauge_db::backend::{Activity, Counts, Cycle, RunPlan};
use iogauge_db::pool::DbPool;
use iogauge_io::machine::{Counters, Logical, Sampler};
use iogauge_io::pool::WorkerPool;
use iogauge_model::result::{Drain, Physical, StepResult};
use iogauge_model::{Caveat, Limit};
use std::sync::Arc;
use std::time::Instant;

/// The times of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Times {
    /// Ramp time.
    pub ramp_ns: u64,
    /// Measured time.
    pub runtime_ns: u64,
    /// True to wait until all data is in the data files: before the run, so that later writes
    /// belong to it, and at the end.
    pub drain: bool,
}

/// A measured step.
#[derive(Debug)]
pub struct DbMeasured {
    pub result: StepResult,
    /// True if it ended early.
    pub interrupted: bool,
    pub caveats: Vec<Caveat>,
    /// Why the database could not be queried after the measurement; a caveat reports it, too.
    pub fault: Option<LabError>,
}

/// A database taken for a run.
struct Taken {
    activity: Arc<dyn Activity>,
    pool: DatabasePool,
    sampler: Sampler,
    /// Counters of the machine and of the database before workers began.
    machine: Counters,
    before: Counts,
}

impl Taken {
    /// Takes the database and starts workers, whose number may later rise to `most`. If the
    /// database is to be drained at the end, drains it now, so that a missing permission is
    /// reported before anything is measured.
    fn take(target: &DbTarget, load: &DbLoad, most: u32, drain: bool) -> Result<Self, LabError> {
        let plan = load.pool_plan(most);
        let (reads, writes) = (plan.mode.reads(), plan.mode.writes());
        target.check_globals(&DbLoad { processes: most, ..*load })?;
        let run = RunPlan { workers: most, reads, writes };
        let mut room = writes.then(|| DbReserveWatch::begin(target.database())).transpose()?;
        room.as_mut().map_or(Ok(()), DbReserveWatch::check)?;
        let activity: Arc<dyn Activity> = target.database.begin(&run)?.into();
        // Queried only now, because transactions of others before the database was taken count,
        // too.
        let sequences = if writes { target.sequences()? } else { Vec::new() };
        let acknowledged = target.note(&plan, &sequences)?;
        let devices = target.devices()?;
        let mut sampler = Sampler::start(&devices, target.cadence)?;
        let workers =
            DbPool::new(activity.clone(), plan, &target.globals, &sequences, acknowledged)?;
        if drain {
            activity.drain()?;
        }
        let machine = sampler.mark()?;
        let before = activity.counts()?;
        activity.cycles()?;
        let pool = DatabasePool::start(workers, load.processes, room)?;
        Ok(Self { activity, pool, sampler, machine, before })
    }

    /// Queries the database for what is known only at the end, as far as it responds.
    fn ask(&mut self, drain: bool) -> Afterwards {
        let mut after = Afterwards::default();
        if self.pool.database_fault().is_some() {
            // A database that failed cannot be queried, and its worker has reported the fault.
            after.cycles = self.activity.cycles().unwrap_or_default();
        } else {
            after.fault = self.ask_into(&mut after, drain).err();
        }
        after
    }

    fn ask_into(&mut self, after: &mut Afterwards, drain: bool) -> Result<(), LabError> {
        after.counts = Some(self.activity.counts()?);
        after.cycles = self.activity.cycles()?;
        // Draining may temporarily need room.
        if drain && self.pool.no_room().is_none() {
            let before = self.sampler.mark()?;
            let begin = Instant::now();
            self.activity.drain()?;
            let seconds = begin.elapsed().as_secs_f64();
            let drained = self.sampler.mark()?;
            let physical = |since| drained.since(since, Logical { ios: 0, bytes: 0 }).physical;
            after.drain = Some(Drain { seconds, physical: physical(&before) });
            after.physical = physical(&self.machine);
            after.cycles.extend(self.activity.cycles()?);
        }
        Ok(())
    }
}

/// What a database reports at the end. If it cannot, the measurement is still valid.
#[derive(Default)]
struct Afterwards {
    counts: Option<Counts>,
    cycles: Vec<Cycle>,
    drain: Option<Drain>,
    /// Totals of the devices from before the workers began until all data was in the data files.
    physical: Option<Physical>,
    /// Why the rest is missing.
    fault: Option<LabError>,
}

/// Runs one step and judges it by limits.
///
/// # Errors
/// The database cannot be taken or drained first, a worker cannot be connected, or nothing was
/// measured before the first fault.
pub fn run(
    target: &DbTarget,
    load: &DbLoad,
    times: Times,
    limits: &[Limit],
    watch: &mut Watch<'_>,
) -> Result<DbMeasured, LabError> {
    let mut taken = Taken::take(target, load, load.processes, times.drain)?;
    let step = load.step(target, times.runtime_ns);
    if times.ramp_ns > 0 {
        measure::ramp(&mut taken.pool, times.ramp_ns, watch)?;
    }
    taken.pool.mark();
    let begin = Instant::now();
    let measured = measure::step(&mut taken.pool, &step, Some(&mut taken.sampler), watch)?;
    let fault = taken.pool.database_fault();
    let mut result = measured.result;
    let first = fault.as_ref().map(|(_, error)| error).or(taken.pool.no_room());
    if let Some(error) = first
        && result.ios() == 0
    {
        return Err(error.clone().into());
    }
    let after = taken.ask(times.drain);
    if result.ios() == 0
        && let Some(error) = after.fault
    {
        return Err(error);
    }
    let Taken { pool, before, .. } = &taken;
    let mut database = result.database.take().unwrap_or_default();
    database.counted =
        after.counts.map(|after| database_result::counted(pool.whole(), before, &after));
    let cycles = after.cycles.iter();
    database.cycles = cycles.filter_map(|cycle| database_result::cycle(cycle, begin)).collect();
    database.drain = after.drain;
    database.limits = limit_values(&result, limits);
    let (physical, updated_bytes) = match &after.physical {
        Some(whole) => (Some(whole), pool.updated_bytes()),
        None => (result.physical.as_ref(), result.write.as_ref().map_or(0, |write| write.bytes)),
    };
    database.written_per_updated =
        physical.and_then(|physical| database_result::written_per_updated(physical, updated_bytes));
    let drained = database.drain.as_ref().and_then(|drain| drain.physical.as_ref());
    database.blocks_per_device_write = drained.and_then(|drained| {
        database_result::blocks_per_device_write(drained, target.about.block_bytes)
    });
    result.database = Some(database);
    let mut found = facts::of_step(target, load, &result);
    found.extend(process_pauses::fact(&measured.pauses, false, result.seconds));
    found.extend(fault.as_ref().map(|(worker, error)| facts::fault(*worker, error)));
    found.extend(after.fault.as_ref().map(facts::unanswered));
    // A worker that failed after the time was over is not an error of a measured operation.
    let late = fault.filter(|_| result.errors() == 0).map(|(_, error)| LabError::from(error));
    let interrupted = measured.interrupted;
    found.extend(interrupted.then(caveats::interrupted));
    let mut caveats = target.command.caveats(found);
    caveats::without_nothing(&mut caveats, interrupted);
    let no_room = taken.pool.no_room();
    caveats.extend(target.command.caveats(no_room.map(facts::no_room)));
    let no_room = no_room.cloned().map(LabError::from);
    Ok(DbMeasured { result, interrupted, caveats, fault: no_room.or(late).or(after.fault) })
}

/// A search whose queue depths are numbers of processes.
#[derive(Debug)]
pub struct DbSearched {
    pub searched: Searched,
    /// Rounds of the write daemon.
    pub cycles: Vec<Cycle>,
    /// As in [`DbMeasured`].
    pub fault: Option<LabError>,
}

/// Searches over the number of processes for the most operations per second under limits.
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
    let one = DbLoad { processes: 1, ..*load };
    let mut taken = Taken::take(target, &one, most.max(1), false)?;
    let began = UtcTime::now();
    taken.pool.begin_search(watch.interrupt);
    let mut found = search::find(&mut taken.pool, &plan, watch)?;
    let machine_after = taken.sampler.mark()?;
    taken.pool.stop()?;
    let fault = taken.pool.database_fault();
    let first = fault.as_ref().map(|(_, error)| error).or(taken.pool.no_room());
    if let (Some(error), true) = (first, found.search.curve.is_empty()) {
        return Err(error.clone().into());
    }
    let after = taken.ask(false);
    let Taken { pool, sampler, machine, before, .. } = &taken;
    found.search.system = sampler.points_between(machine, &machine_after);
    let (ios, bytes) = found.logical;
    let totals = machine_after.since(machine, Logical { ios, bytes });
    let physical = totals.physical;
    let mut found_facts = facts::of_target(target, load);
    found_facts.extend(caveats::steal(&totals.cpu));
    found_facts.extend(facts::devices(target, physical.as_ref()));
    found_facts.extend(process_pauses::fact(&found.pauses, false, found.search.measured_seconds));
    found_facts.extend(caveats::starved(&found));
    if let Some(after) = &after.counts {
        found_facts.extend(facts::counts(&database_result::counted(pool.whole(), before, after)));
    }
    found_facts.extend(facts::of_search(target, load, &found, pool.refused()));
    found_facts.extend(fault.map(|(worker, error)| facts::fault(worker, &error)));
    found_facts.extend(after.fault.as_ref().map(facts::unanswered));
    let no_room = taken.pool.no_room();
    let by_user = found.interrupted && no_room.is_none();
    found_facts.extend(by_user.then(caveats::interrupted));
    found_facts.extend(no_room.map(facts::no_room));
    let mut caveats = target.command.caveats(found_facts);
    caveats::without_nothing(&mut caveats, found.interrupted);
    let (cycles, no_room) = (after.cycles, no_room.cloned().map(LabError::from));
    let fault = no_room.or(after.fault);
    let searched = Searched { outcome: found, physical, began: Some(began.to_string()), caveats };
    Ok(DbSearched { searched, cycles, fault })
}
