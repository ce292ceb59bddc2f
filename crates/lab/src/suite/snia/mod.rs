//! `snia-*`: four tests after the SNIA Solid State Storage Performance Test Specification (PTS) 2.0.2.
//!
//! Flash is fast as long as it has blocks that were never written, and has to be worn down before its
//! figures last. The specification therefore purges a device, writes twice its capacity, and repeats
//! what it measures in rounds until five in a row agree; only these five count. [`rounds`] has that
//! course, [`window`] the rule, [`conformance`] what keeps a run from being one after the specification.

mod conformance;
pub mod iops;
pub mod latency;
mod report;
mod rounds;
pub mod saturation;
mod settings;
pub mod throughput;
mod window;

#[cfg(test)]
mod made_up;
#[cfg(test)]
mod tests;

use super::SuiteOption;

/// More than any step takes that ends when its bytes are moved: 7 days.
const LONGEST_NS: u64 = 7 * 24 * 3600 * 1_000_000_000;
/// Outstanding I/Os of the preconditioning, which is there for its bytes.
const PRECONDITION_DEPTH: u32 = 32;
/// How often the preconditioning writes the capacity.
const PRECONDITION_PASSES: u64 = 2;
/// The time of one access in a round, where nothing is scaled.
const MINUTE_NS: u64 = 60_000_000_000;

const PURGED: SuiteOption = SuiteOption {
    name: "purged",
    value: None,
    default: None,
    help: "The device was purged right before (nvme format, blkdiscard, hdparm --security-erase)",
};
const SCALE: SuiteOption = SuiteOption {
    name: "scale",
    value: Some("F"),
    default: Some("1"),
    help: "Make each minute F times shorter, to try it out: 60 for a second",
};
const SIZE: SuiteOption = SuiteOption {
    name: "size",
    value: Some("SIZE"),
    default: None,
    help: "Size of the test file, or how much of the device",
};
