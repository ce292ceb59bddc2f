//! `iogauge run`: runs one workload as given. Job files are handled by `job_file.rs`.

use super::invocation::{self, Invocation};
use super::job_file;
use super::steps::{self, Wanted};
use super::via_file;
use crate::args::{LoadArgs, RunArgs};
use crate::exit::{Exit, Usage};
use crate::job_source;
use crate::screen;
use iogauge_fio::job_out;
use iogauge_lab::session;
use iogauge_lab::target::{FileOrigin, PartKind};
use iogauge_lab::{Interrupt, Rig};
use iogauge_model::plan::{Job, LONGEST_NS};
use iogauge_model::{Load, Step};

const RUNTIME_NS: u64 = 10_000_000_000;
const RAMP_NS: u64 = 1_000_000_000;

/// Runs the command.
///
/// # Errors
/// Wrong usage, a refused target, or a fault while measuring.
pub fn run(args: &RunArgs, interrupt: Interrupt) -> anyhow::Result<Exit> {
    if let Some(path) = job_source::named(&args.target.target) {
        if let Some(fio) = &args.via {
            return via_file::run(args, path, fio, interrupt);
        }
        return job_file::run(args, path, interrupt);
    }
    if args.lenient {
        let text = "--lenient is for job files; hint: use a TARGET that ends in .fio";
        return Err(Usage(text.to_owned()).into());
    }
    let typed = jobs(args)?;
    invocation::refuse_search(&typed)?;
    if typed.iter().skip(1).any(|job| job.stonewall) {
        let text = "--job: stonewall waits for jobs that have ended, and those of --job run together; \
                    hint: use a job file";
        return Err(Usage(text.to_owned()).into());
    }
    if args.runtime == Some(0) {
        return Err(Usage("--runtime=0 measures nothing; hint: use 10s".to_owned()).into());
    }
    check_steady_state(args, &typed)?;
    let (target, output) = (&args.target, &args.output);
    if args.print_fio {
        let opened = invocation::open(target, &typed, None)?;
        return print_fio(&opened.rig, &step(args, &typed, &opened.loads));
    }
    let mut opened = invocation::open(target, &typed, args.via.as_ref())?;
    opened.rig.sample_every(args.sampling.every);
    let target = &invocation::removing(target, &typed);
    let mut invocation = Invocation::on("run", target, output, false, interrupt, opened)?;
    invocation.trace = args.trace.mode;
    let step = step(args, &typed, &invocation.loads).with_own_times();
    steps::run(
        args,
        invocation,
        &step.label,
        &[Wanted { step: &step, regions: &[], sums_up: false }],
    )
}

/// Refuses jobs that look for different steady states, and a run that may never end.
fn check_steady_state(args: &RunArgs, typed: &[LoadArgs]) -> Result<(), Usage> {
    let mut sought = typed.iter().map(|load| &load.steady_state);
    let Some(first) = sought.next() else { return Ok(()) };
    if sought.any(|other| other != first) {
        let text = "--steadystate: the jobs run together and end together; hint: use the same steadystate options \
                    for all of them";
        return Err(Usage(text.to_owned()));
    }
    if first.window_ns == 0 {
        return Ok(());
    }
    let ends = |load: &LoadArgs| load.number_ios.is_some() || load.io_size.is_some();
    if args.runtime.is_none() && !typed.iter().all(ends) {
        let text = "--steadystate_duration: the run also needs an end if the steady state is not attained; \
                    hint: use --runtime=10m, too";
        return Err(Usage(text.to_owned()));
    }
    Ok(())
}

/// Prints a step as a fio job file. What a job file cannot express is reported on stderr.
fn print_fio(rig: &Rig, step: &Step) -> anyhow::Result<Exit> {
    let parts = rig.target().map_or(&[][..], |target| &target.parts);
    let files = session::file_parts(rig.parts());
    let file =
        job_out::job_file(step, &files).map_err(|error| Usage(format!("--print-fio: {error}")))?;
    screen::data(&file.text)?;
    for line in &file.differs {
        screen::warning(line);
    }
    for part in parts.iter().filter(|part| part.kind == PartKind::File(FileOrigin::ToMake)) {
        let path = part.path.display();
        screen::warning(&format!(
            "{path} is not there yet, and iogauge would not know again what fio makes \
             there; hint: run iogauge prepare {} first",
            rig.text()
        ));
    }
    Ok(Exit::Done)
}

/// Returns the jobs as typed: the options themselves, or each `--job` on top of them.
fn jobs(args: &RunArgs) -> anyhow::Result<Vec<LoadArgs>> {
    if args.jobs.is_empty() {
        return Ok(vec![args.load.clone()]);
    }
    args.jobs
        .iter()
        .map(|text| {
            if text.trim().is_empty() {
                let right = "hint: use --job \"rw=write bs=128k\"";
                return Err(Usage(format!("--job is empty; {right}")).into());
            }
            args.load
                .with_job(text)
                .map_err(|error| Usage(format!("--job \"{text}\": {error}")).into())
        })
        .collect()
}

fn step(args: &RunArgs, typed: &[LoadArgs], loads: &[Load]) -> Step {
    let counted = loads.iter().any(Load::is_counted);
    let (mut jobs, mut words) = (Vec::new(), Vec::new());
    for (typed, load) in typed.iter().zip(loads) {
        let label = load.label();
        words.push(typed.name.as_ref().map_or(label.clone(), |name| format!("{name}: {label}")));
        jobs.push(Job { name: typed.name.clone().unwrap_or(label), load: load.clone() });
    }
    let label = words.join(" + ");
    Step {
        label,
        jobs,
        ramp_ns: args.ramp_time.unwrap_or(if counted { 0 } else { RAMP_NS }),
        runtime_ns: args.runtime.unwrap_or(if counted { LONGEST_NS } else { RUNTIME_NS }),
    }
}
