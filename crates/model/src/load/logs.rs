//! Log files of a workload, in fio's formats.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Log files that a workload writes while it runs: fio's `write_…_log` and `log_…` options.
///
/// The names of the files begin with the given prefixes. Each worker writes its own lines.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Logs {
    /// Prefix of the names of latency logs; `None` for no such logs.
    pub latency: Option<String>,
    /// The same for bandwidth logs.
    pub bandwidth: Option<String>,
    /// The same for IOPS logs.
    pub iops: Option<String>,
    /// The same for latency histograms.
    pub histogram: Option<String>,
    /// Length of the windows that have a line each, in milliseconds; 0 for a line for each I/O.
    pub window_ms: u64,
    /// Length of the windows that have a histogram each, in milliseconds.
    pub histogram_window_ms: u64,
    /// A bin of a histogram joins 2 to the power of this many of fio's buckets; from 0 to 6.
    pub coarseness: u32,
    /// True if lines contain the offset of the I/O.
    pub has_offset: bool,
    /// True if a window has its maximum latency instead of its mean.
    pub is_maximum: bool,
    /// True if each worker has its own files.
    pub per_job: bool,
    /// True if times are since 1970 instead of since the start of the job.
    pub unix_time: bool,
}

impl Default for Logs {
    /// No logs, with fio's defaults for their options.
    fn default() -> Self {
        Self {
            latency: None,
            bandwidth: None,
            iops: None,
            histogram: None,
            window_ms: 0,
            histogram_window_ms: 0,
            coarseness: 0,
            has_offset: false,
            is_maximum: false,
            per_job: true,
            unix_time: false,
        }
    }
}

impl Logs {
    /// Maximum of `coarseness`.
    pub const MOST_COARSE: u32 = 6;

    fn prefixes_mut(&mut self) -> [&mut Option<String>; 4] {
        [&mut self.latency, &mut self.bandwidth, &mut self.iops, &mut self.histogram]
    }

    /// Returns the prefixes given, each once for each kind of log.
    pub fn prefixes(&self) -> impl Iterator<Item = &str> {
        let all = [&self.latency, &self.bandwidth, &self.iops, &self.histogram];
        all.into_iter().filter_map(Option::as_deref)
    }

    /// Returns these logs with `name` for each empty prefix; `None` if there is no log.
    #[must_use]
    pub fn named(&self, name: &str) -> Option<Self> {
        self.prefixes().next()?;
        let mut named = self.clone();
        for prefix in named.prefixes_mut().into_iter().flatten() {
            if prefix.is_empty() {
                // As in fio, a job's name does not lead into another directory.
                *prefix = name.replace('/', "_");
            }
        }
        Some(named)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_prefix_becomes_the_name_of_the_job() {
        assert_eq!(Logs::default().named("a"), None);
        let logs =
            Logs { latency: Some(String::new()), iops: Some("x/y".to_owned()), ..Logs::default() };
        let named = logs.named("a/b").unwrap();
        assert_eq!(named.prefixes().collect::<Vec<_>>(), ["a_b", "x/y"]);
        assert_eq!(named.bandwidth, None);
    }
}
