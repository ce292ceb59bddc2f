//! Facts about a series of runs.

use super::command::Command;
use super::{Caveat, CaveatCode};

/// A fact about a series of runs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum TrendFact {
    /// The values resemble those before them by more than chance; `correlation` is that of neighbours, and
    /// `runs_per_independent` how many runs carry the information of one independent run.
    Correlated { correlation: f64, runs_per_independent: f64 },
}

impl TrendFact {
    pub(super) fn caveat(self, _: Command) -> Caveat {
        let Self::Correlated { correlation, runs_per_independent } = self;
        let message = format!(
            "the correlation of a run with the next one is {correlation:.2}, and {runs_per_independent:.1} runs carry \
             the information of one: something changes slowly, and changes may be reported that do not last"
        );
        Caveat::of(CaveatCode::CorrelatedRuns, message)
    }
}

/// Returns at least one example of each fact.
pub(super) fn examples() -> Vec<TrendFact> {
    vec![TrendFact::Correlated { correlation: 0.5, runs_per_independent: 3.0 }]
}
