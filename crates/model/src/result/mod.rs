//! What was measured: the values every output is made from.

mod documents;
mod estimate;
mod step;
mod system;

pub use documents::{
    Answer, CurvePoint, FindDocument, Head, Knee, LimitValue, RunDocument, StoppedBy,
};
pub use estimate::{Estimate, LatencySummary, PercentileIntervals};
pub use step::{DirectionResult, IntervalPoint, JobResult, StepResult, WorkerResult};
pub use system::{CpuUse, DeviceCounters, Environment, Physical, SystemPoint};

/// Version word of the document `iogauge run --json` prints.
pub const RUN_FORMAT: &str = "iogauge.run/1";
/// Version word of the document `iogauge find --json` prints.
pub const FIND_FORMAT: &str = "iogauge.find/1";
