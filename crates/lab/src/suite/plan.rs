//! The steps of a suite before they run.

use crate::search::{CheckPlan, SearchPlan};
use crate::session::{HostsUsed, Region};
use iogauge_model::result::{PlannedStep, StepPlace};
use iogauge_model::{Load, Step};

/// What a step does.
#[derive(Debug, Clone, PartialEq)]
pub enum Work {
    /// Jobs at a fixed concurrency or rate.
    Step(Step),
    /// A search for the capacity of a workload.
    Search {
        /// The workload. The search varies its queue depth.
        load: Box<Load>,
        /// How to search.
        plan: SearchPlan,
    },
    /// A check whether a requirement is met.
    Check {
        /// The workload. The check sets its rate or its queue depth.
        load: Box<Load>,
        /// The requirement.
        plan: CheckPlan,
    },
}

impl Work {
    /// True if it writes.
    #[must_use]
    pub fn writes(&self) -> bool {
        match self {
            Self::Step(step) => step.writes(),
            Self::Search { load, .. } | Self::Check { load, .. } => load.writes(),
        }
    }

    /// Returns the same work with other random choices; `number` distinguishes them.
    #[must_use]
    pub fn with_seed(&self, number: u64) -> Self {
        let mut other = self.clone();
        let loads: Vec<&mut Load> = match &mut other {
            Self::Step(step) => step.jobs.iter_mut().map(|job| &mut job.load).collect(),
            Self::Search { load, .. } | Self::Check { load, .. } => vec![&mut **load],
        };
        loads.into_iter().for_each(|load| load.seed = load.seed.wrapping_add(number));
        other
    }
}

/// A step of a suite.
#[derive(Debug, Clone, PartialEq)]
pub struct SuiteStep {
    /// Its place in the suite.
    pub place: StepPlace,
    /// Its work.
    pub work: Work,
    /// The region of each job. Jobs after the last entry use the whole target.
    pub regions: Vec<Region>,
    /// True if its jobs are the same workload in different regions, and are reported as one.
    pub sums_up: bool,
    /// The hosts that take part.
    pub hosts: HostsUsed,
}

/// The cost of a step, as far as it is known before the step runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Cost {
    /// Time, in nanoseconds; `None` if it ends when its bytes are transferred.
    pub time_ns: Option<u64>,
    /// Bytes it writes; `None` if it writes as much as the target accepts in its time.
    pub written_bytes: Option<u64>,
}

/// Returns a plan in the form of documents.
#[must_use]
pub fn planned(plan: &[SuiteStep]) -> Vec<PlannedStep> {
    let one = |step: &SuiteStep| {
        let Cost { time_ns, written_bytes } = step.cost();
        PlannedStep {
            place: step.place.clone(),
            label: step.asked().label,
            seconds: time_ns.map(|ns| ns as f64 / 1e9),
            written_bytes,
        }
    };
    plan.iter().map(one).collect()
}

impl SuiteStep {
    /// Makes a step of one job on the whole target.
    #[must_use]
    pub fn single(phase: &str, key: impl Into<String>, step: Step) -> Self {
        let place = StepPlace { key: key.into(), phase: phase.to_owned(), round: None };
        let (work, regions) = (Work::Step(step), Vec::new());
        Self { place, work, regions, sums_up: false, hosts: HostsUsed::All }
    }

    /// Returns the step with the number of its round, from 1.
    #[must_use]
    pub fn in_round(mut self, round: u32) -> Self {
        self.place.round = Some(round);
        self
    }

    /// Returns its jobs; for a search, the workload at a queue depth of 1.
    #[must_use]
    pub fn asked(&self) -> Step {
        match &self.work {
            Work::Step(step) => step.clone(),
            Work::Search { load, plan } => Step::single((**load).clone(), 0, plan.budget_ns),
            Work::Check { load, plan } => Step::single(plan.load(load), 0, plan.budget_ns),
        }
    }

    /// Returns its jobs, each with its region; for a search, at its largest queue depth.
    #[must_use]
    pub fn jobs_on_regions(&self) -> Vec<(Load, Region)> {
        match &self.work {
            Work::Step(step) => Region::of_jobs(step, &self.regions),
            Work::Search { load, plan } => vec![(plan.deepest(load), Region::All)],
            Work::Check { load, plan } => vec![(plan.load(load), Region::All)],
        }
    }

    /// True if it writes.
    #[must_use]
    pub fn writes(&self) -> bool {
        self.work.writes()
    }

    /// Returns its cost.
    #[must_use]
    pub(super) fn cost(&self) -> Cost {
        let step = match &self.work {
            Work::Step(step) => step,
            Work::Search { load, plan: SearchPlan { budget_ns, .. } }
            | Work::Check { load, plan: CheckPlan { budget_ns, .. } } => {
                let written_bytes = if load.writes() { None } else { Some(0) };
                return Cost { time_ns: Some(*budget_ns), written_bytes };
            }
        };
        let counted = step.jobs.iter().all(|job| job.load.is_counted());
        let written = |load: &Load| match load.io_size_bytes {
            _ if !load.writes() => Some(0),
            // The number of bytes that a mixed workload writes is not known before it runs.
            Some(bytes) if !load.rw.is_mixed() => {
                Some(bytes.saturating_mul(u64::from(load.numjobs)))
            }
            _ => None,
        };
        Cost {
            time_ns: (!counted).then(|| step.ramp_ns.saturating_add(step.runtime_ns)),
            written_bytes: step.jobs.iter().map(|job| written(&job.load)).sum(),
        }
    }
}
