//! Plans: the steps, in order, of a command, a job file, a suite or a search.

use crate::load::{Load, OwnTime};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Maximum duration of a step whose jobs end after a number of I/Os or bytes: a week.
pub const LONGEST_NS: u64 = 7 * 24 * 3600 * 1_000_000_000;

/// A workload with a name.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Job {
    /// Name in the output.
    pub name: String,
    /// The workload.
    pub load: Load,
}

/// Jobs that run together.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Step {
    /// Label in the output.
    pub label: String,
    /// The jobs, at least one.
    pub jobs: Vec<Job>,
    /// Time before the measurement, in nanoseconds. I/Os are issued but not counted.
    pub ramp_ns: u64,
    /// Time measured, in nanoseconds.
    pub runtime_ns: u64,
}

impl Step {
    /// Creates a step with one job.
    #[must_use]
    pub fn single(load: Load, ramp_ns: u64, runtime_ns: u64) -> Self {
        let label = load.label();
        let jobs = vec![Job { name: load.rw.to_string(), load }];
        Self { label, jobs, ramp_ns, runtime_ns }
    }

    /// Adapts the times of the step to those of its jobs. As in fio, each job's ramp and runtime count from
    /// its own start.
    ///
    /// If all jobs start together and have the same times, the step has these times, after the delay.
    /// Otherwise each job gets its own times, and the step measures from its start to the end of the last
    /// job.
    #[must_use]
    pub fn with_own_times(mut self) -> Self {
        let delay_ns = self.jobs.first().map_or(0, |job| job.load.startdelay_ns);
        let is_usual =
            |job: &Job| job.load.startdelay_ns == delay_ns && job.load.own_time.is_none();
        if self.jobs.iter().all(is_usual) {
            let of_step = if self.ramp_ns > 0 { &mut self.ramp_ns } else { &mut self.runtime_ns };
            *of_step = of_step.saturating_add(delay_ns);
            return self;
        }
        let usual = OwnTime { ramp_ns: self.ramp_ns, runtime_ns: Some(self.runtime_ns) };
        let mut last_ns = 0;
        for Job { load, .. } in &mut self.jobs {
            let own = load.own_time.get_or_insert(usual);
            let begin_ns = load.startdelay_ns.saturating_add(own.ramp_ns);
            let end_ns = begin_ns.saturating_add(own.runtime_ns.unwrap_or(self.runtime_ns));
            last_ns = end_ns.max(last_ns);
        }
        self.ramp_ns = 0;
        self.runtime_ns = last_ns;
        self
    }

    /// Queue depth over all workers of all jobs.
    #[must_use]
    pub fn queue_depth(&self) -> u32 {
        self.jobs.iter().map(|job| job.load.queue_depth()).fold(0, u32::saturating_add)
    }

    /// True if a job changes the target.
    #[must_use]
    pub fn writes(&self) -> bool {
        self.jobs.iter().any(|job| job.load.writes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(ramp_ns: u64, loads: impl IntoIterator<Item = Load>) -> Step {
        let job = |load| Job { name: String::new(), load };
        let jobs = loads.into_iter().map(job).collect();
        Step { label: String::new(), jobs, ramp_ns, runtime_ns: 100 }.with_own_times()
    }

    #[test]
    fn common_startdelay_extends_the_step() {
        let delayed = |ramp_ns, delay_ns| {
            let load = Load { startdelay_ns: delay_ns, ..Load::default() };
            let step = step(ramp_ns, [load.clone(), load]);
            assert!(step.jobs.iter().all(|job| job.load.own_time.is_none()));
            (step.ramp_ns, step.runtime_ns)
        };
        assert_eq!(delayed(10, 0), (10, 100));
        assert_eq!(delayed(10, 5), (15, 100));
        assert_eq!(delayed(0, 7), (0, 107));
        assert_eq!(delayed(0, u64::MAX), (0, u64::MAX));
    }

    #[test]
    fn step_covers_jobs_with_individual_times() {
        let own = |ramp_ns, runtime_ns| Some(OwnTime { ramp_ns, runtime_ns });
        let loads = [
            Load { startdelay_ns: 7, ..Load::default() },
            Load { own_time: own(1, Some(50)), ..Load::default() },
        ];
        let both = step(10, loads.clone());
        assert_eq!((both.ramp_ns, both.runtime_ns), (0, 117));
        let times: Vec<_> = both.jobs.iter().map(|job| job.load.own_time).collect();
        assert_eq!(times, [own(10, Some(100)), own(1, Some(50))]);
        let longer = Load { own_time: own(20, Some(300)), ..Load::default() };
        assert_eq!(step(10, loads.into_iter().chain([longer])).runtime_ns, 320);
        let endless = Load { own_time: own(20, None), ..Load::default() };
        assert_eq!(step(10, [endless]).runtime_ns, 120);
    }
}
