//! `iogauge suite`: lists the suites, shows what one would do, runs it, resumes it.

pub(super) mod own;

use self::own::{OwnFile, Reader};
use super::invocation::{Invocation, Opened};
use super::record::Outcome;
use super::suite_resume::{self, Earlier};
use crate::args::{SuiteArgs, SuiteCommon, SuiteRun, TargetArgs, ViaArg, Which};
use crate::detach;
use crate::exit::{Exit, Refused, Usage};
use crate::job_source;
use crate::screen;
use iogauge_lab::measure::Watch;
use iogauge_lab::session::verify_states::StepStates;
use iogauge_lab::session::{self, verify};
use iogauge_lab::suite::{
    self, DRAWN, Needs, Ran, SUITES, Site, Suite, SuiteInfo, SuiteStep, Work,
};
use iogauge_lab::target::{
    DEFAULT_SIZE_BYTES, Intent, PartKind, TargetError, TargetSpec, clean, numbered_test_file,
};
use iogauge_lab::{Interrupt, LabError, Rig, caveats};
use iogauge_model::Load;
use iogauge_model::caveat::{Command, FigureFact, StepTime};
use iogauge_model::result::{
    CheckEnd, CheckFindings, CheckVerdict, HostsCurveFindings, HostsOutcome, SUITE_FORMAT,
    StepPlace, StoppedBy, SuiteAsked, SuiteDocument, SuitePlanDocument, SuiteStepResult, Workload,
};
use iogauge_model::units::{Bytes, size_word};
use iogauge_report::terminal;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::hash::{BuildHasher, RandomState};
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

/// Runs the command.
///
/// # Errors
/// Wrong usage, a refused target, or a fault while measuring.
pub fn run(args: &SuiteArgs, arguments: &[OsString], interrupt: Interrupt) -> anyhow::Result<Exit> {
    let Some(typed) = &args.run else {
        let rows: Vec<_> = SUITES.iter().map(|suite| (suite.name, suite.about())).collect();
        screen::print(&terminal::suite_list(&rows, screen::page(false)))?;
        return Ok(Exit::Done);
    };
    let SuiteRun { which, options, common } = typed.as_ref();
    if common.output.detach {
        return detach::start(arguments, &common.output, &interrupt);
    }
    let source = Source::of(which)?;
    let mut asked = source.asked(options);
    let target = source.target(common)?;
    let common = &SuiteCommon { target, ..common.clone() };
    let earlier = match &common.earlier.resume {
        None => None,
        Some(run) => Some(suite_resume::find(&common.output, &common.target, &asked, run)?),
    };
    match &earlier {
        Some(earlier) => asked = earlier.asked.clone(),
        None => source.draw(&mut asked.options),
    }
    let command = Command::Suite(source.step_time());
    let Ready { suite, mut opened, unlink } = source.open(common, &asked)?;
    opened.rig.set_command(command);
    let (engine, fact) = opened.rig.engine(common.ioengine)?;
    opened.facts.extend(fact);
    let site = Site::of(&opened.rig, engine);
    let plan = suite.plan(&site)?;
    check_via(common, &plan)?;
    if common.dry_run {
        return dry_run(common, asked, &opened.rig, &plan);
    }
    confirm(common, &opened.rig, suite.needs())?;
    opened.loads = representatives(&plan);
    opened.rig.sample_every(common.sampling.every);
    let mut invocation =
        Invocation::on("suite", &common.target, &common.output, false, interrupt, opened)?;
    invocation.unlink = unlink;
    invocation.trace = common.trace.mode;
    invocation.share = common.hosts.share;
    ActiveSuite { suite: suite.as_ref(), site, plan, asked }.run(invocation, earlier)
}

/// Where a suite comes from.
enum Source {
    Table(&'static SuiteInfo),
    Own(OwnFile),
}

/// A suite with its target behind the guards.
pub(super) struct Ready {
    pub suite: Box<dyn Suite>,
    pub opened: Opened,
    /// Files to remove at the end.
    pub unlink: Vec<PathBuf>,
}

impl Source {
    fn of(which: &Which) -> anyhow::Result<Self> {
        Ok(match which {
            Which::Known(info) => Self::Table(info),
            Which::File(path) => Self::Own(OwnFile::read(path)?),
        })
    }

    /// Returns the option that makes the suite's steps longer.
    fn step_time(&self) -> StepTime {
        let Self::Table(info) = self else { return StepTime::Fixed };
        let has = |name| info.head.options.iter().any(|option| option.name == name);
        match () {
            () if has("filesize") => StepTime::SecondsOfFiles,
            () if has("seconds") => StepTime::Seconds,
            () if has("scale") => StepTime::Scale,
            () => StepTime::Fixed,
        }
    }

    fn asked(&self, typed: &BTreeMap<String, String>) -> SuiteAsked {
        match self {
            Self::Table(info) => SuiteAsked { name: info.name.to_owned(), options: typed.clone() },
            Self::Own(file) => file.asked(typed),
        }
    }

    /// Returns the target as typed, or the one that the suite's file names.
    fn target(&self, common: &SuiteCommon) -> anyhow::Result<TargetArgs> {
        match self {
            Self::Table(_) => Ok(common.target.clone()),
            Self::Own(file) => file.target(common),
        }
    }

    /// Draws values for options that differ in each run, unless they were typed.
    fn draw(&self, options: &mut BTreeMap<String, String>) {
        let Self::Table(info) = self else { return };
        for option in info.head.options.iter().filter(|o| o.default.as_deref() == Some(DRAWN)) {
            // 53 bits: JSON readers without integers keep no more.
            let number = || (RandomState::new().hash_one(&option.name) >> 11).to_string();
            options.entry(option.name.clone()).or_insert_with(number);
        }
    }

    fn open(self, common: &SuiteCommon, asked: &SuiteAsked) -> anyhow::Result<Ready> {
        match self {
            Self::Table(info) => {
                let reader = Reader::new(Path::new(info.name));
                let suite =
                    info.build(asked.options.clone(), &|step, job| reader.job(step, job))?;
                let opened = open(common, suite.needs())?;
                Ok(Ready { suite, opened, unlink: Vec::new() })
            }
            Self::Own(file) => file.open(common, asked),
        }
    }
}

/// Refuses data verification via fio, which verifies in its own way and counts the reads.
fn check_via(common: &SuiteCommon, plan: &[SuiteStep]) -> anyhow::Result<()> {
    let mut jobs = plan.iter().flat_map(|step| step.asked().jobs);
    if common.via.is_some() && jobs.any(|job| job.load.verify.is_some()) {
        let text = "--via fio: a step checks its data, which fio does in its own way; hint: use \
                    the suite without --via";
        return Err(Usage(text.to_owned()).into());
    }
    Ok(())
}

/// Removes the test files, so that they are made anew.
fn recreate(common: &SuiteCommon) -> anyhow::Result<()> {
    let spec: TargetSpec = common.target.target.parse().map_err(LabError::from)?;
    let TargetSpec::Paths(paths) = spec else { return Ok(()) };
    for cleaned in clean(&paths).map_err(LabError::from)? {
        screen::tell(&screen::line(&cleaned.to_string()));
    }
    Ok(())
}

/// Opens the target behind its guards: the single file of a directory, or as many as the suite
/// needs.
pub(super) fn open(common: &SuiteCommon, needs: Needs) -> anyhow::Result<Opened> {
    if common.recreate && !common.dry_run {
        recreate(common)?;
    }
    let target = &common.target;
    let intent = |size_bytes| Intent {
        writes: needs.writes,
        size_bytes,
        direct: needs.direct,
        ..target.permit.permitted()
    };
    let fio = common.via.as_ref().map(ViaArg::find).transpose()?;
    job_source::refuse(&target.target)?;
    let spec: TargetSpec = target.target.parse().map_err(LabError::from)?;
    let mut rig = match spec {
        TargetSpec::Paths(paths) if needs.files > 1 && paths.len() == 1 && paths[0].is_dir() => {
            let usual_bytes = needs.size_is_total.then_some(DEFAULT_SIZE_BYTES);
            let all_bytes = needs.size_bytes.or(usual_bytes);
            let intent = intent(needs.of_each(all_bytes, needs.files));
            let file = |number| (paths[0].join(numbered_test_file(number)), intent.clone());
            let wanted: Vec<_> = (1..=needs.files).map(file).collect();
            Rig::open_each(&target.target, &wanted)?
        }
        TargetSpec::Paths(paths) if needs.size_is_total => {
            let parts = paths.len() as u32;
            let intent = intent(needs.of_each(needs.size_bytes, parts));
            Rig::open(&target.target, intent).map_err(|error| of_total(error, needs, parts))?
        }
        _ => Rig::open(&target.target, intent(needs.size_bytes))?,
    };
    if needs.fresh_devices {
        rig.keep_devices_fresh();
    }
    if let Some(fio) = fio {
        rig.go_via(fio)?;
    }
    Ok(Opened { rig, loads: Vec::new(), facts: Vec::new() })
}

/// Rewrites the error for a part that is too small: the user gave the total size, not the part's.
fn of_total(error: LabError, needs: Needs, parts: u32) -> anyhow::Error {
    let (LabError::Target(TargetError::SizeBeyondEnd { path, size_bytes, .. }), Some(total_bytes)) =
        (&error, needs.size_bytes.filter(|_| parts > 1))
    else {
        return error.into();
    };
    let most_bytes = size_bytes.saturating_mul(u64::from(parts));
    let text = format!(
        "{} holds {}, less than its share of the {} spread evenly over {parts}; hint: use \
         --size={} or less",
        path.display(),
        Bytes(*size_bytes),
        Bytes(total_bytes),
        size_word(most_bytes)
    );
    Usage(text).into()
}

/// Asks before block devices are written, if there is a terminal to answer on.
fn confirm(common: &SuiteCommon, rig: &Rig, needs: Needs) -> anyhow::Result<()> {
    let parts = rig.target().map_or(&[][..], |target| &target.parts);
    let devices: Vec<String> = parts
        .iter()
        .filter(|part| part.kind == PartKind::BlockDevice)
        .map(|part| part.path.display().to_string())
        .collect();
    let asks = std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
    if devices.is_empty() || !needs.writes || common.yes || !asks {
        return Ok(());
    }
    let devices = devices.join(", ");
    if screen::confirmed(&format!("overwrite everything on {devices}?"), "--yes")? {
        return Ok(());
    }
    Err(Refused(format!("{devices}: nothing was written")).into())
}

/// Returns one workload for each way in which the plan accesses the target. The others have the
/// same caveats.
fn representatives(plan: &[SuiteStep]) -> Vec<Load> {
    let mut found: Vec<Load> = Vec::new();
    for step in plan {
        for job in step.asked().jobs {
            let like = |known: &Load| {
                (known.rw.reads(), known.writes(), known.direct, known.engine, known.sync)
            };
            if !found.iter().any(|known| like(known) == like(&job.load)) {
                found.push(job.load);
            }
        }
    }
    found
}

fn dry_run(
    common: &SuiteCommon,
    asked: SuiteAsked,
    rig: &Rig,
    plan: &[SuiteStep],
) -> anyhow::Result<Exit> {
    let document = SuitePlanDocument::new(asked, rig.describe(), suite::planned(plan));
    if common.output.json {
        screen::data(&screen::json(&document)?)?;
    }
    if !common.output.json {
        screen::print(&terminal::suite_plan(&document, screen::page(false)))?;
    } else if !common.output.quiet {
        screen::tell(&terminal::suite_plan(&document, screen::page(true)));
    }
    Ok(Exit::Done)
}

/// A suite being run.
pub(super) struct ActiveSuite<'a> {
    pub suite: &'a dyn Suite,
    pub site: Site,
    pub plan: Vec<SuiteStep>,
    pub asked: SuiteAsked,
}

impl ActiveSuite<'_> {
    /// Runs the steps of the plan that an earlier run has not kept.
    ///
    /// # Errors
    /// A fault while measuring or printing; the run is then in the history as failed.
    pub fn run(self, invocation: Invocation, earlier: Option<Earlier>) -> anyhow::Result<Exit> {
        self.run_with(invocation, earlier, |_| Ok(()))
    }

    /// As [`Self::run`]. `put` writes the result elsewhere as well. If it fails, the result is kept and printed all the
    /// same.
    ///
    /// # Errors
    /// As [`Self::run`], or the error of `put`.
    pub fn run_with(
        self,
        mut invocation: Invocation,
        earlier: Option<Earlier>,
        put: impl FnOnce(&SuiteDocument) -> anyhow::Result<()>,
    ) -> anyhow::Result<Exit> {
        invocation.check_share()?;
        let mut done = Vec::new();
        if let Some(earlier) = earlier {
            earlier.fits(&invocation.rig)?;
            done = earlier.steps;
            invocation.resumed = Some(earlier.run);
        }
        invocation.asked =
            Workload::Suite { label: self.asked.name.clone(), suite: self.asked.clone() };
        let mut written = Ok(());
        let measured = self.measure(&mut invocation, done).map(|document| {
            written = put(&document);
            let exit = exit(&document);
            Outcome { document, instead: None, exit }
        });
        let exit = invocation.end(measured, terminal::suite_brief, terminal::suite)?;
        written.map(|()| exit)
    }

    fn measure(
        &self,
        invocation: &mut Invocation,
        done: Vec<SuiteStepResult>,
    ) -> anyhow::Result<SuiteDocument> {
        for step in &self.plan {
            if let Work::Step(asked) = &step.work {
                verify::check_together(
                    &invocation.rig,
                    asked,
                    &step.regions,
                    &StepStates::default(),
                )?;
            }
        }
        invocation.begin(&self.asked.name)?;
        if let Some(step) = self.plan.iter().find(|step| step.place.phase != StepPlace::INIT) {
            invocation.share_out(&step.jobs_on_regions())?;
        }
        let mut before = std::mem::take(&mut invocation.caveats);
        before.retain(|caveat| self.suite.keeps_target_caveat(caveat));
        let mut found = caveats::of_many(before);
        let Invocation { rig, record, interrupt, tracing, .. } = &mut *invocation;
        let mut watch = Watch { observer: &mut record.screen, interrupt };
        // Planned again: a file made since then may need block sizes that its disk did not.
        let site = Site::of(rig, self.site.engine);
        let plan = self.suite.plan(&site)?;
        let ran = suite::run(rig, self.suite, &site, &plan, done, tracing.as_mut(), &mut watch)?;
        let Ran { steps, conclusion, caveats: own, steps_left, interrupted } = ran;
        found.extend(own);
        invocation.record.tell_nothing(&found);
        let resumed = steps.iter().map(|step| step.part).max().unwrap_or(0);
        let fact = (resumed > 0).then(|| FigureFact::Resumed { times: resumed }.into());
        found.extend(invocation.rig.caveats(fact));
        Ok(SuiteDocument {
            head: invocation.head(SUITE_FORMAT, invocation.asked.clone()),
            suite: self.asked.clone(),
            subjects: Vec::new(),
            setups: Vec::new(),
            steps,
            conclusion,
            steps_left,
            resumed,
            interrupted,
            caveats: caveats::distinct(found),
            environment: session::environment(&invocation.rig),
        })
    }
}

/// True if the first rung of a ladder already breaks a limit.
fn breaks_at_once(document: &SuiteDocument) -> bool {
    let findings = &document.conclusion.findings;
    findings["ended_by"] == "limit" && findings["users"].is_null()
}

/// True if a search has no capacity to compare with those of other numbers of hosts.
fn is_undecided(document: &SuiteDocument) -> bool {
    let findings = HostsCurveFindings::deserialize(&document.conclusion.findings);
    findings.is_ok_and(|found| matches!(found.outcome, Some(HostsOutcome::UndecidedAt(_))))
}

/// Returns the exit code of a verdict about requirements; `None` for other suites.
fn of_check(document: &SuiteDocument) -> Option<Exit> {
    let findings = CheckFindings::deserialize(&document.conclusion.findings).ok()?;
    let mut checks = findings.requirements.iter().filter_map(|of| of.check.as_ref());
    if checks.any(|check| check.ended_by == CheckEnd::Errors) {
        return Some(Exit::IoErrors);
    }
    Some(match findings.check {
        CheckVerdict::Pass => Exit::Done,
        CheckVerdict::Fail => Exit::Differs,
        CheckVerdict::Undecided => Exit::Undecided,
    })
}

fn exit(document: &SuiteDocument) -> Exit {
    let steps = || document.steps.iter().filter_map(|step| step.step());
    let searches = || document.steps.iter().filter_map(|step| step.search());
    if steps().any(|step| step.corrupted() > 0) {
        Exit::IoErrors
    } else if document.interrupted {
        Exit::Interrupted
    } else if steps().any(|step| step.errors() > 0 || step.is_empty())
        || searches().any(|search| search.answer.is_empty())
    {
        Exit::IoErrors
    } else if let Some(exit) = of_check(document) {
        exit
    } else if breaks_at_once(document) {
        Exit::Unattainable
    } else if is_undecided(document) {
        match searches().any(|search| search.answer.stopped_by == StoppedBy::Unattainable) {
            true => Exit::Unattainable,
            false => Exit::Undecided,
        }
    } else {
        Exit::Done
    }
}
