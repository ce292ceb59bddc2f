//! Arguments of `iogauge crosscheck`.

use super::{LoadArgs, OutputArgs, TargetArgs, ViaArg};
use clap::Args;
use iogauge_model::units::{parse_duration_ns, parse_percent};

/// `iogauge crosscheck`.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
The same load on the same stretch of the target by both in turn, several rounds; the ratio of each
figure, round by round, has to lie within the tolerance. Exit code 0 where all figures agree or it
cannot be told, 6 where one differs.

Examples:
  iogauge crosscheck .
  iogauge crosscheck /data --rw=randrw --bs=8k --iodepth=32 --rounds 9
  iogauge crosscheck /dev/sdb --iodepth=64 --via fio=/opt/fio/bin/fio --json")]
pub struct CrosscheckArgs {
    /// Target.
    #[command(flatten)]
    pub target: TargetArgs,
    /// The fio to check against
    #[arg(long, value_name = "fio[=BINARY]", default_value = "fio")]
    pub via: ViaArg,
    /// Rounds of both
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(2..=1000))]
    pub rounds: u32,
    /// Time each of them measures in a round
    #[arg(long, value_name = "TIME", value_parser = parse_duration_ns, default_value = "5s")]
    pub runtime: u64,
    /// Time before that, not counted
    #[arg(long, value_name = "TIME", value_parser = parse_duration_ns, default_value = "1s")]
    pub ramp_time: u64,
    /// How far apart figures may be that agree
    #[arg(long, value_name = "PERCENT", value_parser = parse_percent, default_value = "5%")]
    pub tolerance: f64,
    /// The load.
    #[command(flatten)]
    pub load: LoadArgs,
    /// Output.
    #[command(flatten)]
    pub output: OutputArgs,
}
