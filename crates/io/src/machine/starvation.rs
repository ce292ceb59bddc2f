//! Time in which the client could not work: its workers waited for a processor that ran another program, its control
//! group had used up its quota, or the hypervisor ran other machines.
//!
//! Workers also wait for kernel threads, which do part of each I/O. That time belongs to what is measured. So waiting
//! only counts up to the time that other programs ran in user mode meanwhile. Their time in the kernel cannot be
//! separated from the kernel's own work.

use super::cgroup::throttle_files;
use super::cpu::{MachineCpu, ProcessCpu};
use super::run_queue::RunQueue;
use crate::kernel::{Roots, text};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Time lost so far, by cause, in nanoseconds. Two readings give a share.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Starvation {
    /// Mean time per worker: ready to run, but without a processor.
    pub wait_ns: u64,
    /// Time in which other programs ran, over all processors. Not lost in itself.
    pub others_ns: u64,
    /// Mean time per processor that the hypervisor took away.
    pub steal_ns: u64,
    /// Mean time per worker that control groups throttled it.
    pub throttled_ns: u64,
}

impl Starvation {
    /// Returns the time lost since an earlier reading.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let others_ns = self.others_ns.saturating_sub(earlier.others_ns);
        Self {
            wait_ns: self.wait_ns.saturating_sub(earlier.wait_ns).min(others_ns),
            others_ns,
            steal_ns: self.steal_ns.saturating_sub(earlier.steal_ns),
            throttled_ns: self.throttled_ns.saturating_sub(earlier.throttled_ns),
        }
    }

    /// Returns the lost time of all causes, in nanoseconds. Waiting and stolen time do not overlap, but throttled time
    /// may also count as waiting.
    #[must_use]
    pub fn lost_ns(&self) -> u64 {
        self.wait_ns.max(self.throttled_ns) + self.steal_ns
    }

    /// Adds the time lost in another interval.
    pub fn add(&mut self, other: &Self) {
        self.wait_ns += other.wait_ns;
        self.others_ns += other.others_ns;
        self.steal_ns += other.steal_ns;
        self.throttled_ns += other.throttled_ns;
    }
}

/// Whose waiting for processors counts as starvation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Waiting {
    /// That of this process's workers.
    Workers,
    /// None: the workers wait for each other, or for the database they use.
    Ignored,
}

/// Reads starvation from the files in which the kernel reports it.
#[derive(Debug)]
pub struct StarvationReader {
    roots: Roots,
    /// `cpu.stat` of this process's control group and its ancestors.
    throttles: Vec<PathBuf>,
}

impl StarvationReader {
    /// Finds the files, by reading a few small ones.
    #[must_use]
    pub fn new(roots: Roots) -> Self {
        Self { throttles: throttle_files(&roots), roots }
    }

    /// Reads `/proc/stat`, one file for each control group and two for each worker. Values that the kernel does not
    /// report count as 0.
    #[must_use]
    pub fn read(&self, waiting: Waiting) -> Starvation {
        let own = ProcessCpu::now();
        let machine = text(&self.roots.path("proc/stat"))
            .and_then(|stat| Some((MachineCpu::parse(&stat)?, processors(&stat))));
        let ns = |ticks: u64| ticks.saturating_mul(tick_ns());
        let throttled = self.throttles.iter().filter_map(|file| throttled_ns(&text(file)?));
        let run_queue = RunQueue::now(&self.roots);
        // A group is throttled separately on each processor that runs its threads.
        let spread = run_queue.workers().min(machine.map_or(1, |(_, count)| count)).max(1);
        Starvation {
            wait_ns: match waiting {
                Waiting::Workers => run_queue.mean_wait_ns(),
                Waiting::Ignored => 0,
            },
            others_ns: machine.map_or(0, |(machine, _)| {
                ns(machine.user_ticks + machine.guest_ticks).saturating_sub(own.user_ns)
            }),
            steal_ns: machine.map_or(0, |(machine, count)| ns(machine.steal_ticks) / count),
            throttled_ns: throttled.sum::<u64>() / spread,
        }
    }
}

/// Returns the length of a tick of `/proc/stat` (proc_stat(5)), in nanoseconds.
fn tick_ns() -> u64 {
    1_000_000_000 / rustix::param::clock_ticks_per_second().max(1)
}

/// Returns the number of processors in the text of `/proc/stat`; at least 1.
fn processors(stat: &str) -> u64 {
    let each = |line: &&str| {
        line.strip_prefix("cpu").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    };
    stat.lines().filter(each).count().max(1) as u64
}

/// Returns how long a group was throttled, from the text of its `cpu.stat`. The unit is microseconds in version 2 and
/// nanoseconds in version 1 (kernel documentation, admin-guide/cgroup-v2; scheduler/sched-bwc).
fn throttled_ns(stat: &str) -> Option<u64> {
    let field = |line: &str| {
        let (name, value) = line.split_once(' ')?;
        let value: u64 = value.trim().parse().ok()?;
        match name {
            "throttled_usec" => Some(value.saturating_mul(1000)),
            "throttled_time" => Some(value),
            _ => None,
        }
    };
    stat.lines().find_map(field)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn each_starvation_source_is_read_from_procfs() {
        let dir = tempfile::tempdir().unwrap();
        let write = |path: &str, content: &str| {
            let path = dir.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        };
        let hz = rustix::param::clock_ticks_per_second();
        let (user, steal) = (1_000_000 * hz, 3 * hz);
        let stat = format!("cpu  {user} 0 1 9 0 0 0 {steal} 0 0\ncpu0 1 0\ncpu1 0 0\nintr 5\n");
        write("proc/stat", &stat);
        write("proc/self/task/7/comm", "iogauge-0\n");
        write("proc/self/task/7/schedstat", "5 800 1");
        write("proc/self/task/8/comm", "iogauge-1\n");
        write("proc/self/task/8/schedstat", "5 400 1");
        let reader = StarvationReader {
            roots: Roots::at(dir.path()),
            throttles: vec![dir.path().join("a"), dir.path().join("b"), dir.path().join("none")],
        };
        write("a", "nr_periods 4\nnr_throttled 2\nthrottled_usec 7\n");
        write("b", "nr_periods 4\nthrottled_time 900\n");
        let now = reader.read(Waiting::Workers);
        let expected = Starvation {
            wait_ns: 600,
            others_ns: now.others_ns,
            steal_ns: 1_500_000_000,
            // Two workers on two processors.
            throttled_ns: (7000 + 900) / 2,
        };
        assert_eq!(now, expected);
        let own_ns = 1_000_000_000_000_000 - now.others_ns;
        assert!((1..600_000_000_000).contains(&own_ns), "{own_ns} ns of this process");
        let ignored = reader.read(Waiting::Ignored);
        assert_eq!((ignored.wait_ns, ignored.steal_ns), (0, expected.steal_ns));
        assert_eq!(expected.since(&expected), Starvation::default());
        assert_eq!(Starvation::default().since(&expected), Starvation::default());
    }

    #[test]
    fn wait_counts_only_up_to_cpu_time_of_other_programs() {
        let at = |wait_ns, others_ns| Starvation { wait_ns, others_ns, ..Starvation::default() };
        let before = at(100, 1000);
        assert_eq!(at(150, 1500).since(&before).lost_ns(), 50);
        assert_eq!(at(150, 1020).since(&before).lost_ns(), 20);
        assert_eq!(at(150, 900).since(&before).lost_ns(), 0);
    }

    #[test]
    fn missing_kernel_statistics_mean_no_starvation() {
        let dir = tempfile::tempdir().unwrap();
        let reader = StarvationReader::new(Roots::at(dir.path()));
        assert_eq!(reader.read(Waiting::Workers), Starvation::default());
    }
}
