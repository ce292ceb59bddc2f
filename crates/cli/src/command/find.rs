//! `iogauge find`: finds the capacity under a limit.

use super::invocation::{self, Invocation};
use super::{job_file, search, setting, via_file};
use crate::args::{FindArgs, LoadArgs, SearchArgs};
use crate::exit::{Exit, Usage};
use crate::job_source;
use iogauge_lab::fio::FioError;
use iogauge_lab::search::SearchPlan;
use iogauge_lab::{Interrupt, LabError};
use iogauge_model::Limit;
use iogauge_model::caveat::Command;
use iogauge_model::guide::Guide;
use iogauge_model::limit::tightest;
use iogauge_model::load::ArrivalProcess;

/// Shortest useful search.
const SHORTEST_BUDGET_NS: u64 = 1_000_000_000;

/// Largest queue depth that is tried by default.
const MOST_DEPTH: u32 = 16_384;

/// Runs the command.
///
/// # Errors
/// Wrong usage, a refused target, or a fault while measuring.
pub fn run(args: &FindArgs, interrupt: Interrupt) -> anyhow::Result<Exit> {
    let args = &setting::filled(args)?;
    let plan = plan(args)?;
    if let Some(path) = job_source::named(&args.target.target) {
        return match &args.via {
            Some(fio) => via_file::find(args, &plan, path, fio, interrupt),
            None => job_file::find(args, &plan, path, interrupt),
        };
    }
    let (target, output) = (&args.target, &args.output);
    let typed = std::slice::from_ref(&args.load);
    invocation::refuse_of_run(typed)?;
    let mut opened = invocation::open(target, typed, args.via.as_ref())?;
    setting::check_hosts(args, opened.rig.hosts())?;
    opened.rig.sample_every(args.sampling.every);
    opened.rig.set_command(Command::Find);
    let target = &invocation::removing(target, typed);
    let mut invocation = Invocation::on("find", target, output, args.explain, interrupt, opened)?;
    invocation.trace = args.trace.mode;
    invocation.share = args.hosts.share;
    invocation.setting = args.setting;
    search::run_on(invocation, &plan)
}

/// Returns how to search.
///
/// # Errors
/// Wrong usage.
pub(super) fn plan(args: &FindArgs) -> anyhow::Result<SearchPlan> {
    if args.search.open_loop && args.via.is_some() {
        return Err(Usage(FioError::OpenLoop.to_string()).into());
    }
    if args.load.has("iodepth") {
        let text = "--iodepth: find chooses the queue depth; hint: use --max-depth to bound it, or iogauge run";
        return Err(Usage(text.to_owned()).into());
    }
    search_plan(&args.search, &args.load, args.budget)
}

/// Returns how to search for the capacity of a load in a time.
///
/// # Errors
/// Wrong usage.
pub(super) fn search_plan(
    search: &SearchArgs,
    load: &LoadArgs,
    budget_ns: u64,
) -> anyhow::Result<SearchPlan> {
    let refuse = |text: &str| Err(Usage(text.to_owned()).into());
    let of_run =
        ["rate_iops", "rate", "number_ios", "io_size", "thinktime", "startdelay", "verify"];
    if let Some(option) = of_run.iter().find(|option| load.has(option)) {
        let text = format!("--{option}: find sets the load itself; hint: use iogauge run");
        return refuse(&text);
    }
    if load.has("rate_process") && !search.open_loop {
        return refuse(
            "--rate_process has no effect without --open-loop; hint: use --open-loop, too",
        );
    }
    check_budget(budget_ns)?;
    Ok(SearchPlan {
        limits: limits(load, &search.limits, search.guide)?,
        max_depth: search.max_depth.unwrap_or(MOST_DEPTH),
        budget_ns,
        precision: search.precision / 100.0,
        max_starvation: search.max_starvation / 100.0,
        open_loop: search.open_loop.then_some(match load.has("rate_process") {
            true => load.rate_process,
            false => ArrivalProcess::Poisson,
        }),
    })
}

/// Checks the budget of a search.
///
/// # Errors
/// It is too short.
pub(super) fn check_budget(budget_ns: u64) -> Result<(), Usage> {
    if budget_ns < SHORTEST_BUDGET_NS {
        return Err(Usage("--budget is too short to search in; hint: use 1s or more".to_owned()));
    }
    Ok(())
}

/// Returns the limits from the options and from the guide, checked against the workload. Empty if
/// neither has any.
///
/// # Errors
/// A limit bounds I/Os that the workload does not issue.
pub(super) fn limits(
    load: &LoadArgs,
    typed: &[Limit],
    guide: Option<&'static Guide>,
) -> anyhow::Result<Vec<Limit>> {
    let guided: &[Limit] = guide.map_or(&[], |guide| guide.limits);
    let wanted = load.latency_limit();
    let limits = tightest(typed.iter().chain(guided).copied().chain(wanted));
    let load = load.load(load.plain.engine, &[]).map_err(LabError::from)?;
    for limit in &limits {
        limit.check(&load).map_err(|error| {
            let guide = guide.filter(|_| !typed.contains(limit));
            let of = guide.map_or_else(String::new, |guide| format!("--guide {}: ", guide.name));
            Usage(format!("{of}{error}"))
        })?;
    }
    Ok(limits)
}
