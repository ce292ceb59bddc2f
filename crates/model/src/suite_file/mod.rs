//! Suites as TOML files: what a suite says of itself, its options, and its steps.
//!
//! The suites that come with iogauge and those of users are the same files. Options of loads are kept
//! as words: they are those of the command line, and its reader reads them.

mod block;
mod head;
mod unfold;

pub use head::{SuiteHead, SuiteOption};

use crate::limit::Limit;
use crate::units::parse_size_bytes;
use block::{Block, Kind, Reader};
use std::collections::BTreeMap;

/// The values of a suite's options by their names; `None` for an option without a value.
pub type OptionValues = BTreeMap<String, Option<String>>;

/// Steps a file may unfold to.
const MOST_STEPS: usize = 1000;
/// Jobs that the steps of a file may have together.
const MOST_JOBS: usize = 16_384;

/// What is wrong with a file, and what would be right, in one line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{line}: {reason}")]
pub struct SuiteFileError {
    /// Line, from 1.
    pub line: usize,
    /// What is wrong and what would be right.
    pub reason: String,
}

/// The steps of a file.
#[derive(Debug, Clone, PartialEq)]
pub struct SuiteFile {
    /// Size of a test file made for it, or how much of each device is used, in bytes.
    pub size_bytes: Option<u64>,
    /// Time to measure a step that has none of its own and does not end by itself, in nanoseconds.
    pub runtime_ns: Option<u64>,
    /// Time before it in which nothing is counted, in nanoseconds.
    pub ramp_ns: Option<u64>,
    /// Its steps, at least one, each with a key of its own.
    pub steps: Vec<FileStep>,
}

/// One step.
#[derive(Debug, Clone, PartialEq)]
pub struct FileStep {
    /// Line of its `[[step]]`, from 1.
    pub line: usize,
    /// Its name in the file.
    pub name: String,
    /// Tells the step from every other one: the `key` of the file, or the name with the values that were
    /// chosen from lists.
    pub key: String,
    /// Jobs that run together, at least one.
    pub jobs: Vec<FileJob>,
    /// Its own time to measure, in nanoseconds; of a search the time it may take.
    pub runtime_ns: Option<u64>,
    /// Its own time in which nothing is counted, in nanoseconds.
    pub ramp_ns: Option<u64>,
    /// What its latencies are held to.
    pub limits: Vec<Limit>,
    /// Limits under which the capacity is searched; none where the load runs as it stands.
    pub find: Vec<Limit>,
}

/// One job of a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileJob {
    /// Its name, where it has one.
    pub name: Option<String>,
    /// Its options, defaults among them, each of them once.
    pub options: Vec<FileOption>,
}

/// One option of a load.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileOption {
    /// Its name, with underscores: `rate_iops`.
    pub name: String,
    /// Its value.
    pub value: String,
    /// Line, from 1.
    pub line: usize,
    /// The option of the suite from which the value comes.
    pub from: Option<String>,
}

impl SuiteFile {
    /// Reads a file whose options have their defaults.
    ///
    /// # Errors
    /// As [`Self::with_options`].
    pub fn parse(text: &str) -> Result<Self, SuiteFileError> {
        Self::with_options(text, &SuiteHead::parse(text)?.defaults())
    }

    /// Reads a file with the values of its options.
    ///
    /// # Errors
    /// The first mistake: invalid TOML, a member that belongs elsewhere, a value of another kind, two
    /// steps with the same key. Options of loads are not checked.
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
                // Read by [`SuiteHead::parse`].
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
                    defaults = reader.block(reader.table(&member)?, member.line, Kind::Defaults)?;
                }
                "step" => {
                    for (line, table) in reader.tables(&member)? {
                        steps.push(reader.block(table, line, Kind::Step)?);
                    }
                }
                _ => {
                    let reason = "is none of about, help, size, seconds, ramp, limit, [options], [defaults] \
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
