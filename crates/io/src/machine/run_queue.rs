//! Time in which workers were ready to run but had no processor.
//!
//! Source: Documentation/scheduler/sched-stats.rst, `/proc/<pid>/schedstat`: time on the processor and time waiting on
//! a run queue, both in nanoseconds, and the number of time slices.

use super::Roots;
use crate::kernel::{entries, text};

/// Maximum number of workers that are read. If there are more, the first ones represent all.
const MOST_WORKERS: usize = 64;

/// Time that the workers of this process have waited for a processor so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct RunQueue {
    /// Time on run queues, summed over the workers that were read, in nanoseconds.
    wait_ns: u64,
    /// Number of workers that were read.
    workers: u64,
}

impl RunQueue {
    /// Reads two small files for each worker. All 0 if the kernel does not report the times.
    pub fn now(roots: &Roots) -> Self {
        let tasks = entries(&roots.path("proc/self/task"));
        let workers = tasks
            .iter()
            .filter(|task| text(&task.join("comm")).is_some_and(|name| is_worker(&name)));
        let waits =
            workers.take(MOST_WORKERS).filter_map(|task| wait_ns(&text(&task.join("schedstat"))?));
        waits.fold(Self::default(), |sum, wait_ns| Self {
            wait_ns: sum.wait_ns.saturating_add(wait_ns),
            workers: sum.workers + 1,
        })
    }

    /// Returns the number of workers that were read.
    pub fn workers(&self) -> u64 {
        self.workers
    }

    /// Returns the mean time that a worker has waited, in nanoseconds.
    pub fn mean_wait_ns(&self) -> u64 {
        self.wait_ns / self.workers.max(1)
    }

    /// Returns the mean share of `wall_ns` that a worker waited since `before`, in percent.
    pub fn percent_since(&self, before: &Self, wall_ns: u64) -> f64 {
        let possible_ns = wall_ns as f64 * self.workers as f64;
        let waited_ns = self.wait_ns.saturating_sub(before.wait_ns) as f64;
        if possible_ns > 0.0 { (100.0 * waited_ns / possible_ns).min(100.0) } else { 0.0 }
    }
}

/// Returns true for the name of a worker, `iogauge-N`. The kernel truncates names to 15 characters.
fn is_worker(name: &str) -> bool {
    name.strip_prefix("iogauge-").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}

/// Returns the time on run queues in a line of `schedstat`, in nanoseconds.
pub(crate) fn wait_ns(schedstat: &str) -> Option<u64> {
    schedstat.split_ascii_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn run_queue_wait_counts_worker_threads_only() {
        let dir = tempfile::tempdir().unwrap();
        let tasks = [
            ("10", "iogauge", "5 700 1"),
            ("11", "iogauge-0", "5 300 1"),
            ("12", "iogauge-12", "5 100 1"),
            ("13", "iogauge-sampler", "5 900 1"),
            ("14", "iogauge-2", ""),
        ];
        for (id, name, schedstat) in tasks {
            let task = dir.path().join("proc/self/task").join(id);
            fs::create_dir_all(&task).unwrap();
            fs::write(task.join("comm"), format!("{name}\n")).unwrap();
            fs::write(task.join("schedstat"), schedstat).unwrap();
        }
        let now = RunQueue::now(&Roots::at(dir.path()));
        assert_eq!(now, RunQueue { wait_ns: 400, workers: 2 });
        let before = RunQueue { wait_ns: 200, workers: 2 };
        assert!((now.percent_since(&before, 1000) - 10.0).abs() < 1e-9);
        assert_eq!(before.percent_since(&now, 1000), 0.0);
        assert_eq!(RunQueue::default().percent_since(&before, 1000), 0.0);
    }

    #[test]
    fn schedstat_of_this_kernel_is_parsed() {
        let stat = text(&Roots::real().path("proc/self/schedstat"));
        if let Some(stat) = stat {
            assert!(wait_ns(&stat).is_some(), "{stat}");
        }
    }
}
