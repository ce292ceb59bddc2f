//! What runs kept of the system over time.

use crate::exhibit::{Exhibit, Shown};
use iogauge_model::result::{
    IntervalPoint, Place, StepResult, SuiteOutcome, SuiteStepResult, SystemPoint,
};

/// The system during a step, a search, or alone.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SystemCourse<'a> {
    /// Number of the step, from 0.
    pub step: usize,
    /// What was done meanwhile, in a few words.
    pub label: &'a str,
    /// When it began, RFC 3339 in UTC.
    pub began: Option<&'a str>,
    /// Samples, by seconds since then.
    pub points: &'a [SystemPoint],
    /// The load's intervals, by seconds since then.
    pub load: &'a [IntervalPoint],
}

impl Exhibit {
    /// The system's courses, in order; those without samples are left out.
    pub(crate) fn system_courses(&self) -> Vec<SystemCourse<'_>> {
        let courses: Vec<SystemCourse<'_>> = match &self.document {
            Shown::Run(run) => {
                run.steps.iter().enumerate().map(|(step, result)| of_step(step, result)).collect()
            }
            Shown::Crosscheck(check) => {
                let steps = check.steps.iter().enumerate();
                steps.map(|(step, result)| of_step(step, result)).collect()
            }
            Shown::Beside(_) => Vec::new(),
            Shown::Find(find) => vec![SystemCourse {
                step: 0,
                label: "search",
                began: find.began.as_deref(),
                points: &find.system,
                load: &find.series,
            }],
            Shown::Suite(suite) => {
                let steps = suite.steps.iter().enumerate();
                let steps = steps.filter(|(_, step)| step.place.phase != Place::INIT);
                steps.map(|(step, measured)| of_suite_step(step, measured)).collect()
            }
            Shown::Profile(profile) => vec![SystemCourse {
                step: 0,
                label: profile.note.as_deref().unwrap_or("profile"),
                began: Some(&profile.began),
                points: &profile.system,
                load: &[],
            }],
        };
        courses.into_iter().filter(|course| !course.points.is_empty()).collect()
    }
}

fn of_step(step: usize, result: &StepResult) -> SystemCourse<'_> {
    SystemCourse {
        step,
        label: &result.label,
        began: result.began.as_deref(),
        points: &result.system,
        load: &result.series,
    }
}

fn of_suite_step(step: usize, measured: &SuiteStepResult) -> SystemCourse<'_> {
    match &measured.result {
        SuiteOutcome::Step(result) => of_step(step, result),
        SuiteOutcome::Search(search) => SystemCourse {
            step,
            label: &measured.place.key,
            began: Some(&measured.started),
            points: &search.system,
            load: &search.series,
        },
    }
}
