//! A measuring invocation: prepares the target, measures the workload, gathers caveats.

pub mod check;
pub mod doctor;
pub mod files;
mod fio_pool;
mod host_number;
pub mod hosts;
pub mod job_files;
pub mod logs;
pub mod made_files;
mod open;
pub mod prepare;
pub mod profile;
pub(crate) mod records;
mod region;
pub(crate) mod reserve;
pub mod rig;
pub mod sharing;
pub mod solo;
pub mod trace;
pub mod verify;
pub mod verify_states;
pub mod via;
mod via_logs;

pub use fio_pool::file_parts;
pub use host_number::HostsUsed;
pub use region::Region;
pub use rig::Rig;

use crate::caveats::{self, TargetOnHost};
use crate::error::LabError;
use crate::history::UtcTime;
use crate::measure::{self, Measured, Watch, process_pauses};
use crate::search::{self, SearchOutcome, SearchPlan};
use crate::session::files::StepFiles;
use crate::session::hosts::{Examined, Examining, Hosts, Starting};
use crate::session::prepare::{Prepared, prepare, prepare_own};
use crate::session::records::{Records, Verified};
use iogauge_io::clock::Clock;
use iogauge_io::engine;
use iogauge_io::machine::{self, DeviceQueues, Roots, Sampler};
use iogauge_io::pool::fio::FioError;
use iogauge_io::pool::{Footprint, Room};
use iogauge_io::targets::{FileOrigin, PartKind, file_system_facts};
use iogauge_io::worker::WorkerError;
use iogauge_io::worker::control::IoFault;
use iogauge_model::caveat::{Fact, FigureFact, HostFact, NothingWhy, TargetFact};
use iogauge_model::load::{Arrivals, EngineKind, Load};
use iogauge_model::result::{
    CurvePoint, Environment, FileSystemFacts, FindDocument, Head, Physical, VerifyEnd,
};
use iogauge_model::{Caveat, CaveatCode, Step};

/// Maximum number of threads that wait for arrivals.
const MOST_THREADS: u32 = 512;
/// Ratio of rewrite to first-write speed, or its inverse, above which the difference becomes a
/// caveat.
const FIRST_WRITE_DIFFERS: f64 = 1.3;

/// Prepares the target for these workloads, each on its region, and returns the caveats that are
/// known before a run. Does nothing to a target that no workload uses.
///
/// # Errors
/// As [`prepare()`], or a part cannot be inspected.
pub fn ready_on(
    rig: &mut Rig,
    jobs: &[(Load, Region)],
    watch: &mut Watch<'_>,
) -> Result<(Option<Prepared>, Vec<Caveat>), LabError> {
    if rig.foreign().is_some() || (rig.via().is_some() && jobs.is_empty()) {
        // A user's job file uses its files as they are.
        let files = rig.target().is_some_and(|target| !target.parts.is_empty());
        let prepared = files.then(|| prepare_own(rig, watch)).transpose()?;
        let jobs = rig.foreign().map(|job| via::loads(rig, &job.jobs, &job.paths)).transpose()?;
        return Ok((prepared, caveats_before(rig, &jobs.unwrap_or_default())?));
    }
    if !rig.is_simulated() {
        // Checked before blocks are written for a step that cannot run.
        let loads = jobs.iter().map(|(load, _)| load);
        let through_fio = rig.via().is_some();
        let footprint =
            if through_fio { Footprint::through_fio(loads) } else { Footprint::of(loads) };
        footprint.check(&Room::here()).map_err(WorkerError::from)?;
    }
    check_there_is_data(rig, jobs)?;
    let touched = jobs.iter().any(|(load, _)| load.engine != EngineKind::Null);
    let mut prepared = None;
    let mut caveats = Vec::new();
    if touched && !rig.is_simulated() {
        let done = prepare(rig, watch)?;
        if jobs.iter().any(|(load, _)| load.writes()) {
            caveats.extend(rig.caveats(first_write(&done)));
        }
        prepared = Some(done);
    }
    caveats.extend(caveats_before(rig, jobs)?);
    Ok((prepared, caveats::distinct(caveats)))
}

/// Refuses to verify a file that does not exist yet, and would be filled with other data first.
fn check_there_is_data(rig: &Rig, jobs: &[(Load, Region)]) -> Result<(), LabError> {
    let verifies = jobs.iter().any(|(load, _)| load.verify.is_some());
    if !verifies || jobs.iter().any(|(load, _)| load.writes()) {
        return Ok(());
    }
    let mut parts = rig.target().map_or(&[][..], |target| &target.parts).iter();
    match parts.find(|part| part.kind == PartKind::File(FileOrigin::ToMake)) {
        None => Ok(()),
        Some(part) => Err(LabError::Mismatch(format!(
            "verify: {} does not exist yet, and so has nothing to verify; hint: write it with the same options first",
            part.path.display()
        ))),
    }
}

/// Returns the caveats that are known before workloads run, each on its region.
///
/// # Errors
/// A part cannot be inspected.
pub fn caveats_before(rig: &Rig, jobs: &[(Load, Region)]) -> Result<Vec<Caveat>, LabError> {
    let own = caveats_of_target(rig, jobs)?;
    let Some(hosts) = hosts::led() else { return Ok(own) };
    let keeps_devices_fresh = rig.keeps_devices_fresh();
    let examining = Examining { jobs: jobs.to_vec(), command: rig.command(), keeps_devices_fresh };
    let others = hosts.examine(&examining)?;
    let here = Examined { caveats: own, target: target_on_host(rig) };
    let all = std::iter::once(here).chain(others);
    let (found, targets): (Vec<_>, Vec<_>) =
        all.map(|examined| (examined.caveats, examined.target)).unzip();
    let names = hosts.names();
    let mut merged = caveats::merged(&names, &found);
    let environments = std::iter::once(environment(rig)).chain(hosts.environments());
    let named = environments.zip(names).map(|(all, host)| Environment { host, ..all });
    let environments: Vec<Environment> = named.collect();
    merged.extend(rig.caveats(caveats::differences(&environments, &targets)));
    Ok(caveats::distinct(merged))
}

/// Returns the target as it is compared with that of other hosts.
pub(crate) fn target_on_host(rig: &Rig) -> TargetOnHost {
    TargetOnHost { file_systems: file_systems(rig), size_bytes: rig.size_bytes() }
}

/// Returns the caveats that this host finds before workloads run, each on its region.
///
/// # Errors
/// A part cannot be inspected.
pub(crate) fn caveats_of_target(
    rig: &Rig,
    jobs: &[(Load, Region)],
) -> Result<Vec<Caveat>, LabError> {
    let mut facts = Vec::new();
    let mut seen: Vec<(Load, &Region)> = Vec::new();
    for (load, region) in jobs {
        // Clones differ only in their seed, and inspecting a file takes time.
        let unseeded = (Load { seed: 0, ..load.clone() }, region);
        if seen.contains(&unseeded) {
            continue;
        }
        facts.extend(rig.facts_on(load, region)?);
        seen.push(unseeded);
    }
    Ok(caveats::distinct(rig.caveats(facts)))
}

/// Returns the file system of each part that is a file.
pub(crate) fn file_systems(rig: &Rig) -> Vec<FileSystemFacts> {
    let files = rig.parts().iter().filter(|part| part.kind != PartKind::BlockDevice);
    files.filter_map(|part| file_system_facts(&part.path, &Roots::real())).collect()
}

fn first_write(prepared: &Prepared) -> Option<Fact> {
    let ratio = prepared.rewrite_ratio()?;
    let differs = !(1.0 / FIRST_WRITE_DIFFERS..=FIRST_WRITE_DIFFERS).contains(&ratio);
    differs.then(|| TargetFact::Rewrite { ratio }.into())
}

/// Runs one step on a prepared target, with a region for each of its jobs. Jobs after the last
/// region use the whole target.
///
/// # Errors
/// A worker cannot be started, or its engine fails.
pub fn run_on(
    rig: &Rig,
    step: &Step,
    regions: &[Region],
    watch: &mut Watch<'_>,
) -> Result<Measured, LabError> {
    run_with_files(rig, step, regions, StepFiles::default(), watch)
}

/// As [`run_on`], with other files.
///
/// # Errors
/// As [`run_on`].
pub fn run_with_files(
    rig: &Rig,
    step: &Step,
    regions: &[Region],
    files: StepFiles,
    watch: &mut Watch<'_>,
) -> Result<Measured, LabError> {
    let (jobs, max_depth) = (Region::of_jobs(step, regions), step.queue_depth());
    let starting = Starting::new(jobs, max_depth, rig.sharing().to_vec()).of_step(files.step);
    let mut sampler = sampler(rig)?;
    // fio verifies its writes itself.
    let records = match rig.via() {
        Some(_) => None,
        None => Some(Records::of(rig, &hosts::own_share(&starting, &rig.parts_of_hosts()), files)?),
    };
    if step.ramp_ns == 0 {
        watch.observer.window_begins();
    }
    let mut pool = match &records {
        None => rig.pool_of(step, regions)?,
        Some(records) => records.start(rig, &starting)?,
    };
    pool.hurry_when(watch.interrupt.flag());
    let mut measured = reserve::watched(rig, watch, |watch| {
        measure::step(pool.as_mut(), step, sampler.as_mut(), watch)
    })?;
    measured.fault = pool.fault().map(|(job, fault)| {
        let region = &starting.jobs()[job as usize].1;
        IoFault { part: region.number_of(fault.part), ..fault }
    });
    let skipped = if measured.interrupted || !measured.losses.is_empty() {
        Some(VerifyEnd::Interrupted)
    } else {
        pool.found_fatal().then_some(VerifyEnd::Fatal)
    };
    // Ends all writing and closes the files first.
    drop(pool);
    let Some(records) = records else { return Ok(measured) };
    if let Some(verified) = records.verify(rig, skipped, watch)? {
        let Verified { result, states } = verified;
        measured.interrupted |= result.end == VerifyEnd::Interrupted;
        measured.result.verify = Some(result);
        measured.saved_states = states;
    }
    if measured.losses.is_empty() {
        measured.losses.extend(hosts::led().and_then(|hosts| hosts.lost()));
    }
    Ok(measured)
}

/// A search, with what the machine did during it.
#[derive(Debug)]
pub struct Searched {
    /// The result, with the machine over the whole search; without samples for a simulated target.
    pub outcome: SearchOutcome,
    /// Totals of the devices over the whole search.
    pub physical: Option<Physical>,
    /// Start time, RFC 3339 in UTC; `None` for a simulated target, which has its own time.
    pub began: Option<String>,
    pub caveats: Vec<Caveat>,
}

impl Searched {
    /// The document of the search.
    #[must_use]
    pub fn document(self, head: Head, environment: Environment) -> FindDocument {
        let Self { outcome, physical, began, caveats } = self;
        FindDocument { head, search: outcome.search, physical, began, caveats, environment }
    }
}

/// Searches for the capacity of a prepared target.
///
/// # Errors
/// A worker cannot be started, or its engine fails.
pub fn find(
    rig: &Rig,
    load: &Load,
    plan: &SearchPlan,
    watch: &mut Watch<'_>,
) -> Result<Searched, LabError> {
    rig.check_limits(&plan.limits)?;
    if plan.open_loop.is_some() && rig.via().is_some() {
        return Err(WorkerError::from(FioError::OpenLoop).into());
    }
    let mut sampler = sampler(rig)?;
    let before = sampler.as_mut().map(Sampler::mark).transpose()?;
    let began = sampler.is_some().then(|| UtcTime::now().to_string());
    // The search sets the rate itself.
    let arrivals = plan.open_loop.map(|process| Arrivals { rate_iops: 1.0, process, only: None });
    let load = Load { iodepth: 1, arrivals, ..load.clone() };
    let plan = &in_reach(plan, &load, rig);
    let mut pool = rig.pool(&load, plan.max_depth)?;
    pool.hurry_when(watch.interrupt.flag());
    if !rig.is_simulated() {
        let queues = DeviceQueues::under(&rig.devices()?, &Roots::real());
        queues.into_iter().for_each(|queues| pool.watch_queues(queues));
    }
    let cpu_before = pool.cpu();
    let mut found = reserve::watched(rig, watch, |watch| match plan.open_loop {
        None => search::find(pool.as_mut(), plan, watch),
        Some(_) => search::find_open(pool.as_mut(), plan, watch),
    })?;
    // Read before the workers end: the kernel then forgets how long a thread waited.
    let after = sampler.as_mut().map(Sampler::mark).transpose()?;
    pool.stop()?;
    let mut facts: Vec<Fact> = caveats::fallbacks(pool.fallbacks()).collect();
    facts.extend(caveats::left_behind(pool.left_behind()));
    facts.extend(losses(rig, &pool.losses()));
    let workers = pool.workers();
    let cpu = pool.cpu().zip(cpu_before).map(|(after, before)| after.since(&before));
    let polled_ns = pool.live().polled_ns;
    let fault = pool.fault().map(|(_, fault)| fault);
    let mut physical = None;
    if let (Some(sampler), Some(after), Some(before)) = (&sampler, &after, &before) {
        found.search.system = sampler.points_between(before, after);
        let hosts = answer_of(&found).map_or(&[][..], |point| &point.hosts);
        let logical = measure::logical(found.logical.0, found.logical.1, hosts);
        let totals = after.since(before, logical);
        let direct = engine::is_direct(&load);
        facts.extend(caveats::physical(totals.physical.as_ref(), logical.bytes, direct));
        if load.engine != EngineKind::Null {
            let mut cpu =
                measure::cpu_of(&totals.cpu, cpu, found.search.measured_seconds, found.logical.0);
            cpu.polled_percent = measure::polled_percent(polled_ns, found.search.measured_seconds);
            facts.extend(caveats::machine(&cpu, if hosts.is_empty() { workers } else { 0 }));
        }
        physical = totals.physical;
    }
    facts.extend(of_search(rig, &found, fault.as_ref()));
    let mut caveats = rig.caveats(facts);
    if !caveats.iter().any(|caveat| caveat.code == CaveatCode::NotSteady) {
        caveats.extend(rig.caveats(found.drift.as_ref().map(caveats::drift)));
    }
    if found.interrupted {
        caveats.push(ended_early(rig));
    }
    caveats::without_nothing(&mut caveats, found.interrupted);
    Ok(Searched { outcome: found, physical, began, caveats })
}

/// Returns the facts about the result of a search.
fn of_search(rig: &Rig, found: &SearchOutcome, fault: Option<&IoFault>) -> Vec<Fact> {
    let mut facts = Vec::new();
    facts.extend(process_pauses::fact(
        &found.pauses,
        rig.via().is_some(),
        found.search.measured_seconds,
    ));
    facts.extend(caveats::starved(found));
    facts.extend(caveats::errors(found.errors, fault, &part_path(rig, fault), false));
    let answer = answer_of(found);
    facts.extend(answer.into_iter().flat_map(|p| caveats::of_answer(p, found.search.answer.met)));
    facts.extend(answer.iter().flat_map(|point| caveats::of_hosts(&point.hosts)));
    facts.extend(found.straggler.clone().map(|found| HostFact::Straggler(found).into()));
    facts.extend(caveats::nothing_found(found));
    if !found.search.answer.is_empty() {
        facts.extend(caveats::cut_short(&found.search.answer, found.set_aside));
    }
    facts.extend(caveats::shifts(&found.search.shifts));
    facts
}

/// Returns the point of the answer.
fn answer_of(found: &SearchOutcome) -> Option<&CurvePoint> {
    let (queue_depth, rate_iops) = (found.search.answer.queue_depth, found.search.answer.rate_iops);
    let mut curve = found.search.curve.iter();
    curve.find(|p| p.queue_depth == queue_depth && p.rate_iops == rate_iops)
}

/// Returns the plan with `max_depth` reduced to what is possible. In an open loop with a
/// synchronous engine each outstanding I/O needs a thread, and arrivals are never dense enough for
/// thousands of them. fio, memory, and the number of threads set further limits.
fn in_reach(plan: &SearchPlan, load: &Load, rig: &Rig) -> SearchPlan {
    let mut plan = plan.clone();
    if rig.via().is_some() {
        plan.max_depth = plan.max_depth.min(via::most_depth(rig, load));
    }
    if plan.open_loop.is_some() && load.engine.is_synchronous() {
        plan.max_depth = plan.max_depth.min(MOST_THREADS);
    }
    if !rig.is_simulated() {
        plan.max_depth = Footprint::deepest(load, plan.max_depth, &Room::here());
    }
    plan
}

/// Returns the caveats of a measured step that ran on these regions.
#[must_use]
pub fn step_caveats(
    rig: &Rig,
    step: &Step,
    regions: &[Region],
    measured: &Measured,
) -> Vec<Caveat> {
    let loads: Vec<Load> = step.jobs.iter().map(|job| job.load.clone()).collect();
    let mut facts: Vec<Fact> = caveats::fallbacks(measured.fallbacks.clone()).collect();
    facts.extend(caveats::left_behind(&measured.left_behind));
    facts.extend(caveats::slow_logs(&measured.log_waits, &measured.result, measured.workers));
    if !loads.iter().all(|load| load.engine == EngineKind::Null) {
        facts.extend(caveats::nothing_in(&measured.result, why_nothing(rig, &loads, measured)));
        facts.extend(caveats::of_step(&measured.result, &loads, measured.workers));
    }
    facts.extend(process_pauses::fact(
        &measured.pauses,
        rig.via().is_some(),
        measured.result.seconds,
    ));
    facts.extend(caveats::of_hosts(&measured.result.hosts));
    let fault = measured.fault.as_ref();
    let (before, path) = (measured.failed_before, part_path(rig, fault));
    facts.extend(caveats::errors(before, fault, &path, true));
    facts.extend(caveats::errors(measured.result.errors(), fault, &path, false));
    facts.extend(losses(rig, &measured.losses));
    if let (Some(_), Some(target)) = (rig.via(), rig.target()) {
        facts.extend(via::differences(step, regions, target));
    }
    let mut caveats = rig.caveats(facts);
    if measured.interrupted {
        caveats.push(ended_early(rig));
    }
    caveats::without_nothing(&mut caveats, measured.interrupted);
    caveats
}

/// Returns the facts that fio, or other hosts, were lost.
fn losses(rig: &Rig, losses: &[String]) -> Vec<Fact> {
    let via_fio = rig.via().is_some();
    let fact =
        |why: &String| if via_fio { via::lost(why) } else { HostFact::Lost(why.clone()).into() };
    losses.iter().map(fact).collect()
}

/// Returns why nothing completed in a step, if more is known than its figures show.
fn why_nothing(rig: &Rig, loads: &[Load], measured: &Measured) -> Option<NothingWhy> {
    if measured.failed_before > 0 {
        return Some(NothingWhy::FailedBefore);
    }
    if measured.result.seconds > 0.0 {
        return None;
    }
    if rig.via().is_some() {
        return Some(NothingWhy::NoneReported);
    }
    // No worker came back from its first I/O, so none handed over a window.
    let has_more = !loads.iter().any(Load::ends_by_itself) && measured.pauses.paused.times == 0;
    has_more.then_some(NothingWhy::NoneReturned)
}

/// Returns the caveat of a measurement that ended early: the user ended it, or a disk ran out of
/// room.
#[must_use]
pub fn ended_early(rig: &Rig) -> Caveat {
    let elsewhere = || hosts::led().and_then(Hosts::stopped);
    let reason = rig.stopped_by().map(str::to_owned).or_else(elsewhere);
    Fact::from(FigureFact::Interrupted { reason }).caveat(rig.command())
}

/// Returns the path of the part of a failed I/O, with the name of the host if it is another one.
fn part_path(rig: &Rig, fault: Option<&IoFault>) -> String {
    let part = fault.and_then(|fault| Some((fault, rig.parts().get(fault.part as usize)?)));
    let Some((fault, part)) = part else { return rig.text().to_owned() };
    let name = || hosts::led()?.names().get(fault.host as usize).cloned();
    let name = if fault.host > 0 { name() } else { None };
    match name {
        None => part.path.display().to_string(),
        Some(name) => format!("{} on {name}", part.path_on(fault.host + 1).display()),
    }
}

/// Samples the machine while a real target is measured.
fn sampler(rig: &Rig) -> Result<Option<Sampler>, LabError> {
    if rig.is_simulated() {
        return Ok(None);
    }
    Ok(Some(Sampler::start(&rig.devices()?, rig.cadence())?))
}

/// Returns the environment of the run.
#[must_use]
pub fn environment(rig: &Rig) -> Environment {
    environment_on(match (rig.via(), rig.is_simulated()) {
        (Some(_), _) => "fio",
        (None, true) => "virtual",
        (None, false) => real_clock(),
    })
}

/// Returns the name of the clock that measures real targets.
#[must_use]
pub fn real_clock() -> &'static str {
    Clock::get().name()
}

/// Returns the environment with the name of the measuring clock.
#[must_use]
pub fn environment_on(clock: &str) -> Environment {
    Environment { iogauge: env!("CARGO_PKG_VERSION").to_owned(), ..machine::environment(clock) }
}
