//! A target that comes to another level.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A lasting change of what a target gives: burst credits that run out, a cache that fills, a throttle
/// that sets in, a neighbour that comes or goes.
#[derive(Debug, Clone, Copy, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct PerformanceShift {
    /// When it was seen, in seconds since measuring began; of a search since the search began.
    pub at_seconds: f64,
    /// IOPS before it, back to the change before; of a search at the depth that showed it.
    pub before_iops: f64,
    /// IOPS after it, up to the next change.
    pub after_iops: f64,
}
