//! Results of a suite: its steps, their places in the suite, tables, and conclusions.

use super::{
    CheckResult, CompareSetup, CompareSubject, Environment, Head, RunDocument, Search, StepResult,
    TargetFacts, Workload,
};
use crate::caveat::Caveat;
use crate::plan::Step;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// The place of a step in its suite.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct StepPlace {
    /// Identifies the step in its suite. It is the same in every run of the suite with the same options:
    /// `readrand 8k 16 users`.
    pub key: String,
    /// Phase of the suite that the step belongs to: `readrand`, `precondition`, `rounds`.
    pub phase: String,
    /// Round of a phase with rounds, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub round: Option<u32>,
}

impl StepPlace {
    /// Phase of steps that only prepare the target and measure nothing.
    pub const INIT: &str = "init";
}

/// The result of a step of a suite.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SuiteOutcome {
    /// Jobs at a fixed concurrency or rate.
    Step(Box<StepResult>),
    /// A search for the capacity.
    Search(Box<Search>),
}

/// A step of a suite.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct SuiteStepResult {
    /// Place of the step in the suite.
    #[serde(flatten)]
    pub place: StepPlace,
    /// Start, RFC 3339 in UTC.
    pub started: String,
    /// Number of times the run had been resumed before this step.
    #[serde(default)]
    pub part: u32,
    /// The step requested; for a search, the workload at queue depth 1.
    pub asked: Step,
    /// The result.
    pub result: SuiteOutcome,
    /// The check of the step's requirement, in `iogauge check`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<Box<CheckResult>>,
    /// Reasons why the figures may mislead.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub caveats: Vec<Caveat>,
    /// True if the user interrupted the step.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub interrupted: bool,
}

impl SuiteStepResult {
    /// Returns the result of a step that is not a search.
    #[must_use]
    pub fn step(&self) -> Option<&StepResult> {
        match &self.result {
            SuiteOutcome::Step(step) => Some(step),
            SuiteOutcome::Search(_) => None,
        }
    }

    /// Returns the result of a search.
    #[must_use]
    pub fn search(&self) -> Option<&Search> {
        match &self.result {
            SuiteOutcome::Search(search) => Some(search),
            SuiteOutcome::Step(_) => None,
        }
    }
}

/// A table value with its kind, which text and spreadsheets format differently.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cell {
    /// Empty.
    Empty,
    /// Text.
    Text(String),
    /// A number without a unit.
    Count(u64),
    /// I/Os per second.
    Iops(f64),
    /// Bytes per second.
    BytesPerSec(f64),
    /// A size in bytes.
    SizeBytes(u64),
    /// A latency in nanoseconds.
    LatencyNs(f64),
    /// A percentage.
    Percent(f64),
    /// Ratio of two figures.
    Ratio(f64),
}

/// A column of a table.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct TableColumn {
    /// Heading.
    pub title: String,
    /// True for text, which is aligned to the left. Figures are aligned to the right.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub words: bool,
}

/// A table.
#[derive(Debug, Clone, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Table {
    /// Title.
    pub title: String,
    /// Columns. The first one identifies the rows.
    pub columns: Vec<TableColumn>,
    /// Rows, with one cell per column.
    pub rows: Vec<Vec<Cell>>,
    /// Notes for the reader, one sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

impl Table {
    /// Creates a table without rows. A heading that begins with `#` is for a column of text, and is shown
    /// without the `#`.
    #[must_use]
    pub fn new(title: impl Into<String>, headings: &[&str]) -> Self {
        let column = |heading: &&str| TableColumn {
            title: heading.trim_start_matches('#').to_owned(),
            words: heading.starts_with('#'),
        };
        let columns = headings.iter().map(column).collect();
        Self { title: title.into(), columns, rows: Vec::new(), notes: Vec::new() }
    }

    /// Adds a row.
    pub fn row(&mut self, cells: impl IntoIterator<Item = Cell>) {
        let row: Vec<Cell> = cells.into_iter().collect();
        debug_assert_eq!(row.len(), self.columns.len());
        self.rows.push(row);
    }
}

/// A table at the end of a suite.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SuiteTable {
    /// The classic table of the suite, made from the figures of its steps.
    Classic,
    /// A table that the suite defines.
    Own(Table),
}

/// Conclusions of a suite.
#[derive(Debug, Clone, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Conclusion {
    /// The verdict. Lists show only its first sentence; the others explain it.
    pub verdict: Vec<String>,
    /// Tables.
    pub tables: Vec<SuiteTable>,
    /// The figures that the verdict is based on, for programs. Each suite documents its own.
    pub findings: Value,
}

/// The suite and its options.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct SuiteAsked {
    /// Name of the suite; for a suite file of the user, its path.
    pub name: String,
    /// Options as typed, and those chosen at random for the run.
    pub options: BTreeMap<String, String>,
}

impl SuiteAsked {
    /// The name of what `iogauge check` measures.
    pub const CHECK: &str = "check";
    /// The name of what `iogauge hosts-curve` measures.
    pub const HOSTS_CURVE: &str = "hosts-curve";
    /// The name of what `iogauge compare` measures.
    pub const COMPARE: &str = "compare";
    /// The option with the number of hosts of such a run.
    pub const HOSTS: &str = "hosts";
    /// The option with a digest of the user's suite file, to detect changes.
    pub const CONTENT: &str = "content";
}

/// A planned step, not yet run.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct PlannedStep {
    /// Place of the step in the suite.
    #[serde(flatten)]
    pub place: StepPlace,
    /// Short description of the step.
    pub label: String,
    /// Duration in seconds; `None` if the step ends after a number of bytes.
    pub seconds: Option<f64>,
    /// Bytes to write; `None` if the number depends on the target's speed.
    pub written_bytes: Option<u64>,
}

/// The document of `iogauge suite … --dry-run`: the longest course that the suite can take.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct SuitePlanDocument {
    /// Name and version of the format: [`super::SUITE_PLAN_FORMAT`].
    pub format: String,
    /// The suite and its options.
    pub suite: SuiteAsked,
    /// The target.
    pub target: TargetFacts,
    /// The steps, in order.
    pub steps: Vec<PlannedStep>,
    /// Total duration of the steps whose duration is known, in seconds.
    pub seconds: f64,
    /// Total bytes written by the steps for which the number is known.
    pub written_bytes: u64,
    /// Total duration of the steps whose written bytes depend on the target's speed, in seconds.
    pub writing_seconds: f64,
}

impl SuitePlanDocument {
    /// Creates a plan and computes its totals.
    #[must_use]
    pub fn new(suite: SuiteAsked, target: TargetFacts, steps: Vec<PlannedStep>) -> Self {
        let writing = steps.iter().filter(|step| step.written_bytes.is_none());
        Self {
            format: super::SUITE_PLAN_FORMAT.to_owned(),
            suite,
            target,
            seconds: steps.iter().filter_map(|step| step.seconds).sum::<f64>() + 0.0,
            written_bytes: steps.iter().filter_map(|step| step.written_bytes).sum(),
            // The sum of no times is -0.0.
            writing_seconds: writing.filter_map(|step| step.seconds).sum::<f64>() + 0.0,
            steps,
        }
    }
}

/// The document of `iogauge suite`.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct SuiteDocument {
    /// Format, version, run, target. The workload has a `label` and [`SuiteAsked`].
    #[serde(flatten)]
    pub head: Head,
    /// The suite and its options.
    pub suite: SuiteAsked,
    /// What was compared, if the suite is a comparison. The phase of a step is the name of its subject.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub subjects: Vec<CompareSubject>,
    /// The commands that ran before turns of a comparison.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub setups: Vec<CompareSetup>,
    /// Steps in the order they ran.
    pub steps: Vec<SuiteStepResult>,
    /// Conclusions.
    #[serde(flatten)]
    pub conclusion: Conclusion,
    /// Planned steps that did not run, because the suite or the user ended the run before them.
    pub steps_left: u32,
    /// Number of times the run was resumed after an interruption.
    pub resumed: u32,
    /// True if the run ended early.
    pub interrupted: bool,
    /// Reasons why the result may mislead.
    pub caveats: Vec<Caveat>,
    /// The machine.
    pub environment: Environment,
}

impl SuiteDocument {
    /// Returns the steps measured at a fixed concurrency or rate, without searches and preparation.
    pub fn measured(&self) -> impl Iterator<Item = (&SuiteStepResult, &StepResult)> {
        let measuring = self.steps.iter().filter(|step| step.place.phase != StepPlace::INIT);
        measuring.filter_map(|step| Some((step, step.step()?)))
    }

    /// Returns the subject of a step, if the suite is a comparison.
    #[must_use]
    pub fn subject_of(&self, step: &SuiteStepResult) -> Option<&CompareSubject> {
        self.subjects.iter().find(|subject| subject.name == step.place.phase)
    }

    /// Returns the target of a step.
    #[must_use]
    pub fn target_of(&self, step: &SuiteStepResult) -> &TargetFacts {
        self.subject_of(step).map_or(&self.head.target, |subject| &subject.target)
    }

    /// Returns a name of a step with the subject, if the suite is a comparison: `block 1 turn 2: B, NAME`.
    #[must_use]
    pub fn named(&self, step: &SuiteStepResult, name: &str) -> String {
        match self.subject_of(step) {
            Some(_) => format!("{}, {name}", step.place.key),
            None => name.to_owned(),
        }
    }

    /// Converts the suite to a run, for formats without suites. Searches and preparation are left out. The targets of the
    /// steps are those of [`Self::target_of`].
    #[must_use]
    pub fn as_run(&self) -> RunDocument {
        let of_step = |(step, result): (&SuiteStepResult, &StepResult)| {
            let (mut asked, mut result) = (step.asked.clone(), result.clone());
            asked.jobs.iter_mut().for_each(|job| job.name = self.named(step, &job.name));
            result.label = self.named(step, &result.label);
            (asked, result)
        };
        let (asked, steps) = self.measured().map(of_step).unzip();
        let load = Workload::Steps { label: self.suite.name.clone(), steps: asked };
        let head = Head { load, ..self.head.clone() };
        RunDocument {
            head,
            steps,
            interrupted: self.interrupted,
            caveats: self.caveats.clone(),
            environment: self.environment.clone(),
        }
    }
}
