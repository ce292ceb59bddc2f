//! The search for the capacity with a prepared invocation.

use super::invocation::Invocation;
use super::record::Outcome;
use super::setting;
use crate::exit::Exit;
use crate::screen;
use iogauge_lab::Region;
use iogauge_lab::measure::Watch;
use iogauge_lab::search::SearchPlan;
use iogauge_lab::session::trace::Beside;
use iogauge_lab::session::{self, Searched};
use iogauge_model::CaveatCode;
use iogauge_model::load::{Arrivals, Load};
use iogauge_model::result::{Answer, CurvePoint, FIND_FORMAT, FindDocument, StoppedBy, Workload};
use iogauge_report::terminal;

/// Searches with the first workload of an invocation, on its whole target.
///
/// # Errors
/// A fault while measuring.
pub(super) fn run_on(mut invocation: Invocation, plan: &SearchPlan) -> anyhow::Result<Exit> {
    let mut plan = plan.clone();
    if plan.limits.is_empty() {
        plan.limits.push(invocation.rig.usual_limit());
    }
    invocation.rig.check_limits(&plan.limits)?;
    invocation.check_share()?;
    let mut refused = None;
    let measured = search(&mut invocation, &plan).map(|document| {
        let mut exit = exit(&document);
        match invocation.setting.map(|setting| setting.of_find(&document)) {
            Some(Ok(text)) => invocation.record.after = Some(text),
            Some(Err(refusal)) => {
                if exit == Exit::Done {
                    exit = Exit::Undecided;
                }
                refused =
                    Some(refusal.with_options(setting::typed_options(document.head.target.name())));
            }
            None => {}
        }
        Outcome { document, instead: None, exit }
    });
    let exit = invocation.end(measured, terminal::find_brief, terminal::find)?;
    if let Some(refusal) = refused {
        screen::error(&refusal.to_string());
    }
    Ok(exit)
}

fn search(invocation: &mut Invocation, plan: &SearchPlan) -> anyhow::Result<FindDocument> {
    let load = invocation.loads[0].clone();
    let limits: Vec<String> = plan.limits.iter().map(ToString::to_string).collect();
    let words = invocation.words.clone();
    let words = words.unwrap_or_else(|| format!("{} {}", load.rw, load.block));
    invocation.begin(&format!("{words} under {}", limits.join(", ")))?;
    invocation.share_out(&[(plan.deepest(&load), Region::All)])?;
    let Invocation { rig, record, interrupt, tracing, .. } = &mut *invocation;
    let mut observer = Beside::new(&mut record.screen, tracing.as_mut());
    let mut searched =
        session::find(rig, &load, plan, &mut Watch { observer: &mut observer, interrupt })?;
    let mut caveats = std::mem::take(&mut invocation.caveats);
    caveats.append(&mut searched.caveats);
    let answer = &searched.outcome.search.answer;
    let (trace, facts) = match &mut invocation.tracing {
        Some(tracing) => tracing.of_answer(answer),
        None => (None, Vec::new()),
    };
    caveats.extend(invocation.rig.caveats(facts));
    let arrivals = answer.rate_iops.zip(plan.open_loop);
    let load = Load {
        arrivals: arrivals.map(|(rate_iops, process)| Arrivals { rate_iops, process, only: None }),
        ..load
    };
    searched.outcome.search.trace = trace;
    invocation.record.tell_nothing(&caveats);
    let what = match &invocation.words {
        Some(words) => Workload::label(words),
        None => load.into(),
    };
    let head = invocation.head(FIND_FORMAT, what);
    let environment = session::environment(&invocation.rig);
    Ok(Searched { caveats, ..searched }.document(head, environment))
}

/// Returns the exit code of a search.
pub(super) fn exit(document: &FindDocument) -> Exit {
    let failed = document.caveats.iter().any(|caveat| caveat.code == CaveatCode::IoErrors);
    match exit_of(&document.search.answer, &document.search.curve) {
        Exit::Interrupted => Exit::Interrupted,
        _ if failed => Exit::IoErrors,
        exit => exit,
    }
}

/// Returns the exit code of a search with this answer and curve.
pub(super) fn exit_of(answer: &Answer, curve: &[CurvePoint]) -> Exit {
    match answer.stopped_by {
        StoppedBy::Interrupted => Exit::Interrupted,
        _ if answer.is_empty() || curve.iter().any(|point| point.errors > 0) => Exit::IoErrors,
        StoppedBy::Ended => Exit::IoErrors,
        StoppedBy::Unattainable => Exit::Unattainable,
        StoppedBy::Undecided | StoppedBy::Starved => Exit::Undecided,
        _ if !answer.met => Exit::Undecided,
        _ => Exit::Done,
    }
}
