//! Findings of the suites whose figures are the settings of other software: `seastar` and `iocost`.

use super::Estimate;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The rates that a suite measured.
#[derive(Debug, Clone, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct RatesFindings {
    /// One for each complete measurement, in the order of the steps.
    pub rates: Vec<MeasuredRate>,
}

/// The rate of one measurement.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct MeasuredRate {
    /// Name of the figure in the settings that it is for: `read_iops`, `rbps`.
    pub name: String,
    /// Short description of the workload: `randread 4 KiB depth 128`.
    pub load: String,
    /// I/Os per second.
    pub iops: Estimate,
    /// Bytes per second.
    pub bytes_per_sec: Estimate,
}

impl RatesFindings {
    /// Returns the rate with this name, if it was measured.
    #[must_use]
    pub fn rate(&self, name: &str) -> Option<&MeasuredRate> {
        self.rates.iter().find(|rate| rate.name == name)
    }
}
