//! The control plane: what decides which step runs next, and what keeps the results.
//!
//! [`history`] keeps every run, step by step, so that nothing measured is lost.
#![forbid(unsafe_code)]

pub mod history;
