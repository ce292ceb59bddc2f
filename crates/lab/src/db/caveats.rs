//! Facts about the results of a database test.

use super::target::DbTarget;
use crate::caveats;
use crate::error::LabError;
use crate::measure::Measured;
use crate::search::SearchOutcome;
use crate::session::{environment_on, hosts, real_clock};
use crate::transactions::DbLoad;
use iogauge_db::DbError;
use iogauge_db::pool::Mode;
use iogauge_io::machine::Memory;
use iogauge_io::targets::Roots;
use iogauge_model::Limit;
use iogauge_model::caveat::{DatabaseFact, Fact, HostFact};
use iogauge_model::result::{DatabaseCounts, DatabaseResult, Physical, StepResult, StoppedBy};
use std::sync::atomic::Ordering;

/// Factor by which a database has to exceed the memory, so that caches do not hold most of it.
const MEMORIES: u64 = 2;
/// Percentage of reads answered by a cache that becomes a caveat.
const HIT_PERCENT: f64 = 1.0;

/// Returns a fact if a database of this size may fit into this machine's memory.
#[must_use]
pub fn of_size(data_bytes: u64) -> Option<Fact> {
    let wanted_bytes = size_beyond_memory()?;
    let memory_bytes = wanted_bytes / MEMORIES;
    let small = DatabaseFact::Small { data_bytes, memory_bytes, wanted_bytes };
    (data_bytes < wanted_bytes).then(|| small.into())
}

/// Returns the least size of a database that this machine's memory cannot hold; `None` if the memory is not known.
#[must_use]
pub fn size_beyond_memory() -> Option<u64> {
    Memory::read(&Roots::real()).map(|memory| MEMORIES * memory.total_bytes)
}

/// Returns the facts about a database. `direct` is true if reads bypass the caches of this machine, and `None` if
/// nothing was read.
pub(super) fn of_target(target: &DbTarget, load: &DbLoad, direct: Option<bool>) -> Vec<Fact> {
    let mut facts: Vec<Fact> = Vec::new();
    if load.mode.writes()
        && let Some(why) = &target.about.may_lose
    {
        facts.push(DatabaseFact::MayLose { why: why.to_string() }.into());
    }
    // The previous run lost transactions that can no longer be looked for.
    let transactions = target.lost.load(Ordering::Relaxed);
    facts.extend((transactions > 0).then(|| DatabaseFact::Lost { transactions }.into()));
    let data_bytes = target.size.data_bytes;
    let small = of_size(data_bytes);
    if load.mode.writes() || direct == Some(false) {
        facts.extend(small);
    } else if small.is_some() {
        facts.push(DatabaseFact::SmallForStorage { data_bytes }.into());
    }
    facts
}

/// Returns the facts about a measured step.
pub(super) fn of_step(target: &DbTarget, load: &DbLoad, step: &StepResult) -> Vec<Fact> {
    let direct = step.database.as_ref().and_then(|database| database.reads_direct);
    let mut facts = of_target(target, load, direct);
    facts.extend(caveats::nothing_in(step, None));
    facts.extend(caveats::of_figures(step));
    facts.extend(caveats::steal(&step.cpu));
    let Some(database) = &step.database else { return facts };
    if load.mode == Mode::Read && database.reads_direct == Some(true) {
        facts.extend(caveats::physical(step.physical.as_ref(), step.bytes(), true));
    }
    facts.extend(hits(database));
    facts.extend(database.counted.iter().flat_map(counts));
    facts.extend(devices(target, step.physical.as_ref()));
    // Without device counters there is nothing to warn about.
    if load.mode.writes() && database.drain.is_none() && step.physical.is_some() {
        facts.push(DatabaseFact::NotDrained.into());
    }
    facts
}

/// Returns the facts about the hosts of a measured step, if there are several.
pub(super) fn of_hosts(measured: &Measured, limits: &[Limit]) -> Vec<Fact> {
    let mut facts: Vec<Fact> = hosts_differ().into_iter().collect();
    facts.extend(caveats::of_hosts(&measured.result.hosts));
    facts.extend(caveats::straggler_of(measured, limits));
    facts.extend(losses(&measured.losses));
    facts
}

/// Returns a fact if the hosts of this run differ.
fn hosts_differ() -> Option<Fact> {
    let others = hosts::led()?.environments();
    let own = environment_on(real_clock());
    caveats::differences(&std::iter::once(own).chain(others).collect::<Vec<_>>(), &[])
}

/// Returns the facts that hosts were lost.
pub(super) fn losses(losses: &[String]) -> Vec<Fact> {
    losses.iter().map(|why| HostFact::Lost(why.clone()).into()).collect()
}

/// Returns a fact, with the reason, if there are no device counters.
pub(super) fn devices(target: &DbTarget, physical: Option<&Physical>) -> Option<Fact> {
    if physical.is_some() {
        return None;
    }
    let hidden = target.database.paths().map_or(true, |paths| paths.is_empty());
    Some(DatabaseFact::DevicesUnknown { hidden }.into())
}

/// Returns a fact if the database's own cache answered reads.
fn hits(database: &DatabaseResult) -> Option<Fact> {
    let percent = database.cache_hit_percent.filter(|percent| *percent >= HIT_PERCENT)?;
    Some(DatabaseFact::CacheHits { percent }.into())
}

/// Returns a fact if the database's counts differ from iogauge's.
pub(super) fn counts(counted: &DatabaseCounts) -> Option<Fact> {
    let both = [
        (counted.updates, counted.updates_made, "updates"),
        (counted.commits, counted.commits_made, "commits"),
    ];
    let both = both.into_iter().filter_map(|(theirs, ours, what)| Some((theirs?, ours, what)));
    let differ: Vec<_> = both.filter(|(theirs, ours, _)| theirs != ours).collect();
    (!differ.is_empty()).then(|| DatabaseFact::Counts(differ).into())
}

/// Returns a fact about a worker that failed.
pub(super) fn fault(worker: u32, error: &DbError) -> Fact {
    DatabaseFact::WorkerFailed { worker, error: error.to_string() }.into()
}

/// Returns a fact about a run that ended early to keep the free-space reserve of a disk.
pub(super) fn no_room(error: &DbError) -> Fact {
    DatabaseFact::NoRoom { error: error.to_string() }.into()
}

/// Returns a fact about a database that did not respond, or could not be drained, after a run.
pub(super) fn unanswered(error: &LabError) -> Fact {
    DatabaseFact::Unanswered { error: error.to_string() }.into()
}

/// Returns a fact about a rung of a ladder that could not be measured after others were.
#[must_use]
pub fn of_rung(processes: u32, error: &LabError) -> Fact {
    DatabaseFact::RungFailed { processes, error: error.to_string() }.into()
}

/// Returns the facts about the result of a search. `refused` is the reason why there were no more
/// processes.
pub(super) fn of_search(
    target: &DbTarget,
    load: &DbLoad,
    found: &SearchOutcome,
    refused: Option<&DbError>,
) -> Vec<Fact> {
    let (queue_depth, met) = (found.search.answer.queue_depth, found.search.answer.met);
    let answer = found.search.curve.iter().find(|point| point.queue_depth == queue_depth);
    let mut facts: Vec<Fact> =
        answer.into_iter().flat_map(|point| caveats::of_answer(point, met)).collect();
    if load.hang_ns > 0 {
        // Processes with a hang time are not always in the database.
        facts.retain(|fact| !matches!(fact, Fact::Figure(figure) if figure.is_queue_depth()));
    }
    facts.extend(answer.iter().flat_map(|point| caveats::of_hosts(&point.hosts)));
    facts.extend(found.straggler.clone().map(|found| HostFact::Straggler(found).into()));
    facts.extend(hosts_differ());
    facts.extend(caveats::nothing_found(found));
    facts.extend(caveats::shifts(&found.search.shifts));
    facts.extend(found.drift.as_ref().map(caveats::drift));
    let stopped_by = found.search.answer.stopped_by;
    // If a limit ended the search, more processes would not have helped.
    let refused = refused.filter(|_| !stopped_by.is_limit());
    let error = refused.map(ToString::to_string);
    facts.extend(error.map(|error| DatabaseFact::NoMoreProcesses { error }.into()));
    if refused.is_none() || stopped_by != StoppedBy::MaxDepth {
        facts.extend(cut_short(target, load, found));
    }
    facts
}

/// Returns a fact if a search ended before a limit was reached.
fn cut_short(target: &DbTarget, load: &DbLoad, found: &SearchOutcome) -> Option<Fact> {
    let answer = &found.search.answer;
    if answer.stopped_by == StoppedBy::MaxDepth && load.mode.writes() {
        let globals = target.globals.len();
        let url = target.url.typed();
        let of_globals = answer.queue_depth as usize >= globals;
        return of_globals.then(|| DatabaseFact::NoMoreGlobals { globals, url }.into());
    }
    let answer = Some(answer).filter(|answer| !answer.is_empty())?;
    caveats::cut_short(answer, found.set_aside)
}
