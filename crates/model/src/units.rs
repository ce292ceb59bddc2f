//! Sizes, durations and rates, as users type and read them.
//!
//! Input follows fio's rules (`4k` is 4096). Output names its base (KiB, kB).

use std::fmt;

/// The error for an invalid size, duration, count or percentage.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("\"{text}\" is not {wanted}; hint: use {example}")]
pub struct UnitError {
    text: String,
    wanted: &'static str,
    example: &'static str,
}

impl UnitError {
    fn new(text: &str, wanted: &'static str, example: &'static str) -> Self {
        Self { text: text.to_owned(), wanted, example }
    }
}

/// Splits `12.5ms` into the number and the unit in lower case.
fn split(text: &str) -> Option<(f64, String)> {
    let text = text.trim();
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    let number: f64 = text[..end].parse().ok()?;
    Some((number, text[end..].trim().to_ascii_lowercase()))
}

/// Returns the value in base units, rounded, if it fits in 63 bits.
fn scale(number: f64, factor: f64) -> Option<u64> {
    let value = number * factor;
    (value.is_finite() && (0.0..9.2e18).contains(&value)).then(|| value.round() as u64)
}

/// Parses a size in bytes.
///
/// `k`, `kb` and `ki` (and so on up to `p`) are powers of 1024 and `kib` of 1000, as in fio with its default
/// `kb_base=1024`. No unit or `b` means bytes.
///
/// # Errors
/// If the text is not a number with such a unit, or exceeds 63 bits.
pub fn parse_size_bytes(text: &str) -> Result<u64, UnitError> {
    let fail = || UnitError::new(text, "a size", "4096, 4k, 1m or 10g");
    let (number, unit) = split(text).ok_or_else(fail)?;
    let (power, is_kib) = size_prefix(&unit).ok_or_else(fail)?;
    let base: f64 = if is_kib { 1000.0 } else { 1024.0 };
    scale(number, base.powi(power)).ok_or_else(fail)
}

/// Parses a unit of bytes in lower case: `k`, `kb`, `ki`, `kib`, and so on up to `p`. Returns the power of the
/// base, and whether the unit ends in `ib`. fio takes the other base for such a unit, so that `4k` is 4096 and
/// `4kib` is 4000 (fio(1), `kb_base`).
#[must_use]
pub fn size_prefix(unit: &str) -> Option<(i32, bool)> {
    let power = match unit.chars().next() {
        None | Some('b') => 0,
        Some('k') => 1,
        Some('m') => 2,
        Some('g') => 3,
        Some('t') => 4,
        Some('p') => 5,
        Some(_) => return None,
    };
    match unit.get(1..).unwrap_or_default() {
        "" => Some((power, false)),
        "b" | "i" if power > 0 => Some((power, false)),
        "ib" if power > 0 => Some((power, true)),
        _ => None,
    }
}

/// Parses a duration in nanoseconds. A number without a unit means seconds, as in fio's `runtime`.
///
/// # Errors
/// If the text is not a number with one of the units ns, us, ms, s, m, h, d, or a time as in [`clock_ns`].
pub fn parse_duration_ns(text: &str) -> Result<u64, UnitError> {
    let fail = || UnitError::new(text, "a duration", "30s, 10ms, 250us or 5m");
    if let Some(ns) = clock_ns(text) {
        return Ok(ns);
    }
    let (number, unit) = split(text).ok_or_else(fail)?;
    let factor = match unit.as_str() {
        "ns" | "nsec" => 1.0,
        "us" | "usec" | "µs" | "μs" => 1e3,
        "ms" | "msec" => 1e6,
        "" | "s" | "sec" => 1e9,
        "m" | "min" => 60e9,
        "h" => 3600e9,
        "d" => 86400e9,
        _ => return Err(fail()),
    };
    scale(number, factor).ok_or_else(fail)
}

/// Parses `[DAYS:]HOURS:MINUTES:SECONDS` or `MINUTES:SECONDS` and returns nanoseconds.
#[must_use]
pub fn clock_ns(text: &str) -> Option<u64> {
    let parts: Vec<&str> = text.rsplit(':').collect();
    if !(2..=4).contains(&parts.len()) {
        return None;
    }
    let seconds = parts.iter().zip([1u64, 60, 3600, 86_400]).try_fold(0u64, |sum, (part, unit)| {
        let digits = part.len() <= 9 && part.bytes().all(|b| b.is_ascii_digit());
        Some(sum + part.parse::<u64>().ok().filter(|_| digits)? * unit)
    });
    seconds?.checked_mul(1_000_000_000).filter(|ns| *ns < 9_200_000_000_000_000_000)
}

/// Formats a time in seconds, or in milliseconds or microseconds if it is not a whole number of the larger
/// unit. Microseconds are rounded up.
#[must_use]
pub fn time_word(ns: u64) -> String {
    const SECOND: u64 = 1_000_000_000;
    const MILLISECOND: u64 = 1_000_000;
    if ns.is_multiple_of(SECOND) {
        (ns / SECOND).to_string()
    } else if ns.is_multiple_of(MILLISECOND) {
        format!("{}ms", ns / MILLISECOND)
    } else {
        format!("{}us", ns.div_ceil(1000))
    }
}

/// Parses a count such as an I/O rate. `k` and `m` are powers of 1000, because nobody means 1024 I/Os.
///
/// # Errors
/// If the text is not a number without a unit or with `k`, `m` or `g`.
pub fn parse_count(text: &str) -> Result<u64, UnitError> {
    let fail = || UnitError::new(text, "a count", "1000 or 20k");
    let (number, unit) = split(text).ok_or_else(fail)?;
    let factor = match unit.as_str() {
        "" => 1.0,
        "k" => 1e3,
        "m" => 1e6,
        "g" => 1e9,
        _ => return Err(fail()),
    };
    scale(number, factor).ok_or_else(fail)
}

/// Formats bytes in the largest unit that divides them, as [`parse_size_bytes`] parses them: `4k`, `1m`,
/// `512`.
#[must_use]
pub fn size_word(bytes: u64) -> String {
    const UNITS: [(u32, &str); 4] = [(40, "t"), (30, "g"), (20, "m"), (10, "k")];
    UNITS
        .iter()
        .find(|(shift, _)| bytes > 0 && bytes.is_multiple_of(1 << shift))
        .map_or_else(|| bytes.to_string(), |(shift, unit)| format!("{}{unit}", bytes >> shift))
}

/// Quotes a word for a shell if necessary, with single quotes.
#[must_use]
pub fn shell_word(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "/._-+=:,@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// Parses a bandwidth in bytes per second: `300MB/s` is 300 × 10⁶, `300MiB/s` is 300 × 2²⁰. `/s` is optional.
///
/// # Errors
/// If the text is not a number with such a unit.
pub fn parse_bytes_per_sec(text: &str) -> Result<u64, UnitError> {
    let fail = || UnitError::new(text, "a bandwidth", "300MB/s or 2GiB/s");
    let (number, unit) = split(text.trim().trim_end_matches("/s")).ok_or_else(fail)?;
    let factor: f64 = match unit.as_str() {
        "" | "b" => 1.0,
        "k" | "kb" => 1e3,
        "m" | "mb" => 1e6,
        "g" | "gb" => 1e9,
        "kib" => 1024.0,
        "mib" => 1048576.0,
        "gib" => 1073741824.0,
        _ => return Err(fail()),
    };
    scale(number, factor).ok_or_else(fail)
}

/// Parses a percentage from 0 to 100. The `%` is optional.
///
/// # Errors
/// If the text is not a number in this range.
pub fn parse_percent(text: &str) -> Result<f64, UnitError> {
    let fail = || UnitError::new(text, "a percentage between 0 and 100", "70 or 70%");
    let number: f64 = text.trim().trim_end_matches('%').parse().map_err(|_| fail())?;
    if (0.0..=100.0).contains(&number) { Ok(number) } else { Err(fail()) }
}

/// Formats a value with three significant digits; larger values without decimals.
fn three_digits(f: &mut fmt::Formatter<'_>, value: f64, unit: &str) -> fmt::Result {
    let decimals = if value >= 99.95 || value == 0.0 {
        0
    } else if value >= 9.995 {
        1
    } else {
        2
    };
    f.pad(&format!("{value:.decimals$} {unit}"))
}

/// Formats a value with three significant digits, in the largest unit in which it is at least 1.
fn scaled(f: &mut fmt::Formatter<'_>, value: f64, units: &[(f64, &str)]) -> fmt::Result {
    let last = units.len() - 1;
    for (index, (factor, unit)) in units.iter().enumerate() {
        let shown = value / factor;
        // 999.6 would print as 1000; the next unit is better.
        if index == last || shown < 999.5 {
            return three_digits(f, shown, unit);
        }
    }
    Ok(())
}

/// Formats bytes in powers of 1024: `4 KiB`, `1.5 GiB`. Whole multiples have no decimals.
#[derive(Debug, Clone, Copy)]
pub struct Bytes(pub u64);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [&str; 6] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
        let mut unit = 0;
        let mut scale = 1u64;
        while unit + 1 < UNITS.len() && self.0 / scale >= 1024 {
            scale *= 1024;
            unit += 1;
        }
        if self.0.is_multiple_of(scale) {
            f.pad(&format!("{} {}", self.0 / scale, UNITS[unit]))
        } else {
            three_digits(f, self.0 as f64 / scale as f64, UNITS[unit])
        }
    }
}

/// Formats a bandwidth in powers of 1000, as data sheets do: `325 MB/s`.
#[derive(Debug, Clone, Copy)]
pub struct Bandwidth(pub f64);

impl fmt::Display for Bandwidth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        scaled(f, self.0, &[(1.0, "B/s"), (1e3, "kB/s"), (1e6, "MB/s"), (1e9, "GB/s")])
    }
}

/// Formats nanoseconds in the most readable unit: `850 ns`, `12.4 µs`, `9.87 ms`, `1.20 s`.
#[derive(Debug, Clone, Copy)]
pub struct Latency(pub f64);

impl fmt::Display for Latency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        scaled(f, self.0, &[(1.0, "ns"), (1e3, "µs"), (1e6, "ms"), (1e9, "s")])
    }
}

/// Formats a rate or count in groups of three digits: `81,204`. A fraction below 100 has one decimal.
#[derive(Debug, Clone, Copy)]
pub struct Count(pub f64);

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.abs() < 99.95 && self.0.fract() != 0.0 {
            return f.pad(&format!("{:.1}", self.0));
        }
        let digits = format!("{:.0}", self.0.abs());
        let mut grouped = String::with_capacity(digits.len() * 4 / 3 + 1);
        if self.0 < 0.0 {
            grouped.push('-');
        }
        for (index, digit) in digits.chars().enumerate() {
            if index > 0 && (digits.len() - index).is_multiple_of(3) {
                grouped.push(',');
            }
            grouped.push(digit);
        }
        f.pad(&grouped)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn sizes_parse_like_fio() {
        for (text, bytes) in [
            ("4096", 4096),
            ("4k", 4096),
            ("4K", 4096),
            ("4KiB", 4000),
            ("4ki", 4096),
            ("4kb", 4096),
            ("1m", 1 << 20),
            ("1.5g", 3 << 29),
            ("2t", 2 << 40),
            ("512b", 512),
        ] {
            assert_eq!(parse_size_bytes(text), Ok(bytes), "{text}");
        }
        for text in ["", "k", "4x", "-1k", "4 k k", "1e400", "99999999999p", "4bb", "4i"] {
            assert!(parse_size_bytes(text).is_err(), "{text}");
        }
    }

    #[test]
    fn durations_counts_and_rates_parse() {
        assert_eq!(parse_duration_ns("10ms"), Ok(10_000_000));
        assert_eq!(parse_duration_ns("250us"), Ok(250_000));
        assert_eq!(parse_duration_ns("30"), Ok(30_000_000_000));
        assert_eq!(parse_duration_ns("5m"), Ok(300_000_000_000));
        assert_eq!(parse_duration_ns("00:00:02"), Ok(2_000_000_000));
        assert!(parse_duration_ns("10 parsec").is_err());
        assert!(parse_duration_ns("1::2").is_err());
        assert_eq!(parse_count("20k"), Ok(20_000));
        assert_eq!(parse_bytes_per_sec("300MB/s"), Ok(300_000_000));
        assert_eq!(parse_bytes_per_sec("2GiB/s"), Ok(2 << 30));
        assert_eq!(parse_percent("70%"), Ok(70.0));
        assert!(parse_percent("101").is_err());
    }

    #[test]
    fn units_are_printed_human_readable() {
        assert_eq!(Bytes(4096).to_string(), "4 KiB");
        assert_eq!(Bytes(5_000_000_000).to_string(), "4.66 GiB");
        assert_eq!(Bandwidth(325_300_000.0).to_string(), "325 MB/s");
        assert_eq!(Latency(850.0).to_string(), "850 ns");
        assert_eq!(Latency(9_870_000.0).to_string(), "9.87 ms");
        assert_eq!(Latency(999_700.0).to_string(), "1.00 ms");
        assert_eq!(Count(81204.4).to_string(), "81,204");
        assert_eq!(Count(7.25).to_string(), "7.2");
        assert_eq!(Count(1_000_000.0).to_string(), "1,000,000");
    }

    proptest! {
        #[test]
        fn nothing_panics(text in "\\PC{0,24}") {
            let _ = parse_size_bytes(&text);
            let _ = parse_duration_ns(&text);
            let _ = parse_count(&text);
            let _ = parse_bytes_per_sec(&text);
            let _ = parse_percent(&text);
        }

        #[test]
        fn whole_sizes_round_trip(bytes in 0u64..(1 << 52)) {
            prop_assert_eq!(parse_size_bytes(&bytes.to_string()), Ok(bytes));
        }

        #[test]
        fn printed_sizes_parse_back_without_their_ib(bytes in 1u64..(1 << 52)) {
            let shown = Bytes(bytes).to_string().replace("iB", "");
            let back = parse_size_bytes(&shown).unwrap() as f64;
            prop_assert!((back - bytes as f64).abs() <= bytes as f64 * 0.006, "{}", shown);
        }
    }
}
