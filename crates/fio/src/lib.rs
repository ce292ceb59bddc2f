//! fio's formats: job files and results, as fio reads and writes them.
//!
//! [`job`] reads job files, [`job_out`] writes a step as one, [`json_out`] writes a run as fio's JSON,
//! [`log_out`] writes fio's log files, and [`read_results`] reads the output of any fio version and classic tables. This
//! crate makes no system calls.
#![forbid(unsafe_code)]

mod classic_in;
pub mod job;
pub mod job_out;
mod json_in;
pub mod json_out;
pub mod log_out;
mod options;
mod reported_workload;
mod results_in;
mod text_in;

pub use results_in::{Problem, Reading, read_results};
