//! `iogauge suite FILE`: steps from the user's TOML file or fio job file.

use super::{Ready, open};
use crate::args::{SuiteCommon, TargetArgs};
use crate::command::invocation::{Opened, part_sizes};
use crate::command::job_file;
use crate::exit::Usage;
use crate::job_source::{Here, named};
use iogauge_fio::job::{Group, JobFileError, PlannedJob, Source};
use iogauge_lab::Region;
use iogauge_lab::suite::{FileLoad, Needs, Own, SuiteError, SuiteOptions, content_word};
use iogauge_model::load::options::{self, LoadOption, OnLine, ROWS, Span, Typed};
use iogauge_model::load::{EngineKind, LoadError};
use iogauge_model::result::SuiteAsked;
use iogauge_model::suite_file::{FileJob, FileOption, FileStep, SuiteHead};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

const NO_LOGS: &str = "a suite writes no logs; hint: use iogauge run";
const ONLY_RUN: &str = "only iogauge run can do this; hint: use iogauge run";

/// A suite file that was read.
#[derive(Debug)]
pub struct OwnFile {
    path: PathBuf,
    text: String,
    /// The groups, if it is a job file.
    groups: Option<Vec<Group>>,
}

impl OwnFile {
    /// Reads a file: a fio job file if [`named()`] takes it for one, or else a suite file.
    ///
    /// # Errors
    /// The file cannot be read or is invalid.
    pub fn read(path: &Path) -> anyhow::Result<Self> {
        let shown = path.display();
        let text = Here.read(path).map_err(|error| Usage(format!("{shown}: {error}")))?;
        let is_job_file = named(&path.to_string_lossy()).is_some();
        let groups = is_job_file.then(|| job_file::groups(path, false)).transpose()?;
        let mut jobs = groups.iter().flatten().flat_map(|group| &group.jobs);
        if let Some(job) = jobs.find(|job| job.writes_logs()) {
            return Err(Usage(format!("{}: {NO_LOGS} {shown}", job.place)).into());
        }
        Ok(Self { path: path.to_owned(), text, groups })
    }

    /// The suite as requested: the path of the file, and a digest by which a resumed run detects
    /// that the file changed.
    pub fn asked(&self, typed: &BTreeMap<String, String>) -> SuiteAsked {
        let mut options = typed.clone();
        options.insert(SuiteAsked::CONTENT.to_owned(), content_word(&self.text));
        SuiteAsked { name: self.path.display().to_string(), options }
    }

    /// Returns the target as typed or, if none was, the files and devices that a job file names.
    ///
    /// # Errors
    /// Options that require a target.
    pub fn target(&self, common: &SuiteCommon) -> anyhow::Result<TargetArgs> {
        let mut target = common.target.clone();
        let Some(groups) = &self.groups else { return Ok(target) };
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

    /// Opens the suite with its target.
    ///
    /// # Errors
    /// The guards refuse the target, or a step does not fit it.
    pub fn open(self, common: &SuiteCommon, asked: &SuiteAsked) -> anyhow::Result<Ready> {
        let (path, target) = (&self.path, &common.target);
        let (own, opened, unlink) = match &self.groups {
            None => {
                let own = from_toml(path, &self.text, &asked.options)?;
                let opened = open(common, own.needs)?;
                (own, opened, Vec::new())
            }
            Some(groups)
                if target.target == job_file::text(&job_file::wanted(groups, target), path) =>
            {
                let (own, opened) = job_file::on_own_files(path, groups, target)?;
                (own, opened, job_file::unlinked(groups))
            }
            Some(groups) => {
                let (own, opened) = on_target(path, groups, common)?;
                (own, opened, Vec::new())
            }
        };
        for engine in own.engines() {
            opened.rig.engine(Some(engine))?;
        }
        Ok(Ready { suite: Box::new(own), opened, unlink })
    }
}

/// Returns the groups of a job file with each job on the whole target instead of its own files.
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
    let suite = job_file::suite(path, groups, needs, |job| {
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

fn from_toml(path: &Path, text: &str, typed: &BTreeMap<String, String>) -> Result<Own, SuiteError> {
    let head = SuiteHead::parse(text).map_err(|error| wrong(path, error.line, error.reason))?;
    let options = SuiteOptions::new(&head.options, typed.clone());
    let reader = Reader::new(path);
    let read = |step: &FileStep, job: &FileJob| reader.job(step, job);
    Own::read(&path.display().to_string(), text, &options, &read)
}

/// Parses workload options by their table. Errors name the line.
pub(in crate::command) struct Reader<'a> {
    path: &'a Path,
}

fn wrong(path: &Path, line: usize, reason: impl Into<String>) -> SuiteError {
    SuiteError::File { path: path.display().to_string(), line, reason: reason.into() }
}

impl<'a> Reader<'a> {
    pub(in crate::command) fn new(path: &'a Path) -> Self {
        Self { path }
    }

    fn wrong(&self, line: usize, reason: impl Into<String>) -> SuiteError {
        wrong(self.path, line, reason)
    }

    /// Returns the workload of a job.
    pub(in crate::command) fn job(
        &self,
        step: &FileStep,
        job: &FileJob,
    ) -> Result<FileLoad, SuiteError> {
        let typed = self.typed(step, job)?;
        let load = typed.load(typed.plain.engine, &[]).map_err(|error| {
            let is_own =
                |option: &&FileOption| row_of(option).is_some_and(|row| row.name == error.option);
            let line = job.options.iter().find(is_own).map_or(step.line, |option| option.line);
            self.wrong(line, error.to_string())
        })?;
        Ok(FileLoad { load, engine: typed.asked_engine(), target_bytes: typed.target_bytes() })
    }

    /// Parses each option by itself first, so that an error names its line.
    fn typed(&self, step: &FileStep, job: &FileJob) -> Result<Typed, SuiteError> {
        let mut words: Vec<(&'static LoadOption, Option<&str>)> = Vec::new();
        for option in &job.options {
            let wrong = |reason| self.wrong(option.line, reason);
            let row = row_of(option).ok_or_else(|| wrong(no_option(&option.name)))?;
            if row.on_line == OnLine::OfRun {
                return Err(wrong(format!("{}: {}", option.name, ONLY_RUN)));
            }
            let word = (row, Some(option.value.as_str()));
            let typed = Typed::iogauge().with([word].into_iter());
            let typed = typed.map_err(|error| wrong(in_words(option, &error)))?;
            if typed.has_shares() || typed.io_size.is_some_and(Span::is_share) {
                let reason = "a percentage is not possible in a suite file; hint: use bytes";
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

/// Describes what is wrong with an option, as the file spells it.
fn in_words(option: &FileOption, error: &LoadError) -> String {
    let FileOption { name, value, .. } = option;
    if error.reason.contains(value.as_str()) {
        format!("{name}: {}", error.reason)
    } else {
        format!("{name} = \"{value}\": {}", error.reason)
    }
}
