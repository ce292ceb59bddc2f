//! `iogauge crosscheck`: checks whether fio measures the same.

use super::invocation::{self, Invocation};
use super::record::Outcome;
use crate::args::CrosscheckArgs;
use crate::exit::{Exit, Usage};
use crate::job_source;
use iogauge_lab::compare::crosscheck::{self, CrosscheckPlan};
use iogauge_lab::fio::FioBinary;
use iogauge_lab::measure::Watch;
use iogauge_lab::session::{self, via};
use iogauge_lab::{Interrupt, caveats};
use iogauge_model::Step;
use iogauge_model::caveat::Command;
use iogauge_model::result::{Agreement, CROSSCHECK_FORMAT, CrosscheckDocument};
use iogauge_report::terminal;

/// Runs the command.
///
/// # Errors
/// Wrong usage, no such fio, a refused target, or a fault while measuring.
pub fn run(args: &CrosscheckArgs, interrupt: Interrupt) -> anyhow::Result<Exit> {
    let refuse = |text: &str| Err(Usage(text.to_owned()).into());
    job_source::refuse(&args.target.target)?;
    if args.load.has("number_ios") || args.load.has("io_size") {
        return refuse("crosscheck measures for a time: --number_ios and --io_size belong to run");
    }
    if args.runtime == 0 || args.tolerance <= 0.0 {
        return refuse("--runtime and --tolerance have to be above 0; hint: use 5s and 5%");
    }
    let typed = std::slice::from_ref(&args.load);
    invocation::refuse_search(typed)?;
    invocation::refuse_of_run(typed)?;
    let mut opened = invocation::open(&args.target, typed, Some(&args.via))?;
    opened.rig.set_command(Command::Crosscheck);
    let Some(fio) = opened.rig.via().cloned() else {
        return refuse("crosscheck needs fio; hint: use --via fio=BINARY");
    };
    let plan = CrosscheckPlan {
        step: Step::single(opened.loads[0].clone(), args.ramp_time, args.runtime),
        rounds: args.rounds,
        tolerance: args.tolerance / 100.0,
    };
    let (target, output) = (&invocation::removing(&args.target, typed), &args.output);
    let mut invocation = Invocation::on("crosscheck", target, output, false, interrupt, opened)?;
    let measured = measure(&mut invocation, &fio, &plan).map(|document| {
        let exit = exit(&document);
        Outcome { document, instead: None, exit }
    });
    invocation.end(measured, terminal::crosscheck_brief, terminal::crosscheck)
}

fn measure(
    invocation: &mut Invocation,
    fio: &FioBinary,
    plan: &CrosscheckPlan,
) -> anyhow::Result<CrosscheckDocument> {
    let load = plan.step.jobs[0].load.clone();
    invocation.begin(&format!("{} against {}", plan.step.label, fio.version()))?;
    let mut found = std::mem::take(&mut invocation.caveats);
    let Invocation { rig, record, interrupt, .. } = &mut *invocation;
    let done = crosscheck::measure(
        rig,
        fio,
        plan,
        &mut Watch { observer: &mut record.screen, interrupt },
    )?;
    found.extend(done.caveats.iter().cloned());
    invocation.record.tell_nothing(&found);
    let figures = done.compare(plan.tolerance);
    // `via` in the head names fio. Only half of the measurement used its clock.
    invocation.rig.go_alone();
    let environment = session::environment(&invocation.rig);
    let mut head = invocation.head(CROSSCHECK_FORMAT, load.into());
    head.via = Some(via::describe(fio));
    Ok(CrosscheckDocument {
        head,
        verdict: crosscheck::verdict(&figures),
        tolerance: plan.tolerance,
        rounds: done.whole_rounds(),
        round_seconds: plan.step.runtime_ns as f64 / 1e9,
        figures,
        sides: done.sides,
        steps: done.steps,
        interrupted: done.interrupted,
        caveats: caveats::distinct(found),
        environment,
    })
}

fn exit(document: &CrosscheckDocument) -> Exit {
    if document.interrupted {
        Exit::Interrupted
    } else if document.steps.iter().any(|step| step.errors() > 0 || step.is_empty()) {
        Exit::IoErrors
    } else if document.verdict == Agreement::Differ {
        Exit::Differs
    } else {
        Exit::Done
    }
}
