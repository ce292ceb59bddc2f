//! Runs one step or one search on a database, and records what its devices and the database itself
//! did.

use super::caveats as facts;
use super::database_result;
use super::pool::DatabasePool;
use super::target::DbTarget;
use crate::caveats;
use crate::error::LabError;
use crate::history::UtcTime;
use crate::measure::process_pauses;
use crate::measure::{self, Watch};
use crate::observe::Interrupt;
use crate::search::{self, SearchPlan};
use crate::session::Searched;
use crate::session::hosts::{self, Started, Starting, Work};
use crate::suite::measured_limit_values;
use crate::transactions::{DbLoad, DbReport};
use iogauge_db::acknowledged::Acknowledged;
use iogauge_db::backend::{Activity, Counts, Cycle};
use iogauge_db::pool::{DbPool, WorkerNumbers};
use iogauge_io::machine::{Counters, Logical, Sampler};
use iogauge_io::pool::{Parts, WorkerPool};
use iogauge_model::result::{DatabaseCounts, DatabaseResult, Drain, Physical, StepResult};
use iogauge_model::{Caveat, Limit};
use std::cell::Cell;
use std::sync::{Arc, Mutex, PoisonError};
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
    /// True if a fault of a worker ended it.
    pub is_cut_short: bool,
    pub caveats: Vec<Caveat>,
    /// Why the database could not be queried after the measurement; a caveat reports it, too.
    pub fault: Option<LabError>,
}

/// A database taken for a run.
struct Taken {
    activity: Arc<dyn Activity>,
    /// The workers, of all hosts if this process leads several.
    pool: Box<dyn WorkerPool>,
    /// What this host's workers report beside it.
    report: Arc<Mutex<DbReport>>,
    acknowledged: Option<Arc<Acknowledged>>,
    sampler: Sampler,
    /// Counters of the machine and of the database before workers began.
    machine: Counters,
    before: Counts,
    /// True if the workers update.
    writes: bool,
}

impl Taken {
    /// Takes the database and starts workers, whose number may later rise to `most`. If the
    /// database is to be drained at the end, drains it now, so that a missing permission is
    /// reported before anything is measured. `search` is set when the workers have ended early.
    fn take(
        target: &DbTarget,
        load: &DbLoad,
        most: u32,
        drain: bool,
        search: Option<&Interrupt>,
    ) -> Result<Self, LabError> {
        target.check_globals(&DbLoad { processes: most, ..*load })?;
        let work = Work::Database(*load, WorkerNumbers::ALONE);
        let starting = Starting { work, max_depth: most };
        let own = hosts::own_share(&starting, &Parts::equal(hosts::number())).into_owned();
        let Work::Database(part, numbers) = own.work else { return Err(hosts::other_target()) };
        let plan = part.pool_plan(own.max_depth, numbers);
        let writes = plan.mode.writes();
        let room = target.room(&plan)?;
        let activity: Arc<dyn Activity> = target.database.begin(&plan.mode.run_plan(most))?.into();
        if hosts::led().is_some() {
            activity.share()?;
        }
        // Queried only now, because transactions of others before the database was taken count,
        // too.
        let sequences = if writes { target.sequences()? } else { Vec::new() };
        let acknowledged = target.note(&plan, most, &sequences)?.map(Arc::new);
        let devices = target.devices()?;
        let mut sampler = Sampler::start(&devices, target.cadence)?;
        let noted = acknowledged.clone();
        let workers = DbPool::new(activity.clone(), plan, &target.globals, &sequences, noted)?;
        if drain {
            activity.drain()?;
        }
        let machine = sampler.mark()?;
        let before = activity.counts()?;
        activity.cycles()?;
        let report = Arc::default();
        let workers = Cell::new(Some((workers, room, Arc::clone(&report))));
        let pool = start(&starting, &|processes| {
            let (workers, room, report) = workers.take().ok_or_else(hosts::other_target)?;
            let mut pool = DatabasePool::start(workers, processes, room, report)?;
            search.into_iter().for_each(|interrupt| pool.begin_search(interrupt));
            Ok(Box::new(pool))
        })?;
        Ok(Self { activity, pool, report, acknowledged, sampler, machine, before, writes })
    }

    /// Returns what the workers of all hosts report, and records what those of the others have acknowledged. The
    /// workers have ended.
    fn report(&self) -> DbReport {
        let mut report = self.own_report();
        let others = hosts::led().map(|hosts| hosts.database_reports());
        for (host, other) in others.into_iter().flatten() {
            if let Some(record) = &self.acknowledged {
                // Without the notes, a check finds less, and the measurement is still valid.
                let note = |(worker, sequence): &(u32, u64)| record.note(*worker, *sequence);
                let _ = other.acknowledged.iter().try_for_each(note);
            }
            report.add(other.named(&host));
        }
        report
    }

    fn own_report(&self) -> DbReport {
        self.report.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Queries the database for what is known only at the end, as far as it responds.
    fn ask(&mut self, drain: bool) -> Afterwards {
        let mut after = Afterwards::default();
        if self.own_report().fault.is_some() {
            // A database that failed cannot be queried, and its worker has reported the fault.
            after.cycles = self.activity.cycles().unwrap_or_default();
        } else {
            after.fault = self.ask_into(&mut after, drain).err();
        }
        after
    }

    /// Adds what is known only after the measurement.
    fn complete(
        &self,
        database: &mut DatabaseResult,
        result: &StepResult,
        after: &Afterwards,
        begin: Instant,
        target: &DbTarget,
    ) {
        let made = self.pool.transactions();
        // What a lost host did is not known.
        let counts = after.counts.as_ref().filter(|_| self.pool.losses().is_empty());
        let counted = |after| database_result::counted(&made, &self.before, after);
        database.counted = counts.map(counted).map(|counts| self.own(counts));
        let cycles = after.cycles.iter();
        database.cycles = cycles.filter_map(|cycle| database_result::cycle(cycle, begin)).collect();
        database.drain.clone_from(&after.drain);
        let (physical, updated_bytes) = match &after.physical {
            Some(whole) => (Some(whole), made.update_bytes),
            None => {
                (result.physical.as_ref(), result.write.as_ref().map_or(0, |write| write.bytes))
            }
        };
        database.written_per_updated = physical
            .and_then(|physical| database_result::written_per_updated(physical, updated_bytes));
        let drained = database.drain.as_ref().and_then(|drain| drain.physical.as_ref());
        database.blocks_per_device_write = drained.and_then(|drained| {
            database_result::blocks_per_device_write(drained, target.about.block_bytes)
        });
    }

    /// Leaves out what the database counts for others: while a run only reads, another one may write.
    fn own(&self, counts: DatabaseCounts) -> DatabaseCounts {
        let is_own = |count: &u64| self.writes || *count == 0;
        let (updates, commits) = (counts.updates.filter(is_own), counts.commits.filter(is_own));
        DatabaseCounts { updates, commits, ..counts }
    }

    fn ask_into(&mut self, after: &mut Afterwards, drain: bool) -> Result<(), LabError> {
        after.counts = Some(self.activity.counts()?);
        after.cycles = self.activity.cycles()?;
        // Draining may temporarily need room.
        if drain && self.own_report().no_room.is_none() {
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

/// Starts the workers of this host, or those of all hosts. `start_own` takes the number of this host's processes.
fn start(starting: &Starting, start_own: &dyn Fn(u32) -> Started) -> Started {
    match hosts::led() {
        None => start_own(starting.queue_depth()),
        Some(hosts) => {
            let parts = Parts::equal(hosts.number());
            hosts.start(starting, &parts, &|own| start_own(own.queue_depth()))
        }
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
    let mut taken = Taken::take(target, load, load.processes, times.drain, None)?;
    taken.pool.hurry_when(watch.interrupt.flag());
    let step = target.step(load, times.runtime_ns);
    if times.ramp_ns > 0 {
        measure::ramp(taken.pool.as_mut(), times.ramp_ns, watch)?;
    }
    let begin = Instant::now();
    let sampler = Some(&mut taken.sampler);
    let mut measured = measure::step(taken.pool.as_mut(), &step, sampler, watch)?;
    let report = taken.report();
    let fault = report.fault.clone();
    let first = fault.as_ref().map(|(_, error)| error).or(report.no_room.as_ref());
    if let Some(error) = first
        && measured.result.ios() == 0
    {
        return Err(error.clone().into());
    }
    let after = taken.ask(times.drain);
    if measured.result.ios() == 0
        && let Some(error) = after.fault
    {
        return Err(error);
    }
    let mut database = measured.result.database.take().unwrap_or_default();
    database.limits = measured_limit_values(&measured, limits);
    taken.complete(&mut database, &measured.result, &after, begin, target);
    measured.result.database = Some(database);
    let mut found = facts::of_step(target, load, &measured.result);
    found.extend(facts::of_hosts(&measured, limits));
    found.extend(process_pauses::fact(&measured.pauses, false, measured.result.seconds));
    found.extend(fault.as_ref().map(|(worker, error)| facts::fault(*worker, error)));
    found.extend(after.fault.as_ref().map(facts::unanswered));
    let is_cut_short = measured.ended_early && fault.is_some();
    // A worker that failed after the time was over is not an error of a measured operation.
    let late = fault.filter(|_| measured.result.errors() == 0).map(|(_, error)| error.into());
    let interrupted = measured.interrupted;
    found.extend(interrupted.then(caveats::interrupted));
    let mut caveats = target.command.caveats(found);
    caveats::without_nothing(&mut caveats, interrupted);
    caveats.extend(target.command.caveats(report.no_room.as_ref().map(facts::no_room)));
    let no_room = report.no_room.map(LabError::from);
    let fault = no_room.or(late).or(after.fault);
    Ok(DbMeasured { result: measured.result, interrupted, is_cut_short, caveats, fault })
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
    let search = Some(watch.interrupt);
    let mut taken = Taken::take(target, &one, most.max(1), false, search)?;
    taken.pool.hurry_when(watch.interrupt.flag());
    let began = UtcTime::now();
    let mut found = search::find(taken.pool.as_mut(), &plan, watch)?;
    let machine_after = taken.sampler.mark()?;
    taken.pool.stop()?;
    let report = taken.report();
    let first = report.fault.as_ref().map(|(_, error)| error).or(report.no_room.as_ref());
    if let (Some(error), true) = (first, found.search.curve.is_empty()) {
        return Err(error.clone().into());
    }
    let after = taken.ask(false);
    let Taken { pool, sampler, machine, before, .. } = &taken;
    found.search.system = sampler.points_between(machine, &machine_after);
    let (ios, bytes) = found.logical;
    let totals = machine_after.since(machine, Logical { ios, bytes });
    let physical = totals.physical;
    let mut found_facts = facts::of_target(target, load, None);
    found_facts.extend(caveats::steal(&totals.cpu));
    found_facts.extend(facts::devices(target, physical.as_ref()));
    found_facts.extend(process_pauses::fact(&found.pauses, false, found.search.measured_seconds));
    found_facts.extend(caveats::starved(&found));
    found_facts.extend(facts::losses(&pool.losses()));
    if let (Some(after), true) = (&after.counts, pool.losses().is_empty()) {
        let counted = database_result::counted(&pool.transactions(), before, after);
        found_facts.extend(facts::counts(&taken.own(counted)));
    }
    found_facts.extend(facts::of_search(target, load, &found, report.refused.as_ref()));
    found_facts.extend(report.fault.map(|(worker, error)| facts::fault(worker, &error)));
    found_facts.extend(after.fault.as_ref().map(facts::unanswered));
    let no_room = report.no_room.as_ref();
    let by_user = found.interrupted && no_room.is_none();
    found_facts.extend(by_user.then(caveats::interrupted));
    found_facts.extend(no_room.map(facts::no_room));
    let mut caveats = target.command.caveats(found_facts);
    caveats::without_nothing(&mut caveats, found.interrupted);
    let (cycles, no_room) = (after.cycles, report.no_room.map(LabError::from));
    let fault = no_room.or(after.fault);
    let searched = Searched { outcome: found, physical, began: Some(began.to_string()), caveats };
    Ok(DbSearched { searched, cycles, fault })
}
