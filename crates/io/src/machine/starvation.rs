//! Time in which the client could not work: its workers waited for a processor that another program had,
//! its control group had used up its quota, or the hypervisor let other machines run.
//!
//! Workers also wait for the kernel's own threads, which do part of each I/O: that belongs to what is
//! measured. Of a wait no more counts than other programs ran meanwhile, outside the kernel: what they do inside
//! it cannot be told from the kernel's own work.

use super::cgroup::throttle_files;
use super::cpu::{MachineCpu, ProcessCpu};
use super::run_queue::RunQueue;
use crate::kernel::{Roots, text};
use std::path::PathBuf;

/// Time lost so far, each kind for itself, in nanoseconds. Two readings make a share.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Starvation {
    /// The mean worker was ready to run and had no processor.
    pub wait_ns: u64,
    /// Other programs ran, over all processors. Not lost by itself.
    pub others_ns: u64,
    /// The mean processor was taken by the hypervisor.
    pub steal_ns: u64,
    /// Control groups held the mean worker back.
    pub throttled_ns: u64,
}

impl Starvation {
    /// What was lost since an earlier reading.
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

    /// All kinds together, in nanoseconds. A worker that waits is not one whose processor was stolen; one that
    /// is held back may count as waiting, too.
    #[must_use]
    pub fn lost_ns(&self) -> u64 {
        self.wait_ns.max(self.throttled_ns) + self.steal_ns
    }

    /// Adds that of another time.
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
    /// That of the workers of this process.
    Workers,
    /// Nobody's: they wait for each other, or for the database they work for.
    Ignored,
}

/// Where the kernel reports starvation.
#[derive(Debug)]
pub struct StarvationReader {
    roots: Roots,
    /// `cpu.stat` of this process's group and of those above it.
    throttles: Vec<PathBuf>,
}

impl StarvationReader {
    /// Looks up the files: a few small ones are read.
    #[must_use]
    pub fn new(roots: Roots) -> Self {
        Self { throttles: throttle_files(&roots), roots }
    }

    /// Reads them anew: `/proc/stat`, one file for each group above, two for each worker. What the kernel
    /// does not report counts as 0.
    #[must_use]
    pub fn read(&self, waiting: Waiting) -> Starvation {
        let own = ProcessCpu::now();
        let machine = text(&self.roots.path("proc/stat"))
            .and_then(|stat| Some((MachineCpu::parse(&stat)?, processors(&stat))));
        let ns = |ticks: u64| ticks.saturating_mul(tick_ns());
        let throttled = self.throttles.iter().filter_map(|file| throttled_ns(&text(file)?));
        let run_queue = RunQueue::now(&self.roots);
        // A group is held back on each processor that its threads are on.
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

/// Length of a tick of `/proc/stat` (proc_stat(5)), in nanoseconds.
fn tick_ns() -> u64 {
    1_000_000_000 / rustix::param::clock_ticks_per_second().max(1)
}

/// Processors in the text of `/proc/stat`; at least 1.
fn processors(stat: &str) -> u64 {
    let each = |line: &&str| {
        line.strip_prefix("cpu").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    };
    stat.lines().filter(each).count().max(1) as u64
}

/// Time a group was held back, by the text of its `cpu.stat`: in microseconds in version 2, in
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
    fn each_kind_is_read_where_the_kernel_tells_it() {
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
    fn a_wait_counts_as_far_as_other_programs_ran() {
        let at = |wait_ns, others_ns| Starvation { wait_ns, others_ns, ..Starvation::default() };
        let before = at(100, 1000);
        assert_eq!(at(150, 1500).since(&before).lost_ns(), 50);
        assert_eq!(at(150, 1020).since(&before).lost_ns(), 20);
        assert_eq!(at(150, 900).since(&before).lost_ns(), 0);
    }

    #[test]
    fn a_kernel_that_tells_nothing_starves_nobody() {
        let dir = tempfile::tempdir().unwrap();
        let reader = StarvationReader::new(Roots::at(dir.path()));
        assert_eq!(reader.read(Waiting::Workers), Starvation::default());
    }
}
