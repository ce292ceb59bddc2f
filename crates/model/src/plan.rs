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

    /// The step with time for the delays of its jobs: the ramp begins when the first of them does,
    /// and the last one to begin still has the whole time measured. A step without a ramp measures
    /// from its own beginning.
    #[must_use]
    pub fn with_start_delays(mut self) -> Self {
        let delays = || self.jobs.iter().map(|job| job.load.startdelay_ns);
        let (first, last) = (delays().min().unwrap_or(0), delays().max().unwrap_or(0));
        let before_ns = if self.ramp_ns > 0 { first } else { 0 };
        self.ramp_ns = self.ramp_ns.saturating_add(before_ns);
        self.runtime_ns = self.runtime_ns.saturating_add(last - before_ns);
        self
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_lengthen_the_step() {
        let step = |ramp_ns, delays: &[u64]| {
            let jobs = delays.iter().map(|ns| Job {
                name: String::new(),
                load: Load { startdelay_ns: *ns, ..Load::default() },
            });
            let step =
                Step { label: String::new(), jobs: jobs.collect(), ramp_ns, runtime_ns: 100 };
            let step = step.with_start_delays();
            (step.ramp_ns, step.runtime_ns)
        };
        assert_eq!(step(10, &[0]), (10, 100));
        assert_eq!(step(10, &[5]), (15, 100));
        assert_eq!(step(10, &[7, 5]), (15, 102));
        assert_eq!(step(0, &[7, 5]), (0, 107));
        assert_eq!(step(0, &[u64::MAX]), (0, u64::MAX));
    }
}
