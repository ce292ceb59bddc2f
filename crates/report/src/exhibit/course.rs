//! Data recorded over time: the intervals of the workload, and the system meanwhile.

use super::{Exhibit, Shown};
use iogauge_model::result::{
    IntervalPoint, PerformanceShift, StepPlace, StepResult, SuiteOutcome, SuiteStepResult,
    SystemPoint,
};

/// A step, a search, or a recording of the system over time.
#[derive(Debug, Clone, Copy)]
pub struct Timeline<'a> {
    /// Number of the step, from 0.
    pub step: usize,
    /// Short description of what was done.
    pub label: &'a str,
    /// The phase of its suite; empty without one.
    pub phase: &'a str,
    /// The round of the phase, if it has rounds.
    pub round: Option<u32>,
    /// Start time, RFC 3339 in UTC, if it was recorded.
    pub began: Option<&'a str>,
    /// Intervals of the workload, by seconds since the start; empty for a recording of the system.
    pub series: &'a [IntervalPoint],
    /// Performance shifts in that time.
    pub shifts: &'a [PerformanceShift],
    /// Samples of the system, by seconds since the start.
    pub system: &'a [SystemPoint],
}

impl Exhibit {
    /// Returns the steps and searches over time in their order, without those that only prepare.
    #[must_use]
    pub fn courses(&self) -> Vec<Timeline<'_>> {
        match &self.document {
            Shown::Run(run) => of_steps(&run.steps),
            Shown::Crosscheck(check) => of_steps(&check.steps),
            Shown::Beside(_) | Shown::Trend(_) => Vec::new(),
            Shown::Find(find) => vec![Timeline {
                step: 0,
                label: "search",
                phase: "",
                round: None,
                began: find.began.as_deref(),
                series: &find.search.series,
                shifts: &find.search.shifts,
                system: &find.search.system,
            }],
            Shown::Suite(suite) => {
                let steps = suite.steps.iter().enumerate();
                let steps = steps.filter(|(_, step)| step.place.phase != StepPlace::INIT);
                steps.map(|(step, measured)| of_suite_step(step, measured)).collect()
            }
            Shown::Profile(profile) => vec![Timeline {
                step: 0,
                label: profile.note.as_deref().unwrap_or("profile"),
                phase: "",
                round: None,
                began: Some(&profile.began),
                series: &[],
                shifts: &[],
                system: &profile.system,
            }],
        }
    }
}

fn of_steps(steps: &[StepResult]) -> Vec<Timeline<'_>> {
    steps.iter().enumerate().map(|(step, result)| of_step(step, result)).collect()
}

fn of_step(step: usize, result: &StepResult) -> Timeline<'_> {
    Timeline {
        step,
        label: &result.label,
        phase: "",
        round: None,
        began: result.began.as_deref(),
        series: &result.series,
        shifts: &result.shifts,
        system: &result.system,
    }
}

fn of_suite_step(step: usize, measured: &SuiteStepResult) -> Timeline<'_> {
    match &measured.result {
        // A key says what the step is for; a label only what it did.
        SuiteOutcome::Step(result) => Timeline {
            label: &measured.place.key,
            phase: &measured.place.phase,
            round: measured.place.round,
            ..of_step(step, result)
        },
        SuiteOutcome::Search(search) => Timeline {
            step,
            label: &measured.place.key,
            phase: &measured.place.phase,
            round: measured.place.round,
            began: Some(&measured.started),
            series: &search.series,
            shifts: &search.shifts,
            system: &search.system,
        },
    }
}
