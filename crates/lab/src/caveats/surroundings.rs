//! Doubts about the surroundings of a run that show before it: what control groups allow.

use iogauge_io::engine;
use iogauge_io::machine::{DeviceTree, GroupLimits, Roots};
use iogauge_model::load::Load;
use iogauge_model::result::IoLimit;
use iogauge_model::units::Bytes;
use iogauge_model::{Caveat, CaveatCode};

/// What control groups do to a load on these devices, on a machine with so much memory.
pub(crate) fn doubts(
    load: &Load,
    groups: &GroupLimits,
    devices: &DeviceTree,
    memory_bytes: u64,
    roots: &Roots,
) -> Vec<Caveat> {
    let mut caveats: Vec<Caveat> =
        throttles(load, groups, devices, roots).iter().map(throttled).collect();
    let buffered = !engine::is_direct(load);
    if let Some(limit) = groups.memory_bytes.as_ref().filter(|l| buffered && l.value < memory_bytes)
    {
        caveats.push(Caveat::new(
            CaveatCode::MemoryLimit,
            format!(
                "this process and the page cache it fills may take {} of the machine's {} ({}): \
                 buffered I/O finds less in the cache than it would without the limit",
                Bytes(limit.value),
                Bytes(memory_bytes),
                limit.file.display()
            ),
            move_out(&limit.file.to_string_lossy()),
        ));
    }
    if let Some(quota) = groups.processors.as_ref().filter(|quota| quota.value < 1.0) {
        caveats.push(Caveat::new(
            CaveatCode::ClientBound,
            format!(
                "this process may use {:.2} of a processor ({}): a fast target waits for it",
                quota.value,
                quota.file.display()
            ),
            move_out(&quota.file.to_string_lossy()),
        ));
    }
    caveats
}

/// The limits on I/O of the directions a load uses.
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

fn throttled(limit: &IoLimit) -> Caveat {
    Caveat::new(
        CaveatCode::Throttled,
        format!("a control group allows this process {limit} ({})", limit.file),
        move_out(&limit.file),
    )
}

/// The command that takes the shell it is typed in out of the group.
fn move_out(file: &str) -> String {
    let directory = file.rsplit_once('/').map_or(file, |(directory, _)| directory);
    let above = directory.rsplit_once('/').map_or(directory, |(above, _)| above);
    format!("echo $$ > {above}/cgroup.procs, as root, before iogauge; or a higher limit")
}
