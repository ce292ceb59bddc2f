//! Suites: named series of steps, each with its table and its verdict.
//!
//! A suite is a plan and two pure functions. The plan lists every step of the longest possible run, so
//! that it can be shown before anything runs. [`Suite::wants`] decides from the results so far whether a
//! step runs, and [`Suite::conclude`] makes tables and verdict of all results. No other state is kept
//! between steps, so an interrupted run resumes from the steps in the history.
//!
//! `definitions/` has what each suite says of itself, its options and, if they are a list of loads, its
//! steps, in the format of users' suite files. `kit` has what the code of suites shares.

mod best_worst;
mod blocksize;
mod file;
mod iometer;
mod kit;
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

pub use file::{FileLoad, ReadLoad};
pub(crate) use kit::judged;
pub use options::{DRAWN, SuiteError, SuiteOptions};
pub use own::{Own, OwnJob, OwnStep, content_word};
pub use plan::{SuiteStep, Work, planned};
pub use runner::{Ran, run};
pub use site::{Needs, Site, SiteKind};

use iogauge_model::Caveat;
use iogauge_model::result::{Conclusion, SuiteStepResult};
use iogauge_model::suite_file::SuiteHead;
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::LazyLock;

/// True for a caveat about a step that is one about the result.
pub type CaveatFilter<'a> = Box<dyn Fn(&Caveat, &SuiteStepResult) -> bool + 'a>;

/// A suite with its options read.
pub trait Suite: Debug {
    /// Its requirements for the target.
    fn needs(&self) -> Needs;

    /// Every step of the longest possible run, in order, each with its own key.
    ///
    /// # Errors
    /// The suite does not fit the target.
    fn plan(&self, site: &Site) -> Result<Vec<SuiteStep>, SuiteError>;

    /// True if a step is to run after the steps `done`.
    fn wants(&self, _site: &Site, _step: &SuiteStep, _done: &[SuiteStepResult]) -> bool {
        true
    }

    /// Decides which caveats about steps are caveats about the result. Left out are those about steps on
    /// which the result does not depend, and those about an effect that the suite measures.
    fn caveat_filter<'a>(
        &'a self,
        _site: &'a Site,
        _steps: &'a [SuiteStepResult],
    ) -> CaveatFilter<'a> {
        Box::new(|_, _| true)
    }

    /// True if a caveat about the target, known before the first step, is one about the result.
    fn keeps_target_caveat(&self, _caveat: &Caveat) -> bool {
        true
    }

    /// A step that runs before all others when the suite is resumed after the steps `done`; no other step
    /// has its key.
    fn before_going_on(&self, _site: &Site, _done: &[SuiteStepResult]) -> Option<SuiteStep> {
        None
    }

    /// Tables, verdict and findings of the steps, including interrupted ones; and the suite's own caveats.
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

/// A suite with its options read, or the first invalid one.
type Built = Result<Box<dyn Suite>, SuiteError>;

/// Makes a suite of its options.
#[derive(Debug, Clone, Copy)]
enum Build {
    /// Steps and verdict are code.
    Code(fn(&SuiteOptions) -> Built),
    /// The definition has the steps; the verdict is code.
    Verdict(fn(Own, &SuiteOptions) -> Built),
}

impl SuiteInfo {
    /// What it measures, in one line.
    #[must_use]
    pub fn about(&self) -> &str {
        self.head.about.as_deref().unwrap_or_default()
    }

    /// The suite with these options; `read` reads the loads of its steps.
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

/// The suite of a name.
#[must_use]
pub fn find(name: &str) -> Option<&'static SuiteInfo> {
    SUITES.iter().find(|suite| suite.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_definition_can_be_read() {
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
