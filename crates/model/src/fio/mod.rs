//! fio's formats: job files and results, as fio reads and writes them.

mod asked;
pub mod job;
pub mod job_out;
mod json_in;
pub mod json_out;
mod options;
mod result;
mod results_in;
mod step;
mod text_in;

pub use result::{BlockRange, FioDirection, FioLatency, FioResult, LatencyShare};
pub use results_in::{Found, Problem, read_results};
