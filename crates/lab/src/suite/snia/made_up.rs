//! Made-up steps.

use super::super::{Site, SiteKind, SuiteStep, Work, made_up};
use super::settings::Settings;
use iogauge_model::load::EngineKind;
use iogauge_model::result::SuiteStepResult;

/// A whole block device of 1 TiB.
pub(super) fn site() -> Site {
    let devices = made_up::site(SiteKind::Devices, &[1 << 40]);
    Site { whole_devices: true, engine: EngineKind::IoUring, ..devices }
}

/// A purged device, nothing scaled.
pub(super) fn settings() -> Settings {
    Settings { purged: true, scale: 1.0, size_bytes: None, threads: 1, iodepth: 1 }
}

/// A planned step with its result at these IOPS, all I/Os at one latency. A step without a runtime
/// transferred its bytes.
pub(super) fn measured(step: &SuiteStep, iops: f64) -> SuiteStepResult {
    let Work::Step(asked) = &step.work else { panic!("a search") };
    let load = &asked.jobs[0].load;
    let block_bytes = load.block.read.entries()[0].0;
    let (seconds, ios) = match load.io_size_bytes {
        Some(bytes) => (1.0, bytes / block_bytes),
        None => (60.0, (iops * 60.0).round() as u64),
    };
    let reads = if load.rw.is_mixed() { f64::from(load.read_percent) / 100.0 } else { 1.0 };
    let share = |of: f64, writes: bool| {
        let moves = if writes { load.rw.writes() } else { load.rw.reads() };
        let ios = (ios as f64 * of).round() as u64;
        let each_ns = (seconds * 1e9) as u64 / ios.max(1);
        moves.then(|| made_up::side(ios, block_bytes, seconds, each_ns))
    };
    let writes = if load.rw.is_mixed() { 1.0 - reads } else { 1.0 };
    let both = (share(reads, false), share(writes, true));
    SuiteStepResult { asked: asked.clone(), ..made_up::sides(step.place.clone(), both) }
}
