//! `iogauge check FILE.toml TARGET`: requirements of a file.

use super::{BUDGET_NS, Ready};
use crate::args::{CheckArgs, TargetArgs};
use crate::command::invocation::Opened;
use crate::command::suite::own::Reader;
use crate::exit::Usage;
use crate::job_source::{self, Here};
use iogauge_fio::job::Source;
use iogauge_lab::Rig;
use iogauge_lab::search::CheckPlan;
use iogauge_lab::session::check::check_in_reach;
use iogauge_lab::suite::{Check, FileLoad, Requirement, Suite, SuiteError, content_word};
use iogauge_lab::target::Intent;
use iogauge_model::Load;
use iogauge_model::caveat::Command;
use iogauge_model::load::ArrivalProcess;
use iogauge_model::load::options::ROWS;
use iogauge_model::result::SuiteAsked;
use iogauge_model::suite_file::{FileRequirement, RequirementFile};
use std::collections::BTreeMap;
use std::path::Path;

/// Returns the path if an argument is a file of requirements: its name ends in `.toml`.
pub(super) fn named(argument: &str) -> Option<&Path> {
    let path = Path::new(argument);
    path.extension().is_some_and(|end| end == "toml").then_some(path)
}

/// A file of requirements that was read.
pub(super) struct RequirementsFile {
    path: String,
    text: String,
    file: RequirementFile,
    loads: Vec<FileLoad>,
}

impl RequirementsFile {
    /// Reads a file and checks everything that does not depend on the target.
    ///
    /// # Errors
    /// Options that the file sets, a file that cannot be read, or a mistake in it.
    pub(super) fn read(path: &Path, args: &CheckArgs) -> anyhow::Result<Self> {
        refuse_options(args, path)?;
        let shown = path.display().to_string();
        let text = Here.read(path).map_err(|error| Usage(format!("{shown}: {error}")))?;
        let wrong = |line, reason| SuiteError::File { path: shown.clone(), line, reason };
        let file =
            RequirementFile::parse(&text).map_err(|error| wrong(error.line, error.reason))?;
        let reader = Reader::new(path);
        let mut loads = Vec::new();
        for requirement in &file.requirements {
            let step = &requirement.step;
            let load = reader.job(step, &step.jobs[0])?;
            for limit in &step.limits {
                let fits = limit.check(&load.load);
                fits.map_err(|error| wrong(step.line, format!("limit: {error}")))?;
            }
            if let Some(option) = of_run(&load.load) {
                let reason = format!("{option}: check sets the load itself; hint: leave it out");
                return Err(wrong(step.line, reason).into());
            }
            loads.push(load);
        }
        Ok(Self { path: shown, text, file, loads })
    }

    /// Returns the requirements as requested, with a digest by which a resumed run detects that they changed.
    pub(super) fn asked(&self, args: &CheckArgs) -> SuiteAsked {
        let mut options = BTreeMap::from([
            ("file".to_owned(), self.path.clone()),
            (SuiteAsked::CONTENT.to_owned(), content_word(&self.text)),
        ]);
        if let Some(budget_ns) = args.budget {
            options.insert("budget".to_owned(), format!("{}s", budget_ns as f64 / 1e9));
        }
        SuiteAsked { name: SuiteAsked::CHECK.to_owned(), options }
    }

    /// Opens the target behind its guards.
    ///
    /// # Errors
    /// The guards refuse it, or a requirement does not fit it.
    pub(super) fn open<'a>(
        self,
        args: &'a CheckArgs,
        target: TargetArgs,
    ) -> anyhow::Result<Ready<'a>> {
        let asked = self.asked(args);
        let mut check = Check {
            about: self.file.about.clone(),
            size_bytes: self.size_bytes(),
            requirements: Vec::new(),
            baseline: None,
        };
        let parts = self.file.requirements.iter().zip(&self.loads);
        check.requirements = parts.map(|(of, load)| requirement(args, of, load)).collect();
        let needs = check.needs();
        let intent = Intent {
            writes: needs.writes,
            size_bytes: needs.size_bytes,
            direct: needs.direct,
            ..target.permit.permitted()
        };
        job_source::refuse(&target.target)?;
        let mut rig = Rig::open(&target.target, intent)?;
        rig.set_command(Command::Check);
        let (engine, fact) = rig.engine(args.load.asked_engine())?;
        for requirement in &mut check.requirements {
            if let Some(own) = requirement.engine {
                rig.engine(Some(own))?;
            }
            requirement.load.engine = requirement.engine.unwrap_or(engine);
            requirement
                .load
                .validate()
                .map_err(|error| Usage(format!("{}: {}: {error}", self.path, requirement.name)))?;
            rig.check_limits(&requirement.plan.limits)?;
            requirement.plan = check_in_reach(&rig, &requirement.load, &requirement.plan);
        }
        let opened = Opened { rig, loads: Vec::new(), facts: fact.into_iter().collect() };
        Ok(Ready { args, target, check, opened, asked, engine })
    }

    fn size_bytes(&self) -> Option<u64> {
        let needed = || self.loads.iter().filter_map(|load| load.target_bytes).max();
        self.file.size_bytes.or_else(needed)
    }
}

/// Returns the target, which follows the file.
///
/// # Errors
/// There is none.
pub(super) fn target(args: &CheckArgs, path: &Path) -> Result<TargetArgs, Usage> {
    let Some(target) = &args.target_of_file else {
        let path = path.display();
        let text = format!(
            "{path} is a file of requirements, and a target is missing; hint: use iogauge check {path} TARGET"
        );
        return Err(Usage(text));
    };
    Ok(TargetArgs { target: target.clone(), ..args.target.clone() })
}

/// Refuses options that the file sets.
fn refuse_options(args: &CheckArgs, path: &Path) -> Result<(), Usage> {
    let typed = [
        ("require", args.require.is_some()),
        ("limit", !args.limits.is_empty()),
        ("guide", args.guide.is_some()),
        ("closed", args.closed),
        ("baseline", args.baseline.is_some()),
        ("margin", args.margin.is_some()),
    ];
    let own = typed.iter().find(|(_, typed)| *typed).map(|(name, _)| *name);
    let of_load = ROWS.iter().find(|row| row.name != "ioengine" && args.load.has(row.name));
    match own.or(of_load.map(|row| row.name)) {
        None => Ok(()),
        Some(option) => Err(Usage(format!(
            "--{option}: {} sets it; hint: change the file, or use iogauge check TARGET",
            path.display()
        ))),
    }
}

/// Returns an option of a workload that a check sets itself.
fn of_run(load: &Load) -> Option<&'static str> {
    let typed = [
        ("number_ios", load.number_ios.is_some()),
        ("io_size", load.io_size_bytes.is_some()),
        ("thinktime", load.thinktime.is_some()),
        ("startdelay", load.startdelay_ns > 0),
        ("verify", load.verify.is_some()),
    ];
    typed.iter().find(|(_, typed)| *typed).map(|(name, _)| *name)
}

fn requirement(args: &CheckArgs, of: &FileRequirement, read: &FileLoad) -> Requirement {
    let load = read.load.clone();
    let process = of.rate_process.unwrap_or(ArrivalProcess::Poisson);
    let plan = CheckPlan {
        required: of.require,
        required_iops: of.require.iops(&load),
        arrivals: (!of.closed).then_some(process),
        queue_depth: if of.closed { load.queue_depth() } else { args.max_depth },
        limits: of.step.limits.clone(),
        budget_ns: args.budget.or(of.budget_ns).unwrap_or(BUDGET_NS),
        max_starvation: args.max_starvation / 100.0,
    };
    let (name, source) = (of.step.name.clone(), of.source.clone());
    Requirement { name, source, load, engine: read.engine, plan }
}
