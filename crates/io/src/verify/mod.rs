//! Data that can be checked: what is written carries a header, what was written is remembered, and
//! what is read is compared with both.
//!
//! A *unit* is the smallest stretch that is judged. Its content follows from run, offset and
//! sequence number, so that a wrong one is found byte by byte.

pub mod check;
mod classify;
mod digest;
mod findings;
pub mod header;
pub mod ledger;
pub(crate) mod verifier;

pub use findings::{BadUnit, Findings, Totals};
pub use ledger::{Ledger, LedgerError, Territory, Writer};
pub use verifier::JobVerify;
