//! One file for each subcommand.

pub mod clean;
pub mod crosscheck;
pub mod db;
pub mod doctor;
pub mod find;
pub mod history;
pub mod hosts_curve;
pub mod import;
mod invocation;
mod job_file;
mod kept_limits;
pub mod manual;
pub mod prepare;
pub mod profile;
mod record;
pub mod report;
pub mod run;
mod search;
mod steps;
pub mod stop;
pub mod suite;
mod suite_resume;
pub mod table;
mod via_file;
