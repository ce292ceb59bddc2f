//! Log files in fio's formats: what is in them, where they are written, and what reads them.
#![allow(clippy::unwrap_used)]

mod against_fio;
#[path = "../common/mod.rs"]
mod common;
mod content;
mod places;
mod readers;

use common::Place;

/// All kinds of logs, with the prefix `p`.
const ALL: [&str; 5] = [
    "--write_lat_log=p",
    "--write_bw_log=p",
    "--write_iops_log=p",
    "--write_hist_log=p",
    "--log_hist_msec=500",
];

/// A line of a log without histograms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Entry {
    time_ms: u64,
    value: u64,
    direction: u64,
    bytes: u64,
    /// `None` without `log_offset`.
    offset_bytes: Option<u64>,
}

fn fields(line: &str) -> Vec<u64> {
    line.split(", ").map(|field| field.parse().unwrap()).collect()
}

fn entry(line: &str) -> Entry {
    let (fields, offset_bytes) = match fields(line).as_slice() {
        [time_ms, value, direction, bytes, 0] => ([*time_ms, *value, *direction, *bytes], None),
        [time_ms, value, direction, bytes, offset, 0] => {
            ([*time_ms, *value, *direction, *bytes], Some(*offset))
        }
        _ => panic!("{line}"),
    };
    let [time_ms, value, direction, bytes] = fields;
    Entry { time_ms, value, direction, bytes, offset_bytes }
}

/// Returns the lines of a log in the working directory.
#[track_caller]
fn log(place: &Place, name: &str) -> Vec<Entry> {
    let text = std::fs::read_to_string(place.work().join(name))
        .unwrap_or_else(|error| panic!("{name}: {error}"));
    assert!(text.is_empty() || text.ends_with('\n'), "{name}");
    text.lines().map(entry).collect()
}

/// A line of a log of histograms.
struct Bins {
    time_ms: u64,
    direction: u64,
    counts: Vec<u64>,
}

impl Bins {
    fn ios(&self) -> u64 {
        self.counts.iter().sum()
    }
}

#[track_caller]
fn histograms(place: &Place, name: &str) -> Vec<Bins> {
    let text = std::fs::read_to_string(place.work().join(name)).unwrap();
    let bins = |line: &str| {
        let fields = fields(line);
        Bins { time_ms: fields[0], direction: fields[1], counts: fields[3..].to_vec() }
    };
    text.lines().map(bins).collect()
}

/// Returns the names of the logs in the working directory.
fn logs(place: &Place) -> Vec<String> {
    let names = place.names().into_iter();
    names.filter(|name| name.ends_with(".log")).collect()
}
