//! Options of what is measured and written beside the result.

use super::super::LoadOption;
use super::super::set::{self, put};
use super::super::show::{self, nothing, switch, word};
use super::{flag, log, row};
use crate::units::time_word;

const A_LOG: &[&str] = &[
    "write_lat_log=PREFIX",
    "write_bw_log=PREFIX",
    "write_iops_log=PREFIX",
    "write_hist_log=PREFIX",
];
const A_HISTOGRAM: &[&str] = &["write_hist_log=PREFIX"];
const A_WINDOW: &[&str] = &["steadystate_duration=60"];

pub(super) const ROWS: &[LoadOption] = &[
    row("percentile_list", "LIST", set::percentile_list, show::percentile_list)
        .help("Percentiles that fio's JSON shows, as in 50:99:99.9"),
    log(
        "write_lat_log",
        |o, v| put(&mut o.logs.latency, v.prefix()?),
        |load| show::log(load, |logs| logs.latency.clone()),
    )
    .help("Write the latency of each I/O to the logs PREFIX_lat.N.log and PREFIX_clat.N.log"),
    log(
        "write_bw_log",
        |o, v| put(&mut o.logs.bandwidth, v.prefix()?),
        |load| show::log(load, |logs| logs.bandwidth.clone()),
    )
    .help("Write the bandwidth to the log PREFIX_bw.N.log"),
    log(
        "write_iops_log",
        |o, v| put(&mut o.logs.iops, v.prefix()?),
        |load| show::log(load, |logs| logs.iops.clone()),
    )
    .help("Write the IOPS to the log PREFIX_iops.N.log"),
    log(
        "write_hist_log",
        |o, v| put(&mut o.logs.histogram, v.prefix()?),
        |load| show::log(load, |logs| logs.histogram.clone()),
    )
    .help("Write latency histograms to the log PREFIX_clat_hist.N.log"),
    row(
        "log_avg_msec",
        "MSEC",
        |o, v| put(&mut o.logs.window_ms, v.small()?.into()),
        |load| show::log(load, |logs| word(logs.window_ms)),
    )
    .default("0")
    .requires(A_LOG)
    .of_run()
    .help("A line in a log for each MSEC milliseconds; 0 for each I/O"),
    row(
        "log_hist_msec",
        "MSEC",
        |o, v| put(&mut o.logs.histogram_window_ms, v.small()?.into()),
        |load| show::log(load, |logs| word(logs.histogram_window_ms)),
    )
    .default("0")
    .requires(A_HISTOGRAM)
    .of_run()
    .help("Milliseconds for each histogram in a log"),
    row("log_hist_coarseness", "N", set::log_hist_coarseness, |load| {
        show::log(load, |logs| word(logs.coarseness))
    })
    .default("0")
    .requires(A_HISTOGRAM)
    .of_run()
    .help("Join 2 to the power of N bins of a histogram in a log, 0 to 6"),
    flag(
        "log_offset",
        |o, v| put(&mut o.logs.has_offset, v.stated_switch()?),
        |load| show::log(load, |logs| switch(logs.has_offset)),
    )
    .requires(A_LOG)
    .of_run()
    .help("Write the offset of each I/O to the logs"),
    flag(
        "log_max_value",
        |o, v| put(&mut o.logs.is_maximum, v.stated_switch()?),
        |load| show::log(load, |logs| switch(logs.is_maximum)),
    )
    .requires(&["log_avg_msec=1000"])
    .of_run()
    .help("Write the maximum latency of --log_avg_msec to the logs, not the mean"),
    flag(
        "log_unix_epoch",
        |o, v| put(&mut o.logs.unix_time, v.stated_switch()?),
        |load| show::log(load, |logs| switch(logs.unix_time)),
    )
    .requires(A_LOG)
    .of_run()
    .help("Write times to the logs as milliseconds since 1970, not since the start"),
    flag(
        "per_job_logs",
        |o, v| put(&mut o.logs.per_job, v.stated_switch()?),
        |load| show::log(load, |logs| switch(logs.per_job)),
    )
    .default("1")
    .requires(A_LOG)
    .of_run()
    .help("0 writes one log for all workers, without their number N in its name"),
    row("log_entries", "N", |_, v| v.number().map(drop), nothing)
        .hidden()
        .help("Accepted for compatibility with fio: a log takes a fixed amount of memory"),
    row("steadystate", "BOUND", set::steadystate, |load| {
        show::steady_state(load, ToString::to_string)
    })
    .alias(&["ss"])
    .requires(A_WINDOW)
    .of_run()
    .help(
        "End at a steady state: iops:5% if each measurement is within 5 % of their mean, iops_slope:1% if the \
         line of best fit rises or falls by less; also bw and lat",
    ),
    row(
        "steadystate_duration",
        "TIME",
        |o, v| put(&mut o.steady_state.window_ns, v.duration_ns(1e9)?),
        |load| show::steady_state(load, |steady| time_word(steady.window_ns)),
    )
    .default("0")
    .alias(&["ss_dur"])
    .of_run()
    .help("Time for which the bound of --steadystate must be kept; 0 looks for no steady state"),
    row(
        "steadystate_ramp_time",
        "TIME",
        |o, v| put(&mut o.steady_state.ramp_ns, v.duration_ns(1e9)?),
        |load| show::steady_state(load, |steady| time_word(steady.ramp_ns)),
    )
    .default("0")
    .alias(&["ss_ramp"])
    .requires(A_WINDOW)
    .of_run()
    .help("Time before the steady state is judged"),
    row(
        "steadystate_check_interval",
        "TIME",
        |o, v| put(&mut o.steady_state.interval_ns, v.duration_ns(1e9)?),
        |load| show::steady_state(load, |steady| time_word(steady.interval_ns)),
    )
    .default("1")
    .alias(&["ss_interval"])
    .requires(A_WINDOW)
    .of_run()
    .help("Time between two measurements of the steady state"),
    flag(
        "clat_percentiles",
        |o, v| put(&mut o.plain.clat_percentiles, v.switch()?),
        |load| switch(load.clat_percentiles),
    )
    .default("1")
    .help("Percentiles and buckets of clat_ns in fio's JSON"),
    flag(
        "lat_percentiles",
        |o, v| put(&mut o.plain.lat_percentiles, v.switch()?),
        |load| switch(load.lat_percentiles),
    )
    .help("Percentiles and buckets of lat_ns in fio's JSON"),
];
