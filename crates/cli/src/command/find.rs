//! `iogauge find`: finds the capacity under a limit.

use super::invocation::{self, Invocation};
use super::{job_file, search, via_file};
use crate::args::FindArgs;
use crate::exit::{Exit, Usage};
use crate::job_source;
use iogauge_lab::fio::FioError;
use iogauge_lab::search::SearchPlan;
use iogauge_lab::{Interrupt, LabError};
use iogauge_model::Limit;
use iogauge_model::caveat::Command;
use iogauge_model::limit::tightest;
use iogauge_model::load::ArrivalProcess;

/// Shortest useful search.
const SHORTEST_BUDGET_NS: u64 = 1_000_000_000;

/// Runs the command.
///
/// # Errors
/// Wrong usage, a refused target, or a fault while measuring.
pub fn run(args: &FindArgs, interrupt: Interrupt) -> anyhow::Result<Exit> {
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
    opened.rig.sample_every(args.sampling.every);
    opened.rig.set_command(Command::Find);
    let target = &invocation::removing(target, typed);
    let mut invocation = Invocation::on("find", target, output, args.explain, interrupt, opened)?;
    invocation.trace = args.trace.mode;
    invocation.share = args.hosts.share;
    search::run_on(invocation, &plan)
}

/// Returns how to search.
///
/// # Errors
/// Wrong usage.
pub(super) fn plan(args: &FindArgs) -> anyhow::Result<SearchPlan> {
    let refuse = |text: &str| Err(Usage(text.to_owned()).into());
    if args.load.has("iodepth") {
        return refuse(
            "--iodepth: find chooses the queue depth; hint: use --max-depth to bound it, or iogauge run",
        );
    }
    let of_run =
        ["rate_iops", "rate", "number_ios", "io_size", "thinktime", "startdelay", "verify"];
    if let Some(option) = of_run.iter().find(|option| args.load.has(option)) {
        let text = format!("--{option}: find sets the load itself; hint: use iogauge run");
        return refuse(&text);
    }
    if args.load.has("rate_process") && !args.open_loop {
        return refuse(
            "--rate_process has no effect without --open-loop; hint: use --open-loop, too",
        );
    }
    if args.open_loop && args.via.is_some() {
        return refuse(&FioError::OpenLoop.to_string());
    }
    check_budget(args.budget)?;
    Ok(SearchPlan {
        limits: limits(args)?,
        max_depth: args.max_depth,
        budget_ns: args.budget,
        precision: args.precision / 100.0,
        max_starvation: args.max_starvation / 100.0,
        open_loop: args.open_loop.then_some(match args.load.has("rate_process") {
            true => args.load.rate_process,
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
fn limits(args: &FindArgs) -> anyhow::Result<Vec<Limit>> {
    let guided: &[Limit] = args.guide.map_or(&[], |guide| guide.limits);
    let wanted = args.load.latency_limit();
    let limits = tightest(args.limits.iter().chain(guided).copied().chain(wanted));
    let load = args.load.load(args.load.plain.engine, &[]).map_err(LabError::from)?;
    for limit in &limits {
        limit.check(&load).map_err(|error| {
            let guide = args.guide.filter(|_| !args.limits.contains(limit));
            let of = guide.map_or_else(String::new, |guide| format!("--guide {}: ", guide.name));
            Usage(format!("{of}{error}"))
        })?;
    }
    Ok(limits)
}
