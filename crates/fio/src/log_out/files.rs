//! Names of log files, and how to recognize one.

use iogauge_model::load::Logs;
use std::path::PathBuf;

/// A kind of log file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogKind {
    Latency,
    CompletionLatency,
    Bandwidth,
    Iops,
    Histogram,
}

impl LogKind {
    pub const ALL: [Self; 5] =
        [Self::Latency, Self::CompletionLatency, Self::Bandwidth, Self::Iops, Self::Histogram];

    /// Returns what the name of a file has after its prefix.
    fn suffix(self) -> &'static str {
        match self {
            Self::Latency => "lat",
            Self::CompletionLatency => "clat",
            Self::Bandwidth => "bw",
            Self::Iops => "iops",
            Self::Histogram => "clat_hist",
        }
    }

    /// Returns the path of a worker's log of this kind; `None` if it has none. `number` is the worker's number over
    /// all jobs of the run, from 1.
    #[must_use]
    pub fn path(self, logs: &Logs, number: u32) -> Option<PathBuf> {
        let prefix = match self {
            Self::Latency | Self::CompletionLatency => &logs.latency,
            Self::Bandwidth => &logs.bandwidth,
            Self::Iops => &logs.iops,
            Self::Histogram => &logs.histogram,
        };
        let prefix = prefix.as_ref()?;
        let number = if logs.per_job { format!(".{number}") } else { String::new() };
        Some(format!("{prefix}_{}{number}.log", self.suffix()).into())
    }
}

/// Returns true if a file looks like one of fio's logs. `head` is the beginning of the file, or all of it.
#[must_use]
pub fn is_log(head: &[u8]) -> bool {
    let Some(end) = head.iter().rposition(|byte| *byte == b'\n') else {
        // The first line of a file of histograms is long.
        return is_histogram(head);
    };
    let (lines, cut_off) = (&head[..end], &head[end + 1..]);
    lines.split(|byte| *byte == b'\n').all(|line| is_entry(line) || is_histogram(line))
        && cut_off.iter().all(|byte| is_byte_of_log(*byte))
}

/// Fields before the bins of a histogram, and the fewest bins.
const FEWEST_HISTOGRAM_FIELDS: usize = 3 + 29;

fn fields(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = Some(line);
    std::iter::from_fn(move || {
        let line = rest?;
        let end = line.windows(2).position(|pair| pair == b", ");
        rest = end.map(|end| &line[end + 2..]);
        Some(&line[..end.unwrap_or(line.len())])
    })
}

fn is_number(field: &[u8]) -> bool {
    (1..=20).contains(&field.len()) && field.iter().all(u8::is_ascii_digit)
}

fn is_direction(field: &[u8]) -> bool {
    matches!(field, b"0" | b"1" | b"2")
}

/// Recognizes time, value, direction, block size, the offset if there is one, and priority.
fn is_entry(line: &[u8]) -> bool {
    let fields: Vec<&[u8]> = fields(line).take(7).collect();
    let [time, value, direction, rest @ .., priority] = fields.as_slice() else { return false };
    let is_priority = matches!(*priority, b"0" | b"1") || priority.starts_with(b"0x");
    (1..=2).contains(&rest.len())
        && is_direction(direction)
        && is_priority
        && [time, value].into_iter().chain(rest).all(|field| is_number(field))
}

/// Recognizes time, direction, block size and bins.
fn is_histogram(line: &[u8]) -> bool {
    let direction = fields(line).nth(1);
    direction.is_some_and(is_direction)
        && fields(line).nth(FEWEST_HISTOGRAM_FIELDS - 1).is_some()
        && line.iter().all(|byte| is_byte_of_log(*byte))
}

fn is_byte_of_log(byte: u8) -> bool {
    byte.is_ascii_digit() || matches!(byte, b',' | b' ')
}
