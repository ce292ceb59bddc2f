//! The true capacity of a device without a closed form: long measurements at many queue depths.

use super::scenarios::Scenario;
use iogauge_io::engine::Op;
use iogauge_io::targets::Intent;
use iogauge_lab::Rig;
use iogauge_model::limit::Directions;
use iogauge_model::load::{EngineKind, Load, Pattern};

/// Virtual time measured at each queue depth, and the time to settle before.
const SETTLE_NS: u64 = 10_000_000_000;
const MEASURE_NS: u64 = 300_000_000_000;
const SEED: u64 = 77;

pub fn load(scenario: &Scenario) -> Load {
    let rw = if scenario.writes { Pattern::RandWrite } else { Pattern::RandRead };
    Load { engine: EngineKind::Sim, rw, ..Load::default() }
}

/// Returns the IOPS at the largest queue depth that keeps every limit, found by bisection.
pub fn capacity(scenario: &Scenario) -> f64 {
    let (mut holds, mut breaks) = (0, 4096);
    let mut best = 0.0;
    while breaks - holds > 1 {
        let queue_depth = (holds + breaks) / 2;
        match measure(scenario, queue_depth) {
            Some(iops) => (holds, best) = (queue_depth, iops),
            None => breaks = queue_depth,
        }
    }
    best
}

/// Returns the IOPS at a queue depth if it keeps the limits.
fn measure(scenario: &Scenario, queue_depth: u32) -> Option<f64> {
    let rig = Rig::open(&format!("sim:{},seed={SEED}", scenario.device), Intent::default())
        .expect("a device of the table");
    let load = Load { iodepth: queue_depth, ..load(scenario) };
    let mut pool = rig.pool(&load, queue_depth).expect("a pool in virtual time");
    pool.advance(SETTLE_NS).expect("virtual time passes");
    pool.take_window().expect("a window");
    pool.advance(MEASURE_NS).expect("virtual time passes");
    let window = pool.take_window().expect("a window");
    let service = |op| &window.tally(op).service;
    let latencies = Directions::new(service(Op::Read), service(Op::Write), service(Op::Sync));
    let holds = scenario.plan().limits.iter().all(|limit| limit.holds(&latencies));
    holds.then(|| window.iops())
}
