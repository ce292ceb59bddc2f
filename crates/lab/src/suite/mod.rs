//! Suites: named series of steps, each with a table and a verdict.
//!
//! A suite is a plan and two pure functions. The plan lists every step of the longest possible run,
//! so that it can be shown before anything runs. [`Suite::wants`] decides from the results so far
//! whether a step runs, and [`Suite::conclude`] makes tables and verdict from all results. No other
//! state is kept between steps, so an interrupted run resumes from the steps in the history.
//!
//! `definitions/` has the description of each suite, its options and, if they are a list of
//! workloads, its steps, in the format of users' suite files. `kit` has the shared code.

mod best_worst;
mod blocksize;
mod check;
mod file;
mod hosts_curve;
mod iometer;
mod kit;
mod ladder;
#[cfg(test)]
pub(crate) mod made_up;
mod oltp;
mod options;
mod own;
mod plan;
mod rates;
mod runner;
mod seconds;
mod site;
mod snia;
mod verify;

pub use check::{Check, Requirement};
pub use file::{FileLoad, ReadLoad};
pub use hosts_curve::HostsCurve;
pub(crate) use kit::{Column, NOTHING, counted, judged, table, why_no_capacity, words};
pub use kit::{limit_values, measured_limit_values};
pub use options::{DRAWN, SuiteError, SuiteOptions};
pub use own::{Own, OwnJob, OwnStep, content_word};
pub use plan::{SuiteStep, Work, planned};
pub use runner::{Ground, Ran, run};
pub(crate) use site::processors;
pub use site::{Needs, Site, SiteKind};

use iogauge_model::Caveat;
use iogauge_model::result::{Conclusion, SuiteStepResult};
use iogauge_model::suite_file::SuiteHead;
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::LazyLock;

/// Returns true if a caveat about a step is also one about the result.
pub type CaveatFilter<'a> = Box<dyn Fn(&Caveat, &SuiteStepResult) -> bool + 'a>;

/// A suite with its options.
pub trait Suite: Debug {
    /// Returns its requirements for the target.
    fn needs(&self) -> Needs;

    /// Returns every step of the longest possible run, in order, each with its own key.
    ///
    /// # Errors
    /// The suite does not fit the target.
    fn plan(&self, site: &Site) -> Result<Vec<SuiteStep>, SuiteError>;

    /// Returns true if a step is to run after the steps `done`.
    fn wants(&self, _site: &Site, _step: &SuiteStep, _done: &[SuiteStepResult]) -> bool {
        true
    }

    /// Returns the filter that decides which caveats about steps are caveats about the result. It
    /// omits caveats about steps that the result does not depend on, and about an effect that the
    /// suite measures.
    fn caveat_filter<'a>(
        &'a self,
        _site: &'a Site,
        _steps: &'a [SuiteStepResult],
    ) -> CaveatFilter<'a> {
        Box::new(|_, _| true)
    }

    /// Returns true if a caveat about the target, known before the first step, is one about the
    /// result.
    fn keeps_target_caveat(&self, _caveat: &Caveat) -> bool {
        true
    }

    /// Returns a step that runs before all others when the suite is resumed after the steps `done`.
    /// No other step has its key.
    fn before_going_on(&self, _site: &Site, _done: &[SuiteStepResult]) -> Option<SuiteStep> {
        None
    }

    /// Returns tables, verdict and findings from the steps, including interrupted ones, and the
    /// suite's own caveats.
    fn conclude(&self, site: &Site, steps: &[SuiteStepResult]) -> (Conclusion, Vec<Caveat>);
}

/// A suite in the table.
#[derive(Debug)]
pub struct SuiteInfo {
    /// Its name.
    pub name: &'static str,
    /// What it measures, and its options.
    pub head: SuiteHead,
    /// Its definition.
    text: &'static str,
    build: Build,
}

/// A suite with its options, or the first invalid option.
type Built = Result<Box<dyn Suite>, SuiteError>;

/// How a suite is made from its options.
#[derive(Debug, Clone, Copy)]
enum Build {
    /// Code defines steps and verdict.
    Code(fn(&SuiteOptions) -> Built),
    /// The definition has the steps; code defines the verdict.
    Verdict(fn(Own, &SuiteOptions) -> Built),
}

impl SuiteInfo {
    /// Returns what it measures, in one line.
    #[must_use]
    pub fn about(&self) -> &str {
        self.head.about.as_deref().unwrap_or_default()
    }

    /// Makes the suite with these options; `read` parses the workloads of its steps.
    ///
    /// # Errors
    /// Invalid options.
    pub fn build(&self, typed: BTreeMap<String, String>, read: &ReadLoad<'_>) -> Built {
        let options = SuiteOptions::new(&self.head.options, typed);
        match self.build {
            Build::Code(build) => build(&options),
            Build::Verdict(build) => {
                build(Own::read(self.name, self.text, &options, read)?, &options)
            }
        }
    }
}

macro_rules! definition {
    ($name:literal, $build:expr) => {
        ($name, include_str!(concat!("definitions/", $name, ".toml")), $build)
    };
}

const DEFINITIONS: &[(&str, &str, Build)] = &[
    definition!("oltp", Build::Code(oltp::build)),
    definition!("iometer", Build::Code(iometer::build)),
    definition!("best-worst", Build::Code(best_worst::build)),
    definition!("blocksize", Build::Verdict(blocksize::build)),
    definition!("ladder", Build::Verdict(ladder::build)),
    definition!("verify", Build::Code(verify::build)),
    definition!("seastar", Build::Code(rates::seastar::build)),
    definition!("iocost", Build::Code(rates::iocost::build)),
    definition!("snia-iops", Build::Code(snia::iops::build)),
    definition!("snia-throughput", Build::Code(snia::throughput::build)),
    definition!("snia-latency", Build::Code(snia::latency::build)),
    definition!("snia-saturation", Build::Code(snia::saturation::build)),
];

/// Every suite.
pub static SUITES: LazyLock<Vec<SuiteInfo>> = LazyLock::new(|| {
    let read = |(name, text, build): &(&'static str, &'static str, Build)| {
        let head = SuiteHead::parse(text).ok()?;
        Some(SuiteInfo { name, head, text, build: *build })
    };
    DEFINITIONS.iter().filter_map(read).collect()
});

/// Returns the suite with a name.
#[must_use]
pub fn find(name: &str) -> Option<&'static SuiteInfo> {
    SUITES.iter().find(|suite| suite.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_builtin_suite_definition_parses() {
        for (name, text, _) in DEFINITIONS {
            let head = SuiteHead::parse(text).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert!(
                head.about.is_some() && head.help.is_some() && !head.trial.is_empty(),
                "{name}"
            );
            made_up::build(name, &[]).unwrap();
        }
    }
}
