//! Runs the steps of a suite one after the other.

use super::plan::{SuiteStep, Work};
use super::{Site, Suite};
use crate::error::LabError;
use crate::history::UtcTime;
use crate::measure::Watch;
use crate::observe::Decision;
use crate::observe::{Observer, Status};
use crate::session;
use crate::session::rig::Rig;
use crate::session::trace::{Beside, Tracing};
use iogauge_model::result::{Conclusion, StepPlace, StepResult, SuiteOutcome, SuiteStepResult};
use iogauge_model::{Caveat, CaveatCode};

/// The result of a suite.
#[derive(Debug)]
pub struct Ran {
    /// Its steps, in the order they ran.
    pub steps: Vec<SuiteStepResult>,
    /// The suite's conclusion from them.
    pub conclusion: Conclusion,
    /// The suite's caveats and those of its steps.
    pub caveats: Vec<Caveat>,
    /// Steps of the plan that were not run.
    pub steps_left: u32,
    /// True if the user ended it.
    pub interrupted: bool,
}

/// What the steps of a suite run on.
pub trait Ground {
    /// Runs a step. Returns `None` if the run is to end without it.
    ///
    /// # Errors
    /// A worker cannot be started, or its engine fails.
    fn run(
        &mut self,
        step: &SuiteStep,
        tracing: Option<&mut Tracing>,
        watch: &mut Watch<'_>,
    ) -> Result<Option<SuiteStepResult>, LabError>;
}

/// A prepared target.
impl Ground for Rig {
    fn run(
        &mut self,
        step: &SuiteStep,
        tracing: Option<&mut Tracing>,
        watch: &mut Watch<'_>,
    ) -> Result<Option<SuiteStepResult>, LabError> {
        one(self, step, tracing, watch).map(Some)
    }
}

/// Runs the steps of a plan that the suite wants. `done` are the steps of an
/// earlier run that is being resumed. The observer gets each step as soon as it ends. A tracer traces
/// each.
///
/// # Errors
/// A worker cannot be started, or its engine fails.
pub fn run(
    ground: &mut dyn Ground,
    suite: &dyn Suite,
    site: &Site,
    plan: &[SuiteStep],
    done: Vec<SuiteStepResult>,
    mut tracing: Option<&mut Tracing>,
    watch: &mut Watch<'_>,
) -> Result<Ran, LabError> {
    let part = done.iter().map(|step| step.part + 1).max().unwrap_or(0);
    let mut steps = done;
    let mut interrupted = false;
    let first = if steps.is_empty() { None } else { suite.before_going_on(site, &steps) };
    let number = plan.len() + usize::from(first.is_some());
    for (index, step) in first.iter().chain(plan).enumerate() {
        if steps.iter().any(|known| known.place.key == step.place.key)
            || !suite.wants(site, step, &steps)
        {
            continue;
        }
        // Between two steps no worker checks for an interrupt.
        if watch.interrupt.is_set() {
            interrupted = true;
            break;
        }
        let later = first
            .iter()
            .chain(plan)
            .skip(index + 1)
            .filter(|later| steps.iter().all(|known| known.place.key != later.place.key));
        let after_ns = later.filter_map(|later| later.cost().time_ns).sum();
        watch.observer.suite_step_begins(index, number, &step.place, after_ns);
        let Some(measured) = ground.run(step, tracing.as_deref_mut(), watch)? else {
            interrupted = watch.interrupt.is_set();
            break;
        };
        let measured = SuiteStepResult { part, ..measured };
        watch.observer.suite_step(&measured);
        interrupted = measured.interrupted;
        steps.push(measured);
        if interrupted {
            break;
        }
    }
    let (conclusion, own) = suite.conclude(site, &steps);
    let mut caveats = caveats_of(&steps, suite.caveat_filter(site, &steps));
    caveats.extend(own);
    let ran = |step: &&SuiteStep| steps.iter().any(|known| known.place.key == step.place.key);
    let steps_left = (plan.len() - plan.iter().filter(ran).count()) as u32;
    Ok(Ran { steps, conclusion, caveats, steps_left, interrupted })
}

/// Runs one step.
fn one(
    rig: &mut Rig,
    step: &SuiteStep,
    mut tracing: Option<&mut Tracing>,
    watch: &mut Watch<'_>,
) -> Result<SuiteStepResult, LabError> {
    rig.use_hosts(step.hosts);
    let started = UtcTime::now().to_string();
    let mut within = Within(&mut *watch.observer);
    let mut beside = Beside::new(&mut within, tracing.as_deref_mut());
    let mut watch = Watch { observer: &mut beside, interrupt: watch.interrupt };
    let asked = step.asked();
    let mut check = None;
    let (result, caveats, interrupted) = match &step.work {
        Work::Step(asked) => {
            let mut measured = session::run_on(rig, asked, &step.regions, &mut watch)?;
            let mut caveats = session::step_caveats(rig, asked, &step.regions, &measured);
            if let Some(tracing) = tracing {
                caveats.extend(rig.caveats(tracing.of_step(&mut measured.result)));
            }
            if step.place.phase == StepPlace::INIT {
                // Its figures are not reported.
                let harms = |code| {
                    use CaveatCode::{Interrupted, IoErrors, NothingCompleted};
                    matches!(code, IoErrors | Interrupted | NothingCompleted)
                };
                caveats.retain(|caveat| harms(caveat.code));
            }
            if step.sums_up {
                measured.result.jobs.clear();
            }
            let interrupted = measured.interrupted;
            (SuiteOutcome::Step(Box::new(measured.result)), caveats, interrupted)
        }
        Work::Search { load, plan } => {
            let session::Searched { outcome, mut caveats, .. } =
                session::find(rig, load, plan, &mut watch)?;
            let (mut search, interrupted) = (outcome.search, outcome.interrupted);
            if let Some(tracing) = tracing {
                let facts;
                (search.trace, facts) = tracing.of_answer(&search.answer);
                caveats.extend(rig.caveats(facts));
            }
            (SuiteOutcome::Search(Box::new(search)), caveats, interrupted)
        }
        Work::Check { load, plan } => {
            let checked = session::check::check(rig, load, plan, &mut watch)?;
            check = Some(Box::new(checked.check));
            let result = SuiteOutcome::Step(Box::new(checked.result));
            (result, checked.caveats, checked.interrupted)
        }
    };
    // It is repeated when the run is resumed.
    let has_lost = caveats.iter().any(|caveat| caveat.code == CaveatCode::HostLost);
    let (place, interrupted) = (step.place.clone(), interrupted || has_lost);
    Ok(SuiteStepResult { place, started, part: 0, asked, result, check, caveats, interrupted })
}

/// Forwards the progress of a step but no results: a step of a suite is kept as a whole.
struct Within<'a>(&'a mut dyn Observer);

impl Observer for Within<'_> {
    fn status(&mut self, status: &Status<'_>) {
        self.0.status(status);
    }

    fn decision(&mut self, decision: &Decision) {
        self.0.decision(decision);
    }

    fn step(&mut self, _step: &StepResult) {}
}

/// Returns the caveats of all steps that count, one of each kind: that of the first step with the
/// worst impact, with the number of steps that have one.
fn caveats_of(
    steps: &[SuiteStepResult],
    counts: impl Fn(&Caveat, &SuiteStepResult) -> bool,
) -> Vec<Caveat> {
    let mut found: Vec<Caveat> = Vec::new();
    for code in CaveatCode::ALL {
        let of_code = |step: &SuiteStepResult| {
            // A step that completed nothing sets the exit code, so its reason is always reported.
            let always = *code == CaveatCode::NothingCompleted;
            let of_code =
                step.caveats.iter().filter(|c| c.code == *code && (always || counts(c, step)));
            of_code.max_by_key(|c| c.impact).cloned()
        };
        let having: Vec<(&str, Caveat)> = steps
            .iter()
            .filter_map(|step| Some((step.place.key.as_str(), of_code(step)?)))
            .collect();
        let Some(worst) = having.iter().map(|(_, caveat)| caveat.impact).max() else { continue };
        let Some((key, first)) = having.iter().find(|(_, caveat)| caveat.impact == worst) else {
            continue;
        };
        let message = match having.len() {
            1 => format!("{key}: {}", first.message),
            all => format!("{all} of {} steps, as {key}: {}", steps.len(), first.message),
        };
        found.push(Caveat { message, ..first.clone() });
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suite::made_up;
    use iogauge_model::Impact;
    use iogauge_model::result::FioResult;

    fn step(key: &str, caveats: Vec<Caveat>) -> SuiteStepResult {
        let place = StepPlace { key: key.to_owned(), phase: String::new(), round: None };
        SuiteStepResult { caveats, ..made_up::measured(place, FioResult::default().to_step()) }
    }

    #[test]
    fn caveats_of_many_steps_are_merged_by_kind() {
        let few = |message: &str| Caveat::new(CaveatCode::TooFewSamples, message, "wait");
        let note = few("noted").with_impact(Impact::Note);
        let steps = [
            step("a", vec![note]),
            step("b", vec![few("doubted"), Caveat::of(CaveatCode::Interrupted, "ended")]),
            step("c", vec![few("too")]),
        ];
        let told = caveats_of(&steps, |_, _| true);
        let few = &told[0];
        assert_eq!(few.message, "3 of 3 steps, as b: doubted");
        assert_eq!((few.impact, few.hint.as_str()), (Impact::Doubt, "wait"));
        assert_eq!(told[1].message, "b: ended");
        assert_eq!(told.len(), 2);
        assert_eq!(caveats_of(&[], |_, _| true), []);
        assert_eq!(caveats_of(&steps, |_, step| step.place.key == "a").len(), 1);
    }
}
