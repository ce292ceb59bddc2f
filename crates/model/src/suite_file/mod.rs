//! Suites as TOML files: description, options and steps. Files of requirements have the same form.
//!
//! The suites that come with iogauge have the same format as those of users. Workload options are kept as
//! strings: they are options of the command line, whose parser parses them.

mod block;
mod head;
mod requirements;
mod unfold;

pub use head::{SuiteHead, SuiteOption};
pub use requirements::{FileRequirement, RequirementFile};

use crate::limit::Limit;
use crate::units::parse_size_bytes;
use block::{Block, Kind, Reader};
use std::collections::BTreeMap;

/// The values of a suite's options by name; `None` for an option without a value.
pub type OptionValues = BTreeMap<String, Option<String>>;

/// Maximum number of steps that a file may expand to.
const MOST_STEPS: usize = 1000;
/// Maximum number of jobs of all steps of a file.
const MOST_JOBS: usize = 16_384;

/// An error in a file, in one line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{line}: {reason}")]
pub struct SuiteFileError {
    /// Line, from 1.
    pub line: usize,
    /// What is wrong, and what would be valid.
    pub reason: String,
}

/// The steps of a file.
#[derive(Debug, Clone, PartialEq)]
pub struct SuiteFile {
    /// Size of a new test file, or the part of each device to use, in bytes.
    pub size_bytes: Option<u64>,
    /// Time to measure a step that has no time of its own and does not end by itself, in nanoseconds.
    pub runtime_ns: Option<u64>,
    /// Ramp before this time, in which nothing is counted, in nanoseconds.
    pub ramp_ns: Option<u64>,
    /// The steps, at least one. Their keys are unique.
    pub steps: Vec<FileStep>,
}

/// A step.
#[derive(Debug, Clone, PartialEq)]
pub struct FileStep {
    /// Line of its `[[step]]`, from 1.
    pub line: usize,
    /// Name in the file.
    pub name: String,
    /// Identifies the step: the `key` in the file, or the name with the values chosen from lists.
    pub key: String,
    /// Jobs that run together, at least one.
    pub jobs: Vec<FileJob>,
    /// Its own time to measure, in nanoseconds; for a search, the time budget.
    pub runtime_ns: Option<u64>,
    /// Its own ramp, in which nothing is counted, in nanoseconds.
    pub ramp_ns: Option<u64>,
    /// Limits that the latencies are checked against.
    pub limits: Vec<Limit>,
    /// True if the step itself has these limits, false if they are those of the file.
    pub has_own_limits: bool,
    /// Limits of a search for the capacity; empty if the workload runs unchanged.
    pub find: Vec<Limit>,
}

/// A job of a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileJob {
    /// Name, if there is one.
    pub name: Option<String>,
    /// Options including defaults, each of them once.
    pub options: Vec<FileOption>,
}

/// A workload option.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileOption {
    /// Name, with underscores: `rate_iops`.
    pub name: String,
    pub value: String,
    /// Line, from 1.
    pub line: usize,
    /// The suite option that the value is from.
    pub from: Option<String>,
}

impl SuiteFile {
    /// Parses a file, with the defaults of its options.
    ///
    /// # Errors
    /// The same as [`Self::with_options`].
    pub fn parse(text: &str) -> Result<Self, SuiteFileError> {
        Self::with_options(text, &SuiteHead::parse(text)?.defaults())
    }

    /// Parses a file, with these values of its options.
    ///
    /// # Errors
    /// The first error: invalid TOML, a member in the wrong place, a value of the wrong type, or two steps
    /// with the same key. Workload options are not checked.
    pub fn with_options(text: &str, values: &OptionValues) -> Result<Self, SuiteFileError> {
        let reader = Reader::new(text, values);
        let root = reader.document()?;
        let mut file =
            Self { size_bytes: None, runtime_ns: None, ramp_ns: None, steps: Vec::new() };
        let mut common = Block::default();
        let mut defaults = Block::default();
        let mut steps = Vec::new();
        for member in reader.members(&root) {
            match member.name {
                // Parsed by [`SuiteHead::parse`].
                "about" | "help" | "options" | "trial" => {}
                "size" => {
                    let size = parse_size_bytes(&reader.value(&member)?);
                    let size = size.map_err(|error| reader.wrong(&member, error))?;
                    if size == 0 {
                        return Err(reader.wrong(&member, "0 is too little; hint: use \"1g\""));
                    }
                    file.size_bytes = Some(size);
                }
                "seconds" | "ramp" | "limit" => reader.time_or_limit(&member, &mut common)?,
                "defaults" => {
                    defaults = reader.block(
                        reader.table(&member, member.name)?,
                        member.line,
                        Kind::Defaults,
                    )?;
                }
                "step" => {
                    for (line, table) in reader.tables(&member)? {
                        steps.push(reader.block(table, line, Kind::Step)?);
                    }
                }
                "require" => {
                    let reason =
                        "is of a file of requirements; hint: run iogauge check FILE TARGET";
                    return Err(reader.wrong(&member, reason));
                }
                _ => {
                    let reason = "is not one of about, help, size, seconds, ramp, limit, [options], [defaults] \
                                  and [[step]]; hint: use options under [defaults] or [[step]]";
                    return Err(reader.wrong(&member, reason));
                }
            }
        }
        for step in &steps {
            unfold::unfold(step, &defaults, &common, &mut file.steps)?;
        }
        (file.runtime_ns, file.ramp_ns) = (common.runtime_ns, common.ramp_ns);
        if file.steps.is_empty() {
            let reason = "the file has no step; hint: use [[step]], with a name and options";
            return Err(SuiteFileError { line: 1, reason: reason.to_owned() });
        }
        Ok(file)
    }
}

#[cfg(test)]
mod tests;
