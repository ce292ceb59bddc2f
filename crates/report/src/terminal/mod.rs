//! Results as text for a terminal.
//!
//! No line is wider than the page if the page is at least [`Page::NARROWEST`] wide. Tables that do not fit
//! drop their least important columns, then continue below with their first column repeated. Text is
//! wrapped.

mod block_layer;
mod compare;
mod crosscheck;
mod database;
mod doctor;
mod find;
mod fio;
mod grid;
mod history;
mod hosts;
mod names;
mod options;
mod parts;
mod profile;
mod run;
mod sheet;
mod suite;
mod terms;
mod trend;
mod verdict;
mod verify;

pub use compare::compare_runs;
pub use crosscheck::{crosscheck, crosscheck_brief};
pub use database::{beside, beside_brief, db_check};
pub use doctor::doctor;
pub use find::find;
pub(crate) use find::marks;
pub use history::history_list;
pub(crate) use names::{listed, load as load_words, statistic as statistic_ns};
pub use profile::{profile, profile_brief};
pub use run::run;
pub(crate) use suite::cell_text;
pub use suite::{duration, suite, suite_brief, suite_list, suite_plan, suite_step_line};
pub(crate) use terms::Terms;
pub(crate) use trend::{
    change as trend_change, failed_last, load as trend_load, name as trend_name,
    shown as trend_value, targets as trend_targets, targets_of,
};
pub use trend::{trend, trend_brief};
pub(crate) use verdict::stop_reason;
pub use verdict::{find_brief, find_verdict, run_brief, steps_brief};

/// Properties of the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Page {
    /// Width in columns; at least [`Page::NARROWEST`] is used.
    pub width: u16,
    /// True if colours may be used (ECMA-48 sequences).
    pub color: bool,
}

impl Page {
    /// The narrowest page that is supported.
    pub const NARROWEST: u16 = 60;

    /// Creates a page without colours.
    #[must_use]
    pub fn plain(width: u16) -> Self {
        Self { width, color: false }
    }

    fn columns(self) -> usize {
        usize::from(self.width.max(Self::NARROWEST))
    }
}
