//! Arguments of a search for the capacity.

use super::names;
use super::number::{number, precision};
use clap::Args;
use iogauge_model::Limit;
use iogauge_model::guide::Guide;
use iogauge_model::units::parse_percent;

/// How the capacity is searched, without the time for it.
#[derive(Debug, Clone, Args)]
pub struct SearchArgs {
    /// Latency limit: a bound on mean, pNN[.N] or max, of all I/Os or of reads, writes or flushes alone, as
    /// in read:p99<=5ms; each: bounds each of several hosts by itself. If repeated, all limits must hold
    /// [default: p99<=5ms; p99<=50ms on a rotating disk]
    #[arg(long = "limit", value_name = "[each:][read:|write:|sync:]METRIC<=TIME")]
    pub limits: Vec<Limit>,
    /// Published latency limits for a use case, in addition to --limit; the tighter bound counts
    #[arg(long, value_name = "NAME", value_parser = names::guide())]
    pub guide: Option<&'static Guide>,
    /// Target half-width of the IOPS confidence interval
    #[arg(long, value_name = "PERCENT", value_parser = precision, default_value = "2%")]
    pub precision: f64,
    /// Exclude periods in which the workers waited for a processor for more than this share of the time;
    /// 100% excludes none
    #[arg(long, value_name = "PERCENT", value_parser = parse_percent, default_value = "5%")]
    pub max_starvation: f64,
    /// Largest queue depth to try [default: 16384; 128 for a setting that is a maximum]
    #[arg(long, value_name = "N", value_parser = number::<1, 65_536>)]
    pub max_depth: Option<u32>,
    /// Search the arrival rate of an open loop, judged by response time. Arrivals are independent of
    /// each other (a Poisson process); --rate_process=linear spaces them evenly. --max-depth bounds the
    /// I/Os outstanding
    #[arg(long)]
    pub open_loop: bool,
}
