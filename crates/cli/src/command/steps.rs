//! Measures steps one after the other, as one run.

use super::invocation::Invocation;
use super::kept_limits::{self, KeptLimits};
use super::record::Outcome;
use crate::args::RunArgs;
use crate::exit::Exit;
use crate::screen;
use iogauge_fio::json_out;
use iogauge_lab::measure::Watch;
use iogauge_lab::session;
use iogauge_lab::session::files::RunFiles;
use iogauge_lab::session::made_files::MadeFiles;
use iogauge_lab::session::trace::Beside;
use iogauge_lab::{Region, caveats};
use iogauge_model::Step;
use iogauge_model::result::{RUN_FORMAT, RunDocument, Workload};
use iogauge_report::terminal;

/// Number of logs that are named.
const MOST_NAMED: usize = 8;

/// A step to measure.
#[derive(Debug)]
pub struct Wanted<'a> {
    pub step: &'a Step,
    /// The region of each job. Jobs after the last entry use the whole target.
    pub regions: &'a [Region],
    /// True if its jobs are reported as one.
    pub sums_up: bool,
}

/// Measures steps until the last one or an interrupt, then prints and keeps the result.
///
/// # Errors
/// A fault while measuring or printing; the run is then in the history as failed.
pub fn run(
    args: &RunArgs,
    mut invocation: Invocation,
    summary: &str,
    wanted: &[Wanted<'_>],
) -> anyhow::Result<Exit> {
    let loads = wanted.iter().flat_map(|wanted| &wanted.step.jobs).map(|job| &job.load);
    let limits = KeptLimits::of(args, loads)?;
    invocation.rig.check_limits(limits.all())?;
    invocation.share = args.hosts.share;
    invocation.check_share()?;
    let measured =
        measure(&mut invocation, summary, wanted, &limits).and_then(|(document, exit)| {
            Ok(Outcome { instead: fio_json(args, &document)?, document, exit })
        });
    invocation.end(measured, terminal::run_brief, terminal::run)
}

/// Returns what `--output-format` puts on stdout instead of the text.
fn fio_json(args: &RunArgs, document: &RunDocument) -> anyhow::Result<Option<String>> {
    let Some(detail) = args.output_format.detail() else { return Ok(None) };
    let fio = json_out::fio_document(document, detail)?;
    Ok(Some(screen::json(&fio)?))
}

fn measure(
    invocation: &mut Invocation,
    summary: &str,
    wanted: &[Wanted<'_>],
    limits: &KeptLimits,
) -> anyhow::Result<(RunDocument, Exit)> {
    let steps = wanted.iter().map(|wanted| (wanted.step.clone(), wanted.regions.to_vec()));
    let mut files = RunFiles::check(&invocation.rig, &steps.collect::<Vec<_>>())?;
    invocation.begin(summary)?;
    if let Some(Wanted { step, regions, .. }) = wanted.first() {
        invocation.share_out(&Region::of_jobs(step, regions))?;
    }
    let measured = measure_all(invocation, summary, wanted, &mut files, limits);
    // Also if a step failed: what its workers did until then is kept.
    let complete = measured.as_ref().is_ok_and(|(document, _)| !document.interrupted);
    let made = files.commit(complete);
    if !invocation.record.output.quiet {
        tell(&made);
    }
    made.wrong.iter().for_each(|line| screen::warning(line));
    let (document, exit) = measured?;
    let exit = if exit == Exit::Done && !made.wrong.is_empty() { Exit::Fault } else { exit };
    Ok((document, exit))
}

/// Lists the files that were written. Of many logs, it counts the rest.
fn tell(made: &MadeFiles) {
    for state in &made.states {
        screen::tell(&format!("verify state {}", state.display()));
    }
    for log in made.logs.iter().take(MOST_NAMED) {
        screen::tell(&format!("log {}", log.display()));
    }
    if let Some(more) = made.logs.len().checked_sub(MOST_NAMED).filter(|more| *more > 0) {
        screen::tell(&format!("{more} more logs"));
    }
}

fn measure_all(
    invocation: &mut Invocation,
    summary: &str,
    wanted: &[Wanted<'_>],
    files: &mut RunFiles,
    limits: &KeptLimits,
) -> anyhow::Result<(RunDocument, Exit)> {
    let mut found = std::mem::take(&mut invocation.caveats);
    let mut steps = Vec::new();
    let (mut interrupted, mut failed) = (false, false);
    for (index, Wanted { step, regions, sums_up }) in wanted.iter().enumerate() {
        let Invocation { rig, record, interrupt, tracing, .. } = &mut *invocation;
        let mut observer = Beside::new(&mut record.screen, tracing.as_mut());
        let mut watch = Watch { observer: &mut observer, interrupt };
        let mut measured =
            session::run_with_files(rig, step, regions, files.of_step(index), &mut watch)?;
        files.saved(std::mem::take(&mut measured.saved_states));
        found.extend(session::step_caveats(rig, step, regions, &measured));
        if let Some(tracing) = tracing {
            found.extend(rig.caveats(tracing.of_step(&mut measured.result)));
        }
        if *sums_up {
            measured.result.jobs.clear();
        }
        found.extend(rig.caveats(limits.judge(&mut measured)));
        invocation.record.screen.keep(&step.label, &measured.result);
        steps.push(measured.result);
        interrupted = measured.interrupted;
        failed |= measured.failed_before > 0;
        if interrupted {
            break;
        }
    }
    invocation.record.tell_nothing(&found);
    let exit = if steps.iter().any(|step| step.corrupted() > 0) {
        // Takes precedence: the user knows about the interrupt, but not about this.
        Exit::IoErrors
    } else if interrupted {
        Exit::Interrupted
    } else if failed || steps.iter().any(|step| step.errors() > 0 || step.is_empty()) {
        Exit::IoErrors
    } else {
        kept_limits::exit(&steps)
    };
    let document = RunDocument {
        head: invocation.head(RUN_FORMAT, workload(summary, wanted)),
        steps,
        interrupted,
        caveats: caveats::distinct(found),
        environment: session::environment(&invocation.rig),
    };
    Ok((document, exit))
}

/// Returns the workload for the document.
fn workload(summary: &str, wanted: &[Wanted<'_>]) -> Workload {
    match wanted {
        [Wanted { step, .. }] => match step.jobs.as_slice() {
            [job] if job.name == job.load.label() => job.load.clone().into(),
            jobs => Workload::Jobs { jobs: jobs.to_vec() },
        },
        wanted => Workload::Steps {
            label: summary.to_owned(),
            steps: wanted.iter().map(|wanted| wanted.step.clone()).collect(),
        },
    }
}
