//! The classic table: what its columns mean. Scripts around fio have printed it for years; iogauge writes and
//! reads it.

pub use crate::result::LATENCY_SHARE_BOUNDS_NS as BOUNDS_NS;

/// Names of the columns of R code and CSV. The shares have the bounds [`BOUNDS_NS`], and the last six columns are
/// [`PERCENTS`].
pub const COLUMNS: [&str; 31] = [
    "name", "users", "bs", "MB", "lat", "min", "max", "std", "iops", "us50", "us100", "us250",
    "us500", "ms1", "ms2", "ms4", "ms10", "ms20", "ms50", "ms100", "ms250", "ms500", "s1", "s2",
    "s5", "p95_00", "p99_00", "p99_50", "p99_90", "p99_95", "p99_99",
];

/// The column that CSV may have before [`COLUMNS`].
pub const SYSTEM_COLUMN: &str = "system";

/// Percentiles of latency in the last columns.
pub const PERCENTS: [f64; 6] = [95.0, 99.0, 99.5, 99.9, 99.95, 99.99];

const US: u64 = 1_000;
const MS: u64 = 1_000_000;

/// Upper bounds of the shares in printed text, in nanoseconds; the last share has none: 50us 1ms 4ms 10ms 20ms 50ms
/// .1s 1s 2s 2s+. Each is one of [`BOUNDS_NS`].
pub const PRINTED_BOUNDS_NS: [Option<u64>; 10] = [
    Some(50 * US),
    Some(MS),
    Some(4 * MS),
    Some(10 * MS),
    Some(20 * MS),
    Some(50 * MS),
    Some(100 * MS),
    Some(1000 * MS),
    Some(2000 * MS),
    None,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_hold_all_shares_and_percentiles() {
        let figures = ["name", "users", "bs", "MB", "lat", "min", "max", "std", "iops"];
        assert_eq!(COLUMNS[..9], figures);
        assert_eq!(COLUMNS.len(), figures.len() + BOUNDS_NS.len() + PERCENTS.len());
        assert!(PRINTED_BOUNDS_NS.iter().all(|bound| BOUNDS_NS.contains(bound)));
        let named = PERCENTS.map(|percent| format!("p{percent:05.2}").replace('.', "_"));
        assert_eq!(COLUMNS[25..], named);
    }
}
