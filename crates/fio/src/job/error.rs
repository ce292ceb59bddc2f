//! What can be wrong with a job file, and where it stands.

use iogauge_model::load::options::{SourceLine, Typed, Wrong};

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

impl Fault {
    /// What is wrong with the value of an option.
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

    /// What is wrong with an option, where it was typed, or with its section where it was not.
    pub(super) fn of(
        typed: &Typed,
        section: &SourceLine,
        option: &'static str,
        reason: impl Into<String>,
    ) -> Self {
        Self::value(typed.place(option).unwrap_or(section), option, reason)
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
