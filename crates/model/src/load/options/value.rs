//! Option values in fio's syntax: sizes, times, switches, one value per direction.

use super::expression::evaluate;
use crate::load::LoadError;
use crate::units::{clock_ns, size_prefix};
use std::str::FromStr;

/// The meaning of unit prefixes: fio's `kb_base`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KbBase {
    /// `k`, `kb` and `ki` are 1024, and `kib` is 1000, as in old scripts. This is fio's default.
    Old,
    /// `k`, `kb` and `ki` are 1000, and `kib` is 1024, as in IEC 80000-13 except for `ki`.
    Iec,
}

/// The syntax of option values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// fio's job files.
    Fio(KbBase),
    /// iogauge's command line and suite files: units as with [`KbBase::Old`]; a single rate applies to reads
    /// and writes together.
    Iogauge,
}

/// A number of bytes, or a percentage of the file.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Span {
    Bytes(u64),
    /// Percentage of the file, from 0 to 100.
    Percent(u32),
}

impl Span {
    /// Returns the number of bytes, given the size of the file.
    #[must_use]
    pub fn of(self, whole_bytes: u64) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes,
            Self::Percent(percent) => (u128::from(whole_bytes) * u128::from(percent) / 100) as u64,
        }
    }

    /// True for a percentage, whose bytes depend on the size of the file.
    #[must_use]
    pub fn is_share(self) -> bool {
        matches!(self, Self::Percent(_))
    }

    /// Returns the number of bytes; 0 for a percentage.
    #[must_use]
    pub fn bytes(self) -> u64 {
        self.of(0)
    }
}

/// Why a value is not accepted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Wrong {
    /// fio does not accept the value either.
    #[error("{0}")]
    Value(String),
    /// fio accepts the value, iogauge does not.
    #[error("{0}")]
    Unsupported(String),
}

impl From<LoadError> for Wrong {
    fn from(error: LoadError) -> Self {
        Self::Value(error.reason)
    }
}

impl Wrong {
    /// Creates an error for a value that fio does not accept either.
    pub fn value(reason: impl Into<String>) -> Self {
        Self::Value(reason.into())
    }

    /// Creates an error for a value that fio accepts and iogauge does not.
    pub fn unsupported(why: impl Into<String>) -> Self {
        Self::Unsupported(why.into())
    }
}

/// The value of an option: the text after `=`.
#[derive(Debug, Clone, Copy)]
pub struct Value<'a> {
    /// The text; `None` if there is no `=`.
    pub text: Option<&'a str>,
    /// The syntax of the text.
    pub dialect: Dialect,
}

impl<'a> Value<'a> {
    /// Returns the text.
    ///
    /// # Errors
    /// If there is none.
    pub fn word(&self) -> Result<&'a str, Wrong> {
        let missing = || Wrong::value("it needs a value; hint: use OPTION=VALUE");
        self.text.filter(|text| !text.is_empty()).ok_or_else(missing)
    }

    /// Returns the prefix of the names of log files. In fio's job files, an empty one stands for the name of the
    /// job.
    pub fn prefix(&self) -> Result<Option<String>, Wrong> {
        let is_fio = matches!(self.dialect, Dialect::Fio(_));
        if is_fio && self.text.unwrap_or_default().is_empty() {
            return Ok(Some(String::new()));
        }
        let prefix = self.word()?;
        if prefix.ends_with('/') {
            let reason = format!("\"{prefix}\" is a directory; hint: use {prefix}NAME");
            return Err(Wrong::value(reason));
        }
        Ok(Some(prefix.to_owned()))
    }

    /// Parses a switch. Without a value it is on.
    pub fn switch(&self) -> Result<bool, Wrong> {
        match self.text {
            None | Some("1" | "true") => Ok(true),
            Some("0" | "false") => Ok(false),
            Some(other) => Err(Wrong::value(format!("\"{other}\" is not 0 or 1"))),
        }
    }

    /// Parses a whole number with fio's suffixes: bytes, or a count.
    pub fn number(&self) -> Result<u64, Wrong> {
        number(self.word()?, self.dialect)
    }

    /// Parses a switch that needs a value, as in fio.
    pub fn stated_switch(&self) -> Result<bool, Wrong> {
        self.word()?;
        self.switch()
    }

    /// Parses the text as type `T`.
    pub fn parse<T: FromStr<Err = LoadError>>(&self) -> Result<T, Wrong> {
        Ok(self.word()?.parse()?)
    }

    /// Parses a number of 32 bits.
    pub fn small(&self) -> Result<u32, Wrong> {
        let number = self.number()?;
        u32::try_from(number).map_err(|_| Wrong::value(format!("{number} is too large")))
    }

    /// Parses a whole percentage. The percent sign is optional.
    pub fn percent(&self) -> Result<u32, Wrong> {
        percent(self.word()?)
    }

    /// Parses a number of bytes, or a percentage if there is a percent sign.
    pub fn span(&self) -> Result<Span, Wrong> {
        let text = self.word()?;
        if text.ends_with('%') {
            return percent(text).map(Span::Percent);
        }
        let zones = text.strip_suffix(['z', 'Z']);
        if zones.is_some_and(|zones| zones.parse::<u64>().is_ok()) {
            let reason = "iogauge does not know the zones of a device; hint: use bytes or percent";
            return Err(Wrong::unsupported(reason));
        }
        number(text, self.dialect).map(Span::Bytes)
    }

    /// Parses a time. `bare_ns` is the unit of a number without a unit, in nanoseconds.
    pub fn duration_ns(&self, bare_ns: f64) -> Result<u64, Wrong> {
        let text = self.word()?;
        if let Some(ns) = clock_ns(text) {
            return Ok(ns);
        }
        // In parentheses, fio's unit is the microsecond.
        let scale = if text.starts_with('(') { 1e3 } else { 1.0 };
        let has_unit = text.ends_with(|c: char| c.is_alphabetic());
        let factor = if has_unit || scale > 1.0 { scale } else { bare_ns };
        let unit = |letters: &str| time_unit_ns(letters).map(|ns| ns / scale);
        evaluate(text, &unit)
            .map(|number| number * factor)
            .filter(|ns| (0.0..9e18).contains(ns))
            .map(|ns| ns.round() as u64)
            .ok_or_else(|| {
                Wrong::value(format!("\"{text}\" is not a time; hint: use 30s, 10ms or 100us"))
            })
    }

    /// Splits `all`, `reads,writes` or `reads,writes,trims` into the values of reads and writes. `None` for a
    /// direction that keeps its value.
    pub fn directions(&self) -> Result<[Option<Self>; 2], Wrong> {
        let text = self.word()?;
        let own = |text: &'a str| {
            let text = Some(text.trim()).filter(|text| !text.is_empty());
            text.map(|text| Self { text: Some(text), ..*self })
        };
        let mut parts = text.split(',');
        let first = own(parts.next().unwrap_or(""));
        let second = parts.next();
        match (second, parts.count()) {
            (None, _) => Ok([first, first]),
            (Some(second), 0..=1) => Ok([first, own(second)]),
            _ => Err(Wrong::value(format!(
                "\"{text}\" has more than three values; hint: use READS,WRITES,TRIMS"
            ))),
        }
    }
}

fn percent(text: &str) -> Result<u32, Wrong> {
    let whole = text.strip_suffix('%').unwrap_or(text).trim().parse::<u32>();
    whole.ok().filter(|percent| *percent <= 100).ok_or_else(|| {
        Wrong::value(format!("\"{text}\" is not a whole percentage between 0 and 100"))
    })
}

/// Parses a whole number with fio's suffixes, ignoring case.
pub fn number(text: &str, dialect: Dialect) -> Result<u64, Wrong> {
    let number = evaluate(text, &|letters| size_unit(letters, dialect))
        .filter(|number| (0.0..9.2e18).contains(number))
        .ok_or_else(|| {
            Wrong::value(format!("\"{text}\" is not a number; hint: use 4096, 4k or 10g"))
        })?;
    if number.fract() != 0.0 {
        return Err(Wrong::value(format!("\"{text}\" is not a whole number")));
    }
    Ok(number as u64)
}

fn size_unit(letters: &str, dialect: Dialect) -> Option<f64> {
    let (power, is_kib) = size_prefix(&letters.to_ascii_lowercase())?;
    let base: f64 = if is_kib == (dialect == Dialect::Fio(KbBase::Iec)) { 1024.0 } else { 1000.0 };
    Some(base.powi(power))
}

fn time_unit_ns(letters: &str) -> Option<f64> {
    match letters.to_ascii_lowercase().as_str() {
        "ns" | "nsec" => Some(1.0),
        "us" | "usec" | "µs" | "μs" => Some(1e3),
        "ms" | "msec" => Some(1e6),
        "s" | "sec" => Some(1e9),
        "m" | "min" => Some(60e9),
        "h" => Some(3600e9),
        "d" => Some(86_400e9),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const OLD: Dialect = Dialect::Fio(KbBase::Old);

    fn value(text: &str) -> Value<'_> {
        Value { text: Some(text), dialect: OLD }
    }

    #[test]
    fn numbers_accept_fio_suffixes() {
        for (text, old, iec) in [
            ("4096", 4096, 4096),
            ("4096b", 4096, 4096),
            ("4k", 4096, 4000),
            ("4KB", 4096, 4000),
            ("4ki", 4096, 4000),
            ("4KiB", 4000, 4096),
            ("1m", 1 << 20, 1_000_000),
            ("1.5g", 3 << 29, 1_500_000_000),
            ("0x10", 16, 16),
            ("(2*8)k", 16384, 16000),
        ] {
            assert_eq!(number(text, OLD), Ok(old), "{text}");
            assert_eq!(number(text, Dialect::Fio(KbBase::Iec)), Ok(iec), "{text}");
        }
        let own = |text| Value { text: Some(text), dialect: Dialect::Iogauge };
        assert_eq!((own("4kib").number(), own("20k").number()), (Ok(4000), Ok(20_480)));
        for text in ["", "k", "4q", "-1", "4 4", "1e9", "99999p", "1.9", "1.3k", "4kx", "ib"] {
            assert!(number(text, OLD).is_err(), "{text}");
        }
    }

    #[test]
    fn durations_accept_time_units() {
        for (text, ns) in [
            ("30", 30_000_000_000),
            ("10ms", 10_000_000),
            ("250US", 250_000),
            ("2m", 120_000_000_000),
            ("(5)", 5_000),
            ("(1s+500ms)", 1_500_000_000),
            ("(2*3)s", 6_000_000_000),
            ("0", 0),
            ("00:00:02", 2_000_000_000),
            ("1:02:03:04", 93_784_000_000_000),
            ("5µs", 5_000),
        ] {
            assert_eq!(value(text).duration_ns(1e9), Ok(ns), "{text}");
        }
        assert_eq!(value("5").duration_ns(1e3), Ok(5_000));
        assert!(value("5 parsec").duration_ns(1e9).is_err());
        assert!(value("-5").duration_ns(1e9).is_err());
    }

    #[test]
    fn spans_are_bytes_or_percentages() {
        assert_eq!(value("1g").span(), Ok(Span::Bytes(1 << 30)));
        assert_eq!(value("20%").span(), Ok(Span::Percent(20)));
        assert!(value("120%").span().is_err());
        assert!(matches!(value("3z").span(), Err(Wrong::Unsupported(_))));
    }

    #[test]
    fn omitted_direction_values_stay_unset() {
        let split = |text| {
            let [read, write] = value(text).directions().unwrap();
            (read.and_then(|v: Value<'_>| v.text), write.and_then(|v| v.text))
        };
        assert_eq!(split("8k"), (Some("8k"), Some("8k")));
        assert_eq!(split("8k,4k"), (Some("8k"), Some("4k")));
        assert_eq!(split("8k,"), (Some("8k"), None));
        assert_eq!(split(",4k,"), (None, Some("4k")));
        assert_eq!(split("1,2,3"), (Some("1"), Some("2")));
        assert!(value("1,2,3,4").directions().is_err());
        assert!(value("").directions().is_err());
    }

    #[test]
    fn flag_without_value_is_true() {
        let alone = Value { text: None, dialect: OLD };
        assert_eq!(alone.switch(), Ok(true));
        assert_eq!(value("0").switch(), Ok(false));
        assert!(value("yes").switch().is_err());
        assert!(alone.word().is_err());
    }

    proptest! {
        #[test]
        fn nothing_panics(text in "\\PC{0,24}") {
            let value = value(&text);
            let _ = (value.number(), value.span(), value.duration_ns(1e9), value.directions());
            let _ = (value.switch(), value.percent(), value.small());
        }
    }
}
