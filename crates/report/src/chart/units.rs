//! Values for axes and notes: short, at most three digits.

use iogauge_model::units::{Bandwidth, Bytes, Latency};

/// Formats a latency: `250 µs`, `1.2 ms`.
#[must_use]
pub fn latency_ns(ns: f64) -> String {
    bare(&Latency(ns).to_string())
}

/// Formats a time in seconds: `300 ms`, `90 s`, `5 min`, `2 h`.
#[must_use]
pub fn seconds(seconds: f64) -> String {
    match seconds.abs() {
        s if s < 1.0 && s > 0.0 => latency_ns(seconds * 1e9),
        s if s < 120.0 => format!("{} s", short(seconds)),
        s if s < 7200.0 => format!("{} min", short(seconds / 60.0)),
        _ => format!("{} h", short(seconds / 3600.0)),
    }
}

/// Returns a formatter that uses one unit for all times, the one that suits the step between them: `0 min`,
/// `90 min`.
pub fn times(step_seconds: f64) -> impl Fn(f64) -> String {
    let (unit, word) = match step_seconds {
        step if step < 0.1 => (1e-3, "ms"),
        step if step < 60.0 => (1.0, "s"),
        step if step < 3600.0 => (60.0, "min"),
        _ => (3600.0, "h"),
    };
    move |seconds| {
        // As many decimals as the step needs. Times on a long axis may have five digits.
        let digits = if step_seconds / unit < 1.0 { 2 } else { 0 };
        let number = format!("{:.digits$}", seconds / unit);
        format!("{} {word}", without_zeros(&number))
    }
}

/// Formats a number of things, such as IOPS: `950`, `12.5k`, `3M`.
#[must_use]
pub fn count(value: f64) -> String {
    match value.abs() {
        v if v >= 999.5e6 => format!("{}G", short(value / 1e9)),
        v if v >= 999.5e3 => format!("{}M", short(value / 1e6)),
        v if v >= 9_995.0 => format!("{}k", short(value / 1e3)),
        v if v >= 1_000.0 => format!("{value:.0}"),
        _ => short(value),
    }
}

/// Formats bytes per second with decimal prefixes, as for disks: `12.5 MB/s`.
#[must_use]
pub fn bytes_per_sec(value: f64) -> String {
    bare(&Bandwidth(value).to_string())
}

/// Formats a size with binary prefixes, as for memory: `12.5 GiB`.
#[must_use]
pub fn bytes(value: f64) -> String {
    bare(&Bytes(value as u64).to_string())
}

/// Formats a share in percent: `12.5 %`.
#[must_use]
pub fn percent(value: f64) -> String {
    format!("{} %", short(value))
}

/// Removes trailing zeros after the decimal point from a value with a unit.
fn bare(text: &str) -> String {
    match text.split_once(' ') {
        Some((number, unit)) => format!("{} {unit}", without_zeros(number)),
        None => text.to_owned(),
    }
}

/// Formats three digits without trailing zeros after the decimal point.
pub(crate) fn short(value: f64) -> String {
    let digits = match value.abs() {
        v if v >= 99.95 => 0,
        v if v >= 9.995 => 1,
        v if v >= 0.9995 || v == 0.0 => 2,
        v => (-v.log10().floor()).clamp(0.0, 9.0) as usize + 2,
    };
    without_zeros(&format!("{value:.digits$}")).to_owned()
}

fn without_zeros(number: &str) -> &str {
    if number.contains('.') { number.trim_end_matches('0').trim_end_matches('.') } else { number }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axis_values_are_formatted_compactly() {
        let latencies: Vec<String> =
            [0.0, 85.0, 1000.0, 12_345.0, 999_950.0, 2.5e6, 1e9].map(latency_ns).into();
        assert_eq!(latencies, ["0 ns", "85 ns", "1 µs", "12.3 µs", "1 ms", "2.5 ms", "1 s"]);
        let counts: Vec<String> = [0.0, 0.25, 950.0, 1234.0, 12_500.0, 3e6, 2e9].map(count).into();
        assert_eq!(counts, ["0", "0.25", "950", "1234", "12.5k", "3M", "2G"]);
        let moments: Vec<String> = [0.0, 0.5, 90.0, 300.0, 7200.0].map(seconds).into();
        assert_eq!(moments, ["0 s", "500 ms", "90 s", "5 min", "2 h"]);
        let axis = |step, at: f64| times(step)(at);
        assert_eq!([axis(60.0, 0.0), axis(300.0, 6000.0)], ["0 min", "100 min"]);
        assert_eq!([axis(0.2, 0.6), axis(30.0, 150.0)], ["0.6 s", "150 s"]);
        assert_eq!([axis(0.02, 0.08), axis(3600.0, 7200.0)], ["80 ms", "2 h"]);
        assert_eq!(bytes_per_sec(12_500_000.0), "12.5 MB/s");
        assert_eq!(bytes(1536.0 * 1024.0), "1.5 MiB");
        assert_eq!(percent(12.345), "12.3 %");
    }
}
