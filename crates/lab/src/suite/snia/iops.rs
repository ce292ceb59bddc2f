//! `snia-iops`: random I/O with seven mixes and eight block sizes, in rounds until steady.

use super::super::kit::{listed, whole};
use super::super::{Suite, SuiteError, SuiteOptions};
use super::PRECONDITION_BYTES;
use super::rounds::report::{Report, matrix, outstanding};
use super::rounds::{Access, Figures, Measure, Rounds};
use super::settings::Settings;
use iogauge_model::result::{Cell, Table};

/// Percentages of reads, in the order of a round.
const MIXES: [u32; 7] = [100, 95, 65, 50, 35, 5, 0];
/// Block sizes, in the order within each mix.
const SIZES_BYTES: [u64; 8] =
    [1 << 20, 128 << 10, 64 << 10, 32 << 10, 16 << 10, 8 << 10, 4096, 512];
const TRACKERS: [Access; 3] = [
    Access { read_percent: 0, block_bytes: 4096 },
    Access { read_percent: 65, block_bytes: 64 << 10 },
    Access { read_percent: 100, block_bytes: 1 << 20 },
];

pub fn build(options: &SuiteOptions) -> Result<Box<dyn Suite>, SuiteError> {
    Ok(Box::new(Rounds {
        name: "snia-iops",
        settings: Settings::read(options)?,
        accesses: Access::each(&MIXES, &SIZES_BYTES),
        trackers: TRACKERS.to_vec(),
        measure: Measure::Iops,
        random: true,
        precondition_bytes: PRECONDITION_BYTES,
        figures,
    }))
}

fn figures(report: &Report<'_>) -> (String, Table) {
    let cell = |figures: &Figures| Cell::Iops(figures.iops);
    let mut table = matrix("IOPS by reads/writes and block size", report, cell);
    let load = outstanding(&report.test.settings);
    table.notes.push(format!("Means of the rounds that count; {load}."));
    (headline(report), table)
}

/// Example: `81,204 IOPS of random 4 KiB writes, 12,300 of 64 KiB at 65/35, 3,100 of 1 MiB reads`.
fn headline(report: &Report<'_>) -> String {
    let of = |access: Access| report.figures_of(access.read_percent, access.block_bytes);
    let [writes, mixed, reads] = TRACKERS.map(of);
    let parts = [
        writes.map(|f| format!("{} IOPS of random 4 KiB writes", whole(f.iops))),
        mixed.map(|f| format!("{} of 64 KiB at 65/35", whole(f.iops))),
        reads.map(|f| format!("{} of 1 MiB reads", whole(f.iops))),
    ];
    listed(parts.into_iter().flatten(), ", ")
}
