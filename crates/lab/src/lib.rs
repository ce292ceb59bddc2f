//! The control plane: measures steps, searches the capacity, prepares targets, keeps the history.
#![forbid(unsafe_code)]

pub mod caveats;
pub mod compare;
pub mod db;
pub mod error;
pub mod history;
pub mod measure;
pub mod observe;
pub mod search;
pub mod session;
pub mod stats;
pub mod suite;

pub use error::LabError;
pub use observe::{Interrupt, Observer, Phase, Status};
pub use session::{Ground, Rig};
