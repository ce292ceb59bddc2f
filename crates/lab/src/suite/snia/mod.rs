//! `snia-*`: four tests after the SNIA Solid State Storage Performance Test Specification (PTS)
//! 2.0.2.
//!
//! Flash is fast while it has blocks that were never written. The specification therefore purges a
//! device, writes twice its capacity, and measures in rounds until five in a row agree; only these
//! five count. [`rounds`] has these steps, [`window`] the rule, [`conformance`] the reasons why a
//! run does not conform.

mod conformance;
pub mod iops;
pub mod latency;
mod rounds;
pub mod saturation;
mod settings;
pub mod throughput;
mod window;

#[cfg(test)]
mod made_up;
#[cfg(test)]
mod tests;

/// Block size of the preconditioning, unless a test has its own.
const PRECONDITION_BYTES: u64 = 128 << 10;
/// Queue depth of the preconditioning, whose figures do not count.
const PRECONDITION_DEPTH: u32 = 32;
/// How many times the preconditioning writes the capacity.
const PRECONDITION_PASSES: u64 = 2;
/// Duration of one access in a round, before scaling.
const MINUTE_NS: u64 = 60_000_000_000;
