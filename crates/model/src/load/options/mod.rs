//! The options of a load: one table of rows.
//!
//! A row of [`ROWS`] says everything there is to know of an option: its names and help, how its value is
//! read into [`Typed`], and how a [`Load`] shows it. The command line, suite files, job files in and out,
//! and suggested commands all walk these rows. To add an option, add a row.

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

use crate::load::Load;

/// Takes an option's value.
pub type Setter = fn(&mut Typed, &Value<'_>) -> Result<(), Wrong>;
/// The value by which a load has an option; `None` where the option does not apply to it.
pub type Shower = fn(&Load) -> Option<String>;

/// Jobs, files of a job, and workers there may be.
pub const MOST: u32 = 4096;

/// What becomes of an option on the command line and in suite files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnLine {
    /// It is in the help.
    Shown,
    /// It is taken, for users of fio, and not in the help.
    Hidden,
    /// It is refused: what says the same, with a hint.
    Refused(&'static str),
    /// A command has it for all jobs together; beside that it is refused.
    OfCommand(&'static str),
}

/// An option of a load.
#[derive(Debug, Clone, Copy)]
pub struct LoadOption {
    /// Its name, with underscores: fio's, where fio has it.
    pub name: &'static str,
    /// Its other names.
    pub aliases: &'static [&'static str],
    /// What its value is called in the help.
    pub value: &'static str,
    /// What it does, in one line.
    pub help: &'static str,
    /// The value it has on the command line where it is not typed; empty for none.
    pub default: &'static str,
    /// True where its name alone means `=1`.
    pub is_flag: bool,
    /// What becomes of it on the command line.
    pub on_line: OnLine,
    /// Options that it cannot stand beside.
    pub conflicts: &'static [&'static str],
    /// An option it means nothing without, with a value for the hint.
    pub requires: Option<&'static str>,
    /// Reads its value.
    pub set: Setter,
    /// Shows it.
    pub show: Shower,
}

impl LoadOption {
    /// The value by which a load has this option; `None` where it has the default, or the option does
    /// not apply.
    #[must_use]
    pub fn shown(&self, load: &Load) -> Option<String> {
        (self.show)(load).filter(|text| text != self.default)
    }

    /// True where another option cannot stand beside it.
    #[must_use]
    pub fn conflicts_with(&self, other: &str) -> bool {
        self.conflicts.contains(&other)
            || find(other).is_some_and(|row| row.conflicts.contains(&self.name))
    }
}

/// The row of a name or alias; dashes count as underscores.
#[must_use]
pub fn find(name: &str) -> Option<&'static LoadOption> {
    let is_name = |known: &str| {
        let letter = |letter: u8| if letter == b'-' { b'_' } else { letter };
        known.bytes().eq(name.bytes().map(letter))
    };
    ROWS.iter().find(|row| is_name(row.name) || row.aliases.iter().any(|alias| is_name(alias)))
}

/// The row of a name, at compile time.
///
/// # Panics
/// Where there is no such row.
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

/// The name that differs least from a mistyped one, if any comes near.
pub fn nearest<'a>(name: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    // Longer than every name by more than the difference allowed.
    if name.len() > 64 {
        return None;
    }
    let closest = names.map(|known| (distance(name, known), known)).min()?;
    (closest.0 <= 1 + name.len() / 4).then_some(closest.1)
}

/// Letters to insert, remove or replace (Levenshtein's distance).
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
