//! Facts about what a database test measured.

use super::target::{DbLoad, DbTarget};
use crate::caveats;
use crate::error::LabError;
use crate::search::SearchOutcome;
use iogauge_db::DbError;
use iogauge_db::pool::Mode;
use iogauge_io::machine::Memory;
use iogauge_io::targets::Roots;
use iogauge_model::caveat::{DatabaseFact, Fact};
use iogauge_model::result::{
    Answer, DatabaseCounts, DatabaseResult, Physical, StepResult, StoppedBy,
};
use std::sync::atomic::Ordering;

/// A database has to be this many times the memory for caches not to hold most of it.
const MEMORIES: u64 = 2;
/// A share of reads that a cache answered is a fact from here on, in percent.
const HIT_PERCENT: f64 = 1.0;

/// A database of so many bytes may be in the memory of this machine.
#[must_use]
pub fn of_size(data_bytes: u64) -> Option<Fact> {
    let memory_bytes = Memory::read(&Roots::real())?.total_bytes;
    let wanted_bytes = MEMORIES * memory_bytes;
    let small = DatabaseFact::Small { data_bytes, memory_bytes, wanted_bytes };
    (data_bytes < wanted_bytes).then(|| small.into())
}

/// Facts about a database that show before it is used.
pub(super) fn of_target(target: &DbTarget, load: &DbLoad) -> Vec<Fact> {
    let mut facts: Vec<Fact> = Vec::new();
    if load.mode.writes()
        && let Some(why) = &target.about.may_lose
    {
        facts.push(DatabaseFact::MayLose { why: why.to_string() }.into());
    }
    // The previous run lost transactions, and nobody can look for them any more.
    let transactions = target.lost.load(Ordering::Relaxed);
    facts.extend((transactions > 0).then(|| DatabaseFact::Lost { transactions }.into()));
    // Reads around every cache have none in the way.
    if load.mode.writes() {
        facts.extend(of_size(target.size.data_bytes));
    }
    facts
}

/// Facts about a measured step.
pub(super) fn of_step(target: &DbTarget, load: &DbLoad, step: &StepResult) -> Vec<Fact> {
    let mut facts = of_target(target, load);
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
    // Where nothing is known of them, nothing is lacking.
    if load.mode.writes() && database.drain.is_none() && step.physical.is_some() {
        facts.push(DatabaseFact::NotDrained.into());
    }
    facts
}

/// Devices of which nothing is known, and why.
pub(super) fn devices(target: &DbTarget, physical: Option<&Physical>) -> Option<Fact> {
    if physical.is_some() {
        return None;
    }
    let hidden = target.database.paths().map_or(true, |paths| paths.is_empty());
    Some(DatabaseFact::DevicesUnknown { hidden }.into())
}

/// Reads that the database's own cache answered.
fn hits(database: &DatabaseResult) -> Option<Fact> {
    let percent = database.cache_hit_percent.filter(|percent| *percent >= HIT_PERCENT)?;
    Some(DatabaseFact::CacheHits { percent }.into())
}

/// A database that counted otherwise than iogauge.
pub(super) fn counts(counted: &DatabaseCounts) -> Option<Fact> {
    let both = [
        (counted.updates, counted.updates_made, "updates"),
        (counted.commits, counted.commits_made, "commits"),
    ];
    let both = both.into_iter().filter_map(|(theirs, ours, what)| Some((theirs?, ours, what)));
    let differ: Vec<_> = both.filter(|(theirs, ours, _)| theirs != ours).collect();
    (!differ.is_empty()).then(|| DatabaseFact::Counts(differ).into())
}

/// A worker that failed.
pub(super) fn fault(worker: u32, error: &DbError) -> Fact {
    DatabaseFact::WorkerFailed { worker, error: error.to_string() }.into()
}

/// A run that ended before its time, so that a disk keeps what stays free.
pub(super) fn no_room(error: &DbError) -> Fact {
    DatabaseFact::NoRoom { error: error.to_string() }.into()
}

/// A database that did not answer, or could not be drained, when a run was over.
pub(super) fn unanswered(error: &LabError) -> Fact {
    DatabaseFact::Unanswered { error: error.to_string() }.into()
}

/// A rung of a ladder that could not be measured behind others that were.
#[must_use]
pub fn of_rung(processes: u32, error: &LabError) -> Fact {
    DatabaseFact::RungFailed { processes, error: error.to_string() }.into()
}

/// Facts about what a search found. `refused` is why there were no more processes to be had.
pub(super) fn of_search(
    target: &DbTarget,
    load: &DbLoad,
    found: &SearchOutcome,
    refused: Option<&DbError>,
) -> Vec<Fact> {
    let (queue_depth, met) = (found.answer.queue_depth, found.answer.met);
    let answer = found.curve.iter().find(|point| point.queue_depth == queue_depth);
    let mut facts: Vec<Fact> =
        answer.into_iter().flat_map(|point| caveats::of_answer(point, met)).collect();
    if load.hang_ns > 0 {
        // Processes that pause are not in the database all the time.
        facts.retain(|fact| !matches!(fact, Fact::Figure(figure) if figure.is_queue_depth()));
    }
    facts.extend(caveats::nothing_found(found));
    facts.extend(caveats::shifts(&found.shifts));
    facts.extend(found.drift.as_ref().map(caveats::drift));
    let stopped_by = found.answer.stopped_by;
    // Where a limit ended the search, more would have brought nothing.
    let refused = refused.filter(|_| !stopped_by.is_limit());
    let error = refused.map(ToString::to_string);
    facts.extend(error.map(|error| DatabaseFact::NoMoreProcesses { error }.into()));
    if refused.is_none() || stopped_by != StoppedBy::MaxDepth {
        facts.extend(cut_short(target, load, &found.answer));
    }
    facts
}

/// A search that ended before a limit did.
fn cut_short(target: &DbTarget, load: &DbLoad, answer: &Answer) -> Option<Fact> {
    if answer.stopped_by == StoppedBy::MaxDepth && load.mode.writes() {
        let globals = target.globals.len();
        let url = target.url.typed();
        let of_globals = answer.queue_depth as usize >= globals;
        return of_globals.then(|| DatabaseFact::NoMoreGlobals { globals, url }.into());
    }
    let answer = Some(answer).filter(|answer| !answer.is_empty())?;
    caveats::cut_short(answer)
}
