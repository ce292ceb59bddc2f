//! The thread that watches the machine while a load runs.

use super::reading::{CounterReader, Counters, Logical, SystemTotals};
use super::series::BoundedSeries;
use super::{DeviceTree, Roots, SystemError};
use iogauge_model::result::SystemPoint;
use rustix::time::{ClockId, clock_gettime};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Most points a series has; beyond it neighbours are merged and the cadence doubles.
pub const MAX_POINTS: usize = 1200;

/// Cadences below this would measure the sampler rather than the machine.
const MIN_CADENCE: Duration = Duration::from_millis(10);

/// What a sampler saw from its start to its end.
#[derive(Debug, Clone, PartialEq)]
pub struct SystemSeries {
    /// The machine over time; `at_seconds` counts from the start.
    pub points: Vec<SystemPoint>,
    /// The whole span.
    pub totals: SystemTotals,
    /// Samples that could not be read.
    pub missed: u64,
    /// Processor time the sampling thread itself took, in nanoseconds.
    pub sampler_cpu_ns: u64,
}

/// A thread that reads the counters of devices, processor and memory at a steady cadence.
///
/// Under 1 % of one processor down to a cadence of 100 ms. Dropping it ends the thread.
#[derive(Debug)]
pub struct Sampler {
    start: Counters,
    reader: CounterReader,
    series: Arc<Mutex<BoundedSeries>>,
    /// Taken when the sampler ends; the thread ends when this is dropped.
    running: Option<(Sender<()>, JoinHandle<ThreadEnd>)>,
}

/// What the thread has to say at its end.
#[derive(Debug, Default)]
struct ThreadEnd {
    missed: u64,
    cpu_ns: u64,
}

impl Sampler {
    /// Starts to watch the machine and the leaves of the tree, one sample each `cadence` (at
    /// least 10 ms).
    ///
    /// # Errors
    /// When a counter cannot be read or no thread started.
    pub fn start(tree: &DeviceTree, cadence: Duration) -> Result<Self, SystemError> {
        let roots = Roots::real();
        let mut reader = CounterReader::open(&roots, tree)?;
        let start = reader.read()?;
        let series = Arc::new(Mutex::new(BoundedSeries::new(MAX_POINTS)));
        let (end, ended) = channel();
        let sampling = Sampling {
            reader: CounterReader::open(&roots, tree)?,
            before: start.clone(),
            now: start.clone(),
            start: start.at,
            cadence: cadence.max(MIN_CADENCE),
            series: Arc::clone(&series),
            missed: 0,
        };
        let thread = std::thread::Builder::new()
            .name("iogauge-sampler".into())
            .spawn(move || sampling.run(&ended))
            .map_err(|source| SystemError::Thread { source })?;
        Ok(Self { start, reader, series, running: Some((end, thread)) })
    }

    /// The counters now, read on the caller's thread; [`Counters::since`] sets two of them
    /// against each other. For the borders of steps.
    ///
    /// # Errors
    /// When a counter cannot be read.
    pub fn mark(&mut self) -> Result<Counters, SystemError> {
        self.reader.read()
    }

    /// The points sampled between two marks; `at_seconds` counts from the first. The first point
    /// may reach back a cadence before the mark.
    #[must_use]
    pub fn points_between(&self, from: &Counters, to: &Counters) -> Vec<SystemPoint> {
        let seconds =
            |mark: &Counters| mark.at.saturating_duration_since(self.start.at).as_secs_f64();
        let (from, to) = (seconds(from), seconds(to));
        let series = self.series.lock().unwrap_or_else(PoisonError::into_inner);
        let within = series.points().iter().filter(|p| p.at_seconds > from && p.at_seconds <= to);
        within.map(|p| SystemPoint { at_seconds: p.at_seconds - from, ..p.clone() }).collect()
    }

    /// Ends the sampling. `logical` is what the load did since the start.
    ///
    /// # Errors
    /// When the counters cannot be read for the last time.
    pub fn stop(mut self, logical: Logical) -> Result<SystemSeries, SystemError> {
        let totals = self.reader.read()?.since(&self.start, logical);
        let end = self.end_thread();
        let mut series = self.series.lock().unwrap_or_else(PoisonError::into_inner);
        let series = std::mem::replace(&mut *series, BoundedSeries::new(2));
        Ok(SystemSeries {
            points: series.into_points(),
            totals,
            missed: end.missed,
            sampler_cpu_ns: end.cpu_ns,
        })
    }

    fn end_thread(&mut self) -> ThreadEnd {
        let Some((end, thread)) = self.running.take() else { return ThreadEnd::default() };
        drop(end);
        thread.join().unwrap_or_default()
    }
}

impl Drop for Sampler {
    fn drop(&mut self) {
        self.end_thread();
    }
}

/// What the thread works with.
struct Sampling {
    reader: CounterReader,
    before: Counters,
    now: Counters,
    start: Instant,
    cadence: Duration,
    series: Arc<Mutex<BoundedSeries>>,
    missed: u64,
}

impl Sampling {
    fn run(mut self, ended: &Receiver<()>) -> ThreadEnd {
        let mut stride = 1;
        let mut due = self.start;
        loop {
            // From the due time, not from now, so that delays do not add up; what was slept
            // through is skipped, not caught up on.
            due = (due + self.cadence * stride).max(Instant::now());
            let wait = due.saturating_duration_since(Instant::now());
            if ended.recv_timeout(wait) != Err(RecvTimeoutError::Timeout) {
                break;
            }
            stride = self.sample();
        }
        let cpu = clock_gettime(ClockId::ThreadCPUTime);
        let cpu_ns = cpu.tv_sec as u64 * 1_000_000_000 + cpu.tv_nsec as u64;
        ThreadEnd { missed: self.missed, cpu_ns }
    }

    /// Adds one point; returns how many cadences to wait for the next.
    fn sample(&mut self) -> u32 {
        let read = self.reader.read_into(&mut self.now);
        let mut series = self.series.lock().unwrap_or_else(PoisonError::into_inner);
        match read {
            Ok(()) => {
                series.push(self.now.point_since(&self.before, self.start));
                std::mem::swap(&mut self.before, &mut self.now);
            }
            Err(_) => self.missed += 1,
        }
        series.stride()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree_here() -> DeviceTree {
        DeviceTree::under(&std::env::temp_dir()).unwrap()
    }

    #[test]
    fn samples_come_at_the_cadence_and_cost_under_one_percent() {
        let sampler = Sampler::start(&tree_here(), Duration::from_millis(100)).unwrap();
        std::thread::sleep(Duration::from_millis(1550));
        let series = sampler.stop(Logical::default()).unwrap();
        // A busy machine may wake the thread late, never early.
        let most = (series.totals.seconds / 0.1).floor() as usize;
        assert!((5..=most).contains(&series.points.len()), "{}", series.points.len());
        assert_eq!(series.missed, 0);
        let share = series.sampler_cpu_ns as f64 / 1e9 / series.totals.seconds;
        assert!(share < 0.01, "sampling took {:.2} % of a processor", share * 100.0);
        assert!(series.points.is_sorted_by(|a, b| a.at_seconds < b.at_seconds));
        assert!(series.points.iter().all(|p| p.memory_available_bytes > 0));
    }

    #[test]
    fn marks_cut_a_run_into_steps() {
        let mut sampler = Sampler::start(&tree_here(), Duration::from_millis(20)).unwrap();
        std::thread::sleep(Duration::from_millis(150));
        let from = sampler.mark().unwrap();
        std::thread::sleep(Duration::from_millis(300));
        let to = sampler.mark().unwrap();
        std::thread::sleep(Duration::from_millis(100));
        let points = sampler.points_between(&from, &to);
        let totals = to.since(&from, Logical { ios: 10, bytes: 0 });
        assert!((0.3..5.0).contains(&totals.seconds), "{}", totals.seconds);
        assert!(!points.is_empty());
        assert!(points.iter().all(|p| p.at_seconds > 0.0 && p.at_seconds <= totals.seconds));
        let all = sampler.stop(Logical::default()).unwrap();
        assert!(all.points.len() > points.len());
    }

    #[test]
    fn stopping_does_not_wait_for_the_next_sample() {
        let begun = Instant::now();
        let sampler = Sampler::start(&DeviceTree::default(), Duration::from_secs(3600)).unwrap();
        drop(sampler);
        let sampler = Sampler::start(&DeviceTree::default(), Duration::from_secs(3600)).unwrap();
        assert!(sampler.stop(Logical::default()).unwrap().points.is_empty());
        assert!(begun.elapsed() < Duration::from_secs(10));
    }
}
