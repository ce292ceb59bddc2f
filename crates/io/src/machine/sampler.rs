//! The thread that samples the machine during a measurement.

use super::counters::{CounterReader, Counters, Logical, SystemTotals};
use super::run_queue::RunQueue;
use super::sample_series::BoundedSeries;
use super::{DeviceTree, Roots, SystemError};
use iogauge_model::result::SystemPoint;
use rustix::time::{ClockId, clock_gettime};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Shorter intervals would measure the sampler rather than the machine.
const MIN_CADENCE: Duration = Duration::from_millis(10);

/// Everything that a sampler recorded.
#[derive(Debug, Clone, PartialEq)]
pub struct SystemSeries {
    /// The machine over time. `at_seconds` counts from the start.
    pub points: Vec<SystemPoint>,
    pub totals: SystemTotals,
    /// Number of samples that could not be read.
    pub missed: u64,
    /// Processor time of the sampling thread, in nanoseconds.
    pub sampler_cpu_ns: u64,
}

/// A thread that reads the counters of devices, processor and memory at regular intervals.
///
/// Uses less than 1 % of one processor at intervals of 100 ms and longer. The thread ends when the sampler is dropped.
#[derive(Debug)]
pub struct Sampler {
    start: Counters,
    sampling: Arc<Mutex<Sampling>>,
    /// Taken when the sampler ends. Dropping the sender ends the thread.
    running: Option<(Sender<()>, JoinHandle<u64>)>,
}

impl Sampler {
    /// Starts sampling the machine and the devices of the tree, once every `cadence` (at least 10 ms).
    ///
    /// # Errors
    /// Fails if a counter cannot be read or the thread cannot be started.
    pub fn start(tree: &DeviceTree, cadence: Duration) -> Result<Self, SystemError> {
        let mut reader = CounterReader::open(&Roots::real(), tree)?;
        let start = reader.read()?;
        let sampling = Arc::new(Mutex::new(Sampling {
            reader,
            before: start.clone(),
            now: start.clone(),
            start: start.at,
            cadence: cadence.max(MIN_CADENCE),
            series: BoundedSeries::of_devices(start.devices.len()),
            at_mark: true,
            missed: 0,
            fault: None,
        }));
        let (end, ended) = channel();
        let shared = Arc::clone(&sampling);
        let thread = std::thread::Builder::new()
            .name("iogauge-sampler".into())
            .spawn(move || run(&shared, &ended))
            .map_err(|source| SystemError::Thread { source })?;
        Ok(Self { start, sampling, running: Some((end, thread)) })
    }

    /// Returns the counters at the start of sampling.
    #[must_use]
    pub fn begin(&self) -> &Counters {
        &self.start
    }

    /// Ends the current sample, begins the next, and returns the counters, read on the caller's thread. Meant for the
    /// boundaries of steps. [`Counters::since`] compares two readings.
    ///
    /// # Errors
    /// Fails if a counter cannot be read.
    pub fn mark(&mut self) -> Result<Counters, SystemError> {
        self.read(Sampling::mark)
    }

    /// Returns the counters like [`Self::mark`], but without ending the current sample.
    ///
    /// # Errors
    /// Fails if a counter cannot be read.
    pub fn look(&self) -> Result<Counters, SystemError> {
        self.read(Sampling::look)
    }

    fn read(
        &self,
        counters: fn(&mut Sampling) -> Result<Counters, SystemError>,
    ) -> Result<Counters, SystemError> {
        let (counters, roots) = {
            let mut sampling = self.lock();
            (counters(&mut sampling)?, sampling.reader.roots().clone())
        };
        Ok(Counters { run_queue: RunQueue::now(&roots), ..counters })
    }

    /// Returns the points sampled between two marks. `at_seconds` counts from the first mark. If a long series had to
    /// be merged, the first point may begin before the mark.
    #[must_use]
    pub fn points_between(&self, from: &Counters, to: &Counters) -> Vec<SystemPoint> {
        self.points(from, Some(to))
    }

    /// Returns the points sampled since a mark.
    #[must_use]
    pub fn points_since(&self, from: &Counters) -> Vec<SystemPoint> {
        self.points(from, None)
    }

    /// Returns the latest point.
    #[must_use]
    pub fn latest(&self) -> Option<SystemPoint> {
        self.lock().series.points().last().cloned()
    }

    /// Returns why the last sample could not be read; `None` if it could.
    #[must_use]
    pub fn fault(&self) -> Option<String> {
        self.lock().fault.clone()
    }

    /// Ends sampling. `logical` is what the workload did since the start.
    ///
    /// # Errors
    /// Fails if the final counters cannot be read.
    pub fn stop(mut self, logical: Logical) -> Result<SystemSeries, SystemError> {
        let totals = self.mark()?.since(&self.start, logical);
        let sampler_cpu_ns = self.end_thread();
        let mut sampling = self.lock();
        let series = std::mem::replace(&mut sampling.series, BoundedSeries::new(2));
        let missed = sampling.missed;
        Ok(SystemSeries { points: series.into_points(), totals, missed, sampler_cpu_ns })
    }

    fn points(&self, from: &Counters, to: Option<&Counters>) -> Vec<SystemPoint> {
        let seconds =
            |mark: &Counters| mark.at.saturating_duration_since(self.start.at).as_secs_f64();
        let (from, to) = (seconds(from), to.map_or(f64::INFINITY, seconds));
        let sampling = self.lock();
        let points = sampling.series.points().iter();
        let within = points.filter(|point| point.at_seconds > from && point.at_seconds <= to);
        within.map(|p| SystemPoint { at_seconds: p.at_seconds - from, ..p.clone() }).collect()
    }

    fn lock(&self) -> MutexGuard<'_, Sampling> {
        self.sampling.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends the thread and returns its processor time, in nanoseconds.
    fn end_thread(&mut self) -> u64 {
        let Some((end, thread)) = self.running.take() else { return 0 };
        drop(end);
        thread.join().unwrap_or_default()
    }
}

impl Drop for Sampler {
    fn drop(&mut self) {
        self.end_thread();
    }
}

/// State for taking samples, shared by the thread and the marks.
#[derive(Debug)]
struct Sampling {
    reader: CounterReader,
    /// Counters at the end of the last sample.
    before: Counters,
    now: Counters,
    start: Instant,
    cadence: Duration,
    series: BoundedSeries,
    /// True if the last sample ended at a mark. Nothing after the mark is merged into it.
    at_mark: bool,
    missed: u64,
    fault: Option<String>,
}

impl Sampling {
    /// Ends the current sample because it is due, unless a mark has just ended one. Returns the time until the next
    /// one.
    fn tick(&mut self) -> Duration {
        let stride = self.cadence.saturating_mul(self.series.stride());
        if self.before.at.elapsed() >= stride / 2 {
            match self.sample() {
                Ok(point) => {
                    self.series.push(point);
                    self.at_mark = false;
                    self.fault = None;
                }
                Err(error) => {
                    self.missed += 1;
                    self.fault = Some(error.to_string());
                }
            }
        }
        self.cadence.saturating_mul(self.series.stride())
    }

    /// Ends the current sample now. A sample much shorter than the others would be too inaccurate, so it is merged into
    /// the previous one.
    fn mark(&mut self) -> Result<Counters, SystemError> {
        let begun = self.before.at;
        let point = self.sample()?;
        let short = self.before.at.saturating_duration_since(begun) < self.cadence / 2;
        if short && !self.at_mark {
            self.series.join(point)
        } else {
            self.series.push(point)
        }
        self.at_mark = true;
        Ok(self.before.clone())
    }

    fn look(&mut self) -> Result<Counters, SystemError> {
        self.reader.read_into(&mut self.now)?;
        Ok(self.now.clone())
    }

    fn sample(&mut self) -> Result<SystemPoint, SystemError> {
        self.reader.read_into(&mut self.now)?;
        let point = self.now.point_since(&self.before, self.start);
        std::mem::swap(&mut self.before, &mut self.now);
        Ok(point)
    }
}

/// Takes samples until the other end of the channel is dropped. Returns the processor time used, in nanoseconds.
fn run(sampling: &Mutex<Sampling>, ended: &Receiver<()>) -> u64 {
    let lock = || sampling.lock().unwrap_or_else(PoisonError::into_inner);
    let (mut due, mut stride) = {
        let sampling = lock();
        (sampling.start, sampling.cadence)
    };
    loop {
        // Relative to the due time instead of now, so that delays do not add up. Missed samples are skipped.
        due = (due + stride).max(Instant::now());
        let wait = due.saturating_duration_since(Instant::now());
        if ended.recv_timeout(wait) != Err(RecvTimeoutError::Timeout) {
            break;
        }
        stride = lock().tick();
    }
    let cpu = clock_gettime(ClockId::ThreadCPUTime);
    cpu.tv_sec as u64 * 1_000_000_000 + cpu.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree_here() -> DeviceTree {
        DeviceTree::under(&std::env::temp_dir()).unwrap()
    }

    #[test]
    fn sampling_keeps_interval_and_costs_under_one_percent() {
        let sampler = Sampler::start(&tree_here(), Duration::from_millis(100)).unwrap();
        std::thread::sleep(Duration::from_millis(1550));
        let series = sampler.stop(Logical::default()).unwrap();
        // A busy machine may wake the thread late, but never early. The last sample ends with the series.
        let most = (series.totals.seconds / 0.1).ceil() as usize;
        assert!((5..=most).contains(&series.points.len()), "{}", series.points.len());
        assert_eq!(series.missed, 0);
        let share = series.sampler_cpu_ns as f64 / 1e9 / series.totals.seconds;
        assert!(share < 0.01, "sampling took {:.2} % of a processor", share * 100.0);
        assert!(series.points.is_sorted_by(|a, b| a.at_seconds < b.at_seconds));
        assert!(series.points.iter().all(|p| p.memory_available_bytes > 0));
    }

    #[test]
    fn marks_divide_samples_into_steps() {
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
        assert!(points.iter().all(|p| p.at_seconds > 0.0 && p.at_seconds <= totals.seconds + 1e-9));
        // Samples begin and end with the step.
        assert!((points[points.len() - 1].at_seconds - totals.seconds).abs() < 1e-6);
        assert!(points.windows(2).all(|pair| pair[1].at_seconds - pair[0].at_seconds > 0.009));
        let all = sampler.stop(Logical::default()).unwrap();
        assert!(all.points.len() > points.len());
    }

    #[test]
    fn reading_counters_does_not_end_current_sample() {
        let mut sampler = Sampler::start(&tree_here(), Duration::from_secs(3600)).unwrap();
        let looks: Vec<Counters> = (0..3).map(|_| sampler.look().unwrap()).collect();
        assert!(looks.windows(2).all(|pair| pair[0].at < pair[1].at));
        assert!(sampler.points_since(sampler.begin()).is_empty());
        let end = sampler.mark().unwrap();
        let points = sampler.points_between(sampler.begin(), &end);
        assert_eq!(points.len(), 1);
        let totals = end.since(sampler.begin(), Logical::default());
        assert!((points[0].at_seconds - totals.seconds).abs() < 1e-6, "{points:?}");
    }

    #[test]
    fn stopping_does_not_wait_for_the_next_sample() {
        let begun = Instant::now();
        let sampler = Sampler::start(&DeviceTree::default(), Duration::from_secs(3600)).unwrap();
        drop(sampler);
        let sampler = Sampler::start(&DeviceTree::default(), Duration::from_secs(3600)).unwrap();
        assert_eq!(sampler.stop(Logical::default()).unwrap().points.len(), 1);
        assert!(begun.elapsed() < Duration::from_secs(10));
    }
}
