//! fio's formats: job files and results, as fio 3.x reads and writes them.

pub mod job;
pub mod job_out;
pub mod json_out;
mod options;
