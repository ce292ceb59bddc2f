//! Accounting of a worker: counters and histograms in two banks, so that a window can be taken while the next one is
//! being filled.

mod host_window;

use crate::engine::Op;
use crate::worker::transactions::TransactionSums;
use iogauge_model::Histogram;
use iogauge_model::histogram::{BUCKETS, bucket_of};
use serde::{Deserialize, Serialize};
use std::cell::UnsafeCell;

pub use host_window::HostWindow;

/// Number of directions: read, write, sync.
pub const DIRECTIONS: usize = 3;

/// Latencies of one kind in one direction.
#[derive(Debug)]
struct Latencies {
    buckets: Box<[u64]>,
    overflow: u64,
    sum_ns: u64,
    min_ns: u64,
    max_ns: u64,
}

impl Latencies {
    fn new() -> Self {
        Self {
            // The system zeroes the pages, and provides them only when something is counted.
            buckets: vec![0; BUCKETS].into_boxed_slice(),
            overflow: 0,
            sum_ns: 0,
            min_ns: u64::MAX,
            max_ns: 0,
        }
    }

    #[inline(always)]
    fn record(&mut self, ns: u64) {
        match bucket_of(ns) {
            Some(index) => self.buckets[index] += 1,
            None => self.overflow += 1,
        }
        self.sum_ns += ns;
        self.min_ns = self.min_ns.min(ns);
        self.max_ns = self.max_ns.max(ns);
    }

    /// Moves everything into a histogram. Visits only the buckets between minimum and maximum, so that thousands of
    /// idle workers cost little.
    fn take_into(&mut self, histogram: &mut Histogram) {
        if self.min_ns == u64::MAX {
            return;
        }
        let low = bucket_of(self.min_ns).unwrap_or(BUCKETS);
        let high = bucket_of(self.max_ns).map_or(BUCKETS, |index| index + 1);
        let range = &mut self.buckets[low.min(high)..high];
        histogram.add_raw(
            range.iter().enumerate().filter(|(_, n)| **n > 0).map(|(i, n)| (low + i, *n)),
            self.overflow,
            u128::from(self.sum_ns),
            self.min_ns,
            self.max_ns,
        );
        range.fill(0);
        (self.overflow, self.sum_ns, self.min_ns, self.max_ns) = (0, 0, u64::MAX, 0);
    }
}

/// One direction of a bank.
#[derive(Debug)]
struct DirectionCounts {
    bytes: u64,
    errors: u64,
    short: u64,
    service: Latencies,
    response: Option<Latencies>,
}

/// One window of one worker.
#[derive(Debug)]
pub(crate) struct Bank {
    directions: [Option<DirectionCounts>; DIRECTIONS],
    started_ns: u64,
    ended_ns: u64,
    /// Outstanding I/Os integrated over time, in I/O-nanoseconds.
    queue_depth_integral: u128,
    /// Maximum number of arrivals that were waiting for room.
    backlog_max: u64,
}

impl Bank {
    fn new(directions: [bool; DIRECTIONS], paced: bool) -> Self {
        let counts = |used: bool| {
            used.then(|| DirectionCounts {
                bytes: 0,
                errors: 0,
                short: 0,
                service: Latencies::new(),
                response: paced.then(Latencies::new),
            })
        };
        Self {
            directions: directions.map(counts),
            started_ns: 0,
            ended_ns: 0,
            queue_depth_integral: 0,
            backlog_max: 0,
        }
    }

    #[inline(always)]
    fn counts(&mut self, op: Op) -> &mut DirectionCounts {
        match &mut self.directions[op as usize] {
            Some(counts) => counts,
            // The directions are determined from the load before the first I/O.
            None => unreachable!("an I/O in a direction the load does not have"),
        }
    }

    /// Counts an I/O that moved all its bytes.
    #[inline(always)]
    pub(crate) fn success(&mut self, op: Op, bytes: u64, service_ns: u64) {
        let counts = self.counts(op);
        counts.bytes += bytes;
        counts.service.record(service_ns);
    }

    /// Records the response time of a scheduled I/O.
    #[inline(always)]
    pub(crate) fn response(&mut self, op: Op, response_ns: u64) {
        if let Some(response) = &mut self.counts(op).response {
            response.record(response_ns);
        }
    }

    pub(crate) fn error(&mut self, op: Op) {
        self.counts(op).errors += 1;
    }

    pub(crate) fn short(&mut self, op: Op) {
        self.counts(op).short += 1;
    }

    #[inline(always)]
    pub(crate) fn integrate(&mut self, outstanding: u32, elapsed_ns: u64) {
        self.queue_depth_integral += u128::from(outstanding) * u128::from(elapsed_ns);
    }

    /// Records how many arrivals wait for room.
    #[inline(always)]
    pub(crate) fn backlog(&mut self, arrivals: u64) {
        self.backlog_max = self.backlog_max.max(arrivals);
    }

    pub(crate) fn begin(&mut self, now_ns: u64) {
        self.started_ns = now_ns;
        self.ended_ns = now_ns;
    }

    pub(crate) fn end(&mut self, now_ns: u64) {
        self.ended_ns = now_ns;
    }

    /// Discards everything and starts again.
    pub(crate) fn discard(&mut self, now_ns: u64) {
        Window::default().collect(0, self);
        self.begin(now_ns);
    }
}

/// The two banks of a worker.
///
/// The worker writes one. The other belongs to the controller from the moment the worker hands it over until the
/// controller has taken its content (`Control::hand_over`, `Control::each_handed_over`).
#[derive(Debug)]
pub(crate) struct Banks {
    banks: [UnsafeCell<Bank>; 2],
}

// SAFETY: `Control` passes the right to access a bank between the two sides with release and acquire ordering, as the
// methods below require.
unsafe impl Sync for Banks {}

impl Banks {
    pub(crate) fn new(directions: [bool; DIRECTIONS], paced: bool) -> Self {
        let bank = || UnsafeCell::new(Bank::new(directions, paced));
        Self { banks: [bank(), bank()] }
    }

    /// Returns one of the banks.
    ///
    /// # Safety
    /// The caller must be the side that owns the bank at present, and must hold no other reference to it.
    #[expect(clippy::mut_from_ref, reason = "ownership is handed over between two threads")]
    #[inline(always)]
    pub(crate) unsafe fn get(&self, index: usize) -> &mut Bank {
        // SAFETY: the caller owns this bank.
        unsafe { &mut *self.banks[index].get() }
    }
}

/// What one direction did in a window.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Tally {
    /// Bytes moved by successful I/Os.
    pub bytes: u64,
    /// Failed I/Os.
    pub errors: u64,
    /// Completions that moved fewer bytes than requested.
    pub short: u64,
    /// Service times. Their count is the number of successful I/Os.
    pub service: Histogram,
    /// Response times, if arrivals were scheduled.
    pub response: Option<Histogram>,
}

impl Default for Tally {
    fn default() -> Self {
        // Buckets are allocated when something is counted: a window has a tally for each job and host.
        Self { bytes: 0, errors: 0, short: 0, service: Histogram::empty(), response: None }
    }
}

impl Tally {
    /// Returns the number of successful I/Os.
    #[must_use]
    pub fn ios(&self) -> u64 {
        self.service.count()
    }

    /// Adds another tally.
    pub fn merge(&mut self, other: &Self) {
        self.bytes += other.bytes;
        self.errors += other.errors;
        self.short += other.short;
        self.service.merge(&other.service);
        if let Some(theirs) = &other.response {
            self.response.get_or_insert_with(Histogram::empty).merge(theirs);
        }
    }
}

/// What one worker did in a window, without its histograms.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub struct WorkerWindow {
    /// Job of the worker.
    pub job: u32,
    /// Successful I/Os, without syncs.
    pub ios: u64,
    /// Bytes they moved.
    pub bytes: u64,
    /// Failed I/Os.
    pub errors: u64,
    /// Length of the window on the worker's own clock, in nanoseconds.
    pub elapsed_ns: u64,
    /// Outstanding I/Os integrated over the window, in I/O-nanoseconds.
    pub queue_depth_integral: u128,
}

impl WorkerWindow {
    /// Adds the same worker's next window.
    pub fn append(&mut self, next: &Self) {
        self.job = next.job;
        self.ios += next.ios;
        self.bytes += next.bytes;
        self.errors += next.errors;
        self.elapsed_ns += next.elapsed_ns;
        self.queue_depth_integral += next.queue_depth_integral;
    }
}

/// What was scheduled for a job in a window, whether issued or not.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Offered {
    /// I/Os that became due.
    pub ios: u64,
    /// Those of these and earlier ones that had not begun at the end of the window because the queue depth was used up.
    pub backlog: u64,
    /// Maximum number that waited in this way at one time.
    pub backlog_max: u64,
}

impl Offered {
    /// Adds what was scheduled for others at the same time.
    fn join(&mut self, beside: Self) {
        self.ios += beside.ios;
        self.backlog += beside.backlog;
        self.backlog_max += beside.backlog_max;
    }

    /// Adds what was scheduled in the next window.
    fn append(&mut self, next: Self) {
        self.ios += next.ios;
        self.backlog = next.backlog;
        self.backlog_max = self.backlog_max.max(next.backlog_max);
    }
}

/// What a worker pool did in one window.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Window {
    /// Read, write and sync, over all workers.
    pub directions: [Tally; DIRECTIONS],
    /// The same for each job, if there are several.
    pub jobs: Vec<[Tally; DIRECTIONS]>,
    /// What was scheduled for each job; `None` for a job in a closed loop.
    pub offered: Vec<Option<Offered>>,
    /// One entry per worker.
    pub workers: Vec<WorkerWindow>,
    /// One entry per worker of a database, in the same order; empty for other targets.
    pub transactions: Vec<TransactionSums>,
    /// One entry per host; empty if all workers are on this host.
    pub hosts: Vec<HostWindow>,
    /// End of the window on the worker pool's clock, in nanoseconds.
    pub ended_ns: u64,
}

impl Default for Window {
    fn default() -> Self {
        Self {
            directions: no_tallies(),
            jobs: vec![],
            offered: vec![],
            workers: vec![],
            transactions: vec![],
            hosts: vec![],
            ended_ns: 0,
        }
    }
}

fn no_tallies() -> [Tally; DIRECTIONS] {
    std::array::from_fn(|_| Tally::default())
}

fn merge(into: &mut [Tally; DIRECTIONS], from: &[Tally; DIRECTIONS]) {
    for (mine, theirs) in into.iter_mut().zip(from) {
        mine.merge(theirs);
    }
}

impl Window {
    /// Keeps separate tallies for this many jobs. Call this before anything is collected.
    pub(crate) fn keep_jobs_apart(&mut self, jobs: usize) {
        if jobs > 1 {
            self.jobs.resize_with(jobs, no_tallies);
        }
    }

    /// Sums the tallies of separate jobs.
    pub(crate) fn sum_up_jobs(&mut self) {
        if !self.jobs.is_empty() {
            self.directions = no_tallies();
            for job in &self.jobs {
                merge(&mut self.directions, job);
            }
        }
    }

    /// Adds what the workers of the next host have handed over, and keeps it apart as well. `own` contains nothing
    /// else, and the windows of that host's workers in `workers`.
    pub(crate) fn add_host(&mut self, mut own: Self, workers: &[WorkerWindow]) {
        own.sum_up_jobs();
        self.join(&own);
        self.hosts.push(HostWindow::of(own.directions, workers));
    }

    /// Returns what one job did, as a window.
    #[must_use]
    pub fn of_job(&self, job: u32) -> Self {
        let directions = self.jobs.get(job as usize).unwrap_or(&self.directions).clone();
        let workers = self.workers.iter().filter(|w| w.job == job).copied().collect();
        let offered = self.offered.get(job as usize).copied().into_iter().collect();
        Self { directions, offered, workers, ended_ns: self.ended_ns, ..Self::default() }
    }

    /// Takes the content of a bank and empties it.
    pub(crate) fn collect(&mut self, job: u32, bank: &mut Bank) -> WorkerWindow {
        let mut worker = WorkerWindow {
            job,
            elapsed_ns: bank.ended_ns.saturating_sub(bank.started_ns),
            queue_depth_integral: bank.queue_depth_integral,
            ..WorkerWindow::default()
        };
        for (index, counts) in bank.directions.iter_mut().enumerate() {
            let Some(counts) = counts else { continue };
            let tallies = self.jobs.get_mut(job as usize).unwrap_or(&mut self.directions);
            let tally = &mut tallies[index];
            let before = tally.ios();
            counts.service.take_into(&mut tally.service);
            if let Some(response) = &mut counts.response {
                response.take_into(tally.response.get_or_insert_with(Histogram::empty));
            }
            if index != Op::Sync as usize {
                worker.ios += tally.ios() - before;
                worker.bytes += counts.bytes;
            }
            worker.errors += counts.errors;
            tally.bytes += counts.bytes;
            tally.errors += counts.errors;
            tally.short += counts.short;
            (counts.bytes, counts.errors, counts.short) = (0, 0, 0);
        }
        if let Some(Some(offered)) = self.offered.get_mut(job as usize) {
            offered.backlog_max = offered.backlog_max.max(bank.backlog_max);
        }
        (bank.queue_depth_integral, bank.backlog_max) = (0, 0);
        bank.started_ns = bank.ended_ns;
        self.ended_ns = self.ended_ns.max(bank.ended_ns);
        worker
    }

    /// Returns what one direction did.
    #[must_use]
    pub fn tally(&self, op: Op) -> &Tally {
        &self.directions[op as usize]
    }

    /// Returns the number of successful reads and writes.
    #[must_use]
    pub fn ios(&self) -> u64 {
        self.tally(Op::Read).ios() + self.tally(Op::Write).ios()
    }

    /// Returns the number of bytes read and written.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.tally(Op::Read).bytes + self.tally(Op::Write).bytes
    }

    /// Returns the number of failed I/Os.
    #[must_use]
    pub fn errors(&self) -> u64 {
        self.directions.iter().map(|d| d.errors).sum()
    }

    /// Returns reads and writes per second: the sum of the workers' own rates.
    #[must_use]
    pub fn iops(&self) -> f64 {
        self.workers.iter().map(|w| rate(w.ios, w.elapsed_ns)).sum()
    }

    /// Returns bytes per second.
    #[must_use]
    pub fn bytes_per_sec(&self) -> f64 {
        self.workers.iter().map(|w| rate(w.bytes, w.elapsed_ns)).sum()
    }

    /// Returns the time average of the outstanding I/Os, over all workers.
    #[must_use]
    pub fn queue_depth(&self) -> f64 {
        let average = |w: &WorkerWindow| {
            if w.elapsed_ns == 0 {
                0.0
            } else {
                w.queue_depth_integral as f64 / w.elapsed_ns as f64
            }
        };
        // Not `sum()`, which returns -0 for no workers.
        self.workers.iter().map(average).fold(0.0, |sum, queue_depth| sum + queue_depth)
    }

    /// Returns the length in seconds: that of the workers' longest window.
    #[must_use]
    pub fn seconds(&self) -> f64 {
        self.workers.iter().map(|w| w.elapsed_ns).max().unwrap_or(0) as f64 / 1e9
    }

    /// Returns what was scheduled over all jobs; `None` in a closed loop.
    #[must_use]
    pub fn offered(&self) -> Option<Offered> {
        self.offered.iter().flatten().copied().reduce(|mut a, b| {
            a.join(b);
            a
        })
    }

    /// Returns the response times of reads and writes together, if arrivals were scheduled.
    #[must_use]
    pub fn response(&self) -> Option<Histogram> {
        let of = |op| self.tally(op).response.clone();
        match (of(Op::Read), of(Op::Write)) {
            (Some(mut reads), Some(writes)) => {
                reads.merge(&writes);
                Some(reads)
            }
            (reads, writes) => reads.or(writes),
        }
    }

    /// Returns the service times of reads and writes together.
    #[must_use]
    pub fn service(&self) -> Histogram {
        let mut merged = self.tally(Op::Read).service.clone();
        merged.merge(&self.tally(Op::Write).service);
        merged
    }

    /// Adds what other workers did in the same time.
    pub fn join(&mut self, beside: &Self) {
        merge(&mut self.directions, &beside.directions);
        self.keep_jobs_apart(beside.jobs.len());
        for (mine, theirs) in self.jobs.iter_mut().zip(&beside.jobs) {
            merge(mine, theirs);
        }
        self.offered.resize(self.offered.len().max(beside.offered.len()), None);
        for (mine, theirs) in self.offered.iter_mut().zip(&beside.offered) {
            if let Some(theirs) = theirs {
                mine.get_or_insert_default().join(*theirs);
            }
        }
        self.workers.extend(&beside.workers);
        self.transactions.extend(&beside.transactions);
        self.hosts.extend_from_slice(&beside.hosts);
        self.ended_ns = self.ended_ns.max(beside.ended_ns);
    }

    /// Adds the next window.
    pub fn append(&mut self, next: &Self) {
        merge(&mut self.directions, &next.directions);
        self.keep_jobs_apart(next.jobs.len());
        for (mine, theirs) in self.jobs.iter_mut().zip(&next.jobs) {
            merge(mine, theirs);
        }
        self.offered.resize(self.offered.len().max(next.offered.len()), None);
        for (mine, theirs) in self.offered.iter_mut().zip(&next.offered) {
            if let Some(theirs) = theirs {
                mine.get_or_insert_default().append(*theirs);
            }
        }
        self.workers.resize(self.workers.len().max(next.workers.len()), WorkerWindow::default());
        for (mine, theirs) in self.workers.iter_mut().zip(&next.workers) {
            mine.append(theirs);
        }
        let workers = self.transactions.len().max(next.transactions.len());
        self.transactions.resize(workers, TransactionSums::default());
        for (mine, theirs) in self.transactions.iter_mut().zip(&next.transactions) {
            mine.add(theirs);
        }
        self.hosts.resize_with(self.hosts.len().max(next.hosts.len()), HostWindow::default);
        for (mine, theirs) in self.hosts.iter_mut().zip(&next.hosts) {
            mine.append(theirs);
        }
        self.ended_ns = self.ended_ns.max(next.ended_ns);
    }
}

fn rate(count: u64, elapsed_ns: u64) -> f64 {
    if elapsed_ns == 0 { 0.0 } else { count as f64 * 1e9 / elapsed_ns as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn collecting_empties_a_statistics_bank() {
        let mut bank = Bank::new([true, true, false], true);
        bank.begin(1_000);
        bank.success(Op::Read, 4096, 500);
        bank.success(Op::Write, 8192, 1 << 45);
        bank.response(Op::Read, 700);
        bank.error(Op::Write);
        bank.short(Op::Read);
        bank.backlog(7);
        bank.backlog(5);
        bank.integrate(2, 500);
        bank.end(2_000);
        let mut window = Window { offered: vec![Some(Offered::default()); 4], ..Window::default() };
        let worker = window.collect(3, &mut bank);
        window.workers.push(worker);
        assert_eq!((worker.job, worker.ios, worker.bytes, worker.errors), (3, 2, 12288, 1));
        assert_eq!(window.tally(Op::Read).service.max_ns(), 500);
        assert_eq!(window.tally(Op::Write).service.overflow(), 1);
        assert_eq!(window.tally(Op::Read).response.as_ref().unwrap().count(), 1);
        assert_eq!((window.iops(), window.queue_depth()), (2e6, 1.0));
        assert_eq!(window.offered().unwrap().backlog_max, 7);
        assert_eq!(bank.backlog_max, 0);
        let again = Window::default().collect(3, &mut bank);
        assert_eq!(
            (again.ios, again.bytes, again.errors, again.queue_depth_integral),
            (0, 0, 0, 0)
        );
    }
}
