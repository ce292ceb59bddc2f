//! Steps as they could have been measured.

use super::super::{Site, SiteKind, SuiteStep, Work};
use super::settings::Settings;
use iogauge_model::Histogram;
use iogauge_model::load::EngineKind;
use iogauge_model::result::{
    CpuUse, DirectionResult, Estimate, LatencySummary, StepResult, SuiteOutcome, SuiteStepResult,
};

/// A whole block device of 1 TiB.
pub(super) fn site() -> Site {
    Site {
        kind: SiteKind::Devices,
        part_bytes: vec![1 << 40],
        whole_devices: true,
        block_bytes: 512,
        engine: EngineKind::IoUring,
        processors: 4,
        memory_bytes: 0,
    }
}

/// Purged, and nothing scaled.
pub(super) fn settings() -> Settings {
    Settings { purged: true, scale: 1.0, size_bytes: None, threads: 1, iodepth: 1 }
}

/// A planned step as it came out at so many I/Os per second, each of which took as long as the one
/// before; one without a time moved the bytes it was to move.
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
        moves.then(|| direction((ios as f64 * of).round() as u64, block_bytes, seconds))
    };
    let writes = if load.rw.is_mixed() { 1.0 - reads } else { 1.0 };
    let result = StepResult {
        label: asked.label.clone(),
        depth: asked.depth(),
        depth_achieved: f64::from(asked.depth()),
        rate_iops: None,
        seconds,
        began: None,
        read: share(reads, false),
        write: share(writes, true),
        sync: None,
        jobs: Vec::new(),
        workers: Vec::new(),
        physical: None,
        cpu: CpuUse::default(),
        series: Vec::new(),
        shifts: Vec::new(),
        system: Vec::new(),
        verify: None,
        database: None,
        fio: None,
        trace: None,
    };
    SuiteStepResult {
        place: step.place.clone(),
        started: "2026-01-01T00:00:00Z".to_owned(),
        part: 0,
        asked: asked.clone(),
        result: SuiteOutcome::Step(Box::new(result)),
        caveats: Vec::new(),
        interrupted: false,
    }
}

fn direction(ios: u64, block_bytes: u64, seconds: f64) -> DirectionResult {
    let mut histogram = Histogram::new();
    histogram.record_n((seconds * 1e9) as u64 / ios.max(1), ios);
    let mean = histogram.mean_ns();
    DirectionResult {
        ios,
        bytes: ios * block_bytes,
        errors: 0,
        short: 0,
        iops: Estimate::exact(ios as f64 / seconds),
        bytes_per_sec: (ios * block_bytes) as f64 / seconds,
        service_ns: LatencySummary::of(&histogram, [mean, mean]),
        response_ns: None,
        service_histogram: histogram,
        response_histogram: None,
    }
}
