//! The control plane: measures steps, searches the capacity, prepares targets, keeps the history.
#![forbid(unsafe_code)]

pub mod caveats;
pub mod crosscheck;
pub mod db;
pub mod doctor;
pub mod error;
mod estimates;
mod ground;
pub mod history;
pub mod import;
pub mod job_files;
pub mod measure;
pub mod observe;
pub mod pauses;
pub mod prepare;
pub mod profile;
pub mod rig;
mod room;
pub mod search;
mod series;
pub mod session;
pub mod stats;
mod steadiness;
pub mod suite;
mod surroundings;
pub mod trace;
pub mod verify;
pub mod via;
mod via_logs;

pub use error::LabError;
pub use ground::Ground;
pub use observe::{Interrupt, Observer, Phase, Status};
pub use rig::Rig;
