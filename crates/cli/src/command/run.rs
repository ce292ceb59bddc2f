//! `iogauge run`: one load as given.

use super::invocation::Invocation;
use crate::args::{LoadArgs, RunArgs};
use crate::exit::{Exit, Usage};
use iogauge_lab::measure::Watch;
use iogauge_lab::{Interrupt, session};
use iogauge_model::plan::Job;
use iogauge_model::result::{RUN_FORMAT, RunDocument};
use iogauge_model::{Load, Step};
use iogauge_report::terminal;

const RUNTIME_NS: u64 = 10_000_000_000;
const RAMP_NS: u64 = 1_000_000_000;
/// A job whose end is counted ends by itself; this long it may take at most.
const LONGEST_NS: u64 = 7 * 24 * 3600 * 1_000_000_000;

/// Runs the command.
///
/// # Errors
/// Wrong usage, a refused target, or a fault while measuring.
pub fn run(args: &RunArgs, interrupt: Interrupt) -> anyhow::Result<Exit> {
    let typed = jobs(args)?;
    if args.runtime == Some(0) {
        return Err(Usage("--runtime=0 measures nothing; right would be 10s".to_owned()).into());
    }
    let (target, output) = (&args.target, &args.output);
    let mut invocation = Invocation::new("run", target, &typed, output, false, interrupt)?;
    let step = step(args, &invocation);
    match measure(&mut invocation, &step) {
        Ok((document, exit)) => {
            let verdict = terminal::run_brief(&document);
            let text = |page| terminal::run(&document, page);
            invocation.finish(&document, text, &verdict, exit)
        }
        Err(error) => {
            invocation.fail(&error);
            Err(error)
        }
    }
}

/// The jobs as typed: the options themselves, or each `--job` on top of them.
fn jobs(args: &RunArgs) -> anyhow::Result<Vec<LoadArgs>> {
    if args.jobs.is_empty() {
        return Ok(vec![args.load.clone()]);
    }
    args.jobs
        .iter()
        .map(|text| {
            if text.trim().is_empty() {
                let right = "right would be --job \"rw=write bs=128k\"";
                return Err(Usage(format!("--job is empty; {right}")).into());
            }
            args.load
                .with_job(text)
                .map_err(|e| Usage(format!("--job \"{text}\": {}", crate::one_line(&e))).into())
        })
        .collect()
}

fn step(args: &RunArgs, invocation: &Invocation) -> Step {
    let counted = invocation.loads.iter().any(Load::is_counted);
    let jobs: Vec<Job> = invocation
        .loads
        .iter()
        .map(|load| Job { name: load.label(), load: load.clone() })
        .collect();
    let label = jobs.iter().map(|job| job.name.as_str()).collect::<Vec<_>>().join(" + ");
    let step = Step {
        label,
        jobs,
        ramp_ns: args.ramp_time.unwrap_or(if counted { 0 } else { RAMP_NS }),
        runtime_ns: args.runtime.unwrap_or(if counted { LONGEST_NS } else { RUNTIME_NS }),
    };
    step.with_start_delays()
}

fn measure(invocation: &mut Invocation, step: &Step) -> anyhow::Result<(RunDocument, Exit)> {
    invocation.begin(&step.label)?;
    let Invocation { rig, screen, interrupt, .. } = invocation;
    let measured = session::run(rig, step, &mut Watch { observer: screen, interrupt })?;
    invocation.screen.keep(&step.label, &measured.result);
    let mut caveats = std::mem::take(&mut invocation.caveats);
    caveats.extend(session::step_caveats(&invocation.rig, step, &measured));
    let exit = if measured.interrupted {
        Exit::Interrupted
    } else if measured.result.errors() > 0 {
        Exit::IoErrors
    } else {
        Exit::Done
    };
    let load = match step.jobs.as_slice() {
        [job] => serde_json::to_value(&job.load)?,
        jobs => serde_json::json!({ "jobs": jobs }),
    };
    let document = RunDocument {
        head: invocation.head(RUN_FORMAT, load),
        steps: vec![measured.result],
        interrupted: measured.interrupted,
        caveats,
        environment: session::environment(&invocation.rig),
    };
    Ok((document, exit))
}
