//! Scales, which map values to coordinates.

/// How values become coordinates along an axis.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Scale {
    /// Equal differences have equal lengths.
    Linear {
        /// Values at the ends.
        domain: [f64; 2],
        /// Coordinates of the ends.
        range: [f64; 2],
    },
    /// Equal ratios have equal lengths. Values below the lower end are drawn at that end.
    Log {
        /// Values at the ends, above 0.
        domain: [f64; 2],
        /// Coordinates of the ends.
        range: [f64; 2],
    },
    /// Time from 0 on, with ticks at round clock times.
    Time {
        seconds: f64,
        /// Seconds between ticks.
        step: f64,
        /// Coordinates of the ends.
        range: [f64; 2],
    },
    /// `count` bands of equal width.
    Bands {
        count: usize,
        /// Coordinates of the ends.
        range: [f64; 2],
    },
}

impl Scale {
    /// Returns a linear scale from 0 to a round value that is at least `most`.
    #[must_use]
    pub fn from_zero(most: f64, range: [f64; 2]) -> Self {
        let most = if most.is_finite() && most > 0.0 { most } else { 1.0 };
        let step = step_of(most / 5.0);
        Self::Linear { domain: [0.0, (most / step).ceil() * step], range }
    }

    /// Returns a linear scale between two values.
    #[must_use]
    pub fn linear(domain: [f64; 2], range: [f64; 2]) -> Self {
        let [low, high] = domain;
        let domain = if high > low { domain } else { [low, low + 1.0] };
        Self::Linear { domain, range }
    }

    /// Returns a time scale of this length with about `wanted` ticks at most.
    #[must_use]
    pub fn time(seconds: f64, wanted: usize, range: [f64; 2]) -> Self {
        const MINUTE: f64 = 60.0;
        const HOUR: f64 = 3600.0;
        const CLOCK: [f64; 17] = [
            1.0,
            2.0,
            5.0,
            10.0,
            15.0,
            30.0,
            MINUTE,
            2.0 * MINUTE,
            5.0 * MINUTE,
            10.0 * MINUTE,
            15.0 * MINUTE,
            30.0 * MINUTE,
            HOUR,
            2.0 * HOUR,
            3.0 * HOUR,
            6.0 * HOUR,
            12.0 * HOUR,
        ];
        let seconds = if seconds.is_finite() && seconds > 0.0 { seconds } else { 1.0 };
        let least = seconds / wanted.max(1) as f64;
        let on_clock = CLOCK.iter().copied().find(|step| *step >= least * (1.0 - 1e-9));
        let step = match on_clock {
            Some(1.0) => step_of(least),
            Some(step) => step,
            None => 24.0 * HOUR * step_of(least / (24.0 * HOUR)).max(1.0),
        };
        Self::Time { seconds, step, range }
    }

    /// Returns a logarithmic scale around values: its ends are the next values of the form 1 or 3 times a
    /// power of ten.
    #[must_use]
    pub fn log(least: f64, most: f64, range: [f64; 2]) -> Self {
        let least = if least.is_finite() && least > 0.0 { least } else { 1.0 };
        let most = if most.is_finite() && most > least { most } else { least * 10.0 };
        let half = |value: f64, up: bool| {
            let power = 10f64.powf(value.log10().floor());
            let steps = [1.0, 3.0, 10.0];
            let fit = |step: &&f64| {
                let at = power * **step;
                if up { at >= value * (1.0 - 1e-9) } else { at <= value * (1.0 + 1e-9) }
            };
            let found = if up { steps.iter().find(fit) } else { steps.iter().rev().find(fit) };
            power * found.copied().unwrap_or(1.0)
        };
        Self::Log { domain: [half(least, false), half(most, true)], range }
    }

    /// Returns the coordinate of a value; on bands, the middle of the band with this number.
    #[must_use]
    pub fn at(&self, value: f64) -> f64 {
        let (share, range) = match self {
            Self::Linear { domain: [low, high], range } => ((value - low) / (high - low), range),
            Self::Time { seconds, range, .. } => (value / seconds, range),
            Self::Log { domain: [low, high], range } => {
                let value = value.max(*low);
                ((value / low).ln() / (high / low).ln(), range)
            }
            Self::Bands { count, range } => ((value + 0.5) / (*count).max(1) as f64, range),
        };
        range[0] + share * (range[1] - range[0])
    }

    /// Returns the width of a band, or 0 on other scales.
    #[must_use]
    pub fn band(&self) -> f64 {
        match self {
            Self::Bands { count, range } => (range[1] - range[0]).abs() / (*count).max(1) as f64,
            _ => 0.0,
        }
    }

    /// Returns the coordinates of the ends.
    #[must_use]
    pub fn range(&self) -> [f64; 2] {
        match self {
            Self::Linear { range, .. }
            | Self::Log { range, .. }
            | Self::Time { range, .. }
            | Self::Bands { range, .. } => *range,
        }
    }

    /// Returns the values of the ticks of an axis, about `wanted` at most. A time scale ignores `wanted`:
    /// it has the ticks with which it was created.
    #[must_use]
    pub fn ticks(&self, wanted: usize) -> Vec<f64> {
        match self {
            Self::Linear { domain: [low, high], .. } => {
                let step = step_of((high - low) / wanted.max(1) as f64);
                let first = (low / step).ceil() as i64;
                let last = (high / step * (1.0 + 1e-12)).floor() as i64;
                (first..=last).map(|number| number as f64 * step).collect()
            }
            Self::Time { seconds, step, .. } => {
                let last = (seconds / step * (1.0 + 1e-12)).floor() as u32;
                (0..=last).map(|number| f64::from(number) * step).collect()
            }
            Self::Log { domain: [low, high], .. } => {
                let decades = (high / low).log10();
                let per_decade: &[f64] =
                    if decades * 2.0 <= wanted as f64 { &[1.0, 3.0] } else { &[1.0] };
                let every = (decades / wanted.max(1) as f64).ceil().max(1.0) as i32;
                let first = low.log10().floor() as i32;
                let last = high.log10().ceil() as i32;
                (first..=last)
                    .filter(|power| (power - first) % every == 0)
                    .flat_map(|power| per_decade.iter().map(move |step| 10f64.powi(power) * step))
                    .filter(|value| *value >= low * 0.999 && *value <= high * 1.001)
                    .collect()
            }
            Self::Bands { count, .. } => {
                let every = count.div_ceil(wanted.max(1)).max(1);
                (0..*count).step_by(every).map(|number| number as f64).collect()
            }
        }
    }
}

/// Returns the smallest of 1, 2, 2.5 or 5 times a power of ten that is at least `value`.
fn step_of(value: f64) -> f64 {
    if !value.is_finite() || value <= 0.0 {
        return 1.0;
    }
    let power = 10f64.powf(value.log10().floor());
    let fit = |step: &&f64| power * **step >= value * (1.0 - 1e-9);
    [1.0, 2.0, 2.5, 5.0, 10.0].iter().find(fit).map_or(power * 10.0, |step| power * step)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn axis_ticks_are_round_numbers() {
        assert_eq!(Scale::from_zero(730.0, [0.0, 1.0]).ticks(5), [0.0, 200.0, 400.0, 600.0, 800.0]);
        let log = Scale::log(4.2e4, 8e6, [0.0, 1.0]);
        assert_eq!(log, Scale::Log { domain: [3e4, 1e7], range: [0.0, 1.0] });
        assert_eq!(log.ticks(10), [3e4, 1e5, 3e5, 1e6, 3e6, 1e7]);
        assert_eq!(log.ticks(3), [1e5, 1e6, 1e7]);
        assert_eq!(Scale::Bands { count: 9, range: [0.0, 9.0] }.ticks(3), [0.0, 3.0, 6.0]);
    }

    #[test]
    fn time_axis_ticks_use_clock_intervals() {
        let ticks = |seconds, wanted| Scale::time(seconds, wanted, [0.0, 1.0]).ticks(0);
        assert_eq!(ticks(400.0, 8), [0.0, 60.0, 120.0, 180.0, 240.0, 300.0, 360.0]);
        assert_eq!(ticks(400.0, 4), [0.0, 120.0, 240.0, 360.0]);
        assert_eq!(ticks(14.0, 8), [0.0, 2.0, 4.0, 6.0, 8.0, 10.0, 12.0, 14.0]);
        assert_eq!(ticks(0.6, 4), [0.0, 0.2, 0.4, 0.6000000000000001]);
        assert_eq!(ticks(7.0 * 3600.0, 4), [0.0, 7200.0, 14_400.0, 21_600.0]);
        assert_eq!(ticks(4.0 * 86_400.0, 4), [0.0, 1.0, 2.0, 3.0, 4.0].map(|day| day * 86_400.0));
    }

    #[test]
    fn scales_handle_empty_domains() {
        for scale in [
            Scale::from_zero(0.0, [0.0, 1.0]),
            Scale::from_zero(f64::NAN, [0.0, 1.0]),
            Scale::log(0.0, 0.0, [0.0, 1.0]),
            Scale::linear([3.0, 3.0], [0.0, 1.0]),
            Scale::time(0.0, 0, [0.0, 1.0]),
            Scale::time(f64::NAN, 5, [0.0, 1.0]),
            Scale::Bands { count: 0, range: [0.0, 1.0] },
        ] {
            assert!(scale.at(0.0).is_finite(), "{scale:?}");
            assert!(scale.ticks(5).len() < 20, "{scale:?}");
        }
    }

    proptest! {
        #[test]
        fn scaled_values_lie_within_the_range(
            least in 1e-3f64..1e9, ratio in 1.0f64..1e6, share in 0.0f64..1.0, wanted in 1usize..12,
        ) {
            let most = least * ratio;
            let value = least + (most - least) * share;
            for scale in [Scale::from_zero(most, [100.0, 10.0]), Scale::log(least, most, [100.0, 10.0])] {
                let at = scale.at(value);
                prop_assert!((9.99..=100.01).contains(&at), "{scale:?} {value} {at}");
                let ticks = scale.ticks(wanted);
                prop_assert!(ticks.len() <= 2 * wanted + 2, "{scale:?} {ticks:?}");
                for tick in ticks {
                    prop_assert!((9.9..=100.1).contains(&scale.at(tick)), "{scale:?} {tick}");
                }
            }
        }
    }
}
