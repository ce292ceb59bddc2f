//! fio's counts since it started, and the windows between two of them.

use crate::machine::ProcessCpu;
use crate::worker::accounting::{DIRECTIONS, Tally, Window, WorkerWindow};
use iogauge_model::Histogram;
use iogauge_model::histogram::bucket_of;
use iogauge_model::result::{FioDirection, FioLatency, FioResult};
use std::collections::BTreeMap;

/// One document of fio: each job's counts since the measurement began.
#[derive(Debug, Clone, Default)]
pub(super) struct Snapshot {
    jobs: Vec<JobCounts>,
}

/// The counts of a job, or of a group reported as one.
#[derive(Debug, Clone, Default)]
struct JobCounts {
    /// On fio's own clock, in whole milliseconds.
    elapsed_ns: u64,
    /// Read, write, sync.
    directions: [Counts; DIRECTIONS],
    errors: u64,
    cpu: ProcessCpu,
}

#[derive(Debug, Clone, Default)]
struct Counts {
    bytes: u64,
    short: u64,
    /// Middle of each bucket, with its count.
    bins: BTreeMap<u64, u64>,
    sum_ns: u128,
    min_ns: u64,
    max_ns: u64,
}

impl Snapshot {
    /// Returns the counts in a document's results, one for each job.
    pub(super) fn of(results: &[FioResult]) -> Self {
        Self { jobs: results.iter().map(JobCounts::of).collect() }
    }

    /// Returns true if I/Os have been counted. While fio ramps up, and before the first I/O has completed, its
    /// documents contain no latencies.
    pub(super) fn counts(&self) -> bool {
        self.jobs.iter().any(|job| job.errors > 0 || job.ios() > 0)
    }

    /// Returns everything counted, with fio's own extremes and sums.
    pub(super) fn whole(&self) -> Window {
        self.since(&Self::default())
    }

    /// Returns the processor time that fio used for it.
    pub(super) fn cpu(&self) -> ProcessCpu {
        self.jobs.iter().fold(ProcessCpu::default(), |sum, job| ProcessCpu {
            user_ns: sum.user_ns + job.cpu.user_ns,
            system_ns: sum.system_ns + job.cpu.system_ns,
        })
    }

    /// Counts one more error, for the first job.
    pub(super) fn fail_once(&mut self) {
        if let Some(job) = self.jobs.first_mut() {
            job.errors += 1;
        }
    }

    /// Returns true if this snapshot does not continue an earlier one: fio restarts its counts when its ramp time is
    /// over.
    pub(super) fn begins_anew(&self, earlier: &Self) -> bool {
        let pairs = self.jobs.iter().zip(&earlier.jobs);
        self.jobs.len() < earlier.jobs.len()
            || pairs.into_iter().any(|(now, then)| !now.goes_on_from(then))
    }

    /// Returns what was counted since an earlier snapshot of the same process.
    pub(super) fn since(&self, earlier: &Self) -> Window {
        let mut window = Window::default();
        window.keep_jobs_apart(self.jobs.len());
        let nothing = JobCounts::default();
        for (number, job) in self.jobs.iter().enumerate() {
            let before = earlier.jobs.get(number).unwrap_or(&nothing);
            let tallies = job.since(before);
            let ios: u64 = tallies[..2].iter().map(Tally::ios).sum();
            let latency_ns: u128 = tallies[..2].iter().map(|tally| tally.service.sum_ns()).sum();
            window.workers.push(WorkerWindow {
                job: number as u32,
                ios,
                bytes: tallies.iter().map(|tally| tally.bytes).sum(),
                errors: job.errors - before.errors,
                elapsed_ns: job.elapsed_ns - before.elapsed_ns,
                // Little's law: the integral of the outstanding I/Os is the sum of their latencies.
                queue_depth_integral: latency_ns,
            });
            match window.jobs.get_mut(number) {
                Some(own) => *own = tallies,
                None => window.directions = tallies,
            }
        }
        window.sum_up_jobs();
        window
    }
}

impl JobCounts {
    fn of(result: &FioResult) -> Self {
        let directions = [&result.read, &result.write, &result.sync];
        let moving = [&result.read, &result.write];
        let elapsed_ns = moving.iter().filter_map(|d| Some(d.as_ref()?.runtime_ns)).max();
        let elapsed_ns = elapsed_ns.unwrap_or_default();
        let users = f64::from(result.users.unwrap_or(1).max(1));
        let used = |percent: f64| (percent.max(0.0) / 100.0 * elapsed_ns as f64 * users) as u64;
        // A job that ended with an error but reports no failed I/Os has failed once.
        let ended = u64::from(result.error != 0 && result.failed_ios == 0);
        Self {
            elapsed_ns,
            directions: directions.map(|d| d.as_ref().map(Counts::of).unwrap_or_default()),
            errors: result.failed_ios + ended,
            cpu: ProcessCpu {
                user_ns: used(result.user_cpu_percent),
                system_ns: used(result.system_cpu_percent),
            },
        }
    }

    fn ios(&self) -> u64 {
        self.directions.iter().map(Counts::ios).sum()
    }

    fn goes_on_from(&self, earlier: &Self) -> bool {
        let pairs = self.directions.iter().zip(&earlier.directions);
        self.elapsed_ns >= earlier.elapsed_ns
            && self.errors >= earlier.errors
            && pairs.into_iter().all(|(now, then)| now.goes_on_from(then))
    }

    /// fio does not report failed I/Os by direction. They are assigned to the direction with the most bytes.
    fn since(&self, earlier: &Self) -> [Tally; DIRECTIONS] {
        let mut tallies: [Tally; DIRECTIONS] =
            std::array::from_fn(|d| self.directions[d].since(&earlier.directions[d]));
        let most = usize::from(self.directions[1].bytes > self.directions[0].bytes);
        tallies[most].errors = self.errors - earlier.errors;
        tallies
    }
}

impl Counts {
    fn of(direction: &FioDirection) -> Self {
        let has_bins = |latency: &&FioLatency| !latency.bins.is_empty();
        let lat = direction.lat.as_ref().filter(has_bins);
        let clat = || direction.clat.as_ref().filter(has_bins);
        let counts = Self { bytes: direction.bytes, short: direction.short_ios, ..Self::default() };
        let Some(latency) = lat.or_else(clat) else { return counts };
        let mut bins = BTreeMap::new();
        for (value_ns, n) in &latency.bins {
            *bins.entry(*value_ns).or_insert(0) += n;
        }
        let ios: u64 = bins.values().sum();
        Self {
            sum_ns: (latency.mean_ns * ios as f64).round() as u128,
            min_ns: latency.min_ns,
            max_ns: latency.max_ns,
            bins,
            ..counts
        }
    }

    fn ios(&self) -> u64 {
        self.bins.values().sum()
    }

    fn goes_on_from(&self, earlier: &Self) -> bool {
        let at = |value_ns: &u64| self.bins.get(value_ns).copied().unwrap_or(0);
        self.bytes >= earlier.bytes
            && self.short >= earlier.short
            && earlier.bins.iter().all(|(value_ns, n)| at(value_ns) >= *n)
    }

    fn since(&self, earlier: &Self) -> Tally {
        let before = |value_ns: &u64| earlier.bins.get(value_ns).copied().unwrap_or(0);
        let bins: Vec<(u64, u64)> = self
            .bins
            .iter()
            .map(|(value_ns, n)| (*value_ns, n - before(value_ns)))
            .filter(|(_, n)| *n > 0)
            .collect();
        let mut service = Histogram::new();
        if let (Some((lowest, _)), Some((highest, _))) = (bins.first(), bins.last()) {
            let first = earlier.bins.is_empty();
            // fio reports the extremes since it started. Only new ones belong to this window.
            let min_ns = if first || self.min_ns < earlier.min_ns { self.min_ns } else { *lowest };
            let max_ns = if self.max_ns > earlier.max_ns { self.max_ns } else { *highest };
            let (max_ns, sum_ns) =
                (max_ns.min(self.max_ns), self.sum_ns.saturating_sub(earlier.sum_ns));
            let known = bins.iter().filter_map(|(value_ns, n)| Some((bucket_of(*value_ns)?, *n)));
            let beyond = bins.iter().filter(|(value_ns, _)| bucket_of(*value_ns).is_none());
            let overflow = beyond.map(|(_, n)| n).sum();
            service.add_raw(known, overflow, sum_ns, min_ns.min(max_ns), max_ns);
        }
        Tally {
            bytes: self.bytes - earlier.bytes,
            errors: 0,
            short: self.short - earlier.short,
            service,
            response: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Returns a document of one job with reads of these latencies.
    fn reads(latencies_ns: &[u64], runtime_ms: u64) -> FioResult {
        let mut bins = BTreeMap::new();
        for ns in latencies_ns {
            let bucket = iogauge_model::histogram::fio_bucket_of(*ns);
            *bins.entry(iogauge_model::histogram::fio_bucket_value(bucket)).or_insert(0u64) += 1;
        }
        let sum: u64 = latencies_ns.iter().sum();
        let lat = FioLatency {
            min_ns: latencies_ns.iter().min().copied().unwrap_or(0),
            max_ns: latencies_ns.iter().max().copied().unwrap_or(0),
            mean_ns: sum as f64 / latencies_ns.len().max(1) as f64,
            bins: bins.into_iter().collect(),
            ..FioLatency::default()
        };
        let read = FioDirection {
            ios: latencies_ns.len() as u64,
            bytes: 4096 * latencies_ns.len() as u64,
            runtime_ns: runtime_ms * 1_000_000,
            lat: (!latencies_ns.is_empty()).then_some(lat),
            ..FioDirection::default()
        };
        FioResult {
            read: Some(read),
            users: Some(2),
            user_cpu_percent: 10.0,
            system_cpu_percent: 20.0,
            ..FioResult::default()
        }
    }

    fn snapshot(latencies_ns: &[u64], runtime_ms: u64) -> Snapshot {
        Snapshot::of(&[reads(latencies_ns, runtime_ms)])
    }

    #[test]
    fn window_is_difference_of_two_snapshots() {
        let first = snapshot(&[1000, 9000], 100);
        let second = snapshot(&[1000, 9000, 3000, 3000, 3000], 350);
        let window = second.since(&first);
        assert_eq!((window.ios(), window.bytes(), window.seconds()), (3, 3 * 4096, 0.25));
        assert_eq!(window.service().mean_ns(), 3000.0);
        // The window contains neither extreme.
        let (min, max) = (window.service().min_ns(), window.service().max_ns());
        assert!((2976..=3024).contains(&min) && (2976..=3024).contains(&max), "{min} {max}");
        assert!((window.queue_depth() - 9000.0 / 250e6).abs() < 1e-12);
        assert_eq!(second.cpu().system_ns, 140_000_000);
        let whole = second.whole();
        assert_eq!(
            (whole.ios(), whole.service().min_ns(), whole.service().max_ns()),
            (5, 1000, 9000)
        );
    }

    #[test]
    fn counter_reset_between_snapshots_is_detected() {
        let ramp = snapshot(&[], 900);
        let first = snapshot(&[5000], 100);
        assert!(!ramp.counts() && first.counts());
        assert!(first.begins_anew(&ramp));
        assert!(!snapshot(&[5000, 7000], 200).begins_anew(&first));
        assert!(snapshot(&[7000, 7000], 200).begins_anew(&first), "a bucket has lost an I/O");
    }

    #[test]
    fn snapshot_separates_jobs_and_counts_failed_ios() {
        let failed = FioResult { failed_ios: 3, error: 5, ..reads(&[4000], 100) };
        let snapshot = Snapshot::of(&[reads(&[1000, 2000], 100), failed]);
        let window = snapshot.whole();
        assert_eq!((window.ios(), window.errors()), (3, 3));
        assert_eq!((window.of_job(0).ios(), window.of_job(1).errors()), (2, 3));
        assert_eq!(window.workers.len(), 2);
        let ended = FioResult { error: 28, ..reads(&[], 0) };
        assert_eq!(Snapshot::of(&[ended]).whole().errors(), 1);
    }

    proptest! {
        #[test]
        fn windows_sum_to_total(
            latencies in prop::collection::vec(1u64..1 << 30, 1..300),
            cuts in prop::collection::vec(0usize..300, 0..5),
        ) {
            let mut cuts: Vec<usize> = cuts.into_iter().map(|c| c.min(latencies.len())).collect();
            cuts.push(latencies.len());
            cuts.sort_unstable();
            let mut total = Window::default();
            let mut before = Snapshot::default();
            for cut in cuts {
                let now = snapshot(&latencies[..cut], cut as u64);
                prop_assert!(!now.begins_anew(&before));
                total.append(&now.since(&before));
                before = now;
            }
            let whole = before.whole();
            let (parts, all) = (total.service(), whole.service());
            prop_assert_eq!(parts.fold_to_fio(), all.fold_to_fio());
            prop_assert_eq!((total.ios(), total.bytes()), (whole.ios(), whole.bytes()));
            prop_assert_eq!(parts.max_ns(), all.max_ns());
            prop_assert!((parts.mean_ns() - all.mean_ns()).abs() <= 1.0);
            prop_assert!((total.seconds() - whole.seconds()).abs() < 1e-9);
        }
    }
}
