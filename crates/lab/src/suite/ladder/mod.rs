//! `ladder`: how many users a target serves.
//!
//! Each user waits for its I/O before it issues the next, as a process of a database does. The
//! number of users doubles until a latency limit is broken, or until more users add no IOPS:
//! additional I/Os then only queue.

mod report;
mod rung;
#[cfg(test)]
mod tests;

use super::kit::{block_fits, short_of_samples, step_of};
use super::{Needs, Own, OwnStep, Site, Suite, SuiteError, SuiteOptions, SuiteStep};
use iogauge_model::caveat::{Command, Fact, FigureFact, StepTime};
use iogauge_model::load::Load;
use iogauge_model::result::{Conclusion, SuiteStepResult, SuiteTable};
use iogauge_model::{Caveat, Limit};
use rung::{End, Rung, chosen};
use serde_json::json;

/// Default threshold of relative growth: growth of the IOPS divided by growth of the users.
const USUAL_GROWTH: f64 = 0.5;

#[derive(Debug)]
struct Ladder {
    /// The rungs, in ascending order of users.
    own: Own,
    limits: Vec<Limit>,
    /// Threshold of relative growth below which the ladder ends; 0 if it does not end for lack of
    /// growth.
    growth: f64,
}

pub(super) fn build(own: Own, options: &SuiteOptions) -> Result<Box<dyn Suite>, SuiteError> {
    if own.steps.len() < 2 {
        let reason = "one rung is not a ladder; hint: use 1,2,4,8";
        return Err(SuiteError::option("users", reason));
    }
    let load = own.last_load();
    if options.has("rwmixread") && !load.rw.is_mixed() {
        let reason = format!("{} mixes nothing; hint: use --rw=randrw with it", load.rw);
        return Err(SuiteError::option("rwmixread", reason));
    }
    let limits = options.limits("limit")?;
    for limit in &limits {
        limit.check(load).map_err(|error| SuiteError::option("limit", error.to_string()))?;
    }
    let growth = options.share("growth")?.unwrap_or(USUAL_GROWTH);
    Ok(Box::new(Ladder { own, limits, growth }))
}

impl Suite for Ladder {
    fn needs(&self) -> Needs {
        self.own.needs
    }

    fn plan(&self, site: &Site) -> Result<Vec<SuiteStep>, SuiteError> {
        block_fits(site, "bs", self.load().block.largest())?;
        self.own.plan(site)
    }

    fn wants(&self, _site: &Site, _step: &SuiteStep, done: &[SuiteStepResult]) -> bool {
        self.end(&self.rungs(done)).is_none()
    }

    fn conclude(&self, _site: &Site, steps: &[SuiteStepResult]) -> (Conclusion, Vec<Caveat>) {
        let rungs = self.rungs(steps);
        let end = match self.end(&rungs) {
            Some(end) => Some(end),
            None if rungs.len() == self.own.steps.len() => Some(End::Top),
            None => None,
        };
        let chosen = chosen(&rungs);
        let linear_to = self.linear_to(&rungs).map(|rung| rung.users);
        let conclusion = Conclusion {
            verdict: self.verdict(&rungs, chosen, end),
            tables: vec![SuiteTable::Own(self.table(&rungs))],
            findings: json!({
                "users": chosen.map(|rung| rung.users),
                "iops": chosen.map(|rung| rung.iops),
                "mean_ns": chosen.map(|rung| rung.row.all.mean_ns),
                "ended_by": end.map(End::word),
                "ended_at_users": end.and(rungs.last()).map(|rung| rung.users),
                "linear_to_users": linear_to,
                "limits": self.limits,
            }),
        };
        (conclusion, self.too_few(steps).into_iter().collect())
    }
}

impl Ladder {
    /// Returns the workload of the last rung. The rungs differ only in their users.
    fn load(&self) -> &Load {
        self.own.last_load()
    }

    /// Returns the measured rungs, in ascending order of users.
    fn rungs(&self, steps: &[SuiteStepResult]) -> Vec<Rung> {
        let measured =
            |own: &OwnStep| Rung::of(own.load().numjobs, step_of(steps, &own.key)?, &self.limits);
        self.own.steps.iter().filter_map(measured).collect()
    }

    /// Returns the reason why no rung follows the last one.
    fn end(&self, rungs: &[Rung]) -> Option<End> {
        let last = rungs.last()?;
        if let Some((limit, value_ns)) = last.broken {
            return Some(End::Limit(limit, value_ns));
        }
        let [.., before, last] = rungs else { return None };
        (!self.is_growth(before, last)).then_some(End::Growth)
    }

    fn is_growth(&self, before: &Rung, after: &Rung) -> bool {
        self.growth == 0.0 || after.growth_at_most(before) >= self.growth
    }

    /// Returns the last rung up to which IOPS grow with the users; `None` if they grow to the end.
    fn linear_to<'a>(&self, rungs: &'a [Rung]) -> Option<&'a Rung> {
        let least = if self.growth == 0.0 { USUAL_GROWTH } else { self.growth };
        let stops = |pair: &&[Rung]| pair[1].growth_at_most(&pair[0]) < least;
        rungs.windows(2).find(stops).map(|pair| &pair[0])
    }

    /// Returns a caveat if a limit was judged with too few I/Os.
    fn too_few(&self, steps: &[SuiteStepResult]) -> Option<Caveat> {
        let short = |step: &SuiteStepResult| {
            Some((
                step.place.key.clone(),
                step.step()?.ios(),
                short_of_samples(step.step()?, &self.limits)?,
            ))
        };
        let (key, ios, limit) = steps.iter().find_map(short)?;
        let fact = FigureFact::FewForLimit { limit, ios, wanted: limit.metric.samples_wanted() };
        Some(Fact::from(fact).caveat(Command::Suite(StepTime::Seconds)).about(&key))
    }
}
