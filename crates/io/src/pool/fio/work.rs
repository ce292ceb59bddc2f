//! The work for fio, and the job file that describes it.

use super::inherited_files::Handed;
use super::{FioError, Span};
use iogauge_fio::job::FioJobs;
use iogauge_fio::job_out::{self, FilePart};
use iogauge_model::load::{EngineKind, Load};
use iogauge_model::plan::{Job, Step};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Practically forever: whatever runs this long has been forgotten.
const FOR_EVER_NS: u64 = 7 * 24 * 3600 * 1_000_000_000;

/// The work for fio.
#[derive(Debug, Clone)]
pub enum FioWork {
    /// A step on parts of a target.
    Step {
        step: Step,
        /// Parts of each job. Further jobs use those of the last.
        parts: Vec<Vec<FilePart>>,
    },
    /// A job from the user's own job file.
    Foreign(ForeignJob),
}

/// A job file with one job, whose queue depth can be changed.
#[derive(Debug, Clone)]
pub struct ForeignJob {
    /// The file as read.
    pub jobs: FioJobs,
    /// Its files, in the order in which they are handed over.
    pub paths: Vec<PathBuf>,
    /// True if its engine keeps one I/O outstanding per thread, so that queue depth needs threads.
    pub synchronous: bool,
}

impl FioWork {
    /// Returns the queue depth of the work as it is.
    pub(super) fn queue_depth(&self) -> u32 {
        match self {
            Self::Step { step, .. } => step.queue_depth(),
            Self::Foreign(_) => 1,
        }
    }

    /// Returns the number of threads or processes that do the I/O at a queue depth.
    pub(super) fn workers(&self, queue_depth: u32) -> u32 {
        let of = |load: &Load| {
            if load.engine.is_synchronous() { load.queue_depth() } else { load.numjobs }
        };
        match self {
            Self::Step { step, .. } => {
                jobs(step, queue_depth).iter().map(|job| of(&job.load)).sum()
            }
            Self::Foreign(job) => {
                if job.synchronous {
                    queue_depth
                } else {
                    1
                }
            }
        }
    }

    /// Returns how long the work runs, including ramp time; `None` if it is not limited by time.
    pub(super) fn lasts(&self) -> Option<Duration> {
        match self {
            Self::Step { step, .. } if step.runtime_ns > 0 => {
                Some(Duration::from_nanos(step.ramp_ns.saturating_add(step.runtime_ns)))
            }
            _ => None,
        }
    }

    /// Returns what fio does differently from what was requested, one line each.
    #[must_use]
    pub fn differs(&self) -> Vec<String> {
        let Self::Step { step, parts } = self else { return Vec::new() };
        let apart = step.jobs.len() > 1;
        let step = Step { jobs: jobs(step, step.queue_depth()), ..step.clone() };
        job_out::driven_file(&step, parts, apart).map(|file| file.differs).unwrap_or_default()
    }

    /// Returns the job file for a queue depth.
    ///
    /// # Errors
    /// If a job file cannot express the work.
    pub(super) fn job_file(
        &self,
        queue_depth: u32,
        span: Span,
        handed: &Handed,
    ) -> Result<String, FioError> {
        match self {
            Self::Step { step, parts } => {
                let apart = step.jobs.len() > 1;
                let step = Step { jobs: jobs(step, queue_depth), ..step.clone() };
                let step = match span {
                    Span::Own => step,
                    Span::Open => Step { ramp_ns: 0, runtime_ns: FOR_EVER_NS, ..step },
                };
                Ok(job_out::driven_file(&step, parts, apart)?.text)
            }
            Self::Foreign(job) => {
                let given = |path: &Path| handed.file_at(&job.paths, path);
                Ok(job.jobs.text(&given, Some(queue_depth))?.text)
            }
        }
    }
}

/// Splits a job into jobs whose queue depths fio keeps. fio's io_uring engine rounds each queue depth up to a power of
/// two, so a job with another queue depth becomes several with powers of two, which are reported as one. Only jobs with
/// random I/O that is not counted are split: other I/O would change.
fn kept(job: Job) -> Vec<Job> {
    let load = &job.load;
    let divides = load.rw.is_random()
        && !load.coverage
        && !load.dependent
        && load.arrivals.is_none()
        && !load.is_counted();
    if load.engine != EngineKind::IoUring || load.iodepth.is_power_of_two() || !divides {
        return vec![job];
    }
    let bits = (0..u32::BITS).rev().filter(|bit| load.iodepth >> bit & 1 == 1);
    let of = |bit: u32| {
        let seed = load.seed.wrapping_add(u64::from(bit) << 32);
        let load = Load { iodepth: 1 << bit, seed, ..load.clone() };
        Job { name: job.name.clone(), load }
    };
    bits.map(of).collect()
}

/// Returns the step's jobs at a queue depth. With a single job, the queue depth is divided among its workers. If there
/// is a remainder, some workers have one I/O more, as a separate job. Several jobs keep their own queue depths.
fn jobs(step: &Step, queue_depth: u32) -> Vec<Job> {
    let [job] = step.jobs.as_slice() else { return step.jobs.clone() };
    if queue_depth == job.load.queue_depth() {
        return kept(job.clone());
    }
    let workers = job.load.numjobs.min(queue_depth).max(1);
    let (each, more) = (queue_depth / workers, queue_depth % workers);
    let of = |numjobs: u32, iodepth: u32, first: u32| {
        let seed = job.load.seed.wrapping_add(u64::from(first));
        let load = Load { numjobs, iodepth, seed, ..job.load.clone() };
        (numjobs > 0).then(|| Job { name: job.name.clone(), load })
    };
    let shares = [of(workers - more, each, 0), of(more, each + 1, workers - more)];
    shares.into_iter().flatten().flat_map(kept).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn step(load: Load) -> FioWork {
        let part = FilePart { path: "/data/f".to_owned(), base_bytes: 0, size_bytes: 1 << 30 };
        FioWork::Step { step: Step::single(load, 0, 1_000_000_000), parts: vec![vec![part]] }
    }

    #[test]
    fn queue_depth_becomes_iodepth_or_numjobs() {
        let uring = step(Load::default()).job_file(20, Span::Open, &Handed::default()).unwrap();
        // fio's io_uring engine would round 20 up to 32.
        assert!(uring.contains("\niodepth=16\nnumjobs=1\n"), "{uring}");
        assert!(uring.contains("\niodepth=4\nnumjobs=1\n"), "{uring}");
        assert!(uring.contains("\nruntime=604800\n") && !uring.contains("ramp_time"), "{uring}");
        let psync = Load { engine: EngineKind::Psync, ..Load::default() };
        let psync = step(psync).job_file(20, Span::Own, &Handed::default()).unwrap();
        assert!(psync.contains("\niodepth=1\nnumjobs=20\n"), "{psync}");
        assert!(psync.contains("\nruntime=1\n"), "{psync}");
    }

    proptest! {
        #[test]
        fn queue_depth_is_fully_distributed_among_jobs(queue_depth in 1u32..5000, numjobs in 1u32..64) {
            let load = Load { numjobs, engine: EngineKind::Libaio, ..Load::default() };
            let jobs = jobs(&Step::single(load, 0, 1), queue_depth);
            prop_assert_eq!(jobs.iter().map(|job| job.load.queue_depth()).sum::<u32>(), queue_depth);
            let workers: u32 = jobs.iter().map(|job| job.load.numjobs).sum();
            prop_assert_eq!(workers, numjobs.min(queue_depth));
            let uring = Load { numjobs, ..Load::default() };
            let jobs = super::jobs(&Step::single(uring, 0, 1), queue_depth);
            prop_assert_eq!(jobs.iter().map(|job| job.load.queue_depth()).sum::<u32>(), queue_depth);
            prop_assert!(jobs.iter().all(|job| job.load.iodepth.is_power_of_two()));
        }
    }
}
