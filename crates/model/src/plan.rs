//! Steps in order: what a command, a job file, a suite or a search unfolds to.

use crate::load::Load;
use serde::{Deserialize, Serialize};

/// One load with its name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Job {
    /// Name shown beside its figures.
    pub name: String,
    /// What it asks of the target.
    pub load: Load,
}

/// Jobs that start and stop together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// Label shown beside its figures.
    pub label: String,
    /// The jobs, at least one.
    pub jobs: Vec<Job>,
    /// Time before measuring begins, in nanoseconds; its I/Os are issued and not counted.
    pub ramp_ns: u64,
    /// Time measured, in nanoseconds.
    pub runtime_ns: u64,
}

impl Step {
    /// A step of one job.
    #[must_use]
    pub fn single(load: Load, ramp_ns: u64, runtime_ns: u64) -> Self {
        let label = load.label();
        let jobs = vec![Job { name: load.rw.to_string(), load }];
        Self { label, jobs, ramp_ns, runtime_ns }
    }

    /// I/Os kept outstanding over all workers of all jobs.
    #[must_use]
    pub fn depth(&self) -> u32 {
        self.jobs.iter().map(|job| job.load.depth()).fold(0, u32::saturating_add)
    }

    /// True where a job changes the target.
    #[must_use]
    pub fn writes(&self) -> bool {
        self.jobs.iter().any(|job| job.load.writes())
    }
}

/// Steps in the order they run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// The steps.
    pub steps: Vec<Step>,
}
