//! Errors in job files, and where they are.

use iogauge_model::load::options::{SourceLine, Typed, Wrong};

/// What is wrong with a line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// The line is not valid in a job file, or a file cannot be read.
    #[error("{0}")]
    Form(String),
    /// fio has no such option.
    #[error("{name}: no option of fio has this name{}", suggestion(*nearest))]
    UnknownOption {
        /// The name as written.
        name: String,
        /// The option that may have been meant.
        nearest: Option<&'static str>,
    },
    /// The option does not accept the value.
    #[error("{option}: {reason}")]
    Value {
        /// The option, by fio's name.
        option: &'static str,
        /// What is wrong, and a hint.
        reason: String,
    },
    /// fio has the option, but iogauge does not.
    #[error("{option} is not supported: {why}; hint: use --lenient to run without it")]
    Unsupported {
        /// The option, by fio's name.
        option: &'static str,
        /// Why, and a hint.
        why: String,
    },
    /// fio has the option, but iogauge does not pass it on.
    #[error("{option} is refused with --via fio: {why}")]
    RefusedVia {
        /// The option, by fio's name.
        option: &'static str,
        /// Why, and a hint.
        why: String,
    },
    /// fio has the value, but iogauge does not. Without it, the workload would be a different one.
    #[error("{option}={value} is not supported: {why}")]
    UnsupportedValue {
        /// The option, by fio's name.
        option: &'static str,
        value: String,
        /// Why, and a hint.
        why: String,
    },
}

impl Fault {
    /// Creates the fault for the value of an option.
    pub(super) fn of_value(option: &'static str, value: Option<&str>, wrong: Wrong) -> Self {
        match wrong {
            Wrong::Value(reason) => Self::Value { option, reason },
            Wrong::Unsupported(why) => {
                Self::UnsupportedValue { option, value: value.unwrap_or_default().to_owned(), why }
            }
        }
    }
}

fn suggestion(nearest: Option<&str>) -> String {
    nearest.map_or_else(String::new, |name| format!("; hint: use {name}"))
}

/// Why a job file cannot run, in one line: where, what is wrong, and a hint.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {fault}")]
pub struct JobFileError {
    pub place: SourceLine,
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

    /// Creates an error about an option, at the line that set it, or else at its section.
    pub(super) fn of(
        typed: &Typed,
        section: &SourceLine,
        option: &'static str,
        reason: impl Into<String>,
    ) -> Self {
        Self::value(typed.place(option).unwrap_or(section), option, reason)
    }

    /// Returns the option that the error is about, if it is one of fio's.
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
