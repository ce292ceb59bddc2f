//! What a suite measured: its steps with their places, its tables, and what it makes of them.

use super::{
    Answer, CurvePoint, Environment, Head, IntervalPoint, Knee, PerformanceShift, RunDocument,
    StepResult, SystemPoint, TargetFacts, Workload,
};
use crate::caveat::Caveat;
use crate::limit::Limit;
use crate::plan::Step;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// Where a step stands in its suite.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct StepPlace {
    /// Tells the step from every other one of its suite, the same in every run of the suite with
    /// the same options: `readrand 8k 16 users`.
    pub key: String,
    /// Part of the suite the step belongs to: `readrand`, `precondition`, `rounds`.
    pub phase: String,
    /// Round of a part that goes in rounds, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub round: Option<u32>,
}

impl StepPlace {
    /// Phase of steps that only make the target ready, and measure nothing.
    pub const INIT: &str = "init";
}

/// What a search within a suite found.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct SearchResult {
    /// Bounds searched under.
    pub limits: Vec<Limit>,
    /// The capacity.
    pub answer: Answer,
    /// The knee of the curve, where it has one.
    pub knee: Option<Knee>,
    /// Points measured, by rising depth.
    pub curve: Vec<CurvePoint>,
    /// The search over time, between its points as well; empty in results of versions that did not keep
    /// it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub series: Vec<IntervalPoint>,
    /// Performance shifts that the search lived through; answer and curve are those after the
    /// last.
    #[serde(default, rename = "regimes", skip_serializing_if = "Vec::is_empty")]
    pub shifts: Vec<PerformanceShift>,
    /// Time spent measuring, in seconds.
    pub measured_seconds: f64,
    /// The machine's figures over the whole search; empty in results of versions that did not keep
    /// them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub system: Vec<SystemPoint>,
}

/// What came of a step.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SuiteOutcome {
    /// Jobs at a fixed concurrency or rate.
    Step(Box<StepResult>),
    /// A search for the capacity.
    Search(Box<SearchResult>),
}

/// One step of a suite.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct SuiteStepResult {
    /// Where it stands.
    #[serde(flatten)]
    pub place: StepPlace,
    /// When it began, RFC 3339 in UTC.
    pub started: String,
    /// How often the run had been taken up again before it.
    #[serde(default)]
    pub part: u32,
    /// What was asked; of a search the load at depth 1.
    pub asked: Step,
    /// What came of it.
    pub result: SuiteOutcome,
    /// Reasons to doubt its figures.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub caveats: Vec<Caveat>,
    /// True where the user ended it before its time.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub interrupted: bool,
}

impl SuiteStepResult {
    /// The figures of a step that is no search.
    #[must_use]
    pub fn step(&self) -> Option<&StepResult> {
        match &self.result {
            SuiteOutcome::Step(step) => Some(step),
            SuiteOutcome::Search(_) => None,
        }
    }

    /// What a search found.
    #[must_use]
    pub fn search(&self) -> Option<&SearchResult> {
        match &self.result {
            SuiteOutcome::Search(search) => Some(search),
            SuiteOutcome::Step(_) => None,
        }
    }
}

/// A value in a table, with what it is: text and spreadsheets show it each in their way.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cell {
    /// Nothing to show.
    Empty,
    /// Words.
    Text(String),
    /// A number of things.
    Count(u64),
    /// I/Os per second.
    Iops(f64),
    /// Bytes per second.
    BytesPerSec(f64),
    /// A size in bytes.
    SizeBytes(u64),
    /// A latency in nanoseconds.
    LatencyNs(f64),
    /// A share in percent.
    Percent(f64),
    /// How many times one figure is of another.
    Ratio(f64),
}

/// A column of a table.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct TableColumn {
    /// Its heading.
    pub title: String,
    /// True for words, which stand left; figures stand right.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub words: bool,
}

/// Rows of figures under headings.
#[derive(Debug, Clone, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Table {
    /// What it shows.
    pub title: String,
    /// Its columns; the first one tells the rows apart.
    pub columns: Vec<TableColumn>,
    /// Its rows, with a cell for each column.
    pub rows: Vec<Vec<Cell>>,
    /// What has to be known to read it, a sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

impl Table {
    /// A table without rows. Headings that begin with `#` are of columns of words, and shown without
    /// it.
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

/// A table a suite closes with.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SuiteTable {
    /// The classic table of the suite's steps, made of their figures.
    Classic,
    /// A table of the suite's own.
    Own(Table),
}

/// What a suite makes of its steps.
#[derive(Debug, Clone, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Conclusion {
    /// The verdict: its first sentence stands alone in lists, the others say more.
    pub verdict: Vec<String>,
    /// Its tables.
    pub tables: Vec<SuiteTable>,
    /// The figures the verdict rests on, for programs; each suite documents its own.
    pub findings: Value,
}

/// Which suite ran, and how it was asked.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct SuiteAsked {
    /// Its name; the path of one of the user's own.
    pub name: String,
    /// Options that were typed, as they were typed, and those drawn for the run.
    pub options: BTreeMap<String, String>,
}

impl SuiteAsked {
    /// The option that tells the text of a file of the user's own from another one.
    pub const CONTENT: &str = "content";
}

/// A step of a plan that has not run.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct PlannedStep {
    /// Where it stands.
    #[serde(flatten)]
    pub place: StepPlace,
    /// What is asked, in a few words.
    pub label: String,
    /// Time it takes, in seconds; `None` where it ends when its bytes are moved.
    pub seconds: Option<f64>,
    /// Bytes it writes; `None` where it writes what the target takes in its time.
    pub written_bytes: Option<u64>,
}

/// The document of `iogauge suite … --dry-run`: the longest course a suite can take.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct SuitePlanDocument {
    /// Format word with version: [`super::SUITE_PLAN_FORMAT`].
    pub format: String,
    /// Which suite, and how asked.
    pub suite: SuiteAsked,
    /// What it would run on.
    pub target: TargetFacts,
    /// Its steps, in order.
    pub steps: Vec<PlannedStep>,
    /// Time of those steps whose time is known, in seconds.
    pub seconds: f64,
    /// Bytes written by those steps whose bytes are known.
    pub written_bytes: u64,
    /// Time of the steps that write what the target takes, in seconds.
    pub writing_seconds: f64,
}

impl SuitePlanDocument {
    /// A plan with its sums.
    #[must_use]
    pub fn new(suite: SuiteAsked, target: TargetFacts, steps: Vec<PlannedStep>) -> Self {
        let writing = steps.iter().filter(|step| step.written_bytes.is_none());
        Self {
            format: super::SUITE_PLAN_FORMAT.to_owned(),
            suite,
            target,
            seconds: steps.iter().filter_map(|step| step.seconds).sum(),
            written_bytes: steps.iter().filter_map(|step| step.written_bytes).sum(),
            writing_seconds: writing.filter_map(|step| step.seconds).sum(),
            steps,
        }
    }
}

/// The document of `iogauge suite`.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct SuiteDocument {
    /// Format, version, run, target; the load is [`SuiteAsked`] with a `label`.
    #[serde(flatten)]
    pub head: Head,
    /// Which suite, and how asked.
    pub suite: SuiteAsked,
    /// Steps in the order they ran.
    pub steps: Vec<SuiteStepResult>,
    /// What it makes of them.
    #[serde(flatten)]
    pub conclusion: Conclusion,
    /// Steps of the plan that were not run: the suite ended before them, or the user did.
    pub steps_left: u32,
    /// How often the run was taken up again after an interruption.
    pub resumed: u32,
    /// True where the run ended before its time.
    pub interrupted: bool,
    /// Reasons to doubt the result.
    pub caveats: Vec<Caveat>,
    /// Where it ran.
    pub environment: Environment,
}

impl SuiteDocument {
    /// The steps that measured at a fixed concurrency or rate: without searches, and without what only
    /// made the target ready.
    pub fn measured(&self) -> impl Iterator<Item = (&SuiteStepResult, &StepResult)> {
        let measuring = self.steps.iter().filter(|step| step.place.phase != StepPlace::INIT);
        measuring.filter_map(|step| Some((step, step.step()?)))
    }

    /// The steps as a run of steps, for formats that know no suites; searches are left out, and what
    /// only made the target ready.
    #[must_use]
    pub fn as_run(&self) -> RunDocument {
        let (asked, steps) =
            self.measured().map(|(step, result)| (step.asked.clone(), result.clone())).unzip();
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
