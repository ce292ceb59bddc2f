//! Arguments of `iogauge crosscheck`.

use super::number::number;
use super::{LoadArgs, OutputArgs, TargetArgs, ViaArg};
use clap::Args;
use iogauge_model::units::{parse_duration_ns, parse_percent};

/// `iogauge crosscheck`.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Runs the same load on the same region of the target with iogauge and fio in turns, for several
rounds. Each round has two turns of each program, in a random order and then in the reverse order.
The ratio of each figure must lie within the tolerance. The exit code is 0 if all figures
agree or the comparison is undecided, and 6 if one differs.

Examples:
  iogauge crosscheck .
  iogauge crosscheck /data --rw=randrw --bs=8k --iodepth=32 --rounds 9
  iogauge crosscheck /dev/sdb --iodepth=64 --via fio=/opt/fio/bin/fio --json")]
pub struct CrosscheckArgs {
    /// Target.
    #[command(flatten)]
    pub target: TargetArgs,
    /// The fio to compare with
    #[arg(long, value_name = "fio[=BINARY]", default_value = "fio")]
    pub via: ViaArg,
    /// Number of rounds
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = number::<2, 1000>)]
    pub rounds: u32,
    /// Measured time of each turn
    #[arg(long, value_name = "TIME", value_parser = parse_duration_ns, default_value = "3s")]
    pub runtime: u64,
    /// Time to run before each turn is measured
    #[arg(long, value_name = "TIME", value_parser = parse_duration_ns, default_value = "1s")]
    pub ramp_time: u64,
    /// Largest difference of figures that agree
    #[arg(long, value_name = "PERCENT", value_parser = parse_percent, default_value = "5%")]
    pub tolerance: f64,
    /// The load.
    #[command(flatten)]
    pub load: LoadArgs,
    /// Output.
    #[command(flatten)]
    pub output: OutputArgs,
}
