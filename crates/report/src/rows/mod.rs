//! Measured figures as rows: one per direction of each job, and one per point of a curve. Pictures and the classic
//! table are made from them.

mod documents;
mod share;

pub(crate) use documents::{of_all, planned, rows_of_step};
pub use documents::{rows_of_find, rows_of_run, rows_of_suite};
pub use iogauge_model::classic::PERCENTS;
use iogauge_model::result::{BlockRange, FioDirection, FioResult, LatencyShare};
pub(crate) use share::{Bounds, FINE, Fold, WIDE};
use share::{fold, fold_whole};

/// One direction of one test.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Row {
    /// What was measured, as named by the user; the first column of the CSV.
    pub system: String,
    /// Direction and order in fio's notation for `rw`, such as `randread`.
    pub test: String,
    /// Number of processes; `None` if unknown.
    pub users: Option<u32>,
    /// Block sizes; `None` if unknown.
    pub size: Option<BlockRange>,
    /// `r` for reads, `w` for writes, `t` for trims, `m` for all of them together.
    pub side: char,
    /// True if the test has another direction too.
    pub is_half: bool,
    /// True if each write of the test waited for the medium, so that its latency includes that time; `None`
    /// if unknown.
    pub is_synchronous: Option<bool>,
    /// Bytes per second; `None` if unknown.
    pub bytes_per_sec: Option<f64>,
    /// Latency; `None` if unknown.
    pub latency: Option<RowLatency>,
    /// I/Os per second.
    pub iops: f64,
    /// Shares of the I/Os by latency; `None` if unknown.
    pub shares: Option<Vec<LatencyShare>>,
    /// True if the shares include the other direction, as those that fio itself counts do.
    pub shares_are_joint: bool,
    /// True if the shares are whole percentages from a table, truncated, one for each of its columns.
    pub shares_are_whole: bool,
    /// Percentiles at [`PERCENTS`], in nanoseconds; `None` if unknown.
    pub percentiles_ns: [Option<u64>; 6],
}

/// Latency of a row, in nanoseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct RowLatency {
    pub mean_ns: f64,
    pub min_ns: f64,
    pub max_ns: f64,
    pub stddev_ns: f64,
}

impl Row {
    /// Returns the rows of an fio result, one per direction.
    #[must_use]
    pub fn of_fio(result: &FioResult, system: &str) -> Vec<Self> {
        let is_half = result.directions().count() > 1;
        let row = |(word, direction): (&str, &FioDirection)| {
            let (shares, shares_are_joint) = shares(result, direction, is_half);
            Self {
                system: system.to_owned(),
                test: if result.rw.is_empty() { &result.name } else { &result.rw }.clone(),
                users: result.users,
                size: direction.block.or_else(|| mean_size(direction)),
                side: word.chars().next().unwrap_or(' '),
                is_half,
                is_synchronous: result.is_synchronous,
                bytes_per_sec: Some(direction.bytes_per_sec)
                    .filter(|bytes| !result.from_table || *bytes > 0.0),
                latency: direction.latency().map(|latency| RowLatency {
                    mean_ns: latency.mean_ns,
                    min_ns: latency.min_ns as f64,
                    max_ns: latency.max_ns as f64,
                    stddev_ns: latency.stddev_ns,
                }),
                iops: direction.iops,
                shares,
                shares_are_joint,
                shares_are_whole: result.from_table,
                percentiles_ns: PERCENTS.map(|percent| direction.percentile_ns(percent)),
            }
        };
        result.directions().map(row).collect()
    }

    /// Returns the test's name, with the direction if the test has several: `randrw_w`.
    pub(crate) fn name(&self) -> String {
        if self.is_half { format!("{}_{}", self.test, self.side) } else { self.test.clone() }
    }

    /// Returns the block size as `8K`, `1M` or `512`, or as `4K-64K` if sizes differ.
    pub(crate) fn size_text(&self) -> Option<String> {
        let BlockRange { min_bytes, max_bytes } = self.size?;
        let (min, max) = (size_word(min_bytes), size_word(max_bytes));
        Some(if min == max { min } else { format!("{min}-{max}") })
    }

    /// Returns MiB per second, and the mean, minimum, maximum and standard deviation of the latency in
    /// milliseconds.
    pub(crate) fn speed_and_latency(&self) -> [Option<f64>; 5] {
        let ms = |of: fn(RowLatency) -> f64| self.latency.map(|latency| of(latency) / 1e6);
        let mib = self.bytes_per_sec.map(|bytes| bytes / f64::from(1 << 20));
        [mib, ms(|l| l.mean_ns), ms(|l| l.min_ns), ms(|l| l.max_ns), ms(|l| l.stddev_ns)]
    }

    pub(crate) fn percentiles_ms(&self) -> [Option<f64>; 6] {
        self.percentiles_ns.map(|ns| ns.map(|ns| ns as f64 / 1e6))
    }

    /// Returns the shares folded into the columns of a table.
    pub(crate) fn shares<const N: usize>(&self, bounds: &Bounds<N>) -> [Option<Fold>; N] {
        match &self.shares {
            // The columns of printed text are wider than those of R code and CSV.
            Some(shares)
                if self.shares_are_whole && shares.len() != FINE.len() && N == FINE.len() =>
            {
                [None; N]
            }
            Some(shares) if self.shares_are_whole => fold_whole(shares, bounds).map(Some),
            Some(shares) => fold(shares, bounds).map(Some),
            None => [None; N],
        }
    }
}

/// Returns the latency shares of a direction and whether they include other directions. The shares in fio's
/// JSON count all directions of a result; json+ has a histogram of each.
fn shares(
    result: &FioResult,
    direction: &FioDirection,
    is_half: bool,
) -> (Option<Vec<LatencyShare>>, bool) {
    let own = || share::of_histogram(&direction.histogram()?);
    let all = || (!result.shares.is_empty()).then(|| result.shares.clone());
    if !is_half {
        return (all().or_else(own), false);
    }
    match own() {
        Some(own) => (Some(own), false),
        None => (all(), true),
    }
}

/// Returns the mean size of an I/O.
fn mean_size(direction: &FioDirection) -> Option<BlockRange> {
    let mean = direction.bytes.checked_div(direction.ios).filter(|mean| *mean > 0)?;
    Some(BlockRange { min_bytes: mean, max_bytes: mean })
}

/// Formats a block size as people type it: `64K`.
pub(crate) fn size_word(bytes: u64) -> String {
    let units = [(30, "G"), (20, "M"), (10, "K")];
    let unit = units.iter().find(|(shift, _)| bytes > 0 && bytes.trailing_zeros() >= *shift);
    unit.map_or_else(|| bytes.to_string(), |(shift, unit)| format!("{}{unit}", bytes >> shift))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn block_sizes_are_printed_compactly() {
        let shown = [(8192, "8K"), (1 << 20, "1M"), (512, "512"), (1536, "1536"), (0, "0")];
        for (bytes, text) in shown {
            assert_eq!(size_word(bytes), text);
        }
        let size = Some(BlockRange { min_bytes: 4096, max_bytes: 65_536 });
        assert_eq!(Row { size, ..Row::default() }.size_text().unwrap(), "4K-64K");
    }
}
