//! Fuzz targets: each function accepts any input and panics if the code under test violates its contract.
//! `fuzz_targets/` runs them under libFuzzer; `crates/io/tests/fuzz.rs` runs them on generated input where
//! libFuzzer is not available.

mod database;
mod made_up;

pub use database::{database_notes, database_url, gtm_lines, postgres_messages};
pub use made_up::fuzz;

use iogauge_fio::job::{JobFile, MemorySource};
use iogauge_fio::{Reading, read_results};
use iogauge_io::kernel::parse_mountinfo;
use iogauge_io::machine::{DiskCounters, parse_diskstats};
use iogauge_io::sim::{Device, SimSpec};
use iogauge_io::targets::TargetSpec;
use iogauge_io::trace::trace_of_lines;
use iogauge_io::verify::state::SavedState;
use iogauge_model::Limit;
use iogauge_model::load::{BlockSizes, BlockSplit, Distribution};
use iogauge_model::result::{LatencySummary, StepResult};
use iogauge_model::suite_file::{RequirementFile, SuiteFile};
use iogauge_model::units::{
    Bandwidth, Bytes, Count, Latency, parse_bytes_per_sec, parse_count, parse_duration_ns,
    parse_percent, parse_size_bytes,
};
use std::collections::BTreeSet;
use std::io::BufReader;
use std::path::Path;

/// `bs` and `bssplit`. Shares add up to 100, and sizes are valid.
pub fn block_sizes(text: &str) {
    fn check(split: &BlockSplit) {
        assert_eq!(
            split.entries().iter().map(|(_, percent)| u64::from(*percent)).sum::<u64>(),
            100
        );
        assert!(split.entries().iter().all(|(size_bytes, _)| *size_bytes > 0));
    }
    let sizes = [BlockSizes::parse_bs(text), BlockSizes::parse_bssplit(text)];
    for sizes in sizes.into_iter().flatten() {
        check(&sizes.read);
        check(&sizes.write);
        assert!(sizes.alignment() >= 1 && sizes.alignment() <= sizes.largest());
    }
}

/// Output of bpftrace. For any input, the resulting figures are consistent.
pub fn bpftrace(text: &str) {
    let trace = trace_of_lines(text, 7 << 20);
    for seen in [trace.read, trace.write, trace.flush].into_iter().flatten() {
        assert_eq!(seen.requests, seen.device_histogram.count());
        assert!(seen.requests > 0 && seen.device_ns.min <= seen.device_ns.max);
    }
    for device in trace.devices {
        assert!(device.first_byte <= device.end_byte && device.sequential <= device.followed);
        assert!(device.jump_bytes_mean >= 0.0);
    }
}

/// A verify state. Any input is one or is rejected.
pub fn verify_state(bytes: &[u8]) {
    let _ = SavedState::read(bytes);
}

/// The text of `/proc/diskstats`.
pub fn diskstats(text: &str) {
    let mut before = DiskCounters::default();
    for line in parse_diskstats(text) {
        let _ = line.counters.since(&before, line.device);
        before = line.counters;
    }
}

/// `random_distribution`. The text form of an accepted value parses to the same value.
pub fn distribution(text: &str) {
    if let Ok(distribution) = text.parse::<Distribution>() {
        assert_eq!(distribution.to_string().parse(), Ok(distribution));
    }
}

/// A fio job file, followed by a NUL and a file to include. Errors name their place in one line; accepted
/// jobs have files and workloads.
pub fn fio_job(text: &str) {
    let (text, included) = text.split_once('\0').unwrap_or((text, ""));
    let source = MemorySource::default().file("a.fio", text).file("b", included);
    match JobFile::read(Path::new("a.fio"), &source.variable("b", "1")) {
        Ok(file) => {
            for job in file.plan().iter().flatten().flat_map(|group| &group.jobs) {
                assert!(!job.files.is_empty());
                let _ = job.load(&vec![1 << 30; job.files.len()]);
            }
        }
        Err(error) => {
            let line = error.to_string();
            assert!(line.starts_with("a.fio") || line.starts_with('b'), "{line}");
            assert_eq!(line.lines().count(), 1);
        }
    }
}

/// Output of fio, text and JSON. Accepted results can be stored, and do not depend on how the input is
/// divided into reads.
pub fn fio_results(bytes: &[u8]) {
    fn read(bytes: &[u8], chunk: usize) -> Vec<Reading> {
        let mut all = Vec::new();
        let input = BufReader::with_capacity(chunk, bytes);
        read_results("f", input, &mut |found| all.push(found)).expect("memory is read");
        all
    }
    let found = read(bytes, 1 << 16);
    assert!(!found.is_empty(), "a file without results is told of");
    assert_eq!(found, read(bytes, 7));
    for result in found {
        let Reading::Result(result) = result else { continue };
        let stored = serde_json::to_string(&result.to_step()).expect("a step has a stored form");
        assert!(serde_json::from_str::<StepResult>(&stored).is_ok(), "{stored}");
    }
}

/// `METRIC<=TIME`. The stored form of an accepted limit parses to the same limit.
pub fn limit(text: &str) {
    if let Ok(limit) = text.parse::<Limit>() {
        assert!(limit.bound_ns > 0);
        let stored = serde_json::to_string(&limit).expect("a limit has a stored form");
        assert_eq!(serde_json::from_str::<Limit>(&stored).expect("which reads back"), limit);
    }
}

/// The text of `/proc/PID/mountinfo`.
pub fn mountinfo(text: &[u8]) {
    let lines = text.split(|byte| *byte == b'\n').count();
    assert!(parse_mountinfo(text).len() <= lines);
}

/// The text after `sim:`. A device can be created from any accepted one.
pub fn sim_spec(text: &str) {
    if let Ok(spec) = text.parse::<SimSpec>() {
        assert!(spec.channels > 0);
        let _ = Device::new(spec);
    }
}

/// A step as in the history and the documents. An accepted one can be written and read again, and its
/// histograms can be evaluated.
pub fn step_result(text: &str) {
    let Ok(step) = serde_json::from_str::<StepResult>(text) else { return };
    for direction in step.read.iter().chain(&step.write).chain(&step.sync) {
        let _ = LatencySummary::of(&direction.service_histogram, [0.0, 0.0]);
        let _ = direction.service_histogram.fold_to_fio();
    }
    let again = serde_json::to_string(&step).expect("a step has a stored form");
    assert!(serde_json::from_str::<StepResult>(&again).is_ok(), "{again}");
}

/// A user's suite file. Errors name their line in one line; accepted steps have unique keys, and options
/// that are words.
pub fn suite_file(text: &str) {
    if let Err(error) = RequirementFile::parse(text) {
        assert!(error.line > 0 && !error.to_string().contains('\n'), "{error}");
    }
    match SuiteFile::parse(text) {
        Ok(file) => {
            let keys: BTreeSet<&str> = file.steps.iter().map(|step| step.key.as_str()).collect();
            assert_eq!(keys.len(), file.steps.len());
            assert!(!keys.is_empty());
            for option in file.steps.iter().flat_map(|s| &s.jobs).flat_map(|job| &job.options) {
                assert!(option.name.starts_with(|c: char| c.is_ascii_lowercase()));
                assert!(!option.value.contains(char::is_control));
            }
        }
        Err(error) => {
            assert!(error.line >= 1 && error.line <= text.split('\n').count(), "{error}");
            assert_eq!(error.to_string().lines().count(), 1);
        }
    }
}

/// TARGET as typed. An accepted one is shown in a form with the same meaning.
pub fn target_spec(text: &str) {
    match text.parse::<TargetSpec>() {
        Ok(TargetSpec::Paths(paths)) => assert!(!paths.is_empty()),
        Ok(TargetSpec::Simulated(text)) => assert!(text.starts_with("sim:")),
        Err(error) => assert!(!error.to_string().contains('\n') || text.contains('\n')),
    }
}

/// Sizes, times, counts, rates and percentages as typed, and the formatting of numbers.
pub fn units(text: &str) {
    if let Ok(size_bytes) = parse_size_bytes(text) {
        let _ = Bytes(size_bytes).to_string();
    }
    if let Ok(duration_ns) = parse_duration_ns(text) {
        let _ = Latency(duration_ns as f64).to_string();
    }
    if let Ok(count) = parse_count(text) {
        let _ = Count(count as f64).to_string();
    }
    if let Ok(bytes_per_sec) = parse_bytes_per_sec(text) {
        let _ = Bandwidth(bytes_per_sec as f64).to_string();
    }
    if let Ok(percent) = parse_percent(text) {
        assert!((0.0..=100.0).contains(&percent));
    }
}
