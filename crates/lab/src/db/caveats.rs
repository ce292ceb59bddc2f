//! Doubts about what a database test measured.

use super::target::{DbLoad, DbTarget};
use super::terms::in_database_terms;
use crate::caveats;
use crate::error::LabError;
use crate::search::SearchOutcome;
use iogauge_db::DbError;
use iogauge_db::pool::Mode;
use iogauge_io::machine::Memory;
use iogauge_io::targets::Roots;
use iogauge_model::result::{
    Answer, DatabaseCounts, DatabaseResult, Physical, StepResult, StoppedBy,
};
use iogauge_model::units::Bytes;
use iogauge_model::{Caveat, CaveatCode};
use std::sync::atomic::Ordering;

/// A database has to be this many times the memory for caches not to hold most of it.
const MEMORIES: u64 = 2;
/// A share of reads that a cache answered which is worth a word, in percent.
const HIT_PERCENT: f64 = 1.0;

/// Doubts about a database of so many bytes on this machine.
#[must_use]
pub fn of_size(data_bytes: u64) -> Option<Caveat> {
    let memory_bytes = Memory::read(&Roots::real())?.total_bytes;
    (data_bytes < MEMORIES * memory_bytes).then(|| {
        let share = data_bytes as f64 / memory_bytes.max(1) as f64;
        Caveat::new(
            CaveatCode::SmallerThanCache,
            format!(
                "the database has {}, and this machine {} of memory: caches hold much of it, and the \
                 write daemon finds the same blocks dirty again and again",
                Bytes(data_bytes),
                Bytes(memory_bytes)
            ),
            format!("setup with --size {} or more", Bytes(MEMORIES * memory_bytes)),
        )
        .weighed((1.0 - share).max(0.0))
    })
}

/// Doubts about a database that show before anything is asked of it.
pub(super) fn of_target(target: &DbTarget, load: &DbLoad) -> Vec<Caveat> {
    let mut found = Vec::new();
    if load.mode.writes()
        && let Some(loss) = &target.about.may_lose
    {
        found.push(Caveat::new(
            CaveatCode::VolatileWriteCache,
            format!("commits do not wait for the log: {loss}"),
            "leave out the setting, so that each commit waits",
        ));
    }
    found.extend(lost(target.lost.load(Ordering::Relaxed)));
    // Reads around every cache have none in the way.
    if load.mode.writes() {
        found.extend(of_size(target.size.data_bytes));
    }
    found
}

/// The run before lost transactions, and nobody can look for them any more.
fn lost(transactions: u64) -> Option<Caveat> {
    let noun = if transactions == 1 { "transaction" } else { "transactions" };
    (transactions > 0).then(|| {
        Caveat::of(
            CaveatCode::AcknowledgedLost,
            format!(
                "{transactions} {noun} that the run before had acknowledged were not there when this one \
                 began, and db verify now goes by this one"
            ),
        )
    })
}

/// Doubts about a measured step.
pub(super) fn of_step(target: &DbTarget, load: &DbLoad, step: &StepResult) -> Vec<Caveat> {
    let mut found = of_target(target, load);
    let of_figures = caveats::nothing_in(step, None).into_iter().chain(caveats::of_figures(step));
    found.extend(of_figures.map(own_words));
    found.extend(caveats::steal(&step.cpu));
    let Some(database) = &step.database else { return found };
    if load.mode == Mode::Read && database.reads_direct == Some(true) {
        found.extend(caveats::physical(step.physical.as_ref(), step.bytes(), true));
    }
    found.extend(hits(database));
    found.extend(database.counted.iter().flat_map(counts));
    found.extend(devices(target, step.physical.as_ref()));
    // Where nothing is known of them, nothing is lacking.
    if load.mode.writes() && database.drain.is_none() && step.physical.is_some() {
        found.push(Caveat::of(
            CaveatCode::UnflushedWrites,
            "what the devices did is what they did during the run: blocks that were changed and not \
             written by then are not in it",
        ));
    }
    found
}

/// Devices of which nothing is known, and why.
pub(super) fn devices(target: &DbTarget, physical: Option<&Physical>) -> Option<Caveat> {
    if physical.is_some() {
        return None;
    }
    let hidden = target.database.paths().map_or(true, |paths| paths.is_empty());
    let (why, hint) = if hidden {
        (
            "the database's files are on another machine, or this user may not know where they are",
            "iogauge on the server's own machine, as a user who may know that (PostgreSQL: GRANT \
             pg_read_all_settings)",
        )
    } else {
        ("the kernel tells no device under the database's files", "a file system on a block device")
    };
    Some(Caveat::new(
        CaveatCode::DevicesUnknown,
        format!("what the devices did is not known: {why}"),
        hint,
    ))
}

/// Reads that the database's own cache answered.
fn hits(database: &DatabaseResult) -> Option<Caveat> {
    let percent = database.cache_hit_percent.filter(|percent| *percent >= HIT_PERCENT)?;
    let message = format!("of the blocks read {percent:.1} % were in the cache of the server");
    Some(
        Caveat::new(
            CaveatCode::PageCache,
            message,
            "a larger database, or iogauge on the server's own machine, where it reads the files",
        )
        .weighed(percent / 100.0),
    )
}

/// A database that counted otherwise than iogauge.
pub(super) fn counts(counted: &DatabaseCounts) -> Option<Caveat> {
    let word = |theirs: Option<u64>, ours: u64, what: &str| match theirs {
        Some(theirs) if theirs != ours => {
            Some(format!("{theirs} {what} where iogauge made {ours}"))
        }
        _ => None,
    };
    let differences = [
        word(counted.updates, counted.updates_made, "updates"),
        word(counted.commits, counted.commits_made, "commits"),
    ];
    let differences: Vec<String> = differences.into_iter().flatten().collect();
    (!differences.is_empty()).then(|| {
        Caveat::new(
            CaveatCode::OtherLoad,
            format!("the database counted {}: others work on it", differences.join(" and ")),
            "repeat with nobody else at work on the database",
        )
    })
}

/// A worker that failed.
pub(super) fn fault(worker: u32, error: &DbError) -> Caveat {
    Caveat::new(
        CaveatCode::IoErrors,
        format!("worker {worker} failed and ended the run: {error}"),
        "iogauge db verify tells whether everything that was acknowledged is there",
    )
}

/// A run that ended before its time, so that a disk keeps what stays free.
pub(super) fn no_room(error: &DbError) -> Caveat {
    Caveat::new(
        CaveatCode::Interrupted,
        format!(
            "the run was ended before its time, and holds what was measured until then: {error}"
        ),
        "a disk with more room",
    )
}

/// A database that did not answer, or could not be drained, when a run was over.
pub(super) fn unanswered(error: &LabError) -> Caveat {
    Caveat::new(
        CaveatCode::IoErrors,
        format!("when the run was over, the database did not do what it was asked: {error}"),
        "iogauge db verify tells whether everything that was acknowledged is there",
    )
}

/// A rung of a ladder that could not be measured behind others that were.
#[must_use]
pub fn of_rung(processes: u32, error: &LabError) -> Caveat {
    Caveat::new(
        CaveatCode::IoErrors,
        format!("{processes} processes could not be measured: {error}"),
        "repeat the ladder from there on when that is put right",
    )
}

/// Doubts about what a search found. `refused` is why there were no more processes to be had.
pub(super) fn of_search(
    target: &DbTarget,
    load: &DbLoad,
    found: &SearchOutcome,
    refused: Option<&DbError>,
) -> Vec<Caveat> {
    let (depth, met) = (found.answer.depth, found.answer.met);
    let answer = found.curve.iter().find(|point| point.depth == depth);
    let mut general: Vec<Caveat> =
        answer.into_iter().flat_map(|point| caveats::of_answer(point, met)).collect();
    general.extend(caveats::nothing_found(found));
    general.extend(caveats::shifts(&found.shifts));
    general.extend(found.drift.as_ref().map(caveats::drift));
    general.retain(|doubt| counts_for(load, doubt));
    let mut doubts: Vec<Caveat> = general.into_iter().map(own_words).collect();
    let stopped_by = found.answer.stopped_by;
    // Where a limit ended the search, more would have brought nothing.
    let refused = refused.filter(|_| !stopped_by.is_limit());
    doubts.extend(refused.map(self::refused));
    if refused.is_none() || stopped_by != StoppedBy::MaxDepth {
        doubts.extend(cut_short(target, load, &found.answer));
    }
    doubts
}

/// A server that took no more workers.
fn refused(error: &DbError) -> Caveat {
    Caveat::new(
        CaveatCode::SearchCutShort,
        format!("the database takes no more processes: {error}"),
        "settings of the server that allow more connections",
    )
}

/// Processes that are told to pause are not in the database all the time.
fn counts_for(load: &DbLoad, doubt: &Caveat) -> bool {
    load.hang_ns == 0 || doubt.code != CaveatCode::DepthNotReached
}

/// A doubt about a search, in a database's words.
fn own_words(caveat: Caveat) -> Caveat {
    let (message, hint) = (in_database_terms(&caveat.message), in_database_terms(&caveat.hint));
    Caveat { message, hint, ..caveat }
}

/// A search that ended before a limit did.
fn cut_short(target: &DbTarget, load: &DbLoad, answer: &Answer) -> Option<Caveat> {
    if answer.stopped_by == StoppedBy::MaxDepth && load.mode.writes() {
        let globals = target.globals.len();
        let of_globals = answer.depth as usize >= globals;
        let url = target.url.typed();
        return of_globals.then(|| {
            Caveat::new(
                CaveatCode::SearchCutShort,
                format!(
                    "the search ended at {globals} processes, since each needs a global of its own"
                ),
                format!("iogauge db add-globals {url} --globals {globals}"),
            )
        });
    }
    let answer = Some(answer).filter(|answer| !answer.is_empty())?;
    caveats::cut_short(answer).map(own_words)
}
