//! Facts about several hosts.

use crate::measure::Measured;
use crate::measure::straggler::straggler;
use iogauge_model::Limit;
use iogauge_model::caveat::{Fact, HostFact};
use iogauge_model::result::HostResult;

/// Returns the fact that several hosts did the I/O, if so.
#[must_use]
pub fn several(hosts: &[HostResult]) -> Option<Fact> {
    (hosts.len() > 1).then(|| HostFact::Several(hosts.len()).into())
}

/// Returns a fact if one host alone decided that a step broke a limit.
#[must_use]
pub fn straggler_of(measured: &Measured, limits: &[Limit]) -> Option<Fact> {
    let names: Vec<String> = measured.result.hosts.iter().map(|host| host.name.clone()).collect();
    let found = straggler(&measured.latencies(), limits, &names);
    found.map(|found| HostFact::Straggler(found).into())
}
