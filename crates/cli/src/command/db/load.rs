//! The workload for a database, and its limits.

use crate::args::{DbLoadArgs, DbMode, DbSearchArgs};
use crate::command::find::check_budget;
use crate::exit::Usage;
use iogauge_lab::LabError;
use iogauge_lab::db::{DbLoad, Mode};
use iogauge_lab::search::SearchPlan;
use iogauge_lab::session::hosts;
use iogauge_model::Limit;
use iogauge_model::guide::Guide;
use iogauge_model::limit::{Side, tightest};
use std::hash::{BuildHasher, RandomState};

/// Default percentage of reads in a transaction of `--mode io`.
const READ_PERCENT: f64 = 50.0;

/// Returns the workload from the options, with the given number of processes.
///
/// # Errors
/// Options that exclude each other.
pub fn load(args: &DbLoadArgs, processes: u32) -> anyhow::Result<DbLoad> {
    let mode = match (args.mode, args.read_pct) {
        (None, _) => {
            let text = "--mode says what the processes do; hint: use --mode read, write or io";
            return Err(Usage(text.to_owned()).into());
        }
        (Some(DbMode::Read), None) => Mode::Read,
        (Some(DbMode::Write), None) => Mode::Write,
        (Some(DbMode::Io), percent) => {
            let percent = percent.unwrap_or(READ_PERCENT);
            if !(0.0..=100.0).contains(&percent) || percent.fract() != 0.0 {
                let text = "--read-pct must be a whole number between 0 and 100; hint: use 50";
                return Err(Usage(text.to_owned()).into());
            }
            Mode::Io { read_percent: percent as u32 }
        }
        (Some(DbMode::Read | DbMode::Write), Some(_)) => {
            let text = "--read-pct is for --mode io only";
            return Err(Usage(text.to_owned()).into());
        }
    };
    Ok(of_mode(args, mode, processes))
}

/// Returns the workload of readers beside writers.
#[must_use]
pub fn readers_writers(args: &DbLoadArgs, readers: u32, writers: u32) -> DbLoad {
    of_mode(args, Mode::ReadersWriters { writers }, readers + writers)
}

fn of_mode(args: &DbLoadArgs, mode: Mode, processes: u32) -> DbLoad {
    DbLoad {
        mode,
        processes,
        transaction_length: args.transaction_length,
        hang_ns: args.hang.unwrap_or(0),
        // The standard library keys its hasher with randomness from the system.
        seed: args.randseed.unwrap_or_else(|| RandomState::new().hash_one("seed") >> 1),
    }
}

/// Returns the limits from the options and from the guide. A limit without a direction bounds
/// operations and, if the workload writes, commits as well: a fast update says little about a
/// database whose commits are slow. A guide's limit on writes is meant for writes that somebody
/// waits for, so it bounds commits, too.
///
/// # Errors
/// A limit on something that the workload does not do.
pub fn limits(
    typed: &[Limit],
    guide: Option<&'static Guide>,
    load: &DbLoad,
) -> anyhow::Result<Vec<Limit>> {
    let guided: &[Limit] = guide.map_or(&[], |guide| guide.limits);
    let hosts = hosts::number();
    typed.iter().try_for_each(|limit| limit.check_hosts(hosts)).map_err(LabError::from)?;
    let typed = typed.iter().map(|limit| (*limit, true));
    let guided = guided.iter().map(|limit| (*limit, false));
    let mut limits = Vec::new();
    for (limit, is_typed) in typed.chain(guided) {
        let missing = match limit.side {
            Side::Any => false,
            Side::Read => !load.mode.reads(),
            Side::Write | Side::Sync => !load.mode.writes(),
        };
        if missing && is_typed {
            let limit = limit.database_words();
            let text = format!(
                "limit \"{limit}\" bounds operations that mode {} does not do; \
                 hint: use --limit 'p99<=5ms'",
                load.mode.word()
            );
            return Err(Usage(text).into());
        }
        if missing {
            // A guide has limits for all kinds of workloads.
            continue;
        }
        limits.push(limit);
        let bounds_commits = match limit.side {
            Side::Any => load.mode.writes(),
            Side::Write => !is_typed,
            Side::Read | Side::Sync => false,
        };
        if bounds_commits {
            limits.push(Limit { side: Side::Sync, ..limit });
        }
    }
    if let (Some(guide), true) = (guide, limits.is_empty()) {
        let text = format!(
            "--guide {}: it has no limit on what mode {} does; hint: use --limit 'p99<=5ms'",
            guide.name,
            load.mode.word()
        );
        return Err(Usage(text).into());
    }
    Ok(tightest(limits))
}

/// Returns the search plan from the options.
///
/// # Errors
/// An invalid budget, precision or limit.
pub fn plan(args: &DbSearchArgs, budget_ns: u64, load: &DbLoad) -> anyhow::Result<SearchPlan> {
    check_budget(budget_ns)?;
    let usual = [Limit::default()];
    let typed =
        if args.limits.is_empty() && args.guide.is_none() { &usual[..] } else { &args.limits };
    Ok(SearchPlan {
        limits: limits(typed, args.guide, load)?,
        max_depth: args.max_processes,
        budget_ns,
        precision: args.precision / 100.0,
        max_starvation: args.max_starvation / 100.0,
        open_loop: None,
    })
}
