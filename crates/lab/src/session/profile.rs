//! The system over time: alone, or how often it is looked at beside a load.

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

/// Time between two samples of the machine beside a load, where nothing else is asked for.
pub const CADENCE: Duration = Duration::from_millis(500);

/// Cadences that can be asked for: below them the processors' ticks of 10 ms are too coarse for shares,
/// above them nothing of a run would be seen.
pub const CADENCES: RangeInclusive<Duration> = Duration::from_millis(100)..=Duration::from_secs(60);

/// Longest time between two looks at the interrupt.
const LOOK: Duration = Duration::from_millis(100);

/// What is to be recorded.
#[derive(Debug, Clone)]
pub struct ProfilePlan {
    /// Devices that are watched.
    pub devices: DeviceTree,
    /// Time between two samples.
    pub cadence: Duration,
    /// How long; `None` until the interrupt.
    pub length: Option<Duration>,
}

/// A record of the system.
#[derive(Debug)]
pub struct Profiled {
    /// When it began.
    pub began: UtcTime,
    /// Time recorded, in seconds.
    pub seconds: f64,
    /// The machine over time.
    pub points: Vec<SystemPoint>,
    /// What the devices did; `None` where there are none, or they went away.
    pub physical: Option<Physical>,
    /// True where it ended before its time.
    pub interrupted: bool,
    /// Why it had to end.
    pub fault: Option<String>,
    pub caveats: Vec<Caveat>,
}

/// Records the system until the time is up, the interrupt, or a device that goes away: what was recorded
/// until then is kept.
///
/// # Errors
/// Where the machine's counters cannot be read at the beginning.
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
