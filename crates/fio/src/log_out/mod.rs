//! Writes fio's log files: latencies, bandwidth, IOPS and histograms.
//!
//! The formats are those of fio 3.33 (fio(1), "LOG FILE FORMATS"). What the manual leaves open follows fio's output:
//!
//! - Syncs are in no log.
//! - The bandwidth of a single I/O is in units of 1000 bytes per second, that of a window in KiB per second.
//! - Bandwidth and IOPS are rounded down.
//! - A window has a line for each direction with an I/O, reads first.
//!
//! fio leaves out the end of a job that is shorter than a window. Here it is a window of its own, or belongs to the
//! window before it if it is shorter than half a window.

mod files;
mod window;

pub use files::{LogKind, is_log};

use iogauge_model::histogram::{FIO_BUCKETS, fio_bucket_of};
use iogauge_model::load::Logs;
use std::fmt::Write;
use window::{Content, Window, Windows};

const NS_PER_MS: u64 = 1_000_000;
/// Number of directions in logs.
const DIRECTIONS: usize = 2;

/// A direction, by its number in logs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogDirection {
    Read = 0,
    Write = 1,
}

/// A completed I/O.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoggedIo {
    /// Time of its completion since the job began to count, in nanoseconds.
    pub ended_ns: u64,
    pub latency_ns: u64,
    pub offset_bytes: u64,
    pub bytes: u32,
    pub direction: LogDirection,
}

/// Text to append to log files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LogText {
    latency: String,
    bandwidth: String,
    iops: String,
    histogram: String,
}

impl LogText {
    /// Returns the text for the files of a kind. Both latency logs have the same text.
    #[must_use]
    pub fn of(&self, kind: LogKind) -> &str {
        match kind {
            LogKind::Latency | LogKind::CompletionLatency => &self.latency,
            LogKind::Bandwidth => &self.bandwidth,
            LogKind::Iops => &self.iops,
            LogKind::Histogram => &self.histogram,
        }
    }

    /// Removes all text.
    pub fn clear(&mut self) {
        for text in [&mut self.latency, &mut self.bandwidth, &mut self.iops, &mut self.histogram] {
            text.clear();
        }
    }
}

/// The logs of one worker: turns its completed I/Os into lines.
#[derive(Debug)]
pub struct JobLog {
    format: Format,
    /// `None` if each I/O has a line.
    windows: Option<Windows<[Totals; DIRECTIONS]>>,
    histograms: Option<Windows<[Bins; DIRECTIONS]>>,
}

/// What does not change from line to line.
#[derive(Debug)]
struct Format {
    logs: Logs,
    /// Added to all times, in milliseconds.
    base_ms: u64,
}

impl JobLog {
    /// Creates empty logs. `began_unix_ms` is when the job began to count, in milliseconds since 1970.
    #[must_use]
    pub fn new(logs: Logs, began_unix_ms: u64) -> Self {
        let has_lines = logs.latency.is_some() || logs.bandwidth.is_some() || logs.iops.is_some();
        let windows = (has_lines && logs.window_ms > 0)
            .then(|| Windows::new(logs.window_ms.saturating_mul(NS_PER_MS)));
        let histograms = (logs.histogram.is_some() && logs.histogram_window_ms > 0)
            .then(|| Windows::new(logs.histogram_window_ms.saturating_mul(NS_PER_MS)));
        let base_ms = if logs.unix_time { began_unix_ms } else { 0 };
        Self { format: Format { logs, base_ms }, windows, histograms }
    }

    /// Adds an I/O. I/Os are added in the order of their completion.
    pub fn add(&mut self, io: &LoggedIo, text: &mut LogText) {
        match &mut self.windows {
            None => self.format.io(io, text),
            Some(windows) => {
                if let Some(window) = windows.add(io) {
                    self.format.window(&window, text);
                }
            }
        }
        if let Some(window) = self.histograms.as_mut().and_then(|windows| windows.add(io)) {
            self.format.histogram(&window, text);
        }
    }

    /// Adds what is left at the end of the job.
    pub fn end(&mut self, ended_ns: u64, text: &mut LogText) {
        for window in self.windows.take().into_iter().flat_map(|windows| windows.end(ended_ns)) {
            self.format.window(&window, text);
        }
        let histograms = self.histograms.take().into_iter();
        for window in histograms.flat_map(|windows| windows.end(ended_ns)) {
            self.format.histogram(&window, text);
        }
    }
}

/// The fields of a line.
struct Line {
    time_ns: u64,
    value: u64,
    direction: usize,
    bytes: u32,
    offset_bytes: u64,
}

impl Format {
    fn time_ms(&self, time_ns: u64) -> u64 {
        self.base_ms.saturating_add(time_ns / NS_PER_MS)
    }

    fn line(&self, text: &mut String, line: &Line) {
        let Line { value, direction, bytes, offset_bytes, .. } = line;
        let time_ms = self.time_ms(line.time_ns);
        // Writing to a string cannot fail. The last field is the priority of the I/O, which iogauge does not set.
        let _ = if self.logs.has_offset {
            writeln!(text, "{time_ms}, {value}, {direction}, {bytes}, {offset_bytes}, 0")
        } else {
            writeln!(text, "{time_ms}, {value}, {direction}, {bytes}, 0")
        };
    }

    fn io(&self, io: &LoggedIo, text: &mut LogText) {
        let LoggedIo { ended_ns: time_ns, latency_ns, offset_bytes, bytes, direction } = *io;
        let with =
            |value| Line { time_ns, value, direction: direction as usize, bytes, offset_bytes };
        if self.logs.latency.is_some() {
            self.line(&mut text.latency, &with(latency_ns));
        }
        if self.logs.bandwidth.is_some() {
            let value = u64::from(bytes) * NS_PER_MS / latency_ns.max(1);
            self.line(&mut text.bandwidth, &with(value));
        }
        if self.logs.iops.is_some() {
            self.line(&mut text.iops, &with(1));
        }
    }

    fn window(&self, window: &Window<[Totals; DIRECTIONS]>, text: &mut LogText) {
        let used = window.content.iter().enumerate().filter(|(_, totals)| totals.ios > 0);
        for (direction, totals) in used {
            let time_ns = window.end_ns;
            let with = |value| Line { time_ns, value, direction, bytes: 0, offset_bytes: 0 };
            if self.logs.latency.is_some() {
                let mean = totals.latency_ns / u128::from(totals.ios);
                let value = if self.logs.is_maximum { totals.latency_ns_max } else { mean as u64 };
                self.line(&mut text.latency, &with(value));
            }
            if self.logs.bandwidth.is_some() {
                let bytes_per_sec = window.per_sec(totals.bytes);
                self.line(&mut text.bandwidth, &with(bytes_per_sec / 1024));
            }
            if self.logs.iops.is_some() {
                self.line(&mut text.iops, &with(window.per_sec(totals.ios)));
            }
        }
    }

    fn histogram(&self, window: &Window<[Bins; DIRECTIONS]>, text: &mut LogText) {
        let used = window.content.iter().enumerate().filter(|(_, bins)| !bins.counts.is_empty());
        for (direction, Bins { counts, bytes }) in used {
            let text = &mut text.histogram;
            // Writing to a string cannot fail.
            let _ = write!(text, "{}, {direction}, {bytes}", self.time_ms(window.end_ns));
            for joined in counts.chunks(1 << self.logs.coarseness) {
                let _ = write!(text, ", {}", joined.iter().sum::<u64>());
            }
            text.push('\n');
        }
    }
}

/// The I/Os of one direction in a window.
#[derive(Debug, Default)]
struct Totals {
    ios: u64,
    bytes: u64,
    /// Sum of latencies.
    latency_ns: u128,
    latency_ns_max: u64,
}

impl Content for [Totals; DIRECTIONS] {
    fn add(&mut self, io: &LoggedIo) {
        let totals = &mut self[io.direction as usize];
        totals.ios += 1;
        totals.bytes += u64::from(io.bytes);
        totals.latency_ns += u128::from(io.latency_ns);
        totals.latency_ns_max = totals.latency_ns_max.max(io.latency_ns);
    }

    fn append(&mut self, next: Self) {
        for (mine, theirs) in self.iter_mut().zip(next) {
            mine.ios += theirs.ios;
            mine.bytes += theirs.bytes;
            mine.latency_ns += theirs.latency_ns;
            mine.latency_ns_max = mine.latency_ns_max.max(theirs.latency_ns_max);
        }
    }
}

/// The latencies of one direction in a window.
#[derive(Debug, Default)]
struct Bins {
    /// fio's buckets; empty before the first I/O.
    counts: Vec<u64>,
    /// Size of the last I/O.
    bytes: u32,
}

impl Content for [Bins; DIRECTIONS] {
    fn add(&mut self, io: &LoggedIo) {
        let Bins { counts, bytes } = &mut self[io.direction as usize];
        counts.resize(FIO_BUCKETS, 0);
        counts[fio_bucket_of(io.latency_ns)] += 1;
        *bytes = io.bytes;
    }

    fn append(&mut self, next: Self) {
        for (mine, theirs) in self.iter_mut().zip(next) {
            if theirs.counts.is_empty() {
                continue;
            }
            mine.counts.resize(FIO_BUCKETS, 0);
            mine.counts.iter_mut().zip(theirs.counts).for_each(|(mine, theirs)| *mine += theirs);
            mine.bytes = theirs.bytes;
        }
    }
}

#[cfg(test)]
mod tests;
