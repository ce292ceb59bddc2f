//! Checks that refuse targets whose use could destroy data.
//!
//! A mounted, swapped, stacked or held device is always refused. `--destroy-data` only permits losing data that is not
//! in use.

mod block;
mod error;
mod file;
mod identity;
mod loops;
mod patience;
pub(crate) mod proc;
mod signature;
mod stack;
#[cfg(test)]
mod tests;

pub(crate) use block::{Consent, claim_for_writing};
pub use error::GuardError;
pub(crate) use file::{directory_takes_files, holds_data, lets_remove, takes_writes};
pub(crate) use identity::own_identity;
pub(crate) use patience::unless_held_for_long;
pub use signature::{Contents, Signature};
