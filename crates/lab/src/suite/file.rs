//! Turns a suite file into the steps of a suite.

use super::own::{Own, OwnJob, OwnStep};
use super::{Needs, SuiteError, SuiteOptions};
use crate::search::SearchPlan;
use crate::session::Region;
use iogauge_model::Limit;
use iogauge_model::load::{EngineKind, Load};
use iogauge_model::plan::{Job, LONGEST_NS};
use iogauge_model::suite_file::{FileJob, FileStep, SuiteFile, SuiteFileError, SuiteHead};

const RUNTIME_NS: u64 = 10_000_000_000;
const MOST_RAMP_NS: u64 = 1_000_000_000;
const SEARCH_NS: u64 = 30_000_000_000;
const SHORTEST_SEARCH_NS: u64 = 1_000_000_000;

/// A job's options as a workload.
#[derive(Debug, Clone)]
pub struct FileLoad {
    /// The workload with the requested engine.
    pub load: Load,
    /// The requested engine; `None` for that of the target.
    pub engine: Option<EngineKind>,
    /// Bytes of the target that the workload needs; `None` for all of it.
    pub target_bytes: Option<u64>,
}

/// Parses the options of a job of a step. Errors name the line of the option.
pub type ReadLoad<'a> = dyn Fn(&FileStep, &FileJob) -> Result<FileLoad, SuiteError> + 'a;

impl Own {
    /// Parses the suite of a file with its options. `path` names the file in errors.
    ///
    /// # Errors
    /// The first mistake, with its line or with the option that it comes from.
    pub fn read(
        path: &str,
        text: &str,
        options: &SuiteOptions,
        read: &ReadLoad<'_>,
    ) -> Result<Self, SuiteError> {
        let wrong = |error: SuiteFileError| file_error(path, error.line, error.reason);
        let about = SuiteHead::parse(text).map_err(wrong)?.about;
        let file = SuiteFile::with_options(text, &options.values()?).map_err(wrong)?;
        let reader = Reader { path, file: &file, read };
        let mut steps = Vec::new();
        let mut size_bytes = file.size_bytes;
        for step in &file.steps {
            let (own, needed_bytes) = reader.step(step)?;
            if file.size_bytes.is_none() {
                size_bytes = size_bytes.max(needed_bytes);
            }
            steps.push(own);
        }
        for limit in file.steps.iter().flat_map(|step| &step.limits) {
            if !steps.iter().any(|own| own.limits.contains(limit)) {
                let reason = format!("limit: no step has the I/Os that {limit} bounds");
                return Err(file_error(path, 1, reason));
            }
        }
        let loads = || steps.iter().flat_map(|step| &step.jobs).map(|own| &own.job.load);
        let needs = Needs {
            size_bytes,
            writes: loads().any(Load::writes),
            direct: loads().all(|load| load.direct),
            ..Needs::default()
        };
        Ok(Self { path: path.to_owned(), about, needs, steps })
    }
}

fn file_error(path: &str, line: usize, reason: impl Into<String>) -> SuiteError {
    SuiteError::File { path: path.to_owned(), line, reason: reason.into() }
}

struct Reader<'a> {
    path: &'a str,
    file: &'a SuiteFile,
    read: &'a ReadLoad<'a>,
}

impl Reader<'_> {
    /// Returns a step, and the bytes of the target that its jobs need.
    fn step(&self, step: &FileStep) -> Result<(OwnStep, Option<u64>), SuiteError> {
        let mut jobs = Vec::new();
        let mut needed_bytes = None;
        for job in &step.jobs {
            let read = (self.read)(step, job).map_err(|error| with_option(error, job))?;
            needed_bytes = needed_bytes.max(read.target_bytes);
            let name = job.name.clone().unwrap_or_else(|| read.load.label());
            let job = Job { name, load: read.load };
            jobs.push(OwnJob { job, engine: read.engine, region: Region::All });
        }
        let counted = jobs.iter().any(|own| own.job.load.is_counted());
        // A step with a number of I/Os or bytes ends after these, unless it has its own runtime.
        let (runtime, ramp) =
            if counted { (None, None) } else { (self.file.runtime_ns, self.file.ramp_ns) };
        let runtime_ns = step.runtime_ns.or(runtime);
        let runtime_ns = runtime_ns.unwrap_or(if counted { LONGEST_NS } else { RUNTIME_NS });
        let ramp = ramp.unwrap_or(if counted { 0 } else { MOST_RAMP_NS.min(runtime_ns / 10) });
        let limits = self.limits(step, &jobs)?;
        let labels: Vec<String> = jobs.iter().map(|own| own.job.load.label()).collect();
        let own = OwnStep {
            line: step.line,
            name: step.name.clone(),
            key: step.key.clone(),
            label: labels.join(" + "),
            ramp_ns: step.ramp_ns.unwrap_or(ramp),
            runtime_ns,
            limits,
            find: self.search(step, &jobs)?,
            jobs,
        };
        Ok((own, needed_bytes))
    }

    /// Returns the limits that bound I/Os of these jobs. Limits of the whole file need not bound every step.
    fn limits(&self, step: &FileStep, jobs: &[OwnJob]) -> Result<Vec<Limit>, SuiteError> {
        let mut limits = Vec::new();
        for limit in &step.limits {
            if limit.each {
                let reason = SuiteError::on_each_host(limit);
                return Err(file_error(self.path, step.line, format!("limit: {reason}")));
            }
            let misses = jobs.iter().map(|own| limit.check(&own.job.load));
            match misses.reduce(|one, other| one.or(other)) {
                Some(Err(error)) if step.has_own_limits => {
                    return Err(file_error(self.path, step.line, format!("limit: {error}")));
                }
                Some(Err(_)) => {}
                _ => limits.push(*limit),
            }
        }
        Ok(limits)
    }

    fn search(&self, step: &FileStep, jobs: &[OwnJob]) -> Result<Option<SearchPlan>, SuiteError> {
        if step.find.is_empty() {
            return Ok(None);
        }
        let wrong = |reason: String| file_error(self.path, step.line, format!("find: {reason}"));
        let budget_ns = step.runtime_ns.unwrap_or(SEARCH_NS);
        if budget_ns < SHORTEST_SEARCH_NS {
            let reason = "seconds is too short to search in; hint: use 1 or more";
            return Err(wrong(reason.to_owned()));
        }
        for (limit, own) in step.find.iter().zip(jobs.iter().cycle()) {
            if limit.each {
                return Err(wrong(SuiteError::on_each_host(limit)));
            }
            limit.check(&own.job.load).map_err(|error| wrong(error.to_string()))?;
        }
        Ok(Some(SearchPlan { limits: step.find.clone(), budget_ns, ..SearchPlan::default() }))
    }
}

/// Rewrites an error whose value comes from the command line: it names the suite's option instead
/// of the line, and omits hints at options of `run`.
fn with_option(error: SuiteError, job: &FileJob) -> SuiteError {
    let SuiteError::File { line, reason, .. } = &error else { return error };
    let Some(option) = job.options.iter().find(|option| option.line == *line) else { return error };
    let Some(from) = &option.from else { return error };
    let named = format!("{}: ", option.name);
    let reason = reason.strip_prefix(&named).unwrap_or(reason);
    SuiteError::option(from, reason.split("; --").next().unwrap_or_default())
}
