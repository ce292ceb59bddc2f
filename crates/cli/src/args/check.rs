//! Arguments of `iogauge check`.

use super::names;
use super::number::number;
use super::{HostsArgs, LoadArgs, OutputArgs, ResumeArgs, SamplingArgs, TargetArgs};
use clap::Args;
use iogauge_lab::history::Runs;
use iogauge_model::guide::Guide;
use iogauge_model::units::{parse_duration_ns, parse_percent};
use iogauge_model::{Limit, RequiredRate};
use std::path::PathBuf;

/// `iogauge check`.
#[derive(Debug, Clone, Args)]
#[command(
    override_usage = "iogauge check [OPTIONS] --require <RATE> <TARGET>\n       \
                      iogauge check [OPTIONS] <FILE.toml> <TARGET>",
    after_help = "\
Offers the required rate in an open loop. Ends as soon as the rate and every
limit are surely kept (pass, exit code 0) or one of them surely is not (fail,
exit code 6). If --budget ends before, the verdict is undecided (exit code 7).
In at most 5 % of the checks the verdict is wrong.

Examples:
  iogauge check /data --require 20k --limit 'p99<=5ms'
  iogauge check /data --require 500MB/s --rw=read --bs=1m
  iogauge check /data --require 5k --rw=randrw --limit 'read:p99<=2ms' \\
      --limit 'write:p99<=5ms'
  iogauge check /data --require 40k --closed --iodepth=32
  iogauge check /data --baseline label:good --margin 10%
  iogauge check examples/etcd.toml /var/lib/etcd --junit check.xml
  iogauge check sim:nvme --require 20k --limit 'p99<=1ms'"
)]
pub struct CheckArgs {
    /// Target.
    #[command(flatten)]
    pub target: TargetArgs,
    /// Target, if the first argument is a file of requirements that ends in .toml
    #[arg(value_name = "TARGET")]
    pub target_of_file: Option<String>,
    /// Rate that the target must serve: IOPS as in 20k, or bytes as in 500MB/s or 1GiB/s
    #[arg(long, value_name = "RATE")]
    pub require: Option<RequiredRate>,
    /// Latency limit that must be kept, as in read:p99<=5ms; response times count, with --closed service
    /// times. Repeatable
    #[arg(long = "limit", value_name = "[each:][read:|write:|sync:]METRIC<=TIME")]
    pub limits: Vec<Limit>,
    /// Published latency limits for a use case, in addition to --limit
    #[arg(long, value_name = "NAME", value_parser = names::guide())]
    pub guide: Option<&'static Guide>,
    /// Keep --iodepth I/Os outstanding instead of offering the rate, and require that this gives the rate
    #[arg(long)]
    pub closed: bool,
    /// Time to measure at most, for each requirement [default: 60s]
    #[arg(long, value_name = "TIME", value_parser = parse_duration_ns)]
    pub budget: Option<u64>,
    /// Require the IOPS of an earlier run with the same load, less --margin: last, an id, or label:TEXT for
    /// the last of several. Its queue depth or arrivals are used, and its limits must be kept
    #[arg(long, value_name = "RUN", allow_negative_numbers = true)]
    pub baseline: Option<Runs>,
    /// How much less than the baseline is enough [default: 10%]
    #[arg(long, value_name = "PERCENT", value_parser = parse_percent)]
    pub margin: Option<f64>,
    /// Exclude periods in which the workers waited for a processor for more than this share of the time;
    /// 100% excludes none
    #[arg(long, value_name = "PERCENT", value_parser = parse_percent, default_value = "5%")]
    pub max_starvation: f64,
    /// Maximum number of outstanding I/Os without --closed; further arrivals wait
    #[arg(long, value_name = "N", default_value_t = 16_384, value_parser = number::<1, 65_536>)]
    pub max_depth: u32,
    /// The run to resume.
    #[command(flatten)]
    pub earlier: ResumeArgs,
    /// Write the verdicts as JUnit XML, for CI systems
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub junit: Option<PathBuf>,
    /// Write the verdicts as a Markdown table
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub markdown: Option<PathBuf>,
    /// Let --junit and --markdown also replace files that iogauge did not create
    #[arg(long, help_heading = "Output")]
    pub force: bool,
    /// The load.
    #[command(flatten)]
    pub load: LoadArgs,
    /// The machine beside it.
    #[command(flatten)]
    pub sampling: SamplingArgs,
    /// Hosts.
    #[command(flatten)]
    pub hosts: HostsArgs,
    /// Output.
    #[command(flatten)]
    pub output: OutputArgs,
}
