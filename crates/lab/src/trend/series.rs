//! Kept runs as a series: those with an answer of the same kind, in time order.

use crate::history::{History, HistoryError, IMPORT, KeptResult, RunRef, RunRow, RunState};
use iogauge_model::Limit;
use iogauge_model::load::{EngineKind, Load};
use iogauge_model::result::{
    Answer, DirectionResult, Environment, Head, LatencySummary, TrendFailed, TrendFailure,
    TrendLeftOut, TrendMetric, Workload,
};
use serde::Deserialize;

/// Why a damaged run is left out.
const DAMAGED: &str = "what is kept of them is damaged";
/// Exit code of a run in which I/Os failed.
const IO_ERRORS: i32 = 4;

/// A run of a series with its values.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    /// Name of the run.
    pub run_id: String,
    /// Its start, RFC 3339 in UTC.
    pub started: String,
    /// Its target as typed.
    pub target: String,
    /// Its label.
    pub label: Option<String>,
    /// Each metric with its 95 % CI, in the order of [`TrendMetric::ALL`].
    values: [Option<(f64, Option<[f64; 2]>)>; TrendMetric::ALL.len()],
}

impl Measured {
    /// Returns a metric with its 95 % CI; `None` if the run does not have it.
    #[must_use]
    pub fn value(&self, metric: TrendMetric) -> Option<(f64, Option<[f64; 2]>)> {
        let place = TrendMetric::ALL.iter().position(|(own, ..)| *own == metric)?;
        // A value of 0 has no logarithm.
        self.values[place].filter(|(value, _)| value.is_finite() && *value > 0.0)
    }
}

/// Runs of one command with the same workload and limits, in the order in which they began.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// The head of the newest run's document.
    pub head: Head,
    /// The command.
    pub kind: String,
    /// Limits of the searches.
    pub limits: Vec<Limit>,
    /// The runs; at least one.
    pub runs: Vec<Measured>,
    /// Runs of the series without an answer, in the same order; `after` counts `runs`.
    pub failed: Vec<TrendFailed>,
    /// Selected runs that are not in the series, and those without an answer.
    pub left_out: Vec<TrendLeftOut>,
    /// The machine of the newest run.
    pub environment: Environment,
}

impl Series {
    /// Reads the series to which the newest of the runs belongs; with a target, only its runs.
    ///
    /// # Errors
    /// The history cannot be read, or has no such run, or none with an answer of its own.
    pub fn read(
        history: &History,
        runs: &[RunRef],
        target: Option<&str>,
    ) -> Result<Self, SeriesError> {
        let (mut left_out, mut damage) = (Vec::new(), None);
        let mut all: Vec<Kept> = Vec::new();
        for result in history.results(runs)? {
            let kept = match result {
                Ok(result) if target.is_some_and(|target| target != result.row.target) => continue,
                Ok(result) => Kept::of(result),
                Err(error @ HistoryError::Damaged { .. }) => {
                    damage = Some(error);
                    Err(DAMAGED)
                }
                Err(error) => return Err(error.into()),
            };
            match kept {
                Ok(kept) => all.push(kept),
                Err(reason) => leave_out(&mut left_out, 1, reason),
            }
        }
        // Runs of the same second stay in the order in which they were added.
        all.sort_by_key(|kept| kept.row.started);
        let newest = all.iter().rev().find(|kept| kept.values.is_ok()).cloned();
        let Some(newest) = newest else {
            return Err(damage.map_or_else(|| none(&all, &left_out, target), SeriesError::from));
        };
        let (mut series, mut failed) = (Vec::new(), Vec::new());
        for kept in all {
            if let Some(reason) = kept.differs_from(&newest) {
                leave_out(&mut left_out, 1, &reason);
                continue;
            }
            match kept.values {
                Ok(values) => series.push(measured(&kept.row, values)),
                Err(failure) => {
                    leave_out(&mut left_out, 1, reason_of(failure));
                    failed.push(failed_run(&kept.row, series.len(), failure));
                }
            }
        }
        let Kept { row, limits, .. } = newest;
        let document = history.show(&RunRef::Name(row.id.to_string()))?.document;
        let Newest { head, environment } = Deserialize::deserialize(&document.unwrap_or_default())
            .map_err(|source| HistoryError::Json { run: row.id, source })?;
        Ok(Self { head, kind: row.kind, limits, runs: series, failed, left_out, environment })
    }
}

/// Counts runs that are left out for a reason.
pub(super) fn leave_out(left_out: &mut Vec<TrendLeftOut>, runs: usize, reason: &str) {
    let runs = u32::try_from(runs).unwrap_or(u32::MAX);
    match left_out.iter_mut().find(|known| known.reason == reason) {
        _ if runs == 0 => {}
        Some(known) => known.runs += runs,
        None => left_out.push(TrendLeftOut { runs, reason: reason.to_owned() }),
    }
}

/// Why there is no series.
#[derive(Debug, thiserror::Error)]
pub enum SeriesError {
    /// The history.
    #[error(transparent)]
    History(#[from] HistoryError),
    /// No run of the target.
    #[error(
        "no run has the target {target}; hint: use the target as iogauge history list shows it"
    )]
    NoTarget {
        /// The target.
        target: String,
    },
    /// No run with an answer.
    #[error(
        "none of these runs has an answer of its own: {reasons}; hint: name runs of find, run, db find or db run that \
         have ended"
    )]
    NoAnswer {
        /// Why not.
        reasons: String,
    },
}

/// Returns why none of these runs begins a series.
fn none(all: &[Kept], left_out: &[TrendLeftOut], target: Option<&str>) -> SeriesError {
    let mut left_out = left_out.to_vec();
    for failure in all.iter().filter_map(|kept| kept.values.as_ref().err()) {
        leave_out(&mut left_out, 1, reason_of(*failure));
    }
    match target.filter(|_| left_out.is_empty()) {
        Some(target) => SeriesError::NoTarget { target: target.to_owned() },
        None => {
            let reasons: Vec<String> = left_out.into_iter().map(|left| left.reason).collect();
            SeriesError::NoAnswer { reasons: reasons.join("; ") }
        }
    }
}

/// What is needed of the document of a search or of a run. The rest, which is far larger, is skipped.
#[derive(Debug, Deserialize)]
struct Document {
    load: Workload,
    #[serde(default)]
    limits: Vec<Limit>,
    answer: Option<Answer>,
    #[serde(default)]
    steps: Vec<Step>,
}

/// What is needed of the document of the newest run.
#[derive(Debug, Deserialize)]
struct Newest {
    #[serde(flatten)]
    head: Head,
    #[serde(default)]
    environment: Environment,
}

/// What is needed of a step.
#[derive(Debug, Deserialize)]
struct Step {
    read: Option<DirectionResult>,
    write: Option<DirectionResult>,
}

/// A run of a command with a single answer.
#[derive(Debug, Clone)]
struct Kept {
    row: RunRow,
    /// The workload without what may differ within a series; `None` if it is not kept.
    load: Option<Workload>,
    limits: Vec<Limit>,
    /// The answer, or why there is none.
    values: Result<Values, TrendFailure>,
}

impl Kept {
    /// Reads the answer of a run, or returns why it belongs to no series.
    fn of(KeptResult { row, document, step }: KeptResult) -> Result<Self, &'static str> {
        let is_search = ["find", "db-find"].contains(&row.kind.as_str());
        if !is_search && !["run", "db-run", IMPORT].contains(&row.kind.as_str()) {
            return Err("they are of a command without a single answer");
        }
        if row.state == RunState::Running {
            return Err("they are in progress");
        }
        let document = document.map(|text| serde_json::from_str::<Document>(&text));
        let (mut document, mut values) = match document.transpose() {
            Ok(document) => (document, Err(TrendFailure::NotEnded)),
            Err(_) if row.state == RunState::Done => return Err(DAMAGED),
            Err(_) => (None, Err(TrendFailure::NotEnded)),
        };
        if let Some(document) = document.as_mut().filter(|_| row.state == RunState::Done) {
            if let Some(step) = step {
                document.steps = vec![serde_json::from_str(&step).map_err(|_| DAMAGED)?];
            }
            values = document.values()?;
        }
        if row.state == RunState::Done && row.exit_code == Some(IO_ERRORS) {
            values = Err(TrendFailure::IoErrors);
        }
        let (load, limits) = document.map_or((None, Vec::new()), |document| {
            (Some(comparable(document.load, is_search)), document.limits)
        });
        Ok(Self { row, load, limits, values })
    }

    /// Returns why this run and the newest one are not of one series.
    fn differs_from(&self, newest: &Self) -> Option<String> {
        if self.row.kind != newest.row.kind {
            return Some(format!("they are of another command, {}", self.row.kind));
        }
        if self.row.load != newest.row.load {
            return Some(format!("they have another load, {}", self.row.load));
        }
        let is_same =
            self.load.is_none() || (self.load == newest.load && self.limits == newest.limits);
        (!is_same).then(|| "they have other options of the load".to_owned())
    }
}

impl Document {
    /// Returns the answer, or why there is none. The outer error is why the run belongs to no series.
    fn values(&self) -> Result<Result<Values, TrendFailure>, &'static str> {
        Ok(match (&self.answer, self.steps.as_slice()) {
            (Some(answer), _) if answer.is_given() && !answer.is_empty() => Ok(of_search(answer)),
            (None, [step]) => of_step(step).ok_or(TrendFailure::NoAnswer),
            (Some(_), _) => Err(TrendFailure::NoAnswer),
            (None, _) => return Err("they have several steps"),
        })
    }
}

fn measured(row: &RunRow, values: Values) -> Measured {
    Measured {
        run_id: row.id.to_string(),
        started: row.started.to_string(),
        target: row.target.clone(),
        label: row.label.as_ref().map(ToString::to_string),
        values,
    }
}

fn failed_run(row: &RunRow, after: usize, failure: TrendFailure) -> TrendFailed {
    TrendFailed {
        run_id: row.id.to_string(),
        started: row.started.to_string(),
        target: row.target.clone(),
        after: u32::try_from(after).unwrap_or(u32::MAX),
        failure,
    }
}

fn reason_of(failure: TrendFailure) -> &'static str {
    match failure {
        TrendFailure::NoAnswer => "they found no answer",
        TrendFailure::IoErrors => "I/Os failed in them",
        TrendFailure::NotEnded => "they did not end",
    }
}

/// Returns a workload as it was requested: without its random numbers, the engine, which depends on the machine, and the
/// rate that a search found.
fn comparable(load: Workload, is_search: bool) -> Workload {
    let plain = |load: &mut Load| {
        (load.seed, load.engine) = (0, EngineKind::Sim);
        if let Some(arrivals) = load.arrivals.as_mut().filter(|_| is_search) {
            arrivals.rate_iops = 0.0;
        }
    };
    let mut load = load;
    match &mut load {
        Workload::Load(load) => plain(load),
        Workload::Database(load) => load.seed = 0,
        Workload::Jobs { jobs } => jobs.iter_mut().for_each(|job| plain(&mut job.load)),
        Workload::Steps { steps, .. } => {
            let jobs = steps.iter_mut().flat_map(|step| &mut step.jobs);
            jobs.for_each(|job| plain(&mut job.load));
        }
        Workload::Suite { .. } | Workload::Label { .. } | Workload::Other(_) => {}
    }
    load
}

type Values = [Option<(f64, Option<[f64; 2]>)>; TrendMetric::ALL.len()];

fn of_search(answer: &Answer) -> Values {
    let ci95 = (answer.iops.n >= 2).then_some(answer.iops.ci95);
    let bytes_per_io = answer.bytes_per_sec / answer.iops.mean;
    let bandwidth_ci95 = ci95.map(|ends| ends.map(|iops| iops * bytes_per_io));
    let [mean, p50, p99, p999] = of_latency(&answer.latency_ns);
    let (iops, bandwidth) = ((answer.iops.mean, ci95), (answer.bytes_per_sec, bandwidth_ci95));
    [Some(iops), Some(bandwidth), mean, p50, p99, p999]
}

fn of_latency(latency: &LatencySummary) -> [Option<(f64, Option<[f64; 2]>)>; 4] {
    let intervals = latency.percentiles_ci95.unwrap_or_default();
    let percentile = |value: u64, [low, high]: [Option<u64>; 2]| {
        let ci95 = low.zip(high).map(|(low, high)| [low as f64, high as f64]);
        Some((value as f64, ci95))
    };
    let has_interval = latency.mean_ci95[0] < latency.mean_ci95[1];
    [
        Some((latency.mean, has_interval.then_some(latency.mean_ci95))),
        percentile(latency.p50, intervals.p50),
        percentile(latency.p99, intervals.p99),
        percentile(latency.p999, intervals.p999),
    ]
}

/// Returns reads and writes together. There is no interval of their sum, because they are not independent.
fn of_step(step: &Step) -> Option<Values> {
    let moved: Vec<&DirectionResult> =
        step.read.iter().chain(&step.write).filter(|direction| direction.ios > 0).collect();
    let latency =
        |direction: &DirectionResult| direction.response_ns.unwrap_or(direction.service_ns);
    if let [only] = moved.as_slice() {
        let ci95 = (only.iops.n >= 2).then_some(only.iops.ci95);
        let [mean, p50, p99, p999] = of_latency(&latency(only));
        let bytes_per_io = only.bytes_per_sec / only.iops.mean;
        let bandwidth_ci95 = ci95.map(|ends| ends.map(|iops| iops * bytes_per_io));
        let (iops, bandwidth) = ((only.iops.mean, ci95), (only.bytes_per_sec, bandwidth_ci95));
        return Some([Some(iops), Some(bandwidth), mean, p50, p99, p999]);
    }
    let mut histogram = moved.first().map(|first| histogram_of(first).clone())?;
    moved[1..].iter().for_each(|other| histogram.merge(histogram_of(other)));
    let ios: f64 = moved.iter().map(|direction| direction.ios as f64).sum();
    let sum_ns: f64 =
        moved.iter().map(|direction| latency(direction).mean * direction.ios as f64).sum();
    let alone = |value: f64| Some((value, None));
    let percentile = |percent| alone(histogram.percentile_ns(percent) as f64);
    Some([
        alone(moved.iter().map(|direction| direction.iops.mean).sum()),
        alone(moved.iter().map(|direction| direction.bytes_per_sec).sum()),
        alone(sum_ns / ios),
        percentile(50.0),
        percentile(99.0),
        percentile(99.9),
    ])
}

fn histogram_of(direction: &DirectionResult) -> &iogauge_model::Histogram {
    direction.response_histogram.as_ref().unwrap_or(&direction.service_histogram)
}
