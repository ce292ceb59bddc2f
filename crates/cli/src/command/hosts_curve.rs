//! `iogauge hosts-curve`: the capacity of 1, 2, 4 and more of several hosts.

use super::find;
use super::invocation::{self, Invocation, Opened};
use super::suite::ActiveSuite;
use super::suite_resume::{self, Earlier};
use crate::args::{FindArgs, HostsCurveArgs, OutputArgs, ResumeArgs, ResumeRef, Share, TargetArgs};
use crate::exit::{Exit, Usage};
use crate::job_source;
use iogauge_lab::Interrupt;
use iogauge_lab::search::SearchPlan;
use iogauge_lab::suite::{HostsCurve, Site, Suite, content_word};
use iogauge_model::Load;
use iogauge_model::caveat::Command;
use iogauge_model::result::SuiteAsked;
use iogauge_report::settings::Reason;
use std::collections::BTreeMap;

/// Runs the command.
///
/// # Errors
/// Wrong usage, one host, a refused target, or a fault while measuring.
pub fn run(args: &HostsCurveArgs, interrupt: Interrupt) -> anyhow::Result<Exit> {
    let HostsCurveArgs { find, earlier: ResumeArgs { resume } } = args;
    if let Some(setting) = find.setting {
        return Err(Usage(setting.refusal(Reason::Hosts, &find.target.target).to_string()).into());
    }
    let mut plan = find::plan(find)?;
    job_source::refuse(&find.target.target)?;
    let typed = std::slice::from_ref(&find.load);
    invocation::refuse_of_run(typed)?;
    let Opened { mut rig, loads, facts } =
        invocation::open(&find.target, typed, find.via.as_ref())?;
    rig.check_several_hosts("hosts-curve")?;
    if plan.limits.is_empty() {
        plan.limits.push(rig.usual_limit());
    }
    rig.check_limits(&plan.limits)?;
    rig.sample_every(find.sampling.every);
    rig.set_command(Command::Find);
    let load = Load { iodepth: 1, ..loads[0].clone() };
    let asked = asked(find, &load, &plan, rig.hosts())?;
    let earlier =
        resume.as_ref().map(|run| earlier(&find.output, &find.target, &asked, run)).transpose()?;
    let suite = HostsCurve::new(load.clone(), plan, rig.hosts());
    let site = Site::of(&rig, load.engine);
    let plan = suite.plan(&site)?;
    let target = invocation::removing(&find.target, typed);
    let opened = Opened { rig, loads, facts };
    let mut invocation =
        Invocation::on("suite", &target, &find.output, find.explain, interrupt, opened)?;
    invocation.trace = find.trace.mode;
    invocation.share = find.hosts.share;
    ActiveSuite { suite: &suite, site, plan, asked }.run(invocation, earlier)
}

/// Returns the search as requested. A run is resumed only with the same one.
fn asked(
    args: &FindArgs,
    load: &Load,
    plan: &SearchPlan,
    hosts: usize,
) -> anyhow::Result<SuiteAsked> {
    let limits: Vec<String> =
        plan.limits.iter().map(|limit| limit.to_string().replace(' ', "")).collect();
    // The other options, by which a resumed run detects that they differ.
    let load = Load { seed: 0, ..load.clone() };
    let rest = (&load, plan.max_depth, plan.precision, plan.max_starvation, plan.open_loop);
    let rest = content_word(&serde_json::to_string(&rest)?);
    let mut options = BTreeMap::from([
        ("rw".to_owned(), load.rw.to_string()),
        ("bs".to_owned(), load.block.to_string()),
        ("limit".to_owned(), limits.join(",")),
        ("budget".to_owned(), format!("{}s", plan.budget_ns as f64 / 1e9)),
        (SuiteAsked::HOSTS.to_owned(), hosts.to_string()),
        (SuiteAsked::CONTENT.to_owned(), rest),
    ]);
    if plan.open_loop.is_some() {
        options.insert("open-loop".to_owned(), String::new());
    }
    if args.hosts.share == Share::Solo {
        options.insert("share".to_owned(), "solo".to_owned());
    }
    Ok(SuiteAsked { name: SuiteAsked::HOSTS_CURVE.to_owned(), options })
}

/// Finds the run to resume, which must have the same options.
///
/// # Errors
/// There is none, or it has other options.
pub(super) fn earlier(
    output: &OutputArgs,
    target: &TargetArgs,
    asked: &SuiteAsked,
    run: &ResumeRef,
) -> anyhow::Result<Earlier> {
    let mut shown = asked.clone();
    shown.options.remove(SuiteAsked::CONTENT);
    let earlier = suite_resume::find(output, target, &shown, run)?;
    if earlier.asked != *asked {
        let run = &earlier.run.run;
        let file = asked.options.get("file");
        let file = file.map_or_else(String::new, |file| format!(" or another content of {file}"));
        let text = format!(
            "--resume: run {run} was begun with other options{file}; hint: use those of that run"
        );
        return Err(Usage(text).into());
    }
    Ok(earlier)
}
