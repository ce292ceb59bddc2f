//! `snia-throughput`: sequential reads and writes of one block size, in rounds until steady.

use super::super::{Suite, SuiteError, SuiteInfo, SuiteOption, SuiteOptions};
use super::in_rounds::InRounds;
use super::report::{Report, outstanding};
use super::rounds::{Access, Measure, Rounds, mix};
use super::settings::Settings;
use super::{IODEPTH, PURGED, SCALE, SIZE, THREADS};
use iogauge_model::result::{Cell, Table};
use iogauge_model::units::{Bandwidth, Bytes, size_word};

/// The suite.
pub const INFO: SuiteInfo = SuiteInfo {
    name: "snia-throughput",
    about: "SNIA PTS: sequential bandwidth once steady",
    help: "Test throughput of the SNIA Solid State Storage Performance Test Specification 2.0.2: writes \
           twice the capacity with one block size, then reads and writes sequentially, a minute each, \
           round after round until five rounds are steady (25 at most). Each block size is a test of its \
           own, behind a purge of its own. Overwrites everything.",
    options: &[
        PURGED,
        SuiteOption {
            name: "bs",
            value: Some("SIZE"),
            default: Some("1m"),
            help: "Block size: 1m or 128k",
        },
        SuiteOption {
            default: Some("1"),
            help: "Threads, which share the device out among them",
            ..THREADS
        },
        IODEPTH,
        SCALE,
        SIZE,
    ],
    build,
    trial: &[("scale", "600")],
};

/// Block sizes of the specification.
const SIZES_BYTES: [u64; 2] = [1 << 20, 128 << 10];

fn build(options: &SuiteOptions) -> Result<Box<dyn Suite>, SuiteError> {
    let block_bytes = options.size_bytes("bs")?.unwrap_or(SIZES_BYTES[0]);
    if !SIZES_BYTES.contains(&block_bytes) {
        let reason = format!(
            "{} is no block size of this test; hint: use 1m or 128k",
            size_word(block_bytes)
        );
        return Err(SuiteError::option("bs", reason));
    }
    let accesses = [100, 0].map(|read_percent| Access { read_percent, block_bytes });
    let rounds = Rounds {
        name: INFO.name,
        settings: Settings::read(options)?,
        accesses: accesses.to_vec(),
        trackers: accesses.to_vec(),
        measure: Measure::BytesPerSec,
        random: false,
        precondition_bytes: block_bytes,
    };
    Ok(Box::new(InRounds { rounds, figures }))
}

fn figures(report: &Report<'_>) -> (String, Table) {
    // All its accesses are of one size.
    let block_bytes = report.test.precondition_bytes;
    let size = Bytes(block_bytes);
    let headings = ["#mix", "bandwidth", "IOPS", "mean", "longest"];
    let mut table = Table::new(format!("Sequential, {size}"), &headings);
    for figures in &report.figures {
        table.row([
            Cell::Text(mix(figures.access.read_percent)),
            Cell::BytesPerSec(figures.bytes_per_sec),
            Cell::Iops(figures.iops),
            Cell::LatencyNs(figures.latency_ns_mean),
            Cell::LatencyNs(figures.latency_ns_max as f64),
        ]);
    }
    let load = outstanding(&report.test.settings);
    table.notes.push(format!("Means of the rounds that count; {load}."));
    let of = |read_percent: u32, word: &str| {
        let figures = report.figures_of(read_percent, block_bytes)?;
        Some(format!("{} {word}", Bandwidth(figures.bytes_per_sec)))
    };
    let parts: Vec<String> = [of(100, "reading"), of(0, "writing")].into_iter().flatten().collect();
    (format!("{} sequentially in blocks of {size}", parts.join(" and ")), table)
}
