//! The system over time: recorded alone, or sampled during a load.

use crate::caveats;
use crate::error::LabError;
use crate::history::UtcTime;
use crate::measure::Watch;
use iogauge_io::machine::{DeviceTree, Logical, Sampler};
use iogauge_model::Caveat;
use iogauge_model::caveat::Command;
use iogauge_model::result::{Physical, SystemPoint};
use std::ops::RangeInclusive;
use std::time::{Duration, Instant};

/// Default time between two samples of the machine during a load.
pub const CADENCE: Duration = Duration::from_millis(500);

/// Allowed cadences. Below, the kernel's 10 ms ticks of processor time are too coarse for
/// percentages; above, a run would have too few samples.
pub const CADENCES: RangeInclusive<Duration> = Duration::from_millis(100)..=Duration::from_secs(60);

/// Longest time between two checks for an interrupt.
const LOOK: Duration = Duration::from_millis(100);

/// What to record.
#[derive(Debug, Clone)]
pub struct ProfilePlan {
    /// The watched devices.
    pub devices: DeviceTree,
    /// Time between two samples.
    pub cadence: Duration,
    /// Duration; `None` until the interrupt.
    pub length: Option<Duration>,
}

/// A record of the system.
#[derive(Debug)]
pub struct Profiled {
    pub began: UtcTime,
    /// Recorded time, in seconds.
    pub seconds: f64,
    /// The machine over time.
    pub points: Vec<SystemPoint>,
    /// Totals of the devices; `None` if there are none, or a device disappeared.
    pub physical: Option<Physical>,
    /// True if the user ended it early.
    pub interrupted: bool,
    /// The fault that ended it.
    pub fault: Option<String>,
    pub caveats: Vec<Caveat>,
}

/// Records the system until the time is up, an interrupt, or the loss of a device. Keeps what was
/// recorded until then.
///
/// # Errors
/// The machine's counters cannot be read at the beginning.
pub fn record(plan: &ProfilePlan, watch: &mut Watch<'_>) -> Result<Profiled, LabError> {
    let mut sampler = Sampler::start(&plan.devices, plan.cadence)?;
    let before = sampler.begin().clone();
    let (began, begin) = (UtcTime::now(), Instant::now());
    let left = || plan.length.map(|length| length.saturating_sub(begin.elapsed()));
    let mut fault = None;
    while fault.is_none() && !watch.interrupt.is_set() && left() != Some(Duration::ZERO) {
        std::thread::sleep(left().map_or(LOOK, |left| left.min(LOOK)));
        if let Some(point) = sampler.latest() {
            watch.observer.system(&point, left());
        }
        fault = sampler.fault();
    }
    let interrupted = left().is_some_and(|left| left > Duration::ZERO) && fault.is_none();
    let (mut physical, mut facts) = (None, Vec::new());
    match sampler.mark() {
        Ok(after) => {
            let totals = after.since(&before, Logical::default());
            facts.extend(caveats::steal(&totals.cpu));
            physical = totals.physical;
        }
        Err(error) => fault = Some(error.to_string()),
    }
    if interrupted {
        facts.push(caveats::interrupted());
    }
    let points = sampler.points_since(&before);
    let caveats = Command::Profile.caveats(facts);
    let seconds = points.last().map_or(0.0, |point| point.at_seconds);
    Ok(Profiled { began, seconds, points, physical, interrupted, fault, caveats })
}
