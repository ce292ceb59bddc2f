//! What can be wrong with a job file, and where it stands.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

/// A line of a job file or of a file it includes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceLine {
    /// The file, as it was named.
    pub file: Arc<Path>,
    /// The line, from 1; 0 for the file as a whole.
    pub line: u32,
}

impl fmt::Display for SourceLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file.display())?;
        if self.line > 0 { write!(f, ":{}", self.line) } else { Ok(()) }
    }
}

/// What is wrong with a line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// The line is none of a job file, or a file cannot be read.
    #[error("{0}")]
    Form(String),
    /// fio has no such option.
    #[error("{name}: no option of fio has this name{}", suggestion(*nearest))]
    UnknownOption {
        /// The name as written.
        name: String,
        /// The option meant, perhaps.
        nearest: Option<&'static str>,
    },
    /// The value is none the option takes.
    #[error("{option}: {reason}")]
    Value {
        /// The option, by fio's name.
        option: &'static str,
        /// What is wrong and what would be right.
        reason: String,
    },
    /// fio has the option and iogauge does not.
    #[error("{option} is not supported: {why}; hint: use --lenient to run without it")]
    Unsupported {
        /// The option, by fio's name.
        option: &'static str,
        /// Why, and what there is instead.
        why: String,
    },
    /// fio has the option, and does not get it from iogauge.
    #[error("{option} is refused with --via fio: {why}")]
    RefusedVia {
        /// The option, by fio's name.
        option: &'static str,
        /// Why, and what there is instead.
        why: String,
    },
    /// fio has the value and iogauge does not. Leaving it out would make another load of it.
    #[error("{option}={value} is not supported: {why}")]
    UnsupportedValue {
        /// The option, by fio's name.
        option: &'static str,
        /// The value.
        value: String,
        /// Why, and what there is instead.
        why: String,
    },
}

fn suggestion(nearest: Option<&str>) -> String {
    nearest.map_or_else(String::new, |name| format!("; hint: use {name}"))
}

/// Why a job file cannot run, in one line: where, what is wrong, and what would be right.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {fault}")]
pub struct JobFileError {
    /// Where.
    pub place: SourceLine,
    /// What.
    pub fault: Fault,
}

impl JobFileError {
    pub(super) fn form(place: &SourceLine, what: impl Into<String>) -> Self {
        Self { place: place.clone(), fault: Fault::Form(what.into()) }
    }

    pub(super) fn value(
        place: &SourceLine,
        option: &'static str,
        reason: impl Into<String>,
    ) -> Self {
        Self { place: place.clone(), fault: Fault::Value { option, reason: reason.into() } }
    }

    /// The option it is about, where it is about one that fio has.
    #[must_use]
    pub fn option(&self) -> Option<&'static str> {
        match &self.fault {
            Fault::Value { option, .. }
            | Fault::Unsupported { option, .. }
            | Fault::RefusedVia { option, .. }
            | Fault::UnsupportedValue { option, .. } => Some(option),
            Fault::Form(_) | Fault::UnknownOption { .. } => None,
        }
    }
}
