//! Performance shifts.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A lasting change of the target's performance: burst credits run out, a cache fills, throttling begins, or
/// another user of the device comes or goes.
#[derive(Debug, Clone, Copy, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct PerformanceShift {
    /// Time of detection, in seconds since the measurement or the search began.
    pub at_seconds: f64,
    /// IOPS before the shift, back to the previous one. In a search, IOPS at the queue depth that showed the
    /// shift.
    pub before_iops: f64,
    /// IOPS after the shift, up to the next one.
    pub after_iops: f64,
}
