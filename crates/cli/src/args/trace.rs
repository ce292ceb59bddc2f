//! `--trace`: whether the block layer is traced.

use clap::{Args, ValueEnum};

/// Whether the block layer is traced.
#[derive(Debug, Clone, Copy, Default, Args)]
pub struct TraceArgs {
    /// Trace the block layer with bpftrace (needs root): request sizes, device times and positions, and
    /// how much of each I/O's time the device and the path to it took. With =try, measure without a trace
    /// where tracing is not possible
    #[arg(
        id = "trace",
        long = "trace",
        value_name = "try",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "must",
        hide_possible_values = true
    )]
    pub mode: Option<TraceMode>,
}

/// What happens if the block layer cannot be traced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum TraceMode {
    /// Nothing is measured
    #[value(hide = true)]
    Must,
    /// It is measured without a trace
    Try,
}
