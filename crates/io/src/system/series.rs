//! A series of samples whose memory is bounded.

use iogauge_model::result::SystemPoint;

/// Points in order of time, at most a given number. When it is full, neighbours are merged in
/// pairs, and each point to come has to stand for twice as many cadences as before.
#[derive(Debug)]
pub(super) struct BoundedSeries {
    points: Vec<SystemPoint>,
    capacity: usize,
    /// Cadences a point stands for; a power of two.
    stride: u32,
}

impl BoundedSeries {
    /// An empty series of at most `capacity` points, which is even and at least 2.
    pub fn new(capacity: usize) -> Self {
        Self { points: Vec::with_capacity(capacity), capacity, stride: 1 }
    }

    /// Adds a point, later than all before. Allocates nothing.
    pub fn push(&mut self, point: SystemPoint) {
        if self.points.len() == self.capacity {
            self.merge_pairs();
        }
        self.points.push(point);
    }

    /// Cadences the next point should stand for.
    pub fn stride(&self) -> u32 {
        self.stride
    }

    /// The points so far.
    pub fn points(&self) -> &[SystemPoint] {
        &self.points
    }

    /// The series as a list.
    pub fn into_points(self) -> Vec<SystemPoint> {
        self.points
    }

    fn merge_pairs(&mut self) {
        let mut begun = 0.0;
        for pair in 0..self.capacity / 2 {
            let (first, second) = (&self.points[2 * pair], &self.points[2 * pair + 1]);
            let merged = merge(begun, first, second);
            begun = merged.at_seconds;
            self.points[pair] = merged;
        }
        self.points.truncate(self.capacity / 2);
        self.stride = self.stride.saturating_mul(2);
    }
}

/// Two neighbouring points as one, the first of which began at `begun` seconds. Rates and shares
/// are weighted by time; memory is that of the scarcer moment.
fn merge(begun: f64, first: &SystemPoint, second: &SystemPoint) -> SystemPoint {
    let (first_seconds, second_seconds) =
        (first.at_seconds - begun, second.at_seconds - first.at_seconds);
    let total = first_seconds + second_seconds;
    let weight = if total > 0.0 { first_seconds / total } else { 0.5 };
    let mean = |a: f64, b: f64| a * weight + b * (1.0 - weight);
    SystemPoint {
        at_seconds: second.at_seconds,
        reads_per_sec: mean(first.reads_per_sec, second.reads_per_sec),
        writes_per_sec: mean(first.writes_per_sec, second.writes_per_sec),
        read_bytes_per_sec: mean(first.read_bytes_per_sec, second.read_bytes_per_sec),
        write_bytes_per_sec: mean(first.write_bytes_per_sec, second.write_bytes_per_sec),
        busy_percent: mean(first.busy_percent, second.busy_percent),
        cpu_percent: mean(first.cpu_percent, second.cpu_percent),
        steal_percent: mean(first.steal_percent, second.steal_percent),
        iowait_percent: mean(first.iowait_percent, second.iowait_percent),
        memory_available_bytes: first.memory_available_bytes.min(second.memory_available_bytes),
        dirty_bytes: first.dirty_bytes.max(second.dirty_bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn memory_is_bounded_and_nothing_is_lost(
            gaps in prop::collection::vec((0.01f64..2.0, 0.0f64..1e6), 1..200),
        ) {
            let mut series = BoundedSeries::new(8);
            let (mut now, mut reads) = (0.0, 0.0);
            for (seconds, rate) in gaps {
                now += seconds;
                reads += seconds * rate;
                series.push(SystemPoint { at_seconds: now, reads_per_sec: rate, ..Default::default() });
                prop_assert!(series.points().len() <= 8);
                prop_assert!(series.points.capacity() == 8);
            }
            let (mut begun, mut kept) = (0.0, 0.0);
            for point in series.points() {
                prop_assert!(point.at_seconds > begun);
                kept += (point.at_seconds - begun) * point.reads_per_sec;
                begun = point.at_seconds;
            }
            prop_assert_eq!(begun, now);
            prop_assert!((kept - reads).abs() <= reads * 1e-9 + 1e-9, "{} {}", kept, reads);
        }
    }

    #[test]
    fn the_stride_doubles_each_time_it_is_full() {
        let mut series = BoundedSeries::new(4);
        let mut strides = Vec::new();
        for n in 0..9 {
            strides.push(series.stride());
            series.push(SystemPoint { at_seconds: f64::from(n), ..Default::default() });
        }
        assert_eq!(strides, [1, 1, 1, 1, 1, 2, 2, 4, 4]);
        assert_eq!(series.into_points().len(), 3);
    }
}
