//! `snia-throughput`: sequential reads and writes of one block size, in rounds until steady.

use super::super::kit::{listed, table, words};
use super::super::{Suite, SuiteError, SuiteOptions};
use super::rounds::report::{Report, outstanding};
use super::rounds::{Access, Measure, Rounds, mix};
use super::settings::Settings;
use iogauge_model::result::{Cell, Table};
use iogauge_model::units::{Bandwidth, Bytes, size_word};

/// Block sizes of the specification.
const SIZES_BYTES: [u64; 2] = [1 << 20, 128 << 10];

pub fn build(options: &SuiteOptions) -> Result<Box<dyn Suite>, SuiteError> {
    let block_bytes = options.size_bytes("bs")?.unwrap_or(SIZES_BYTES[0]);
    if !SIZES_BYTES.contains(&block_bytes) {
        let reason = format!(
            "{} is not a block size of this test; hint: use 1m or 128k",
            size_word(block_bytes)
        );
        return Err(SuiteError::option("bs", reason));
    }
    let accesses = [100, 0].map(|read_percent| Access { read_percent, block_bytes });
    Ok(Box::new(Rounds {
        name: "snia-throughput",
        settings: Settings::read(options)?,
        accesses: accesses.to_vec(),
        trackers: accesses.to_vec(),
        measure: Measure::BytesPerSec,
        random: false,
        precondition_bytes: block_bytes,
        figures,
    }))
}

fn figures(report: &Report<'_>) -> (String, Table) {
    // All its accesses have this block size.
    let block_bytes = report.test.precondition_bytes;
    let size = Bytes(block_bytes);
    let mut table = table(
        format!("Sequential, {size}"),
        &report.figures,
        &[
            ("#mix", &|figures| words(mix(figures.access.read_percent))),
            ("bandwidth", &|figures| Cell::BytesPerSec(figures.bytes_per_sec)),
            ("IOPS", &|figures| Cell::Iops(figures.iops)),
            ("mean", &|figures| Cell::LatencyNs(figures.latency_ns_mean)),
            ("longest", &|figures| Cell::LatencyNs(figures.latency_ns_max as f64)),
        ],
    );
    let load = outstanding(&report.test.settings);
    table.notes.push(format!("Means of the rounds that count; {load}."));
    let of = |read_percent: u32, word: &str| {
        let figures = report.figures_of(read_percent, block_bytes)?;
        Some(format!("{} {word}", Bandwidth(figures.bytes_per_sec)))
    };
    let parts = [of(100, "reading"), of(0, "writing")].into_iter().flatten();
    (format!("{} sequentially in blocks of {size}", listed(parts, " and ")), table)
}
