//! `--baseline RUN`: the requirement comes from an earlier run.

use crate::args::CheckArgs;
use crate::command::history;
use crate::exit::{Exit, Usage};
use iogauge_lab::history::{Runs, StoredRun};
use iogauge_model::limit::tightest;
use iogauge_model::load::{ArrivalProcess, Load};
use iogauge_model::result::{
    CheckBaseline, FIND_FORMAT, FindDocument, RUN_FORMAT, RunDocument, StepResult,
};
use iogauge_model::{Limit, RequiredRate};
use serde::Deserialize;
use serde::de::DeserializeOwned;

/// How much less than the baseline is enough, in percent, if nothing else is said.
const MARGIN_PERCENT: f64 = 10.0;

/// An earlier run with one load.
#[derive(Debug)]
pub(super) struct Baseline {
    run_id: String,
    /// The load that it measured.
    load: Load,
    iops: f64,
    margin_percent: f64,
    limits: Vec<Limit>,
    /// The arrivals of an open loop.
    pub(super) arrivals: Option<ArrivalProcess>,
    /// Queue depth over all workers.
    pub(super) queue_depth: u32,
}

impl Baseline {
    /// Finds the run; of several, the one added last.
    ///
    /// # Errors
    /// There is no such run, or it has no single load with IOPS.
    pub(super) fn find(args: &CheckArgs, runs: &Runs) -> anyhow::Result<Self> {
        let margin_percent = args.margin.unwrap_or(MARGIN_PERCENT);
        if margin_percent >= 100.0 {
            let text = "--margin: 100 % less than the baseline is nothing; hint: use --margin 10%";
            return Err(Usage(text.to_owned()).into());
        }
        let history = history::open_existing(&args.output.history)?;
        let mut chosen = Vec::new();
        for run in history.select(runs)? {
            chosen.push(history.resolve(&run)?);
        }
        let Some(last) = chosen.into_iter().max_by_key(|row| row.started) else {
            return Err(Usage(format!("--baseline: no run is named {runs}")).into());
        };
        let stored = history.show(&last.id.to_string().parse()?)?;
        let wrong = |reason: &str| Usage(format!("--baseline: run {} {reason}", stored.row.id));
        if stored.row.exit_code == Some(Exit::IoErrors as i32) {
            return Err(wrong("has failed I/Os; hint: use a run without").into());
        }
        let document = history::result(&stored, "to compare with")?;
        let format = document.get("format").and_then(serde_json::Value::as_str);
        let found = match format {
            Some(FIND_FORMAT) => Self::of_search(&read(&stored, document)?),
            Some(RUN_FORMAT) => Self::of_run(&read(&stored, document)?),
            _ => Err(
                "is neither a search nor a run; hint: give one a --label and use label:TEXT, because each \
                 check is the last run afterwards",
            ),
        };
        let found = found.map_err(wrong)?;
        if found.iops * (1.0 - margin_percent / 100.0) < 1.0 {
            return Err(wrong("has no IOPS").into());
        }
        Ok(Self { margin_percent, run_id: stored.row.id.to_string(), ..found })
    }

    fn of_search(found: &FindDocument) -> Result<Self, &'static str> {
        let answer = &found.search.answer;
        if !answer.is_given() {
            return Err("found no capacity; hint: use one that did");
        }
        let jobs = found.head.load.jobs_of_steps();
        let [job] = jobs.first().map(Vec::as_slice).unwrap_or_default() else {
            return Err("has a load that is not known; hint: use a run of iogauge");
        };
        let arrivals = answer.rate_iops.and(job.load.arrivals).map(|arrivals| arrivals.process);
        Ok(Self {
            run_id: String::new(),
            margin_percent: 0.0,
            load: job.load.clone(),
            iops: answer.iops.mean,
            limits: found.search.limits.clone(),
            arrivals,
            queue_depth: answer.queue_depth,
        })
    }

    fn of_run(run: &RunDocument) -> Result<Self, &'static str> {
        let jobs = run.head.load.jobs_of_steps();
        let one = match (jobs.as_slice(), run.steps.as_slice()) {
            ([jobs], [step]) if jobs.len() == 1 => (&jobs[0].load, step),
            _ => {
                return Err(
                    "has several loads, or one that is not known; hint: use a run with one load",
                );
            }
        };
        let (load, step): (&Load, &StepResult) = one;
        let Some(total) = step.total() else { return Err("completed no I/O; hint: use another") };
        let arrivals = load.arrivals.filter(|arrivals| arrivals.only.is_none());
        if load.arrivals.is_some() && arrivals.is_none() || load.is_counted() {
            return Err(
                "has a load that check cannot repeat; hint: use a run with one rate or queue depth",
            );
        }
        Ok(Self {
            run_id: String::new(),
            margin_percent: 0.0,
            load: load.clone(),
            iops: total.iops,
            limits: step.limits.iter().map(|value| value.limit).collect(),
            arrivals: arrivals.map(|arrivals| arrivals.process),
            queue_depth: load.queue_depth(),
        })
    }

    /// Returns the required rate.
    pub(super) fn required(&self) -> RequiredRate {
        RequiredRate::Iops((self.iops * (1.0 - self.margin_percent / 100.0)).round())
    }

    /// Returns the limits as typed, together with those of the run plus the margin: a search ends where its limit is
    /// just kept.
    pub(super) fn limits(&self, typed: &[Limit]) -> Vec<Limit> {
        let times = 1.0 + self.margin_percent / 100.0;
        let with_margin = |limit: &Limit| Limit {
            bound_ns: (limit.bound_ns as f64 * times).round() as u64,
            ..*limit
        };
        tightest(typed.iter().copied().chain(self.limits.iter().map(with_margin)))
    }

    /// Checks that a load is the one of the run, apart from what the check sets.
    ///
    /// # Errors
    /// It is another one.
    pub(super) fn check_load(&self, load: &Load) -> Result<(), Usage> {
        let plain = |load: &Load| Load { seed: 0, iodepth: 1, arrivals: None, ..load.clone() };
        let (own, other) = (plain(load), plain(&self.load));
        if own == other {
            return Ok(());
        }
        let values = |load: &Load| serde_json::to_value(load).unwrap_or_default();
        let (own, other) = (values(&own), values(&other));
        let none = serde_json::Value::Null;
        let names = [&own, &other].into_iter().filter_map(|load| load.as_object());
        let mut names = names.flat_map(|members| members.keys());
        let of = |load: &serde_json::Value, name: &str| load.get(name).unwrap_or(&none).to_string();
        let differs = names.find(|name| own.get(*name) != other.get(*name));
        let differs = differs.map_or_else(String::new, |name| {
            match [&other, &own].map(|load| of(load, name)) {
                // Of several values.
                [old, _] if old.starts_with(['{', '[']) => format!(": {name} differs"),
                [old, new] => format!(": {name} is {old}, not {new}"),
            }
        });
        Err(Usage(format!(
            "--baseline: run {} has another load{differs}; hint: use the load options of that run",
            self.run_id
        )))
    }

    /// Returns what the result says of it.
    pub(super) fn told(self) -> CheckBaseline {
        let Self { run_id, iops, margin_percent, .. } = self;
        CheckBaseline { run_id, iops, margin_percent }
    }
}

fn read<T: DeserializeOwned>(
    stored: &StoredRun,
    document: serde_json::Value,
) -> Result<T, anyhow::Error> {
    let damaged = |_| Usage(format!("run {}: what is kept of it is damaged", stored.row.id));
    Ok(Deserialize::deserialize(&document).map_err(damaged)?)
}
