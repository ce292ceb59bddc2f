//! `snia-throughput`: sequential reads and writes of one block size, in rounds until steady.

use super::super::{Needs, Options, Site, Suite, SuiteError, SuiteInfo, SuiteOption, SuiteStep};
use super::report::{Report, outstanding};
use super::rounds::{Access, Measure, Rounds, mix};
use super::settings::Settings;
use super::{PURGED, SCALE, SIZE};
use iogauge_model::Caveat;
use iogauge_model::result::{Cell, Conclusion, SuiteStepResult, Table};
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
            name: "threads",
            value: Some("N"),
            default: Some("1"),
            help: "Threads, which share the device out among them",
        },
        SuiteOption {
            name: "iodepth",
            value: Some("N"),
            default: Some("32"),
            help: "I/Os that each thread keeps outstanding",
        },
        SCALE,
        SIZE,
    ],
    build,
    trial: &[("scale", "600")],
};

/// Block sizes of the specification.
const SIZES_BYTES: [u64; 2] = [1 << 20, 128 << 10];

#[derive(Debug)]
struct Throughput {
    rounds: Rounds,
    block_bytes: u64,
}

fn build(options: &Options) -> Result<Box<dyn Suite>, SuiteError> {
    let block_bytes = options.size_bytes("bs")?.unwrap_or(SIZES_BYTES[0]);
    if !SIZES_BYTES.contains(&block_bytes) {
        let reason = format!(
            "{} is no block size of this test; right would be 1m or 128k",
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
    Ok(Box::new(Throughput { rounds, block_bytes }))
}

impl Suite for Throughput {
    fn needs(&self) -> Needs {
        self.rounds.needs()
    }

    fn plan(&self, site: &Site) -> Result<Vec<SuiteStep>, SuiteError> {
        self.rounds.plan(site)
    }

    fn wants(&self, site: &Site, step: &SuiteStep, done: &[SuiteStepResult]) -> bool {
        self.rounds.wants(site, step, done)
    }

    fn doubted_by(
        &self,
        site: &Site,
        _: &Caveat,
        step: &SuiteStepResult,
        steps: &[SuiteStepResult],
    ) -> bool {
        self.rounds.doubted_by(site, step, steps)
    }

    fn conclude(&self, site: &Site, steps: &[SuiteStepResult]) -> (Conclusion, Vec<Caveat>) {
        let report = Report::of(&self.rounds, site, steps);
        let title = format!("Sequential, {}", Bytes(self.block_bytes));
        let mut table = Table::new(title, &["#mix", "bandwidth", "IOPS", "mean", "longest"]);
        for figures in &report.figures {
            table.row([
                Cell::Text(mix(figures.access.read_percent)),
                Cell::BytesPerSec(figures.bytes_per_sec),
                Cell::Iops(figures.iops),
                Cell::LatencyNs(figures.latency_ns_mean),
                Cell::LatencyNs(figures.latency_ns_max as f64),
            ]);
        }
        let load = outstanding(&self.rounds.settings);
        table.notes.push(format!("Means of the rounds that count; {load}."));
        let of = |read_percent: u32, word: &str| {
            let figures = report.figures_of(read_percent, self.block_bytes)?;
            Some(format!("{} {word}", Bandwidth(figures.bytes_per_sec)))
        };
        let parts: Vec<String> =
            [of(100, "reading"), of(0, "writing")].into_iter().flatten().collect();
        let size = Bytes(self.block_bytes);
        report.conclude(&format!("{} sequentially in blocks of {size}", parts.join(" and ")), table)
    }
}
