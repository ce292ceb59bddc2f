//! Figures of a step by interval. Their number is limited.

use iogauge_io::engine::Op;
use iogauge_io::worker::accounting::Window;
use iogauge_model::result::{IntervalPoint, LatencyBands};

/// Maximum number of intervals kept of a step. If there are more, neighbours are joined.
const MOST: usize = 1200;

/// A series whose intervals double in length whenever it becomes too long.
#[derive(Debug, Clone)]
pub(crate) struct Series {
    points: Vec<IntervalPoint>,
    /// Maximum number of intervals.
    most: usize,
    /// Number of ticks in each full interval.
    stride: usize,
    /// Number of ticks in the last interval so far.
    joined: usize,
    at_seconds: f64,
}

impl Default for Series {
    fn default() -> Self {
        Self::new()
    }
}

impl Series {
    /// Returns an empty series for a step.
    pub(crate) fn new() -> Self {
        Self::of(MOST, 1)
    }

    /// Returns an empty series with at most `most` intervals of at least `stride` ticks each.
    pub(crate) fn of(most: usize, stride: usize) -> Self {
        Self { points: Vec::new(), most, stride, joined: 0, at_seconds: 0.0 }
    }

    /// Adds a tick.
    pub(crate) fn push(&mut self, window: &Window) {
        let seconds = window.seconds();
        if seconds > 0.0 {
            self.at_seconds += seconds;
            self.append(interval_with_bands(window, self.at_seconds));
        }
    }

    /// Adds the interval of a tick.
    pub(crate) fn append(&mut self, point: IntervalPoint) {
        match self.points.last_mut() {
            Some(last) if self.joined < self.stride => last.append(&point),
            _ => {
                self.points.push(point);
                self.joined = 0;
            }
        }
        self.joined += 1;
        if self.points.len() > self.most && self.joined == self.stride {
            self.halve();
        }
    }

    fn halve(&mut self) {
        // If their number is odd, the last one stays alone and takes more ticks.
        self.joined =
            if self.points.len().is_multiple_of(2) { 2 * self.stride } else { self.stride };
        self.stride *= 2;
        self.points = self
            .points
            .chunks(2)
            .map(|pair| {
                let mut joined = pair[0].clone();
                pair[1..].iter().for_each(|next| joined.append(next));
                joined
            })
            .collect();
    }

    pub(crate) fn points(&self) -> &[IntervalPoint] {
        &self.points
    }

    pub(crate) fn into_points(self) -> Vec<IntervalPoint> {
        self.points
    }
}

/// Returns the figures of a window as one interval, with its latency bands.
pub(crate) fn interval_with_bands(window: &Window, at_seconds: f64) -> IntervalPoint {
    let bands = |op| LatencyBands::of(&window.tally(op).service);
    IntervalPoint {
        read_bands: bands(Op::Read),
        write_bands: bands(Op::Write),
        sync_bands: bands(Op::Sync),
        ..interval(window, at_seconds)
    }
}

/// Returns the figures of a window as one interval, without the bands, which statistics do not need.
pub(crate) fn interval(window: &Window, at_seconds: f64) -> IntervalPoint {
    let (read, write) = (window.tally(Op::Read), window.tally(Op::Write));
    let sync = window.tally(Op::Sync);
    let sum = |tally: &iogauge_io::worker::accounting::Tally| {
        u64::try_from(tally.service.sum_ns()).unwrap_or(u64::MAX)
    };
    IntervalPoint {
        at_seconds,
        seconds: window.seconds(),
        reads: read.ios(),
        writes: write.ios(),
        read_bytes: read.bytes,
        write_bytes: write.bytes,
        read_latency_sum_ns: sum(read),
        write_latency_sum_ns: sum(write),
        syncs: sync.ios(),
        sync_latency_sum_ns: sum(sync),
        latency_max_ns: read.service.max_ns().max(write.service.max_ns()),
        queue_depth: window.queue_depth(),
        ..IntervalPoint::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iogauge_io::worker::accounting::WorkerWindow;
    use proptest::prelude::*;

    fn tick(ios: u64) -> Window {
        let mut window = Window::default();
        window.directions[0].service.record_n(1000, ios);
        window.directions[0].bytes = ios * 4096;
        window.workers.push(WorkerWindow {
            ios,
            elapsed_ns: 100_000_000,
            queue_depth_integral: 200_000_000,
            ..WorkerWindow::default()
        });
        window
    }

    proptest! {
        #[test]
        fn compacted_series_preserves_totals_and_stays_bounded(ticks in 1usize..10_000) {
            let mut series = Series::new();
            (0..ticks).for_each(|i| series.push(&tick(i as u64 % 7)));
            let points = series.into_points();
            prop_assert!(points.len() <= MOST + 1);
            let reads: u64 = points.iter().map(|p| p.reads).sum();
            prop_assert_eq!(reads, (0..ticks).map(|i| i as u64 % 7).sum::<u64>());
            prop_assert!(points.iter().all(|p| p.read_bands.count() == p.reads));
            let seconds: f64 = points.iter().map(|p| p.seconds).sum();
            prop_assert!((seconds - ticks as f64 * 0.1).abs() < 1e-6);
            prop_assert!(points.iter().all(|p| (p.queue_depth - 2.0).abs() < 1e-9));
            prop_assert!(points.windows(2).all(|w| w[0].at_seconds < w[1].at_seconds));
        }
    }
}
