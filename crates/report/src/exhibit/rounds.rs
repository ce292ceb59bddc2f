//! The rounds of a suite that repeats its loads.

use super::total::{Access, of_step};
use super::{Exhibit, Shown};
use iogauge_model::result::{
    RoundsFindings, RoundsUnit, StepResult, SuiteDocument, SuiteStepResult, TrackedRounds,
};
use serde::Deserialize;

impl Exhibit {
    /// What is tracked in its rounds: what the suite says, else the I/Os per second of each of its loads; nothing
    /// where it does not go in rounds.
    #[must_use]
    pub fn rounds(&self) -> Option<RoundsFindings> {
        let Shown::Suite(suite) = &self.document else { return None };
        findings(suite).or_else(|| of_steps(suite))
    }
}

/// The measured steps a suite's figures rest on: of one that goes in rounds those of the rounds that count, where
/// that is told.
pub(super) fn counted(
    suite: &SuiteDocument,
) -> impl Iterator<Item = (&SuiteStepResult, &StepResult)> {
    let in_rounds = suite.steps.iter().any(|step| step.place.round.is_some());
    let window = findings(suite).and_then(|rounds| rounds.window);
    let counts = move |round| window.is_none_or(|window| window.contains(round));
    // What goes before the rounds makes ready for them.
    suite.measured().filter(move |(step, _)| step.place.round.map_or(!in_rounds, counts))
}

/// What a suite that goes on until its rounds agree says of them.
fn findings(suite: &SuiteDocument) -> Option<RoundsFindings> {
    RoundsFindings::deserialize(&suite.conclusion.findings).ok()
}

/// Rounds that are there for their number, with no rule that ends them.
fn of_steps(suite: &SuiteDocument) -> Option<RoundsFindings> {
    let mut series: Vec<(Access, Vec<f64>)> = Vec::new();
    for (step, result) in suite.measured().filter(|(step, _)| !step.interrupted) {
        let Some(round) = step.place.round else { continue };
        let Some(total) = of_step(result, &step.asked.jobs) else { continue };
        match series.iter_mut().find(|(access, _)| *access == total.access) {
            // A round that is missing ends what can be drawn.
            Some((_, values)) if values.len() + 1 == round as usize => values.push(total.iops),
            None if round == 1 => series.push((total.access, vec![total.iops])),
            _ => {}
        }
    }
    let rounds = series.iter().map(|(_, values)| values.len()).max()?;
    let tracked = series.into_iter().map(|(access, rounds)| TrackedRounds {
        read_percent: access.read_percent,
        block_bytes: access.block_bytes,
        unit: RoundsUnit::Iops,
        rounds,
        mean: None,
        range_percent: None,
        rise_percent: None,
        line: None,
        steady: None,
    });
    let tracked = tracked.collect();
    Some(RoundsFindings { rounds: rounds as u32, steady: false, window: None, tracked })
}
