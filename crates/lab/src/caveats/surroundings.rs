//! Facts about the surroundings of a run: the limits of control groups.

use iogauge_io::engine;
use iogauge_io::machine::{DeviceTree, GroupLimits, Roots};
use iogauge_model::caveat::MachineFact;
use iogauge_model::load::Load;
use iogauge_model::result::IoLimit;

/// Returns the facts about limits of control groups on a workload on these devices, on a machine
/// with this much memory.
pub(crate) fn facts(
    load: &Load,
    groups: &GroupLimits,
    devices: &DeviceTree,
    memory_bytes: u64,
    roots: &Roots,
) -> Vec<MachineFact> {
    let throttles = throttles(load, groups, devices, roots).into_iter();
    let mut facts: Vec<MachineFact> = throttles
        .map(|limit| MachineFact::IoLimit { limit: limit.to_string(), file: limit.file })
        .collect();
    let buffered = !engine::is_direct(load);
    let memory = groups.memory_bytes.as_ref().filter(|l| buffered && l.value < memory_bytes);
    facts.extend(memory.map(|limit| MachineFact::MemoryLimit {
        limit_bytes: limit.value,
        memory_bytes,
        file: limit.file.to_string_lossy().into_owned(),
    }));
    let processors = groups.processors.as_ref().filter(|quota| quota.value < 1.0);
    facts.extend(processors.map(|quota| MachineFact::ProcessorLimit {
        processors: quota.value,
        file: quota.file.to_string_lossy().into_owned(),
    }));
    facts
}

/// Returns the I/O limits for the directions of a workload.
fn throttles(
    load: &Load,
    groups: &GroupLimits,
    devices: &DeviceTree,
    roots: &Roots,
) -> Vec<IoLimit> {
    let reads = load.rw.reads() || load.dependent;
    let mut limits = groups.io_of(devices, roots);
    limits.retain(|limit| if limit.bound.is_of_reads() { reads } else { load.writes() });
    limits
}
