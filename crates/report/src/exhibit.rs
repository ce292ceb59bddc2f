//! What is shown: runs as the history keeps them, in the form that panels draw.

use crate::classic::{Row, planned, rows_of_find, rows_of_step};
use iogauge_model::Histogram;
use iogauge_model::limit::Limit;
use iogauge_model::plan::Job;
use iogauge_model::result::{
    Answer, CurvePoint, Environment, FIND_FORMAT, FindDocument, Head, Knee, PROFILE_FORMAT,
    ProfileDocument, RUN_FORMAT, RunDocument, SUITE_FORMAT, StepResult, SuiteDocument,
};
use serde_json::Value;

/// A run that is shown.
#[derive(Debug, Clone, PartialEq)]
pub struct Exhibit {
    /// Whose storage was measured: what figures are grouped by.
    pub system: String,
    /// What it did.
    pub document: Shown,
}

/// What the run did.
#[derive(Debug, Clone, PartialEq)]
pub enum Shown {
    /// Loads as given; results of fio as well.
    Run(Box<RunDocument>),
    /// A search for a capacity.
    Find(Box<FindDocument>),
    /// A suite.
    Suite(Box<SuiteDocument>),
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
    /// The row.
    pub row: Row,
    /// I/Os that were outstanding at once, as asked.
    pub depth: u32,
}

/// A capacity that was searched for.
#[derive(Debug, Clone, Copy)]
pub struct Capacity<'a> {
    /// What was asked, where there are several.
    pub label: &'a str,
    /// Bounds searched under.
    pub limits: &'a [Limit],
    /// What was found.
    pub answer: &'a Answer,
    /// The knee of the curve, where it has one.
    pub knee: Option<Knee>,
    /// Points measured, by rising depth.
    pub curve: &'a [CurvePoint],
}

/// Latencies of one direction of one step.
#[derive(Debug, Clone)]
pub struct Latencies<'a> {
    /// What they are of: `randread 8 KiB depth 16, read`.
    pub name: String,
    /// All of them.
    pub histogram: &'a Histogram,
}

impl Exhibit {
    /// A document by its format. The system is the host it ran on, else the target.
    ///
    /// # Errors
    /// Where there is no picture of it.
    pub fn of(document: Value) -> Result<Self, ExhibitError> {
        let format = document.get("format").and_then(Value::as_str).unwrap_or("a document");
        let shown = match format {
            RUN_FORMAT => Shown::Run(Box::new(serde_json::from_value(document)?)),
            FIND_FORMAT => Shown::Find(Box::new(serde_json::from_value(document)?)),
            SUITE_FORMAT => Shown::Suite(Box::new(serde_json::from_value(document)?)),
            PROFILE_FORMAT => Shown::Profile(Box::new(serde_json::from_value(document)?)),
            other => return Err(ExhibitError::Format(other.to_owned())),
        };
        let mut exhibit = Self { system: String::new(), document: shown };
        let host = &exhibit.environment().host;
        exhibit.system = if host.is_empty() { exhibit.target() } else { host.clone() };
        Ok(exhibit)
    }

    /// Where it ran.
    #[must_use]
    pub fn environment(&self) -> &Environment {
        match &self.document {
            Shown::Run(run) => &run.environment,
            Shown::Find(find) => &find.environment,
            Shown::Suite(suite) => &suite.environment,
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
            Shown::Profile(profile) => &profile.head,
        }
    }

    /// The target by name.
    #[must_use]
    pub fn target(&self) -> String {
        crate::terminal::target_name(&self.head().target)
    }

    /// Where it was measured: the target and the system, the latter where it is not the same.
    #[must_use]
    pub fn place(&self) -> String {
        let target = self.target();
        if target == self.system { target } else { format!("{target}, {}", self.system) }
    }

    /// Steps at a fixed concurrency or rate, those that only make ready left out.
    #[must_use]
    pub fn steps(&self) -> Vec<&StepResult> {
        match &self.document {
            Shown::Run(run) => run.steps.iter().collect(),
            Shown::Find(_) | Shown::Profile(_) => Vec::new(),
            Shown::Suite(suite) => suite.measured().map(|(_, step)| step).collect(),
        }
    }

    /// A row for each direction of each job of each step, and for each point of a curve.
    #[must_use]
    pub fn samples(&self) -> Vec<Sample> {
        let place = self.place();
        let sample = |row, depth| Sample { place: place.clone(), row, depth };
        let of_step = |step: &StepResult, jobs: &[Job]| {
            let rows = rows_of_step(step, jobs, &self.system).into_iter();
            rows.map(|row| sample(row, step.depth)).collect::<Vec<_>>()
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
                .map(|(row, point)| sample(Row { users: None, ..row }, point.depth))
                .collect(),
            Shown::Profile(_) => Vec::new(),
        }
    }

    /// Capacities that were searched for.
    #[must_use]
    pub fn capacities(&self) -> Vec<Capacity<'_>> {
        match &self.document {
            Shown::Run(_) | Shown::Profile(_) => Vec::new(),
            Shown::Find(find) => vec![Capacity {
                label: "",
                limits: &find.limits,
                answer: &find.answer,
                knee: find.knee,
                curve: &find.curve,
            }],
            Shown::Suite(suite) => {
                let searches = suite.steps.iter().filter_map(|step| Some((step, step.search()?)));
                searches
                    .map(|(step, search)| Capacity {
                        label: &step.place.key,
                        limits: &search.limits,
                        answer: &search.answer,
                        knee: search.knee,
                        curve: &search.curve,
                    })
                    .collect()
            }
        }
    }

    /// Latencies of each direction of each step, where they were kept.
    #[must_use]
    pub fn latencies(&self) -> Vec<Latencies<'_>> {
        self.steps().into_iter().flat_map(latencies_of).collect()
    }
}

fn latencies_of(step: &StepResult) -> Vec<Latencies<'_>> {
    let directions = [("read", &step.read), ("write", &step.write), ("sync", &step.sync)];
    let present: Vec<(&str, &Histogram)> = directions
        .into_iter()
        .filter_map(|(word, direction)| Some((word, &direction.as_ref()?.service_histogram)))
        .filter(|(_, histogram)| histogram.count() > 0)
        .collect();
    let both = present.len() > 1;
    let name = |word: &str| {
        if both { format!("{}, {word}", step.label) } else { step.label.clone() }
    };
    let latencies = |(word, histogram)| Latencies { name: name(word), histogram };
    present.into_iter().map(latencies).collect()
}
