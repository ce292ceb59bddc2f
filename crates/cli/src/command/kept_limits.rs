//! `run --limit`: whether a result keeps limits, as a check after the measurement.

use crate::args::RunArgs;
use crate::exit::{Exit, Usage};
use iogauge_lab::caveats;
use iogauge_lab::measure::Measured;
use iogauge_lab::suite::measured_limit_values;
use iogauge_model::Limit;
use iogauge_model::caveat::Fact;
use iogauge_model::limit::{LimitError, tightest};
use iogauge_model::load::Load;
use iogauge_model::result::{LimitValue, StepResult};

/// Limits that the workloads of a run can break.
#[derive(Debug)]
pub struct KeptLimits(Vec<Limit>);

impl KeptLimits {
    /// Returns the limits from the options and from the guide.
    ///
    /// # Errors
    /// If no workload issues the I/Os that a limit bounds. A guide's limits on such I/Os are left out.
    pub fn of<'a>(
        args: &RunArgs,
        loads: impl Iterator<Item = &'a Load> + Clone,
    ) -> Result<Self, Usage> {
        // The first error, if no workload can break the limit.
        let check = |limit: &Limit| {
            let mut checks = loads.clone().map(|load| limit.check(load));
            let first = checks.next().unwrap_or(Ok(()));
            if checks.any(|check| check.is_ok()) { Ok(()) } else { first }
        };
        let is_told = |error: LimitError| Usage(error.to_string());
        args.limits.iter().try_for_each(check).map_err(is_told)?;
        let guided: &[Limit] = args.guide.map_or(&[], |guide| guide.limits);
        let guided = guided.iter().filter(|limit| check(limit).is_ok());
        Ok(Self(tightest(args.limits.iter().chain(guided).copied())))
    }

    /// Returns the limits.
    pub fn all(&self) -> &[Limit] {
        &self.0
    }

    /// Stores the limits' statistics in a result. Returns the fact that one host decided about one of them, if so.
    pub fn judge(&self, measured: &mut Measured) -> Option<Fact> {
        measured.result.limits = measured_limit_values(measured, &self.0);
        caveats::straggler_of(measured, &self.0)
    }
}

/// Returns the exit code of a run that ended without other faults.
pub fn exit(steps: &[StepResult]) -> Exit {
    let mut values = steps.iter().flat_map(|step| &step.limits);
    if values.any(LimitValue::is_broken) { Exit::Unattainable } else { Exit::Done }
}
