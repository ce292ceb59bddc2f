//! The rounds of a suite that repeats its workloads.

use super::total::{Access, of_step};
use super::{Exhibit, Shown};
use iogauge_model::result::{
    RoundsFindings, RoundsUnit, StepResult, SuiteDocument, SuiteStepResult, TrackedRounds,
};
use serde::Deserialize;

impl Exhibit {
    /// Returns what is tracked over the rounds: the suite's own findings, or else the IOPS of each of its
    /// workloads. Returns `None` if the suite has no rounds.
    #[must_use]
    pub fn rounds(&self) -> Option<RoundsFindings> {
        let Shown::Suite(suite) = &self.document else { return None };
        findings(suite).or_else(|| of_steps(suite))
    }
}

/// Returns the measured steps on which a suite's figures are based. If the suite has rounds, these are the
/// steps of the rounds that count, if it says which ones do.
pub(super) fn counted(
    suite: &SuiteDocument,
) -> impl Iterator<Item = (&SuiteStepResult, &StepResult)> {
    let in_rounds = suite.steps.iter().any(|step| step.place.round.is_some());
    let window = findings(suite).and_then(|rounds| rounds.window);
    let counts = move |round| window.is_none_or(|window| window.contains(round));
    // Steps before the rounds only prepare for them.
    suite.measured().filter(move |(step, _)| step.place.round.map_or(!in_rounds, counts))
}

/// Returns the findings of a suite that repeats until its rounds agree.
fn findings(suite: &SuiteDocument) -> Option<RoundsFindings> {
    RoundsFindings::deserialize(&suite.conclusion.findings).ok()
}

/// Returns the rounds of a suite with a fixed number of them.
fn of_steps(suite: &SuiteDocument) -> Option<RoundsFindings> {
    let mut series: Vec<(Access, Vec<f64>)> = Vec::new();
    for (step, result) in suite.measured().filter(|(step, _)| !step.interrupted) {
        let Some(round) = step.place.round else { continue };
        let Some(total) = of_step(result, &step.asked.jobs) else { continue };
        match series.iter_mut().find(|(access, _)| *access == total.access) {
            // A series ends at a missing round.
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
