//! A series of samples with bounded memory.

use iogauge_model::result::SystemPoint;

/// Maximum number of points in a series. When it is reached, neighbours are merged and the sampling interval doubles.
pub const MAX_POINTS: usize = 1200;

/// Maximum number of points of single devices in a series, over all devices. With more than four devices, the series
/// has fewer points.
pub const MAX_DEVICE_POINTS: usize = 4800;

/// Points in order of time, up to a maximum number. When the series is full, neighbours are merged in pairs, and each
/// further point has to cover twice as many sampling intervals.
#[derive(Debug)]
pub(super) struct BoundedSeries {
    points: Vec<SystemPoint>,
    capacity: usize,
    /// Sampling intervals per point; a power of two.
    stride: u32,
}

impl BoundedSeries {
    /// Creates an empty series for points with this number of devices each.
    pub fn of_devices(devices: usize) -> Self {
        let points = (MAX_DEVICE_POINTS / devices.max(1)).clamp(2, MAX_POINTS);
        Self::new(points & !1)
    }

    /// Creates an empty series of at most `capacity` points, which must be even and at least 2.
    pub fn new(capacity: usize) -> Self {
        Self { points: Vec::with_capacity(capacity), capacity, stride: 1 }
    }

    /// Adds a point, which must be later than all others.
    pub fn push(&mut self, point: SystemPoint) {
        if self.points.len() == self.capacity {
            self.merge_pairs();
        }
        self.points.push(point);
    }

    /// Merges a point, which must be later than all others, into the last one.
    pub fn join(&mut self, point: SystemPoint) {
        let begun = match self.points.as_slice() {
            [.., before, _] => before.at_seconds,
            _ => 0.0,
        };
        match self.points.last_mut() {
            Some(last) => last.append(begun, &point),
            None => self.push(point),
        }
    }

    /// Returns the number of sampling intervals that the next point should cover.
    pub fn stride(&self) -> u32 {
        self.stride
    }

    /// Returns the points so far.
    pub fn points(&self) -> &[SystemPoint] {
        &self.points
    }

    /// Returns the points as a list.
    pub fn into_points(self) -> Vec<SystemPoint> {
        self.points
    }

    fn merge_pairs(&mut self) {
        let mut begun = 0.0;
        for pair in 0..self.capacity / 2 {
            let mut merged = std::mem::take(&mut self.points[2 * pair]);
            merged.append(begun, &self.points[2 * pair + 1]);
            begun = merged.at_seconds;
            self.points[pair] = merged;
        }
        self.points.truncate(self.capacity / 2);
        self.stride = self.stride.saturating_mul(2);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn series_is_bounded_and_preserves_totals(
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
    fn series_capacity_shrinks_with_device_count() {
        let most = |devices| BoundedSeries::of_devices(devices).capacity;
        assert_eq!([0, 1, 4, 5, 60, 9999].map(most), [1200, 1200, 1200, 960, 80, 2]);
    }

    #[test]
    fn joining_a_point_extends_the_last_interval() {
        let mut series = BoundedSeries::new(4);
        for (at_seconds, reads_per_sec) in [(1.0, 10.0), (2.0, 20.0)] {
            series.join(SystemPoint { at_seconds, reads_per_sec, ..Default::default() });
        }
        series.push(SystemPoint { at_seconds: 4.0, ..Default::default() });
        series.join(SystemPoint { at_seconds: 6.0, reads_per_sec: 30.0, ..Default::default() });
        let rates: Vec<_> =
            series.points().iter().map(|p| (p.at_seconds, p.reads_per_sec)).collect();
        assert_eq!(rates, [(2.0, 15.0), (6.0, 15.0)]);
    }

    #[test]
    fn stride_doubles_when_series_is_full() {
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
