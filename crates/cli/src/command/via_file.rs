//! `--via fio` with a job file: what only fio can do, under iogauge's guards, search and history.

use super::find;
use super::invocation::{Invocation, Opened, Outcome};
use super::job_file;
use super::job_source::Here;
use crate::args::{FindArgs, LoadArgs, RunArgs, TargetArgs, ViaArg};
use crate::exit::{Exit, Usage};
use iogauge_io::crew::fio::{FioBinary, ForeignJob};
use iogauge_lab::measure::Watch;
use iogauge_lab::search::SearchPlan;
use iogauge_lab::{Interrupt, Rig, session, via};
use iogauge_model::Load;
use iogauge_model::fio::job::{JobFile, SeenJob};
use iogauge_model::result::{RUN_FORMAT, RunDocument, StepResult};
use iogauge_report::terminal;
use std::path::Path;

/// A job file that the guards let pass.
struct Judged {
    rig: Rig,
    fio: FioBinary,
    jobs: Vec<SeenJob>,
}

/// `iogauge run --via fio FILE.fio`: fio runs the file as it stands.
///
/// # Errors
/// Wrong usage, a refused target, or a fio that does not run it.
pub fn run(
    args: &RunArgs,
    path: &Path,
    fio: &ViaArg,
    interrupt: Interrupt,
) -> anyhow::Result<Exit> {
    job_file::nothing_beside(args)?;
    if args.trace {
        let text = "--trace: a job file that fio runs as it stands has no window that iogauge could \
                    open and close; right would be one without --via fio";
        return Err(Usage(text.to_owned()).into());
    }
    if args.output_format.detail().is_some() {
        let text = "--output-format: fio itself prints its JSON of a job file of its own; right \
                    would be --json";
        return Err(Usage(text.to_owned()).into());
    }
    let Judged { mut rig, fio, jobs } = judge(path, fio, &args.target)?;
    rig.go_via(fio.clone())?;
    let opened = Opened { rig, loads: Vec::new(), caveats: Vec::new() };
    let mut invocation =
        Invocation::on("run", &args.target, &args.output, false, interrupt, opened)?;
    let names: Vec<String> = jobs.iter().map(|job| format!("{}: {}", job.name, job.rw)).collect();
    let measured = measure(&mut invocation, &fio, path, &names.join(", "))
        .map(|(document, exit)| Outcome { document, instead: None, exit });
    invocation.end(measured, terminal::run_brief, terminal::run)
}

fn measure(
    invocation: &mut Invocation,
    fio: &FioBinary,
    path: &Path,
    summary: &str,
) -> anyhow::Result<(RunDocument, Exit)> {
    invocation.begin(summary)?;
    let Invocation { record, interrupt, .. } = &mut *invocation;
    let mut watch = Watch { observer: &mut record.screen, interrupt };
    let (results, interrupted) = via::run_file(fio, path, &mut watch)?;
    let steps: Vec<StepResult> = results.iter().map(|result| result.to_step()).collect();
    let mut caveats = std::mem::take(&mut invocation.caveats);
    for step in &steps {
        invocation.record.screen.keep(&step.label, step);
    }
    let failed: u64 = steps.iter().map(StepResult::errors).sum();
    let ended = results.iter().filter(|result| result.error != 0).count() as u64;
    caveats.extend(iogauge_lab::caveats::errors(failed.max(ended), None, ""));
    if interrupted {
        caveats.push(iogauge_lab::caveats::interrupted());
    }
    let exit = match (interrupted, failed + ended) {
        (true, _) => Exit::Interrupted,
        (false, 0) => Exit::Done,
        (false, _) => Exit::IoErrors,
    };
    let document = RunDocument {
        head: invocation.head(RUN_FORMAT, serde_json::json!({ "label": summary })),
        steps,
        interrupted,
        caveats,
        environment: session::environment(&invocation.rig),
    };
    Ok((document, exit))
}

/// `iogauge find --via fio FILE.fio`: the search decides the depth of the file's one job.
///
/// # Errors
/// Wrong usage, a refused target, or a fio that does not run it.
pub fn find(
    args: &FindArgs,
    plan: &SearchPlan,
    path: &Path,
    fio: &ViaArg,
    interrupt: Interrupt,
) -> anyhow::Result<Exit> {
    if args.load != LoadArgs::default() {
        let text = "a job file says itself what runs; right would be its options in the file \
                    instead of on the command line";
        return Err(Usage(text.to_owned()).into());
    }
    let Judged { mut rig, fio, jobs } = judge(path, fio, &args.target)?;
    let [job] = jobs.as_slice() else {
        let text = format!(
            "{}: a search has the storage for itself; right would be a file of one job, not {}",
            path.display(),
            jobs.len()
        );
        return Err(Usage(text).into());
    };
    let text = JobFile::with_includes_found(path, &Here).map_err(|e| Usage(e.to_string()))?;
    rig.sample_every(args.sampling.every);
    rig.go_via_job(fio, ForeignJob { text, synchronous: job.synchronous })?;
    // The rest of the load is in the file, for fio alone to read.
    let rw = job.rw.split(':').next().and_then(|word| word.parse().ok());
    let load = Load { rw: rw.unwrap_or(Load::default().rw), ..Load::default() };
    let opened = Opened { rig, loads: vec![load], caveats: Vec::new() };
    let mut invocation =
        Invocation::on("find", &args.target, &args.output, args.explain, interrupt, opened)?;
    invocation.wants_trace = args.trace;
    invocation.words = Some(format!("{} through {} ({})", job.rw, job.engine, job.name));
    find::run_on(invocation, plan)
}

/// Reads the file and lets the guards judge what it touches, as far as that can be told.
fn judge(path: &Path, fio: &ViaArg, target: &TargetArgs) -> anyhow::Result<Judged> {
    let sight = JobFile::sight(path, &Here).map_err(|error| Usage(error.to_string()))?;
    let fio = fio.find()?;
    let name = path.display().to_string();
    let rig = match &sight.groups {
        Ok(groups) => {
            let wanted = job_file::wanted(groups, target);
            let rig = Rig::open_each(&name, &wanted)?;
            keeps_marks(&rig, target)?;
            rig
        }
        Err(why) => {
            if !target.destroy_data && !sight.jobs.iter().all(|job| job.harmless) {
                let text = format!(
                    "{name}: {why}, so that what fio would write to cannot be judged; \
                     --destroy-data lets it"
                );
                return Err(crate::exit::Refused(text).into());
            }
            Rig::open_each(&name, &[])?
        }
    };
    Ok(Judged { rig, fio, jobs: sight.jobs })
}

/// fio would write over the mark by which iogauge knows its own files again.
fn keeps_marks(rig: &Rig, target: &TargetArgs) -> anyhow::Result<()> {
    let parts = rig.target().map_or(&[][..], |target| &target.parts);
    match parts.iter().find(|part| part.made_by_us() && part.may_write()) {
        Some(part) if !target.overwrite => {
            let text = format!(
                "{}: iogauge made this file, and the job would write over its mark; right would be \
                 another file, or --overwrite",
                part.path.display()
            );
            Err(crate::exit::Refused(text).into())
        }
        _ => Ok(()),
    }
}
