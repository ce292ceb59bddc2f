//! `snia-latency`: one random I/O at a time, with three mixes and three block sizes, in rounds
//! until steady.

use super::super::kit::{latency_if_any, table, words};
use super::super::{Suite, SuiteError, SuiteOptions};
use super::PRECONDITION_BYTES;
use super::rounds::report::Report;
use super::rounds::{Access, Measure, Rounds, mix};
use super::settings::Settings;
use iogauge_model::result::{Cell, Table};
use iogauge_model::units::Latency;

/// Percentages of reads, in the order of a round.
const MIXES: [u32; 3] = [100, 65, 0];
/// Block sizes, in the order within each mix.
const SIZES_BYTES: [u64; 3] = [8 << 10, 4096, 512];
const TRACKER: Access = Access { read_percent: 0, block_bytes: 4096 };

pub fn build(options: &SuiteOptions) -> Result<Box<dyn Suite>, SuiteError> {
    Ok(Box::new(Rounds {
        name: "snia-latency",
        settings: Settings::read(options)?,
        accesses: Access::each(&MIXES, &SIZES_BYTES),
        trackers: vec![TRACKER],
        measure: Measure::LatencyMean,
        random: true,
        precondition_bytes: PRECONDITION_BYTES,
        figures,
    }))
}

fn figures(report: &Report<'_>) -> (String, Table) {
    let mut table = table(
        "Latency, one I/O at a time",
        &report.figures,
        &[
            ("#mix", &|figures| words(mix(figures.access.read_percent))),
            ("block", &|figures| Cell::SizeBytes(figures.access.block_bytes)),
            ("mean", &|figures| Cell::LatencyNs(figures.latency_ns_mean)),
            ("99.999 %", &|figures| latency_if_any(figures.latency_ns_p99999.map(|ns| ns as f64))),
            ("longest", &|figures| Cell::LatencyNs(figures.latency_ns_max as f64)),
            ("IOPS", &|figures| Cell::Iops(figures.iops)),
        ],
    );
    table.notes.push(
        "Means of the rounds that count, and the longest of all their I/Os; the 99.999th \
         percentile where there were 100,000."
            .to_owned(),
    );
    (headline(report), table)
}

/// Example: `4 KiB is read in 85.2 µs and written in 22.1 µs on average, in 4.20 ms at the
/// longest`.
fn headline(report: &Report<'_>) -> String {
    let of = |read_percent: u32| report.figures_of(read_percent, TRACKER.block_bytes);
    let (Some(read), Some(written)) = (of(100), of(0)) else {
        return "4 KiB was not measured".to_owned();
    };
    let longest_ns = read.latency_ns_max.max(written.latency_ns_max);
    format!(
        "4 KiB is read in {} and written in {} on average, in {} at the longest",
        Latency(read.latency_ns_mean),
        Latency(written.latency_ns_mean),
        Latency(longest_ns as f64)
    )
}
