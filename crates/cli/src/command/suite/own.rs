//! `iogauge suite FILE`: steps of the user's own, from a TOML file or a job file of fio's.

use super::{Ready, open};
use crate::args::{SuiteCommon, TargetArgs};
use crate::command::invocation::{Opened, part_sizes};
use crate::command::job_file;
use crate::command::job_source::{Here, named};
use crate::exit::Usage;
use iogauge_fio::job::{Group, JobFileError, PlannedJob, Source};
use iogauge_lab::search::SearchPlan;
use iogauge_lab::suite::{Needs, Own, OwnJob, OwnStep, SuiteError, content_word};
use iogauge_lab::target::Intent;
use iogauge_lab::{Region, Rig};
use iogauge_model::load::options::{self, LoadOption, ROWS, Typed};
use iogauge_model::load::{EngineKind, Load, LoadError};
use iogauge_model::plan::{Job, LONGEST_NS};
use iogauge_model::result::SuiteAsked;
use iogauge_model::suite_file::{FileJob, FileOption, FileStep, SuiteFile};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

const RUNTIME_NS: u64 = 10_000_000_000;
const MOST_RAMP_NS: u64 = 1_000_000_000;
const SEARCH_NS: u64 = 30_000_000_000;
const SHORTEST_SEARCH_NS: u64 = 1_000_000_000;

/// A file, read.
#[derive(Debug)]
pub struct OwnFile {
    path: PathBuf,
    content: String,
    steps: Steps,
}

#[derive(Debug)]
enum Steps {
    Own(Own),
    Fio(Vec<Group>),
}

impl OwnFile {
    /// Reads a file; one whose name ends in `.fio` is a job file of fio's.
    ///
    /// # Errors
    /// Where it cannot be read, or says what cannot be.
    pub fn read(path: &Path) -> anyhow::Result<Self> {
        let shown = path.display();
        let text = Here.read(path).map_err(|error| Usage(format!("{shown}: {error}")))?;
        let steps = if named(&path.to_string_lossy()).is_some() {
            let groups = job_file::groups(path, false)?;
            Steps::Fio(groups)
        } else {
            Steps::Own(from_toml(path, &text)?)
        };
        Ok(Self { path: path.to_owned(), content: content_word(&text), steps })
    }

    /// How it is asked: by its path, with what tells whether it has changed when a run is to go on.
    pub fn asked(&self) -> SuiteAsked {
        let options = BTreeMap::from([(SuiteAsked::CONTENT.to_owned(), self.content.clone())]);
        SuiteAsked { name: self.path.display().to_string(), options }
    }

    /// The target as typed; where none was, the files and devices that a job file names.
    ///
    /// # Errors
    /// Options that take a target.
    pub fn target(&self, common: &SuiteCommon) -> anyhow::Result<TargetArgs> {
        let mut target = common.target.clone();
        let Steps::Fio(groups) = &self.steps else { return Ok(target) };
        if !target.target.is_empty() {
            return Ok(target);
        }
        let shown = self.path.display();
        let (option, right) = if common.recreate {
            ("--recreate", "iogauge clean with their names".to_owned())
        } else if common.via.is_some() {
            ("--via", format!("iogauge run --via fio {shown}"))
        } else {
            target.target = job_file::text(&job_file::wanted(groups, &target), &self.path);
            return Ok(target);
        };
        let text = format!("{option}: {shown} names its own files; hint: use {right}");
        Err(Usage(text).into())
    }

    /// The suite with its target.
    ///
    /// # Errors
    /// Where the guards refuse the target, or a step does not fit it.
    pub fn open(self, common: &SuiteCommon) -> anyhow::Result<Ready> {
        let (own, opened, unlink) = match &self.steps {
            Steps::Own(own) => (own.clone(), open(common, own.needs)?, Vec::new()),
            Steps::Fio(groups) => {
                let wanted = job_file::wanted(groups, &common.target);
                if common.target.target == job_file::text(&wanted, &self.path) {
                    let (own, opened) = on_own_files(&self.path, groups, common, &wanted)?;
                    (own, opened, job_file::unlinked(groups))
                } else {
                    let (own, opened) = on_target(&self.path, groups, common)?;
                    (own, opened, Vec::new())
                }
            }
        };
        for engine in own.engines() {
            opened.rig.engine(Some(engine))?;
        }
        Ok(Ready { suite: Box::new(own), opened, unlink })
    }
}

/// The groups of a job file on the files and devices it names.
fn on_own_files(
    path: &Path,
    groups: &[Group],
    common: &SuiteCommon,
    wanted: &[(PathBuf, Intent)],
) -> anyhow::Result<(Own, Opened)> {
    let rig = Rig::open_each(&common.target.target, wanted)?;
    let paths: Vec<&Path> = wanted.iter().map(|(path, _)| path.as_path()).collect();
    let needs = Needs { writes: rig.intent().writes, ..Needs::default() };
    let suite = of_groups(path, groups, needs, |job| {
        let (load, region) = job_file::on(job, &rig, &paths)?;
        Ok((load, Some(job.engine()), region))
    })?;
    Ok((suite, Opened { rig, loads: Vec::new(), caveats: Vec::new() }))
}

/// The groups of a job file, each job of them on all of a target in place of its files.
fn on_target(path: &Path, groups: &[Group], common: &SuiteCommon) -> anyhow::Result<(Own, Opened)> {
    let jobs = || groups.iter().flat_map(|group| &group.jobs);
    let size = |job: &PlannedJob| Some(job.file_size_bytes? * job.files.len() as u64);
    let needs = Needs {
        size_bytes: jobs().filter_map(size).max(),
        writes: jobs().any(PlannedJob::writes),
        direct: jobs().all(PlannedJob::direct),
        ..Needs::default()
    };
    let opened = open(common, needs)?;
    let rig = &opened.rig;
    let sizes = part_sizes(rig);
    let wrong = |error: JobFileError| Usage(error.to_string());
    let suite = of_groups(path, groups, needs, |job| {
        let load = job.load(&sizes).map_err(wrong)?;
        let engine = Some(job.engine()).filter(|_| !rig.is_simulated());
        let region = match job.engine() {
            EngineKind::Null => Region::Nothing { size_bytes: sizes.iter().sum() },
            _ => Region::All,
        };
        Ok((load, engine, region))
    })?;
    Ok((suite, opened))
}

/// A job's load, the engine it is bound to, and what it is put on.
type Put = (Load, Option<EngineKind>, Region);

fn of_groups(
    path: &Path,
    groups: &[Group],
    needs: Needs,
    put: impl Fn(&PlannedJob) -> anyhow::Result<Put>,
) -> anyhow::Result<Own> {
    let mut steps: Vec<OwnStep> = Vec::new();
    for group in groups {
        let mut jobs = Vec::new();
        for planned in &group.jobs {
            let (load, engine, region) = put(planned)?;
            jobs.push(OwnJob { job: Job { name: planned.name.clone(), load }, engine, region });
        }
        let plain: Vec<Job> = jobs.iter().map(|own| own.job.clone()).collect();
        let name = job_file::names(&plain);
        let like = steps.iter().filter(|known| known.name == name).count();
        let key = if like == 0 { name.clone() } else { format!("{name} ({})", like + 1) };
        let find = match group.jobs.as_slice() {
            [job] => job.search.map(|search| job_file::search_plan(search, group.runtime_ns)),
            _ => None,
        };
        steps.push(OwnStep {
            line: group.jobs.first().map_or(1, |job| job.place.line as usize),
            name,
            key,
            label: job_file::label(&plain),
            jobs,
            ramp_ns: group.ramp_ns,
            runtime_ns: group.runtime_ns.unwrap_or(LONGEST_NS),
            limits: Vec::new(),
            find,
        });
    }
    Ok(Own { path: path.display().to_string(), about: None, needs, steps })
}

fn from_toml(path: &Path, text: &str) -> Result<Own, SuiteError> {
    let file = SuiteFile::parse(text).map_err(|error| wrong(path, error.line, error.reason))?;
    let reader = Reader { path, file: &file };
    let mut steps = Vec::new();
    let mut size_bytes = file.size_bytes;
    for step in &file.steps {
        let (step, wants_bytes) = reader.step(step)?;
        if file.size_bytes.is_none() {
            size_bytes = size_bytes.max(wants_bytes);
        }
        steps.push(step);
    }
    let loads = || steps.iter().flat_map(|step| &step.jobs).map(|own| &own.job.load);
    let needs = Needs {
        size_bytes,
        writes: loads().any(Load::writes),
        direct: loads().all(|load| load.direct),
        ..Needs::default()
    };
    Ok(Own { path: path.display().to_string(), about: file.about.clone(), needs, steps })
}

/// Reads options by their table, and reports their lines.
struct Reader<'a> {
    path: &'a Path,
    file: &'a SuiteFile,
}

fn wrong(path: &Path, line: usize, reason: impl Into<String>) -> SuiteError {
    SuiteError::File { path: path.display().to_string(), line, reason: reason.into() }
}

impl Reader<'_> {
    fn wrong(&self, line: usize, reason: impl Into<String>) -> SuiteError {
        wrong(self.path, line, reason)
    }

    /// A step, and the bytes its jobs want of the target.
    fn step(&self, step: &FileStep) -> Result<(OwnStep, Option<u64>), SuiteError> {
        let mut jobs = Vec::new();
        let mut wants_bytes = None;
        for job in &step.jobs {
            let typed = self.typed(step, job)?;
            wants_bytes = wants_bytes.max(typed.target_bytes());
            let load = typed.load(typed.engine, &[]).map_err(|error| {
                let is_own = |option: &&FileOption| {
                    row_of(option).is_some_and(|row| row.name == error.option)
                };
                let line = job.options.iter().find(is_own).map_or(step.line, |option| option.line);
                self.wrong(line, error.to_string())
            })?;
            let name = job.name.clone().unwrap_or_else(|| load.label());
            let job = Job { name, load };
            jobs.push(OwnJob { job, engine: typed.asked_engine(), region: Region::All });
        }
        let counted = jobs.iter().any(|own| own.job.load.is_counted());
        // What ends by itself has no other end unless the step says so.
        let (runtime, ramp) =
            if counted { (None, None) } else { (self.file.runtime_ns, self.file.ramp_ns) };
        let runtime_ns = step.runtime_ns.or(runtime);
        let runtime_ns = runtime_ns.unwrap_or(if counted { LONGEST_NS } else { RUNTIME_NS });
        let ramp = ramp.unwrap_or(if counted { 0 } else { MOST_RAMP_NS.min(runtime_ns / 10) });
        let applies = |limit: &&iogauge_model::Limit| {
            jobs.iter().any(|own| limit.check(&own.job.load).is_ok())
        };
        let labels: Vec<String> = jobs.iter().map(|own| own.job.load.label()).collect();
        let own = OwnStep {
            line: step.line,
            name: step.name.clone(),
            key: step.key.clone(),
            label: labels.join(" + "),
            ramp_ns: step.ramp_ns.unwrap_or(ramp),
            runtime_ns,
            limits: step.limits.iter().filter(applies).copied().collect(),
            find: self.search(step, &jobs)?,
            jobs,
        };
        Ok((own, wants_bytes))
    }

    fn search(&self, step: &FileStep, jobs: &[OwnJob]) -> Result<Option<SearchPlan>, SuiteError> {
        if step.find.is_empty() {
            return Ok(None);
        }
        let budget_ns = step.runtime_ns.unwrap_or(SEARCH_NS);
        if budget_ns < SHORTEST_SEARCH_NS {
            let reason = "find: seconds is too short to search in; hint: use 1 or more";
            return Err(self.wrong(step.line, reason));
        }
        for (limit, own) in step.find.iter().zip(jobs.iter().cycle()) {
            let wrong = |error: iogauge_model::limit::LimitError| {
                self.wrong(step.line, format!("find: {error}"))
            };
            limit.check(&own.job.load).map_err(wrong)?;
        }
        Ok(Some(SearchPlan { limits: step.find.clone(), budget_ns, ..SearchPlan::default() }))
    }

    /// Each option by itself first, so that one that is wrong is reported with its line.
    fn typed(&self, step: &FileStep, job: &FileJob) -> Result<Typed, SuiteError> {
        let mut words: Vec<(&'static LoadOption, Option<&str>)> = Vec::new();
        for option in &job.options {
            let wrong = |reason| self.wrong(option.line, reason);
            let row = row_of(option).ok_or_else(|| wrong(no_option(&option.name)))?;
            let word = (row, Some(option.value.as_str()));
            let typed = Typed::iogauge().with([word].into_iter());
            let typed = typed.map_err(|error| wrong(in_words(option, &error)))?;
            if typed.has_shares() {
                let reason = "a share takes a target of a known size; hint: use bytes";
                return Err(wrong(format!("{}: {reason}", option.name)));
            }
            words.push(word);
        }
        let all = Typed::iogauge().with(words.into_iter());
        all.map_err(|error| self.wrong(step.line, error.to_string()))
    }
}

fn row_of(option: &FileOption) -> Option<&'static LoadOption> {
    options::find(&option.name)
}

fn no_option(name: &str) -> String {
    let nearest = options::nearest(name, ROWS.iter().map(|row| row.name));
    let right = nearest.unwrap_or("one of iogauge run --help");
    format!("\"{name}\" is no option of a load; hint: use {right}")
}

/// What is wrong with an option, in the words of the file.
fn in_words(option: &FileOption, error: &LoadError) -> String {
    let FileOption { name, value, .. } = option;
    if error.reason.contains(value.as_str()) {
        format!("{name}: {}", error.reason)
    } else {
        format!("{name} = \"{value}\": {}", error.reason)
    }
}
