//! Made-up sites, options and steps for tests of suites.

use super::{FileLoad, Own, Site, SiteKind, Suite, SuiteError, SuiteOptions, find};
use iogauge_model::load::{BlockSizes, EngineKind, Load};
use iogauge_model::result::FioResult;
use iogauge_model::result::{
    DirectionResult, Estimate, LatencySummary, StepPlace, StepResult, SuiteOutcome, SuiteStepResult,
};
use iogauge_model::suite_file::{FileJob, FileOption, FileStep};
use iogauge_model::units::parse_size_bytes;
use iogauge_model::{Histogram, Step};
use std::collections::BTreeMap;

/// A target with these parts on a machine with 8 GiB of memory.
pub(crate) fn site(kind: SiteKind, part_bytes: &[u64]) -> Site {
    Site {
        kind,
        part_bytes: part_bytes.to_vec(),
        whole_devices: false,
        block_bytes: 512,
        engine: EngineKind::Psync,
        processors: 2,
        disks: 1,
        requests: 0,
        memory_bytes: 8 << 30,
        hosts: 1,
    }
}

/// Options as typed.
pub(crate) fn typed(typed: &[(&str, &str)]) -> BTreeMap<String, String> {
    typed.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect()
}

/// Options of a suite.
pub(crate) fn options(name: &str, words: &[(&str, &str)]) -> SuiteOptions {
    SuiteOptions::new(&find(name).unwrap().head.options, typed(words))
}

/// A suite with its options.
pub(crate) fn build(name: &str, words: &[(&str, &str)]) -> Result<Box<dyn Suite>, SuiteError> {
    find(name).unwrap().build(typed(words), &load)
}

/// The steps of a suite whose definition has them.
pub(crate) fn own(name: &str, words: &[(&str, &str)]) -> Result<Own, SuiteError> {
    Own::read(name, find(name).unwrap().text, &options(name, words), &load)
}

/// Parses the workload options that the definitions use.
fn load(_: &FileStep, job: &FileJob) -> Result<FileLoad, SuiteError> {
    let mut load = Load::default();
    for FileOption { name, value, .. } in &job.options {
        match name.as_str() {
            "rw" => load.rw = value.parse().unwrap(),
            "bs" => load.block = BlockSizes::fixed(parse_size_bytes(value).unwrap()),
            "iodepth" => load.iodepth = value.parse().unwrap(),
            "numjobs" => load.numjobs = value.parse().unwrap(),
            "rwmixread" => load.read_percent = value.parse().unwrap(),
            _ => panic!("{name}"),
        }
    }
    Ok(FileLoad { load, engine: None, target_bytes: None })
}

/// A direction with this many I/Os, all at one latency, in a time.
pub(crate) fn side(ios: u64, block_bytes: u64, seconds: f64, latency_ns: u64) -> DirectionResult {
    let mut service_histogram = Histogram::new();
    service_histogram.record_n(latency_ns, ios);
    let mean = service_histogram.mean_ns();
    DirectionResult {
        ios,
        bytes: ios * block_bytes,
        errors: 0,
        short: 0,
        iops: Estimate::exact(ios as f64 / seconds),
        bytes_per_sec: (ios * block_bytes) as f64 / seconds,
        service_ns: LatencySummary::of(&service_histogram, [mean; 2]),
        response_ns: None,
        service_histogram,
        response_histogram: None,
    }
}

/// A step with reads and writes of 4 KiB, each given as IOPS and latency, with 100 000 I/Os of
/// each.
pub(crate) fn step(
    place: StepPlace,
    read: Option<(f64, u64)>,
    write: Option<(f64, u64)>,
) -> SuiteStepResult {
    let of = |(rate, latency_ns): (f64, u64)| DirectionResult {
        iops: Estimate::exact(rate),
        bytes_per_sec: rate * 4096.0,
        ..side(100_000, 4096, 1.0, latency_ns)
    };
    sides(place, (read.map(of), write.map(of)))
}

/// A step with its reads and its writes.
pub(crate) fn sides(
    place: StepPlace,
    (read, write): (Option<DirectionResult>, Option<DirectionResult>),
) -> SuiteStepResult {
    let figures = FioResult::default().to_step();
    measured(place, StepResult { seconds: 10.0, read, write, ..figures })
}

/// A step with its result.
pub(crate) fn measured(place: StepPlace, result: StepResult) -> SuiteStepResult {
    SuiteStepResult {
        place,
        started: String::new(),
        part: 0,
        asked: Step::single(Load::default(), 0, 0),
        result: SuiteOutcome::Step(Box::new(result)),
        check: None,
        caveats: Vec::new(),
        interrupted: false,
    }
}
