//! Runs from the history, in the form that panels draw.

mod course;
mod rounds;
mod settings;
mod total;
mod traced;

pub use course::Timeline;
pub use settings::Settings;
pub(crate) use settings::{differing, run_names, run_titles, split, split_by};
pub use total::{Access, Total};
pub use traced::{Traced, TracedDirection};

use crate::rows::{FINE, Row, planned, rows_of_find, rows_of_step};
use crate::terminal::{self, Terms};
use iogauge_model::limit::Limit;
use iogauge_model::plan::Job;
use iogauge_model::result::{
    Answer, BESIDE_FORMAT, BesideDocument, BesideSide, CROSSCHECK_FORMAT, CompareFindings,
    CompareSubject, CrosscheckDocument, CurvePoint, Environment, FIND_FORMAT, FindDocument, Head,
    HostsCurveFindings, Knee, PROFILE_FORMAT, ProfileDocument, RUN_FORMAT, RunDocument,
    SUITE_FORMAT, Side, StepResult, SuiteDocument, SuiteStepResult, TREND_FORMAT, TrendDocument,
};
use iogauge_model::{Caveat, Histogram};
use serde::Deserialize;
use serde_json::Value;
use std::borrow::Cow;

/// A run that is shown.
#[derive(Debug, Clone, PartialEq)]
pub struct Exhibit {
    /// The system whose storage was measured; figures are grouped by it.
    pub system: String,
    pub document: Shown,
}

/// The document of a run.
#[derive(Debug, Clone, PartialEq)]
pub enum Shown {
    /// Workloads as given; also results of fio.
    Run(Box<RunDocument>),
    /// A search for a capacity.
    Find(Box<FindDocument>),
    Suite(Box<SuiteDocument>),
    /// One workload run by two programs.
    Crosscheck(Box<CrosscheckDocument>),
    /// A database compared with its device.
    Beside(Box<BesideDocument>),
    /// A recording of the system without a workload.
    Profile(Box<ProfileDocument>),
    /// A series of runs, with the head of the newest.
    Trend(Box<TrendDocument>),
}

/// Why a run cannot be shown.
#[derive(Debug, thiserror::Error)]
pub enum ExhibitError {
    /// No panel draws documents of this format.
    #[error("there is no picture of {0}")]
    Format(String),
    /// The document does not match its format.
    #[error("the run cannot be read: {0}")]
    Document(#[from] serde_json::Error),
}

/// A row of the classic table, with details for which the table has no column.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    /// The target and the system.
    pub place: String,
    pub row: Row,
    /// Requested queue depth.
    pub queue_depth: u32,
    /// Requested I/Os per second; `None` in a closed loop.
    pub rate_iops: Option<f64>,
    /// The settings without those that are an axis of pictures.
    pub settings: Settings,
    /// The terms for what was measured.
    pub(crate) terms: Terms,
}

/// A capacity that was searched for.
#[derive(Debug, Clone)]
pub struct Capacity<'a> {
    /// What was searched for, if there are several capacities.
    pub label: &'a str,
    /// The limits of the search.
    pub limits: Cow<'a, [Limit]>,
    pub answer: &'a Answer,
    /// The knee of the curve, if it has one.
    pub knee: Option<Knee>,
    /// The measured points, by rising queue depth.
    pub curve: Cow<'a, [CurvePoint]>,
    /// The terms for what was measured.
    pub(crate) terms: Terms,
}

/// Latencies of one direction of one step.
#[derive(Debug, Clone)]
pub struct Latencies<'a> {
    /// What the latencies belong to: `randread 8 KiB depth 16, reads`.
    pub name: String,
    /// What is counted: `I/Os`, `operations`.
    pub counted: &'static str,
    pub histogram: Cow<'a, Histogram>,
}

/// The property that runs in one group share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GroupBy {
    /// The system whose storage was measured.
    System,
    Target,
    /// The label that the user gave them.
    Label,
    /// The workload.
    Load,
    /// Each run is its own group.
    Run,
}

/// Runs that are drawn together, next to those of other groups.
#[derive(Debug, Clone, PartialEq)]
pub struct Group {
    /// The value that the runs share.
    pub name: String,
    pub exhibits: Vec<Exhibit>,
}

impl From<Shown> for Exhibit {
    fn from(document: Shown) -> Self {
        let mut exhibit = Self { system: String::new(), document };
        let host = &exhibit.environment().host;
        exhibit.system = match exhibit.imported_as() {
            _ if !host.is_empty() => host.clone(),
            Some(system) => system.to_owned(),
            None => exhibit.target(),
        };
        exhibit
    }
}

/// Groups runs. The groups are in the order of their first runs.
#[must_use]
pub fn grouped(exhibits: Vec<Exhibit>, by: GroupBy) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    let titles = run_titles(&exhibits.iter().collect::<Vec<_>>());
    for (exhibit, title) in exhibits.into_iter().zip(titles) {
        let name = match by {
            GroupBy::System => exhibit.system.clone(),
            GroupBy::Target => exhibit.target(),
            GroupBy::Label => exhibit.head().label.clone().unwrap_or_else(|| "no label".to_owned()),
            GroupBy::Load => terminal::load_words(&exhibit.head().load),
            GroupBy::Run => title,
        };
        match groups.iter_mut().find(|group| group.name == name) {
            Some(group) => group.exhibits.push(exhibit),
            None => groups.push(Group { name, exhibits: vec![exhibit] }),
        }
    }
    groups
}

impl Exhibit {
    /// Reads a document according to its format. The system is the host on which it ran, or the one that an
    /// import names, or the target.
    ///
    /// # Errors
    /// Fails if no panel draws this format, or if the document does not match it.
    pub fn of(document: Value) -> Result<Self, ExhibitError> {
        let format = document.get("format").and_then(Value::as_str).unwrap_or("a document");
        let shown = match format {
            RUN_FORMAT => Shown::Run(Deserialize::deserialize(&document)?),
            FIND_FORMAT => Shown::Find(Deserialize::deserialize(&document)?),
            SUITE_FORMAT => Shown::Suite(Deserialize::deserialize(&document)?),
            CROSSCHECK_FORMAT => Shown::Crosscheck(Deserialize::deserialize(&document)?),
            BESIDE_FORMAT => Shown::Beside(Deserialize::deserialize(&document)?),
            PROFILE_FORMAT => Shown::Profile(Deserialize::deserialize(&document)?),
            TREND_FORMAT => Shown::Trend(Deserialize::deserialize(&document)?),
            other => return Err(ExhibitError::Format(other.to_owned())),
        };
        Ok(shown.into())
    }

    /// Returns the environment in which it ran.
    #[must_use]
    pub fn environment(&self) -> &Environment {
        match &self.document {
            Shown::Run(run) => &run.environment,
            Shown::Find(find) => &find.environment,
            Shown::Suite(suite) => &suite.environment,
            Shown::Crosscheck(check) => &check.environment,
            Shown::Beside(beside) => &beside.environment,
            Shown::Profile(profile) => &profile.environment,
            Shown::Trend(trend) => &trend.environment,
        }
    }

    /// Returns the head of the document.
    #[must_use]
    pub fn head(&self) -> &Head {
        match &self.document {
            Shown::Run(run) => &run.head,
            Shown::Find(find) => &find.head,
            Shown::Suite(suite) => &suite.head,
            Shown::Crosscheck(check) => &check.head,
            Shown::Beside(beside) => &beside.head,
            Shown::Profile(profile) => &profile.head,
            Shown::Trend(trend) => &trend.head,
        }
    }

    /// Returns the caveats and notes.
    #[must_use]
    pub fn caveats(&self) -> &[Caveat] {
        match &self.document {
            Shown::Run(run) => &run.caveats,
            Shown::Find(find) => &find.caveats,
            Shown::Suite(suite) => &suite.caveats,
            Shown::Crosscheck(check) => &check.caveats,
            Shown::Beside(beside) => &beside.caveats,
            Shown::Profile(profile) => &profile.caveats,
            Shown::Trend(trend) => &trend.caveats,
        }
    }

    /// Returns the terms for what was measured.
    pub(crate) fn terms(&self) -> Terms {
        Terms::of(self.head())
    }

    /// Returns the name of the target; of a comparison, those of all subjects.
    #[must_use]
    pub fn target(&self) -> String {
        let Shown::Suite(suite) = &self.document else {
            return self.head().target.name().to_owned();
        };
        let mut names = vec![suite.head.target.name().to_owned()];
        for subject in &suite.subjects {
            let name = subject.target.name();
            if !names.iter().any(|known| known == name) {
                names.push(name.to_owned());
            }
        }
        terminal::listed(&names)
    }

    /// Returns the system that an import names. Its target is a file, which is not used instead because the
    /// results of a system are often spread over many files.
    fn imported_as(&self) -> Option<&str> {
        self.head().target.imported_system()
    }

    /// Returns where it was measured: the target, and the system if it differs.
    #[must_use]
    pub fn place(&self) -> String {
        let target = self.imported_as().map_or_else(|| self.target(), str::to_owned);
        if target == self.system { target } else { format!("{target}, {}", self.system) }
    }

    /// Returns the steps at a fixed concurrency or rate, without those that only prepare.
    #[must_use]
    pub fn steps(&self) -> Vec<&StepResult> {
        match &self.document {
            Shown::Run(run) => run.steps.iter().collect(),
            Shown::Find(_) | Shown::Beside(_) | Shown::Profile(_) | Shown::Trend(_) => Vec::new(),
            Shown::Suite(suite) => suite.measured().map(|(_, step)| step).collect(),
            Shown::Crosscheck(check) => check.steps.iter().collect(),
        }
    }

    /// Returns a row for each direction of each job of each step, and for each point of a curve.
    #[must_use]
    pub fn samples(&self) -> Vec<Sample> {
        let (place, terms) = (self.place(), self.terms());
        let run_wide = self.run_wide();
        let sample = |row: Row, queue_depth, rate_iops, settings: &Settings| {
            // A picture of one direction must not include the other, and needs the columns that it has.
            let is_drawn = !row.shares_are_joint && row.shares(&FINE).iter().all(Option::is_some);
            let row = if is_drawn { row } else { Row { shares: None, ..row } };
            let row = if terms.is_database() { self.of_database(row) } else { row };
            let (place, settings) = (place.clone(), settings.clone());
            Sample { place, row, queue_depth, rate_iops, settings, terms }
        };
        let of_step = |step: &StepResult, jobs: &[Job]| {
            let rows = rows_of_step(step, jobs, &self.system).into_iter();
            let settings = Self::step_settings(&run_wide, Some(step), jobs);
            rows.map(|row| sample(row, step.queue_depth, step.rate_iops, &settings))
                .collect::<Vec<_>>()
        };
        match &self.document {
            Shown::Run(run) => planned(run).flat_map(|(step, jobs)| of_step(step, &jobs)).collect(),
            Shown::Suite(suite) => {
                let of_turn = |(asked, step): (&SuiteStepResult, &StepResult)| {
                    let mut samples = of_step(step, &asked.asked.jobs);
                    if let Some(subject) = suite.subject_of(asked) {
                        let place = format!("{}, {}", words_of(subject), self.system);
                        samples.iter_mut().for_each(|sample| sample.place.clone_from(&place));
                    }
                    samples
                };
                suite.measured().flat_map(of_turn).collect()
            }
            Shown::Find(find) => {
                let jobs = find.head.load.jobs_of_steps().into_iter().next().unwrap_or_default();
                let settings = Self::step_settings(&run_wide, None, &jobs);
                let rows = rows_of_find(find, &self.system).into_iter().zip(&find.search.curve);
                // A search has a queue depth, no matter which processes provide it.
                let of_point = |(row, point): (Row, &CurvePoint)| {
                    let row = Row { users: None, ..row };
                    sample(row, point.queue_depth, point.rate_iops, &settings)
                };
                rows.map(of_point).collect()
            }
            // Rounds of one workload do not form a curve over queue depths, and the two sides of a
            // comparison have no rows.
            Shown::Crosscheck(_) | Shown::Beside(_) | Shown::Profile(_) | Shown::Trend(_) => {
                Vec::new()
            }
        }
    }

    /// Names the row of a database by what its processes did, not by their number.
    fn of_database(&self, row: Row) -> Row {
        let mode = self.head().load.database().map_or("database", |load| &load.mode);
        let [reads, updates, _] = self.terms().sides();
        let side = if row.side == 'r' { reads } else { updates };
        let test = if row.is_half { format!("{mode}, {side}") } else { mode.to_owned() };
        Row { test, is_half: false, ..row }
    }

    /// Returns the capacities that were searched for.
    #[must_use]
    pub fn capacities(&self) -> Vec<Capacity<'_>> {
        match &self.document {
            Shown::Run(_) | Shown::Crosscheck(_) | Shown::Profile(_) | Shown::Trend(_) => {
                Vec::new()
            }
            Shown::Beside(beside) => {
                let database = beside.database.as_ref();
                let database = database.map(|own| side("the database", own, self.terms()));
                let device = side("the device", &beside.device, Terms::DEVICE);
                std::iter::once(device).chain(database).collect()
            }
            Shown::Find(find) => vec![Capacity {
                label: "",
                limits: Cow::Borrowed(&find.search.limits),
                answer: &find.search.answer,
                knee: find.search.knee,
                curve: Cow::Borrowed(&find.search.curve),
                terms: self.terms(),
            }],
            Shown::Suite(suite) => {
                let searches = suite.steps.iter().filter_map(|step| Some((step, step.search()?)));
                searches
                    .map(|(step, search)| Capacity {
                        label: &step.place.key,
                        limits: Cow::Borrowed(&search.limits),
                        answer: &search.answer,
                        knee: search.knee,
                        curve: Cow::Borrowed(&search.curve),
                        terms: self.terms(),
                    })
                    .collect()
            }
        }
    }

    /// Returns the capacities by number of hosts, if several numbers were searched.
    #[must_use]
    pub fn hosts_curve(&self) -> Option<HostsCurveFindings> {
        let Shown::Suite(suite) = &self.document else { return None };
        let found = HostsCurveFindings::deserialize(&suite.conclusion.findings).ok();
        found.filter(|found| !found.hosts_curve.is_empty())
    }

    /// Returns the findings of a comparison.
    #[must_use]
    pub fn compared(&self) -> Option<CompareFindings> {
        let Shown::Suite(suite) = &self.document else { return None };
        CompareFindings::of(&suite.conclusion.findings)
    }

    /// Returns the latencies of each direction of each step for which they were kept. For a suite with
    /// rounds, the latencies of the rounds that count are merged.
    #[must_use]
    pub fn latencies(&self) -> Vec<Latencies<'_>> {
        let terms = self.terms();
        match &self.document {
            Shown::Crosscheck(check) => latencies_of_sides(check),
            // The turns of a subject are one curve.
            Shown::Suite(suite) if !suite.subjects.is_empty() => {
                merged(suite.measured().flat_map(|(asked, step)| {
                    let subject = suite.subject_of(asked).map(words_of).unwrap_or_default();
                    let latencies = latencies_of(step, terms).into_iter();
                    latencies.map(move |own| Latencies {
                        name: format!("{subject}: {}", own.name),
                        ..own
                    })
                }))
            }
            Shown::Suite(suite) if suite.steps.iter().any(|step| step.place.round.is_some()) => {
                merged(rounds::counted(suite).flat_map(|(_, step)| latencies_of(step, terms)))
            }
            _ => self.steps().into_iter().flat_map(|step| latencies_of(step, terms)).collect(),
        }
    }
}

/// Names a subject of a comparison: `B (ioengine=libaio)`.
fn words_of(subject: &CompareSubject) -> String {
    format!("{} ({})", subject.name, subject.about)
}

/// Returns one side of a comparison as a capacity of its own; its limits are those that were judged.
fn side<'a>(label: &'a str, side: &'a BesideSide, terms: Terms) -> Capacity<'a> {
    let mut curve = side.curve.clone();
    curve.sort_by_key(|point| point.queue_depth);
    Capacity {
        label,
        limits: side.answer.limits.iter().map(|value| value.limit).collect(),
        answer: &side.answer,
        knee: None,
        curve: Cow::Owned(curve),
        terms,
    }
}

/// Returns the latencies of each program in all its rounds.
fn latencies_of_sides(check: &CrosscheckDocument) -> Vec<Latencies<'_>> {
    let fio = check.head.via.as_ref().map_or("fio", |via| via.version.as_str());
    let of_side = |(side, name): (Side, &str)| {
        let mut histogram = Histogram::new();
        let rounds = check.sides.iter().zip(&check.steps).filter(|(own, _)| **own == side);
        rounds.for_each(|(_, step)| histogram.merge(&step.service_histogram()));
        let (counted, histogram) = (Terms::DEVICE.words.ios(), Cow::Owned(histogram));
        let latencies = Latencies { name: name.to_owned(), counted, histogram };
        (latencies.histogram.count() > 0).then_some(latencies)
    };
    [(Side::Iogauge, "iogauge"), (Side::Fio, fio)].into_iter().filter_map(of_side).collect()
}

/// Merges latencies with the same name.
fn merged<'a>(all: impl Iterator<Item = Latencies<'a>>) -> Vec<Latencies<'a>> {
    let mut merged: Vec<Latencies<'a>> = Vec::new();
    for latencies in all {
        match merged.iter_mut().find(|known| known.name == latencies.name) {
            Some(known) => known.histogram.to_mut().merge(&latencies.histogram),
            None => merged.push(latencies),
        }
    }
    merged
}

fn latencies_of(step: &StepResult, terms: Terms) -> Vec<Latencies<'_>> {
    let directions = [&step.read, &step.write, &step.sync];
    let present: Vec<(&str, &Histogram)> = terms
        .sides()
        .into_iter()
        .zip(directions)
        .filter_map(|(word, direction)| Some((word, &direction.as_ref()?.service_histogram)))
        .filter(|(_, histogram)| histogram.count() > 0)
        .collect();
    let both = present.len() > 1;
    let name = |word: &str| {
        if both { format!("{}, {word}", step.label) } else { step.label.clone() }
    };
    let latencies = |(word, histogram)| Latencies {
        name: name(word),
        counted: terms.words.ios(),
        histogram: Cow::Borrowed(histogram),
    };
    present.into_iter().map(latencies).collect()
}
