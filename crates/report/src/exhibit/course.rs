//! What runs kept over time: the load's intervals, and the system beside them.

use super::{Exhibit, Shown};
use iogauge_model::result::{
    IntervalPoint, Place, Regime, StepResult, SuiteOutcome, SuiteStepResult, SystemPoint,
};

/// A step, a search, or the system alone over time.
#[derive(Debug, Clone, Copy)]
pub struct Course<'a> {
    /// Number of the step, from 0.
    pub step: usize,
    /// What was done, in a few words.
    pub label: &'a str,
    /// When it began, RFC 3339 in UTC, where that was kept.
    pub began: Option<&'a str>,
    /// The load's intervals, by seconds since then; none of the system alone.
    pub series: &'a [IntervalPoint],
    /// Changes of the target's level meanwhile.
    pub regimes: &'a [Regime],
    /// Samples of the system, by seconds since then.
    pub system: &'a [SystemPoint],
}

impl Exhibit {
    /// Steps and searches over time, in their order; what only makes ready is left out.
    #[must_use]
    pub fn courses(&self) -> Vec<Course<'_>> {
        match &self.document {
            Shown::Run(run) => of_steps(&run.steps),
            Shown::Crosscheck(check) => of_steps(&check.steps),
            Shown::Beside(_) => Vec::new(),
            Shown::Find(find) => vec![Course {
                step: 0,
                label: "search",
                began: find.began.as_deref(),
                series: &find.series,
                regimes: &find.regimes,
                system: &find.system,
            }],
            Shown::Suite(suite) => {
                let steps = suite.steps.iter().enumerate();
                let steps = steps.filter(|(_, step)| step.place.phase != Place::INIT);
                steps.map(|(step, measured)| of_suite_step(step, measured)).collect()
            }
            Shown::Profile(profile) => vec![Course {
                step: 0,
                label: profile.note.as_deref().unwrap_or("profile"),
                began: Some(&profile.began),
                series: &[],
                regimes: &[],
                system: &profile.system,
            }],
        }
    }
}

fn of_steps(steps: &[StepResult]) -> Vec<Course<'_>> {
    steps.iter().enumerate().map(|(step, result)| of_step(step, result)).collect()
}

fn of_step(step: usize, result: &StepResult) -> Course<'_> {
    Course {
        step,
        label: &result.label,
        began: result.began.as_deref(),
        series: &result.series,
        regimes: &result.regimes,
        system: &result.system,
    }
}

fn of_suite_step(step: usize, measured: &SuiteStepResult) -> Course<'_> {
    match &measured.result {
        SuiteOutcome::Step(result) => of_step(step, result),
        SuiteOutcome::Search(search) => Course {
            step,
            label: &measured.place.key,
            began: Some(&measured.started),
            series: &search.series,
            regimes: &search.regimes,
            system: &search.system,
        },
    }
}
