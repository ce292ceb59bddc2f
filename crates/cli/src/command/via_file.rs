//! `--via fio` with a job file: fio does the I/O, under iogauge's guards, search and history.

use super::invocation::{Invocation, Opened};
use super::job_file;
use super::kept_limits::{self, KeptLimits};
use super::record::Outcome;
use super::search;
use crate::args::{FindArgs, RunArgs, TargetArgs, ViaArg};
use crate::exit::{Exit, Refused, Usage};
use crate::job_source::Here;
use crate::screen;
use iogauge_fio::job::{Fault, FioJobs};
use iogauge_lab::Interrupt;
use iogauge_lab::fio::{FioBinary, ForeignJob};
use iogauge_lab::measure::Watch;
use iogauge_lab::search::SearchPlan;
use iogauge_lab::session::via::{JudgedFile, RanFile};
use iogauge_lab::session::{self, via};
use iogauge_lab::suite::limit_values;
use iogauge_model::Load;
use iogauge_model::caveat::Command;
use iogauge_model::result::{RUN_FORMAT, RunDocument, StepResult, Workload};
use iogauge_report::terminal;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Number of jobs that a summary names; the rest are counted.
const MOST_NAMED: usize = 16;

/// `iogauge run --via fio FILE.fio`: lets fio run the file's jobs.
///
/// # Errors
/// Wrong usage, a refused target, or a fio that cannot run the file.
pub fn run(
    args: &RunArgs,
    path: &Path,
    fio: &ViaArg,
    interrupt: Interrupt,
) -> anyhow::Result<Exit> {
    job_file::nothing_beside(args)?;
    if args.trace.mode.is_some() {
        let text = "--trace: a job file that fio runs has no window that iogauge could \
                    open and close; hint: use one without --via fio";
        return Err(Usage(text.to_owned()).into());
    }
    if args.output_format.detail().is_some() {
        let text =
            "--output-format: fio itself prints the JSON of such a job file; hint: use --json";
        return Err(Usage(text.to_owned()).into());
    }
    let (JudgedFile { mut rig, jobs, paths }, fio) = judge(path, fio, &args.target)?;
    via::check_footprint(&jobs)?;
    let limits = KeptLimits::of(args, jobs.jobs().iter().map(|job| &job.shape))?;
    rig.check_limits(limits.all())?;
    rig.go_via(fio.clone())?;
    rig.set_command(Command::RunFile);
    let opened = Opened { rig, loads: Vec::new(), facts: Vec::new() };
    let mut invocation =
        Invocation::on("run", &args.target, &args.output, false, interrupt, opened)?;
    invocation.unlink = unlinked(&jobs);
    let measured = measure(&mut invocation, &fio, &jobs, &paths, &limits)
        .map(|(document, exit)| Outcome { document, instead: None, exit });
    invocation.end(measured, terminal::run_brief, terminal::run)
}

fn measure(
    invocation: &mut Invocation,
    fio: &FioBinary,
    jobs: &FioJobs,
    paths: &[PathBuf],
    limits: &KeptLimits,
) -> anyhow::Result<(RunDocument, Exit)> {
    let summary = summary(jobs);
    invocation.begin(&summary)?;
    let loads = via::loads(&invocation.rig, jobs, paths)?;
    invocation.caveats.extend(session::caveats_before(&invocation.rig, &loads)?);
    let Invocation { record, interrupt, rig, .. } = &mut *invocation;
    let mut watch = Watch { observer: &mut record.screen, interrupt };
    let (text, handed) = via::text_for_fio(rig, jobs, paths)?;
    let ran = via::run_file(rig, fio, text, handed, &mut watch)?;
    let RanFile { results, interrupted, lost, logs, bad_logs, paused } = ran;
    for log in logs {
        screen::tell(&format!("log {}", log.display()));
    }
    for bad in &bad_logs {
        screen::warning(bad);
    }
    let mut steps: Vec<StepResult> = results.iter().map(|result| result.to_step()).collect();
    steps.iter_mut().for_each(|step| step.limits = limit_values(step, limits.all()));
    let mut caveats = std::mem::take(&mut invocation.caveats);
    for step in &steps {
        invocation.record.screen.keep(&step.label, step);
    }
    let failed: u64 = steps.iter().map(StepResult::errors).sum();
    let ended = results.iter().filter(|result| result.error != 0).count() as u64;
    let errors = iogauge_lab::caveats::errors(failed.max(ended), None, "", false);
    let lost_fio = lost.as_deref().map(via::lost);
    caveats.extend(invocation.rig.caveats(errors.into_iter().chain(lost_fio)));
    caveats.extend(via::caveats(&invocation.rig, &steps, paused));
    if interrupted {
        caveats.push(session::ended_early(&invocation.rig));
    }
    invocation.record.tell_nothing(&caveats);
    let exit = match (interrupted, failed + ended + u64::from(lost.is_some())) {
        (true, _) => Exit::Interrupted,
        (false, 0) if steps.iter().any(StepResult::is_empty) => Exit::IoErrors,
        (false, 0) if !bad_logs.is_empty() => Exit::Fault,
        (false, 0) => kept_limits::exit(&steps),
        (false, _) => Exit::IoErrors,
    };
    let document = RunDocument {
        head: invocation.head(RUN_FORMAT, Workload::label(summary)),
        steps,
        interrupted,
        caveats,
        environment: session::environment(&invocation.rig),
    };
    Ok((document, exit))
}

/// Lists each job with its direction.
fn summary(jobs: &FioJobs) -> String {
    let named = jobs.jobs().iter().take(MOST_NAMED);
    let mut names: Vec<String> = named.map(|job| format!("{}: {}", job.name, job.rw)).collect();
    if let Some(more) = jobs.jobs().len().checked_sub(MOST_NAMED).filter(|more| *more > 0) {
        names.push(format!("{more} more"));
    }
    names.join(", ")
}

/// `iogauge find --via fio FILE.fio`: searches over the queue depth of the file's only job.
///
/// # Errors
/// Wrong usage, a refused target, or a fio that cannot run the file.
pub fn find(
    args: &FindArgs,
    plan: &SearchPlan,
    path: &Path,
    fio: &ViaArg,
    interrupt: Interrupt,
) -> anyhow::Result<Exit> {
    job_file::nothing_beside_search(args)?;
    let (JudgedFile { mut rig, jobs, paths }, fio) = judge(path, fio, &args.target)?;
    let unlink = unlinked(&jobs);
    let [job] = jobs.jobs() else {
        return Err(job_file::one_job(path, jobs.jobs().len()).into());
    };
    let job = job.clone();
    rig.sample_every(args.sampling.every);
    rig.go_via_job(fio, ForeignJob { jobs, paths, synchronous: job.synchronous })?;
    // Only fio reads the rest of the workload from the file.
    let load = Load { iodepth: 1, numjobs: 1, ..job.shape.clone() };
    rig.set_command(Command::FindFile);
    let opened = Opened { rig, loads: vec![load], facts: Vec::new() };
    let mut invocation =
        Invocation::on("find", &args.target, &args.output, args.explain, interrupt, opened)?;
    invocation.trace = args.trace.mode;
    invocation.unlink = unlink;
    invocation.words = Some(format!("{} through {} ({})", job.rw, job.engine, job.name));
    search::run_on(invocation, plan)
}

/// Reads the file and lets the guards judge the files that it uses.
fn judge(
    path: &Path,
    fio: &ViaArg,
    target: &TargetArgs,
) -> anyhow::Result<(JudgedFile, FioBinary)> {
    let jobs = FioJobs::read(path, &Here).map_err(|error| match error.fault {
        Fault::RefusedVia { .. } => anyhow::Error::from(Refused(error.to_string())),
        _ => Usage(error.to_string()).into(),
    })?;
    let fio = fio.find()?;
    let name = path.display().to_string();
    Ok((via::judge(&name, jobs, &target.permit.permitted())?, fio))
}

/// Returns the files that jobs ask to unlink at the end.
fn unlinked(jobs: &FioJobs) -> Vec<PathBuf> {
    let clones = jobs.jobs().iter().flat_map(|job| &job.clones).filter(|clone| clone.unlink);
    let files: BTreeSet<PathBuf> = clones.flat_map(|clone| clone.files.clone()).collect();
    files.into_iter().collect()
}
