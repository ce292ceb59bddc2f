//! What each of several hosts reaches alone, which decides its part of the load.

use super::{HostsUsed, Region, Rig, run_on};
use crate::error::LabError;
use crate::measure::Watch;
use crate::observe::{Observer, Status};
use iogauge_io::pool::{Footprint, Room};
use iogauge_model::Step;
use iogauge_model::load::Load;
use iogauge_model::plan::Job;
use iogauge_model::result::HostPart;

/// Time to measure each host, and the time before it.
const RUNTIME_NS: u64 = 3_000_000_000;
const RAMP_NS: u64 = 1_000_000_000;
/// Largest queue depth of a host: more would not make a device faster, and a slow one takes long to complete them.
const MOST_DEPTH: u32 = 256;

/// Measures these jobs on each host while the others do nothing, in a closed loop and at an equal part of their queue
/// depth. From then on, each host's part of the load is in proportion to the IOPS that it reached. After an interrupt,
/// the hosts have equal parts.
///
/// # Errors
/// There is one host, a job writes logs, a worker cannot be started, or its engine fails.
pub fn measure(
    rig: &mut Rig,
    jobs: &[(Load, Region)],
    watch: &mut Watch<'_>,
) -> Result<(), LabError> {
    rig.check_several_hosts("--share=solo")?;
    if jobs.iter().any(|(load, _)| load.logs.is_some()) {
        return Err(LabError::Mismatch(
            "--share=solo: the workers of logs have equal parts; hint: leave out the logs or --share"
                .to_owned(),
        ));
    }
    let names = rig.host_names();
    let regions: Vec<Region> = jobs.iter().map(|(_, region)| region.clone()).collect();
    let step = alone(jobs, names.len() as u32);
    let mut reached = Vec::new();
    for (host, name) in names.into_iter().enumerate() {
        rig.use_hosts(HostsUsed::Only(host));
        let mut observer = Statuses(&mut *watch.observer);
        let mut watch = Watch { observer: &mut observer, interrupt: watch.interrupt };
        let measured = run_on(rig, &step, &regions, &mut watch)?;
        if measured.interrupted {
            // What follows ends at once.
            rig.use_hosts(HostsUsed::All);
            return Ok(());
        }
        reached.push((name, measured.result.total().map_or(0.0, |total| total.iops)));
    }
    rig.use_hosts(HostsUsed::All);
    rig.host_parts = HostPart::of(reached);
    Ok(())
}

/// Returns the step that each host measures: as many I/Os outstanding as its equal part of these jobs, without rates,
/// pauses and quotas.
fn alone(jobs: &[(Load, Region)], hosts: u32) -> Step {
    let most = (MOST_DEPTH / jobs.len().max(1) as u32).max(1);
    let job = |load: &Load| {
        let numjobs = load.numjobs.div_ceil(hosts).min(most);
        let queue_depth = load.queue_depth().div_ceil(hosts).min(most);
        let queue_depth = Footprint::deepest(load, queue_depth, &Room::here());
        let load = Load {
            numjobs,
            iodepth: queue_depth.div_ceil(numjobs).max(1),
            arrivals: None,
            thinktime: None,
            startdelay_ns: 0,
            own_time: None,
            number_ios: None,
            io_size_bytes: None,
            steady_state: None,
            verify: None,
            logs: None,
            ..load.clone()
        };
        Job { name: load.label(), load }
    };
    let jobs = jobs.iter().map(|(load, _)| job(load)).collect();
    Step { label: "alone".to_owned(), jobs, ramp_ns: RAMP_NS, runtime_ns: RUNTIME_NS }
}

/// Forwards the status line but no results.
struct Statuses<'a>(&'a mut dyn Observer);

impl Observer for Statuses<'_> {
    fn status(&mut self, status: &Status<'_>) {
        self.0.status(status);
    }
}
