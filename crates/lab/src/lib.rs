//! The control plane: measures steps, searches the capacity, prepares targets, keeps the history.
#![forbid(unsafe_code)]

pub mod caveats;
pub mod crosscheck;
pub mod db;
pub mod doctor;
pub mod error;
mod estimates;
pub mod history;
pub mod import;
pub mod measure;
pub mod observe;
pub mod prepare;
pub mod profile;
pub mod rig;
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

pub use error::LabError;
pub use observe::{Interrupt, Observer, Phase, Status};
pub use rig::{Ground, Rig};
