//! One file for each subcommand.

pub mod clean;
pub mod doctor;
pub mod find;
pub mod history;
mod invocation;
pub mod manual;
pub mod prepare;
pub mod run;
pub mod stop;
