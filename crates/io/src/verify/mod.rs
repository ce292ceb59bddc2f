//! Data that can be verified: written data carries a header, every write is recorded, and data that is read is compared
//! with both.
//!
//! A *unit* is the smallest range that is judged. Run, offset and sequence number determine its content, so errors are
//! located to the byte.

pub mod check;
mod classify;
mod digest;
mod findings;
pub mod header;
pub mod ledger;
pub mod state;
pub(crate) mod verifier;

pub use findings::{BadUnit, Findings, MOST_FINDINGS, Totals};
pub use ledger::{Ledger, LedgerError, Territory, Writer};
pub use verifier::JobVerify;
