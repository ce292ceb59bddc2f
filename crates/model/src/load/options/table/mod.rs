//! The table of workload options.

mod data;
mod job;
mod load;
mod results;

use super::show::nothing;
use super::{LoadOption, OnLine, Setter, Shower};

pub(super) const fn row(
    name: &'static str,
    value: &'static str,
    set: Setter,
    show: Shower,
) -> LoadOption {
    LoadOption {
        name,
        aliases: &[],
        value,
        help: "",
        default: "",
        is_flag: false,
        on_line: OnLine::Shown,
        conflicts: &[],
        requires: &[],
        words: Vec::new,
        set,
        show,
    }
}

/// A switch: `0` or `1`; without a value, `1`.
pub(super) const fn flag(name: &'static str, set: Setter, show: Shower) -> LoadOption {
    let words = || vec!["0", "1"];
    LoadOption { is_flag: true, default: "0", words, ..row(name, "0|1", set, show) }
}

/// A kind of log.
pub(super) const fn log(name: &'static str, set: Setter, show: Shower) -> LoadOption {
    row(name, "PREFIX", set, show).of_run()
}

/// An option that is not part of the workload itself.
pub(super) const fn aside(name: &'static str, on_line: OnLine, set: Setter) -> LoadOption {
    LoadOption { on_line, ..row(name, "VALUE", set, nothing) }
}

impl LoadOption {
    pub(super) const fn help(self, help: &'static str) -> Self {
        Self { help, ..self }
    }

    pub(super) const fn default(self, default: &'static str) -> Self {
        Self { default, ..self }
    }

    pub(super) const fn alias(self, aliases: &'static [&'static str]) -> Self {
        Self { aliases, ..self }
    }

    pub(super) const fn conflicts(self, conflicts: &'static [&'static str]) -> Self {
        Self { conflicts, ..self }
    }

    pub(super) const fn requires(self, requires: &'static [&'static str]) -> Self {
        Self { requires, ..self }
    }

    /// The words that the value may be.
    pub(super) const fn words(self, words: fn() -> Vec<&'static str>) -> Self {
        Self { words, ..self }
    }

    pub(super) const fn of_run(self) -> Self {
        Self { on_line: OnLine::OfRun, ..self }
    }

    pub(super) const fn hidden(self) -> Self {
        Self { on_line: OnLine::Hidden, ..self }
    }

    pub(super) const fn flag(self) -> Self {
        Self { is_flag: true, ..self }
    }
}

/// All options, in the order of the help.
pub const ROWS: &[LoadOption] = &join::<ROW_COUNT>(PARTS);

const PARTS: &[&[LoadOption]] = &[load::ROWS, data::ROWS, results::ROWS, job::ROWS];
const ROW_COUNT: usize =
    load::ROWS.len() + data::ROWS.len() + results::ROWS.len() + job::ROWS.len();

const fn join<const N: usize>(parts: &[&[LoadOption]]) -> [LoadOption; N] {
    let mut rows = [parts[0][0]; N];
    let (mut part, mut at, mut next) = (0, 0, 0);
    while next < N {
        if at == parts[part].len() {
            (part, at) = (part + 1, 0);
        }
        rows[next] = parts[part][at];
        (at, next) = (at + 1, next + 1);
    }
    rows
}
