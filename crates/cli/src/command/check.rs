//! `iogauge check`: does a target meet a requirement?

mod baseline;
mod file;
mod outputs;

use self::baseline::Baseline;
use self::file::RequirementsFile;
use self::outputs::Outputs;
use super::invocation::{self, Invocation, Opened};
use super::suite::ActiveSuite;
use super::{find, hosts_curve};
use crate::args::{CheckArgs, TargetArgs};
use crate::exit::{Exit, Usage};
use crate::job_source;
use iogauge_lab::Interrupt;
use iogauge_lab::search::CheckPlan;
use iogauge_lab::session::check::check_in_reach;
use iogauge_lab::suite::{Check, Requirement, Site, Suite, content_word};
use iogauge_model::caveat::Command;
use iogauge_model::load::{ArrivalProcess, EngineKind, Load};
use iogauge_model::result::SuiteAsked;
use iogauge_model::{Limit, RequiredRate};
use std::collections::BTreeMap;

/// Shortest useful check.
const SHORTEST_BUDGET_NS: u64 = 1_000_000_000;
/// Budget if none is given.
const BUDGET_NS: u64 = 60_000_000_000;

/// Runs the command.
///
/// # Errors
/// Wrong usage, a refused target, or a fault while measuring.
pub fn run(args: &CheckArgs, interrupt: Interrupt) -> anyhow::Result<Exit> {
    check_budget(args.budget)?;
    let outputs = || Outputs::check(args);
    match file::named(&args.target.target) {
        Some(path) => {
            let target = file::target(args, path)?;
            let file = RequirementsFile::read(path, args)?;
            let outputs = outputs()?;
            file.open(args, target)?.run(outputs, interrupt)
        }
        None => {
            if let Some(second) = &args.target_of_file {
                let text = format!(
                    "\"{second}\" is one target too many; hint: use several targets as a,b, or a file of \
                     requirements that ends in .toml before the target"
                );
                return Err(Usage(text).into());
            }
            let typed = Typed::of(args)?;
            let outputs = outputs()?;
            typed.open(args)?.run(outputs, interrupt)
        }
    }
}

fn check_budget(budget_ns: Option<u64>) -> Result<(), Usage> {
    if budget_ns.is_some_and(|ns| ns < SHORTEST_BUDGET_NS) {
        return Err(Usage("--budget is too short to check in; hint: use 1s or more".to_owned()));
    }
    Ok(())
}

/// A requirement on the command line.
struct Typed {
    limits: Vec<Limit>,
    required: RequiredRate,
    /// The arrivals to offer; `None` for a closed loop.
    arrivals: Option<ArrivalProcess>,
    baseline: Option<Baseline>,
}

impl Typed {
    fn of(args: &CheckArgs) -> anyhow::Result<Self> {
        let refuse = |text: &str| Err(Usage(text.to_owned()).into());
        let of_run =
            ["rate_iops", "rate", "number_ios", "io_size", "thinktime", "startdelay", "verify"];
        if let Some(option) = of_run.iter().find(|option| args.load.has(option)) {
            let text = format!("--{option}: check sets the load itself; hint: use --require");
            return Err(Usage(text).into());
        }
        if args.require.is_some() && args.baseline.is_some() {
            return refuse("--require: the baseline sets the rate; hint: leave one of them out");
        }
        if args.margin.is_some() && args.baseline.is_none() {
            return refuse(
                "--margin has no effect without --baseline; hint: use --baseline last, too",
            );
        }
        if args.load.has("iodepth") && args.baseline.is_some() {
            return refuse("--iodepth: the baseline sets the queue depth; hint: leave it out");
        }
        if args.closed && args.baseline.is_some() {
            return refuse("--closed: the baseline decides this; hint: leave it out");
        }
        if args.load.has("iodepth") && !args.closed {
            return refuse(
                "--iodepth has no effect without --closed, because the arrivals decide; hint: use --closed, too",
            );
        }
        if args.load.has("rate_process") && args.baseline.is_some() {
            return refuse("--rate_process: the baseline sets the arrivals; hint: leave it out");
        }
        if args.load.has("rate_process") && args.closed {
            return refuse("--rate_process: a closed loop has no arrivals; hint: leave it out");
        }
        invocation::refuse_of_run(std::slice::from_ref(&args.load))?;
        job_source::refuse(&args.target.target)?;
        let mut limits = find::limits(&args.load, &args.limits, args.guide)?;
        let baseline = args.baseline.as_ref().map(|run| Baseline::find(args, run)).transpose()?;
        let (required, arrivals) = match (&baseline, args.require) {
            (Some(baseline), _) => {
                limits = baseline.limits(&limits);
                (baseline.required(), baseline.arrivals)
            }
            (None, Some(required)) => (required, arrivals(args)),
            (None, None) => {
                return refuse("--require is missing; hint: use --require 20k, or --baseline last");
            }
        };
        Ok(Self { limits, required, arrivals, baseline })
    }

    fn open<'a>(self, args: &'a CheckArgs) -> anyhow::Result<Ready<'a>> {
        let typed = std::slice::from_ref(&args.load);
        let mut opened = invocation::open(&args.target, typed, None)?;
        let load = opened.loads[0].clone();
        let plan = CheckPlan {
            required: self.required,
            required_iops: self.required.iops(&load),
            arrivals: self.arrivals,
            queue_depth: match (&self.baseline, self.arrivals) {
                (Some(baseline), None) => baseline.queue_depth,
                (None, None) => load.queue_depth(),
                (_, Some(_)) => args.max_depth,
            },
            limits: self.limits,
            budget_ns: args.budget.unwrap_or(BUDGET_NS),
            max_starvation: args.max_starvation / 100.0,
        };
        if let Some(baseline) = &self.baseline {
            baseline.check_load(&load)?;
        }
        opened.rig.check_limits(&plan.limits)?;
        let plan = check_in_reach(&opened.rig, &load, &plan);
        let requirement =
            Requirement { name: name(&load, &plan), source: None, load, engine: None, plan };
        let (asked, engine) =
            (asked(args, &requirement, opened.rig.hosts())?, requirement.load.engine);
        let check = Check {
            about: None,
            size_bytes: None,
            requirements: vec![requirement],
            baseline: self.baseline.map(Baseline::told),
        };
        opened.rig.set_command(Command::Check);
        let target = invocation::removing(&args.target, typed);
        Ok(Ready { args, target, check, opened, asked, engine })
    }
}

/// Returns the arrivals of a check without a baseline.
fn arrivals(args: &CheckArgs) -> Option<ArrivalProcess> {
    (!args.closed).then_some(match args.load.has("rate_process") {
        true => args.load.rate_process,
        false => ArrivalProcess::Poisson,
    })
}

/// Names a requirement: `20,000 IOPS, randread 4 KiB`.
fn name(load: &Load, plan: &CheckPlan) -> String {
    let load = Load { iodepth: 1, numjobs: 1, arrivals: None, ..load.clone() };
    let what = load.label().trim_end_matches(" depth 1").to_owned();
    match plan.arrivals {
        Some(_) => format!("{}, {what}", plan.required),
        None => format!("{}, {what} depth {}", plan.required, plan.queue_depth),
    }
}

/// Returns the requirement as requested. A check is resumed only with the same one.
fn asked(args: &CheckArgs, of: &Requirement, hosts: usize) -> anyhow::Result<SuiteAsked> {
    let limits: Vec<String> =
        of.plan.limits.iter().map(|limit| limit.to_string().replace(' ', "")).collect();
    // All options, by which a resumed run detects that they differ.
    let load = Load { seed: 0, ..of.load.clone() };
    let plan = &of.plan;
    let rest =
        (&load, plan.required_iops, plan.arrivals, plan.queue_depth, plan.max_starvation, hosts);
    let rest = content_word(&serde_json::to_string(&rest)?);
    let mut options = BTreeMap::from([
        ("require".to_owned(), plan.required.to_string()),
        ("rw".to_owned(), load.rw.to_string()),
        ("bs".to_owned(), load.block.to_string()),
        ("budget".to_owned(), format!("{}s", plan.budget_ns as f64 / 1e9)),
        (SuiteAsked::CONTENT.to_owned(), rest),
    ]);
    if !limits.is_empty() {
        options.insert("limit".to_owned(), limits.join(","));
    }
    if args.closed {
        options.insert("closed".to_owned(), String::new());
    }
    Ok(SuiteAsked { name: SuiteAsked::CHECK.to_owned(), options })
}

/// Requirements with their target behind the guards.
struct Ready<'a> {
    args: &'a CheckArgs,
    target: TargetArgs,
    check: Check,
    opened: Opened,
    asked: SuiteAsked,
    /// The engine of requirements without one.
    engine: EngineKind,
}

impl Ready<'_> {
    fn run(self, outputs: Outputs, interrupt: Interrupt) -> anyhow::Result<Exit> {
        let Self { args, target, check, mut opened, asked, engine } = self;
        outputs.refuse_target(&opened.rig)?;
        opened.rig.sample_every(args.sampling.every);
        let earlier = args.earlier.resume.as_ref();
        let earlier = earlier
            .map(|run| hosts_curve::earlier(&args.output, &target, &asked, run))
            .transpose()?;
        let site = Site::of(&opened.rig, engine);
        let plan = check.plan(&site)?;
        let jobs = plan.iter().flat_map(|step| step.jobs_on_regions());
        opened.loads = jobs.map(|(load, _)| load).collect();
        let mut invocation =
            Invocation::on("suite", &target, &args.output, false, interrupt, opened)?;
        invocation.share = args.hosts.share;
        let suite = ActiveSuite { suite: &check, site, plan, asked };
        suite.run_with(invocation, earlier, |document| Ok(outputs.put(document)?))
    }
}
