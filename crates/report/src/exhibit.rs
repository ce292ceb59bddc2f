//! What is shown: runs as the history keeps them, in the form that panels draw.

mod course;
mod rounds;
mod total;
mod traced;

pub use course::Timeline;
pub use total::{Access, Total};
pub use traced::{Traced, TracedDirection};

use crate::classic::{Row, planned, rows_of_find, rows_of_step};
use crate::terminal::{self, Terms};
use iogauge_model::limit::Limit;
use iogauge_model::plan::Job;
use iogauge_model::result::{
    Answer, BESIDE_FORMAT, BesideDocument, BesideSide, CROSSCHECK_FORMAT, CrosscheckDocument,
    CurvePoint, Environment, FIND_FORMAT, FindDocument, Head, Knee, PROFILE_FORMAT,
    ProfileDocument, RUN_FORMAT, RunDocument, SUITE_FORMAT, Side, StepResult, SuiteDocument,
};
use iogauge_model::{Caveat, Histogram};
use serde_json::Value;
use std::borrow::Cow;

/// A run that is shown.
#[derive(Debug, Clone, PartialEq)]
pub struct Exhibit {
    /// Whose storage was measured: what figures are grouped by.
    pub system: String,
    pub document: Shown,
}

/// What the run did.
#[derive(Debug, Clone, PartialEq)]
pub enum Shown {
    /// Loads as given; results of fio as well.
    Run(Box<RunDocument>),
    /// A search for a capacity.
    Find(Box<FindDocument>),
    Suite(Box<SuiteDocument>),
    /// One load by two programs.
    Crosscheck(Box<CrosscheckDocument>),
    /// A database beside its device.
    Beside(Box<BesideDocument>),
    /// The system alone.
    Profile(Box<ProfileDocument>),
}

/// Why a run cannot be shown.
#[derive(Debug, thiserror::Error)]
pub enum ExhibitError {
    /// No panel draws documents of this format.
    #[error("there is no picture of {0}")]
    Format(String),
    /// The document is not what its format says.
    #[error("the run cannot be read: {0}")]
    Document(#[from] serde_json::Error),
}

/// A row of the classic table, with what the table has no column for.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    /// Where it was measured.
    pub place: String,
    pub row: Row,
    /// I/Os that were outstanding at once, as asked.
    pub queue_depth: u32,
    /// I/Os per second that were asked for; `None` where each follows another.
    pub rate_iops: Option<f64>,
    /// The words of what was measured.
    pub(crate) terms: Terms,
}

/// A capacity that was searched for.
#[derive(Debug, Clone)]
pub struct Capacity<'a> {
    /// What was asked, where there are several.
    pub label: &'a str,
    /// Bounds searched under.
    pub limits: Cow<'a, [Limit]>,
    pub answer: &'a Answer,
    /// The knee of the curve, where it has one.
    pub knee: Option<Knee>,
    /// Points measured, by rising depth.
    pub curve: Cow<'a, [CurvePoint]>,
    /// The words of what was measured.
    pub(crate) terms: Terms,
}

/// Latencies of one direction of one step.
#[derive(Debug, Clone)]
pub struct Latencies<'a> {
    /// What they are of: `randread 8 KiB depth 16, reads`.
    pub name: String,
    /// What is counted: `I/Os`, `operations`.
    pub counted: &'static str,
    /// All of them.
    pub histogram: Cow<'a, Histogram>,
}

/// What runs have in common that are drawn together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GroupBy {
    /// The system whose storage was measured.
    System,
    Target,
    /// What was asked of it.
    Label,
    /// Nothing: each run alone.
    Run,
}

/// Runs that are drawn together, beside those of other groups.
#[derive(Debug, Clone, PartialEq)]
pub struct Group {
    /// What they have in common.
    pub name: String,
    pub exhibits: Vec<Exhibit>,
}

/// Runs in groups, in the order in which each group's first run comes.
#[must_use]
pub fn grouped(exhibits: Vec<Exhibit>, by: GroupBy) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for exhibit in exhibits {
        let name = match by {
            GroupBy::System => exhibit.system.clone(),
            GroupBy::Target => exhibit.target(),
            GroupBy::Label => terminal::load_words(&exhibit.head().load),
            GroupBy::Run => exhibit.head().run_id.clone(),
        };
        match groups.iter_mut().find(|group| group.name == name) {
            Some(group) => group.exhibits.push(exhibit),
            None => groups.push(Group { name, exhibits: vec![exhibit] }),
        }
    }
    groups
}

impl Exhibit {
    /// A document by its format. The system is the host it ran on, else the one that an import names, else
    /// the target.
    ///
    /// # Errors
    /// Where there is no picture of it.
    pub fn of(document: Value) -> Result<Self, ExhibitError> {
        let format = document.get("format").and_then(Value::as_str).unwrap_or("a document");
        let shown = match format {
            RUN_FORMAT => Shown::Run(Box::new(serde_json::from_value(document)?)),
            FIND_FORMAT => Shown::Find(Box::new(serde_json::from_value(document)?)),
            SUITE_FORMAT => Shown::Suite(Box::new(serde_json::from_value(document)?)),
            CROSSCHECK_FORMAT => Shown::Crosscheck(Box::new(serde_json::from_value(document)?)),
            BESIDE_FORMAT => Shown::Beside(Box::new(serde_json::from_value(document)?)),
            PROFILE_FORMAT => Shown::Profile(Box::new(serde_json::from_value(document)?)),
            other => return Err(ExhibitError::Format(other.to_owned())),
        };
        let mut exhibit = Self { system: String::new(), document: shown };
        let host = &exhibit.environment().host;
        exhibit.system = match exhibit.imported_as() {
            _ if !host.is_empty() => host.clone(),
            Some(system) => system.to_owned(),
            None => exhibit.target(),
        };
        Ok(exhibit)
    }

    /// Where it ran.
    #[must_use]
    pub fn environment(&self) -> &Environment {
        match &self.document {
            Shown::Run(run) => &run.environment,
            Shown::Find(find) => &find.environment,
            Shown::Suite(suite) => &suite.environment,
            Shown::Crosscheck(check) => &check.environment,
            Shown::Beside(beside) => &beside.environment,
            Shown::Profile(profile) => &profile.environment,
        }
    }

    /// What the document begins with.
    #[must_use]
    pub fn head(&self) -> &Head {
        match &self.document {
            Shown::Run(run) => &run.head,
            Shown::Find(find) => &find.head,
            Shown::Suite(suite) => &suite.head,
            Shown::Crosscheck(check) => &check.head,
            Shown::Beside(beside) => &beside.head,
            Shown::Profile(profile) => &profile.head,
        }
    }

    /// Its reasons for doubt, and its notes.
    #[must_use]
    pub fn caveats(&self) -> &[Caveat] {
        match &self.document {
            Shown::Run(run) => &run.caveats,
            Shown::Find(find) => &find.caveats,
            Shown::Suite(suite) => &suite.caveats,
            Shown::Crosscheck(check) => &check.caveats,
            Shown::Beside(beside) => &beside.caveats,
            Shown::Profile(profile) => &profile.caveats,
        }
    }

    /// The words of what was measured.
    pub(crate) fn terms(&self) -> Terms {
        Terms::of(self.head())
    }

    /// The target by name.
    #[must_use]
    pub fn target(&self) -> String {
        self.head().target.name().to_owned()
    }

    /// The system that an import names. The file is no target: a system's results are often in many.
    fn imported_as(&self) -> Option<&str> {
        self.head().target.imported_system()
    }

    /// Where it was measured: the target and the system, the latter where it is not the same.
    #[must_use]
    pub fn place(&self) -> String {
        let target = self.imported_as().map_or_else(|| self.target(), str::to_owned);
        if target == self.system { target } else { format!("{target}, {}", self.system) }
    }

    /// Steps at a fixed concurrency or rate, those that only make ready left out.
    #[must_use]
    pub fn steps(&self) -> Vec<&StepResult> {
        match &self.document {
            Shown::Run(run) => run.steps.iter().collect(),
            Shown::Find(_) | Shown::Beside(_) | Shown::Profile(_) => Vec::new(),
            Shown::Suite(suite) => suite.measured().map(|(_, step)| step).collect(),
            Shown::Crosscheck(check) => check.steps.iter().collect(),
        }
    }

    /// A row for each direction of each job of each step, and for each point of a curve.
    #[must_use]
    pub fn samples(&self) -> Vec<Sample> {
        let (place, terms) = (self.place(), self.terms());
        let sample = |row: Row, queue_depth, rate_iops| {
            // A picture of one direction has nothing of the other.
            let row = if row.shares_are_joint { Row { shares: None, ..row } } else { row };
            let row = if terms.is_database() { self.of_database(row) } else { row };
            Sample { place: place.clone(), row, queue_depth, rate_iops, terms }
        };
        let of_step = |step: &StepResult, jobs: &[Job]| {
            let rows = rows_of_step(step, jobs, &self.system).into_iter();
            rows.map(|row| sample(row, step.queue_depth, step.rate_iops)).collect::<Vec<_>>()
        };
        match &self.document {
            Shown::Run(run) => planned(run).flat_map(|(step, jobs)| of_step(step, &jobs)).collect(),
            Shown::Suite(suite) => {
                let steps = suite.measured();
                steps.flat_map(|(asked, step)| of_step(step, &asked.asked.jobs)).collect()
            }
            Shown::Find(find) => rows_of_find(find, &self.system)
                .into_iter()
                .zip(&find.curve)
                // A search has a depth, whoever keeps it.
                .map(|(row, point)| {
                    sample(Row { users: None, ..row }, point.queue_depth, point.rate_iops)
                })
                .collect(),
            // Rounds of one load are no growth of it, and two sides no one's rows.
            Shown::Crosscheck(_) | Shown::Beside(_) | Shown::Profile(_) => Vec::new(),
        }
    }

    /// A row named by what the processes of a database did, and not by how many they were.
    fn of_database(&self, row: Row) -> Row {
        let mode = self.head().load.database().map_or("database", |load| &load.mode);
        let [reads, updates, _] = self.terms().sides();
        let side = if row.side == 'r' { reads } else { updates };
        let test = if row.is_half { format!("{mode}, {side}") } else { mode.to_owned() };
        Row { test, is_half: false, ..row }
    }

    /// Capacities that were searched for.
    #[must_use]
    pub fn capacities(&self) -> Vec<Capacity<'_>> {
        match &self.document {
            Shown::Run(_) | Shown::Crosscheck(_) | Shown::Profile(_) => Vec::new(),
            Shown::Beside(beside) => {
                let database = beside.database.as_ref();
                let database = database.map(|own| side("the database", own, self.terms()));
                let device = side("the device", &beside.device, Terms::DEVICE);
                std::iter::once(device).chain(database).collect()
            }
            Shown::Find(find) => vec![Capacity {
                label: "",
                limits: Cow::Borrowed(&find.limits),
                answer: &find.answer,
                knee: find.knee,
                curve: Cow::Borrowed(&find.curve),
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

    /// Latencies of each direction of each step, where they were kept; of a suite that goes in rounds those of the
    /// rounds that count, together.
    #[must_use]
    pub fn latencies(&self) -> Vec<Latencies<'_>> {
        let terms = self.terms();
        match &self.document {
            Shown::Crosscheck(check) => latencies_of_sides(check),
            Shown::Suite(suite) if suite.steps.iter().any(|step| step.place.round.is_some()) => {
                merged(rounds::counted(suite).flat_map(|(_, step)| latencies_of(step, terms)))
            }
            _ => self.steps().into_iter().flat_map(|step| latencies_of(step, terms)).collect(),
        }
    }
}

/// A side of a comparison as a capacity of its own; its limits are those that were judged.
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

/// Latencies of each program in all its rounds.
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

/// Latencies of the same name as one.
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
