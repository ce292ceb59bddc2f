//! The steps of a file, one after the other, in one table.

use super::kit::{Column, NOTHING, Row, Total, judged, listed, table, whole, words};
use super::plan::{SuiteStep, Work};
use super::{Needs, Site, Suite, SuiteError};
use crate::search::SearchPlan;
use crate::session::{HostsUsed, Region};
use iogauge_model::limit::Side;
use iogauge_model::load::{EngineKind, Load};
use iogauge_model::plan::Job;
use iogauge_model::result::{
    Conclusion, Search, StepPlace, StepResult, SuiteStepResult, SuiteTable, Table,
};
use iogauge_model::units::Latency;
use iogauge_model::{Caveat, Limit, Step};
use serde_json::{Value, json};

/// Returns a digest of a file's text.
#[must_use]
pub fn content_word(text: &str) -> String {
    format!("{:016x}", xxhash_rust::xxh3::xxh3_64(text.as_bytes()))
}

/// Number of steps with broken limits that the verdict names.
const MOST_NAMED: usize = 3;

/// A step of a file.
#[derive(Debug, Clone, PartialEq)]
pub struct OwnStep {
    /// Line of the file in which it begins, from 1.
    pub line: usize,
    /// Its name in the file.
    pub name: String,
    /// Distinguishes it from every other step.
    pub key: String,
    /// A short description of its workloads.
    pub label: String,
    /// Its jobs, at least one; a search has one.
    pub jobs: Vec<OwnJob>,
    /// Ramp time before it, in nanoseconds.
    pub ramp_ns: u64,
    /// Measured time, in nanoseconds.
    pub runtime_ns: u64,
    /// Its latency limits.
    pub limits: Vec<Limit>,
    /// How to search for its capacity; `None` for a step without a search.
    pub find: Option<SearchPlan>,
}

impl OwnStep {
    /// Returns the step with each job's own engine.
    #[must_use]
    pub fn step(&self) -> Step {
        self.of_jobs(self.jobs.iter().map(|own| own.job.clone()).collect())
    }

    /// Returns the regions of its jobs.
    #[must_use]
    pub fn regions(&self) -> Vec<Region> {
        self.jobs.iter().map(|own| own.region.clone()).collect()
    }

    fn of_jobs(&self, jobs: Vec<Job>) -> Step {
        let (ramp_ns, runtime_ns) = (self.ramp_ns, self.runtime_ns);
        Step { label: self.label.clone(), jobs, ramp_ns, runtime_ns }.with_own_times()
    }

    /// Returns the workload of its first job.
    pub(super) fn load(&self) -> &Load {
        &self.jobs[0].job.load
    }
}

/// A job of a step.
#[derive(Debug, Clone, PartialEq)]
pub struct OwnJob {
    /// Its workload.
    pub job: Job,
    /// The engine from its options; `None` for that of the target.
    pub engine: Option<EngineKind>,
    /// Its region.
    pub region: Region,
}

/// A suite whose steps come from a file.
#[derive(Debug, Clone, PartialEq)]
pub struct Own {
    /// The file.
    pub path: String,
    /// What it measures, as the file says.
    pub about: Option<String>,
    /// Its requirements for the target.
    pub needs: Needs,
    /// Its steps, at least one, each with its own key.
    pub steps: Vec<OwnStep>,
}

impl Suite for Own {
    fn needs(&self) -> Needs {
        self.needs
    }

    fn plan(&self, site: &Site) -> Result<Vec<SuiteStep>, SuiteError> {
        self.steps.iter().map(|step| self.planned(step, site)).collect()
    }

    fn conclude(&self, _site: &Site, steps: &[SuiteStepResult]) -> (Conclusion, Vec<Caveat>) {
        let known = |measured: &SuiteStepResult| {
            let own = self.steps.iter().find(|own| own.key == measured.place.key)?;
            MeasuredRow::of(own, measured)
        };
        let rows: Vec<MeasuredRow> = steps.iter().filter_map(known).collect();
        let conclusion = Conclusion {
            verdict: verdict(&rows),
            tables: vec![SuiteTable::Own(self.table(&rows))],
            findings: findings(&rows),
        };
        (conclusion, Vec::new())
    }
}

impl Own {
    /// Returns the engines from its options.
    pub fn engines(&self) -> impl Iterator<Item = EngineKind> {
        self.steps.iter().flat_map(|step| &step.jobs).filter_map(|job| job.engine)
    }

    /// Returns the workload of the last step's first job.
    pub(super) fn last_load(&self) -> &Load {
        self.steps[self.steps.len() - 1].load()
    }

    fn planned(&self, step: &OwnStep, site: &Site) -> Result<SuiteStep, SuiteError> {
        let mut jobs = Vec::new();
        for OwnJob { job, engine, .. } in &step.jobs {
            let mut job = job.clone();
            job.load.engine = engine.unwrap_or(site.engine);
            job.load.validate().map_err(|error| SuiteError::File {
                path: self.path.clone(),
                line: step.line,
                reason: error.to_string(),
            })?;
            jobs.push(job);
        }
        let work = match (&step.find, jobs.as_slice()) {
            (Some(plan), [job]) => {
                Work::Search { load: Box::new(job.load.clone()), plan: plan.clone() }
            }
            _ => Work::Step(step.of_jobs(jobs)),
        };
        let place = StepPlace { key: step.key.clone(), phase: step.name.clone(), round: None };
        Ok(SuiteStep {
            place,
            work,
            regions: step.regions(),
            sums_up: false,
            hosts: HostsUsed::All,
        })
    }

    fn table(&self, rows: &[MeasuredRow]) -> Table {
        let mut columns: Vec<Column<'_, &MeasuredRow>> = vec![
            ("#step", &|step| words(&step.row.key)),
            ("IOPS", &|step| step.row.iops()),
            ("bandwidth", &|step| step.row.bandwidth()),
            ("mean", &|step| step.row.mean()),
            ("p99", &|step| step.row.p99()),
            ("max", &|step| step.row.max()),
        ];
        if rows.iter().any(|row| !row.held.is_empty()) {
            columns.push(("#limits", &|row| words(row.words())));
        }
        let title = self.about.clone().unwrap_or_else(|| "Steps".to_owned());
        let mut table = table(title, rows, &columns);
        let searched = |row: &&MeasuredRow| row.queue_depth.is_some();
        for row in rows.iter().filter(searched) {
            let queue_depth = row.queue_depth.unwrap_or_default();
            table
                .notes
                .push(format!("{}: the capacity found, at depth {queue_depth}.", row.row.key));
        }
        table
    }
}

/// A limit, and the value of its statistic.
#[derive(Debug, Clone, PartialEq)]
struct Held {
    limit: Limit,
    /// Infinite if the step has no I/O of its direction.
    value_ns: f64,
    holds: bool,
}

/// A step with its limits.
#[derive(Debug, Clone, PartialEq)]
struct MeasuredRow {
    row: Row,
    held: Vec<Held>,
    /// Queue depth of a search's answer.
    queue_depth: Option<u32>,
}

impl MeasuredRow {
    /// Returns `None` for a step in which nothing completed.
    fn of(own: &OwnStep, measured: &SuiteStepResult) -> Option<Self> {
        match (measured.step(), measured.search()) {
            (Some(step), _) => Self::of_step(own, step),
            (_, Some(search)) => Some(Self::of_search(own, search)),
            _ => None,
        }
    }

    fn of_step(own: &OwnStep, step: &StepResult) -> Option<Self> {
        judged(step, |latencies| {
            let of = latencies.of(Side::Any);
            let service = step.total().filter(|_| of.count() > 0)?;
            let held = |limit: &Limit| {
                let value_ns = limit.statistic_ns(latencies);
                Held { limit: *limit, value_ns, holds: limit.holds(latencies) }
            };
            let all = Total { mean_ns: of.mean_ns(), max_ns: of.max_ns(), ..service };
            let row = Row { key: own.key.clone(), all, p99_ns: of.percentile_ns(99.0) };
            Some(Self { row, held: own.limits.iter().map(held).collect(), queue_depth: None })
        })
    }

    fn of_search(own: &OwnStep, search: &Search) -> Self {
        let answer = &search.answer;
        let held = answer.limits.iter().map(|known| {
            let value_ns = known.value_ns.unwrap_or(f64::INFINITY);
            let holds = value_ns <= known.limit.bound_ns as f64;
            Held { limit: known.limit, value_ns, holds }
        });
        let all = Total {
            iops: answer.iops.mean,
            bytes_per_sec: answer.bytes_per_sec,
            mean_ns: answer.latency_ns.mean,
            max_ns: answer.latency_ns.max,
        };
        let row = Row { key: own.key.clone(), all, p99_ns: answer.latency_ns.p99 };
        Self { row, held: held.collect(), queue_depth: Some(answer.queue_depth) }
    }

    fn holds(&self) -> bool {
        self.held.iter().all(|held| held.holds)
    }

    /// Returns `held`, or the broken limits.
    fn words(&self) -> String {
        let broken: Vec<String> = self.held.iter().filter(|h| !h.holds).map(Held::broken).collect();
        match (self.held.is_empty(), broken.is_empty()) {
            (true, _) => String::new(),
            (_, true) => "held".to_owned(),
            _ => broken.join(", "),
        }
    }
}

impl Held {
    /// Example: `p99 7 ms, not <= 5 ms`.
    fn broken(&self) -> String {
        let limit = self.limit.to_string();
        let bound = limit.split_once("<=").map_or("", |(_, bound)| bound.trim());
        let statistic = self.limit.statistic();
        if self.value_ns.is_finite() {
            format!("{statistic} {}, not <= {bound}", Latency(self.value_ns))
        } else {
            format!("{statistic} without I/O")
        }
    }
}

fn verdict(rows: &[MeasuredRow]) -> Vec<String> {
    let by_iops = |a: &&MeasuredRow, b: &&MeasuredRow| a.row.all.iops.total_cmp(&b.row.all.iops);
    let (Some(best), Some(worst)) = (rows.iter().max_by(by_iops), rows.iter().min_by(by_iops))
    else {
        return vec![NOTHING.to_owned()];
    };
    let figures = |MeasuredRow { row: Row { key, all, .. }, .. }: &MeasuredRow| {
        format!("{} IOPS, mean {}, with {}", whole(all.iops), Latency(all.mean_ns), key)
    };
    let mut sentences = match rows {
        [only] => vec![format!("One step: {}.", figures(only))],
        _ => vec![
            format!("Highest of {} steps: {}.", rows.len(), figures(best)),
            format!("Lowest: {}.", figures(worst)),
        ],
    };
    let held: Vec<&MeasuredRow> = rows.iter().filter(|row| !row.held.is_empty()).collect();
    let broken: Vec<&&MeasuredRow> = held.iter().filter(|row| !row.holds()).collect();
    if held.is_empty() {
        return sentences;
    }
    if broken.is_empty() {
        sentences.push("Every limit held.".to_owned());
        return sentences;
    }
    let named =
        broken.iter().take(MOST_NAMED).map(|row| format!("{} ({})", row.row.key, row.words()));
    let mut names = listed(named, "; ");
    if broken.len() > MOST_NAMED {
        names.push_str(&format!("; and {} more", broken.len() - MOST_NAMED));
    }
    let (broke, all) = (broken.len(), held.len());
    sentences.push(format!("{broke} of {all} steps with limits broke them: {names}."));
    sentences
}

fn findings(rows: &[MeasuredRow]) -> Value {
    let held = |held: &Held| {
        json!({
            "limit": held.limit,
            "value_ns": Some(held.value_ns).filter(|ns| ns.is_finite()),
            "holds": held.holds,
        })
    };
    let steps: Vec<Value> = rows
        .iter()
        .map(|row| {
            let Row { key, all, p99_ns } = &row.row;
            json!({
                "key": key,
                "iops": all.iops,
                "bytes_per_sec": all.bytes_per_sec,
                "latency_ns": {
                    "mean": all.mean_ns,
                    "p99": *p99_ns as f64,
                    "max": all.max_ns as f64,
                },
                "depth": row.queue_depth,
                "limits": row.held.iter().map(held).collect::<Vec<_>>(),
            })
        })
        .collect();
    let limited = rows.iter().any(|row| !row.held.is_empty());
    json!({
        "steps": steps,
        "limits_held": limited.then(|| rows.iter().all(MeasuredRow::holds)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use iogauge_model::limit::{Metric, Side};

    fn row(key: &str, iops: f64, p99_ns: f64, bound_ns: u64) -> MeasuredRow {
        let limit = Limit { each: false, side: Side::Any, metric: Metric::Max, bound_ns };
        let held = Held { limit, value_ns: p99_ns, holds: p99_ns <= bound_ns as f64 };
        let all = Total {
            iops,
            bytes_per_sec: iops * 4096.0,
            mean_ns: p99_ns / 2.0,
            max_ns: p99_ns as u64,
        };
        MeasuredRow {
            row: Row { key: key.to_owned(), all, p99_ns: p99_ns as u64 },
            held: if bound_ns > 0 { vec![held] } else { Vec::new() },
            queue_depth: None,
        }
    }

    #[test]
    fn verdict_states_highest_lowest_and_broken_limits() {
        assert_eq!(verdict(&[]), ["Nothing was measured."]);
        let one = verdict(&[row("a", 100.0, 2e6, 0)]);
        assert_eq!(one, ["One step: 100 IOPS, mean 1.00 ms, with a."]);
        let two = [row("a", 100.0, 2e6, 0), row("b", 9000.0, 2e6, 0)];
        assert_eq!(
            verdict(&two),
            [
                "Highest of 2 steps: 9,000 IOPS, mean 1.00 ms, with b.",
                "Lowest: 100 IOPS, mean 1.00 ms, with a."
            ]
        );
        let held = verdict(&[row("a", 100.0, 2e6, 2_000_000)]);
        assert_eq!(held[1], "Every limit held.");
        let broke = [row("a", 1.0, 2e6, 3_000_000), row("b", 1.0, 2e6, 1_000_000)];
        let last = verdict(&broke).pop().unwrap();
        assert_eq!(last, "1 of 2 steps with limits broke them: b (max 2.00 ms, not <= 1 ms).");
        assert_eq!(findings(&broke)["limits_held"], false);
        assert_eq!(findings(&two)["limits_held"], Value::Null);
    }

    #[test]
    fn limit_without_any_io_counts_as_broken() {
        let row = row("a", 1.0, f64::INFINITY, 5);
        assert_eq!((row.holds(), row.words().as_str()), (false, "max without I/O"));
    }
}
