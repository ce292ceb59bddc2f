//! A test that goes in rounds as a suite: what differs from test to test is data.

use super::super::{CaveatFilter, Needs, Site, Suite, SuiteError, SuiteStep};
use super::report::Report;
use super::rounds::Rounds;
use iogauge_model::Caveat;
use iogauge_model::result::{Conclusion, SuiteStepResult, Table};

/// A test that goes in rounds.
#[derive(Debug)]
pub(super) struct InRounds {
    /// Its course.
    pub rounds: Rounds,
    /// The figures for the first sentence, and those of the window as a table.
    pub figures: fn(&Report<'_>) -> (String, Table),
}

impl Suite for InRounds {
    fn needs(&self) -> Needs {
        self.rounds.settings.needs()
    }

    fn plan(&self, site: &Site) -> Result<Vec<SuiteStep>, SuiteError> {
        self.rounds.plan(site)
    }

    fn wants(&self, site: &Site, step: &SuiteStep, done: &[SuiteStepResult]) -> bool {
        self.rounds.wants(site, step, done)
    }

    fn caveat_filter<'a>(
        &'a self,
        site: &'a Site,
        steps: &'a [SuiteStepResult],
    ) -> CaveatFilter<'a> {
        self.rounds.caveat_filter(site, steps)
    }

    fn conclude(&self, site: &Site, steps: &[SuiteStepResult]) -> (Conclusion, Vec<Caveat>) {
        let report = Report::of(&self.rounds, site, steps);
        let (headline, table) = (self.figures)(&report);
        report.conclude(&headline, table)
    }
}
