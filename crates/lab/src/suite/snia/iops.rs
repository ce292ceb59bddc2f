//! `snia-iops`: random accesses of seven mixes and eight block sizes, in rounds until steady.

use super::super::{Suite, SuiteError, SuiteInfo, SuiteOptions};
use super::in_rounds::InRounds;
use super::report::{Report, matrix, outstanding};
use super::rounds::{Access, Figures, Measure, Rounds};
use super::settings::Settings;
use super::{IODEPTH, PRECONDITION_BYTES, PURGED, SCALE, SIZE, THREADS};
use iogauge_model::result::{Cell, Table};
use iogauge_model::units::Count;

/// The suite.
pub const INFO: SuiteInfo = SuiteInfo {
    name: "snia-iops",
    about: "SNIA PTS: random IOPS of 7 mixes and 8 sizes once steady",
    help: "Test IOPS of the SNIA Solid State Storage Performance Test Specification 2.0.2: writes twice \
           the capacity, then measures seven mixes of reads and writes with eight block sizes at random, \
           a minute each, round after round until five rounds are steady (25 at most). Overwrites \
           everything.",
    options: &[PURGED, THREADS, IODEPTH, SCALE, SIZE],
    build,
    trial: &[("scale", "600"), ("threads", "1"), ("iodepth", "1")],
};

/// Shares of reads, in percent, in the order of a round.
const MIXES: [u32; 7] = [100, 95, 65, 50, 35, 5, 0];
/// Block sizes, in the order within each mix.
const SIZES_BYTES: [u64; 8] =
    [1 << 20, 128 << 10, 64 << 10, 32 << 10, 16 << 10, 8 << 10, 4096, 512];
const TRACKERS: [Access; 3] = [
    Access { read_percent: 0, block_bytes: 4096 },
    Access { read_percent: 65, block_bytes: 64 << 10 },
    Access { read_percent: 100, block_bytes: 1 << 20 },
];

fn build(options: &SuiteOptions) -> Result<Box<dyn Suite>, SuiteError> {
    let rounds = Rounds {
        name: INFO.name,
        settings: Settings::read(options)?,
        accesses: Access::each(&MIXES, &SIZES_BYTES),
        trackers: TRACKERS.to_vec(),
        measure: Measure::Iops,
        random: true,
        precondition_bytes: PRECONDITION_BYTES,
    };
    Ok(Box::new(InRounds { rounds, figures }))
}

fn figures(report: &Report<'_>) -> (String, Table) {
    let cell = |figures: &Figures| Cell::Iops(figures.iops);
    let mut table = matrix("IOPS by reads/writes and block size", report, cell);
    let load = outstanding(&report.test.settings);
    table.notes.push(format!("Means of the rounds that count; {load}."));
    (headline(report), table)
}

/// `81,204 IOPS of random 4 KiB writes, 12,300 of 64 KiB at 65/35, 3,100 of 1 MiB reads`.
fn headline(report: &Report<'_>) -> String {
    let of = |access: Access| report.figures_of(access.read_percent, access.block_bytes);
    let count = |iops: f64| Count(iops.round());
    let [writes, mixed, reads] = TRACKERS.map(of);
    let parts = [
        writes.map(|f| format!("{} IOPS of random 4 KiB writes", count(f.iops))),
        mixed.map(|f| format!("{} of 64 KiB at 65/35", count(f.iops))),
        reads.map(|f| format!("{} of 1 MiB reads", count(f.iops))),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}
