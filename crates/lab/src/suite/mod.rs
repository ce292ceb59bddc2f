//! Suites: series of steps that are run by name, each with its table and its verdict.
//!
//! A suite is a plan and two pure functions. The plan lists every step of its longest course, so that
//! it can be shown before anything runs; from what was measured so far [`Suite::wants`] tells whether a
//! step is still to be run, and [`Suite::conclude`] what all of it means. Nothing else is kept between
//! steps, so a run that was cut short goes on where the history says it ended.

mod best_worst;
mod blocksize;
mod doubts;
mod figures;
mod fits;
mod iometer;
mod ladder;
#[cfg(test)]
mod made_up;
mod oltp;
mod options;
mod own;
mod plan;
mod runner;
mod seconds;
mod site;
mod snia;
mod verify;

pub use doubts::of_target;
pub(crate) use figures::judged;
use options::SIZE;
pub use options::{DRAWN, SuiteError, SuiteOption, SuiteOptions};
pub use own::{Own, OwnJob, OwnStep, content_word};
pub use plan::{SuiteStep, Work, planned};
pub use runner::{Ran, run};
pub use site::{Needs, Site, SiteKind};

use iogauge_model::Caveat;
use iogauge_model::result::{Conclusion, SuiteStepResult};
use std::fmt::Debug;

/// True for a doubt about a step that is one about the result.
pub type Doubts<'a> = Box<dyn Fn(&Caveat, &SuiteStepResult) -> bool + 'a>;

/// A suite with its options read.
pub trait Suite: Debug {
    /// What it needs of its target.
    fn needs(&self) -> Needs;

    /// Every step of its longest course, in order, each with a key of its own.
    ///
    /// # Errors
    /// Where the suite does not fit the target.
    fn plan(&self, site: &Site) -> Result<Vec<SuiteStep>, SuiteError>;

    /// True where a step is to be run, with everything behind it measured.
    fn wants(&self, _site: &Site, _step: &SuiteStep, _done: &[SuiteStepResult]) -> bool {
        true
    }

    /// Which doubts about steps are ones about the result, too: not those about steps that the result
    /// does not rest on, nor those about what the suite is after.
    fn doubts<'a>(&'a self, _site: &'a Site, _steps: &'a [SuiteStepResult]) -> Doubts<'a> {
        Box::new(|_, _| true)
    }

    /// True where a doubt about the target that shows before the first step is one about the result.
    fn doubted_before(&self, _doubt: &Caveat) -> bool {
        true
    }

    /// A step that comes before all others where the suite goes on behind these, after an
    /// interruption; its key is one that none of them has.
    fn before_going_on(&self, _site: &Site, _done: &[SuiteStepResult]) -> Option<SuiteStep> {
        None
    }

    /// What the steps mean, interrupted ones among them; with doubts of the suite's own.
    fn conclude(&self, site: &Site, steps: &[SuiteStepResult]) -> (Conclusion, Vec<Caveat>);
}

/// A suite in the table.
#[derive(Debug, Clone, Copy)]
pub struct SuiteInfo {
    /// Its name.
    pub name: &'static str,
    /// What it measures, in one line.
    pub about: &'static str,
    /// How it goes and whose it is, in a few sentences.
    pub help: &'static str,
    /// Its options, beside those that all suites have.
    pub options: &'static [SuiteOption],
    /// Reads its options.
    pub build: fn(&SuiteOptions) -> Result<Box<dyn Suite>, SuiteError>,
    /// SuiteOptions of a short run on a simulated device, with which it is tested.
    pub trial: &'static [(&'static str, &'static str)],
}

/// Every suite.
pub const SUITES: &[SuiteInfo] = &[
    oltp::INFO,
    iometer::INFO,
    best_worst::INFO,
    blocksize::INFO,
    ladder::INFO,
    verify::INFO,
    snia::iops::INFO,
    snia::throughput::INFO,
    snia::latency::INFO,
    snia::saturation::INFO,
];

/// The suite of a name.
#[must_use]
pub fn find(name: &str) -> Option<&'static SuiteInfo> {
    SUITES.iter().find(|suite| suite.name == name)
}
