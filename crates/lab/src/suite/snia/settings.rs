//! The settings that all tests of the specification share.

use super::super::{Needs, SuiteError, SuiteOptions};
use super::MINUTE_NS;

/// Scales a minute down to a millisecond.
const LARGEST_SCALE: f64 = 60_000.0;

/// Settings of all tests of the specification.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Settings {
    /// True if the user states that the device was purged immediately before.
    pub purged: bool,
    /// Divisor of a minute, at least 1.
    pub scale: f64,
    /// Usable bytes of the target; `None` for all of it.
    pub size_bytes: Option<u64>,
    /// Workers, at least 1.
    pub threads: u32,
    /// I/Os that each worker keeps outstanding, at least 1.
    pub iodepth: u32,
}

impl Settings {
    /// Parses the options. A test without `threads` or `iodepth` gets 1.
    ///
    /// # Errors
    /// An invalid value.
    pub fn read(options: &SuiteOptions) -> Result<Self, SuiteError> {
        Ok(Self {
            purged: options.has("purged"),
            scale: scale(options.text("scale").unwrap_or("1"))?,
            size_bytes: options.size_bytes("size")?,
            threads: options.count("threads", 1024)?.unwrap_or(1),
            iodepth: options.count("iodepth", 4096)?.unwrap_or(1),
        })
    }

    /// Returns the requirements of every test for its target.
    pub fn needs(&self) -> Needs {
        Needs { size_bytes: self.size_bytes, writes: true, fresh_devices: true, ..Needs::default() }
    }

    /// Returns the duration of one access in a round, in nanoseconds.
    pub fn minute_ns(&self) -> u64 {
        (MINUTE_NS as f64 / self.scale).round() as u64
    }
}

fn scale(text: &str) -> Result<f64, SuiteError> {
    let number = text.parse::<f64>().ok();
    number.filter(|scale| (1.0..=LARGEST_SCALE).contains(scale)).ok_or_else(|| {
        let reason = format!(
            "must be between 1 and {LARGEST_SCALE}; hint: use 60 for a second in place of each \
             minute"
        );
        SuiteError::option("scale", reason)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn minutes_are_divided_by_the_scale() {
        for (text, minute_ns) in
            [("1", 60_000_000_000), ("60", 1_000_000_000), ("1.5", 40_000_000_000)]
        {
            let settings = Settings {
                purged: false,
                scale: scale(text).unwrap(),
                size_bytes: None,
                threads: 1,
                iodepth: 1,
            };
            assert_eq!(settings.minute_ns(), minute_ns);
        }
        for wrong in ["0", "0.5", "-1", "60001", "1m", "NaN", "inf", ""] {
            let error = scale(wrong).unwrap_err().to_string();
            assert!(error.starts_with("--scale: ") && error.contains("hint: "), "{error}");
        }
    }
}
