//! Statistics of measured series: intervals that take autocorrelation into account, settling, drift.
//!
//! Pure functions over slices. A series is in order of time, and its intervals have about equal length. Latencies and
//! rates of neighbouring intervals are correlated (queues, caches, garbage collection), so a series of *n* intervals
//! carries less information than *n* independent ones. All functions here calculate with the effective number.

mod autocorrelation;
mod batch_means;
mod change_point;
mod drift;
mod e_divisive;
mod excursion;
mod long_run;
mod looks;
mod paired;
mod quantile;
mod settle;
mod standard_error;
mod steady;
mod student_t;
#[cfg(test)]
pub(crate) mod synthetic;
mod wander;
mod welch;

pub use autocorrelation::{
    SegmentCorrelation, autocorrelation_time, correlation_time, segment_correlation,
};
pub use batch_means::{Batch, mean, ratio};
pub use change_point::{ChangePoint, change_point};
pub use drift::{Drift, drift};
pub use e_divisive::{DistributionChange, SHORTEST_SEGMENT, e_divisive, shortest_series};
pub use excursion::{Excursion, excursion};
pub use looks::{Looks, widening};
pub use paired::Spread;
pub use quantile::{QuantileEstimate, at_most, effective_ios, quantile};
pub use settle::mser5;
pub use standard_error::{NORMAL_95, standard_error};
pub use steady::{STEADY_ROUNDS, SteadyCheck, first_steady, steady_state};
pub use student_t::{t_cdf, t_quantile};
pub use wander::{Difference, Wander};
pub use welch::{ratio_of_levels, welch};
