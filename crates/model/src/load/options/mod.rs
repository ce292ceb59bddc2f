//! The workload options: one table of rows.
//!
//! A row of [`ROWS`] has everything about an option: its names and help, how its value is parsed into
//! [`Typed`], and how it is formatted from a [`Load`]. The command line, suite files, job files (read and
//! written) and suggested commands all use these rows. To add an option, add a row.

mod convert;
mod expression;
mod set;
mod show;
mod table;
mod typed;
mod value;

pub use expression::evaluate;
pub use table::ROWS;
pub use typed::{Rates, SourceLine, Typed};
pub use value::{Dialect, KbBase, Span, Value, Wrong};

use crate::load::{DataPattern, DataPatternError, Load};
use std::io;
use std::path::Path;

/// Parses and stores the value of an option.
pub type Setter = fn(&mut Typed, &Value<'_>) -> Result<(), Wrong>;
/// Formats the value of an option of a workload; `None` if the option does not apply to it.
pub type Shower = fn(&Load) -> Option<String>;

/// Maximum number of jobs, of files per job, and of workers.
pub const MOST: u32 = 4096;

/// How the command line and suite files treat an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnLine {
    /// The option is accepted and is in the help.
    Shown,
    /// The option is accepted, for users of fio, but is not in the help.
    Hidden,
    /// The option is refused. The string has the alternative, with a hint.
    Refused(&'static str),
    /// The option belongs to the command and applies to all jobs. It is refused for a single job.
    OfCommand(&'static str),
    /// The option is accepted and is in the help, but only `iogauge run` can carry it out.
    OfRun,
}

/// A workload option.
#[derive(Debug, Clone, Copy)]
pub struct LoadOption {
    /// The name, with underscores: fio's name if fio has the option.
    pub name: &'static str,
    /// Alternative names.
    pub aliases: &'static [&'static str],
    /// The placeholder of the value in the help.
    pub value: &'static str,
    /// The help text.
    pub help: &'static str,
    /// The default value on the command line; empty for none.
    pub default: &'static str,
    /// True if the name alone means `=1`.
    pub is_flag: bool,
    /// How the command line treats the option.
    pub on_line: OnLine,
    /// Options that cannot be combined with this one.
    pub conflicts: &'static [&'static str],
    /// Options of which this one needs at least one to have an effect, each with a value for the hint. Empty if it
    /// needs none.
    pub requires: &'static [&'static str],
    /// The words that the value may be, for completions; empty for numbers and texts.
    pub words: fn() -> Vec<&'static str>,
    /// Parses the value.
    pub set: Setter,
    /// Formats the value.
    pub show: Shower,
}

impl LoadOption {
    /// Returns the value of this option for a workload; `None` if it is the default or if the option does not
    /// apply.
    #[must_use]
    pub fn shown(&self, load: &Load) -> Option<String> {
        (self.show)(load).filter(|text| text != self.default)
    }

    /// Returns the value of this option, in which a pattern has the bytes of the files that it names.
    /// `read` returns the first bytes of a file, at most the given number.
    ///
    /// # Errors
    /// Those of [`DataPattern::with_files`].
    pub fn with_files(
        &self,
        text: String,
        read: &dyn Fn(&Path, usize) -> io::Result<Vec<u8>>,
    ) -> Result<String, DataPatternError> {
        if !matches!(self.name, "verify_pattern" | "buffer_pattern") {
            return Ok(text);
        }
        Ok(DataPattern::with_files(&text, read)?.unwrap_or(text))
    }

    /// True if the two options cannot be combined.
    #[must_use]
    pub fn conflicts_with(&self, other: &str) -> bool {
        self.conflicts.contains(&other)
            || find(other).is_some_and(|row| row.conflicts.contains(&self.name))
    }
}

/// Returns the row of a name or alias. Dashes count as underscores.
#[must_use]
pub fn find(name: &str) -> Option<&'static LoadOption> {
    let is_name = |known: &str| {
        let letter = |letter: u8| if letter == b'-' { b'_' } else { letter };
        known.bytes().eq(name.bytes().map(letter))
    };
    ROWS.iter().find(|row| is_name(row.name) || row.aliases.iter().any(|alias| is_name(alias)))
}

/// Returns the row of a name, at compile time.
///
/// # Panics
/// If there is no such row.
#[must_use]
pub const fn row(name: &str) -> &'static LoadOption {
    let mut index = 0;
    while index < ROWS.len() {
        if is_same(ROWS[index].name.as_bytes(), name.as_bytes()) {
            return &ROWS[index];
        }
        index += 1;
    }
    panic!("no option has this name")
}

const fn is_same(a: &[u8], b: &[u8]) -> bool {
    if a.len() != b.len() {
        return false;
    }
    let mut index = 0;
    while index < a.len() {
        if a[index] != b[index] {
            return false;
        }
        index += 1;
    }
    true
}

/// Returns the name closest to a mistyped one, if any is close.
pub fn nearest<'a>(name: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    // Such a name exceeds every known name by more than the distance allowed.
    if name.len() > 64 {
        return None;
    }
    let closest = names.map(|known| (distance(name, known), known)).min()?;
    (closest.0 <= 1 + name.len() / 4).then_some(closest.1)
}

/// Returns the Levenshtein distance: the number of characters to insert, remove or replace.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = i;
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests;
